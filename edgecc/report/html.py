"""The report page: one self-contained HTML file without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgecc.report import sections
from edgecc.report.markup import escaped
from edgecc.report.style import STYLE
from edgecc.report.timing import timing

POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_report(
    manifest: Mapping[str, Any],
    bench: Mapping[str, Any] | None = None,
    quantization: Mapping[str, Any] | None = None,
) -> str:
    """A page about one bundle and, if it was measured, one bench report.

    `quantization` is the QuantReport as JSON (a bundle keeps it in report/report.json); without
    it only the manifest's summary of it is shown. Nothing on the page is loaded from elsewhere,
    and everything that comes from the model or the board is escaped.
    """
    title = f"{manifest.get('name', 'model')} on {manifest['target']}"
    body = [
        sections.headline(manifest, bench), sections.tiles(manifest, bench),
        timing(bench), sections.memory(manifest), sections.steps(manifest, bench),
        sections.quantization(manifest, quantization), sections.interface(manifest),
        sections.provenance(manifest),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )
