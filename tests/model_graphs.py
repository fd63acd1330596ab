"""A small way to write ONNX graphs in tests."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class GraphMaker:
    """Collects nodes and weights; every value is float32 unless said otherwise."""

    def __init__(self, seed: int = 0, opset: int = 17):
        self.random, self.opset = np.random.default_rng(seed), opset
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.functions: list[onnx.FunctionProto] = []
        self.imports = [helper.make_opsetid("", opset)]

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def weight(self, value, name=None):
        """A constant: an array, or a shape to fill with random numbers."""
        if isinstance(value, tuple):
            value = self.random.normal(size=value).astype(np.float32)
        name = name or f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op, *inputs, name=None, outputs=1, domain="", **attributes):
        """A node; its output's name (a list if there are several)."""
        index = len(self.nodes)
        names = [f"v{index}" if outputs == 1 else f"v{index}_{i}" for i in range(outputs)]
        name = f"{op.lower()}_{index}" if name is None else name
        node = helper.make_node(op, list(inputs), names, name, domain=domain, **attributes)
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def conv(self, x, channels_in, channels_out, kernel=3, groups=1, bias=True, **attributes):
        weights = self.weight((channels_out, channels_in // groups, kernel, kernel))
        inputs = [x, weights] + ([self.weight((channels_out,))] if bias else [])
        attributes.setdefault("pads", [kernel // 2] * 4)
        return self.add("Conv", *inputs, group=groups, **attributes)

    def batch_norm(self, x, channels):
        positive = np.abs(self.random.normal(size=channels)).astype(np.float32) + 0.5
        rest = [self.weight((channels,)) for _ in range(3)]
        return self.add("BatchNormalization", x, *rest, self.weight(positive))

    def model(self, *outputs, name="graph"):
        infos = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
        for info in infos:
            info.type.tensor_type.ClearField("shape")
        graph = helper.make_graph(self.nodes, name, self.inputs, infos, self.initializers)
        return helper.make_model(
            graph, opset_imports=self.imports, ir_version=8, functions=self.functions
        )


def feeds_of(model, seed=1):
    """Random numbers for every input of a loaded model."""
    random = np.random.default_rng(seed)
    return {
        v.name: random.normal(size=tuple(v.shape)).astype(np.float32) for v in model.graph.inputs
    }
