"""How many bytes of an ELF file are loaded from flash: code, constants and initial data."""

from __future__ import annotations

import struct

from edgecc.errors import CheckFailed

PT_LOAD = 1


def loaded_bytes(data: bytes) -> int:
    """Sum of the file bytes of all loaded segments, headers and symbol tables included.

    Raises CheckFailed for what is not a 64- or 32-bit little-endian ELF file: edgecc links it.
    """
    if data[:4] != b"\x7fELF" or data[4:5] not in (b"\x01", b"\x02") or data[5:6] != b"\x01":
        raise CheckFailed("the library is not a little-endian ELF file")
    if data[4] == 2:
        table, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        kind, length = "<I", ("<Q", 32)
    else:
        table, = struct.unpack_from("<I", data, 28)
        size, count = struct.unpack_from("<HH", data, 42)
        kind, length = "<I", ("<I", 16)
    total = 0
    for start in range(table, table + size * count, size):
        if struct.unpack_from(kind, data, start)[0] == PT_LOAD:
            total += struct.unpack_from(length[0], data, start + length[1])[0]
    return total
