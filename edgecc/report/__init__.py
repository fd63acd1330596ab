"""Reports: pure functions from manifests and bench reports to text, HTML and traces."""

from edgecc.report.html import html_report
from edgecc.report.memory_map import memory_map, plan_map
from edgecc.report.steps import steps_table
from edgecc.report.table import table
from edgecc.report.trace import perfetto_trace

__all__ = ["html_report", "memory_map", "perfetto_trace", "plan_map", "steps_table", "table"]
