"""Gates, norms, attention and transposed convolutions through the whole line."""

import math_network
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgecc
from edgecc.bundle import oracle

pytestmark = pytest.mark.host
SAMPLES = math_network.samples()


@pytest.fixture(scope="module")
def int8():
    return edgecc.compile(math_network.network(), quantization="int8", name="net",
                          calibration={"x": SAMPLES})


def test_float_is_what_onnxruntime_gives():
    bundle = edgecc.compile(math_network.network(), name="net")
    for inputs, outputs in bundle.vectors():
        found = bundle.run(inputs, native=True)
        np.testing.assert_allclose(found["y"], outputs["y"], rtol=0, atol=1e-4)
        assert found["map"].dtype == np.int64 and np.array_equal(found["map"], outputs["map"])
    assert all(agreement.holds for agreement in oracle.compare(bundle))


def test_int8_gives_the_golden_bytes_and_stays_near_onnxruntime(int8):
    for inputs, outputs in int8.vectors():
        found = int8.run(inputs, native=True)
        assert all(found[name].tobytes() == outputs[name].tobytes() for name in outputs)
    near = {agreement.output: agreement for agreement in oracle.compare(int8)}
    assert near["y"].holds


def test_everything_is_int8(int8):
    steps = int8.manifest["steps"]
    assert not [s["kernel"] for s in steps if s["kernel"] and s["kernel"].startswith("float32")]
    assert int8.manifest["outputs"][1]["dtype"] == "int64"


def test_truth_is_an_output_and_chooses():
    node, info = helper.make_node, helper.make_tensor_value_info
    nodes = [node("Greater", ["x", "row"], ["bright"]), node("Not", ["bright"], ["dark"]),
             node("Where", ["dark", "zero", "x"], ["y"])]
    shape = (1, 3, 5, 7)
    graph = helper.make_graph(
        nodes, "truth", [info("x", TensorProto.FLOAT, shape)],
        [info("y", TensorProto.FLOAT, shape), info("bright", TensorProto.BOOL, shape)],
        [numpy_helper.from_array(np.array([[[0.1]], [[0.0]], [[-0.3]]], np.float32), "row"),
         numpy_helper.from_array(np.float32(0), "zero")])
    bundle = edgecc.compile(helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 17)]), name="truth")
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    found = bundle.run({"x": x})
    bright = x > np.array([[[0.1]], [[0.0]], [[-0.3]]], np.float32)
    assert found["bright"].dtype == bool and np.array_equal(found["bright"], bright)
    assert np.array_equal(found["y"], np.where(bright, x, 0))
