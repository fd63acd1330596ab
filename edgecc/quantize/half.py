"""float32 models in float16: weights and activations, with float32 where float16 does not reach.

The result is an ordinary ONNX model with Casts at its ports and around what stays float32: nodes
that ONNX has no float16 form of, nodes whose sums of squares or exponentials are stored, and nodes
that write or read a tensor which comes within a factor of two of the largest float16 number.
"""

from __future__ import annotations

from typing import Any

import onnx
import onnx_ir as ir

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import QuantizationError
from edgecc.model.edit import constant
from edgecc.quantize import calibration, is_qdq, observation
from edgecc.quantize.compare import Noise
from edgecc.quantize.half_insertion import LARGEST, Halving
from edgecc.quantize.half_report import HalfReport, HalfTensor, HalfWeights
from edgecc.quantize.report import FloatRow, macs_fraction

COMPARED_SAMPLES = 16
REACH = LARGEST / 2  # of activations: samples other than those of calibration may be larger
STORED_SUMS = frozenset({"LpNormalization", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"})


def to_float16(
    model: ir.Model, source: Any, config: CompileConfig, context: Context
) -> tuple[ir.Model, HalfReport]:
    """See `edgecc.quantize.to_float16`."""
    if is_qdq(model):
        raise QuantizationError("the model came quantized", where=model.graph.name,
                                advice="float16 is for float models: compile it as it is")
    tensors = _tensors(model)
    if not tensors:
        raise QuantizationError("no tensor of the model is float32", where=model.graph.name,
                                advice="compile it as it is")
    largest, kept, count = _largest(model, tensors, source, config)
    reasons = {node.name or "": reason for node in model.graph
               if (reason := reason_for_float32(node, model, largest))}
    halving = Halving(model, set(reasons), ports=config.io == "float16")
    made = halving.run()
    report = _report(model, made, halving, reasons, largest, kept, count)
    context.progress("quantize", report.summary())
    return made, report


def _tensors(model: ir.Model) -> list[str]:
    """Computed float32 values, inputs included."""
    values = [*model.graph.inputs, *(v for node in model.graph for v in node.outputs)]
    return [v.name for v in values if v.name and v.dtype == ir.DataType.FLOAT]


def _largest(model: ir.Model, tensors: list[str], source: Any, config: CompileConfig
             ) -> tuple[dict[str, float], list[observation.Feeds], int]:
    """Largest magnitudes on the calibration data, a few samples, and how many there were."""
    if source is None:
        return {}, [], 0
    samples = calibration.read(source, model, config.preprocessing)
    ranges, kept, count = observation.observe(model, tensors, samples, "minmax",
                                              COMPARED_SAMPLES)
    return {n: max(abs(lo), abs(hi)) for n, (lo, hi) in ranges.items()}, kept, count


def reason_for_float32(node: ir.Node, model: ir.Model, largest: dict[str, float]) -> str | None:
    """Why a node stays in float32; None if it need not."""
    values = [v for v in (*node.inputs, *node.outputs) if v is not None]
    if node.op_type in STORED_SUMS:
        return "it stores a sum that float16 may not hold"
    if any(isinstance(a, ir.Attr) and a.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
           for a in node.attributes.values()):
        return "it has a graph inside"
    if not _takes_halves(node, model):
        return "ONNX has no float16 form of it"
    for value in values:
        if (reached := largest.get(value.name or "", 0.0)) > REACH:
            return (f"{value.name} reaches {reached:,.0f}, more than half of what float16 holds "
                    f"({LARGEST:,})")
    return None


def _takes_halves(node: ir.Node, model: ir.Model) -> bool:
    """Whether ONNX allows float16 where the node computes with float32."""
    schema = schema_of(node, model)
    if schema is None:
        return False
    given = [(v, parameter_of(schema.inputs, i)) for i, v in enumerate(node.inputs)]
    made = [(v, parameter_of(schema.outputs, i)) for i, v in enumerate(node.outputs)]
    return all("tensor(float16)" in parameter.types for value, parameter in (*given, *made)
               if value is not None and value.dtype == ir.DataType.FLOAT
               and constant(value) is None)


def schema_of(node: ir.Node, model: ir.Model) -> onnx.defs.OpSchema | None:
    """What ONNX says of an operator of its own domain."""
    version = model.graph.opset_imports.get(node.domain, 0)
    try:
        return onnx.defs.get_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        return None


def parameter_of(parameters: Any, index: int) -> Any:
    """The formal parameter at a place; the last one may stand for many."""
    return parameters[min(index, len(parameters) - 1)]


def _report(model: ir.Model, made: ir.Model, halving: Halving, reasons: dict[str, str],
            largest: dict[str, float], kept: list[observation.Feeds], count: int) -> HalfReport:
    halves = {node.name or "" for node in model.graph} - set(reasons)
    noise = _noise(model, made, kept) if kept else None
    return HalfReport(
        rows=tuple(HalfTensor(name, largest.get(name)) for name in halving.tensors),
        weights=tuple(HalfWeights(*row) for row in halving.constants),
        left_in_float=tuple(FloatRow(node.name or "", node.op_type, reasons[node.name or ""])
                            for node in model.graph if (node.name or "") in reasons),
        macs_fraction=macs_fraction(model, halves),
        bytes_before=_constant_bytes(model), bytes_after=_constant_bytes(made),
        output_sqnr_db=None if noise is None else noise.db, samples=count)


def _noise(model: ir.Model, made: ir.Model, kept: list[observation.Feeds]) -> Noise:
    names, noise = [v.name or "" for v in model.graph.outputs], Noise()
    fed = {v.name: v.dtype for v in made.graph.inputs}
    halves = [{n: a.astype(fed[n].numpy()) for n, a in feeds.items()}  # type: ignore[union-attr]
              for feeds in kept]
    for wanted, found in zip(observation.values(model, names, kept),
                             observation.values(made, names, halves), strict=True):
        for name in names:
            noise.see(wanted[name], found[name].astype(wanted[name].dtype))
    return noise


def _constant_bytes(model: ir.Model) -> int:
    tensors = [v.const_value for v in model.graph.initializers.values()]
    return sum(int(t.nbytes) for t in tensors if t is not None)
