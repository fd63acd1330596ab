"""The style sheet of the report page: light and dark, screen and paper."""

STYLE = """
:root { color-scheme: light dark;
  --page: #f7f7f5; --card: #ffffff; --ink: #1d2327; --soft: #5c666d; --line: #e2e4e1;
  --accent: #2f6fb0; --good: #227a4b; --bad: #b3362c; --warn: #9a6700;
  --input: #5b9bd5; --output: #4fae84; --activation: #8d86c9; --scratch: #d9a441;
  --state: #cf7a9f; --on-fill: #14181b; --peak: #b3362c; }
@media (prefers-color-scheme: dark) { :root {
  --page: #15181b; --card: #1d2125; --ink: #e6e8ea; --soft: #9aa4ab; --line: #30363b;
  --accent: #6cabe8; --good: #5cc78f; --bad: #f0857b; --warn: #e0b252;
  --input: #4a86bd; --output: #3f9570; --activation: #7a73b5; --scratch: #b98a33;
  --state: #b3678a; --on-fill: #ffffff; --peak: #f0857b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 27px; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 12px; }
p { margin: 6px 0; } .soft { color: var(--soft); }
code, .mono { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px; margin-top: 20px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px;
  margin-top: 20px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 13px 16px; }
.tile b { display: block; font-size: 22px; font-weight: 600; line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.badge { display: inline-block; border: 1px solid currentColor; border-radius: 99px;
  padding: 0 10px; font-size: 13px; margin-right: 6px; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.narrow { max-width: 460px; } .narrow thead { display: none; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 12.5px;
  border-bottom: 1px solid var(--line); padding: 4px 10px 6px 0; white-space: nowrap; }
td { border-bottom: 1px solid var(--line); padding: 5px 10px 5px 0; vertical-align: top; }
tr:last-child td { border-bottom: 0; }
.n { text-align: right; white-space: nowrap; }
.why { color: var(--warn); font-size: 12.5px; }
.bar { display: block; height: 9px; border-radius: 2px; background: var(--accent);
  min-width: 1px; margin-top: 6px; }
.barcell { width: 150px; }
details { margin-top: 12px; } summary { cursor: pointer; color: var(--accent); }
.legend { display: flex; flex-wrap: wrap; gap: 16px; font-size: 13px; color: var(--soft);
  margin: 10px 0 0; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px;
  margin-right: 6px; vertical-align: -1px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: var(--soft); }
svg .name { fill: var(--on-fill); font-size: 10.5px; }
svg .edge { stroke: var(--card); stroke-width: 1.2; }
svg .axis { stroke: var(--line); } svg .peak { stroke: var(--peak); stroke-dasharray: 4 3; }
svg .peaktext { fill: var(--peak); }
svg .live { fill: var(--soft); opacity: 0.45; } svg .live.top { fill: var(--peak); opacity: 0.9; }
@media print { body { background: #fff; } section, .tile { break-inside: avoid; } }
"""
