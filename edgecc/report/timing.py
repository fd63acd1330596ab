"""The latency section of the report page: a strip from the fastest run to the 99th percentile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgecc.report.markup import Markup, escaped, paragraph, section, table_html

WIDTH, HEIGHT, EDGE = 1000, 74, 70
MARKS = (("min", "min_us"), ("p50", "p50_us"), ("p90", "p90_us"), ("p99", "p99_us"))
FACTS = (("runs", "count"), ("warm-up runs left out", "warm_up"), ("outliers", "outliers"),
         ("median absolute deviation, µs", "mad_us"), ("peak resident bytes", "peak_rss_bytes"),
         ("governor", "governor"), ("temperature, °C", "temperature_celsius"),
         ("kernel", "kernel"))


def timing(bench: Mapping[str, Any] | None) -> Markup:
    """What was measured and how far to trust it; nothing without a bench report."""
    if not bench:
        return Markup("")
    rows = [[name, bench[key]] for name, key in FACTS if bench.get(key) not in (None, "")]
    if bench.get("p50_us") is None:
        text = str(bench.get("verdict") or "no latency was measured")
        if bench.get("instructions") is not None:
            text = f"{bench['instructions']:,} instructions per inference; {text}"
        if bench.get("instructions_reason"):
            text += f" ({bench['instructions_reason']})"
        return section("Time", paragraph(text))
    rows = [[name, f"{bench[key]:,.2f} µs"] for name, key in MARKS if _known(bench, key)] + rows
    verdict = paragraph(f"Verdict: {bench.get('verdict') or 'none'}. All times in µs.")
    facts = Markup(f'<div class="narrow">{table_html(["", ""], rows)}</div>')
    return section("Time", verdict, _strip(bench), facts)


def _known(bench: Mapping[str, Any], key: str) -> bool:
    return bench.get(key) is not None


def _strip(bench: Mapping[str, Any]) -> Markup:
    marks = [(name, float(bench[key])) for name, key in MARKS if _known(bench, key)]
    low, high = min(v for _, v in marks), max(v for _, v in marks)
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return EDGE + (value - low) / span * (WIDTH - 2 * EDGE)

    bar = (f'<rect x="{EDGE}" y="34" width="{WIDTH - 2 * EDGE}" height="8" rx="4" '
           f'style="fill:var(--accent);opacity:.35"/>')
    dots, taken = [], -1e9
    for n, (name, value) in enumerate(marks):
        above = n % 2 == 0
        near = x(value) - taken < 120
        y = 22 if above or not near else 64
        taken = x(value)
        dots.append(f'<circle cx="{x(value):.1f}" cy="38" r="6" style="fill:var(--accent)"/>'
                    f'<text x="{x(value):.1f}" y="{y}" text-anchor="middle">'
                    f"{escaped(name)} {value:,.1f}</text>")
    return Markup(f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="latency">'
                  f'{bar}{"".join(dots)}</svg>')
