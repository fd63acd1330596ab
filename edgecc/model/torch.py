"""The torch importer: a torch.nn.Module or a torch.export.ExportedProgram in, ONNX out.

torch is imported by the `torch*` files of this folder and nowhere else, and only when a function
is called. Nothing is unpickled: weights are read with weights_only=True.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx_ir as ir

from edgecc.errors import UnsupportedModel
from edgecc.model import torch_inputs, torch_names, torch_quantized

OPSET = 20  # the first that has Gelu
_DATA_DEPENDENT = re.compile(r"data.dependent", re.IGNORECASE)
_PLACE = re.compile(r'raised this error:\s+File "(.+)", line (\d+).*\n\s*(.+)')
_DROPOUTS = ("aten.dropout.default", "aten.native_dropout.default")
_LONGEST = 300


def to_onnx(
    source: Any, example_inputs: Any = None, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> ir.Model:
    """The ONNX form of a torch module or exported program; the source is not changed.

    `example_inputs`: a tuple of what forward takes (tensors or arrays), a mapping by argument
    name, or one tensor; their shapes become the model's. `shapes` replaces a tensor by zeros of
    that shape, and without `example_inputs` says it all (float32). A program needs neither.
    Inputs are named as in forward's signature; outputs `output`, `output_0`, ..., or the keys of
    the returned mapping. PT2E-quantized modules come out as QDQ.
    Raises: ConfigError for inputs that forward does not take, UnsupportedModel with torch's
    reason for what torch cannot export.
    """
    import torch

    name = type(source).__name__
    if isinstance(source, torch.nn.Module):
        args, kwargs = torch_inputs.bind(source, example_inputs, shapes or {})
        program = _program(source, args, kwargs)
    else:
        torch_inputs.require_none(example_inputs)
        program, name = source, "program"
    program = _functional(program, name)
    model = _exported(program, name)
    model.graph.name = name
    torch_names.rename(model, program)
    return model


def _program(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    import torch

    name = type(module).__name__
    try:
        with _quiet(), evaluating(module), torch.no_grad():
            return torch.export.export(module, args, kwargs, strict=False)
    except Exception as error:
        raise _refused("torch.export", error, name) from error


@contextlib.contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Eval mode for the time of the block. The flags are set one by one: calling `eval()` is
    forbidden on modules that torch exported, and every part gets back its own flag."""
    modes = {part: part.training for part in module.modules()}
    try:
        for part in modes:
            part.training = False
        yield
    finally:
        for part, training in modes.items():
            part.training = training


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """torch's exporters warn, log and print about their own affairs; errors still come out."""
    before = logging.root.manager.disable
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.ERROR)
        try:
            yield
        finally:
            logging.disable(before)


def _functional(program: Any, name: str) -> Any:
    """The program without in-place operations; it must give the same for the same inputs."""
    try:
        with _quiet():
            program = program.run_decompositions({})
    except Exception as error:
        raise _refused("torch.export", error, name) from error
    changed = sorted(program.graph_signature.buffers_to_mutate.values())
    if changed:
        raise UnsupportedModel(
            f"every call changes the buffer {changed[0]}", where=name,
            advice="call .eval() before torch.export.export; make state an input and an output")
    for node in program.graph.nodes:
        if str(node.target) in _DROPOUTS and node.args[2]:
            raise UnsupportedModel(
                "Dropout is active, so answers are random", where=f"{name}, {node.name}",
                advice="call .eval() before torch.export.export")
    return program


def _exported(program: Any, name: str) -> ir.Model:
    import torch

    try:
        with _quiet(), contextlib.redirect_stdout(io.StringIO()):
            made = torch.onnx.export(program, dynamo=True, verbose=False, opset_version=OPSET,
                                     custom_translation_table=torch_quantized.translations())
        return ir.from_proto(made.model_proto)
    except Exception as error:
        raise _refused("torch.onnx", error, name) from error


def _refused(by: str, error: Exception, name: str) -> UnsupportedModel:
    """The innermost reason in one line, with the place in the user's code if torch tells it."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    text = str(cause)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = (lines[0] if lines else type(cause).__name__)[:_LONGEST]
    if found := _PLACE.search(text):
        reason += f", at {Path(found[1]).name}:{found[2]}: {found[3].strip()}"
    return UnsupportedModel(f"{by} refuses it: {reason}", where=name, advice=_advice(by, text))


def _advice(by: str, text: str) -> str:
    if _DATA_DEPENDENT.search(text):
        return ("replace control flow that depends on values by torch.where or torch.cond, or "
                "leave it outside the model")
    if by == "torch.onnx":
        return "replace the operation by others, or give an ONNX file made in another way"
    return "call `torch.export.export(module, args)` to see the whole message"
