"""Instructions of INT8 models on RISC-V vectors beside muRISCV-NN's published counts.

    python benchmarks/riscv.py MODELS

MODELS holds the MLPerf Tiny networks as float32 ONNX. Every figure is of one steady inference,
counted under QEMU by plug-ins: exact and repeatable.

    instructions   as `edgecc bench` counts them: the run function and all that it calls
    by vtype       vector instructions count as many times as registers in a group (LMUL, fractions
                   as 1) of the vtype in force
    by widest      the same with the effective group (EMUL) of the widest operand: never less for
                   widening arithmetic, less for narrow loads

What register groups add is counted by rvv_groups.c, as what one more inference adds to a process.

The ratios are to muRISCV-NN's plain counts, for it publishes no weighted ones: its own weighted
count can only be larger, so the weighted ratios are upper bounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgecc import pipeline
from edgecc.cli.matrix import random_samples
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import BoardError
from edgecc.rpc.probe import compile_cached
from edgecc.rpc.runner_client import request_bytes
from edgecc.targets import get_target

HERE = Path(__file__).parent
PLUGIN = HERE / "rvv_groups.c"
PUBLISHED = json.loads((HERE / "riscv_published.json").read_text())
EIGHTHS = 8  # the plug-in counts in eighths of a register
FEW, MANY = 1, 3
LIMITS = {"instructions": 0.25, "by_vtype": 0.4, "by_widest": 0.4}


@dataclass(frozen=True)
class Weighed:
    """Instructions, and what they come to with register groups; see the module's words.
    `unknown` vector instructions are counted once, for want of their vtype."""

    instructions: int
    vector: int
    by_vtype: float
    by_widest: float
    unknown: int


def main() -> None:
    args = arguments()
    rows = [row(name, args) for name in PUBLISHED["instructions"]]
    table(rows, args.target)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, help="folder of the MLPerf Tiny networks in ONNX")
    parser.add_argument("--target", default="spacemit-k1", help="default: %(default)s")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def row(name: str, args: argparse.Namespace) -> dict[str, Any]:
    context = Context()
    config = CompileConfig(target=args.target, quantization="int8")
    model = str(args.models / f"{name}.onnx")
    bundle = pipeline.compile(model, config=config, context=context,
                              calibration=random_samples(model, config, context.seed))
    found = weighed(bundle, args.target, context)
    theirs = PUBLISHED["instructions"][name]
    ratios = {key: getattr(found, key) / theirs for key in LIMITS}
    return {"model": name, "target": args.target, "published": theirs,
            "macs": sum(step["macs"] or 0 for step in bundle.manifest["steps"]),
            **vars(found), "ratios": ratios}


def weighed(bundle: Any, target: str, context: Context) -> Weighed:
    """Figures of one inference."""
    inputs = [value.tobytes() for value in bundle.vectors()[0][0].values()]
    files = {"weights.bin": bundle.files["weights.bin"],
             "runner": bundle.files["runner/runner"]}
    with tempfile.TemporaryDirectory(prefix="edgecc-riscv-") as folder:
        place = Path(folder)
        for name, data in files.items():
            (place / name).write_bytes(data)
        (place / "runner").chmod(0o755)
        few, many = (counted(place, ("./runner", "weights.bin"), request_bytes(inputs, count),
                             get_target(target).emulator, context) for count in (FEW, MANY))
    each = {key: (many[key] - few[key]) / (MANY - FEW) for key in few}
    report = bundle.bench(f"emulated-{target}", count=1, warmup=0, context=context)
    plain = report.to_json()["instructions"]
    assert plain is not None, f"instructions are not counted on emulated-{target}"
    return Weighed(plain, int(each["vector"]), plain + each["vtype_eighths"] / EIGHTHS,
                   plain + each["widest_eighths"] / EIGHTHS, int(each["unknown"]))


def counted(folder: Path, program: tuple[str, ...], request: bytes, emulator: tuple[str, ...],
            context: Context) -> dict[str, int]:
    """What the plug-in says about one process. Raises BoardError if the program fails."""
    argv = [sys.executable, "-m", "ziglang", "cc", "-O2", "-shared", "-fPIC",
            "-target", f"{platform.machine()}-linux-gnu"]
    plugin = compile_cached(argv, PLUGIN, context.cache_dir / "icount", ".so")
    counts = folder / "counts"
    command = [*emulator, "-plugin", f"{plugin},out={counts}", *program]
    done = subprocess.run(command, input=request, cwd=folder, capture_output=True, timeout=600,
                          env={"PATH": os.environ.get("PATH", os.defpath)})
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise BoardError(f"{emulator[0]} ended with {done.returncode}: {said}",
                         advice="a qemu-user with plug-ins is needed (not qemu-user-static)")
    return {name: int(figure) for name, figure in map(str.split, counts.read_text().splitlines())}


def table(rows: list[dict[str, Any]], target: str) -> None:
    print(f"INT8 on {target} under QEMU; ratios to muRISCV-NN's instructions (limits: "
          f"{LIMITS['instructions']} plain, {LIMITS['by_vtype']} weighted)")
    print(f"{'model':<34}{'instructions':>13}{'by vtype':>13}{'by widest':>13}{'muRISCV-NN':>12}"
          f"{'plain':>8}{'vtype':>8}{'widest':>8}{'MAC/instr':>11}")
    for each in rows:
        ratios = "".join(f"{each['ratios'][key]:>7.3f}{mark(each['ratios'][key], limit)}"
                         for key, limit in LIMITS.items())
        print(f"{each['model']:<34}{each['instructions']:>13,}{each['by_vtype']:>13,.0f}"
              f"{each['by_widest']:>13,.0f}{each['published']:>12,}{ratios}"
              f"{each['macs'] / each['instructions']:>11.2f}")
        if each["unknown"]:
            print(f"  {each['unknown']:,} vector instructions have a vtype that is not known")


def mark(ratio: float, limit: float) -> str:
    return " " if ratio <= limit else "!"


if __name__ == "__main__":
    main()
