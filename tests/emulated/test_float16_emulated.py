"""float16 under QEMU: converted by instructions or in integers, computed in float32 or, where a
core has such vectors, in float16."""

import sys
from dataclasses import replace
from pathlib import Path

import kernel_problems as problems
import numpy as np
import pipeline_models
import pytest
from bare_metal import run_bare_metal
from halved import UNIT, half_model, half_problems
from kernel_checks import EMULATED, cases, check, compare, named
from kernel_harness import run_cases

import edgecc
from edgecc.kernels import convert
from edgecc.kernels.reference import reference
from edgecc.tolerance import COMPUTED, STORED

sys.path.insert(0, str(Path(__file__).parents[1] / "host"))
from test_float16_kernels import (  # noqa: E402
    ELEMENTS,
    WEIGHTED,
    elements,
    every_half,
    near_halves,
    weighted,
)

pytestmark = pytest.mark.emulated
IN_HALF = ("raspberry-pi-5",)


@pytest.mark.slow
@pytest.mark.parametrize("target", EMULATED)
def test_stored_halves_equal_their_reference(target):
    made = cases([*list(elements())[::7], *weighted(6)], target, [*ELEMENTS, *WEIGHTED])
    made = [case for case in made if not case.record.half]
    for case, (found,) in zip(made, run_cases(made, named(target)), strict=True):
        compare(found, reference(case.spec, case.inputs, case.constants)[0], UNIT,
                f"{case.record.name} {case.spec.text()}")


@pytest.mark.parametrize("target", EMULATED)
def test_every_half_is_converted_exactly(target):
    ups = convert.Convert("float16", "float32", 1 << 16), [every_half()], {}
    near = near_halves()
    downs = convert.Convert("float32", "float16", near.size), [near], {}
    for case in (made := cases([ups, downs], target, [convert])):
        case.constants = {}
    for case, (found,) in zip(made, run_cases(made, named(target)), strict=True):
        np.testing.assert_array_equal(found, reference(case.spec, case.inputs, {})[0])


def unlimited():
    """Layers whose limits cut off little: errors are measured by what is summed."""
    long = [replace(s, dtype="float32") for s in (
        problems._conv(h=4, w=9, c=64, k=24, pads=(1, 1, 1, 1), clamp=True),
        problems._conv(h=3, w=11, c=100, k=40, kh=1, kw=1, residual=True))]
    for spec, inputs, constants in (
            *weighted(), *half_problems(problems.convolution(long, seed=3))):
        yield spec, inputs, {**constants, "lo": -150.0, "hi": 400.0}


@pytest.mark.parametrize("target", IN_HALF)
def test_kernels_that_add_in_float16_stay_within_a_few_units(target):
    made = [case for case in cases(list(unlimited()), target, WEIGHTED) if case.record.half]
    assert len(made) > 40
    for case, (found,) in zip(made, run_cases(made, named(target)), strict=True):
        wanted = reference(case.spec, case.inputs, case.constants)[0]
        assert np.isfinite(found).all()
        compare(found, wanted, 4 * UNIT, f"{case.record.name} {case.spec.text()}")


@pytest.mark.parametrize("target", IN_HALF)
def test_no_sum_of_halves_is_infinite_that_is_not_in_the_end(target):
    """Products that come to more than float16 holds before others take them back."""
    spec = problems._conv(dtype="float16", h=1, w=9, c=48, k=16, kh=1, kw=1)
    signs = np.where(np.arange(48) < 24, 1, -1)
    x = np.full((1, 1, 9, 48), 60000, np.float16)
    weights = np.broadcast_to(signs, (16, 1, 1, 48)).astype(np.float16)
    constants = {"weights": weights, "bias": np.ones(16, np.float32), "lo": 0.0, "hi": 0.0}
    made = [c for c in cases([(spec, [x], constants)], target, WEIGHTED) if c.record.half]
    for (found,) in run_cases(made, named(target)):
        assert np.isfinite(found).all() and np.abs(found.astype(np.float64)).max() < 24 * 60000


@pytest.mark.parametrize("name", ["cortex-m4f", "cortex-m55", "rv32imafc"])
def test_kernels_of_microcontrollers_equal_their_reference(name):
    made = cases([*list(elements())[::11], *weighted(9)], name, [*ELEMENTS, *WEIGHTED])
    made += cases([(convert.Convert("float32", "float16", 4000), [near_halves()[::43][:4000]],
                    {})], name, [convert])
    outputs, _ = run_bare_metal(made, name)
    for case, (found,) in zip(made, outputs, strict=True):
        compare(found, reference(case.spec, case.inputs, case.constants)[0], UNIT,
                f"{case.record.name} {case.spec.text()}")


@pytest.mark.parametrize("target", ["raspberry-pi-5", "riscv64-generic", "cortex-m4f"])
def test_models_run_in_half_the_memory(target):
    shapes = {"x": (1, 3, 12, 12)}
    wide = edgecc.compile(pipeline_models.network(), target=target, name="net", shapes=shapes)
    half = edgecc.compile(pipeline_models.network(), target=target, name="net", shapes=shapes,
                          quantization="float16", calibration={"x": pipeline_models.samples()})
    given = edgecc.compile(half_model(pipeline_models.network()), target=target, name="net",
                           shapes=shapes)
    assert [p["dtype"] for p in given.manifest["inputs"]] == ["float16"]
    assert given.manifest["memory"]["activation_bytes"] * 2 == (
        wide.manifest["memory"]["activation_bytes"])
    assert half.manifest["weights_bytes"] < 0.7 * wide.manifest["weights_bytes"]
    expected = COMPUTED if target == "raspberry-pi-5" else STORED
    sample = {"x": pipeline_models.samples()[:1]}
    board = f"emulated-{target}"
    answer = wide.run(sample, board=board)["y"]
    for bundle in (half, given):
        assert bundle.manifest["float_tolerance"] == expected
        assert bundle.bench(board).to_json()["golden"] == "pass"
    assert np.abs(half.run(sample, board=board)["y"] - answer).max() < 0.01 * np.abs(answer).max()


def test_checks_notice_a_wrong_half():
    spec, inputs, constants = next(iter(weighted()))
    with pytest.raises(AssertionError):
        compare(np.zeros(3, np.float16), np.ones(3, np.float16), UNIT, "nothing")
    check([(spec, inputs, constants)], "raspberry-pi-5", WEIGHTED, tolerance=4 * UNIT)
