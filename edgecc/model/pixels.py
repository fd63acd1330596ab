"""Scale, mean and std inside the model: its input becomes the uint8 pixels of a picture, NHWC.

(p - m) * k per channel goes into the weights of the first convolutions where that is exact: k into
the weights, the whole part z of the mean into one subtraction (which INT8 makes its zero point),
and the rest of the mean into the bias. Where a convolution pads, its zeros stand for m: they can
only be kept if m = z for every channel. Otherwise a multiplication and an addition stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from edgecc.data.preprocessing import Preprocessing, declared, picture_layout
from edgecc.errors import ConfigError
from edgecc.model import shapes
from edgecc.model.edit import attribute, constant, initializer

WHOLE = 1e-6  # pixels by which a mean may miss a whole number
TO_NHWC = {"NCHW": (0, 2, 3, 1), "CHW": (1, 2, 0)}


@dataclass(frozen=True, eq=False)
class Affine:
    """(p - mean) * factor for pixels p of 0..255, one number per channel."""

    mean: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, how: Preprocessing) -> Affine:
        unit = 255.0 / how.scale
        return cls(np.array(how.mean) * unit, 1.0 / (np.array(how.std) * unit))

    @property
    def whole(self) -> int:
        """The pixel nearest to all means."""
        return int(np.clip(np.rint(self.mean.mean()), 0, 255))

    @property
    def rest(self) -> np.ndarray:
        rest = self.mean - self.whole
        return np.where(np.abs(rest) < WHOLE, 0.0, rest)


def fold(model: ir.Model, how: Preprocessing) -> ir.Model:
    """A copy of a canonical model that takes pixels. Raises ConfigError if pictures do not fit."""
    declared(how, [value.name or "" for value in model.graph.inputs], model.graph.name or "model")
    result = model.clone()
    pixels, real = _split_input(result.graph, how)
    affine = Affine.of(how)
    convolutions = _absorbing(real, affine)
    if convolutions is None:
        _compute(result.graph, pixels, real, affine)
    else:
        for node in convolutions:
            _absorb(result.graph, node, affine)
        _centre(result.graph, real, affine.whole)
    shapes.infer(result)
    return result


def _split_input(graph: ir.Graph, how: Preprocessing) -> tuple[ir.Value, ir.Value]:
    """The uint8 input, and the float value of its pixels in the model's layout, which all
    readers of the old input read now."""
    old = graph.inputs[0]
    shape = tuple(old.shape.numpy()) if old.shape is not None else ()
    if old.dtype != ir.DataType.FLOAT:
        raise ConfigError("only float inputs can become pixels", where=old.name,
                          needed="float32", available=str(old.dtype))
    layout, _ = picture_layout(shape, how.channels)
    turn = TO_NHWC.get(layout)
    stored = shape if turn is None else tuple(shape[i] for i in turn)
    pixels = ir.Value(name=old.name, shape=ir.Shape(stored), type=ir.TensorType(ir.DataType.UINT8))
    old.name = f"{pixels.name}_pixels"
    nodes = [ir.node("Cast", [pixels], {"to": ir.DataType.FLOAT}, name=f"{pixels.name}_cast")]
    if turn is not None:
        back = {"perm": [turn.index(axis) for axis in range(len(turn))]}
        nodes.append(ir.node("Transpose", nodes[0].outputs, back, name=f"{pixels.name}_layout"))
    real = nodes[-1].outputs[0]
    _typed(nodes[0].outputs[0], f"{pixels.name}_float", stored)
    _typed(real, f"{pixels.name}_pixels", shape)
    ir.convenience.replace_all_uses_with(old, real)
    graph.inputs[0] = pixels
    for node in reversed(nodes):
        _first(graph, node)
    return pixels, real


def _typed(value: ir.Value, name: str, shape: tuple[int, ...]) -> None:
    value.name, value.shape = name, ir.Shape(shape)
    value.type = ir.TensorType(ir.DataType.FLOAT)


def _first(graph: ir.Graph, node: ir.Node) -> None:
    graph.insert_before(graph[0], node)


def _absorbing(real: ir.Value, affine: Affine) -> list[ir.Node] | None:
    """The convolutions that read the pixels, through one transpose if any; None unless all
    readers are such and absorb the arithmetic exactly."""
    readers = [node for node, _ in real.uses()]
    if len(readers) == 1 and readers[0].op_type == "Transpose":
        return _absorbing(readers[0].outputs[0], affine)
    if real.is_graph_output() or not readers:
        return None
    return readers if all(_absorbs(node, real, affine) for node in readers) else None


def _absorbs(node: ir.Node, real: ir.Value, affine: Affine) -> bool:
    if node.op_type != "Conv" or node.domain not in ("", "ai.onnx") or node.inputs[0] is not real:
        return False
    weights = constant(node.inputs[1])
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    fixed = weights is not None and (bias is None or constant(bias) is not None)
    padded = any(attribute(node, "pads", ())) or attribute(node, "auto_pad", "NOTSET") not in (
        "NOTSET", "VALID")
    channels = real.shape is not None and real.shape[1] == len(affine.mean)
    return fixed and channels and not (padded and affine.rest.any())


def _absorb(graph: ir.Graph, node: ir.Node, affine: Affine) -> None:
    """weights * factor, and bias - the sum of what the rest of the mean adds."""
    weights = constant(node.inputs[1])
    assert weights is not None
    count, inner = weights.shape[:2]
    groups = int(attribute(node, "group", 1))
    reads = np.arange(count)[:, None] // (count // groups) * inner + np.arange(inner)
    ones = (1,) * (weights.ndim - 2)
    scaled = weights.astype(np.float64) * affine.factor[reads].reshape(count, inner, *ones)
    lost = (scaled * affine.rest[reads].reshape(count, inner, *ones)).reshape(count, -1).sum(1)
    bias = constant(node.inputs[2]) if len(node.inputs) > 2 else None
    shifted = (0.0 if bias is None else bias.astype(np.float64)) - lost
    node.replace_input_with(1, initializer(graph, f"{node.name}_weights",
                                           scaled.astype(np.float32)))
    if bias is not None or shifted.any():
        node.resize_inputs(3)
        node.replace_input_with(2, initializer(graph, f"{node.name}_bias",
                                               shifted.astype(np.float32)))


def _centre(graph: ir.Graph, real: ir.Value, whole: int) -> None:
    if whole:
        _insert(graph, real, [("Add", np.array(-float(whole), np.float32))])


def _compute(graph: ir.Graph, pixels: ir.Value, real: ir.Value, affine: Affine) -> None:
    """p * factor - mean * factor, in the layout of `real`."""
    last = real.shape is not None and real.shape[-1] == len(affine.mean) and (
        len(real.shape) < 3 or real.shape[-3] != len(affine.mean))
    shape = (-1,) if last or len(affine.mean) == 1 else (-1, 1, 1)
    _insert(graph, real, [(op, values.astype(np.float32).reshape(shape)) for op, values in (
        ("Mul", affine.factor), ("Add", -affine.mean * affine.factor))])


def _insert(graph: ir.Graph, value: ir.Value, steps: list[tuple[str, np.ndarray]]) -> None:
    """Operators with a constant each between a value and its readers."""
    readers, current, after = list(value.uses()), value, value.producer()
    assert after is not None and value.shape is not None, "made by _split_input"
    for op, number in steps:
        other = initializer(graph, f"{value.name}_{op.lower()}", number)
        node = ir.node(op, [current, other], name=f"{value.name}_{op.lower()}ed")
        _typed(node.outputs[0], f"{node.name}_output", tuple(value.shape.numpy()))
        graph.insert_after(after, node)
        current, after = node.outputs[0], node
    for reader, index in readers:
        reader.replace_input_with(index, current)
