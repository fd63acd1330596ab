"""Arguments that several commands share, and the Context and Board made of them."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from edgecc.cli import knobs, preprocessing, project, toolchains
from edgecc.cli.console import Console
from edgecc.config import IMPLEMENTED, CompileConfig
from edgecc.context import Asking, Context
from edgecc.errors import BoardError, ConfigError


def add_compile_options(command: argparse.ArgumentParser) -> None:
    """What decides the compiled program besides model, target and quantization."""
    add = command.add_argument
    add("-O", dest="optimization", default="2", metavar="LEVEL",
        help="0 (plain, quick to compile), 2 (default), 3 (search the fastest tiles), s (small)")
    add("--no-fusion", dest="fusion", action="store_false", help="one step per operator")
    add("--layout", default="auto", help=choices("layout"))
    add("--contraction", default="auto", help="whether float32 products are added before they are "
        "rounded: " + choices("contraction"))
    add("--threads", type=int, default=1, help="threads of the program (default 1)")
    add("--io", default="auto", help="type of inputs and outputs: " + choices("io"))
    add("--observer", default="minmax", help="range estimator: " + choices("observer"))
    add_int4(command)
    knobs.add(command)
    toolchains.add(command)
    add("--check", default="structure", help=choices("check"))
    add("--seed", type=int, default=0, help="seed of everything random (default 0)")
    add("--dump", type=Path, metavar="DIR", help="write every value's text form here")
    add_shape(command)


def add_int4(command: argparse.ArgumentParser) -> None:
    """How weights become 4-bit codes."""
    command.add_argument("--int4-group", type=int, default=32, metavar="N",
                         help="int4 weights that share a scale: " + choices("int4_group"))
    command.add_argument("--int4-zeros", default="symmetric", metavar="FORM",
                         help="whether they share a zero point too: " + choices("int4_zeros"))
    command.add_argument("--int4-activations", default="float32", metavar="TYPE",
                         help="what they multiply: " + choices("int4_activations"))


def add_shape(command: argparse.ArgumentParser) -> None:
    command.add_argument("--shape", "--input", action="append", default=[],
                         metavar="NAME=1,3,224,224", help="fix a dynamic input, or say what a "
                         "torch module takes; may be repeated")


def choices(key: str) -> str:
    return ", ".join(str(value) for value in IMPLEMENTED[key])


def add_board_options(command: argparse.ArgumentParser, *, several: bool = False) -> None:
    words = "a name from `edgecc boards`" + ("; may be repeated" if several else "")
    command.add_argument("--board", action="append" if several else "store",
                         help=f"{words} (default: this machine if it can, else the target's "
                         "emulated board)")
    add_boards_file(command)


def add_boards_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("--boards-file", type=Path, metavar="TOML",
                         help="instead of ./boards.toml and ~/.config/edgecc/boards.toml, or of "
                         "edgecc.toml's")


def config(args: argparse.Namespace, *, target: str, quantization: str) -> CompileConfig:
    """Raises ConfigError for values that are wrong or not implemented."""
    file = project.read()
    return CompileConfig(
        target=target, optimization=f"O{args.optimization}", fusion=args.fusion,
        quantization=quantization, layout=args.layout, contraction=args.contraction,
        threads=args.threads, io=args.io, observer=args.observer, int4_group=args.int4_group,
        int4_zeros=args.int4_zeros, int4_activations=args.int4_activations,
        check=args.check, shapes=shapes(args.shape),
        name=getattr(args, "name", None), **toolchains.fields(args, file.toolchain),
        **knobs.fields(args, file.knobs),
        preprocessing=preprocessing.declared(args), keep_float=getattr(args, "keep_float", False),
    )


def context(args: argparse.Namespace, console: Console) -> Context:
    return Context(seed=getattr(args, "seed", 0), dump_dir=getattr(args, "dump", None),
                   progress=console.progress, ask=asking(console))


def asking(console: Console) -> Callable[[str], str] | None:
    """Asks for a secret on the terminal, where there is one; it is kept nowhere."""
    if not sys.stdin.isatty():
        return None

    def ask(prompt: str) -> str:
        console.close()  # a spinner would write over the prompt
        try:
            return getpass.getpass(prompt)
        except EOFError as error:
            raise BoardError("nothing was typed", where=prompt.strip(" :")) from error

    return Asking(ask)


def target(args: argparse.Namespace) -> str:
    """The target that is named, or the project's. Raises ConfigError for none."""
    name = args.target or project.read().target
    if name is None:
        raise ConfigError("--target is missing", advice="`edgecc targets` lists them; edgecc.toml "
                          "may hold target = \"...\"")
    return name


def shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """{"x": (1, 3, 224, 224)} from "x=1,3,224,224". Raises ConfigError."""
    found: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, dims = named(text, "--shape")
        try:
            shape = tuple(int(dim) for dim in dims.split(","))
        except ValueError:
            shape = ()
        if not shape or min(shape) < 1 or name in found:
            raise ConfigError(f"--shape {text!r} is not a new NAME and positive whole numbers",
                              advice="write --shape x=1,3,224,224")
        found[name] = shape
    return found


def named(text: str, option: str) -> tuple[str, str]:
    """(name, value) from "name=value". Names may hold '='; values may not. Raises ConfigError."""
    name, found, value = text.rpartition("=")
    if not (name and found and value):
        raise ConfigError(f"{option} {text!r} has no NAME=VALUE")
    return name, value


def board_files(args: argparse.Namespace) -> list[Path]:
    """The project's file, then the user's. Raises ConfigError for a named file that is absent."""
    named = args.boards_file or project.read().boards
    if named is not None:
        if not named.is_file():
            raise ConfigError("no such file", where=str(named))
        return [named]
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return [Path("boards.toml"), Path(home) / "edgecc" / "boards.toml"]


def board(args: argparse.Namespace, manifest: dict[str, Any]) -> Any:
    """The Board that is named, or the bundle's default one. Raises BoardError."""
    return boards(args, manifest, [args.board] if args.board else [])[0]


def boards(args: argparse.Namespace, manifest: dict[str, Any], names: Sequence[str]) -> list[Any]:
    """The Boards that are named, or the bundle's default one. Raises BoardError."""
    from edgecc.bundle.measure import default_board
    from edgecc.rpc.boards import get_board

    return [get_board(name, board_files(args)) for name in names or [default_board(manifest)]]


def check_output(path: Path) -> None:
    """Raises ConfigError before any work when `path` cannot be a new file."""
    if path.is_dir():
        raise ConfigError("is a folder, not a file to write", where=str(path))
    if not path.absolute().parent.is_dir():
        raise ConfigError("the folder to write to does not exist", where=str(path))
