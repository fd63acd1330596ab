"""float32 models and kernel problems turned to float16."""

from dataclasses import replace

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from edgecc.kernels.float16 import COMPUTED
from edgecc.kernels.spec import Convert

UNIT = 2.0**-10  # of float16 numbers between one and two: what one more rounding may change


def half_model(proto):
    """The model with float16 in the place of float32 everywhere but in the scales of Resize."""
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    scales = {name for node in made.graph.node if node.op_type == "Resize"
              for name in node.input[1:]}
    for tensor in made.graph.initializer:
        if tensor.name not in scales:
            _narrow(tensor)
    for value in (*made.graph.input, *made.graph.output, *made.graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for attribute in (a for node in made.graph.node for a in node.attribute):
        if attribute.type == onnx.AttributeProto.TENSOR:
            _narrow(attribute.t)
        elif attribute.name == "to" and attribute.i == TensorProto.FLOAT:
            attribute.i = TensorProto.FLOAT16
    return made


def _narrow(tensor):
    if tensor.data_type == TensorProto.FLOAT:
        values = numpy_helper.to_array(tensor).astype(np.float16)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def half_feeds(feeds):
    return {name: halved(value) for name, value in feeds.items()}


def halved(value):
    with np.errstate(over="ignore"):
        return value.astype(np.float16) if value.dtype == np.float32 else value


def converts(size=300):
    """Between float16 and float32, both ways."""
    random = np.random.default_rng(0)
    values = (random.standard_normal(size) * 100).astype(np.float32)
    yield Convert("float32", "float16", size), [values], {}
    yield Convert("float16", "float32", size), [halved(values)], {}


def half_problems(problems):
    """Those of float32 that compute, over halves."""
    for spec, inputs, constants in problems:
        if spec.dtype == "float32" and spec.op in COMPUTED:
            given = dict(constants)
            if "weights" in given:
                given["weights"] = halved(given["weights"])
            yield replace(spec, dtype="float16"), [halved(x) for x in inputs], given
