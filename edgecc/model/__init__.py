"""The model verb: anything ONNX in, one canonical `onnx_ir.Model` out.

onnx_ir, onnxscript and onnxruntime are imported when a function is called, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from edgecc.context import Context

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir

__all__ = ["check_model", "load", "save", "to_proto", "to_text"]

_NO_SHAPES: Mapping[str, tuple[int, ...]] = {}


def load(
    source: str | Path | onnx.ModelProto | ir.Model,
    *,
    shapes: Mapping[str, tuple[int, ...]] = _NO_SHAPES,
    context: Context | None = None,
) -> ir.Model:
    """The canonical form of a model; the source is not changed.

    Shapes: `shapes` fixes dynamic inputs by name; a dynamic first dimension becomes 1 by itself.
    Raises: UnsupportedModel (file, operator or shape), ConfigError (a shape that fits no input).
    """
    from edgecc.model import canonical

    return canonical.load(source, shapes, context or Context())


def to_proto(model: ir.Model) -> onnx.ModelProto:
    """The model as an ONNX protobuf with all its data inside."""
    import onnx_ir as ir

    return ir.to_proto(model)


def save(model: ir.Model, path: str | Path) -> None:
    """Write the model as one .onnx file, deterministically."""
    Path(path).write_bytes(to_proto(model).SerializeToString(deterministic=True))


def to_text(model: ir.Model) -> str:
    """A stable text form: the same model gives the same lines."""
    from edgecc.model import text

    return text.to_text(model)


def check_model(model: ir.Model) -> None:
    """Check structure: order, known fixed shapes, unique names.

    Raises: CheckFailed.
    """
    from edgecc.model import check

    check.check_model(model)
