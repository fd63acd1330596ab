"""What small code chooses: kernels that serve every shape, where a core has no vectors to lose."""

from edgecc.kernels import registry
from edgecc.kernels.spec import Conv2d
from edgecc.targets import get_target

SPECS = [Conv2d("int8", 1, 8, 8, 16, 24, 3, 3, pads=(1, 1, 1, 1)),
         Conv2d("int8", 1, 9, 7, 3, 8, 3, 3, strides=(2, 2)),
         Conv2d("int8", 1, 8, 8, 16, 16, 3, 3, groups=16)]
PLAIN = ("cortex-m0plus", "cortex-m3", "cortex-m4f", "rv32imc", "rv32imafc")


def chosen(target, spec, small):
    return registry.select(spec, get_target(target).features, "here", small)[0]


def test_one_function_serves_every_shape_on_plain_cores():
    for target in PLAIN:
        for spec in SPECS:
            small, large = (chosen(target, spec, which) for which in (True, False))
            assert small.code is not None and large.code is None, (target, spec)
            assert small.code(spec) == "clamp=False residual=False"
            assert small.scratch_bytes(spec) == 0


def test_cores_with_vectors_keep_them():
    for target in ("cortex-m55", "raspberry-pi-5", "spacemit-k1"):
        assert all(chosen(target, spec, True).code is None for spec in SPECS)


def test_plain_cores_that_multiply_in_pairs_do_so_in_small_code_too():
    assert chosen("cortex-m4f", SPECS[0], True).name == "int8_conv2d_any__dsp"
    assert chosen("cortex-m4f", SPECS[1], True).name == "int8_conv2d_any__scalar"
