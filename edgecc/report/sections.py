"""The sections of the report page, each from the manifest and what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgecc.report.efficiency import rates, yardstick
from edgecc.report.figures import step_figures
from edgecc.report.markup import Markup, escaped, folded, paragraph, section, table_html, tile
from edgecc.report.memory_map import blocks
from edgecc.report.memory_svg import legend, memory_svg
from edgecc.report.steps import decimal, percent, rounded

Values = Mapping[str, Any]
MAX_OPEN = 40  # rows of a table that is shown unfolded


def headline(manifest: Values, bench: Values | None) -> Markup:
    """Name, target, and whether the board gave the right answers."""
    model = (manifest.get("model") or {}).get("name") or manifest.get("name", "model")
    chip = (manifest.get("target_info") or {}).get("description") or manifest["target"]
    return Markup(f"<h1>{escaped(model)}</h1>{paragraph(f'for {chip}')}{_badges(bench)}")


def _badges(bench: Values | None) -> str:
    if not bench:
        return '<p><span class="badge soft">not measured</span></p>'
    kind = "good" if bench.get("golden") == "pass" else "bad"
    verdict, timing = str(bench.get("verdict") or ""), str(bench.get("timing") or "")
    found = [(kind, f"golden vectors: {bench.get('golden')}"), ("soft", bench.get("board")),
             ("soft", "" if verdict.startswith(timing) else timing), ("soft", verdict)]
    return "<p>" + "".join(f'<span class="badge {k}">{escaped(text)}</span>'
                           for k, text in found if text) + "</p>"


def tiles(manifest: Values, bench: Values | None) -> Markup:
    """The figures that decide: time, RAM, flash, work."""
    shown = [*_speed(bench or {}), (f"{manifest['arena_bytes']:,} B", "RAM: arena")]
    if manifest.get("stack_bytes") is not None:
        shown.append((f"{manifest['stack_bytes']:,} B", "RAM: stack"))
    shown += [(f"{manifest['flash_bytes']:,} B", "flash"),
              (f"{manifest['weights_bytes']:,} B", "of it weights")]
    macs = manifest.get("macs", sum(step["macs"] for step in manifest["steps"]))
    shown.append((_short(macs), f"MACs in {len(manifest['steps'])} steps"))
    return Markup('<div class="tiles">' + "".join(tile(*pair) for pair in shown) + "</div>")


def _speed(bench: Values) -> list[tuple[str, str]]:
    found = []
    if bench.get("p50_us") is not None:
        found.append((_microseconds(bench["p50_us"]), "median latency"))
    if bench.get("instructions") is not None:
        found.append((f"{bench['instructions']:,}", "instructions per inference"))
    return found


def _microseconds(value: float) -> str:
    return f"{value:,.1f} µs" if value < 10_000 else f"{value / 1000:,.2f} ms"


def _short(count: int) -> str:
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return str(count)


def _for_threads(manifest: Values) -> str:
    count = (manifest.get("threads") or {}).get("count", 1)
    return f", for {count} threads" if count > 1 else ""


def memory(manifest: Values) -> Markup:
    """The map, and every placement on demand."""
    drawn = blocks(manifest)
    arena, bound = manifest["arena_bytes"], manifest["arena_lower_bound_bytes"]
    found = "the lower bound" if arena == bound else f"{arena - bound:,} B above the lower bound"
    about = f"{arena:,} B, {found}."
    details = manifest.get("memory") or {}
    if "activation_bytes" in details:
        about += (f" Activations need {details['activation_bytes']:,} B of it, the largest "
                  f"scratch {details['scratch_bytes']:,} B{_for_threads(manifest)}. "
                  f"Placed {details['method']}.")
    if not drawn:
        return section("Memory", paragraph(about))
    rows = [[b.name, b.kind, b.start, b.end - b.start, f"[{b.first}, {b.last})"] for b in drawn]
    listed = table_html(["buffer", "kind", "offset", "bytes", "steps"], rows)
    return section("Memory", paragraph(about), memory_svg(manifest), legend(manifest),
                   folded(f"all {len(drawn)} placements", listed))


def steps(manifest: Values, bench: Values | None) -> Markup:
    """Every step with its kernel, a bar for its share of the time, instructions or MACs, and what
    part of the target's peak it reaches."""
    figures = step_figures(manifest, bench)
    rated = rates(manifest, bench, figures.unit)
    total = sum(step["macs"] for step in manifest["steps"]) or 1
    shares = [f.share if figures.unit else step["macs"] / total
              for f, step in zip(figures.steps, manifest["steps"], strict=True)]
    largest = max((share or 0 for share in shares), default=0) or 1
    rows = []
    for n, (step, share) in enumerate(zip(manifest["steps"], shares, strict=True)):
        value = (rounded(figures.steps[n].value, figures.unit) if figures.unit
                 else step.get("estimated_instructions"))
        rows.append([n, step["name"], _kernel(step), step.get("tile"), step["macs"], value,
                     percent(share, 1), _bar((share or 0) / largest),
                     decimal(rated[n].macs), percent(rated[n].of_peak)])
    unit = figures.unit or "instructions (estimated)"
    per = rated[0].unit if rated else "instruction"
    head = ["", "step", "kernel", "tile", "MACs", unit,
            "share" if figures.unit else "share of MACs", "", f"MAC per {per}", "of peak"]
    conversions = manifest["layout_conversions"]
    fast = sum(not step.get("why_not_fast") for step in manifest["steps"])
    about = (f"{len(rows)} steps, {fast} of them with the fast kernel; layout conversions: "
             f"{conversions}.")
    if most := yardstick(manifest, per):
        about += f" At most, the target does {most} multiply-accumulates per {per}."
    return section("Steps", paragraph(about), table_html(head, rows))


def _kernel(step: Values) -> Markup:
    kernel = f"<code>{escaped(step.get('kernel') or step['op'])}</code>"
    why = step.get("why_not_fast")
    return Markup(kernel + (f'<div class="why">not fast: {escaped(why)}</div>' if why else ""))


def _bar(part: float) -> Markup:
    """A bar that fills its cell for the step with the largest share."""
    width = min(100.0, max(0.0, part * 100))
    return Markup(f'<div class="barcell"><i class="bar" style="width:{width:.1f}%"></i></div>')


def interface(manifest: Values) -> Markup:
    """Inputs and outputs as the C API sees them."""
    rows = [[kind, p["name"], p["dtype"], "x".join(map(str, p["shape"])), p["layout"],
             p.get("scale"), p.get("zero_point")]
            for kind in ("input", "output") for p in manifest[f"{kind}s"]]
    head = ["", "name", "dtype", "shape", "layout", "scale", "zero point"]
    return section("Inputs and outputs", table_html(head, rows))


def quantization(manifest: Values, record: Values | None) -> Markup:
    """What INT8 cost, by tensor, or 4-bit weights, by layer. `record` is a QuantReport or a
    WeightReport as JSON, with its rows."""
    summary = record or manifest.get("quantization")
    if not summary:
        return Markup("")
    facts = [("output SQNR", summary.get("output_sqnr_db"), " dB"),
             ("observer", summary.get("observer"), ""), ("samples", summary.get("samples"), "")]
    text = " · ".join(f"{name} {_decimal(v)}{unit}" for name, v, unit in facts if v is not None)
    parts = [paragraph(str(summary["text"])) if "text" in summary else Markup(""),
             paragraph(text), *_worst(summary), *(_quantized_rows(record) if record else ())]
    return section("Quantization and accuracy", *parts)


def _decimal(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _worst(summary: Values) -> list[Markup]:
    worst = summary.get("worst")
    return [paragraph(f"worst layer: {worst[0]}, {_decimal(worst[1])} dB")] if worst else []


def _quantized_rows(record: Values) -> list[Markup]:
    if "int4_bytes" in record:
        return [*_grouped_rows(record), *_left_in_float(record)]
    rows = [[r["name"], r["scale"], r["zero_point"], _db(r["sqnr_db"])] for r in record["rows"]]
    tensors = table_html(["tensor", "scale", "zero point", "SQNR dB"], rows)
    parts = [folded(f"all {len(rows)} tensors", tensors) if len(rows) > MAX_OPEN else tensors]
    return [*parts, *_left_in_float(record)]


def _grouped_rows(record: Values) -> list[Markup]:
    """Layers with 4-bit weights."""
    rows = [[r["node"], f"{r['outputs']}x{r['inputs']}", r["float_bytes"], r["int4_bytes"],
             _db(r["sqnr_db"])] for r in record["weights"]]
    layers = table_html(["layer", "weights", "float32 B", "int4 B", "SQNR dB"], rows)
    return [folded(f"all {len(rows)} layers", layers) if len(rows) > MAX_OPEN else layers]


def _left_in_float(record: Values) -> list[Markup]:
    left = [[f["node"], f["op"], f["reason"]] for f in record.get("left_in_float") or []]
    if not left:
        return []
    return [folded(f"{len(left)} operators left in float",
                   table_html(["node", "operator", "reason"], left))]


def _db(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


def provenance(manifest: Values) -> Markup:
    """What made the bundle, so that it can be made again."""
    rows = [["target", manifest["target"]], ["ABI", manifest["abi_version"]]]
    for group in ("config", "tools", "seeds"):
        rows += [[f"{group}: {k}", _plain(v)] for k, v in (manifest.get(group) or {}).items()]
    if sha := (manifest.get("model") or {}).get("sha256"):
        rows.append(["model sha256", Markup(f"<code>{escaped(sha)}</code>")])
    return section("How it was made", folded("target, tools and configuration",
                                             table_html(["", ""], rows)))


def _plain(value: Any) -> str:
    return "-" if value in (None, {}, []) else str(value)
