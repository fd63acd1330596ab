"""Instructions of INT8 MLPerf Tiny models on 64-bit Arm beside LiteRT's, counted under QEMU.

    python benchmarks/mlperf_tiny.py MODELS [--isa dotprod,neon]

MODELS holds the networks as float32 ONNX; they are quantized here, from seeded random samples,
which changes neither shapes nor kernels. Inputs and outputs are int8, there is one thread, and
the figure is one steady inference as `edgecc bench` counts it: exact and repeatable. LiteRT's
figures are data (mlperf_tiny_published.json) and include a Python call.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from edgecc import pipeline
from edgecc.cli.matrix import random_samples
from edgecc.config import CompileConfig
from edgecc.context import Context

PUBLISHED = json.loads(
    Path(__file__).with_name("mlperf_tiny_published.json").read_text())["instructions"]
SHORT = {"ad": "mlperf_tiny_ad_autoencoder_fp32", "kws": "mlperf_tiny_kws_dscnn_fp32",
         "ic": "mlperf_tiny_resnet8_cifar10_fp32", "vww": "mlperf_tiny_vww_mobilenetv1_fp32"}
TARGETS = {"dotprod": "raspberry-pi-5", "i8mm": "generic-aarch64-i8mm", "neon": "raspberry-pi-3"}
LIMITS = {  # largest share of LiteRT's count
    "dotprod": {"ad": 0.8, "kws": 0.5, "ic": 0.7, "vww": 0.5},
    "i8mm": dict.fromkeys(SHORT, 0.7),
    "neon": dict.fromkeys(SHORT, 0.75),
}


def measured(isa: str, name: str, models: Path) -> dict[str, Any]:
    path, context = models / f"{SHORT[name]}.onnx", Context()
    config = CompileConfig(target=TARGETS[isa], quantization="int8")
    samples = random_samples(str(path), config, 0)
    bundle = pipeline.compile(path, config=config, calibration=samples, context=context)
    board = f"emulated-{TARGETS[isa]}"
    report = bundle.bench(board, count=1, warmup=0, context=context).to_json()
    theirs = PUBLISHED[isa][SHORT[name]]
    return {"isa": isa, "target": TARGETS[isa], "model": name, "golden": report["golden"],
            "instructions": report["instructions"], "litert": theirs,
            "ratio": report["instructions"] / theirs, "limit": LIMITS[isa][name]}


def line(found: dict[str, Any]) -> str:
    return (f"{found['isa']:8} {found['model']:5} {found['golden']:6} "
            f"{found['instructions']:12,} {found['litert']:12,} {found['ratio']:6.2f} "
            f"{found['limit']:6.2f}" + ("" if found["ratio"] <= found["limit"] else "  above"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, help="folder of the networks in ONNX")
    parser.add_argument("--isa", default=",".join(TARGETS), help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    rows = []
    print(f"{'isa':8} {'model':5} {'golden':6} {'instructions':>12} {'LiteRT':>12} {'ratio':>6} "
          f"{'limit':>6}")
    for isa in args.isa.split(","):
        for name in SHORT:
            rows.append(measured(isa, name, args.models))
            print(line(rows[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
