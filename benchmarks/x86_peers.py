"""edgecc beside ONNX Runtime, OpenVINO and LiteRT on this x86-64 machine: wall-clock ratios.

    pip install openvino ai-edge-litert torch
    python benchmarks/x86_peers.py MODELS --threads 1,2 --quantize int8,none

MODELS holds ONNX files (and in ../mlperf_tiny the same as TFLite). The engines take turns within
one process, in short blocks, so that whatever else the machine does meets them all; the figure is
the median over the rounds of (peer's time / edgecc's time) of the same round: above 1, edgecc is
ahead. Absolute times are for orientation only. INT8 peers run the very QDQ model that edgecc
compiled; LiteRT runs the publisher's own. Weights of torch nets are random.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import peers

BLOCK_SECONDS = 0.02
PAUSE_SECONDS = 0.03  # the last engine's idle threads spin for a while before they sleep
TFLITE = {  # by ONNX file's stem: (int8, float32)
    "mlperf_tiny_ad_autoencoder_fp32": "ad_autoencoder",
    "mlperf_tiny_kws_dscnn_fp32": "kws_dscnn",
    "mlperf_tiny_resnet8_cifar10_fp32": "ic_resnet8",
    "mlperf_tiny_vww_mobilenetv1_fp32": "vww_mbv1",
}
SHAPES = {"ppocr_mobile_v2.0_cls": "x=1,3,48,192", "PP-OCRv6_det_small": "x=1,3,320,320"}


def main() -> None:
    args = arguments()
    rows = []
    for threads in map(int, args.threads.split(",")):
        for quantization in args.quantize.split(","):
            group = [row(name, model, quantization, threads, args.rounds)
                     for name, model in models(args)]
            rows += group
            table(group, quantization, threads)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL",
                        help="ONNX files, and torch nets: mobilenet_v2, resnet18, resnet50")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--quantize", default="int8,none")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def models(args: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    for path in args.models:
        if path.suffix == ".onnx":
            yield path.stem, path
        else:
            import nets

            yield path.name, nets.onnx_of(path.name)


def row(name: str, model: Any, quantization: str, threads: int, rounds: int) -> dict[str, Any]:
    bundle, inputs = compiled(name, model, quantization, threads)
    manifest = bundle.manifest
    data = bundle.files[manifest["model"]["file"]]
    tflite = tflite_of(model, quantization) if isinstance(model, Path) else None
    calls = {"edgecc": peers.edgecc(bundle), **peers.others(data, inputs, tflite, threads)}
    absent = {who: call for who, call in calls.items() if isinstance(call, str)}
    times = interleaved({who: c for who, c in calls.items() if who not in absent}, rounds)
    ours = times.pop("edgecc")
    ratios = {who: statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
              for who, theirs in times.items()}
    return {"model": name, "quantization": quantization, "threads": threads,
            "edgecc_us": statistics.median(ours) * 1e6, "ratios": ratios, "absent": absent}


def compiled(name: str, model: Any, quantization: str, threads: int) -> tuple[Any, dict[str, Any]]:
    import edgecc

    shapes = dict([read_shape(SHAPES[name])]) if name in SHAPES else {}
    samples = calibration(model, shapes) if quantization == "int8" else None
    bundle = edgecc.compile(model, target="host", quantization=quantization, threads=threads,
                            calibration=samples, shapes=shapes)
    return bundle, first_inputs(bundle)


def read_shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, dims = text.partition("=")
    return name, tuple(map(int, dims.split(",")))


def calibration(model: Any, shapes: Any) -> list[dict[str, Any]]:
    from edgecc.model import load

    loaded = load(model, shapes=shapes)
    draw = np.random.default_rng(0)
    return [{value.name: draw.standard_normal(value.shape.numpy(), np.float32)
             for value in loaded.graph.inputs} for _ in range(4)]


def first_inputs(bundle: Any) -> dict[str, Any]:
    from edgecc.bundle import ports

    given, _ = next(iter(bundle.vectors()))
    return {port["name"]: ports.to_model(port, given[port["name"]]).astype(port["model_dtype"])
            for port in bundle.manifest["inputs"]}


def tflite_of(model: Path, quantization: str) -> Path | None:
    known = TFLITE.get(model.stem)
    suffix = "int8" if quantization == "int8" else "fp32"
    return model.parent.parent / "mlperf_tiny" / f"{known}_{suffix}.tflite" if known else None


def interleaved(calls: dict[str, peers.Call], rounds: int) -> dict[str, list[float]]:
    """Seconds a call, per engine and round."""
    counts = {who: block(call) for who, call in calls.items()}
    found: dict[str, list[float]] = {who: [] for who in calls}
    order = list(calls)
    for i in range(rounds):
        for who in order[i % len(order):] + order[:i % len(order)]:
            found[who].append(timed(calls[who], counts[who]))
    return found


def block(call: peers.Call) -> int:
    """Calls that take about BLOCK_SECONDS, after warming up."""
    timed(call, 3)
    return max(1, round(BLOCK_SECONDS / timed(call, 3)))


def timed(call: peers.Call, count: int) -> float:
    time.sleep(PAUSE_SECONDS)
    call()  # wakes the engine's own threads
    started = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - started) / count


def table(rows: list[dict[str, Any]], quantization: str, threads: int) -> None:
    engines = list(dict.fromkeys(who for found in rows for who in found["ratios"]))
    print(f"\n{quantization}, {threads} thread{'s' * (threads > 1)}: peer's time / edgecc's"
          f" · load average {os.getloadavg()[0]:.1f}")
    print(f"{'model':36}{'edgecc us':>11}" + "".join(f"{who:>14}" for who in engines)
          + f"{'best peer':>14}")
    for found in rows:
        ratios = found["ratios"]
        cells = "".join(f"{ratios[who]:>13.2f}x" if who in ratios else f"{'-':>14}"
                        for who in engines)
        print(f"{found['model'][:35]:36}{found['edgecc_us']:>11.1f}{cells}"
              f"{min(ratios.values()):>13.2f}x")
    best = [min(found["ratios"].values()) for found in rows]
    print(f"{'geometric mean':36}{'':>{11 + 14 * len(engines)}}"
          f"{math.exp(statistics.fmean(map(math.log, best))):>13.2f}x", flush=True)
    for found in rows:
        for who, why in found["absent"].items():
            print(f"{found['model']}: no {who}: {why}")


if __name__ == "__main__":
    main()
