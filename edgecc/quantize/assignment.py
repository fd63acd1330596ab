"""Which nodes become int8, which tensors get parameters, and which tensors share them.

The decision needs no data: it reads the graph and gives an `Assignment`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import onnx_ir as ir

from edgecc.quantize import norm_runs, operators, pixels, regions
from edgecc.quantize.parameters import Parameters

GAINING = ("linear", "product")  # int8 even where nothing before them is


@dataclass
class Assignment:
    """Names refer to the float model.

    `kinds`: node → its int8 kind. `left_in_float`: node → reason. `tensors`: values that get
    QuantizeLinear/DequantizeLinear, in order. `leader`: tensor → the tensor whose parameters it
    has. `fixed`: leader → parameters known without data. `ceiling`: leader → bound of the Clip
    that made it. `concats`: (output, inputs) that should share one set if their ranges allow.
    `everywhere`: tensors whose every reader takes the int8 value (made by an int8 node).
    """

    kinds: dict[str, str] = field(default_factory=dict)
    left_in_float: dict[str, str] = field(default_factory=dict)
    tensors: list[str] = field(default_factory=list)
    leader: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, Parameters] = field(default_factory=dict)
    ceiling: dict[str, float] = field(default_factory=dict)
    concats: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    everywhere: set[str] = field(default_factory=set)

    @property
    def leaders(self) -> list[str]:
        """Tensors that must be observed."""
        return [t for t in self.tensors if self.leader[t] == t and t not in self.fixed]


def assign(model: ir.Model) -> Assignment:
    """Decide for every node of the main graph."""
    nodes = list(model.graph)
    possible = {node.name or "": operators.classify(node) for node in nodes}
    runs = regions.find(nodes)
    for node in (node for run in runs for node in run):
        possible[node.name or ""] = operators.Verdict("table")
    norms = norm_runs.find(nodes)
    for node in (node for run in norms for node in run):
        possible[node.name or ""] = operators.Verdict("pool")
    inner = {id(value) for run in (*runs, *norms) for node in run[:-1] for value in node.outputs}
    wanted = _wanted(nodes, possible)
    result = Assignment()
    for node in nodes:
        _decide(node, possible[node.name or ""], wanted, result)
    fused = inner | {id(v) for node in nodes for v in _swallowed(node, result)}
    for value in model.graph.inputs:
        _add_if_read(value, result)
    for node in nodes:
        if node.name in result.kinds:
            _add_tensors(node, fused, result)
    _fix_pixels(nodes, result)
    return result


def _fix_pixels(nodes: list[ir.Node], result: Assignment) -> None:
    """Pixels keep their own scale, and what makes them is not arithmetic left in float."""
    for node in nodes:
        known, name = pixels.parameters(node.outputs[0]), node.outputs[0].name or ""
        if known is not None and result.leader.get(name) == name:
            result.fixed[name] = known
        if pixels.prepares(node):
            result.left_in_float.pop(node.name or "", None)


def _wanted(nodes: list[ir.Node], possible: dict[str, operators.Verdict]) -> set[int]:
    """Values that reach an operator that gains from int8 through nothing but data movement."""
    wanted: set[int] = set()
    for node in reversed(nodes):
        kind = possible[node.name or ""].kind
        moves = kind in ("move", "concat")
        if kind in GAINING or (moves and any(id(v) in wanted for v in node.outputs)):
            wanted.update(id(v) for v in operators.activations(node))
    return wanted


def _decide(
    node: ir.Node, verdict: operators.Verdict, wanted: set[int], result: Assignment
) -> None:
    name = node.name or ""
    if verdict.kind is None:
        result.left_in_float[name] = verdict.reason
    elif verdict.kind in GAINING or _is_fed_int8(node, wanted, result):
        result.kinds[name] = verdict.kind
    else:
        result.left_in_float[name] = "no int8 operator feeds it, so int8 would gain nothing"


def _is_fed_int8(node: ir.Node, wanted: set[int], result: Assignment) -> bool:
    for value in operators.activations(node):
        producer = value.producer()
        if id(value) in wanted or (producer is not None and producer.name in result.kinds):
            return True
    return False


def _swallowed(node: ir.Node, result: Assignment) -> list[ir.Value]:
    """The value between a node and its fused activation: it is never int8 itself."""
    if node.name not in result.kinds or operators.fused_producer(node) is None:
        return []
    producer = operators.fused_producer(node)
    fused = producer is not None and producer.name in result.kinds
    return [v for v in node.inputs[:1] if v is not None] if fused else []


def _add_if_read(value: ir.Value, result: Assignment) -> None:
    """A model input is quantized if an int8 node reads it."""
    readers = (node for node, _ in value.uses() if node.name in result.kinds)
    if any(value in operators.activations(node) for node in readers):
        _add(value, result)


def _add(value: ir.Value, result: Assignment) -> None:
    name = value.name or ""
    if name not in result.leader:
        result.tensors.append(name)
        result.leader[name] = name


def _add_tensors(node: ir.Node, fused: set[int], result: Assignment) -> None:
    kind = result.kinds[node.name or ""]
    for value in operators.activations(node):
        if id(value) not in fused:
            _add(value, result)
    for value in node.outputs:
        if value.name and id(value) not in fused:
            _add(value, result)
            result.everywhere.add(value.name)
            _relate(node, kind, value, result)


def _relate(node: ir.Node, kind: str, output: ir.Value, result: Assignment) -> None:
    """What the node says about its output's parameters."""
    name = output.name or ""
    if kind == "move":
        result.leader[name] = result.leader[node.inputs[0].name or ""]  # type: ignore[union-attr]
    elif kind == "concat":
        inputs = tuple(v.name or "" for v in operators.activations(node))
        result.concats.append((name, inputs))
    elif node.op_type in operators.FIXED:
        result.fixed[name] = operators.FIXED[node.op_type]
    elif node.op_type == "Clip":
        result.ceiling[name] = operators.bounds(node)[1]
