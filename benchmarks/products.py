"""Matrix products beside what they would otherwise be: instructions of one inference, exact.

    python benchmarks/products.py [--isa dotprod,dsp] [--json FILE]

First INT8 products of two computed matrices, in the tile that is chosen and in plain code that
reads the right operand where it lies (`turned`: transposed before, as in attention). Then
products with 4-bit weights beside the same in float32, with the bytes of the weights of both; the
kernels named `rounded` round activations to int8.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import layers
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from edgecc import pipeline
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.targets import get_target

PLAIN = "int8_matmul_4x8__generic"
ISAS = ("dotprod", "i8mm", "neon", "rvv256", "rvv128", "dsp", "mve")


@dataclass(frozen=True)
class Product:
    """(m, k) times (k, n); the right operand lies as (n, k) if it is `turned`."""

    m: int
    k: int
    n: int
    turned: bool = False

    @property
    def name(self) -> str:
        return f"{self.m}x{self.k}x{self.n}" + (" turned" if self.turned else "")

    @property
    def macs(self) -> int:
        return self.m * self.k * self.n


COMPUTED = (Product(64, 64, 64), Product(64, 64, 64, True), Product(128, 64, 128, True),
            Product(61, 33, 67))
WEIGHTED = (Product(1, 512, 512), Product(16, 256, 256))


def _graph(nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: list[Any]) -> Any:
    graph = helper.make_graph(nodes, "products", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _port(name: str, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def computed(products: tuple[Product, ...]) -> tuple[Any, list[dict[str, np.ndarray]]]:
    """A model of products of two inputs side by side, and samples for it."""
    nodes, inputs, outputs = [], [], []
    for i, p in enumerate(products):
        right = (p.n, p.k) if p.turned else (p.k, p.n)
        inputs += [_port(f"a{i}", p.m, p.k), _port(f"b{i}", *right)]
        outputs.append(_port(f"y{i}", p.m, p.n))
        b = f"t{i}" if p.turned else f"b{i}"
        nodes += [helper.make_node("Transpose", [f"b{i}"], [b], name=f"turn_{i}")] * p.turned
        nodes.append(helper.make_node("MatMul", [f"a{i}", b], [f"y{i}"], name=f"product_{i}"))
    rng = np.random.default_rng(1)
    samples = [{port.name: rng.standard_normal(
        [d.dim_value for d in port.type.tensor_type.shape.dim]).astype(np.float32)
        for port in inputs} for _ in range(4)]
    return _graph(nodes, inputs, outputs, []), samples


def weighted(products: tuple[Product, ...]) -> Any:
    """A model of products with constant weights side by side."""
    rng, nodes, constants = np.random.default_rng(0), [], []
    for i, p in enumerate(products):
        values = rng.normal(0, p.k ** -0.5, (p.k, p.n)).astype(np.float32)
        constants.append(numpy_helper.from_array(values, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [f"a{i}", f"w{i}"], [f"y{i}"],
                                      name=f"product_{i}"))
    return _graph(nodes, [_port(f"a{i}", p.m, p.k) for i, p in enumerate(products)],
                  [_port(f"y{i}", p.m, p.n) for i, p in enumerate(products)], constants)


def counted(isa: str, model: Any, samples: Any, **config: Any) -> tuple[list[Any], int]:
    """(kernel, instructions) of every product, and the bytes of all weights."""
    target, context = layers.ISAS[isa].target, Context()
    bundle = pipeline.compile(model, config=CompileConfig(target=target, **config),
                              calibration=samples, context=context)
    counts = layers.instructions(bundle, target, context)
    steps = [step for step in bundle.manifest["steps"] if step["macs"]]
    return [(s["kernel"], counts[s["symbol"]]) for s in steps], bundle.manifest["weights_bytes"]


def measured(isa: str, products: tuple[Product, ...] = COMPUTED) -> list[dict[str, Any]]:
    """INT8 products of two computed matrices: one row each."""
    model, samples = computed(products)
    plain = {f"product_{i}": PLAIN for i in range(len(products))}
    before, _ = counted(isa, model, samples, quantization="int8", tiles=plain)
    after, _ = counted(isa, model, samples, quantization="int8")
    return [row(isa, *found) for found in zip(products, before, after, strict=True)]


def in_four_bits(isa: str, products: tuple[Product, ...] = WEIGHTED) -> list[dict[str, Any]]:
    """float32 and 4-bit weights, activations as they are and rounded: one row each, with the
    weights of all of them."""
    model, rows = weighted(products), []
    before, float_bytes = counted(isa, model, None)
    for activations in ("float32", "int8"):
        after, bytes_ = counted(isa, model, None, quantization="int4",
                                int4_activations=activations)
        rows += [row(isa, *found) | {"float_bytes": float_bytes, "int4_bytes": bytes_}
                 for found in zip(products, before, after, strict=True)]
    return rows


def row(isa: str, product: Product, before: Any, after: Any) -> dict[str, Any]:
    return {"isa": isa, "product": product.name, "kernel": after[0], "before": before[1],
            "instructions": after[1], "ratio": after[1] / before[1],
            "macs_per_instruction": product.macs / after[1]}


def table(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'isa':9} {'product':18} {'kernel':40} {'before':>10} {'instr.':>9} {'ratio':>6} "
             f"{'MAC/instr':>9} {'weights B':>18}"]
    for r in rows:
        sizes = f"{r['float_bytes']:,}: {r['int4_bytes']:,}" if "int4_bytes" in r else "-"
        lines.append(f"{r['isa']:9} {r['product']:18} {r['kernel']:40} {r['before']:10,} "
                     f"{r['instructions']:9,} {r['ratio']:6.2f} {r['macs_per_instruction']:9.2f} "
                     f"{sizes:>18}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", default=",".join(ISAS), help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    chosen = [isa for isa in args.isa.split(",") if get_target(layers.ISAS[isa].target).emulator]
    rows = [found for isa in chosen for found in measured(isa)]
    weights = [found for isa in chosen for found in in_four_bits(isa)]
    print(table(rows) + "\n\n" + table(weights))
    if args.json:
        args.json.write_text(json.dumps({"computed": rows, "weights": weights}, indent=1) + "\n")


if __name__ == "__main__":
    main()
