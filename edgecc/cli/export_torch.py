"""`edgecc export-torch`: a torch module into an ONNX file, compared with torch's own answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from edgecc.cli import arguments, model_source
from edgecc.cli.console import Console


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("export-torch", help="export a torch module to ONNX")
    command.add_argument("model", metavar="MODULE", help=f"{model_source.TORCH}: a torch module, "
                         "or a class or function that makes it when called without arguments")
    command.add_argument("--input", dest="shape", action="append", required=True, default=[],
                         metavar="NAME=1,3,224,224", help="shape of one of forward's arguments "
                         "(float32); may be repeated")
    model_source.add_weights(command)
    command.add_argument("-o", "--output", type=Path, required=True, metavar="OUT.onnx")
    command.add_argument("--seed", type=int, default=0, help="seed of random weights (default 0)")
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc import model
    from edgecc.bundle.archive import write_atomically
    from edgecc.model.torch_weights import difference

    shapes = arguments.shapes(args.shape)
    arguments.check_output(args.output)
    console.working("export")
    module = model_source.module_of(args)
    made = model.imported(module, shapes=shapes)
    console.progress("export", summary(made))
    differs = difference(module, made, args.seed)
    console.progress("verify", f"ONNX Runtime within {differs:.1e} of torch, of the largest value")
    write_atomically(args.output, model.to_proto(made).SerializeToString(deterministic=True))
    console.close()
    inputs, outputs = ports(made.graph.inputs), ports(made.graph.outputs)
    for kind, found in (("input", inputs), ("output", outputs)):
        for port in found:
            console.fact(kind, f"{port['name']}   {port['dtype']} {port['shape']}")
    console.line(f"wrote {args.output}")
    console.value({"output": str(args.output), "inputs": inputs, "outputs": outputs,
                   "difference": differs, "operators": len(made.graph)})
    return 0


def summary(made: Any) -> str:
    parameters = sum(v.const_value.size for v in made.graph.initializers.values())
    return (f"{made.graph.name} · {len(made.graph)} operators · {parameters / 1000:.0f} k "
            f"parameters · opset {made.graph.opset_imports['']}")


def ports(values: Any) -> list[dict[str, Any]]:
    return [{"name": value.name, "dtype": value.dtype.numpy().name,
             "shape": [int(d) for d in value.shape]} for value in values]
