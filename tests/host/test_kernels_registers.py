"""Tiles stay in registers: the inner loops of int8 convolutions do not touch the stack.

An instruction set is a line of TILES. A loop is innermost if no other lies in it; it is a tile's
if it multiplies.
"""

import re

import pytest

from edgecc.kernels import conv2d_int8
from edgecc.kernels.spec import Conv2d
from edgecc.lower.compile import assembly
from edgecc.targets import get_target

pytestmark = pytest.mark.host
LAYERS = (Conv2d("int8", 1, 9, 30, 64, 128, 3, 3, pads=(1, 1, 1, 1)),
          Conv2d("int8", 1, 16, 16, 32, 64, 3, 3, strides=(2, 2), pads=(0, 0, 1, 1)))
RVV = r"\bsp\b|\bvl\dre?\d*\.v|\bvs\dr\.v"  # groups are spilled by whole registers
TILES = {  # instruction set: (target, what its loops multiply with, what touches the stack)
    "rvv256": ("spacemit-k1", r"vwmacc|vwmul", RVV),
    "rvv128": ("riscv64-generic-v", r"vwmacc|vwmul", RVV),
}


def innermost_loops(text):
    """Lists of the instructions of every innermost loop of an assembly text."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    labels, loops = {}, []
    for number, line in enumerate(lines):
        if match := re.match(r"(\.L\w+):", line):
            labels[match[1]] = number
        elif (words := line.replace(",", " ").split()) and words[-1] in labels:
            loops.append((labels[words[-1]], number))
    for first, last in loops:
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in loops):
            yield [line for line in lines[first:last + 1] if line and not line.startswith(".")]


def kernels():
    return [pytest.param(record, id=record.name) for record in conv2d_int8.KERNELS
            if record.name.split("__")[1] in TILES]


@pytest.mark.parametrize("record", kernels())
def test_inner_loops_do_not_touch_the_stack(record):
    name, multiply, stack = TILES[record.name.split("__")[1]]
    target = get_target(name)
    texts = [assembly(record.build(layer, "kernel", target), target) for layer in LAYERS]
    loops = [loop for text in texts for loop in innermost_loops(text)
             if re.search(multiply, "\n".join(loop))]
    assert len(loops) >= len(LAYERS), "no loop multiplies"
    for loop in loops:
        assert not [line for line in loop if re.search(stack, line)], "\n".join(loop)


def test_a_loop_that_spills_is_found():
    body = ["vl2r.v v8, (a0)", "vwmacc.vx v0, a1, v8", "bne a0, a1, .LBB0_2"]
    text = [".LBB0_1:", "li a0, 3", ".LBB0_2:", *body, "bnez a3, .LBB0_1"]
    [loop] = innermost_loops("\n".join(text))
    assert loop == body
    assert re.search(RVV, loop[0])
