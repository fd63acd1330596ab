"""evaluate: a bundle's answers on labelled data, beside ONNX Runtime's, in every place asked for.

One session per place; the float model and the bundle's own model run in ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from edgecc.bundle import engines, measure, ports
from edgecc.bundle.evaluation import Evaluation, EvaluationRow
from edgecc.context import Context
from edgecc.data import metrics
from edgecc.data.dataset import Dataset, dataset
from edgecc.data.metrics import Metric
from edgecc.data.preprocessing import Preprocessing
from edgecc.errors import ConfigError

ENGINE, FLOAT, OWN = "ONNX Runtime", "ONNX Runtime, float", "ONNX Runtime, quantized"
NO_FLOAT = ("no float model to compare with: give one (--float model.onnx), or compile with "
            "--keep-float")


def evaluate(
    bundle: Any, data: Any, labels: Any, *, metric: Any, boards: Sequence[Any], float_model: Any,
    inputs: Sequence[str], preprocessing: Preprocessing | None, limit: int | None,
    context: Context,
) -> Evaluation:
    """See Bundle.evaluate."""
    manifest, chosen = bundle.manifest, metrics.find(metric)
    how = preprocessing or ports.preprocessing(manifest["inputs"])
    samples = dataset(data, engines.model_ports(manifest), labels=labels, inputs=inputs, how=how,
                      limit=limit)
    own = engines.of_bundle(bundle)
    exact = engines.float_engine(bundle, float_model, how) or (None if own.quantized else own)
    work = _Evaluating(samples, chosen, None if exact is None else list(_all(exact, samples)))
    if exact is not None:
        work.add(FLOAT, work.exact or [], None)
    theirs = work.exact if exact is own else list(_all(own, samples))
    assert theirs is not None
    if exact is not own:
        work.add(OWN if own.quantized else ENGINE, theirs, None)
    for board in boards or [measure.default_board(manifest)]:
        place = measure.as_board(board, manifest)
        found = measure.run_many(bundle, samples, board=place, native=True, context=context)
        work.add_board(place.name, manifest["outputs"], found, theirs)
    notes = () if work.exact is not None else (NO_FLOAT,)
    kind = "predictions" if work.predicts else "cosine"
    return Evaluation(chosen.name, chosen.share, kind, tuple(work.rows), notes)


def _all(engine: engines.Engine, samples: Dataset) -> Iterator[Mapping[str, np.ndarray]]:
    return (engine.run(feeds) for feeds in samples)


class _Evaluating:
    """The rows so far, and what they are compared with."""

    def __init__(self, samples: Dataset, metric: Metric,
                 exact: list[Mapping[str, np.ndarray]] | None):
        self.samples, self.metric, self.exact = samples, metric, exact
        self.rows: list[EvaluationRow] = []
        several = exact is None or metrics.first(exact).shape[1] > 1
        self.predicts = several and (metric.classifies or not metric.reference)
        self.wanted = samples.labels
        if self.wanted is None and metric.reference and exact is not None:
            self.wanted = metrics.first(exact)
        named = metric.classifies or metric.reference
        if self.wanted is None and exact is None and named:
            raise ConfigError("neither labels nor a float model: nothing says what is right",
                              where="evaluate", advice="give labels, or a float model")

    def add(self, where: str, outputs: Sequence[Mapping[str, np.ndarray]],
            gaps: tuple[int, int, float] | None) -> None:
        score = None
        if self.wanted is not None or not self.metric.classifies:
            score = metrics.score(self.metric, outputs, self.wanted)
        values, different, largest = gaps or (None, None, None)
        self.rows.append(EvaluationRow(where, len(self.samples), score, self._agreement(outputs),
                                       values, different, largest))

    def _agreement(self, outputs: Sequence[Mapping[str, np.ndarray]]) -> float | None:
        if self.exact is None or outputs is self.exact:
            return None
        if not self.predicts:
            return metrics.cosine(outputs, metrics.first(self.exact))
        same = metrics.predictions(outputs) == metrics.predictions(self.exact)
        return float(same.mean())

    def add_board(self, where: str, described: Sequence[ports.Port],
                  native: Sequence[Mapping[str, np.ndarray]],
                  theirs: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Native outputs of a board, beside an engine's model-shaped ones."""
        by_name = {port["name"]: port for port in described}
        real = [{name: ports.to_model(by_name[name], value) for name, value in sample.items()}
                for sample in native]
        self.add(where, real, engines.gaps(described, native, theirs))
