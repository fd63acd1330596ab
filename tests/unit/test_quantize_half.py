"""float32 models turned into float16: types, Casts, ranges, and what stays float32."""

import json

import numpy as np
import onnx_ir as ir
import pytest
import schedule_models as models
from onnx import TensorProto
from schedule_models import model, node

from edgecc import quantize
from edgecc.config import CompileConfig
from edgecc.errors import ConfigError, QuantizationError
from edgecc.model import check_model, load, oracle

HALF, WIDE = ir.DataType.FLOAT16, ir.DataType.FLOAT
RANDOM = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def f(*shape, scale=1.0):
    return (scale * RANDOM.standard_normal(shape)).astype(np.float32)


def net(extra=(), bias=None, weights=None, **more):
    """Convolution, Relu, then `extra` (or Neg) from r to y; `more` are constants."""
    constants = {"w": f(4, 3, 3, 3) if weights is None else weights,
                 "b": f(4) if bias is None else bias, **more}
    nodes = [node("Conv", ["x", "w", "b"], ["c"], name="conv"),
             node("Relu", ["c"], ["r"], name="relu"),
             *(extra or [node("Neg", ["r"], ["y"], name="neg")])]
    return load(model(nodes, {"x": (1, 3, 6, 6)}, {"y": (1, 4, 4, 4)}, constants, 20))


def types(made):
    return {v.name: v.dtype for n in made.graph for v in n.outputs}


def kinds(made):
    return [n.op_type for n in made.graph]


def test_everything_between_the_ports_is_float16():
    made, report = quantize.to_float16(net())
    check_model(made)
    assert kinds(made) == ["Cast", "Conv", "Relu", "Neg", "Cast"]
    assert [v.dtype for v in (*made.graph.inputs, *made.graph.outputs)] == [WIDE, WIDE]
    assert {v.const_value.dtype for v in made.graph.initializers.values()} == {HALF}
    assert report.bytes_before == 2 * report.bytes_after == 4 * (108 + 4)
    assert report.macs_fraction == 1.0 and not report.left_in_float and not report.samples
    assert "ranges not checked" in report.summary()


def test_ports_are_float16_where_asked_for():
    config = CompileConfig(quantization="float16", io="float16")
    made, _ = quantize.to_float16(net(), config=config)
    check_model(made)
    assert kinds(made) == ["Conv", "Relu", "Neg"]
    assert [v.dtype for v in (*made.graph.inputs, *made.graph.outputs)] == [HALF, HALF]
    program = models.program_of(ir.to_proto(made), io="float16")
    ports = (*program.entry().inputs, *program.entry().outputs)
    assert [p.view.dtype for p in ports] == ["float16", "float16"]


def test_the_original_is_left_alone_and_the_answers_are_close():
    original = net()
    samples = [f(1, 3, 6, 6) for _ in range(3)]
    made, report = quantize.to_float16(original, samples)
    assert original.graph.inputs[0].dtype == WIDE and "Cast" not in kinds(original)
    for x in samples:
        a, b = (oracle.run(m, {"x": x})["y"] for m in (original, made))
        assert b.dtype == np.float32
        assert np.abs(a - b).max() <= 2.0**-8 * np.abs(a).max()
    assert report.samples == 3 and report.output_sqnr_db > 50
    rows = {row.name: row.largest for row in report.rows}
    assert rows["c"] >= rows["r"] > 0
    assert "not checked" not in report.summary()


def test_ours_is_onnxruntimes_answer():
    made = ir.to_proto(quantize.to_float16(net())[0])
    feeds = {"x": f(1, 3, 6, 6)}
    ours = models.run_ours(models.program_of(made), feeds)["y"]
    theirs = models.run_ort(made, feeds)["y"]
    assert np.abs(ours - theirs).max() <= 2.0**-9 * np.abs(theirs).max()


@pytest.mark.parametrize("where", ["weights", "bias"])
def test_constants_that_do_not_fit_are_an_error(where):
    value = f(4, 3, 3, 3) if where == "weights" else f(4)
    value.reshape(-1)[1] = -70000
    with pytest.raises(QuantizationError, match="1 of .* of . do not fit float16") as caught:
        quantize.to_float16(net(**{where: value}))
    assert caught.value.where == "conv (Conv)"
    assert caught.value.needed == "70,000" and "65,504" in caught.value.available


def test_nodes_around_large_activations_stay_float32():
    samples = [f(1, 3, 6, 6, scale=20000.0)]
    made, report = quantize.to_float16(net(), samples)
    left = {row.node: row.reason for row in report.left_in_float}
    assert set(left) == {"conv", "relu", "neg"} and "Cast" not in kinds(made)
    assert "reaches" in left["conv"] and "float16 holds (65,504)" in left["conv"]
    scaled = net(extra=[node("Mul", ["r", "k"], ["m"], name="mul"),
                        node("Neg", ["m"], ["y"], name="neg")], k=np.float32(1e-4))
    made, report = quantize.to_float16(scaled, samples)
    check_model(made)
    assert {row.node for row in report.left_in_float} == {"conv", "relu", "mul"}
    assert kinds(made)[-2:] == ["Neg", "Cast"] and report.macs_fraction == 0.0
    want, got = (oracle.run(m, {"x": samples[0]})["y"] for m in (scaled, made))
    assert np.isfinite(got).all() and np.abs(want - got).max() <= 2.0**-9 * np.abs(want).max()


def test_operators_without_a_float16_form_stay_float32():
    made, report = quantize.to_float16(net(extra=[
        node("Celu", ["r"], ["e"], name="celu"), node("Neg", ["e"], ["y"], name="neg")]))
    check_model(made)
    assert [(row.op, row.reason) for row in report.left_in_float] == [
        ("Celu", "ONNX has no float16 form of it")]
    assert kinds(made) == ["Cast", "Conv", "Relu", "Cast", "Celu", "Cast", "Neg", "Cast"]
    assert types(made)["e"] == WIDE and types(made)["r"] == HALF


def test_sums_that_are_stored_stay_float32():
    made, report = quantize.to_float16(net(extra=[
        node("LpNormalization", ["r"], ["y"], name="norm")]))
    assert [row.reason for row in report.left_in_float] == [
        "it stores a sum that float16 may not hold"]
    assert types(made)["y"] == WIDE


def test_scales_of_a_resize_stay_float32():
    graph = net(extra=[node("Resize", ["r", "", "s"], ["z"], name="resize", mode="nearest"),
                       node("MaxPool", ["z"], ["y"], name="pool", kernel_shape=[2, 2],
                            strides=[2, 2])], s=np.float32([1, 1, 2, 2]))
    made, report = quantize.to_float16(graph)
    assert made.graph.initializers["s"].dtype == WIDE and not report.left_in_float


def test_a_cast_to_float32_becomes_one_to_float16():
    proto = model([node("Less", ["x", "k"], ["l"]), node("Cast", ["l"], ["y"],
                                                        to=TensorProto.FLOAT)],
                  {"x": (2, 3)}, {"y": (2, 3)}, {"k": np.float32(0.5)})
    made, _ = quantize.to_float16(load(proto))
    x = f(2, 3)
    assert np.array_equal(oracle.run(made, {"x": x})["y"], (x < 0.5).astype(np.float32))


def test_weights_that_vanish_are_counted():
    weights = f(4, 3, 3, 3)
    weights.reshape(-1)[:5] = 1e-9
    _, report = quantize.to_float16(net(weights=weights))
    assert "5 weights became zero" in report.summary()
    assert {row.name: row.lost for row in report.weights} == {"w": 5, "b": 0}
    assert "became zero" in report.to_text()
    record = json.loads(report.to_json())
    assert {"rows", "weights", "left_in_float"} <= set(record)


def test_models_without_float32_are_refused():
    made, _ = quantize.to_float16(net(), config=CompileConfig(io="float16"))
    with pytest.raises(QuantizationError, match="no tensor of the model is float32"):
        quantize.to_float16(made)


def test_quantized_models_are_refused():
    int8, _ = quantize.quantize(net(), [f(1, 3, 6, 6)])
    with pytest.raises(QuantizationError, match="came quantized"):
        quantize.to_float16(int8)


def test_io_of_another_type_is_refused():
    half = ir.to_proto(quantize.to_float16(net(), config=CompileConfig(io="float16"))[0])
    with pytest.raises(ConfigError, match="io='float32', but x is float16"):
        models.program_of(half, io="float32")
    with pytest.raises(ConfigError, match="io='float16', but x is float32"):
        models.program_of(ir.to_proto(net()), io="float16")
