"""Static libraries: the ar format with its symbol index, the same bytes every time."""

from __future__ import annotations

from collections.abc import Mapping

from edgecc.errors import BundleError
from edgecc.link.elf import describe

MAGIC = b"!<arch>\n"
LONGEST_NAME = 15


def archive(members: Mapping[str, bytes]) -> bytes:
    """A library of relocatable objects, in sorted order, without dates or owners.

    Source: the System V ar format as GNU and LLVM tools write it.
    """
    symbols = [(symbol, name) for name in sorted(members)
               for symbol in describe(members[name], where=name).defined_symbols]
    index_bytes = 4 + 4 * len(symbols) + sum(len(s.encode()) + 1 for s, _ in symbols)
    offsets, at = {}, len(MAGIC) + 60 + index_bytes + index_bytes % 2
    for name in sorted(members):
        offsets[name] = at
        at += 60 + len(members[name]) + len(members[name]) % 2
    numbers = [len(symbols), *(offsets[name] for _, name in symbols)]
    index = b"".join(n.to_bytes(4, "big") for n in numbers)
    index += b"".join(symbol.encode() + b"\0" for symbol, _ in symbols)
    parts = [_member("", index), *(_member(name, members[name]) for name in sorted(members))]
    return MAGIC + b"".join(parts)


def _member(name: str, data: bytes) -> bytes:
    short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 2]}.o"
    header = f"{short + '/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n"
    return header.encode("ascii") + data + b"\n" * (len(data) % 2)


def members(data: bytes, where: str = "library") -> dict[str, bytes]:
    """The objects of a library by name, without its symbol index. Raises BundleError."""
    found: dict[str, bytes] = {}
    at = len(MAGIC)
    if data and not data.startswith(MAGIC):
        raise BundleError("not a static library", where=where)
    while at + 60 <= len(data):
        name, size = data[at : at + 16].decode("ascii", "replace").strip(), data[at + 48 : at + 58]
        if not size.strip().isdigit() or at + 60 + int(size) > len(data):
            raise BundleError(f"damaged library at byte {at}", where=where)
        if name != "/":
            found[name.removesuffix("/")] = bytes(data[at + 60 : at + 60 + int(size)])
        at += 60 + int(size) + int(size) % 2
    return found
