"""Runs kernels on the host or under QEMU with a guard page behind every buffer.

One process runs many cases: each case is a kernel object plus arrays; the driver places every
array so that it ends at a page nobody may touch, calls the kernel, and writes the outputs.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgecc.lower.compile import object_bytes
from edgecc.targets import get_target

# by architecture: whose libc the driver takes, as ziglang makes one for every core that is named
PLAIN = {"aarch64": "generic-aarch64", "riscv64": "riscv64-generic"}
DRIVER = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static FILE *in, *out;
static unsigned char *guarded(size_t n, size_t align) {
  size_t page = 4096, body = (n + page - 1) / page * page + page;
  unsigned char *p = mmap(0, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                          -1, 0);
  if (p == MAP_FAILED || mprotect(p + body, page, PROT_NONE)) exit(3);
  memset(p, 0x5a, body);
  return p + body - (n + align - 1) / align * align;
}
static unsigned char *given(size_t n, size_t align) {
  unsigned char *p = guarded(n, align);
  if (fread(p, 1, n, in) != n) exit(4);
  return p;
}
static void write_out(const void *p, size_t n) { fwrite(p, 1, n, out); }
"""


@dataclass
class Case:
    """One kernel call. `alias` maps an output index to the input index it shares memory with;
    `before`: the output begins so many bytes before the first input and may overwrite it.

    `parts`, where given, are (begin, end) of several calls on the same inputs and outputs, each
    with scratch of its own.
    """

    record: object
    spec: object
    inputs: list
    constants: dict
    outputs: list  # (shape, dtype)
    begin: int = 0
    end: int | None = None
    alias: dict | None = None
    parts: list | None = None
    before: int | None = None

    def calls(self):
        end = self.record.extent(self.spec) if self.end is None else self.end
        return [(self.begin, end)] if self.parts is None else self.parts


def run_cases(cases: list[Case], target) -> list[list[np.ndarray]]:
    """Outputs of every case, from one process. `target` is a Target or its name; one that is
    called "host" is linked by gcc and run natively."""
    target = get_target(target) if isinstance(target, str) else target
    with tempfile.TemporaryDirectory() as folder:
        return _run(cases, target, Path(folder))


def _run(cases, target, folder):
    source, data, objects = [DRIVER], [], {}
    body = []
    for case in cases:
        key = case.record.name, case.spec
        if key not in objects:
            objects[key] = f"kernel_{len(objects)}"
            func = case.record.build(case.spec, objects[key], target)
            (folder / f"{objects[key]}.o").write_bytes(object_bytes(func, target))
            source.append(f"void {objects[key]}();")
        body.append(_call(case, objects[key], data))
    source.append("int main(int n, char **a) { (void)n; in = fopen(a[1], \"rb\"); "
                  "out = fopen(a[2], \"wb\");")
    source += body
    source.append("fclose(out); return 0; }")
    (folder / "main.c").write_text("\n".join(source))
    (folder / "in.bin").write_bytes(b"".join(data))
    _link(target, folder, [f"{symbol}.o" for symbol in objects.values()])
    command = [*target.emulator, "./main", "in.bin", "out.bin"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-500:]}"
    return _read(cases, (folder / "out.bin").read_bytes())


def _call(case, symbol, data):
    scratch = case.record.scratch_bytes(case.spec)
    packed = np.ascontiguousarray(case.record.pack(case.spec, case.constants))
    packed = packed.view(np.uint8).ravel()
    names, lines, results = [], [], []
    for i, array in enumerate(case.inputs):
        data.append(np.ascontiguousarray(array).tobytes())
        if i == 0 and case.before is not None:
            whole = case.before + array.nbytes
            lines.append(f"void *x0 = (char *)guarded({whole}, {array.itemsize}) + {case.before};"
                         f" fread(x0, 1, {array.nbytes}, in);")
        else:
            lines.append(f"void *x{i} = given({array.nbytes}, {array.itemsize});")
        names.append(f"x{i}")
    if packed.size:
        data.append(packed.tobytes())
        lines.append(f"void *w = given({packed.nbytes}, 64);")
        names.append("w")
    for i, (shape, dtype) in enumerate(case.outputs):
        n = int(np.prod(shape)) * np.dtype(dtype).itemsize
        made = f"x{case.alias[i]}" if case.alias and i in case.alias else (
            f"guarded({n}, {np.dtype(dtype).itemsize})")
        if case.before is not None:
            made = f"(char *)x0 - {case.before}"
        lines.append(f"void *y{i} = {made};")
        names.append(f"y{i}")
        results.append(f"write_out(y{i}, {n});")
    if scratch:
        names.append(f"guarded({scratch}, 4)")
    given = f"{symbol}({', '.join(names)}, (int32_t *)0, "
    calls = [f"{given}(int32_t){begin}, (int32_t){end});" for begin, end in case.calls()]
    return "{ " + " ".join([*lines, *calls, *results]) + " }"


def _link(target, folder, objects):
    plain = get_target(PLAIN.get(target.architecture, target.name))
    zig = [sys.executable, "-m", "ziglang", *plain.toolchain.argv[1:]]
    compiler = ["gcc"] if target.name == "host" else zig
    command = [*compiler, "-O0", "-w", "-std=gnu11", "-static", "main.c", *objects, "-o", "main"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def _read(cases, raw):
    results, at = [], 0
    for case in cases:
        outputs = []
        for shape, dtype in case.outputs:
            count = int(np.prod(shape))
            outputs.append(np.frombuffer(raw, dtype, count, at).reshape(shape))
            at += count * np.dtype(dtype).itemsize
        results.append(outputs)
    assert at == len(raw)
    return results
