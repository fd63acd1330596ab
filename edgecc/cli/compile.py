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
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc import pipeline

    config = arguments.config(args, target=arguments.target(args), quantization=args.quantize)
    arguments.check_output(args.output)
    for note in args.notes:
        console.line(note)
    console.working("load")
    source = model_source.model_of(args)
    bundle = pipeline.compile(source, config=config, calibration=args.calibrate,
                              context=arguments.context(args, console))
    bundle.save(args.output)
    console.close()
    console.line(f"wrote {args.output}   {memory(bundle.manifest)} · sha256 {bundle.sha256[:8]}…")
    console.value({**bundle.manifest, "output": str(args.output), "sha256": bundle.sha256})
    return 0
