"""`edgecc run`: one inference with inputs from files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from edgecc.cli import arguments, preprocessing
from edgecc.cli.console import Console
from edgecc.errors import ConfigError


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("run", help="run a bundle once")
    command.add_argument("bundle", metavar="BUNDLE")
    command.add_argument("picture", nargs="?", type=Path, metavar="PICTURE", help="prepared as the "
                         "bundle says")
    command.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy",
                         help="one per input, in the model's shape or native; may be repeated")
    command.add_argument("--top", type=int, metavar="N", help="show the N largest values of the "
                         "first output")
    command.add_argument("--labels", type=Path, metavar="FILE.txt",
                         help="their names, one per line")
    preprocessing.add(command)
    arguments.add_board_options(command)
    command.add_argument("--native", action="store_true", help="outputs as the C API gives them")
    command.add_argument("-o", "--output", type=Path, metavar="OUT.npz")
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.bundle import Bundle

    if args.output:
        arguments.check_output(args.output)
    bundle = Bundle.read(args.bundle)
    names = class_names(args)
    inputs = {**read_inputs(args.input), **picture_input(args, bundle.manifest)}
    board = arguments.board(args, bundle.manifest)
    console.working(f"run on {board.name}")
    outputs = bundle.run(inputs, board=board, native=args.native,
                         context=arguments.context(args, console))
    console.close()
    show(outputs, board.name, console, best(outputs, args.top, names))
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


def picture_input(args: argparse.Namespace, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The picture as the only input. Raises ConfigError."""
    from edgecc.bundle import ports
    from edgecc.data import pictures
    from edgecc.data.preprocessing import declared

    inputs = manifest["inputs"]
    how = preprocessing.declared(args, ports.preprocessing(inputs))
    if args.picture is None:
        return {}
    how = declared(how, [port["name"] for port in inputs], str(args.picture))
    port = inputs[0]
    return {port["name"]: pictures.feed(args.picture, how, tuple(port["model_shape"]),
                                        port["model_dtype"])}


def class_names(args: argparse.Namespace) -> list[str] | None:
    """Raises ConfigError, also for a --top that shows nothing."""
    from edgecc.data import labels

    if args.top is not None and args.top < 1:
        raise ConfigError(f"--top {args.top} shows nothing", advice="give 1 or more")
    return None if args.labels is None else labels.class_names(args.labels)


def best(outputs: Mapping[str, Any], top: int | None,
         names: Sequence[str] | None) -> list[dict[str, Any]]:
    """The `top` largest values of the first output (5 with names). Raises ConfigError."""
    import numpy as np

    values = np.asarray(next(iter(outputs.values()))).reshape(-1)
    if names is not None and len(names) != values.size:
        raise ConfigError("the labels do not name the first output's values", where="--labels",
                          needed=f"{values.size} names", available=f"{len(names)} names")
    count = top or (5 if names else 0)
    places = np.argsort(-values.astype(np.float64), kind="stable")[:count]
    return [{"index": int(i), "value": float(values[i]), "label": names[i] if names else None}
            for i in places]


def show(outputs: Mapping[str, Any], board: str, console: Console,
         largest: Sequence[Mapping[str, Any]] = ()) -> None:
    from edgecc.report.table import printable  # costs numpy

    console.fact("board", board)
    for name, value in outputs.items():
        shape = "x".join(map(str, value.shape)) or "scalar"
        console.fact("output", f"{name} {value.dtype} {shape} · min {value.min():.6g} · "
                     f"max {value.max():.6g} at {int(value.argmax())}")
    for rank, found in enumerate(largest, 1):
        label = found["label"] or str(found["index"])
        console.fact(f"top {rank}", f"{found['value']:<10.6g} {printable(label)}")
    console.value({"board": board, "top": list(largest), "outputs": {
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
