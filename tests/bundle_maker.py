"""A small synthetic bundle for tests: right in every figure, with bytes that run nowhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgecc.bundle import Bundle
from edgecc.bundle.schema import VERSIONS


def port(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name, "shape": [1, 2, 2, 3], "dtype": "int8", "layout": "NHWC", "bytes": 12,
        "scale": 0.5, "zero_point": 3, "model_shape": [1, 3, 2, 2], "model_dtype": "float32",
        "permutation": [0, 2, 3, 1], "arena_offset_bytes": 0, **changes,
    }


def flat_port(name: str) -> dict[str, Any]:
    return port(name, shape=[1, 4], bytes=4, model_shape=[1, 4], permutation=None, layout="flat",
                scale=0.25, zero_point=-1)


def manifest(**changes: Any) -> dict[str, Any]:
    return {
        **VERSIONS,
        "name": "tiny",
        "model": {"name": "tiny.onnx", "sha256": "0" * 64, "file": None},
        "target": "host",
        "target_info": {"description": "a test", "triple": "x86_64-linux-gnu", "cpu": "x86-64",
                        "architecture": "x86_64", "features": [], "runner": "linux",
                        "libc": "musl", "toolchain": ["zig", "cc"]},
        "tools": {"edgecc": "0.1.0"}, "config": {},
        "arena_bytes": 64, "arena_lower_bound_bytes": 48, "stack_bytes": None,
        "flash_bytes": 108, "weights_bytes": 8, "code_bytes": 100, "runner_bytes": 6, "macs": 48,
        "memory": {"activation_bytes": 32, "scratch_bytes": 16, "peak_step": "fc",
                   "method": "by size", "align_bytes": 16,
                   "regions": [{"name": "ram", "size_bytes": 1024, "used_bytes": 72,
                                "holds": ["arena", "weights"]}],
                   "placements": [{"name": "x", "region": "ram", "offset_bytes": 0,
                                   "size_bytes": 12, "first": 0, "last": 1}]},
        "inputs": [port("x")], "outputs": [flat_port("y")],
        "steps": [{"name": "fc", "op": "fully_connected", "kernel": "int8_fc__generic",
                   "symbol": "tiny_fc", "macs": 48, "layout": "flat", "why_not_fast": None,
                   "scratch_bytes": 16, "weights_bytes": 8, "inputs": ["x"], "outputs": ["y"],
                   "nodes": ["Gemm_0"]}],
        "layout_conversions": 0, "quantization": None, "seeds": {"seed": 0},
        "vectors": {"count": 1, "calibration": 0, "random": 1},
        **changes,
    }


def files(**changes: bytes) -> dict[str, bytes]:
    return {
        "runner/runner": b"\x7fELF..", "weights.bin": bytes(range(8)),
        "vectors/0/input_0.bin": np.arange(12, dtype=np.int8).tobytes(),
        "vectors/0/output_0.bin": np.arange(4, dtype=np.int8).tobytes(),
        **changes,
    }


def bundle(**changes: Any) -> Bundle:
    """A bundle that reads back; `changes` replace fields of its manifest."""
    return Bundle.of(manifest(**changes), files())
