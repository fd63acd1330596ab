"""`edgecc compile`: a model into a bundle."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from edgecc.cli import arguments, model_source, preprocessing
from edgecc.cli.console import Console
from edgecc.cli.inspect import memory
from edgecc.config import IMPLEMENTED


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("compile", help="compile a model into a bundle")
    model_source.add(command)
    command.add_argument("--target", help="a name from `edgecc targets` (default: edgecc.toml's)")
    command.add_argument("--quantize", default="none",
                         help=", ".join(IMPLEMENTED["quantization"]) + " (default none)")
    command.add_argument("--calibrate", metavar="DATA",
                         help="a .npz of stacked samples, or a folder of .npy files or of "
                         "pictures")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="OUT.ecb")
    command.add_argument("--name", help="prefix of every C symbol (default: from the file)")
    command.add_argument("--keep-float", action="store_true", help="pack the float model too, "
                         "for `edgecc evaluate`")
    preprocessing.add(command, normalize=True)
    arguments.add_compile_options(command)
    command.add_argument("--board", help="where -O3 measures: a name from `edgecc boards` "
                         "(default: this machine if it can, else the target's emulated board)")
    arguments.add_boards_file(command)
    command.add_argument("--save-tiles", type=Path, metavar="FILE",
                         help="write the tiles, for --tiles")
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc import pipeline

    config = arguments.config(args, target=arguments.target(args), quantization=args.quantize)
    board = arguments.boards(args, {}, [args.board])[0] if args.board else None
    for path in filter(None, (args.output, args.save_tiles)):
        arguments.check_output(path)
    for note in args.notes:
        console.line(note)
    console.working("load")
    source = model_source.model_of(args)
    bundle = pipeline.compile(source, config=config, calibration=args.calibrate, board=board,
                              context=arguments.context(args, console))
    bundle.save(args.output)
    console.close()
    if args.save_tiles:
        save_tiles(bundle.manifest, args.save_tiles, console)
    console.line(f"wrote {args.output}   {memory(bundle.manifest)} · sha256 {bundle.sha256[:8]}…")
    console.value({**bundle.manifest, "output": str(args.output), "sha256": bundle.sha256})
    return 0


def save_tiles(manifest: dict[str, Any], path: Path, console: Console) -> None:
    from edgecc.bundle.archive import write_atomically
    from edgecc.tune import tiles_file

    write_atomically(path, tiles_file.text(manifest).encode())
    console.line(f"wrote {path}   {len(tiles_file.tiles_of(manifest))} tiles")
