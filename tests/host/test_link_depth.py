"""Stack depths read from machine code are those that the compiler's frame information gives."""

import shutil

import pytest

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import BundleError
from edgecc.link.depth import deepest
from edgecc.link.elf_symbols import functions
from edgecc.link.firmware import firmware
from edgecc.link.footprint import SCRIPT
from edgecc.link.stack import frames
from edgecc.link.toolchain import driver_for
from edgecc.targets import get_target

pytestmark = pytest.mark.host
GCC = {"arm": ("arm-none-eabi-gcc",), "rv32": ("riscv64-unknown-elf-gcc",)}
CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4f", "cortex-m33", "cortex-m55", "rv32imc",
         "rv32imafc")
USE = "void use(volatile char *p); void use(volatile char *p) { *p = 1; }\n"
ONE = USE + "int f(int n); int f(int n) { volatile char a[%d]; use(a); use(a + n); return a[1]; }"
CHAIN = """
__attribute__((noinline)) int a(volatile int *p) { volatile int t[10]; t[0] = *p; return t[*p]; }
__attribute__((noinline)) int b(volatile int *p) { volatile int t[50]; t[0] = a(p);
  return t[*p] + a(p); }
int c(volatile int *p); int c(volatile int *p) { volatile int t[20]; t[0] = b(p);
  return t[*p] + a(p) * b(p); }
"""


def compiled(core, source, gnu, *flags):
    argv = GCC["rv32" if core.startswith("rv32") else "arm"] if gnu else None
    if argv and not shutil.which(argv[0]):
        pytest.skip(f"needs {argv[0]}")
    driver = driver_for(get_target(core), CompileConfig(toolchain=argv), Context())
    return driver, driver.compile("a.c", {"a.c": source}, *flags)


@pytest.mark.parametrize("gnu", [False, True], ids=["zig", "gcc"])
@pytest.mark.parametrize("core", CORES)
def test_a_frame_is_what_the_compiler_says(core, gnu):
    for size in (4, 60, 500, 508, 1020, 2000, 4096, 5000, 16400):
        if size > 400 and core == "cortex-m0plus" or size > 2000 and core.startswith("rv32"):
            continue  # taken off by a register there
        _, made = compiled(core, ONE % size, gnu, "-g1")
        assert deepest(made, {"f", "use"}) == sum(frames(made)), (core, size)


@pytest.mark.parametrize("gnu", [False, True], ids=["zig", "gcc"])
@pytest.mark.parametrize("core", CORES)
def test_calls_add_up(core, gnu):
    driver, made = compiled(core, CHAIN, gnu, "-g1")
    described = sum(frames(made))
    linked = firmware(driver, {"model.o": made}, SCRIPT, None, ["c"])
    assert deepest(linked, {"a", "b", "c"}) == described
    assert deepest(linked, {"a"}) < deepest(linked, {"a", "b"}) < described
    assert deepest(linked, set()) == 0


def test_data_in_code_are_no_instructions():
    _, made = compiled("cortex-m3", "int f(int x) { return x * 0x1b4fb0ff; }", True)
    is_thumb, [function] = functions(made)
    assert is_thumb and function.name == "f" and function.code
    data = bytes.fromhex("80b5") + bytes.fromhex("00b5") * 3  # push, and a literal like pushes
    changed = type(function)("f", 0, data, ((2, 8),))
    from edgecc.link.depth import _frame, thumb

    assert _frame(changed, thumb) == (8, set())


def test_what_is_no_elf_file_is_refused():
    with pytest.raises(BundleError, match="not an ELF file"):
        deepest(b"MZ" * 40, {"f"})
