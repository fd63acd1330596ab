"""What runs innermost in int8 tiles: the loops over K that multiply never touch the stack."""

import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from edgecc.kernels import conv2d_int8
from edgecc.kernels.spec import Conv2d
from edgecc.lower.assembly import gnu_source
from edgecc.lower.compile import assembly
from edgecc.targets import get_target

pytestmark = pytest.mark.host


@dataclass(frozen=True)
class Syntax:
    """How an architecture's assembly names a branch and its label, the stack, and a product."""

    target: str
    branch: str
    stack: str
    product: str


ISAS = {
    "dotprod": Syntax("raspberry-pi-5", r"\bb(?:\.\w+)?\s+(\S+)|\bcbn?z\s+\w+, (\S+)", r"\[sp\b",
                      r"\bsdot\b"),
    "neon": Syntax("raspberry-pi-3", r"\bb(?:\.\w+)?\s+(\S+)|\bcbn?z\s+\w+, (\S+)", r"\[sp\b",
                   r"\bsadalp\b"),
    "i8mm": Syntax("generic-aarch64-i8mm", r"\bb(?:\.\w+)?\s+(\S+)|\bcbn?z\s+\w+, (\S+)",
                   r"\[sp\b", r"\bsmmla\b"),
}
LAYERS = {  # long enough along K for a loop over it
    "3x3": Conv2d("int8", 1, 9, 9, 64, 64, 3, 3, pads=(1, 1, 1, 1), clamp=True),
    "pointwise": Conv2d("int8", 1, 7, 7, 256, 64, 1, 1),
    "residual": Conv2d("int8", 1, 8, 8, 128, 64, 1, 1, strides=(2, 2), residual=True),
}


def loops(lines, branch):
    """Line ranges of innermost loops: from a label to a branch back to it, none inside."""
    at, found = {}, []
    for number, line in enumerate(lines):
        if label := re.match(r"(\S+):", line.strip()):
            at[label[1]] = number
        elif hit := re.search(branch, line):
            name = next(group for group in hit.groups() if group)
            name = name[:-1] if re.fullmatch(r"\d+b", name) else name
            if name in at:
                found.append((at[name], number))
    return [(a, b) for a, b in found
            if not any((a, b) != (c, d) and a <= c and d <= b for c, d in found)]


def stack_accesses(text, syntax):
    """(loops that multiply, their lines that touch the stack)."""
    lines = text.splitlines()
    bodies = [lines[a : b + 1] for a, b in loops(lines, syntax.branch)]
    hot = [body for body in bodies if any(re.search(syntax.product, line) for line in body)]
    return len(hot), [line.strip() for body in hot for line in body
                      if re.search(syntax.stack, line)]


def test_a_spill_is_seen():
    text = "a:\n sdot v0.4s\n ldr q1, [sp, #16]\n1:\n sdot v0\n str q1, [sp]\n b.ne 1b\n b.ne a\n"
    assert stack_accesses(text, ISAS["dotprod"]) == (1, ["str q1, [sp]"])


@pytest.mark.parametrize("isa", ISAS)
def test_no_inner_loop_touches_the_stack(isa):
    syntax, seen = ISAS[isa], 0
    target = get_target(syntax.target)
    for record in conv2d_int8.KERNELS:
        if not record.name.endswith(f"__{isa}"):
            continue
        for name, spec in LAYERS.items():
            found, wrong = stack_accesses(
                assembly(record.build(spec, "kernel", target), target), syntax)
            assert not wrong, f"{record.name}, {name}: {wrong[:5]}"
            seen += found
    assert seen >= len(LAYERS)


@pytest.mark.parametrize("isa", ISAS)
def test_statements_pass_the_targets_own_assembler(isa, tmp_path):
    """Packages hold kernels as text: what LLVM took in a statement an assembler must take too."""
    target = get_target(ISAS[isa].target)
    record = next(k for k in conv2d_int8.KERNELS if k.name.endswith(f"__{isa}"))
    (tmp_path / "kernel.s").write_text(
        gnu_source(record.build(LAYERS["3x3"], "kernel", target), target))
    command = [sys.executable, "-m", "ziglang", *target.toolchain.argv[1:], "-c", "kernel.s",
               "-o", "kernel.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:500]
