"""Every instruction set that QEMU runs: the same bytes, counted step by step, a stack figure."""

import shutil

import pipeline_models
import pytest

import edgecc
from edgecc.errors import BoardError
from edgecc.targets import all_targets, host_cpu

pytestmark = pytest.mark.emulated
SAMPLES = pipeline_models.samples()
# one of each instruction set; test_matrix.py has every target
EVERY_DAY = ("generic-aarch64", "rk3588", "generic-aarch64-i8mm", "armv7-neon",
             "riscv64-generic", "riscv64-generic-v", "spacemit-k1", "x86-64-v3")
EMULATED = [target.name for target in all_targets().values()
            if target.runner == "linux" and target.emulator
            and "zvfh" not in target.features]  # needs a newer QEMU: test_float16_emulated.py


def compiled(target):
    return edgecc.compile(pipeline_models.network(), target=target, name="net",
                          quantization="int8", calibration={"x": SAMPLES})


@pytest.fixture(scope="module")
def answers():
    """What the workstation answers."""
    return compiled("host").run_many([{"x": x[None]} for x in SAMPLES], native=True)


def test_every_day_has_every_instruction_set():
    assert set(EVERY_DAY) <= set(EMULATED)
    features = {frozenset(all_targets()[name].features) for name in EMULATED}
    assert {frozenset(all_targets()[name].features) for name in EVERY_DAY} == features


@pytest.mark.parametrize("name", EVERY_DAY)
def test_a_target(name, answers):
    emulator = all_targets()[name].emulator[0]
    if shutil.which(emulator) is None:
        pytest.skip(f"needs {emulator}")
    bundle = compiled(name)
    report = bundle.bench(f"emulated-{name}").to_json()
    assert (report["golden"], report["timing"]) == ("pass", "emulated")
    assert report["instructions_reason"] is None and report["instructions"] > 1000
    assert all(step["instructions"] for step in report["steps"] if step["kernel"])
    # the run function adds little to what its calls cost
    spent = sum(step["instructions"] or 0 for step in report["steps"])
    assert spent < report["instructions"] < spent + 40 * len(report["steps"]) + 40
    assert 0 < bundle.manifest["stack_bytes"] < 8192
    assert bundle.manifest["runner_bytes"] < 120_000
    found = bundle.run_many([{"x": x[None]} for x in SAMPLES], board=f"emulated-{name}",
                            native=True)
    assert [y["y"].tobytes() for y in found] == [y["y"].tobytes() for y in answers]


@pytest.mark.skipif(host_cpu.architecture() != "x86_64", reason="needs an x86-64 host")
def test_the_host_is_a_board_of_every_x86_target_it_can_be():
    for name in ("x86-64-v3", "x86-64-v4-vnni"):
        bundle, wanted = compiled(name), all_targets()[name].features
        if wanted <= host_cpu.features():
            assert bundle.bench("host", count=5).golden == "pass"
        else:
            with pytest.raises(BoardError, match="the board lacks"):
                bundle.bench("host", count=5)
