"""A torch module named on a command line: `package.module:name`, made and given its weights."""

from __future__ import annotations

import difflib
import importlib
import re
from pathlib import Path
from typing import Any

from edgecc.errors import ConfigError

_IDENTIFIERS = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_NAMED = re.compile(f"{_IDENTIFIERS}:{_IDENTIFIERS}")


def is_named(text: str) -> bool:
    """Whether the text is `package.module:name` and no file has that name."""
    return bool(_NAMED.fullmatch(text)) and not Path(text).exists()


def build(text: str, weights: Path | None, seed: int) -> Any:
    """The module that `package.module:name` is, or makes when called without arguments.

    torch's generator is seeded first, so that random weights are the same every time; `weights`
    is a file with a state_dict. This runs the user's own code, as importing it does.
    Raises: ConfigError for names that lead to no module, UnsupportedModel for wrong weights.
    """
    torch = _torch(text)
    torch.manual_seed(seed)
    found = _attribute(text)
    if not isinstance(found, torch.nn.Module):
        torch.manual_seed(seed)  # again: importing may have drawn numbers, but only once
        found = _called(found, text)
    if not isinstance(found, torch.nn.Module):
        raise ConfigError(f"gives a {type(found).__name__}, not a torch.nn.Module", where=text)
    if weights is not None:
        from edgecc.model.torch_weights import load_weights

        load_weights(found, weights)
    return found


def _torch(text: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise ConfigError(f"torch cannot be imported: {error}", where=text,
                          advice="pip install 'edgecc[torch]'") from error
    return torch


def _attribute(text: str) -> Any:
    module, colon, path = text.partition(":")
    if not _NAMED.fullmatch(text):
        raise ConfigError("is no package.module:name", where=text)
    try:
        found = importlib.import_module(module)
    except Exception as error:  # whatever the user's code raises
        raise ConfigError(f"{module} cannot be imported: {_told(error)}", where=text,
                          advice="run edgecc in the folder that holds it, or install it"
                          ) from error
    for name in path.split("."):
        if not hasattr(found, name):
            near = difflib.get_close_matches(name, dir(found), n=1)
            raise ConfigError(f"has no {name!r}", where=text,
                              advice=f"did you mean {near[0]}?" if near else None)
        found = getattr(found, name)
    return found


def _called(factory: Any, text: str) -> Any:
    if not callable(factory):
        raise ConfigError(f"is a {type(factory).__name__}, not a torch.nn.Module, class or "
                          "function", where=text)
    try:
        return factory()
    except Exception as error:  # whatever the user's code raises
        raise ConfigError(f"fails when it is called without arguments: {_told(error)}", where=text,
                          advice="name a function that makes the module by itself") from error


def _told(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
