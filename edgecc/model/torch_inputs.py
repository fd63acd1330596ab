"""Example inputs of a torch module: what the user gave, bound to forward's arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from edgecc.errors import ConfigError


def bind(
    module: Any, example_inputs: Any, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of `module.forward`, arrays made tensors.

    Raises: ConfigError if nothing is given, or forward does not take it.
    """
    args, kwargs = _arguments(example_inputs, shapes, type(module).__name__)
    signature = inspect.signature(module.forward)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ConfigError(
            f"example_inputs do not fit forward{_parameters(signature)}: {error}",
            where=type(module).__name__,
        ) from error
    for name, shape in shapes.items():
        if name in bound.arguments:
            bound.arguments[name] = _zeros(bound.arguments[name], shape)
    return bound.args, bound.kwargs


def require_none(example_inputs: Any) -> None:
    """Raises ConfigError: an exported program has its inputs in it."""
    if example_inputs is not None:
        raise ConfigError("an ExportedProgram takes no example_inputs: it has its own",
                          advice="leave them out, or give the module")


def _arguments(
    given: Any, shapes: Mapping[str, tuple[int, ...]], name: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    import torch

    if given is None and not shapes:
        raise ConfigError(
            "a torch module needs example inputs", where=name,
            advice="give example_inputs=(torch.zeros(1, 3, 224, 224),) or shapes={'x': (1, 3, "
                   "224, 224)} (on the command line: --input x=1,3,224,224)")
    if given is None:
        return (), {key: torch.zeros(shape) for key, shape in shapes.items()}
    if isinstance(given, Mapping):
        return (), {key: _tensor(value) for key, value in given.items()}
    several = isinstance(given, tuple | list)
    return tuple(_tensor(value) for value in (given if several else [given])), {}


def _tensor(value: Any) -> Any:
    """A copy: torch takes one tensor given twice for one input."""
    import torch

    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _zeros(value: Any, shape: tuple[int, ...]) -> Any:
    return value.new_zeros(shape) if hasattr(value, "new_zeros") else value


def _parameters(signature: inspect.Signature) -> str:
    return f"({', '.join(signature.parameters)})"
