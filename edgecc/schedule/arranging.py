"""The graph while layouts are being decided: what the rules of `arrange` read and add to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from edgecc.schedule import layout as lay
from edgecc.schedule.layout import Layout
from edgecc.schedule.moves import Fixed
from edgecc.schedule.ops import Graph, Op, Relayout, Tensor


@dataclass
class Arranging:
    """Layouts so far, and the operators with the Relayouts that they asked for."""

    graph: Graph
    layouts: dict[str, Layout] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    converted: dict[tuple[str, Layout], str] = field(default_factory=dict)

    def shape(self, name: str) -> tuple[int, ...]:
        return self.tensors[name].shape

    def want(self, name: str, layout: Layout) -> str:
        """The tensor's name in `layout`, converted once for all who ask."""
        if self.layouts[name] == layout:
            return name
        if (name, layout) in self.converted:
            return self.converted[name, layout]
        source, producer = name, self.graph.producers.get(name)
        if lay.conversion(self.layouts[name], layout) is None:
            source = self.want(name, row_major(self.shape(name)))
        made = f"{name}.layout{len(self.converted)}"
        self.tensors[made] = replace(self.tensors[name], name=made)
        self.layouts[made] = layout
        self.ops.append(replace(producer, output=made) if isinstance(producer, Fixed) else
                        Relayout(f"{name}_transpose", (source,), made))
        self.converted[name, layout] = made
        return made


def row_major(shape: Sequence[int]) -> Layout:
    return lay.make(shape)


def operand_axes(shape: Sequence[int], operand: Sequence[int]) -> tuple[int, ...]:
    """The axes of `shape` along which a broadcast operand varies."""
    aligned = (1,) * (len(shape) - len(operand)) + tuple(operand)
    return tuple(i for i, n in enumerate(aligned) if n != 1)


def with_tail_of(work: Arranging, name: str, axes: Sequence[int]) -> str:
    shape = work.shape(name)
    if lay.tail_order(work.layouts[name], shape, axes) is None:
        return work.want(name, lay.with_tail(shape, axes))
    return name


Rule = Callable[[Arranging, Op], tuple[list[str], Layout]]
"""From an operator to its inputs (converted where it must be) and its output's layout."""
