"""HalfReport: what turning a model into float16 did to its tensors, weights and operators."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from edgecc.quantize.report import FloatRow


@dataclass(frozen=True)
class HalfTensor:
    """An activation in float16 and its largest magnitude on the calibration data."""

    name: str
    largest: float | None


@dataclass(frozen=True)
class HalfWeights:
    """A constant in float16. `lost` of its numbers are too small for float16 and became zero."""

    name: str
    largest: float
    lost: int


@dataclass(frozen=True)
class HalfReport:
    """`left_in_float` are nodes that compute in float32, and why. Units: bytes, of constants."""

    rows: tuple[HalfTensor, ...]
    weights: tuple[HalfWeights, ...]
    left_in_float: tuple[FloatRow, ...]
    macs_fraction: float
    bytes_before: int
    bytes_after: int
    output_sqnr_db: float | None
    samples: int = 0

    def summary(self) -> str:
        """One line."""
        parts = [f"float16 · {100 * self.macs_fraction:.0f} % of MACs",
                 f"constants {self.bytes_before:,} B to {self.bytes_after:,} B"]
        if self.output_sqnr_db is not None:
            parts.append(f"output SQNR {self.output_sqnr_db:.1f} dB")
        if not self.samples:
            parts.append("ranges not checked: no calibration data")
        if lost := sum(row.lost for row in self.weights):
            parts.append(f"{lost:,} weight{'s' * (lost > 1)} became zero")
        if count := len(self.left_in_float):
            parts.append(f"{count} operator{'s' * (count > 1)} in float32")
        return " · ".join(parts)

    def to_text(self) -> str:
        """A table for people."""
        lines = [self.summary(), "", f"{'tensor':<50} {'largest':>13}"]
        lines += [f"{row.name:<50} {_number(row.largest):>13}" for row in self.rows]
        lines += ["", f"{'constant':<50} {'largest':>13} {'became zero':>12}"]
        lines += [f"{row.name:<50} {_number(row.largest):>13} {row.lost:>12,}"
                  for row in self.weights]
        if self.left_in_float:
            lines += ["", "left in float32"]
            lines += [f"{f.node} ({f.op}): {f.reason}" for f in self.left_in_float]
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """All fields, with sorted keys."""
        return json.dumps(asdict(self), indent=1, sort_keys=True, allow_nan=False)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
