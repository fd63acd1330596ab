"""edgecc: compile PyTorch and ONNX models to small quantized programs for edge chips."""

from __future__ import annotations

import difflib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ConfigError, EdgeccError

if TYPE_CHECKING:
    from edgecc.bundle import Bundle

__version__ = "0.1.0"
__all__ = ["Bundle", "CompileConfig", "Context", "EdgeccError", "compile", "load_bundle"]


def compile(
    model: Any, target: str = "host", quantization: str = "none", calibration: Any = None, *,
    example_inputs: Any = None, board: Any = None, context: Context | None = None, **config: Any,
) -> Bundle:
    """A model as a bundle for `target`: an ONNX file, a ModelProto, an onnx_ir.Model, a
    torch.nn.Module with `example_inputs` (its arguments), or a torch.export.ExportedProgram.

    `calibration` (a .npz, a folder of .npy, an iterable of {input: array}) is needed for
    `quantization="int8"` unless the model is quantized already. Further arguments are the fields
    of CompileConfig; `board` is where O3 measures. Raises the classes of edgecc.errors.
    """
    from edgecc import pipeline

    known = [field.name for field in fields(CompileConfig)]
    for name in config:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise ConfigError(f"unknown option {name!r}", where="edgecc.compile",
                              advice=f"did you mean {near[0]}?" if near else ", ".join(known))
    chosen = CompileConfig(target=target, quantization=quantization, **config)
    return pipeline.compile(model, config=chosen, calibration=calibration,
                            example_inputs=example_inputs, board=board,
                            context=context or Context())


def load_bundle(path: str | Path) -> Bundle:
    """A checked bundle from an `.ecb` file. Raises BundleError."""
    from edgecc.bundle import Bundle

    return Bundle.read(path)


def __getattr__(name: str) -> Any:
    # `edgecc.Bundle` costs numpy: imported when it is first asked for.
    if name == "Bundle":
        from edgecc.bundle import Bundle

        return Bundle
    raise AttributeError(f"module 'edgecc' has no attribute {name!r}")
