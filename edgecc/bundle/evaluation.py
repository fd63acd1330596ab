"""Evaluation: how right a bundle is wherever it runs, as one value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from edgecc.report.table import table


@dataclass(frozen=True)
class EvaluationRow:
    """One place. `score` is the metric's, None without labels.

    `float_agreement`: share of samples with the float model's prediction (classification), else
    the mean cosine to its outputs. `different` of `values` output values are not those of ONNX
    Runtime on the model in the bundle, by `largest` at most (in steps of the output's scale, or
    for floats in parts of the largest value). None where there is nothing to compare with.
    """

    where: str
    samples: int
    score: float | None
    float_agreement: float | None = None
    values: int | None = None
    different: int | None = None
    largest: float | None = None

    @property
    def engine_text(self) -> str | None:
        if self.values is None or self.different is None:
            return None
        if not self.different:
            return "identical"
        return f"{self.values - self.different:,} of {self.values:,}, off by {self.largest:.3g}"


@dataclass(frozen=True)
class Evaluation:
    """`rows` in order: float ONNX Runtime if there is a float model, ONNX Runtime on the bundle's
    model, then the boards. `share`: scores are parts of all samples. `agreement`: what
    `float_agreement` is, "predictions" or "cosine"."""

    metric: str
    share: bool
    agreement: str
    rows: tuple[EvaluationRow, ...]
    notes: tuple[str, ...] = ()

    def row(self, where: str) -> EvaluationRow:
        return next(row for row in self.rows if row.where == where)

    def to_json(self) -> dict[str, Any]:
        rows = [{**asdict(row), "identical": None if row.different is None
                 else row.different == 0} for row in self.rows]
        return {"metric": self.metric, "agreement": self.agreement, "rows": rows,
                "notes": list(self.notes)}

    def to_text(self) -> str:
        agrees = "as float" if self.agreement == "predictions" else "cosine to float"
        head = ("where", "samples", self.metric, agrees, "values as ONNX Runtime's")
        percent = self.agreement == "predictions"
        rows = [(row.where, row.samples, _number(row.score, self.share),
                 _number(row.float_agreement, percent), row.engine_text) for row in self.rows]
        return table(head, rows) + "".join(f"{note}\n" for note in self.notes)


def _number(value: float | None, share: bool) -> str | None:
    if value is None:
        return None
    return f"{100 * value:.2f} %" if share else f"{value:.6g}"
