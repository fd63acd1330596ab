"""Manifests and bench reports for report tests, made from planned programs."""

from __future__ import annotations

from dataclasses import asdict

from memory_programs import visual_wake_words

from edgecc.memory import plan
from edgecc.schedule.program import Program
from edgecc.targets import get_target


def manifest(program: Program | None = None, **changes) -> dict:
    program = program or visual_wake_words()
    found = plan([program], get_target("null"))
    steps = [{"name": s.name, "op": "conv2d", "kernel": "int8_conv2d_4x16__dotprod",
              "macs": s.macs * 27, "layout": "NHWC", "why_not_fast": None}
             for s in program.entry().steps]
    steps[-1] |= {"op": "softmax", "kernel": "int8_softmax_1__generic", "macs": 0,
                  "why_not_fast": "no fast int8 softmax kernel for this target"}
    port = {"dtype": "int8", "layout": "NHWC", "scale": 0.0039, "zero_point": -128}
    return {
        "name": program.name, "target": "raspberry-pi-5", "abi_version": "1.0",
        "model": {"name": f"{program.name}.onnx", "sha256": "0" * 64},
        "target_info": {"description": "Raspberry Pi 5 (BCM2712, 4 x Cortex-A76)"},
        "arena_bytes": found.arena_bytes, "arena_lower_bound_bytes": found.lower_bound_bytes,
        "stack_bytes": 1152, "flash_bytes": 131_000, "weights_bytes": 92_000,
        "memory": {"activation_bytes": found.activation_bytes, "method": found.method,
                   "scratch_bytes": found.scratch_bytes, "peak_step": found.peak_step,
                   "placements": [asdict(p) for p in found.placements]},
        "inputs": [{"name": "image", "shape": [1, 96, 96, 3], **port}],
        "outputs": [{"name": "person", "shape": [1, 2], **port}],
        "steps": steps, "layout_conversions": 0, "tools": {"edgecc": "0.1.0"},
        "config": {"quantization": "int8", "threads": 1}, "seeds": {"seed": 0},
        "quantization": {"output_sqnr_db": 31.24, "observer": "minmax", "samples": 64,
                         "worst": ["conv_12", 19.81]},
        **changes,
    }


def bench(about: dict, timed: bool = False) -> dict:
    counts = [1000 + step["macs"] // 9 for step in about["steps"]]
    times = {"p50_us": 412.37, "p90_us": 418.9, "p99_us": 441.2, "min_us": 409.8, "mad_us": 2.1,
             "spread": 0.021, "outliers": 1, "warm_up": 3, "count": 97, "governor": "performance",
             "peak_rss_bytes": 1_310_720, "temperature_celsius": 51.2, "verdict": "stable"}
    untimed = {"p50_us": None, "p90_us": None, "p99_us": None, "peak_rss_bytes": None,
               "verdict": "emulated: no latency is claimed"}
    steps = [{"name": s["name"], "us": c / 2400 if timed else None,
              "instructions": None if timed else c}
             for s, c in zip(about["steps"], counts, strict=True)]
    return {"board": "pi5" if timed else "emulated-raspberry-pi-5", "golden": "pass",
            "timing": "measured" if timed else "emulated", "steps": steps,
            "instructions": None if timed else sum(counts), **(times if timed else untimed)}


def quant_report(about: dict) -> dict:
    rows = [{"name": s["name"], "scale": 0.0235 / (n + 1), "zero_point": n - 14,
             "sqnr_db": 41.0 - n / 2} for n, s in enumerate(about["steps"])]
    return {"rows": rows, "weights": [], "output_sqnr_db": 31.24, "worst": ["conv_12", 19.81],
            "observer": "minmax", "samples": 64, "int8_macs_fraction": 1.0,
            "left_in_float": [{"node": "head", "op": "Softmax", "reason": "kept by request"}]}
