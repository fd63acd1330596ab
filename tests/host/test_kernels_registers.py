"""Tiles stay in registers: the inner loops of int8 kernels do not touch the stack.

An instruction set is a line of TILES. A loop is innermost if no other lies in it; it is a tile's
if it multiplies.
"""

import re
import subprocess
import sys
from dataclasses import dataclass

import pytest
from assembly_loops import innermost_loops

from edgecc.kernels import (
    conv2d_dsp,
    conv2d_int8,
    conv2d_mve,
    depthwise_dsp,
    depthwise_mve,
    depthwise_neon,
    depthwise_vnni,
    matmul_dsp,
    matmul_int8,
)
from edgecc.kernels.math_spec import MatMul
from edgecc.kernels.spec import Conv2d, FullyConnected
from edgecc.lower.assembly import gnu_source
from edgecc.lower.compile import assembly
from edgecc.targets import get_target

pytestmark = pytest.mark.host
LAYERS = (  # long enough along K for a loop over it
    Conv2d("int8", 1, 9, 30, 64, 128, 3, 3, pads=(1, 1, 1, 1), clamp=True),
    Conv2d("int8", 1, 16, 16, 32, 64, 3, 3, strides=(2, 2), pads=(0, 0, 1, 1)),
    Conv2d("int8", 1, 7, 7, 256, 64, 1, 1),
    Conv2d("int8", 1, 8, 8, 128, 64, 1, 1, strides=(2, 2), residual=True),
    Conv2d("int8", 1, 6, 26, 64, 64, 3, 3, pads=(1, 1, 1, 1), groups=64),
    FullyConnected("int8", 1, 640, 128),
    FullyConnected("int8", 6, 640, 128),
    MatMul("int8", (), 64, 640, 128, (640, 1), (128, 1)),
)
APART = (  # channels of a tap, or taps, lie apart
    Conv2d("int8", 1, 9, 9, 256, 64, 3, 3, pads=(1, 1, 1, 1), groups=4),
    Conv2d("int8", 1, 9, 16, 64, 32, 3, 3, dilations=(2, 2), pads=(2, 2, 2, 2), clamp=True),
)
SHORT = (  # first layers
    Conv2d("int8", 1, 9, 10, 1, 64, 10, 4, strides=(2, 2), pads=(4, 1, 5, 1)),
    Conv2d("int8", 1, 8, 9, 3, 8, 3, 3, strides=(2, 2), pads=(0, 0, 1, 1)),
)
WIDE = (  # a row has several tiles, so that they are a loop; ends of every kind
    Conv2d("int8", 1, 8, 40, 3, 8, 3, 3, strides=(2, 2), pads=(0, 0, 1, 1), short_sums=True),
    Conv2d("int8", 1, 5, 32, 3, 16, 3, 3, pads=(1, 1, 1, 1), clamp=True),
    Conv2d("int8", 1, 5, 20, 4, 24, 3, 3, pads=(1, 1, 1, 1)),
    Conv2d("int8", 1, 4, 33, 16, 16, 1, 1, residual=True, short_sums=True),
)
MODULES = (conv2d_int8, conv2d_dsp, conv2d_mve, depthwise_dsp, depthwise_mve, depthwise_neon,
           depthwise_vnni, matmul_dsp, matmul_int8)


@dataclass(frozen=True)
class Tile:
    """What its loops multiply with and what touches the stack. `written`: the products are
    assembler text, so what LLVM puts before and after them is not the tile's."""

    target: str
    multiply: str
    stack: str
    written: bool = False
    others: tuple[str, ...] = ()  # targets with the same tiles


RVV = r"\bsp\b|\bvl\dre?\d*\.v|\bvs\dr\.v"  # groups are spilled by whole registers
TILES = {
    "dotprod": Tile("raspberry-pi-5", r"\bsdot\b", r"\[sp\b"),
    "neon": Tile("raspberry-pi-3", r"\bsadalp\b", r"\[sp\b"),
    "i8mm": Tile("generic-aarch64-i8mm", r"\bsmmla\b", r"\[sp\b"),
    "rvv256": Tile("spacemit-k1", r"vwmacc|vwmul", RVV),
    "rvv128": Tile("riscv64-generic-v", r"vwmacc|vwmul", RVV),
    "dsp": Tile("cortex-m4f", r"\bsmlad\b", r"\[sp\b", written=True,
                others=("cortex-m33",)),
    "mve": Tile("cortex-m55", r"\bvmlava?\.s8\b", r"\[sp\b", written=True),
    "vnni": Tile("x86-64-v4-vnni", r"\bvpdpbusd\b", r"\(%rsp"),
    "avxvnni": Tile("x86-64-v3-vnni", r"\bvpdpbusd\b", r"\(%rsp"),
    "avx2": Tile("x86-64-v3", r"\bvpmaddwd\b", r"\(%rsp"),
}


def tile_loops(text, tile):
    """The innermost loops that multiply; of written ones what lies between their products."""
    for loop in innermost_loops(text):
        places = [i for i, line in enumerate(loop) if re.search(tile.multiply, line)]
        if places:
            yield loop[places[0] : places[-1] + 1] if tile.written else loop


def kernels():
    """(kernel, layers that it takes), of every instruction set of TILES."""
    for record in (record for module in MODULES for record in module.KERNELS):
        isa = record.name.split("__")[1]
        tile = TILES.get(isa)
        layers = [layer for layer in (*LAYERS, *APART, *SHORT, *WIDE)
                  if layer.op == record.op and record.accepts(layer) is None]
        if tile and layers:
            yield pytest.param(record, layers, id=record.name)


@pytest.mark.parametrize("record, layers", [*kernels()])
def test_inner_loops_do_not_touch_the_stack(record, layers):
    tile = TILES[record.name.split("__")[1]]
    for target in map(get_target, (tile.target, *tile.others)):
        for layer in layers:
            text = assembly(record.build(layer, "kernel", target), target)
            loops = list(tile_loops(text, tile))
            touched = [line for loop in loops for line in loop if re.search(tile.stack, line)]
            assert not touched, f"{target.name}, {layer.text()}: {touched}"
            assert loops or layer in (*SHORT, *WIDE), f"{layer.text()}: no loop that multiplies"


@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
@pytest.mark.parametrize("record", [each for each in conv2d_int8.KERNELS
                                    if each.name.endswith(("_4x16__avx2", "_6x8__avx2"))],
                         ids=lambda record: record.name)
def test_a_tiles_end_is_not_in_the_loop_that_multiplies(record, strides):
    """The only run of a tile is two loads long: written out, it would lie in one loop with what
    the end of the tile holds."""
    target = get_target(TILES["avx2"].target)
    layer = Conv2d("int8", 1, 4, 48, 8, 16, 1, 1, strides=strides, clamp=True)
    loops = [*tile_loops(assembly(record.build(layer, "kernel", target), target), TILES["avx2"])]
    assert loops
    assert not [line for loop in loops for line in loop if re.search(TILES["avx2"].stack, line)]


@pytest.mark.parametrize("isa, body", [
    ("rvv256", ["vl2r.v v8, (a0)", "vwmacc.vx v0, a1, v8", "bne a0, a1, .LBB0_2"]),
    ("dotprod", ["sdot v0.4s, v1.4s, v2.4s", "str q1, [sp]", "sdot v0.4s, v1.4s, v3.4s",
                 "b.ne .LBB0_2"]),
    ("dsp", ["smlad r0, r1, r2, r0", "ldr r0, [sp, #4]", "smlad r0, r1, r2, r0", "bne .LBB0_2"]),
    ("vnni", ["vpdpbusd 64(%rsp), %zmm1, %zmm0", "jne .LBB0_2"]),
])
def test_a_loop_that_spills_is_found(isa, body):
    text = "\n".join([".LBB0_1:", "mov r0, r0", ".LBB0_2:", *body, "bne .LBB0_1"])
    local = text.replace(".LBB0_2:", "1:").replace(".LBB0_2", "1b")
    for some in (text, local):
        [loop] = tile_loops(some, TILES[isa])
        assert len([line for line in loop if re.search(TILES[isa].stack, line)]) == 1


def test_what_surrounds_a_statement_is_not_the_tiles():
    text = ".LBB0_1:\n ldr r0, [sp]\n vmlava.s8 r0, q0, q1\n str r0, [sp]\n le lr, .LBB0_1"
    assert list(tile_loops(text, TILES["mve"])) == [["vmlava.s8 r0, q0, q1"]]


def assembled_kernels():
    dense = [next(pytest.param(isa, kernel, LAYERS[0], id=isa) for kernel in conv2d_int8.KERNELS
                  if kernel.name.endswith(f"__{isa}")) for isa in ("dotprod", "neon", "i8mm")]
    return [*dense, pytest.param("neon", depthwise_neon.KERNELS[0], LAYERS[4], id="walk"),
            pytest.param("dsp", depthwise_dsp.KERNELS[0], LAYERS[4], id="pairs"),
            pytest.param("dsp", conv2d_dsp.KERNELS[0], APART[1], id="dsp")]


@pytest.mark.parametrize("isa, record, layer", [*assembled_kernels()])
def test_statements_pass_the_targets_own_assembler(isa, record, layer, tmp_path):
    """Packages hold kernels as text: what LLVM took in a statement an assembler must take too."""
    target = get_target(TILES[isa].target)
    (tmp_path / "kernel.s").write_text(
        gnu_source(record.build(layer, "kernel", target), target))
    command = [sys.executable, "-m", "ziglang", *target.toolchain.argv[1:], "-c", "kernel.s",
               "-o", "kernel.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:500]
