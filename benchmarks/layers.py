"""Whole layers beside the tiles that they are made of: MAC per executed instruction, layer x ISA.

    python benchmarks/layers.py [--isa dotprod,neon] [--json FILE]

Every layer is an INT8 convolution with its requantization and ReLU, padded where the kernel is
larger than 1x1. MAC counts the products with a value of the image: what a kernel multiplies in the
padding is work that yields nothing, and no kernel gains by leaving it out. The instructions are
those of one steady inference, counted under QEMU, or for VNNI by executing them one at a time on
this machine: exact and repeatable. `share` is the layer's MAC per instruction over that of the
tile which `ISAS` names, counted in its inner loop's machine code: what the layer keeps of it after
loading, padding, edges and requantization. Above 100 % today's tile is better than the one named.
Depthwise layers stand beside other libraries: `peer` is the MAC per instruction of the best one
counted on that instruction set (depthwise_published.json), `times` how many times that a layer
reaches. Twice is wanted; where `ISAS` has a smaller limit, that is what they are held to so far.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import stepped
from onnx import TensorProto, helper, numpy_helper

from edgecc import pipeline
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.targets import get_target

KEPT = 0.85  # of a tile's MAC per instruction, by whole layers
WANTED = 2.0  # times the best peer, by depthwise layers
PEERS = json.loads(
    Path(__file__).with_name("depthwise_published.json").read_text())["instructions"]


@dataclass(frozen=True)
class Layer:
    """A square convolution, stride 1, of `size` x `size` positions."""

    name: str
    size: int
    channels: int
    outputs: int
    kernel: int
    groups: int = 1

    @property
    def macs(self) -> int:
        """Products with a value of the image, none with the padding."""
        pad = self.kernel // 2
        taps = sum(0 <= at + tap - pad < self.size
                   for at in range(self.size) for tap in range(self.kernel))
        return taps**2 * self.channels // self.groups * self.outputs


@dataclass(frozen=True)
class Tile:
    """Where an instruction set is counted, and what its tiles reach: MAC per instruction of the
    inner loop and the smallest for depthwise layers (None: twice the best peer's, if one was
    counted). `source` says whose."""

    target: str
    macs_per_instruction: float
    depthwise: float | None
    source: str


LAYERS = (
    Layer("conv 3x3 64-64", 16, 64, 64, 3),
    Layer("conv 3x3 128-128", 8, 128, 128, 3),
    Layer("pointwise 256-256", 8, 256, 256, 1),
    Layer("pointwise 512-256", 7, 512, 256, 1),
    Layer("depthwise 3x3 64", 24, 64, 64, 3, groups=64),
    Layer("depthwise 3x3 256", 12, 256, 256, 3, groups=256),
)
ISAS = {
    "dotprod": Tile("raspberry-pi-5", 13.5, 2.2, "4x16 tile in LLVM's code, TIR micro-kernel; "
                    "depthwise: less than twice ONNX Runtime's 1.3 and 1.5"),
    "i8mm": Tile("generic-aarch64-i8mm", 19.8, 2.2, "6x16 tile in LLVM's code, TIR micro-kernel; "
                 "depthwise: as dotprod"),
    "neon": Tile("raspberry-pi-3", 4.38, 2.56, "4x4 tile in LLVM's code, TIR micro-kernel; "
                 "depthwise: twice LiteRT's 1.28 (XNNPACK, these layers)"),
    "rvv256": Tile("spacemit-k1", 11.05, None, "7x32 tile in LLVM's code, TIR micro-kernel"),
    "rvv128": Tile("riscv64-generic-v", 5.6, 2.2, "tile of 16 columns in LLVM's code, TIR "
                   "micro-kernel; depthwise: twice muRISCV-NN's 1.1 on 256 bits"),
    "vnni": Tile("x86-64-v4-vnni", 40.2, None, "4x64 tile in LLVM's code, TIR micro-kernel"),
    "avxvnni": Tile("x86-64-v3-vnni", 18.3, None, "3x32 tile in LLVM's code, TIR micro-kernel"),
    "dsp": Tile("cortex-m4f", 0.82, 0.26, "2x3 tile on int16 activations in LLVM's code, TIR "
                "micro-kernel; the assembly's tile is 3x2; depthwise: twice CMSIS-NN's 0.13 (its "
                "3x3 function by GCC at -O2)"),
    "mve": Tile("cortex-m55", 7.10, None, "2x3 tile in LLVM's code, TIR micro-kernel"),
}


def model(layers: tuple[Layer, ...] = LAYERS) -> Any:
    """An ONNX model of all layers side by side, each with an input and an output of its own."""
    generator = np.random.default_rng(0)
    nodes, weights, inputs, outputs = [], [], [], []
    for i, layer in enumerate(layers):
        shape = (layer.outputs, layer.channels // layer.groups, layer.kernel, layer.kernel)
        values = generator.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape).astype(np.float32)
        weights.append(numpy_helper.from_array(values, f"w{i}"))
        pads = [layer.kernel // 2] * 4
        nodes += [helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"c{i}"], pads=pads,
                                   group=layer.groups, name=f"layer_{i}"),
                  helper.make_node("Relu", [f"c{i}"], [f"y{i}"])]
        square = [layer.size, layer.size]
        inputs.append(helper.make_tensor_value_info(
            f"x{i}", TensorProto.FLOAT, [1, layer.channels, *square]))
        outputs.append(helper.make_tensor_value_info(
            f"y{i}", TensorProto.FLOAT, [1, layer.outputs, *square]))
    graph = helper.make_graph(nodes, "layers", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def measured(isa: str, layers: tuple[Layer, ...] = LAYERS) -> list[dict[str, Any]]:
    """One row for each layer on one instruction set."""
    tile, generator, context = ISAS[isa], np.random.default_rng(1), Context()
    samples = [{f"x{i}": generator.standard_normal(
        (1, layer.channels, layer.size, layer.size)).astype(np.float32)
        for i, layer in enumerate(layers)} for _ in range(4)]
    config = CompileConfig(target=tile.target, quantization="int8")
    bundle = pipeline.compile(model(layers), config=config, calibration=samples, context=context)
    counts = instructions(bundle, tile.target, context)
    convolutions = [step for step in bundle.manifest["steps"] if step["macs"]]
    return [row(isa, layer, step, counts[step["symbol"]])
            for layer, step in zip(layers, convolutions, strict=True)]


def instructions(bundle: Any, target: str, context: Context) -> dict[str, int]:
    """Of one inference, by kernel: under QEMU, or step by step where QEMU cannot run the code."""
    if not get_target(target).emulator:
        return stepped.counts(bundle)
    report = bundle.bench(f"emulated-{target}", count=1, warmup=0, context=context).to_json()
    counts = {step["name"]: step["instructions"] for step in report["steps"]}
    return {step["symbol"]: counts[step["name"]] for step in bundle.manifest["steps"]}


def why_not(isa: str) -> str | None:
    """Why an instruction set cannot be counted here, or None."""
    target = ISAS[isa].target
    return None if get_target(target).emulator else stepped.why_not(target)


def row(isa: str, layer: Layer, step: dict[str, Any], instructions: int) -> dict[str, Any]:
    tile, reached = ISAS[isa], layer.macs / instructions
    depthwise = layer.groups > 1
    peer = layer.macs / min(counts) if (counts := counted(isa, layer)) else None
    limit = KEPT * tile.macs_per_instruction
    if depthwise:
        limit = tile.depthwise or (peer and WANTED * peer)
    return {"isa": isa, "layer": layer.name, "kernel": step["kernel"], "macs": layer.macs,
            "instructions": instructions, "macs_per_instruction": reached, "limit": limit,
            "share": None if depthwise else reached / tile.macs_per_instruction,
            "peer": peer, "times": reached / peer if peer else None,
            "reached": limit is None or reached >= limit}


def counted(isa: str, layer: Layer) -> list[int]:
    """Instructions of the layer by the libraries that were counted."""
    peers = PEERS.get(isa, {}).values()
    return [counts[layer.name] for counts in peers if layer.name in counts]


def table(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'isa':9} {'layer':18} {'kernel':36} {'MAC':>10} {'instr.':>9} {'MAC/instr':>9} "
             f"{'limit':>6} {'share':>6} {'peer':>5} {'times':>5}"]
    for found in rows:
        share = f"{found['share']:.0%}" if found["share"] else "-"
        limit, peer, times = (f"{found[name]:.2f}" if found[name] else "-"
                              for name in ("limit", "peer", "times"))
        lines.append(f"{found['isa']:9} {found['layer']:18} {found['kernel']:36} "
                     f"{found['macs']:10,} {found['instructions']:9,} "
                     f"{found['macs_per_instruction']:9.2f} {limit:>6} {share:>6} "
                     f"{peer:>5} {times:>5}"
                     + ("" if found["reached"] else "  below"))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", default=",".join(ISAS), help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    rows, reasons = [], {isa: why_not(isa) for isa in args.isa.split(",")}
    for isa in [isa for isa, reason in reasons.items() if not reason]:
        try:
            rows += measured(isa)
        except stepped.NotTraced as error:
            reasons[isa] = str(error)
    print(table(rows))
    for isa, reason in reasons.items():
        if reason:
            print(f"{isa:9} not counted: {reason}")
    if args.json:
        tiles = {isa: asdict(tile) for isa, tile in ISAS.items()}
        args.json.write_text(json.dumps({"tiles": tiles, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
