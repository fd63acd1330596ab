"""MODEL on the command line: an ONNX file, or `package.module:name` of a torch module."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from edgecc.errors import ConfigError

TORCH = "package.module:name"


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL",
                         help=f"an ONNX file, or {TORCH} of a torch module (or of what makes it)")
    add_weights(command)


def add_weights(command: argparse.ArgumentParser) -> None:
    command.add_argument("--weights", type=Path, metavar="FILE",
                         help="a state_dict for the torch module")


def model_of(args: argparse.Namespace) -> Any:
    """What `edgecc.model.load` takes. Raises ConfigError, UnsupportedModel."""
    from edgecc.model import torch_factory

    if torch_factory.is_named(args.model):
        return module_of(args)
    if args.weights is not None:
        raise ConfigError("--weights are for torch modules", where=args.model,
                          advice=f"name the module as {TORCH}")
    return args.model


def module_of(args: argparse.Namespace) -> Any:
    """The torch module that is named; the current folder is looked into as Python does."""
    from edgecc.model import torch_factory

    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return torch_factory.build(args.model, args.weights, args.seed)
