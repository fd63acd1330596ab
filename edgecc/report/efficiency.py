"""How well a step uses the chip: multiply-accumulates per instruction or cycle, and how much of
the most that the target can do that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rate:
    """`macs` per instruction, or per cycle of one core (`unit`); `of_peak` is a fraction. None
    where a step multiplies nothing, or nothing is known to measure by."""

    unit: str = "instruction"
    macs: float | None = None
    of_peak: float | None = None


def counted(step: Mapping[str, Any], info: Mapping[str, Any], instructions: float | None) -> Rate:
    """Of a step of a manifest, by counted or estimated instructions. `info`: its target_info."""
    return _rate("instruction", step, info, instructions)


def timed(step: Mapping[str, Any], info: Mapping[str, Any], us: float | None) -> Rate:
    """By time, where the clock is known: every thread of the step has cycles of its own."""
    clock_hz = info.get("clock_hz")
    if us is None or not clock_hz:
        return Rate("cycle")
    return _rate("cycle", step, info, us * 1e-6 * clock_hz * step.get("threads", 1))


def _rate(unit: str, step: Mapping[str, Any], info: Mapping[str, Any], cost: float | None) -> Rate:
    if not cost or not step["macs"]:
        return Rate(unit)
    macs = step["macs"] / cost
    peak = ((info.get("peaks") or {}).get(step.get("dtype")) or {}).get(f"macs_per_{unit}")
    return Rate(unit, macs, macs / peak if peak else None)


def rates(manifest: Mapping[str, Any], bench: Mapping[str, Any] | None, unit: str | None) -> list[
        Rate]:
    """Of every step: by what a bench report measured in `unit` (µs or instructions), else by the
    estimate of its kernel."""
    info = {**(manifest.get("target_info") or {}), **((bench or {}).get("target_info") or {})}
    measured = (bench or {}).get("steps") or []
    if unit == "µs":
        return [timed(s, info, m.get("us"))
                for s, m in zip(manifest["steps"], measured, strict=True)]
    if unit is not None:
        return [counted(s, info, m.get("instructions"))
                for s, m in zip(manifest["steps"], measured, strict=True)]
    return [counted(s, info, s.get("estimated_instructions")) for s in manifest["steps"]]


def yardstick(manifest: Mapping[str, Any], unit: str) -> str:
    """What the rates are measured by: `16 for int8, 4 for float32`."""
    peaks = (manifest.get("target_info") or {}).get("peaks") or {}
    used = {step.get("dtype") for step in manifest["steps"] if step["macs"]}
    known = [(dtype, peak.get(f"macs_per_{unit}")) for dtype, peak in peaks.items()
             if dtype in used]
    return ", ".join(f"{value:.3g} for {dtype}" for dtype, value in known if value)
