"""`edgecc quantize`: a float model into a standard ONNX file: QDQ, float16 or 4-bit weights."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from edgecc.cli import arguments, model_source, preprocessing
from edgecc.cli.console import Console
from edgecc.config import CompileConfig
from edgecc.line import folded


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("quantize", help="quantize a model to INT8 (QDQ ONNX) or "
                                  "float16, or its weights to INT4")
    model_source.add(command)
    command.add_argument("--to", default="int8", choices=("int8", "float16", "int4"),
                         help="int8 (default), float16, or int4: weights of matrix products only")
    command.add_argument("--calibrate", metavar="DATA",
                         help="for int8, and for ranges in float16: a .npz of stacked samples, "
                         "or a folder of .npy files or of pictures")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="OUT.onnx")
    command.add_argument("--observer", default="minmax", help=arguments.choices("observer"))
    command.add_argument("--seed", type=int, default=0)
    arguments.add_int4(command)
    preprocessing.add(command, normalize=True)
    arguments.add_shape(command)
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc import model, quantize
    from edgecc.bundle.archive import write_atomically

    config = CompileConfig(quantization=args.to, observer=args.observer,
                           int4_group=args.int4_group, int4_zeros=args.int4_zeros,
                           int4_activations=args.int4_activations,
                           shapes=arguments.shapes(args.shape),
                           preprocessing=preprocessing.declared(args))
    context = arguments.context(args, console)
    arguments.check_output(args.output)
    console.working("load")
    source = model_source.model_of(args)
    graph = folded(model.load(source, shapes=config.shapes, context=context), config)
    report: Any
    if args.to == "int4":
        graph, report = quantize.quantize_weights(graph, config=config, context=context)
    else:
        verb = quantize.to_float16 if args.to == "float16" else quantize.quantize
        graph, report = verb(graph, args.calibrate, config=config, context=context)
    write_atomically(args.output, model.to_proto(graph).SerializeToString(deterministic=True))
    console.close()
    console.line(report.to_text())
    console.line(f"wrote {args.output}")
    console.value({**json.loads(report.to_json()), "output": str(args.output)})
    return 0
