"""Stack figures: as the compiler says, or none."""

import shutil

import link_models
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.link import stack_bytes
from edgecc.link.dwarf import (
    BREG0,
    BREGX,
    CONSTS,
    CONSTU,
    LIT0,
    MUL,
    PLUS,
    PLUS_CONSTANT,
    Unknown,
    distance,
)
from edgecc.link.stack import STACK_POINTER, _section_frames, frames
from edgecc.link.toolchain import driver_for
from edgecc.targets import get_target

pytestmark = pytest.mark.host
HOST = get_target("host")
USES = ("void use(char *); void f(void) { char a[%d]; use(a); } void g(void) { char b[48];"
        " use(b); use(b); }")
TOOLCHAINS = [("host", None), ("host", ("gcc",)), ("host", ("clang",)), ("raspberry-pi-5", None),
              ("raspberry-pi-5", ("aarch64-linux-gnu-gcc",))]


def driver(target=HOST, argv=None):
    if argv and not shutil.which(argv[0]):
        pytest.skip(f"needs {argv[0]}")
    return driver_for(target, CompileConfig(toolchain=argv), Context())


@pytest.mark.parametrize("name, argv", TOOLCHAINS, ids=str)
@pytest.mark.parametrize("flags", [("-g1",), ("-fasynchronous-unwind-tables",)], ids=str)
@pytest.mark.parametrize("size", [16, 1000, 70_000])
def test_frames_are_those_of_the_code(name, argv, flags, size):
    made = driver(get_target(name), argv).compile("a.c", {"a.c": USES % size}, *flags)
    f, g = frames(made)
    assert size <= f <= size + 64 and 48 <= g <= 48 + 64
    assert f % 8 == 0


def test_no_information_no_figure():
    assert frames(driver().compile("a.c", {"a.c": USES % 16})) is None


def test_a_frame_of_variable_size_has_no_figure():
    source = "void use(char *); void f(int n) { char a[n]; use(a); use(a); }"
    assert frames(driver().compile("a.c", {"a.c": source}, "-g1")) is None


@pytest.mark.parametrize("name, argv", TOOLCHAINS, ids=str)
def test_a_model(name, argv):
    target, cc = get_target(name), driver(get_target(name), argv)
    config = CompileConfig(toolchain=argv)
    model = link_models.fake(target, Context(), config=config)
    kernels = {f"tiny_{kind}.o": cc.compile(
        "k.c", {"k.c": link_models.kernel_source("tiny", kind)
                + (USES % 5000 if kind == "flip" else "")}, "-g1") for kind in ("scale", "flip")}

    def figure(code):
        changed = model.change("objects", code=code)
        return stack_bytes(changed.program, changed.plan, changed.objects, target, config=config,
                           context=Context(), name="tiny", version="1")

    assert 5048 < figure(kernels) < 5800
    assert figure(model.objects.code) is None


RECORD = st.binary(max_size=40).map(lambda b: len(b).to_bytes(4, "little") + b)


@given(st.lists(st.one_of(st.binary(max_size=30), RECORD), max_size=4).map(b"".join),
       st.sampled_from([".eh_frame", ".debug_frame"]))
def test_noise_is_unknown_or_read(noise, section):
    for common in (b"", b"\x0c\0\0\0" + (b"\0" * 4 if section == ".eh_frame" else b"\xff" * 4)
                   + b"\x01\0\1\x78\x10\x0c\7\x08"):
        try:
            found = list(_section_frames(common + noise, section, STACK_POINTER["x86_64"], 8))
        except Unknown:
            continue
        assert all(n >= 0 for n in found)


# 160 more than the stack pointer, and 28 vector registers: what LLVM writes for RVV
SCALABLE = (bytes([BREG0 + 2, 0, CONSTS, 0xA0, 1, PLUS, CONSTS, 28, BREGX]) + b"\xa2\x38\0"
            + bytes([MUL, PLUS]))


def test_a_frame_with_vector_registers():
    assert distance(SCALABLE, 2, 32) == 160 + 28 * 32
    assert distance(bytes([BREG0 + 2, 0x70, CONSTU, 0x80, 1, PLUS, PLUS_CONSTANT, 8]), 2, None) == (
        128 + 8 - 16)
    assert distance(bytes([LIT0 + 5, BREG0 + 2, 0, PLUS]), 2, None) == 5
    # a common entry, and a function whose frame is such an expression
    section = (b"\x10\0\0\0\xff\xff\xff\xff\4\0\x08\0\1\x78\1\x0c\2\0\0\0"
               + (20 + 2 + len(SCALABLE)).to_bytes(4, "little") + bytes(4 + 16)
               + b"\x0f" + bytes([len(SCALABLE)]) + SCALABLE)
    assert list(_section_frames(section, ".debug_frame", 2, 8, 32)) == [160 + 28 * 32]


@pytest.mark.parametrize(("expression", "vector_bytes"), [
    (b"", 32), (SCALABLE, None), (SCALABLE[:-1], 32), (SCALABLE[:7], 32), (bytes([PLUS]), 32),
    (bytes([LIT0]), 32), (bytes([BREG0 + 2, 0, BREG0 + 2, 0, PLUS]), 32), (b"\x06", 32),
    (bytes([BREGX, 1, 0]), 32), (bytes([BREG0 + 8, 0]), 32)])
def test_expressions_that_cannot_be_told(expression, vector_bytes):
    with pytest.raises(Unknown):
        distance(expression, 2, vector_bytes)
