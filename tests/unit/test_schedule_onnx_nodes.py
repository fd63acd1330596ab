"""ONNX's own node tests of the operators that move elements: loaded, scheduled, interpreted.

Parameters (shapes, axes, indices) are made constants. Excluded, with the reason why.
"""

import importlib
import warnings

import numpy as np
import onnx
import pytest
import schedule_models as models
from onnx import numpy_helper

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import UnsupportedModel
from edgecc.model import load
from edgecc.schedule import check_program, schedule
from edgecc.targets.null import NULL

MODULES = ("concat", "depthtospace", "expand", "flatten", "gather", "identity", "pad", "reshape",
           "resize", "slice", "spacetodepth", "split", "squeeze", "tile", "transpose",
           "unsqueeze", "upsample")
DIFFERENT = {  # ONNX Runtime takes the rounded output size, ONNX the exact one
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
}
REFUSED = {
    "tf_crop_and_resize": "'tf_crop_and_resize' are not supported",
    "antialias": "antialias=1 is not supported",
    "zero_size": "contradict",
    "start_out_of_bounds": "no elements",
    "allowzero": "cannot run it|no elements",
    "sequence": "sequences", "identity_opt": "optionals",
}


def found():
    """The test cases of MODULES alone: collecting all of them takes half a minute."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = importlib.import_module("onnx.backend.test.case.node")
        for name in MODULES:
            importlib.import_module(f"{package.__name__}.{name}")
    return {case.name: case for case in package._NodeTestCases}


CASES = found()


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def with_constants(case):
    """The model with its parameters as initializers, and what is left to feed."""
    proto, (inputs, _) = onnx.ModelProto(), case.data_sets[0]
    proto.CopyFrom(case.model)
    names = [value.name for value in proto.graph.input]
    fed = len(names) if proto.graph.node[0].op_type == "Concat" else 1
    for name, value in list(zip(names, inputs, strict=True))[fed:]:
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    del proto.graph.input[fed:]
    return proto, {n: v for n, v in list(zip(names, inputs, strict=True))[:fed]}


def answers(proto, feeds):
    program = schedule(load(proto), NULL, config=CompileConfig(), context=Context())
    check_program(program)
    return models.run_ours(program, {n: np.asarray(v) for n, v in feeds.items()})


@pytest.mark.parametrize("name", sorted(CASES))
def test_node(name):
    case = CASES[name]
    rule = next((rule for part, rule in REFUSED.items() if part in name), None)
    if rule is not None:
        with pytest.raises(UnsupportedModel, match=rule):
            answers(*with_constants(case))
        return
    if name in DIFFERENT:
        pytest.skip("ONNX Runtime, whose numbers are ours, computes something else")
    proto, feeds = with_constants(case)
    found = answers(proto, feeds)
    for port, expected in zip(proto.graph.output, case.data_sets[0][1], strict=True):
        assert found[port.name].dtype == expected.dtype
        np.testing.assert_allclose(found[port.name], expected, case.rtol, case.atol)
