"""Per-step figures as a trace for Perfetto or chrome://tracing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from edgecc.report.figures import step_figures
from edgecc.report.table import printable


def perfetto_trace(manifest: Mapping[str, Any], bench: Mapping[str, Any] | None) -> str:
    """Trace-event JSON: the steps of one inference, one after the other.

    Units: microseconds where steps were timed; where they were only counted, one microsecond
    stands for one thousand instructions, and the track's name says so.
    Source: Trace Event Format, "Complete Events" and "Metadata Events".
    """
    figures = step_figures(manifest, bench)
    scale, track = (1.0, "steps") if figures.unit == "µs" else (
        1e-3, "steps (1 µs = 1,000 instructions)")
    events: list[dict[str, Any]] = [_named("process_name", printable(_title(manifest, bench))),
                                    _named("thread_name", track)]
    now = 0.0
    for step, figure in zip(manifest["steps"], figures.steps, strict=True):
        if figure.value is not None:
            events.append(_event(step, now, figure.value * scale, figure.share))
            now += figure.value * scale
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}, indent=1, sort_keys=True)


def _title(manifest: Mapping[str, Any], bench: Mapping[str, Any] | None) -> str:
    return f"{manifest.get('name', 'model')} on {(bench or {}).get('board', manifest['target'])}"


def _named(what: str, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": 1, "tid": 1, "args": {"name": name}}


def _event(
    step: Mapping[str, Any], start: float, length: float, share: float | None
) -> dict[str, Any]:
    facts = {"kernel": step.get("kernel"), "macs": step["macs"], "share": share,
             "why_not_fast": step.get("why_not_fast")}
    return {"name": printable(step["name"]), "cat": printable(step["op"]), "ph": "X", "pid": 1,
            "tid": 1, "ts": round(start, 3), "dur": round(length, 3),
            "args": {k: v for k, v in facts.items() if v is not None}}
