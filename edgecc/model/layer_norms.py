"""LayerNormalization where a model spells it out: ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div.

Over the last axes it becomes the operator (opset 17); over the channels of an image the operator
between two Transposes, which cost nothing where images are stored channels last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from edgecc.model.edit import (
    attribute,
    constant,
    initializer,
    is_real,
    real_type,
    replace,
)

OPSET = 17


@dataclass(frozen=True)
class Found:
    """x normalized over `axes`; `node` computes the normalized value."""

    node: ir.Node
    x: ir.Value
    axes: tuple[int, ...]
    epsilon: float

    @property
    def rank(self) -> int:
        return len(self.x.shape or ())

    @property
    def is_tail(self) -> bool:
        return self.axes == tuple(range(self.rank - len(self.axes), self.rank))


def fuse(model: ir.Model) -> bool:
    """Replace every spelled-out normalization; True if there was any."""
    if model.graph.opset_imports.get("", 0) < OPSET:
        return False
    changed = False
    for node in list(model.graph):
        found = _match(node) if node.graph is not None else None
        if found is not None and (found.is_tail or found.axes == (1,)):
            _rewrite(model.graph, found)
            changed = True
    return changed


def _maker(value: ir.Value | None, *ops: str) -> ir.Node | None:
    node = value.producer() if value is not None else None
    return node if node is not None and node.domain == "" and node.op_type in ops else None


def _match(node: ir.Node) -> Found | None:
    """Div by the deviation, or Mul by its reciprocal."""
    if node.op_type == "Div":
        return _over(node, node.inputs[0], node.inputs[1])
    if node.op_type == "Mul":
        for one, other in ((0, 1), (1, 0)):
            inverse = _maker(node.inputs[other], "Reciprocal")
            found = _over(node, node.inputs[one], inverse.inputs[0]) if inverse else None
            if found is not None:
                return found
    return None


def _over(node: ir.Node, centred: ir.Value | None, deviation: ir.Value | None) -> Found | None:
    """`centred` / `deviation`, if they are x - mean(x) and sqrt(mean(centred^2) + epsilon)."""
    sub, variance = _maker(centred, "Sub"), _under_root(deviation)
    if sub is None or variance is None:
        return None
    mean, (average, epsilon) = _maker(sub.inputs[1], "ReduceMean"), variance
    x = sub.inputs[0]
    if mean is None or x is None or mean.inputs[0] is not x or real_type(x) is None:
        return None
    axes, same = _axes(mean), _axes(average)
    if axes is None or axes != same or not _is_square_of(average.inputs[0], sub):
        return None
    return Found(node, x, axes, epsilon)


def _under_root(value: ir.Value | None) -> tuple[ir.Node, float] | None:
    """ReduceMean and epsilon of sqrt(mean + epsilon)."""
    root = _maker(value, "Sqrt", "Pow")
    if root is None or (root.op_type == "Pow" and _number(root.inputs[1]) != 0.5):
        return None
    total = _maker(root.inputs[0], "Add")
    if total is None:
        return None
    for one, other in ((0, 1), (1, 0)):
        average, epsilon = _maker(total.inputs[one], "ReduceMean"), _number(total.inputs[other])
        if average is not None and epsilon is not None:
            return average, epsilon
    return None


def _number(value: ir.Value | None) -> float | None:
    array = constant(value)
    return float(array.item()) if array is not None and array.size == 1 else None


def _axes(node: ir.Node) -> tuple[int, ...] | None:
    """Sorted axes of a ReduceMean that keeps its dimensions."""
    axes = attribute(node, "axes", None)
    if axes is None and len(node.inputs) > 1:
        axes = constant(node.inputs[1])
    shape = node.inputs[0].shape if node.inputs[0] is not None else None
    if axes is None or shape is None or not attribute(node, "keepdims", 1):
        return None
    return tuple(sorted(int(a) % len(shape) for a in axes))


def _is_square_of(value: ir.Value | None, sub: ir.Node) -> bool:
    square = _maker(value, "Mul", "Pow")
    if square is None:
        return False
    if square.op_type == "Pow" and _number(square.inputs[1]) != 2.0:
        return False
    factors = square.inputs[:1] if square.op_type == "Pow" else square.inputs
    return all(_is_same(factor, sub) for factor in factors)


def _is_same(value: ir.Value | None, sub: ir.Node) -> bool:
    """Whether a value is the difference, or computed from the same operands again."""
    other = _maker(value, "Sub")
    return other is not None and (other is sub or all(
        a is b for a, b in zip(other.inputs, sub.inputs, strict=True)))


def _rewrite(graph: ir.Graph, found: Found) -> None:
    """The operator in the place of the last of: division, Mul by constants, Add of constants."""
    last, scale = _constant_after(found, found.node, "Mul")
    last, shift = _constant_after(found, last, "Add")
    sizes = _sizes(found)
    rows = [np.ones(sizes, real_type(found.x)) if scale is None else scale]
    rows += [] if shift is None else [shift]
    base = last.outputs[0].name
    constants = [initializer(graph, f"{base}_{name}", row) for name, row in
                 zip(("scale", "shift"), rows, strict=False)]
    attributes = {"axis": -len(sizes), "epsilon": found.epsilon}
    if found.is_tail:
        replace(last, "LayerNormalization", [found.x, *constants], attributes)
        return
    order = [0, *range(2, found.rank), 1]
    turned = _inserted(last, "Transpose", [found.x], {"perm": order}, f"{base}_last")
    norm = _inserted(last, "LayerNormalization", [turned, *constants], attributes,
                     f"{base}_normalized")
    replace(last, "Transpose", [norm], {"perm": np.argsort(order).tolist()})


def _sizes(found: Found) -> tuple[int, ...]:
    shape = tuple(int(d) for d in found.x.shape or ())  # type: ignore[arg-type]
    return tuple(shape[axis] for axis in found.axes)


def _inserted(before: ir.Node, op_type: str, inputs: list[ir.Value], attributes: dict,
              name: str) -> ir.Value:
    """A node of its own in front of another."""
    made = ir.Node("", op_type, inputs, ir.convenience.convert_attributes(attributes),
                   num_outputs=1, name=name)
    output = made.outputs[0]
    output.name, output.type = name, inputs[0].type
    graph = before.graph
    assert isinstance(graph, ir.Graph)
    graph.insert_before(before, made)
    return output


def _constant_after(found: Found, node: ir.Node, op: str) -> tuple[ir.Node, np.ndarray | None]:
    """The one reader of a node if it joins a constant of the normalized shape, and that."""
    value = node.outputs[0]
    uses = list(value.uses())
    if len(uses) != 1 or value.is_graph_output() or uses[0][0].op_type != op:
        return node, None
    reader, index = uses[0]
    array = constant(reader.inputs[1 - index])
    row = None if array is None else _row(found, array)
    return (node, None) if row is None else (reader, row)


def _row(found: Found, array: np.ndarray) -> np.ndarray | None:
    """A constant that varies along the normalized axes only, as large as they are."""
    if array.ndim > found.rank or not is_real(array):
        return None
    full = array.reshape((1,) * (found.rank - array.ndim) + array.shape)
    if any(n != 1 for i, n in enumerate(full.shape) if i not in found.axes):
        return None
    kept = full.reshape([full.shape[axis] for axis in found.axes])
    return np.broadcast_to(kept, _sizes(found))
