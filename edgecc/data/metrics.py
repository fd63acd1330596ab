"""Metrics: how right a list of outputs is.

A metric takes one mapping {output: array} per sample (float32, in the model's shapes) and the
labels, and gives one number.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.errors import ConfigError

Outputs = Sequence[Mapping[str, np.ndarray]]
Function = Callable[[Outputs, Any], float]


@dataclass(frozen=True)
class Metric:
    """`share`: the score is a part of all samples. `against`: what labels are, or that the
    float model's outputs can stand in for them."""

    name: str
    function: Function
    share: bool = False
    classifies: bool = False
    reference: bool = False


def first(outputs: Outputs) -> np.ndarray:
    """The first output of every sample, flattened: (samples, values)."""
    return np.stack([next(iter(sample.values())).reshape(-1) for sample in outputs])


def predictions(outputs: Outputs) -> np.ndarray:
    """Where the first output is largest; the lowest index of several."""
    return first(outputs).argmax(axis=1)


def _top(k: int) -> Function:
    def score(outputs: Outputs, labels: Any) -> float:
        scores, wanted = first(outputs), _classes(labels, outputs)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return float((best == wanted[:, None]).any(axis=1).mean())

    return score


def _classes(labels: Any, outputs: Outputs) -> np.ndarray:
    """One class number per sample. Raises ConfigError."""
    wanted, count = np.asarray(labels).reshape(len(outputs), -1), first(outputs).shape[1]
    if wanted.shape[1] != 1 or not np.array_equal(wanted, wanted.astype(np.int64)):
        raise ConfigError("the labels are no class numbers", where="labels",
                          needed="one whole number per sample",
                          available=f"{wanted.dtype} {np.asarray(labels).shape}")
    numbers = wanted[:, 0].astype(np.int64)
    if count < 2 or numbers.min() < 0 or numbers.max() >= count:
        raise ConfigError("the labels do not number the model's outputs", where="labels",
                          needed=f"2 or more outputs, labels of 0 to {count - 1}",
                          available=f"{numbers.min()} to {numbers.max()}")
    return numbers


def _values(labels: Any, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
    found = first(outputs).astype(np.float64)
    wanted = np.asarray(labels, np.float64).reshape(len(outputs), -1)
    if wanted.shape != found.shape:
        raise ConfigError("the labels do not have the shape of the first output", where="labels",
                          needed=str(found.shape), available=str(np.asarray(labels).shape))
    return found, wanted


def mse(outputs: Outputs, labels: Any) -> float:
    """Mean squared difference from the labels."""
    found, wanted = _values(labels, outputs)
    return float(np.mean((found - wanted) ** 2))


def cosine(outputs: Outputs, labels: Any) -> float:
    """Mean cosine of the angle to the labels; 1 where both are zero."""
    found, wanted = _values(labels, outputs)
    norms = np.linalg.norm(found, axis=1) * np.linalg.norm(wanted, axis=1)
    same = (found == wanted).all(axis=1)
    return float(np.mean(np.where(same, 1.0, (found * wanted).sum(axis=1)
                                  / np.maximum(norms, np.finfo(np.float64).tiny))))


METRICS = {metric.name: metric for metric in (
    Metric("top1", _top(1), share=True, classifies=True),
    Metric("top5", _top(5), share=True, classifies=True),
    Metric("mse", mse, reference=True), Metric("cosine", cosine, reference=True))}


def find(metric: str | Function) -> Metric:
    """A metric by name, by `module:function`, or made of a function. Raises ConfigError."""
    if callable(metric):
        return Metric(getattr(metric, "__name__", "metric"), metric)
    if metric in METRICS:
        return METRICS[metric]
    module, colon, name = metric.partition(":")
    if not (module and colon and name):
        near = difflib.get_close_matches(metric, METRICS, n=1)
        raise ConfigError(f"unknown metric {metric!r}", where="metric",
                          advice=f"did you mean {near[0]}?" if near else
                          f"{', '.join(METRICS)}, or module:function")
    return Metric(metric, _imported(module, name))


def _imported(module: str, name: str) -> Function:
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"metric {module}:{name} cannot be imported: {error}",
                          where="metric") from error
    if not callable(function):
        raise ConfigError(f"metric {module}:{name} is no function", where="metric")
    return function


def score(metric: Metric, outputs: Outputs, labels: Any) -> float:
    """One finite number. Raises ConfigError where the function gives none."""
    found = metric.function(outputs, labels)
    if not isinstance(found, int | float | np.number) or not np.isfinite(found):
        raise ConfigError(f"metric {metric.name} gives {found!r}, no number", where="metric")
    return float(found)
