"""Multiply-accumulates per instruction or cycle, beside the target's peak."""

import pytest
from memory_programs import image_classification
from report_manifests import bench, manifest

from edgecc.report import html_report, steps_table
from edgecc.report.efficiency import counted, timed
from edgecc.rpc.bench import _step
from edgecc.targets import all_targets, get_target
from edgecc.targets.peaks import FLOAT32, INT8, per_instruction

PI = {"clock_hz": 2_400_000_000,
      "peaks": {"int8": {"macs_per_instruction": 16, "macs_per_cycle": 32.0},
                "float32": {"macs_per_instruction": 4, "macs_per_cycle": None}}}
STEP = {"name": "c", "op": "conv2d", "kernel": "int8_conv2d_4x16__dotprod", "symbol": "s",
        "macs": 4_800, "dtype": "int8", "tile": "4x16", "threads": 1, "why_not_fast": "because"}


def test_by_count_and_by_time():
    rate = counted(STEP, PI, 600)
    assert (rate.unit, rate.macs, rate.of_peak) == ("instruction", 8.0, 0.5)
    rate = timed(STEP, PI, 0.125)  # 300 cycles
    assert (rate.unit, rate.macs, rate.of_peak) == ("cycle", pytest.approx(16), pytest.approx(0.5))
    assert timed(STEP | {"threads": 2}, PI, 0.125).of_peak == pytest.approx(0.25)


@pytest.mark.parametrize("rate", [
    counted(STEP, {}, None), counted(STEP | {"macs": 0}, PI, 600), timed(STEP, {}, 0.1),
    timed(STEP, PI, None), timed(STEP | {"macs": 0}, PI, 1.0)])
def test_what_nothing_is_known_of_has_no_rate(rate):
    assert rate.macs is None and rate.of_peak is None


def test_a_peak_that_is_not_known_leaves_the_rate():
    assert counted(STEP, {"peaks": {}}, 600).macs == 8.0
    floating = timed(STEP | {"dtype": "float32"}, PI, 0.125)
    assert floating.macs == pytest.approx(16) and floating.of_peak is None


def test_a_bench_report_holds_both():
    step = _step(STEP, PI, 0.125, 600)
    assert (step.tile, step.why_not_fast) == ("4x16", "because")
    assert step.macs_per_instruction == 8.0 and step.macs_per_cycle == pytest.approx(16)
    assert step.efficiency == pytest.approx(0.5)
    assert _step(STEP, PI, None, 1200).efficiency == 0.25


def about():
    found = manifest(image_classification())
    found["target_info"] |= PI
    for step in found["steps"]:
        step |= {"dtype": "int8", "tile": "4x16", "estimated_instructions": 1 + step["macs"] // 8,
                 "name": step["name"] + "_with_a_very_long_name_that_goes_on",
                 "macs": step["macs"] * 10_000}
    return found


@pytest.mark.parametrize(("timed_", "head", "legend"), [
    (False, "instr.  share", "rate: MAC per instruction · peak: of the target's 16 for int8"),
    (True, "µs  share", "rate: MAC per cycle · peak: of the target's 32 for int8")])
def test_the_table_shows_rates_in_100_columns(timed_, head, legend):
    found = about()
    text = steps_table(found, bench(found, timed=timed_))
    assert head in text and legend in text and "%" in text.splitlines()[2]
    assert max(map(len, text.splitlines())) <= 100


def test_without_figures_the_estimate_stands_there_and_says_so():
    text = steps_table(about())
    assert "≈instr." in text and "what the kernel's cost model estimates, not a measurement" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_long_table_is_cut():
    text = steps_table(about(), None, 2)
    assert "more steps" in text and len([x for x in text.splitlines() if "make_" in x]) == 2


def test_many_steps_with_one_reason_fit_a_line():
    found = about()
    for step in found["steps"]:
        step["why_not_fast"] = "no fast kernel " * 20
    text = steps_table(found)
    assert "more: no fast" in text and max(map(len, text.splitlines())) <= 100


def test_the_page_has_tile_rate_and_peak():
    found = about()
    page = html_report(found, bench(found))
    assert "<th>tile</th>" in page and "MAC per instruction" in page and "of peak" in page
    assert "the target does 16 for int8 multiply-accumulates per instruction" in page
    assert "instructions (estimated)" in html_report(found)


def test_every_peak_has_a_source_and_every_target_a_peak():
    assert all(peak.source and peak.macs_per_instruction > 0 for peak in INT8 + FLOAT32)
    for target in all_targets().values():
        assert "int8" in per_instruction(target), target.name
        assert ("float32" in per_instruction(target)) != ("soft-float" in target.features) or (
            target.name in ("null", "host"))


@pytest.mark.parametrize(("target", "most"), [
    ("raspberry-pi-5", 16), ("generic-aarch64", 16 / 3), ("cortex-m4f", 2), ("cortex-m55", 16),
    ("cortex-m3", 1), ("cortex-m0plus", 0.5), ("x86-64-v4-vnni", 64), ("spacemit-k1", 64)])
def test_the_best_instruction_counts(target, most):
    assert per_instruction(get_target(target))["int8"].macs_per_instruction == most
