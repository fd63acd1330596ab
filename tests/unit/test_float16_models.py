"""float16 models: read, scheduled and interpreted, against ONNX Runtime on the same model."""

import math_cases
import movement_cases
import numpy as np
import onnx_ir as ir
import pytest
import schedule_models as models
import test_schedule_float as float_cases
from halved import UNIT, half_feeds, half_model, half_problems
from kernel_problems import binary, softmax, unary
from onnx import TensorProto
from schedule_models import model, node

from edgecc.context import Context
from edgecc.errors import UnsupportedModel
from edgecc.kernels.reference import reference
from edgecc.kernels.spec import Convert
from edgecc.model import check_model, load

WIDE = {"Celu", "Celu 2"}  # ONNX has no float16 form
TWICE = 2 * UNIT  # ONNX Runtime may keep what lies between two operators in float32


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def compared(proto, feeds, **config):
    """Ours against ONNX Runtime's: the same types, infinities, and numbers within two units."""
    half, feeds = half_model(proto), half_feeds(feeds)
    ours, theirs = models.run_ours(models.program_of(half, **config), feeds), models.run_ort(
        half, feeds)
    for name, value in theirs.items():
        assert (ours[name].dtype, ours[name].shape) == (value.dtype, value.shape), name
        found, wanted = ours[name].astype(np.float64), value.astype(np.float64)
        finite = np.isfinite(wanted)
        np.testing.assert_array_equal(found[~finite], wanted[~finite])
        limit = TWICE * max(np.abs(wanted[finite]).max(initial=0.0), 1e-30)
        assert np.abs(found[finite] - wanted[finite]).max(initial=0.0) <= limit, name


@pytest.mark.parametrize("name", float_cases.CASES)
def test_an_operator(name):
    proto = float_cases.CASES[name]
    compared(proto, models.feeds_for(proto))


@pytest.mark.parametrize("family", math_cases.FAMILIES)
def test_a_family_of_operators(family):
    for name, proto in math_cases.FAMILIES[family]():
        feeds = models.feeds_for(proto)
        if family in ("positive", "broadcasts"):
            feeds = {key: np.asarray(np.abs(v) + np.float32(0.5)) for key, v in feeds.items()}
        if name not in WIDE:
            compared(proto, feeds)


def test_operators_that_move_elements():
    for name in list(movement_cases.CASES)[::3]:
        proto = movement_cases.plain(name)
        compared(proto, models.feeds_for(proto))


def mixed():
    """A float32 input cast to float16, a convolution, and its output cast back."""
    random = np.random.default_rng(0)
    return model(
        [node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
         node("Conv", ["h", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
         node("Relu", ["c"], ["r"]), node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)],
        {"x": (1, 3, 6, 6)}, {"y": (1, 4, 6, 6)},
        {"w": random.standard_normal((4, 3, 3, 3)).astype(np.float16),
         "b": random.standard_normal(4).astype(np.float16)})


def test_casts_between_float32_and_float16_are_steps():
    proto = mixed()
    program = models.program_of(proto)
    steps = program.entry().steps
    assert [step.spec.op for step in steps] == ["convert", "conv2d", "convert"]
    assert [step.spec.dtype for step in steps] == ["float32", "float16", "float16"]
    assert steps[1].constants["weights"].dtype == np.float16
    feeds = models.feeds_for(proto)
    ours, theirs = models.run_ours(program, feeds)["y"], models.run_ort(proto, feeds)["y"]
    assert ours.dtype == np.float32
    assert np.abs(ours - theirs).max() <= TWICE * np.abs(theirs).max()


def test_activations_take_two_bytes_an_element():
    program = models.program_of(half_model(float_cases.CASES["relu"]))
    assert {b.size_bytes for b in program.buffers} == {2 * 6 * 9 * 10}


def test_integers_quantized_with_float16_scales_pass_through_float32():
    proto = model(
        [node("QuantizeLinear", ["x", "s", "z"], ["q"]),
         node("DequantizeLinear", ["q", "s", "z"], ["y"])],
        {"x": (2, 5)}, {"y": (2, 5)}, {"s": np.float16(0.25), "z": np.int8(3)}, opset=19)
    for port in (*proto.graph.input, *proto.graph.output):
        port.type.tensor_type.elem_type = TensorProto.FLOAT16
    feeds = half_feeds(models.feeds_for(proto, scale=10.0))
    ours = models.run_ours(models.program_of(proto, io="float16"), feeds)["y"]
    assert ours.dtype == np.float16
    np.testing.assert_array_equal(ours, models.run_ort(proto, feeds)["y"])


def test_loading_folds_what_it_folds_in_float32_and_keeps_the_type():
    random = np.random.default_rng(1)

    def f(*shape):
        return random.uniform(0.5, 1.5, shape).astype(np.float32)

    wide = model(
        [node("Conv", ["x", "w"], ["c"]), node("Mul", ["c", "k"], ["m"]),
         node("BatchNormalization", ["m", "g", "e", "u", "v"], ["n"]),
         node("Relu", ["n"], ["r"]), node("Flatten", ["r"], ["f"]),
         node("Gemm", ["f", "a", "z"], ["y"], alpha=0.5, beta=2.0)],
        {"x": (1, 3, 4, 4)}, {"y": (1, 5)},
        {"w": f(4, 3, 3, 3), "k": f(4, 1, 1), "g": f(4), "e": f(4), "u": f(4), "v": f(4),
         "a": f(16, 5), "z": f(5)})
    proto = half_model(wide)
    loaded = load(ir.from_proto(proto), context=Context())
    check_model(loaded)
    kinds = [n.op_type for n in load(ir.from_proto(wide), context=Context()).graph]
    assert [n.op_type for n in loaded.graph] == kinds and "BatchNormalization" not in kinds
    types = {v.const_value.dtype for v in loaded.graph.initializers.values()}
    assert types <= {ir.DataType.FLOAT16, ir.DataType.INT64}  # a shape
    feeds = half_feeds(models.feeds_for(proto))
    ours = models.run_ours(models.program_of(ir.to_proto(loaded)), feeds)["y"]
    theirs = models.run_ort(proto, feeds)["y"].astype(np.float64)
    assert np.abs(ours - theirs).max() <= 4 * UNIT * np.abs(theirs).max()  # weights rounded anew


def test_a_cast_to_another_type_is_refused():
    proto = mixed()
    proto.graph.node[-1].attribute[0].i = TensorProto.DOUBLE
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    with pytest.raises(UnsupportedModel, match="a Cast of float16 to type 11 is not supported"):
        models.program_of(proto)


def test_references_round_what_float32_gives_once():
    problems = [*unary(), *binary(), *softmax()]
    wide = [p for p in problems if p[0].dtype == "float32"]
    halves = list(half_problems(wide))
    assert len(halves) == len(wide) > 40
    for spec, inputs, constants in halves[::3]:
        (found,) = reference(spec, inputs, constants)
        assert found.dtype == np.float16


def test_the_law_of_conversion_is_numpys_own():
    values = np.array([65519, 65520, -1e30, 2.0**-25, 2.0**-24 * 1.5, np.inf], np.float32)
    (found,) = reference(Convert("float32", "float16", 6), [values], {})
    wanted = [65504, np.inf, -np.inf, 0.0, 2.0**-23, np.inf]
    np.testing.assert_array_equal(found.astype(np.float64), wanted)
    assert found.dtype == np.float16
