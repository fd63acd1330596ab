"""`edgecc run`: one inference with inputs from files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from edgecc.cli import arguments
from edgecc.cli.console import Console
from edgecc.errors import ConfigError


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("run", help="run a bundle once")
    command.add_argument("bundle", metavar="BUNDLE")
    command.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy",
                         help="one per input, in the model's shape or native; may be repeated")
    arguments.add_board_options(command)
    command.add_argument("--native", action="store_true", help="outputs as the C API gives them")
    command.add_argument("-o", "--output", type=Path, metavar="OUT.npz")
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.bundle import Bundle

    if args.output:
        arguments.check_output(args.output)
    bundle = Bundle.read(args.bundle)
    inputs = read_inputs(args.input)
    board = arguments.board(args, bundle.manifest)
    console.working(f"run on {board.name}")
    outputs = bundle.run(inputs, board=board, native=args.native,
                         context=arguments.context(args, console))
    console.close()
    show(outputs, board.name, console)
    if args.output:
        write(args.output, outputs)
        console.line(f"wrote {args.output}")
    return 0


def read_inputs(texts: Sequence[str]) -> dict[str, Any]:
    """Arrays by name. Raises ConfigError for a file that is missing or holds no plain array."""
    import numpy as np

    found: dict[str, Any] = {}
    for text in texts:
        name, path = arguments.named(text, "--input")
        try:
            array = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise ConfigError(f"cannot be read as .npy: {error}", where=path) from error
        if not isinstance(array, np.ndarray) or name in found:
            raise ConfigError(f"--input {text!r} is not one array for a new name", where=path)
        found[name] = array
    return found


def show(outputs: Mapping[str, Any], board: str, console: Console) -> None:
    console.fact("board", board)
    for name, value in outputs.items():
        shape = "x".join(map(str, value.shape)) or "scalar"
        console.fact("output", f"{name} {value.dtype} {shape} · min {value.min():.6g} · "
                     f"max {value.max():.6g} at {int(value.argmax())}")
    console.value({"board": board, "outputs": {
        name: {"shape": list(value.shape), "dtype": str(value.dtype), "values": value.tolist()}
        for name, value in outputs.items()}})


def write(path: Path, outputs: Mapping[str, Any]) -> None:
    """An .npz, whole or not at all; same arrays, same bytes. Raises BundleError."""
    from edgecc.bundle.archive import pack, write_atomically

    write_atomically(path, pack({f"{name}.npy": npy(value) for name, value in outputs.items()}))


def npy(value: Any) -> bytes:
    import numpy as np

    buffer = BytesIO()
    np.save(buffer, value, allow_pickle=False)
    return buffer.getvalue()
