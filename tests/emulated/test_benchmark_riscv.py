"""Instructions weighed by register groups: the plug-in against code whose figures are known."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from shared_data import shared

from edgecc.context import Context
from edgecc.errors import BoardError
from edgecc.targets import get_target

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import riscv  # noqa: E402

pytestmark = pytest.mark.emulated
CODE = [  # (assembly, registers by the vtype in force, registers of the widest operand)
    ("li t1, 32", 1, 1),
    ("vsetvli x0, t1, e16, m2, ta, ma", 1, 1),
    ("vle8.v v8, (t0)", 2, 1),
    ("vsext.vf2 v10, v8", 2, 2),
    ("vwmul.vx v4, v10, t1", 2, 4),
    ("vwmacc.vx v4, t1, v10", 2, 4),
    ("vnsrl.wi v10, v4, 3", 2, 4),
    ("vwadd.wv v4, v4, v10", 2, 4),
    ("vadd.vv v10, v10, v10", 2, 2),
    ("vmv.x.s t2, v4", 2, 1),
    ("vmseq.vv v0, v10, v10", 2, 2),
    ("vse16.v v10, (t0)", 2, 2),
    ("vlseg2e8.v v8, (t0)", 2, 2),
    ("vluxei32.v v10, (t0), v16", 2, 4),
    ("vl4re8.v v4, (t0)", 4, 4),
    ("vmv2r.v v10, v12", 2, 2),
    ("vsetivli x0, 8, e32, m8, ta, ma", 1, 1),
    ("vfadd.vv v8, v8, v8", 8, 8),
    ("vsetvli x0, t1, e8, mf2, ta, ma", 1, 1),
    ("vwmul.vx v4, v10, t1", 1, 1),
    ("vsetvli x0, t1, e16, m1, ta, ma", 1, 1),
    ("vfwcvt.f.x.v v4, v10", 1, 2),
    ("vwredsum.vs v4, v10, v11", 1, 1),
]


def counts(tmp_path, lines):
    """Runs the lines on 64 zero bytes and leaves; the plug-in's figures."""
    body = "\n".join([".globl _start", "_start:", "la t0, room", *lines, "li a0, 0", "li a7, 93",
                      "ecall", ".bss", ".balign 64", "room: .zero 256", ""])
    (tmp_path / "code.s").write_text(body)
    subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", "riscv64-linux-musl",
                    "-mcpu=baseline_rv64+v", "-nostdlib", "-static", "code.s", "-o", "code"],
                   cwd=tmp_path, check=True, capture_output=True)
    return riscv.counted(tmp_path, ("./code",), b"", get_target("spacemit-k1").emulator,
                         Context(cache_dir=tmp_path / "cache"))


def test_every_instruction_has_its_registers(tmp_path):
    nothing, found = counts(tmp_path, []), counts(tmp_path, [line for line, _, _ in CODE])
    assert found["total"] - nothing["total"] == len(CODE) and not found["unknown"]
    assert found["vector"] == sum(not line.startswith(("li", "vset")) for line, _, _ in CODE)
    assert found["vtype_eighths"] == 8 * sum(registers - 1 for _, registers, _ in CODE)
    assert found["widest_eighths"] == 8 * sum(registers - 1 for _, _, registers in CODE)


def test_a_type_from_a_register_is_not_guessed(tmp_path):
    lines = ["li t1, 8", "li t2, 0xc9", "vsetvl x0, t1, t2", "vadd.vv v8, v8, v8"]
    found = counts(tmp_path, lines)
    assert (found["vector"], found["unknown"], found["vtype_eighths"]) == (1, 1, 0)


def test_a_program_that_fails_has_no_figures(tmp_path):
    with pytest.raises(BoardError, match="qemu-riscv64 ended with"):
        counts(tmp_path, ["lw t1, 0(x0)"])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ad_autoencoder", "kws_dscnn"])
def test_models_stay_within_the_limits(model):
    args = argparse.Namespace(models=shared("models/onnx_fp32"), target="spacemit-k1")
    row = riscv.row(f"mlperf_tiny_{model}_fp32", args)
    assert row["instructions"] < row["by_vtype"] and not row["unknown"]
    assert all(row["ratios"][key] <= limit for key, limit in riscv.LIMITS.items()), row["ratios"]
