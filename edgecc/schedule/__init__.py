"""schedule: a canonical ONNX model becomes a Program of fused steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgecc.config import CompileConfig
from edgecc.context import Context

if TYPE_CHECKING:
    from edgecc.schedule.program import Program
    from edgecc.targets import Target

__all__ = ["check_program", "schedule", "to_text"]


def schedule(model: Any, target: Target, *, config: CompileConfig, context: Context) -> Program:
    """A canonical ONNX model (onnx_ir; float or QDQ) as fused steps with a kernel each.

    Raises UnsupportedModel naming the node and the rule it breaks, and ConfigError when
    config.io asks for int8 ports that the model has no quantization for.
    """
    from edgecc.schedule.driver import run

    return run(model, target, config, context)


def check_program(program: Program) -> None:
    """Judge a Program's structure. Raises CheckFailed."""
    from edgecc.schedule.check import check_program as judge

    judge(program)


def to_text(program: Program) -> str:
    """The Program as stable text."""
    from edgecc.schedule.text import to_text as render

    return render(program)
