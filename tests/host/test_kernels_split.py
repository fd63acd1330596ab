"""Threads may split any kernel anywhere: parts in any order, each with scratch of its own, write
the bytes of one whole call. Every kernel of the catalogue, so that a new one is held to it too."""

import inspect

import arithmetic_problems
import halved
import kernel_problems
import movement_problems
import numpy as np
import pytest
from kernel_checks import named
from kernel_harness import Case, run_cases

from edgecc.kernels.copy import spec_of
from edgecc.kernels.reference import reference
from edgecc.kernels.registry import all_kernels
from edgecc.targets import all_targets, get_target

pytestmark = pytest.mark.host
TARGETS = ("host", "generic-aarch64-i8mm", "spacemit-k1", "riscv64-generic-v", "x86-64-v4-vnni",
           "x86-64-v3-vnni", "armv7-neon", "spacemit-k1-zvfh")
PROBLEMS_EACH = 2
MODULES = (kernel_problems, movement_problems, arithmetic_problems, halved)


def generators():
    """Functions of the modules that yield something and need no argument."""
    for module in MODULES:
        for name, function in inspect.getmembers(module, inspect.isgeneratorfunction):
            given = inspect.signature(function).parameters.values()
            if name[0] != "_" and all(p.default is not p.empty for p in given):
                yield function


def every_problem():
    """(spec, inputs, constants, [output]) of every operator."""
    convs = [*kernel_problems.conv_specs(), *kernel_problems.depthwise_specs()]
    found = [p for f in generators() for p in f() if isinstance(p, tuple)]
    found += kernel_problems.convolution(convs)
    found += halved.half_problems(found)
    for spec, inputs, constants in found:
        out = reference(spec, inputs, constants)[0]
        yield spec, inputs, constants, (out.shape, out.dtype.name)
    rng = np.random.default_rng(0)
    for item in (1, 2, 4, 8):
        spec = spec_of(item, (5, 3, 9), (40, 9, 1), (60, 17, 1))
        source = rng.integers(0, 100, 187).astype(spec.dtype)
        yield spec, [source], {}, ((283,), spec.dtype)


def widest(problems, record):
    """A few problems that the kernel takes, those with most to split first."""
    fits = [p for p in problems if (p[0].op, p[0].dtype) == (record.op, record.dtype)
            and record.accepts(p[0]) is None]
    derived = record.dtype == "float16" and not record.half  # the code of a float32 one
    return sorted(fits, key=lambda p: -min(record.extent(p[0]), 9))[:1 if derived else
                                                                    PROBLEMS_EACH]


def splits(extent):
    """1 to 4 uneven parts, in different orders, some of them empty."""
    cuts = [(), (extent // 3,), (extent // 5, extent // 2 + 1), (1, 1, extent - 1)]
    parts = []
    for at in cuts:
        edges = [0, *sorted(min(max(c, 0), extent) for c in at), extent]
        parts.append(list(zip(edges, edges[1:], strict=False)))
    return [parts[0], parts[1][::-1], parts[2], parts[3][::-1]]


def split_cases(target_name):
    features, problems, cases = get_target(target_name).features, list(every_problem()), []
    for record in all_kernels():
        if not record.requires <= features or (
                "zvfh" in features and "zvfh" not in record.requires):  # spacemit-k1 has those
            continue
        chosen = widest(problems, record)
        assert chosen, (f"{record.name} has no problem: give one of MODULES a generator of "
                        f"{record.dtype} {record.op}")
        for number, (spec, inputs, constants, output) in enumerate(chosen):
            over = {0: 1} if getattr(spec, "residual", False) and number % 2 == 0 else None
            cases += [Case(record, spec, inputs, constants, [output], alias=over, parts=parts)
                      for parts in splits(record.extent(spec))]
    return cases


@pytest.mark.parametrize("target", [
    "host",
    *(pytest.param(name, marks=[pytest.mark.emulated, pytest.mark.slow]) for name in TARGETS[1:])])
def test_any_split_writes_the_same_bytes(target):
    chip, host = get_target(target), get_target("host")
    if not chip.emulator and target != "host":
        missing = chip.features - host.features
        pytest.skip(f"this machine lacks {missing}" if missing else "the host's kernels are its")
    cases = split_cases(target)
    results = [out.tobytes() for (out,) in run_cases(cases, named(target))]
    for i in range(0, len(cases), 4):
        for case, found in zip(cases[i:i + 4], results[i:i + 4], strict=True):
            where = f"{case.record.name} in parts {case.parts}: {case.spec.text()}"
            assert found == results[i], where


def test_the_targets_cover_the_catalogue():
    """As far as threads go: to the targets with Linux."""
    covered = [get_target(name).features for name in TARGETS]
    linux = [t.features for t in all_targets().values() if t.runner == "linux"]
    missed = [k.name for k in all_kernels() if any(k.requires <= have for have in linux)
              and not any(k.requires <= have for have in covered)]
    assert not missed, "add a target to TARGETS"


def test_products_of_few_rows_split_by_columns():
    """A matrix product of one row has work for several threads."""
    extents = {k.name: k.extent(spec) for spec in kernel_problems.INT8_PRODUCTS[:1]
               for k in all_kernels() if (k.op, k.dtype) == (spec.op, spec.dtype)}
    assert extents["int8_fully_connected_5x16__dotprod"] == 10
    assert extents["int8_fully_connected_4x4__neon"] == 38
