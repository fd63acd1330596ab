"""Report: what `measure` found on one board."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

MAX_STEPS_SHOWN = 60


@dataclass(frozen=True)
class StepReport:
    """One step. `us` is None unless profiled on real hardware, `instructions` unless counted."""

    name: str
    op: str
    kernel: str | None
    symbol: str
    macs: int
    us: float | None = None
    instructions: int | None = None


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
    timing: Literal["measured", "emulated", "estimated"]
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
    steps: tuple[StepReport, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values under stable names."""
        value = asdict(self)
        value["features"], value["steps"] = list(self.features), list(value["steps"])
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
        known = [step for step in self.steps if (step.us, step.instructions) != (None, None)]
        width = max((len(step.name) for step in known), default=0)
        lines = [self._step_line(step, width) for step in known[:MAX_STEPS_SHOWN]]
        if len(known) > MAX_STEPS_SHOWN:
            lines.append(f"  … {len(known) - MAX_STEPS_SHOWN} more steps")
        return (["steps"] if lines else []) + lines

    def _step_line(self, step: StepReport, width: int) -> str:
        if step.us is not None:
            whole = sum(s.us or 0 for s in self.steps)
            figure, part = f"{step.us:,.2f} µs", step.us / whole if whole else 0
        else:
            count = step.instructions or 0
            whole = self.instructions or sum(s.instructions or 0 for s in self.steps)
            figure, part = f"{count:,}", count / whole if whole else 0
        return f"  {step.name:<{width}}  {figure:>14}  {part:6.1%}  {step.kernel or 'copy'}"
