"""A small model of shared steps over C kernels, for the tests of threads: a wrong split, a shared
scratch or a missed wake-up changes its bytes."""

from __future__ import annotations

from edgecc.lower.objects import Argument, Call, Objects
from edgecc.lower.run_function import generate
from edgecc.memory.plan import MemoryPlan, Placement
from edgecc.schedule.program import Buffer, Entry, Port, Program, View

ROWS, WIDTH = 13, 8
SIZE = ROWS * WIDTH
STRIDE = 64
WEIGHTS = bytes(range(1, WIDTH + 1)) + bytes(56)
KERNELS = """
#include <stdint.h>
#include <string.h>
void spin_scale(const uint8_t *x, const uint8_t *w, uint8_t *y, const int32_t *args,
                int32_t begin, int32_t end);
void spin_mix(const uint8_t *x, uint8_t *y, uint8_t *scratch, const int32_t *args,
              int32_t begin, int32_t end);
void spin_scale(const uint8_t *x, const uint8_t *w, uint8_t *y, const int32_t *args,
                int32_t begin, int32_t end) {
  int32_t i;
  (void)args;
  for (i = begin * 8; i < end * 8; i++) y[i] = (uint8_t)(x[i] * 5 + w[i % 8]);
}
void spin_mix(const uint8_t *x, uint8_t *y, uint8_t *scratch, const int32_t *args,
              int32_t begin, int32_t end) {
  int32_t row, i;
  (void)args;
  for (row = begin; row < end; row++) {
    memcpy(scratch, x + row * 8, 8);
    memcpy(scratch + 8, x + (row + 1) % 13 * 8, 8);
    for (i = 0; i < 8; i++) y[row * 8 + i] = (uint8_t)(scratch[i] ^ scratch[15 - i]);
  }
}
"""


def texts(threads: int, prefix: str = "spin") -> dict[str, str]:
    """Header, run function, pool (for several threads) and kernels by file name.

    x at 0 → scale → h at 128 → mix → y at 256 → copy → z at 384, scratch at 512.
    """
    views = {n: View(n, "uint8", (1, ROWS, WIDTH), "NWC") for n in "xhyz"}
    at = {"x": 0, "h": 128, "y": 256, "z": 384}
    buffers = tuple(Buffer(n, SIZE, {"x": "input", "z": "output"}.get(n, "activation"))
                    for n in at)
    port = {n: Port(n, views[n], (1, ROWS, WIDTH)) for n in "xz"}
    program = Program(prefix, buffers, (Entry("run", (port["x"],), (port["z"],), ()),))
    arena = 512 + STRIDE * (threads - 1) + 16
    plan = MemoryPlan(tuple(Placement(n, "ram", o, SIZE, 0, 3) for n, o in at.items()),
                      arena, 500, 500, 16, "scale", "given", 64)
    objects = Objects({}, _calls(threads), WEIGHTS, threads=threads)
    made = generate(program, plan, objects, prefix=prefix, version="1")
    return {name.split("/")[1]: text for name, text in made.items()} | {"kernels.c": KERNELS}


def _calls(threads: int) -> tuple[Call, ...]:
    def arena(offset: int, stride: int = 0) -> Argument:
        return Argument("arena", offset, stride)

    stride = STRIDE if threads > 1 else 0
    scale = (arena(0), Argument("weights", 0), arena(128))
    return (Call("scale", "spin_scale", scale, ROWS, threads, 900),
            Call("mix", "spin_mix", (arena(128), arena(256), arena(512, stride)), ROWS, threads,
                 1800),
            Call("copy", "memcpy", (arena(384), arena(256)), SIZE))


def reference(data: bytes) -> bytes:
    """What the model computes."""
    scaled = [(v * 5 + WEIGHTS[i % 8]) % 256 for i, v in enumerate(data)]
    rows = [scaled[r * WIDTH : (r + 1) * WIDTH] for r in range(ROWS)]
    pairs = ((row, rows[(r + 1) % ROWS]) for r, row in enumerate(rows))
    return bytes(a ^ b for row, after in pairs
                 for a, b in zip(row, reversed(after), strict=True))
