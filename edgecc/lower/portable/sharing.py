"""Which parts of an expression are used more than once, and may be computed ahead of it.

TIR expressions are graphs; printed as trees they can grow without bound. A part is named when it
has several users and would be computed anyway, or cannot fail whether it is or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LEAVES = ("Var", "IntImm", "FloatImm", "StringImm")
SMALLEST = 3  # nodes: anything less is as short as its name
FEW_USES = 2


def children(node: Any) -> Iterator[tuple[Any, bool]]:
    """(operand, whether it is computed whenever the node is)."""
    name = type(node).__name__
    if name == "Select":
        yield from ((node.condition, True), (node.true_value, False), (node.false_value, False))
    elif name == "Call":
        lazy = node.op.name.endswith("if_then_else")
        yield from ((a, i == 0 or not lazy) for i, a in enumerate(node.args))
    elif name in ("And", "Or"):
        yield from ((node.a, True), (node.b, False))
    elif name == "TensorLoad":
        yield from ((index, True) for index in node.indices)
    elif name == "Shuffle":
        yield from ((vector, True) for vector in node.vectors)
    elif name == "Ramp":
        yield from ((node.base, True), (node.stride, True))
    elif name in ("Cast", "Broadcast"):
        yield node.value, True
    elif name not in LEAVES:
        yield from ((getattr(node, side), True) for side in ("a", "b") if hasattr(node, side))


class _Graph:
    """The expression below one node."""

    def __init__(self, root: Any) -> None:
        self.order: list[Any] = []  # operands first
        self.uses: dict[Any, int] = {}
        self.size: dict[Any, int] = {}
        self.harmless: dict[Any, bool] = {}
        self.certain: set[Any] = set()
        self._visit(root)
        self._mark(root)

    def _visit(self, node: Any) -> None:
        below = [child for child, _ in children(node)]
        for child in below:
            self.uses[child] = self.uses.get(child, 0) + 1
            if child not in self.size:
                self._visit(child)
        self.size[node] = 1 + sum(self.size[child] for child in below)
        self.harmless[node] = not _may_fail(node) and all(self.harmless[c] for c in below)
        self.order.append(node)

    def _mark(self, node: Any) -> None:
        if node in self.certain:
            return
        self.certain.add(node)
        for child, always in children(node):
            if always:
                self._mark(child)


def _may_fail(node: Any) -> bool:
    """Reads that may lie outside, and divisions that may be by zero."""
    name = type(node).__name__
    whole = "float" not in str(getattr(node, "ty", ""))
    return name == "TensorLoad" or (name in ("Div", "Mod", "FloorDiv", "FloorMod") and whole)


def shared(root: Any) -> list[Any]:
    """Parts of `root` to be named before it, those that others need first."""
    graph = _Graph(root)
    return [node for node in graph.order
            if graph.uses.get(node, 0) >= FEW_USES and graph.size[node] >= SMALLEST
            and type(node).__name__ not in (*LEAVES, "Ramp", "Broadcast")
            and (node in graph.certain or graph.harmless[node])]


def shuffles(root: Any) -> bool:
    """Whether the lanes of `root` are not all of one form."""
    return any(type(node).__name__ == "Shuffle" for node in _Graph(root).order)
