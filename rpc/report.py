"""Report: what `measure` found on one board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

MAX_STEPS_SHOWN = 60


@dataclass(frozen=True)
class StepReport:
    """One step. `us` is None unless profiled on real hardware, `instructions` unless counted.

    `macs_per_instruction` goes with the count, `macs_per_cycle` (of one core) with the time;
    `efficiency` is the part of the target's peak, by time where there is one. None where there is
    nothing to measure by.
    """

    name: str
    op: str
    kernel: str | None
    symbol: str
    macs: int
    us: float | None = None
    instructions: int | None = None
    tile: str | None = None
    dtype: str | None = None
    threads: int = 1
    macs_per_instruction: float | None = None
    macs_per_cycle: float | None = None
    efficiency: float | None = None
    why_not_fast: str | None = None


@dataclass(frozen=True)
class Report:
    """Figures of one bundle on one board.

    Units: microseconds, bytes, instructions per inference (model only, steady state). Times are
    None on an emulated board, which claims no latency. `spread` is (p90 - p10) / p50.
    """

    board: str
    target: str
    architecture: str
    features: tuple[str, ...]
    golden: Literal["pass", "fail"]
    vectors: int
    timing: Literal["measured", "emulated", "estimated", "not measured"]
    verdict: str
    count: int
    uploaded_bytes: int
    reused_bytes: int
    p50_us: float | None = None
    p90_us: float | None = None
    p99_us: float | None = None
    min_us: float | None = None
    mad_us: float | None = None
    spread: float | None = None
    outliers: int | None = None
    warm_up: int | None = None
    peak_rss_bytes: int | None = None
    instructions: int | None = None
    instructions_reason: str | None = None
    agreement: str = "identical"
    kernel: str | None = None
    governor: str | None = None
    temperature_celsius: float | None = None
    target_info: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[StepReport, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values under stable names."""
        value = asdict(self)
        value["features"], value["steps"] = list(self.features), list(value["steps"])
        value["target_info"] = dict(self.target_info)
        return value

    def to_text(self) -> str:
        """A few lines for people."""
        features = " ".join(self.features) or "no vector features"
        lines = [
            f"board     {self.board}   {self.architecture} · {features} · bundle fits",
            f"upload    {self.uploaded_bytes:,} B sent · {self.reused_bytes:,} B already there",
            f"golden    {self.vectors} of {self.vectors} vectors {self.agreement}",
            f"time      {self._time()}",
        ]
        if self.peak_rss_bytes is not None:
            lines.append(f"memory    {self.peak_rss_bytes:,} B peak resident")
        return "\n".join(lines + self._step_lines())

    def _time(self) -> str:
        if self.p50_us is not None:
            return (f"p50 {self.p50_us:,.1f} µs · p90 {self.p90_us:,.1f} · p99 {self.p99_us:,.1f}"
                    f" · spread {self.spread:.1%} · {self.count} runs · {self.verdict}")
        if self.instructions is None:
            return f"{self.verdict} ({self.instructions_reason})"
        return f"{self.instructions:,} instructions per inference · {self.verdict}"

    def _step_lines(self) -> list[str]:
        """The table of steps, where any has figures."""
        from edgecc.report.steps import steps_table

        value = self.to_json()
        if all((step.us, step.instructions) == (None, None) for step in self.steps):
            return []
        return ["", steps_table(value, value, MAX_STEPS_SHOWN).rstrip()]
