"""SBOM, licences, ELF sizes and golden vectors."""

import json
import struct
import subprocess
import sys

import numpy as np
import pytest
from bundle_maker import bundle, flat_port, port

from edgecc.bundle import sbom, vectors
from edgecc.bundle.measure import default_board
from edgecc.errors import BoardError
from edgecc.link.elf import loaded_bytes
from edgecc.targets import host_cpu

TOOLS = {"edgecc": "0.1.0", "ziglang": "0.17.1"}
MODEL = {"name": "tiny.onnx", "sha256": "ab" * 32, "file": None}


@pytest.mark.parametrize(("kind", "libc", "expected"), [
    ("zig", "musl", ["edgecc-runtime", "compiler-rt", "musl"]),
    ("gcc", "glibc", ["edgecc-runtime"]),
    ("none", "musl", ["edgecc-runtime"]),
])
def test_what_is_linked_is_licensed(kind, libc, expected):
    assert sbom.linked_parts(kind, libc) == expected
    texts = sbom.licence_files(expected)
    assert all(path.startswith("LICENSES/") and len(data) > 500 for path, data in texts.items())
    assert ("LICENSES/musl.txt" in texts) == ("musl" in expected)


def test_licence_texts_name_their_holders():
    texts = sbom.licence_files(list(sbom.PARTS))
    assert "Copyright © 2005-2020 Rich Felker".encode() in texts["LICENSES/musl.txt"]
    assert b"LLVM Exceptions to the Apache 2.0 License" in texts["LICENSES/compiler-rt.txt"]


def test_the_sbom_is_spdx_and_repeatable():
    parts = sbom.linked_parts("zig", "musl")
    first = sbom.sbom("tiny", MODEL, b"w", parts, TOOLS, ["zig", "cc"])
    assert first == sbom.sbom("tiny", MODEL, b"w", parts, TOOLS, ["zig", "cc"])
    document = json.loads(first)
    licences = {p["name"]: p["licenseConcluded"] for p in document["packages"]}
    assert licences["musl"] == "MIT" and "LLVM-exception" in licences["compiler-rt"]
    known = {p["SPDXID"] for p in document["packages"]} | {"SPDXRef-DOCUMENT"}
    assert {r["relatedSpdxElement"] for r in document["relationships"]} <= known


def test_a_users_own_c_library_is_not_passed_over():
    document = json.loads(sbom.sbom("tiny", MODEL, b"", ["edgecc-runtime"], TOOLS, ["gcc"]))
    assert "system-c-library" in {p["name"] for p in document["packages"]}


def elf_file(bits: int, sizes: list[int]) -> bytes:
    header = bytearray(64 if bits == 64 else 52)
    header[:6] = b"\x7fELF" + bytes([bits // 32, 1])
    entry = 56 if bits == 64 else 32
    struct.pack_into("<Q" if bits == 64 else "<I", header, 32 if bits == 64 else 28, len(header))
    struct.pack_into("<HH", header, 54 if bits == 64 else 42, entry, len(sizes))
    for i, size in enumerate(sizes):
        table = bytearray(entry)
        struct.pack_into("<I", table, 0, 1 if i else 6)  # the first is PT_PHDR
        struct.pack_into("<Q" if bits == 64 else "<I", table, 32 if bits == 64 else 16, size)
        header += table
    return bytes(header)


@pytest.mark.parametrize("bits", [32, 64])
def test_loaded_bytes_are_those_of_loaded_segments(bits):
    assert loaded_bytes(elf_file(bits, [1000, 20, 300])) == 320


def test_loaded_bytes_of_a_real_program_are_below_its_size():
    with open(sys.executable, "rb") as file:
        data = file.read()
    listed = subprocess.run(["readelf", "-lW", sys.executable], capture_output=True, text=True,
                            check=True).stdout
    loads = [line.split() for line in listed.splitlines() if line.strip().startswith("LOAD")]
    assert loaded_bytes(data) == sum(int(words[4], 16) for words in loads) < len(data)


def test_samples_are_spread_over_the_set():
    assert vectors.spread(list(range(100))) == [0, 33, 66, 99]
    assert vectors.spread([7]) == [7] and vectors.spread([]) == []


def test_random_inputs_reach_both_ends_and_repeat():
    wide = port("x", shape=[1, 5000], bytes=5000, model_shape=[1, 5000], permutation=None)
    first = vectors.draw(wide, np.random.default_rng(1))
    assert (first.min(), first.max()) == (-128, 127)
    np.testing.assert_array_equal(first, vectors.draw(wide, np.random.default_rng(1)))
    plain = flat_port("y") | {"dtype": "float32", "scale": None}
    assert vectors.draw(plain, np.random.default_rng(1)).dtype == np.float32
    flags = vectors.draw(plain | {"dtype": "bool"}, np.random.default_rng(1))
    assert flags.dtype == bool


def test_vector_files_follow_the_ports():
    made = vectors.Vectors(({"x": np.zeros(2, np.int8)},), ({"y": np.ones(1, np.int8)},), 0, 1)
    assert made.files([port("x")], [flat_port("y")]) == {
        "vectors/0/input_0.bin": b"\0\0", "vectors/0/output_0.bin": b"\1"}
    assert made.summary == {"count": 1, "calibration": 0, "random": 1}


def test_the_default_board_is_the_host_where_it_can_be(monkeypatch):
    info = bundle().manifest["target_info"] | {"architecture": host_cpu.architecture()}
    manifest = {"target": "some-chip", "target_info": info}
    assert default_board(manifest) == "host"
    monkeypatch.setattr(host_cpu, "features", frozenset)
    assert default_board({**manifest, "target_info": info | {"features": ["dotprod"]}}) == (
        "emulated-some-chip")


def test_a_target_without_a_runner_has_no_board():
    info = bundle().manifest["target_info"] | {"runner": "none"}
    with pytest.raises(BoardError, match="'null' has no runner"):
        default_board({"target": "null", "target_info": info})
