"""The model verb: anything ONNX or torch in, one canonical `onnx_ir.Model` out.

onnx_ir, onnxscript, onnxruntime and torch are imported when a function is called, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgecc.context import Context
from edgecc.errors import ConfigError

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir

__all__ = ["check_model", "imported", "input_names", "load", "save", "to_proto", "to_text"]

_NO_SHAPES: Mapping[str, tuple[int, ...]] = {}
_TORCH = {"torch.nn.modules.module.Module", "torch.export.exported_program.ExportedProgram"}


def load(
    source: Any,
    *,
    shapes: Mapping[str, tuple[int, ...]] = _NO_SHAPES,
    example_inputs: Any = None,
    context: Context | None = None,
) -> ir.Model:
    """The canonical form of a model; the source is not changed.

    `source`: an ONNX file, a ModelProto, an onnx_ir.Model, or what `imported` takes.
    Shapes: `shapes` fixes dynamic inputs by name; a dynamic first dimension becomes 1 by itself.
    Raises: UnsupportedModel (file, operator or shape), ConfigError (a shape that fits no input).
    """
    from edgecc.model import canonical

    source = imported(source, shapes=shapes, example_inputs=example_inputs)
    return canonical.load(source, shapes, context or Context())


def imported(
    source: Any,
    *,
    shapes: Mapping[str, tuple[int, ...]] = _NO_SHAPES,
    example_inputs: Any = None,
) -> Any:
    """A torch.nn.Module or torch.export.ExportedProgram as an onnx_ir.Model; whatever else comes
    back as it is. See `edgecc.model.torch.to_onnx`.

    Raises: ConfigError, UnsupportedModel.
    """
    if _TORCH & {f"{c.__module__}.{c.__qualname__}" for c in type(source).__mro__}:
        from edgecc.model import torch

        return torch.to_onnx(source, example_inputs, shapes)
    if example_inputs is not None:
        raise ConfigError("example_inputs are for torch modules", where=type(source).__name__,
                          advice="leave them out: an ONNX model has its shapes in it")
    return source


def input_names(source: Any) -> list[str]:
    """Names of the inputs of an ONNX file, a ModelProto or an onnx_ir.Model, as `shapes` takes
    them. Raises: UnsupportedModel (no such file, or not ONNX)."""
    from edgecc.model import reading

    return reading.input_names(source)


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
