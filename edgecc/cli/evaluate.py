"""`edgecc evaluate`: how right a bundle is, on every board asked for and in ONNX Runtime."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from edgecc.cli import arguments, preprocessing
from edgecc.cli.console import Console
from edgecc.errors import ConfigError


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("evaluate", help="accuracy of a bundle on labelled data")
    command.add_argument("bundle", metavar="BUNDLE")
    command.add_argument("--data", required=True, metavar="DATA", help="a folder of pictures "
                         "(class by subfolder, or with a .csv), or a .npz of stacked samples")
    command.add_argument("--inputs", default="", metavar="A[,B]", help="arrays of the .npz to "
                         "feed, in the order of the model's inputs")
    command.add_argument("--labels", metavar="NAME|FILE", help="an array of the .npz, a .csv that "
                         "ends its rows in a class number, or a .txt of class names in the "
                         "order of the model's outputs")
    command.add_argument("--metric", default="top1",
                         help="top1, top5, mse, cosine or module:function (default top1)")
    command.add_argument("--float", dest="float_model", type=Path, metavar="MODEL.onnx",
                         help="the float model, unless the bundle keeps it")
    command.add_argument("--limit", type=int, metavar="N", help="only the first N samples")
    command.add_argument("--board", action="append", default=[], help="may be repeated (default: "
                         "this machine if it can, else the target's emulated board)")
    arguments.add_boards_file(command)
    preprocessing.add(command)
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.bundle import Bundle, ports
    from edgecc.rpc.boards import get_board

    if args.float_model is not None and not args.float_model.is_file():
        raise ConfigError("no such file", where=str(args.float_model))
    bundle = Bundle.read(args.bundle)
    how = preprocessing.declared(args, ports.preprocessing(bundle.manifest["inputs"]))
    boards = [get_board(name, arguments.board_files(args)) for name in args.board]
    if ":" in args.metric and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # the user's module lies where the command is typed
    console.working("evaluate")
    found = bundle.evaluate(
        args.data, args.labels, metric=args.metric, boards=boards, float_model=args.float_model,
        inputs=[name for name in args.inputs.split(",") if name], preprocessing=how,
        limit=args.limit, context=arguments.context(args, console))
    console.close()
    console.line(found.to_text().rstrip())
    console.value(found.to_json())
    return 0
