"""A small model of three fake kernels (the kernel C ABI, compiled by the target's own compiler),
and a codec of the runner protocol, for the tests of link."""

from __future__ import annotations

import dataclasses
import io
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from edgecc.config import CompileConfig
from edgecc.link.toolchain import driver_for
from edgecc.lower.objects import Argument, Call, Objects
from edgecc.lower.run_function import prefix_of
from edgecc.memory.plan import MemoryPlan, Placement
from edgecc.rpc.protocol import Type, encode, encode_u32, read_frame
from edgecc.schedule.program import Buffer, Entry, Port, Program, Quantization, View

SIZE = 64
WEIGHTS = bytes((7 * i + 3) % 256 for i in range(100))
VERSION = '1.0 "first"'
KERNELS = {
    "scale": "int32_t i; (void)args;"
             "for (i = begin * 8; i < end * 8; i++)"
             " y[i] = (int8_t)((x[i] * 3 + (int8_t)w[i % 36]) & 127);",
    "flip": "int8_t t[64]; int32_t i; (void)args; (void)begin; (void)end; (void)w;"
            "memcpy(t, x, 64); for (i = 0; i < 64; i++) y[i] = t[63 - i]; memset(x, 9, 64);",
    "spill": "int32_t i; (void)args; (void)begin; (void)w;"
             "for (i = 0; i < 64; i++) y[i] = x[i]; y[64 + end] = 1;",
    "spoil": "int32_t i; (void)args; (void)begin; (void)end; (void)w;"
             "for (i = 0; i < 64; i++) y[i] = x[i]; y[-1] = 1;",
}


def reference(data: bytes) -> bytes:
    """What the model computes: scale, flip, then a copy of it."""
    signed = [b - 256 if b > 127 else b for b in data]
    weights = [b - 256 if b > 127 else b for b in WEIGHTS[64:]]
    scaled = [((x * 3 + weights[i % 36]) & 127) for i, x in enumerate(signed)]
    return bytes(reversed(scaled))


@dataclass(frozen=True)
class Fake:
    """Arguments of link_linux for one fake model."""

    program: Program
    plan: MemoryPlan
    objects: Objects

    def change(self, field: str, **changes) -> Fake:
        value = dataclasses.replace(getattr(self, field), **changes)
        return dataclasses.replace(self, **{field: value})


def kernel_source(prefix: str, kind: str) -> str:
    return ("#include <stddef.h>\n#include <stdint.h>\n"
            "void *memcpy(void *, const void *, size_t);\nvoid *memset(void *, int, size_t);\n"
            f"void {prefix}_{kind}(int8_t *x, const uint8_t *w, int8_t *y, const int32_t *args,"
            " int32_t begin, int32_t end);\n"
            f"void {prefix}_{kind}(int8_t *x, const uint8_t *w, int8_t *y, const int32_t *args,"
            f" int32_t begin, int32_t end) {{ {KERNELS[kind]} }}\n")


def fake(target, context, *, name="tiny", config=None, last="flip", spill=0, tail=0) -> Fake:
    """x -> scale -> h -> `last` -> y -> copy -> z. `tail` bytes make the arena larger."""
    prefix, config = prefix_of(name), config or CompileConfig()
    driver = driver_for(target, config, context)
    region = next((r.name for r in target.memories if "arena" in r.may_hold), "ram")
    code = {f"{prefix}_{kind}.o": driver.compile("k.c", {"k.c": kernel_source(prefix, kind)})
            for kind in ("scale", last)}
    at = {"x": 0, "h": 64, "y": 0, "z": 128}
    quantized = Quantization(0.05, -3)
    views = {n: View(n, "int8", (1, 4, 4, 4), "NHWC", quantization=quantized) for n in at}
    program = Program(
        name, tuple(Buffer(n, SIZE, {"x": "input", "z": "output"}.get(n, "activation"))
                    for n in at),
        (Entry("run", (Port("image", views["x"], (1, 4, 4, 4)),),
               (Port("result", views["z"], (1, 4, 4, 4)),), ()),))
    plan = MemoryPlan(tuple(Placement(n, region, o, SIZE, 0, 3) for n, o in at.items()),
                      192 + tail, 192, 192, 0, "scale", "given")
    arena, weights = (lambda o: Argument("arena", o)), Argument("weights", 64)
    calls = (
        Call("scale_0", f"{prefix}_scale", (arena(0), weights, arena(64)), SIZE // 8),
        Call("last_1", f"{prefix}_{last}", (arena(64), Argument("null"), arena(0)), spill),
        Call("copy_2", "memcpy", (arena(128), arena(0)), SIZE),
    )
    return Fake(program, plan, Objects(code, calls, WEIGHTS))


def link(model: Fake, target, context, *, name="tiny", config=None) -> dict[str, bytes]:
    from edgecc.link import link_linux

    return link_linux(model.program, model.plan, model.objects, target,
                      config=config or CompileConfig(), context=context, name=name,
                      version=VERSION)


def unpack_bundle(files: dict[str, bytes], folder: Path) -> Path:
    for path, data in {**files, "weights.bin": WEIGHTS}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "runner" / "runner").chmod(0o755)
    return folder


def malformed(kind: int, payload: bytes = b"", *, magic=b"ECC1", status=0, reserved=0,
              length=None) -> bytes:
    """A frame with something wrong that `encode` would not write."""
    size = len(payload) if length is None else length
    return struct.pack("<4sBBHI", magic, kind, status, reserved, size) + payload


def frames(data: bytes) -> list[tuple[int, int, bytes]]:
    """(type, status, payload) of each answer."""
    stream, found = io.BytesIO(data), []
    while stream.tell() < len(data):
        answer = read_frame(stream.read, 1 << 20, "runner")
        found.append((answer.type, answer.status, answer.payload))
    return found


def talk(folder: Path, sent: bytes, *options: str, emulator: tuple[str, ...] = (), code=0):
    """Answers of the runner to `sent`, and what it said on stderr."""
    done = subprocess.run(
        [*emulator, str(folder / "runner" / "runner"), str(folder / "weights.bin"), *options],
        input=sent, capture_output=True, timeout=60, check=False)
    assert done.returncode == code, (done.returncode, done.stderr.decode())
    return frames(done.stdout), done.stderr.decode()


def infer(folder: Path, data: bytes, emulator: tuple[str, ...] = ()) -> bytes:
    """Output of one run by the runner."""
    sent = (encode_u32(Type.SET_INPUT, 0, data) + encode_u32(Type.RUN, 1)
            + encode_u32(Type.GET_OUTPUT, 0) + encode(Type.QUIT))
    answers, said = talk(folder, sent, emulator=emulator)
    assert [a[:2] for a in answers] == [(2, 0), (3, 0), (5, 0), (9, 0)] and said == ""
    return answers[2][2]
