"""ONNX's own node tests of arithmetic operators: load, schedule, interpret."""

import warnings

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import schedule_models as models
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

from edgecc.model import load

# data inputs of each operator; whatever comes after them becomes a constant
OPERATORS = {
    "Add": 2, "Sub": 2, "Mul": 2, "Div": 2, "Min": 9, "Max": 9, "Sum": 9, "Mean": 9, "Pow": 1,
    "ConvTranspose": 1, "LayerNormalization": 1, "InstanceNormalization": 1,
    "GroupNormalization": 1, "LpNormalization": 1, "MatMul": 2, "Gemm": 2, "PRelu": 1,
    "Softmax": 1, "LogSoftmax": 1, "ArgMax": 1, "ArgMin": 1,
    **{f"Reduce{kind}": 1 for kind in ("Mean", "Sum", "Max", "Min", "L1", "L2", "Prod", "LogSum",
                                       "LogSumExp", "SumSquare")},
    **dict.fromkeys(("Elu", "Selu", "Celu", "Softplus", "Softsign", "Mish", "Gelu", "Erf", "Log",
                     "Reciprocal", "Floor", "Ceil", "Round", "Sign", "Sqrt", "Sin", "Cos", "Relu",
                     "Sigmoid", "Tanh", "Exp", "Abs", "Neg", "HardSigmoid", "HardSwish",
                     "LeakyRelu", "ThresholdedRelu", "Clip"), 1),
}
MANY, UNSIGNED = "more than one exponent", "ONNX Runtime has no Pow with unsigned exponents"
EXCLUDED = {
    "test_convtranspose_3d": "three spatial axes", "test_pow": MANY, "test_pow_example": MANY,
    "test_pow_bcast_array": MANY, "test_pow_types_float32_int64": MANY,
    "test_pow_types_float32_int32": MANY, "test_pow_types_float32_uint64": UNSIGNED,
    "test_pow_types_float32_uint32": UNSIGNED,
}


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of making the cases
        found = load_model_tests(kind="node")
    for case in found:
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATORS and nodes[0].domain == "":
            yield case


def is_ours(case):
    """float32 data and outputs (indices may be integers), no empty tensors."""
    proto, (inputs, outputs) = case.model, case.data_sets[0]
    data = OPERATORS[proto.graph.node[0].op_type]
    arrays = [*inputs[:data], *outputs]
    kinds = {np.asarray(a).dtype.name for a in inputs[:data]}
    return kinds == {"float32"} and all(np.asarray(a).size for a in arrays)


def with_constants(case):
    """The model with its parameters as initializers, and feeds of the rest."""
    proto = onnx.ModelProto()
    proto.CopyFrom(case.model)
    inputs, _ = case.data_sets[0]
    count = OPERATORS[proto.graph.node[0].op_type]
    kept, feeds = [], {}
    for index, (port, value) in enumerate(zip(proto.graph.input, inputs, strict=True)):
        if index < count:
            kept.append(port)
            feeds[port.name] = np.asarray(value)
        else:
            proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), port.name))
    del proto.graph.input[:]
    proto.graph.input.extend(kept)
    del proto.graph.output[1:]  # mean and deviation of a norm
    return proto, feeds


def test_node_tests_of_arithmetic_operators_pass():
    seen, failed = 0, []
    for case in cases():
        if not is_ours(case) or case.name in EXCLUDED:
            continue
        seen += 1
        try:
            compare(case)
        except Exception as error:
            failed.append(f"{case.name}: {type(error).__name__} {str(error)[:150]}")
    assert not failed, "\n".join(failed)
    assert seen > 250


def compare(case):
    proto, feeds = with_constants(case)
    program = models.program_of(ir.to_proto(load(proto)))
    found = models.run_ours(program, feeds)
    expected = case.data_sets[0][1]
    ours, theirs = found[proto.graph.output[0].name], np.asarray(expected[0])
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)
