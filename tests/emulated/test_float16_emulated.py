"""float16 under QEMU: converted by instructions or in integers, computed in float32 or, where a
core has such vectors, in float16."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import kernel_problems as problems
import numpy as np
import pipeline_models
import pytest
import zvfh
from bare_metal import run_bare_metal
from halved import UNIT, half_model, half_problems
from kernel_checks import EMULATED, cases, check, compare, named
from kernel_harness import run_cases

import edgecc
from edgecc.kernels import contraction, convert, pool2d, tiles
from edgecc.kernels.reference import reference
from edgecc.targets import get_target
from edgecc.tolerance import EXACT, STORED

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
IN_HALF = ("raspberry-pi-5", "spacemit-k1-zvfh")
slow = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize("target", (*EMULATED, "spacemit-k1-zvfh"))
def test_stored_halves_equal_their_reference(target):
    made = cases([*list(elements())[::7], *weighted(6)], target, [*ELEMENTS, *WEIGHTED])
    made = [case for case in made if not case.record.half]
    for case, (found,) in zip(made, run_cases(made, named(target)), strict=True):
        compare(found, reference(case.spec, case.inputs, case.constants)[0], UNIT,
                f"{case.record.name} {case.spec.text()}")


@pytest.mark.parametrize("target", (*EMULATED, "spacemit-k1-zvfh"))
def test_every_half_is_converted_exactly(target):
    ups = convert.Convert("float16", "float32", 1 << 16), [every_half()], {}
    near = near_halves()
    downs = convert.Convert("float32", "float16", near.size), [near], {}
    for case in (made := cases([ups, downs], target, [convert])):
        case.constants = {}
    for case, (found,) in zip(made, run_cases(made, named(target)), strict=True):
        np.testing.assert_array_equal(found, reference(case.spec, case.inputs, {})[0])


def adding():
    """Layers of every size and kind, the long sums of which have parts of several lengths."""
    long = [replace(s, dtype="float32") for s in (
        problems._conv(h=4, w=9, c=64, k=24, pads=(1, 1, 1, 1), clamp=True),
        problems._conv(h=3, w=11, c=100, k=40, kh=1, kw=1, residual=True),
        problems._conv(h=4, w=9, c=53, k=9, kh=2, dilations=(1, 2), clamp=True, residual=True))]
    for spec, inputs, constants in (
            *weighted(), *half_problems(problems.convolution(long, seed=3))):
        # limits that cut off little
        yield spec, inputs, {**constants, "lo": -150.0, "hi": 400.0}


SHAPES = ({"c": 30, "k": 20, "kh": 1, "kw": 1}, {"c": 16, "k": 8, "pads": (1, 1, 1, 1)},
          {"c": 12, "k": 12, "groups": 12, "pads": (1, 1, 1, 1), "residual": True},
          {"c": 12, "k": 12, "groups": 12})
SIZES = ((1e-4, 1e-3), (3e-7, 200.0), (300.0, 2e-7), (2e4, 2e4), (0.1, 1e4))


def beyond():
    """Inputs and weights, in size, whose sums lose bits as subnormal numbers or exceed a half."""
    for number, (x, w) in enumerate(SIZES):
        specs = [problems._conv(h=4, **shape) for shape in SHAPES]
        for spec, inputs, constants in problems.convolution(specs, number):
            given = {**constants, "weights": finite(constants["weights"] * w / 4),
                     "bias": constants["bias"] * (x * w / 4)}
            yield from half_problems([(spec, [finite(inputs[0] * x / 4), *(
                finite(r * (x * w / 4)) for r in inputs[1:])], given)])


def finite(values):
    return np.clip(values, -65504, 65504).astype(np.float32)


def adding_cases(problems, target):
    return [case for case in cases(list(problems), target, WEIGHTED) if case.record.half]


def same_bytes(made, target):
    """Every case gives the law's own bytes."""
    for case, (found,) in zip(made, run_cases(made, named(target)), strict=True):
        (wanted,) = case.record.law(case.spec, case.inputs, case.constants)
        where = f"{case.record.name} {case.spec.text()}"
        nan = np.isnan(wanted)
        assert np.array_equal(np.isnan(found), nan), where  # whose bits are the core's own affair
        wrong = (found.view(np.uint16) != wanted.view(np.uint16)) & ~nan
        assert not wrong.any(), f"{where}: {wrong.sum()} of {wrong.size} differ"


@pytest.mark.parametrize("target, step", [
    ("raspberry-pi-5", 1), ("spacemit-k1-zvfh", 4), pytest.param("spacemit-k1-zvfh", 1, marks=slow),
    pytest.param("zvfh-128", 1, marks=slow)])
def test_kernels_that_add_in_float16_give_the_bytes_of_their_law(target, step):
    """Every `step`th problem."""
    made = adding_cases([*adding(), *beyond()][::step], target)
    assert len(made) > (80 if step == 1 else 40)
    assert {case.record.op for case in made} == {"conv2d", "fully_connected"}
    same_bytes(made, target)


@pytest.mark.parametrize("target", IN_HALF)
def test_contraction_changes_no_sum_of_halves(target):
    with contraction.off():
        same_bytes(adding_cases(list(adding())[::5], target), target)


@pytest.mark.slow
@pytest.mark.parametrize("target", IN_HALF)
def test_all_tiles_of_halves_give_the_same_bytes(target):
    made = []
    for case in adding_cases(list(adding())[::9], target):
        some = [r for r in tiles.candidates(case.spec, named(target).features) if r.half]
        made += [replace(case, record=record) for record in some[::4]]
    assert len(made) > 40
    same_bytes(made, target)


@pytest.mark.parametrize("target", IN_HALF)
def test_sums_of_halves_are_close_to_the_reference(target):
    """Beside the law, what the law is worth: a few units of the last place."""
    for case in adding_cases(adding(), target):
        (wanted,) = reference(case.spec, case.inputs, case.constants)
        (found,) = case.record.law(case.spec, case.inputs, case.constants)
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
    made = adding_cases([(spec, [x], constants)], target)
    same_bytes(made, target)
    for (found,) in (case.record.law(spec, [x], constants) for case in made):
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
    sample = {"x": pipeline_models.samples()[:1]}
    board = f"emulated-{target}"
    answer = wide.run(sample, board=board)["y"]
    for bundle in (half, given):
        assert bundle.manifest["float_tolerance"] == STORED  # for the Softmax at the end
        assert bundle.bench(board).to_json()["golden"] == "pass"
    assert np.abs(half.run(sample, board=board)["y"] - answer).max() < 0.01 * np.abs(answer).max()


@pytest.mark.parametrize("target", IN_HALF)
def test_golden_vectors_of_halves_are_exact(target, monkeypatch):
    if "zvfh" in get_target(target).features:
        folder = str(Path(zvfh.needed()).parent)
        monkeypatch.setenv("PATH", folder + os.pathsep + os.environ["PATH"])
    proto = pipeline_models.network()
    proto.graph.node.pop()  # the Softmax
    proto.graph.node[-1].output[0] = "y"
    bundle = edgecc.compile(proto, target=target, name="net",
                            shapes={"x": (1, 3, 12, 12)}, quantization="float16")
    assert bundle.manifest["float_tolerance"] == EXACT
    assert any("__rvv256_zvfh" in (step["kernel"] or "") or "fp16" in (step["kernel"] or "")
               for step in bundle.manifest["steps"])
    assert bundle.bench(f"emulated-{target}").to_json()["golden"] == "pass"


@pytest.mark.parametrize("target", ["host", "host-avx2", "raspberry-pi-5", "riscv64-generic"])
def test_average_pools_give_the_bytes_of_their_law(target):
    wide = [p for p in problems.pool2d() if p[0].dtype == "float32" and p[0].kind == "average"]
    made = cases([*wide, *half_problems(wide)], target, [pool2d])
    for case, (found,) in zip(made, run_cases(made, named(target)), strict=True):
        (wanted,) = case.record.law(case.spec, case.inputs, case.constants)
        assert np.array_equal(found, wanted), f"{case.record.name} {case.spec.text()}"


def test_checks_notice_a_wrong_half():
    spec, inputs, constants = next(iter(weighted()))
    with pytest.raises(AssertionError):
        compare(np.zeros(3, np.float16), np.ones(3, np.float16), UNIT, "nothing")
    check([(spec, inputs, constants)], "raspberry-pi-5", WEIGHTED, tolerance=4 * UNIT)
