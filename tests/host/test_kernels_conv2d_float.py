"""float32 convolution, depthwise and matrix kernels on the host."""

import kernel_problems as problems
import pytest
from kernel_checks import check, check_split

from edgecc.kernels import conv2d_float, depthwise_float, fully_connected_float
from edgecc.kernels.conv2d_float_plan import UNCACHED, Plan
from edgecc.kernels.float_tile import ISAS, Shape
from edgecc.kernels.registry import candidates

CONVS = [conv2d_float, depthwise_float]

pytestmark = pytest.mark.host


def test_convolution_equals_reference():
    layers = [s for s in problems.conv_specs() if not s.residual]
    check(problems.convolution(layers), "host", CONVS)


def test_residual_may_lie_where_the_output_goes():
    layers = [s for s in problems.conv_specs() if s.residual]
    check(problems.convolution(layers), "host", CONVS, in_place=True)


def test_bands_and_lines_equal_reference():
    layers = [*problems.heavy_conv_specs(), *problems.long_pointwise_specs()]
    check(problems.convolution(layers), "host", CONVS)


def test_depthwise_equals_reference():
    check(problems.convolution(problems.depthwise_specs()), "host", CONVS)


def test_fully_connected_equals_reference():
    check(problems.fully_connected(), "host", [fully_connected_float])


def test_depthwise_layers_take_the_depthwise_kernel():
    *_, wide = (s for s in problems.depthwise_specs() if s.c == 64)
    assert "depthwise" in candidates(wide, {"avx2", "fma"})[0].name
    assert depthwise_float.accepts(next(iter(problems.conv_specs()))) is not None


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_tiles_fit_the_registers(isa):
    for outputs in (1, 2, 3, 8, 10, 16, 33, 256):
        for pixels in (1, 2, 5, 12, 13, 48, 112):
            shape = Shape(isa, outputs, pixels)
            assert shape.rows * shape.columns <= isa.accumulators
            assert shape.blocks * shape.block >= outputs > (shape.blocks - 1) * shape.block


def test_ranges_write_their_own_part():
    convs, depthwise = list(problems.conv_specs()), list(problems.depthwise_specs())
    specs = convs[8:9] + convs[17:19] + depthwise[7:10]
    specs += [*problems.heavy_conv_specs(), *problems.long_pointwise_specs()]
    check_split(problems.convolution(specs), "host", CONVS)


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_threads_get_equal_shares(isa):
    """Of layers of 7x7 and 14x14 pixels, which have few rows and many weights."""
    for size, c, k, kernel in ((7, 512, 512, 1), (14, 1024, 256, 1), (7, 512, 512, 3)):
        plan = Plan(problems.square(size, c, k, kernel), isa)
        if isa.name in UNCACHED and kernel > 1:
            assert plan.band == 1
            continue
        lines = [min(plan.line, plan.pixels - at) for at in range(0, plan.pixels, plan.line)]
        assert kernel > 1 or 2 * min(lines) >= max(lines)
        assert size % plan.band == 0 and plan.extent >= 8
