"""QuantReport: what quantization did to every tensor, weight and operator, and what it cost."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import onnx_ir as ir

from edgecc.model.edit import constant
from edgecc.quantize import observation
from edgecc.quantize.assignment import Assignment
from edgecc.quantize.compare import Noise
from edgecc.quantize.insertion import Inserted
from edgecc.quantize.parameters import Parameters, Weights


@dataclass(frozen=True)
class TensorRow:
    """An int8 activation; `sqnr_db` compares it with the float model's tensor."""

    name: str
    scale: float
    zero_point: int
    sqnr_db: float | None


@dataclass(frozen=True)
class WeightRow:
    """Int8 weights of a node: smallest and largest channel scale; SQNR of the rounding alone."""

    node: str
    channels: int
    min_scale: float
    max_scale: float
    sqnr_db: float | None


@dataclass(frozen=True)
class FloatRow:
    """A node that was left in float, and why."""

    node: str
    op: str
    reason: str


@dataclass(frozen=True)
class QuantReport:
    """`worst` is the node whose output has the lowest SQNR. SQNRs are None if not measured
    (models that came quantized); 160 dB stands for equality."""

    rows: tuple[TensorRow, ...]
    weights: tuple[WeightRow, ...]
    left_in_float: tuple[FloatRow, ...]
    output_sqnr_db: float | None
    worst: tuple[str, float] | None
    int8_macs_fraction: float
    observer: str | None = None
    samples: int = 0

    def summary(self) -> str:
        """One line."""
        parts = [f"int8, per channel · {100 * self.int8_macs_fraction:.0f} % of MACs"]
        if self.output_sqnr_db is not None:
            parts.append(f"output SQNR {self.output_sqnr_db:.1f} dB")
        if self.worst:
            parts.append(f"worst layer {self.worst[0]} {self.worst[1]:.1f} dB")
        if self.left_in_float:
            plural = "s" if len(self.left_in_float) > 1 else ""
            parts.append(f"{len(self.left_in_float)} operator{plural} in float")
        return " · ".join(parts)

    def to_text(self) -> str:
        """A table for people."""
        lines = [self.summary(), "", f"{'tensor':<40} {'scale':>13} {'zero':>5} {'SQNR dB':>8}"]
        lines += [
            f"{r.name:<40} {r.scale:>13.6g} {r.zero_point:>5} {_db(r.sqnr_db):>8}"
            for r in self.rows
        ]
        lines += ["", f"{'weights of':<40} {'channels':>8} {'min scale':>13} {'max scale':>13} dB"]
        lines += [
            f"{w.node:<40} {w.channels:>8} {w.min_scale:>13.6g} {w.max_scale:>13.6g}"
            f" {_db(w.sqnr_db)}"
            for w in self.weights
        ]
        if self.left_in_float:
            lines += ["", "left in float"]
            lines += [f"{f.node} ({f.op}): {f.reason}" for f in self.left_in_float]
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """All fields, with sorted keys."""
        return json.dumps(asdict(self), indent=1, sort_keys=True, allow_nan=False)


def _db(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def make(
    model: ir.Model,
    inserted: Inserted,
    assignment: Assignment,
    parameters: Mapping[str, Parameters],
    samples: list[observation.Feeds],
    observer: str,
    count: int,
) -> QuantReport:
    """Compare the two models on the samples and report."""
    noise, output = _noise(model, inserted, samples)
    rows = tuple(
        TensorRow(t, parameters[t].scale, parameters[t].zero_point, noise[t].db)
        for t in assignment.tensors
    )
    left = assignment.left_in_float
    return QuantReport(
        rows=rows,
        weights=tuple(_weight_rows(model, inserted.weights)),
        left_in_float=tuple(
            FloatRow(n.name or "", n.op_type, left[n.name or ""])
            for n in model.graph
            if n.name in left
        ),
        output_sqnr_db=output.db,
        worst=_worst(model, noise),
        int8_macs_fraction=macs_fraction(model, set(inserted.weights) | {
            name for name, kind in assignment.kinds.items() if kind == "product"}),
        observer=observer,
        samples=count,
    )


def _noise(
    model: ir.Model, inserted: Inserted, samples: list[observation.Feeds]
) -> tuple[dict[str, Noise], Noise]:
    pairs = list(inserted.dequantized.items())
    outputs = [v.name or "" for v in model.graph.outputs]
    wanted = list(dict.fromkeys([t for t, _ in pairs] + outputs))
    shown = list(dict.fromkeys([d for _, d in pairs] + outputs))
    noise, total = {t: Noise() for t, _ in pairs}, Noise()
    reference = observation.values(model, wanted, samples)
    for expected, found in zip(
        reference, observation.values(inserted.model, shown, samples), strict=True
    ):
        for tensor, dequantized in pairs:
            noise[tensor].see(expected[tensor], found[dequantized])
        for name in outputs:
            total.see(expected[name], found[name])
    return noise, total


def _worst(model: ir.Model, noise: Mapping[str, Noise]) -> tuple[str, float] | None:
    makers = {v.name: n.name for n in model.graph for v in n.outputs}
    loud = {t: n for t, n in noise.items() if t in makers and n.signal > 0.0}
    if not loud:
        return None
    tensor = min(loud, key=lambda t: loud[t].db)
    return makers[tensor] or "", loud[tensor].db


def _weight_rows(model: ir.Model, weights: Mapping[str, Weights]) -> list[WeightRow]:
    rows = []
    for node in model.graph:
        name = node.name or ""
        if name in weights:
            found, noise = weights[name], Noise()
            exact = constant(node.inputs[1])
            assert exact is not None
            noise.see(exact, found.dequantized())
            low, high = float(found.scale.min()), float(found.scale.max())
            rows.append(WeightRow(name, len(found.scale), low, high, noise.db))
    return rows


def macs_fraction(model: ir.Model, names: set[str]) -> float:
    """The part of all multiply-accumulates that these nodes have."""
    macs = {n.name or "": _macs(n) for n in model.graph}
    total = sum(macs.values())
    return sum(m for name, m in macs.items() if name in names) / total if total else 1.0


def _macs(node: ir.Node) -> int:
    """Multiply-accumulates of the operators that have weights; recurrent ones per weight."""
    data, weights = _shape(node, 0), _shape(node, 1)
    out = [int(d) for d in node.outputs[0].shape or ()]  # type: ignore[arg-type]
    if node.op_type == "Conv":
        return math.prod(out) * math.prod(weights[1:])
    if node.op_type == "ConvTranspose":
        return math.prod(data) * math.prod(weights[1:])
    if node.op_type in ("Gemm", "MatMul"):
        return math.prod(out) * data[-1]
    if node.op_type in ("LSTM", "GRU", "RNN"):
        return math.prod(data[:2]) * (math.prod(weights) + math.prod(_shape(node, 2)))
    return 0


def _shape(node: ir.Node, index: int) -> list[int]:
    value = node.inputs[index] if index < len(node.inputs) else None
    shape = value.shape if value is not None else None
    return [int(d) for d in shape or ()]  # type: ignore[arg-type]


def of_imported(model: ir.Model) -> QuantReport:
    """What can be said of a model that came quantized, without data."""
    rows, dequantized = [], set()
    for node in model.graph:
        if node.op_type == "QuantizeLinear":
            rows += _imported_row(node)
        if node.op_type == "DequantizeLinear":
            dequantized.add(node.outputs[0].name)
    left = [n for n in model.graph if not _reads_only(n, dequantized)]
    int8 = {n.name or "" for n in model.graph} - {n.name or "" for n in left}
    reason = "it was not quantized in the imported model"
    return QuantReport(
        rows=tuple(rows),
        weights=(),
        left_in_float=tuple(FloatRow(n.name or "", n.op_type, reason) for n in left),
        output_sqnr_db=None,
        worst=None,
        int8_macs_fraction=macs_fraction(model, int8),
    )


def _imported_row(node: ir.Node) -> list[TensorRow]:
    scale = constant(node.inputs[1])
    zero = constant(node.inputs[2]) if len(node.inputs) > 2 else np.zeros((), np.int8)
    if scale is None or zero is None or scale.size != 1:
        return []
    name = node.inputs[0].name if node.inputs[0] is not None else None
    return [TensorRow(name or "", float(scale.item()), int(zero.item()), None)]


def _reads_only(node: ir.Node, dequantized: set[str | None]) -> bool:
    """Whether the node is Q, DQ, works on integers, or has nothing but dequantized operands
    (or a fused activation's producer before it)."""
    if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
        return True
    value = node.inputs[0] if node.inputs else None
    if value is None or value.dtype != ir.DataType.FLOAT or value.name in dequantized:
        return True
    producer = value.producer()
    fused = node.op_type in ("Relu", "Clip") and producer is not None
    return fused and producer is not None and _reads_only(producer, dequantized)
