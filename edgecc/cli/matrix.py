"""`edgecc matrix`: models x quantizations x targets x forms, compiled, run and compared.

Columns: golden vectors on the board against the numpy references; the board's outputs for more
inputs against ONNX Runtime, and their digest (equal digests: the same bytes on both targets).
"""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgecc.cli import arguments
from edgecc.cli.console import Console
from edgecc.errors import ConfigError, EdgeccError

RANDOM_SAMPLES = 16
Vector = tuple[dict[str, Any], dict[str, Any]]
KEYS = ("model", "quantization", "target", "form")
HEAD = ("model", "quantized", "target", "form", "golden", "ONNX Runtime", "digest",
        "instructions", "p50 us", "arena B", "activations", "scratch", "RAM B", "flash B",
        "calibration")
FIGURES = ("instructions", "p50_us", "arena_bytes", "activation_bytes", "scratch_bytes",
           "ram_bytes", "flash_bytes")


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser(
        "matrix", help="compile, run and compare models on several targets")
    command.add_argument("models", nargs="+", metavar="MODEL")
    command.add_argument("--targets", default="host", help="names, with commas (default host)")
    command.add_argument("--quantize", default="int8,none", help="default int8,none")
    command.add_argument("--form", default="library", help="what the kernels are made of, with "
                         "commas: library (default), portable (C99) and, on bare chips, assembly")
    command.add_argument("--calibrate-dir", type=Path, metavar="DIR", help="holds <model>.npz or "
                         "a folder <model>; models without either get seeded random samples")
    command.add_argument("--count", type=int, default=10, help="timed runs (default 10)")
    command.add_argument("--inputs", type=int, default=16, metavar="N", help="random inputs "
                         "compared with ONNX Runtime besides the golden ones (default 16)")
    arguments.add_boards_file(command)
    arguments.add_compile_options(command)
    command.set_defaults(board=None)
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    if args.calibrate_dir is not None and not args.calibrate_dir.is_dir():
        raise ConfigError("no such folder", where=str(args.calibrate_dir))
    check_shapes(args)
    found = []
    for model in args.models:
        for quantization in args.quantize.split(","):
            found += rows(model, quantization, args, console)
    console.close()
    console.table(HEAD, [cells(row) for row in found])
    for row in found:
        if why := row["error"] or row["absent"]:
            console.line(f"{' '.join(row[key] for key in KEYS)}: {why}")
    split = differing(found)
    for name in split:
        console.line(f"{name}: not the same bytes everywhere")
    console.value({"rows": found, "differing": split})
    return 0 if all(passed(row) for row in found) and not split else 1


def differing(rows: list[dict[str, Any]]) -> list[str]:
    """Models whose outputs are not the same bytes on all targets and in all forms, of the lines
    that promise them."""
    digests: dict[str, set[str]] = {}
    for found in rows:
        if not found["error"] and not found["absent"] and found["same_everywhere"]:
            name = f"{found['model']} {found['quantization']}"
            digests.setdefault(name, set()).add(found["outputs_sha256"])
    return sorted(name for name, several in digests.items() if len(several) > 1)


def passed(found: dict[str, Any]) -> bool:
    """Whether a line is right: a form that a target has not is no failure."""
    if found["absent"]:
        return True
    return found["error"] is None and found["golden"] == "pass" and found["agrees"]


def rows(model: str, quantization: str, args: argparse.Namespace,
         console: Console) -> list[dict[str, Any]]:
    """A line of the table for every target and form; an error becomes its text, and the table
    goes on. What knows no target is done once."""
    from edgecc import pipeline

    quiet, prepared, found = arguments.context(args, Console(as_json=True)), None, []
    for target in args.targets.split(","):
        console.working(f"{Path(model).stem} {quantization} {target}")
        begun = [{"model": Path(model).stem, "quantization": quantization, "target": target,
                  "form": form, "error": None, "absent": None, "agrees": False, "golden": None}
                 for form in args.form.split(",")]
        try:
            config = configured(model, quantization, target, args)
            prepared = prepared or preparation(model, config, args, quiet)
            bundle = pipeline.build(prepared[0], config=config, context=quiet)
        except EdgeccError as error:
            found += [{**each, "error": said(error)} for each in begun]
            continue
        found += [row({**each, "calibration": prepared[1]}, bundle, args, quiet)
                  for each in begun]
    return found


def said(error: EdgeccError) -> str:
    return f"{type(error).__name__}: {error}"


def configured(model: str, quantization: str, target: str, args: argparse.Namespace) -> Any:
    """The configuration of one program: shapes are those of inputs that the model has."""
    config = arguments.config(args, target=target, quantization=quantization)
    if not config.shapes:
        return config
    from edgecc.model import input_names

    names = input_names(model)
    return replace(config, shapes={n: s for n, s in config.shapes.items() if n in names})


def check_shapes(args: argparse.Namespace) -> None:
    """Raises ConfigError for a --shape that fits none of the models."""
    given = arguments.shapes(args.shape)
    if not given:
        return
    from edgecc.model import input_names

    known = {name for model in args.models if Path(model).is_file()
             for name in input_names(model)}
    if missing := sorted(given.keys() - known):
        raise ConfigError(f"no model has an input {missing[0]!r}", where="--shape",
                          needed=" or ".join(sorted(known)), available=missing[0])


def preparation(model: str, config: Any, args: argparse.Namespace,
                quiet: Any) -> tuple[Any, str]:
    """What serves every target, and where the calibration data come from."""
    from edgecc import pipeline

    calibration, kind = calibrated(model, config, args)
    return pipeline.prepare(model, config=config, calibration=calibration, context=quiet), kind


def row(found: dict[str, Any], bundle: Any, args: argparse.Namespace,
        quiet: Any) -> dict[str, Any]:
    from edgecc.bundle.forms import in_form, lacking

    if lack := lacking(found["form"], bundle.manifest):
        return found | {"absent": lack}
    try:
        return found | measured(in_form(bundle, found["form"], context=quiet), args, quiet)
    except EdgeccError as error:
        return found | {"error": said(error)}


def measured(bundle: Any, args: argparse.Namespace, quiet: Any) -> dict[str, Any]:
    from edgecc.bundle import oracle
    from edgecc.report.size import size_of

    board = arguments.board(args, bundle.manifest)
    report = bundle.bench(board, count=args.count, warmup=1, context=quiet).to_json()
    answers = answered(bundle, board, args)
    agreements = oracle.compare(bundle, answers)
    manifest = bundle.manifest
    return {
        "same_everywhere": same_everywhere(manifest),
        "golden": report["golden"], "instructions": report["instructions"],
        "p50_us": report["p50_us"], "timing": report["timing"], "board": board.name,
        "onnxruntime": "; ".join(agreement.text for agreement in agreements),
        "agrees": all(agreement.holds for agreement in agreements),
        "outputs_sha256": digest(answers), "inputs": len(answers),
        "arena_bytes": manifest["arena_bytes"], "flash_bytes": manifest["flash_bytes"],
        "arena_lower_bound_bytes": manifest["arena_lower_bound_bytes"],
        "ram_bytes": size_of(bundle.files, manifest)["ram_bytes"],
        "activation_bytes": manifest["memory"]["activation_bytes"],
        "scratch_bytes": manifest["memory"]["scratch_bytes"],
    }


def same_everywhere(manifest: dict[str, Any]) -> bool:
    """Whether the outputs' bytes depend on no target: those of INT8 models (where there was
    something to quantize), and of float ones that add in float32 and round every product on its
    own."""
    integers = any(step.get("dtype") == "int8" for step in manifest["steps"])
    if manifest["config"]["quantization"] == "int8" and integers:
        return True
    from edgecc.kernels import registry

    kernels = {step["kernel"] for step in manifest["steps"] if step["kernel"]}
    return not (manifest["knobs"]["contraction"]
                or any(registry.find(name).half for name in kernels))


def calibrated(model: str, config: Any, args: argparse.Namespace) -> tuple[Any, str]:
    """Calibration data for one model, and where they come from."""
    stem = Path(model).stem
    if args.calibrate_dir is not None:
        for path in (args.calibrate_dir / f"{stem}.npz", args.calibrate_dir / stem):
            if path.exists():
                return path, "data"
    if config.quantization == "none":
        return None, "-"
    return random_samples(model, config, args.seed), "random"


def random_samples(model: str, config: Any, seed: int) -> list[dict[str, Any]]:
    """Standard normal samples: right for comparing bytes, not for judging accuracy."""
    import numpy as np

    from edgecc.model import load
    from edgecc.quantize.calibration import ports

    generator = np.random.default_rng(seed)
    inputs = ports(load(model, shapes=config.shapes))
    return [{port.name: generator.standard_normal(port.shape).astype(port.dtype)
             for port in inputs} for _ in range(RANDOM_SAMPLES)]


def answered(bundle: Any, board: Any, args: argparse.Namespace) -> list[Vector]:
    """(inputs, the board's outputs) of the golden vectors and of further random inputs."""
    import numpy as np

    from edgecc.bundle.vectors import draw

    generator, described = np.random.default_rng(args.seed + 1), bundle.manifest["inputs"]
    given = [inputs for inputs, _ in bundle.vectors()]
    given += [{port["name"]: draw(port, generator) for port in described}
              for _ in range(args.inputs)]
    found = bundle.run_many(given, board=board, native=True)
    return list(zip(given, found, strict=True))


def digest(answers: list[Vector]) -> str:
    """SHA-256 of all outputs."""
    return hashlib.sha256(b"".join(
        outputs[name].tobytes() for _, outputs in answers for name in sorted(outputs)
    )).hexdigest()


def cells(found: dict[str, Any]) -> tuple[Any, ...]:
    first = tuple(found[key] for key in KEYS)
    if found["error"] or found["absent"]:
        why = (found["error"] or "absent").split(":")[0]
        return (*first, why, *["-"] * (len(HEAD) - len(KEYS) - 1))
    return (*first, found["golden"], found["onnxruntime"], found["outputs_sha256"][:8],
            *[figure(found[name]) for name in FIGURES], found["calibration"])


def figure(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
