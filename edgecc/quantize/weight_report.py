"""WeightReport: what weight-only quantization did to every layer, in bytes and in noise."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from edgecc.quantize.report import FloatRow


@dataclass(frozen=True)
class GroupedRow:
    """A layer of `outputs` times `inputs` weights. `sqnr_db` is the rounding's alone."""

    node: str
    outputs: int
    inputs: int
    float_bytes: int
    int4_bytes: int  # with scales and zero points
    sqnr_db: float


@dataclass(frozen=True)
class WeightReport:
    """`weights` became 4-bit codes, `left_in_float` are products that did not, and why."""

    weights: tuple[GroupedRow, ...]
    left_in_float: tuple[FloatRow, ...]
    group: int
    zeros: str
    activations: str = "float32"

    @property
    def float_bytes(self) -> int:
        return sum(row.float_bytes for row in self.weights)

    @property
    def int4_bytes(self) -> int:
        return sum(row.int4_bytes for row in self.weights)

    @property
    def worst(self) -> GroupedRow:
        return min(self.weights, key=lambda row: row.sqnr_db)

    def summary(self) -> str:
        """One line."""
        count = len(self.weights)
        left = f" · {len(self.left_in_float)} left in float" if self.left_in_float else ""
        how = f"int4, {self.zeros}, groups of {self.group}" + (
            "" if self.activations == "float32" else ", int8 activations")
        return (f"{how} · {count} layer{'s' * (count != 1)} "
                f"{self.float_bytes:,} B -> {self.int4_bytes:,} B · worst layer "
                f"{self.worst.node} {self.worst.sqnr_db:.1f} dB{left}")

    def to_text(self) -> str:
        """A table for people."""
        lines = [self.summary(), "", f"{'layer':<40} {'weights':>14} {'float32 B':>12} "
                 f"{'int4 B':>10} {'SQNR dB':>8}"]
        lines += [f"{r.node:<40} {f'{r.outputs}x{r.inputs}':>14} {r.float_bytes:>12,} "
                  f"{r.int4_bytes:>10,} {r.sqnr_db:>8.1f}" for r in self.weights]
        if self.left_in_float:
            lines += ["", "left in float"]
            lines += [f"{f.node} ({f.op}): {f.reason}" for f in self.left_in_float]
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """All fields, with sorted keys; the names that a QuantReport has too mean the same."""
        whole = {**asdict(self), "rows": [], "worst": [self.worst.node, self.worst.sqnr_db],
                 "output_sqnr_db": None, "float_bytes": self.float_bytes,
                 "int4_bytes": self.int4_bytes}
        return json.dumps(whole, indent=1, sort_keys=True, allow_nan=False)
