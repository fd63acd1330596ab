"""The verb: assign, observe, choose parameters, insert, compare."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import CheckFailed, QuantizationError
from edgecc.quantize import calibration, check_quantized, is_qdq, observation, report
from edgecc.quantize.assignment import Assignment, assign
from edgecc.quantize.insertion import insert
from edgecc.quantize.parameters import Parameters, from_range
from edgecc.quantize.report import QuantReport

_COMPARED_SAMPLES = 16
# Sharing one scale costs a bit of resolution per factor of two between ranges.
_SHAREABLE_RATIO = 4.0


def quantize(
    model: ir.Model, source: Any, config: CompileConfig, context: Context
) -> tuple[ir.Model, QuantReport]:
    """See `edgecc.quantize.quantize`."""
    if is_qdq(model):
        return _imported(model)
    assignment = assign(model)
    samples = calibration.read(source, model, config.preprocessing)
    ranges, kept, count = observation.observe(
        model, assignment.leaders, samples, config.observer, _COMPARED_SAMPLES
    )
    share_concats(assignment, ranges)
    parameters = choose(assignment, ranges)
    inserted = insert(model, assignment, parameters)
    found = report.make(model, inserted, assignment, parameters, kept, config.observer, count)
    context.progress("quantize", found.summary())
    return inserted.model, found


def _imported(model: ir.Model) -> tuple[ir.Model, QuantReport]:
    try:
        check_quantized(model)
    except CheckFailed as error:
        raise QuantizationError(
            f"the model came quantized, but {error}",
            where=model.graph.name,
            advice="export it again, or quantize the float model here",
        ) from error
    return model, report.of_imported(model)


def share_concats(assignment: Assignment, ranges: dict[str, tuple[float, float]]) -> None:
    """Let a Concat's inputs and output share parameters where their ranges are alike.

    Changes `assignment.leader` and widens the leader's range.
    """
    for output, inputs in assignment.concats:
        leaders = sorted({assignment.leader[t] for t in (output, *inputs)})
        if any(leader in assignment.fixed for leader in leaders):
            continue
        if not _alike([ranges[assignment.leader[t]] for t in inputs]):
            continue
        first = assignment.leader[inputs[0]]
        ranges[first] = (
            min(ranges[leader][0] for leader in leaders),
            max(ranges[leader][1] for leader in leaders),
        )
        for tensor, leader in assignment.leader.items():
            if leader in leaders:
                assignment.leader[tensor] = first


def _alike(ranges: list[tuple[float, float]]) -> bool:
    widths = [max(high, 0.0) - min(low, 0.0) for low, high in ranges]
    return min(widths) > 0 and max(widths) <= _SHAREABLE_RATIO * min(widths)


def choose(assignment: Assignment, ranges: dict[str, tuple[float, float]]) -> dict[str, Parameters]:
    """Parameters of every tensor."""
    chosen = {}
    for tensor in assignment.tensors:
        leader = assignment.leader[tensor]
        if leader not in chosen:
            fixed = assignment.fixed.get(leader)
            ceiling = assignment.ceiling.get(leader)
            chosen[leader] = fixed or from_range(*ranges[leader], ceiling=ceiling)
        chosen[tensor] = chosen[leader]
    return chosen
