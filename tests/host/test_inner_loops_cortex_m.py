"""Inner loops of Cortex-M tiles keep everything in registers."""

import re

import pytest

from edgecc.kernels import conv2d_dsp, conv2d_mve, depthwise_mve
from edgecc.kernels.spec import Conv2d, FullyConnected
from edgecc.lower.compile import assembly
from edgecc.targets import get_target

pytestmark = pytest.mark.host
SPECS = [
    Conv2d("int8", 1, 8, 8, 64, 64, 3, 3, pads=(1, 1, 1, 1), residual=True),
    Conv2d("int8", 1, 9, 10, 1, 64, 10, 4, strides=(2, 2), pads=(4, 1, 5, 1)),
    Conv2d("int8", 1, 6, 6, 256, 256, 1, 1),
    Conv2d("int8", 1, 8, 9, 3, 8, 3, 3, strides=(2, 2), pads=(0, 0, 1, 1)),
    Conv2d("int8", 1, 6, 7, 64, 64, 3, 3, pads=(1, 1, 1, 1), groups=64),
    FullyConnected("int8", 1, 640, 128),
]
TILES = {"cortex-m4f": (conv2d_dsp, "smlad"), "cortex-m33": (conv2d_dsp, "smlad"),
         "cortex-m55": (conv2d_mve, "vmlava?.s8")}


def runs(text, mnemonic):
    """The straight stretches of code between labels and branches that hold `mnemonic`."""
    code = [line.split("@")[0].strip() for line in text.splitlines()]
    code = [line for line in code if line and not re.match(r"\.(Ltmp|p2align|loc|cfi)", line)]
    found, run = [], []
    for line in code:
        run.append(line)
        if line.endswith(":") or re.match(r"(b|le|cbn?z|b[a-z]{2})(\.w)?\s", line):
            found.append(run)
            run = []
    return [run for run in found if any(re.match(mnemonic, line) for line in run)]


def within(run, mnemonic):
    """From the first to the last `mnemonic` of a stretch."""
    places = [i for i, line in enumerate(run) if re.match(mnemonic, line)]
    return run[places[0] : places[-1] + 1]


def stretches(module, name, mnemonic):
    """(what, stretch) of every kernel of a module and every spec it takes."""
    target = get_target(name)
    for record in module.KERNELS:
        for spec in SPECS:
            if record.op == spec.op and record.accepts(spec) is None:
                text = assembly(record.build(spec, "kernel", target), target)
                for run in runs(text, mnemonic):
                    yield f"{record.name} {spec.text()}", run


@pytest.mark.parametrize("name", TILES)
def test_no_tile_touches_the_stack_between_its_products(name):
    module, mnemonic = TILES[name]
    found = list(stretches(module, name, mnemonic))
    assert len(found) > 4
    for what, run in found:
        touched = [line for line in within(run, mnemonic) if "[sp" in line]
        assert not touched, f"{what}: {touched}"


def test_no_depthwise_row_touches_the_stack():
    found = list(stretches(depthwise_mve, "cortex-m55", "vmlav.s8"))
    assert found
    for what, run in found:
        assert run[-1].startswith("le\tlr")
        assert not [line for line in run if "[sp" in line], what
