"""Runs lists of (spec, inputs, constants) through every kernel a target allows and compares."""

from dataclasses import replace

import numpy as np
import zvfh
from kernel_harness import Case, run_cases

from edgecc.kernels.reference import reference
from edgecc.kernels.registry import all_kernels
from edgecc.link.elf import describe
from edgecc.lower.compile import object_bytes
from edgecc.targets import get_target

EXACT = {"transpose", "table", "quantize"}  # and everything that gives int8
EMULATED = ("raspberry-pi-5", "riscv64-generic", "spacemit-k1", "armv7-neon")
LEVELS = {"host-avx2": "x86-64-v3", "host-sse2": "null"}  # compiled for less than the host has
UNTOUCHED = 0x5A  # what the harness fills outputs with


def named(target_name):
    """A target by name, or a level of x86-64 that runs natively (QEMU's AVX2 loads too much)."""
    if target_name not in LEVELS:
        target = zvfh.narrow() if target_name == zvfh.NARROW else get_target(target_name)
        return zvfh.emulated(target) if "zvfh" in target.features else target
    return replace(get_target(LEVELS[target_name]), name="host", emulator=())


def fitting(spec, target_name, modules):
    """Records of the modules that compute `spec` on the target."""
    features = named(target_name).features
    names = {record.name for module in modules for record in module.KERNELS}
    names |= {name.replace("float32", "float16") for name in names}
    return [record for record in all_kernels() if record.name in names
            and (record.op, record.dtype) == (spec.op, spec.dtype)
            and record.requires <= features and record.accepts(spec) is None]


def cases(problems, target_name, modules, in_place=False):
    """One case for every problem and record; with `in_place` every other one is: over the
    residual, or over its first input if it has no window to read there."""
    found = []
    for spec, inputs, constants in problems:
        expected = reference(spec, inputs, constants)[0]
        for record in fitting(spec, target_name, modules):
            shared = 1 if getattr(spec, "residual", False) else 0
            fits = bool(inputs) and inputs[shared].nbytes == expected.nbytes
            fits &= spec.op != "conv2d" or bool(shared)
            alias = {0: shared} if in_place and fits and len(found) % 2 else None
            found.append(Case(record, spec, inputs, constants,
                              [(expected.shape, expected.dtype.name)], alias=alias))
    assert found, f"no kernel of {modules} for {target_name}"
    return found


def check(problems, target_name, modules, in_place=False, tolerance=1e-5):
    """Integers equal; floats within `tolerance` of the largest value (sums in another order)."""
    made = cases(problems, target_name, modules, in_place)
    for case, (got,) in zip(made, run_cases(made, named(target_name)), strict=True):
        expected = reference(case.spec, case.inputs, case.constants)[0]
        same = expected.dtype == np.int8 or case.spec.op in EXACT
        where = f"{case.record.name} on {target_name}: {case.spec.text()}"
        compare(got, expected, 0.0 if same else tolerance, where)


def compare(got, expected, tolerance, where):
    if not tolerance:
        assert np.array_equal(got, expected), f"{where}: {(got != expected).sum()} differ"
        return
    finite = np.isfinite(expected)
    assert np.array_equal(got[~finite], expected[~finite]), where
    limit = tolerance * np.abs(expected[finite]).max(initial=1e-30)
    worst = np.abs(got[finite].astype(np.float64) - expected[finite]).max(initial=0.0)
    assert worst <= limit, f"{where}: {worst} > {limit}"


def check_split(problems, target_name, modules):
    """[0, middle) and [middle, extent) together write what [0, extent) writes, each its part."""
    made = []
    for case in cases(problems, target_name, modules):
        extent = case.record.extent(case.spec)
        assert extent > 1, f"{case.spec.text()} cannot be split"
        for begin, end in ((0, extent), (0, extent // 2), (extent // 2, extent), (1, 1)):
            made.append(Case(case.record, case.spec, case.inputs, case.constants, case.outputs,
                             begin=begin, end=end))
    results = [np.frombuffer(out.tobytes(), np.uint8)
               for (out,) in run_cases(made, named(target_name))]
    for i in range(0, len(made), 4):
        whole, first, second, nothing = results[i:i + 4]
        where = f"{made[i].record.name}: {made[i].spec.text()}"
        assert np.array_equal(np.where(first != UNTOUCHED, first, second), whole), where
        assert np.array_equal(np.where(second != UNTOUCHED, second, first), whole), where
        assert (first != whole).any() and (second != whole).any(), f"{where}: a part wrote it all"
        assert (nothing == UNTOUCHED).all(), f"{where}: an empty range wrote something"


def undefined_symbols(problems, target_name, modules):
    """Everything that the objects of these problems call."""
    target, found = named(target_name), set()
    for spec, _, _ in problems:
        for record in fitting(spec, target_name, modules):
            data = object_bytes(record.build(spec, "kernel", target), target)
            found |= set(describe(data).undefined_symbols)
    return found
