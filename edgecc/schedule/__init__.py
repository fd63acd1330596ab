"""schedule: a canonical ONNX model becomes a Program of fused steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgecc.config import CompileConfig
from edgecc.context import Context

if TYPE_CHECKING:
    from edgecc.schedule.program import Program
    from edgecc.targets import Target

__all__ = ["schedule"]


def schedule(model: Any, target: Target, *, config: CompileConfig, context: Context) -> Program:
    """A canonical ONNX model (onnx_ir; float or QDQ) as fused steps with a kernel each.

    Raises UnsupportedModel naming the node and the rule it breaks, and ConfigError when
    config.io asks for int8 ports that the model has no quantization for.
    """
    from edgecc.schedule.driver import run

    return run(model, target, config, context)
