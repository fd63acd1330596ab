"""Runs kernels on QEMU's microcontroller boards: the harness's driver over semihosting.

There are no guard pages: every buffer is followed by bytes that must still be there afterwards.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from kernel_harness import _call, _read

from edgecc.link.elf import describe
from edgecc.link.model_object import ARITHMETIC, FROM_LIBC
from edgecc.lower.compile import object_bytes
from edgecc.targets import get_target

ARM = ["arm-none-eabi-gcc", "-mthumb", "--specs=picolibc.specs", "--oslib=semihost",
       "-Wl,--defsym=__flash_size=0x400000", "-Wl,--no-warn-execstack"]
RISCV = ["riscv64-unknown-elf-gcc", "--specs=picolibc.specs", "--oslib=semihost",
         "-Wl,--defsym=__flash=0x80000000", "-Wl,--defsym=__flash_size=0x400000",
         "-Wl,--defsym=__ram=0x80400000", "-Wl,--defsym=__ram_size=0x400000",
         "-Wl,--no-warn-execstack"]
MPS2 = ["-Wl,--defsym=__flash=0", "-Wl,--defsym=__ram=0x20000000",
        "-Wl,--defsym=__ram_size=0x400000"]
COMPILERS = {
    "cortex-m0plus": [*ARM, *MPS2, "-mcpu=cortex-m0plus"],
    "cortex-m3": [*ARM, *MPS2, "-mcpu=cortex-m3"],
    "cortex-m4f": [*ARM, *MPS2, "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    "cortex-m7": [*ARM, *MPS2, "-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"],
    "cortex-m55": [*ARM, "-Wl,--defsym=__flash=0", "-Wl,--defsym=__ram=0x21000000",
                   "-Wl,--defsym=__ram_size=0x200000", "-mcpu=cortex-m55", "-mfloat-abi=hard"],
    "rv32imc": [*RISCV, "-march=rv32imc", "-mabi=ilp32"],
    "rv32imafc": [*RISCV, "-march=rv32imafc", "-mabi=ilp32f"],
}
DRIVER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static FILE *in, *out;
static unsigned char pool[POOL] __attribute__((aligned(64)));
static size_t used;
static unsigned char *ends[4096];
static int count;
static unsigned char *guarded(size_t n, size_t align) {
  size_t at = (used + 63) & ~(size_t)63;
  at += (align - n % align) % align;
  used = at + n + 32;
  if (used > sizeof pool || count == 4096) exit(3);
  memset(pool + at, 0x5a, n + 32);
  ends[count++] = pool + at + n;
  return pool + at;
}
static unsigned char *given(size_t n, size_t align) {
  unsigned char *p = guarded(n, align);
  if (fread(p, 1, n, in) != n) exit(4);
  return p;
}
static void write_out(const void *p, size_t n) { fwrite(p, 1, n, out); }
static void done(void) {
  for (int i = 0; i < count; i++)
    for (int j = 0; j < 32; j++) if (ends[i][j] != 0x5a) exit(5);
  used = 0; count = 0;
}
"""


def run_bare_metal(cases, name: str, plugin: str | None = None):
    """(outputs of every case, instructions per kernel symbol where a plug-in counts them)."""
    target = get_target(name)
    for tool in (COMPILERS[name][0], target.emulator[0]):
        if not shutil.which(tool):
            pytest.skip(f"needs {tool}")
    with tempfile.TemporaryDirectory() as folder:
        return _run(cases, target, Path(folder), plugin)


def _run(cases, target, folder, plugin):
    pool = 0x100000 if target.name.startswith("cortex-m55") else 0x200000
    source, data, objects, body = [f"#define POOL {pool}" + DRIVER], [], {}, []
    for case in cases:
        key = case.record.name, case.spec
        if key not in objects:
            objects[key] = f"kernel_{len(objects)}"
            func = case.record.build(case.spec, objects[key], target)
            code = object_bytes(func, target)
            called = set(describe(code).undefined_symbols) - FROM_LIBC
            assert all(map(ARITHMETIC.fullmatch, called)), f"{key} calls {called}"
            (folder / f"{objects[key]}.o").write_bytes(code)
            source.append(f"void {objects[key]}();")
        body.append(_call(case, objects[key], data) + " done();")
    source.append('int main(void) { in = fopen("in.bin", "rb"); out = fopen("out.bin", "wb"); '
                  "if (!in || !out) exit(6);")
    source += [*body, "fclose(out); exit(0); }"]
    (folder / "main.c").write_text("\n".join(source))
    (folder / "in.bin").write_bytes(b"".join(data))
    command = [*COMPILERS[target.name], "-O0", "-w", "main.c",
               *(f"{symbol}.o" for symbol in objects.values()), "-o", "main"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[-2000:]
    counting = ["-plugin", f"{plugin},by=sym", "-d", "plugin", "-D", "counts.txt"] if plugin else []
    run = [*target.emulator, "-nographic", "-monitor", "none", "-serial", "none", *counting,
           "-semihosting-config", "enable=on,target=native", "-kernel", "main"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-500:]}"
    counts = (folder / "counts.txt").read_text() if plugin else ""
    found = {k: int(v) for k, v in re.findall(r"^  (\S+)\s+(\d+)$", counts, re.M)}
    return _read(cases, (folder / "out.bin").read_bytes()), found
