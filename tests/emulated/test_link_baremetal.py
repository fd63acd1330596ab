"""Bare-metal programs in QEMU: every core and toolchain gives the model's bytes, and what goes
wrong is said in words."""

import shutil
import subprocess

import link_models
import pytest

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ConfigError, ToolchainError
from edgecc.link import describe, link_baremetal
from edgecc.link.elf import load_addresses
from edgecc.rpc.boards import built_in_boards
from edgecc.rpc.protocol import Type, encode, encode_u32
from edgecc.targets import all_targets, get_target

pytestmark = pytest.mark.emulated
INPUT = bytes(range(150, 214))
CORES = sorted(t.name for t in all_targets().values() if t.runner == "baremetal" and t.emulator)
NEWLIB, RISCV = ("arm-none-eabi-gcc",), ("riscv64-unknown-elf-gcc",)
PICOLIBC = "--specs=picolibc.specs"
TOOLCHAINS = [
    *[(core, None) for core in CORES],
    *[(core, NEWLIB) for core in ("cortex-m0plus", "cortex-m4f", "cortex-m85")],
    ("cortex-m3", (*NEWLIB, PICOLIBC)), ("cortex-m33", (*NEWLIB, PICOLIBC)),
    ("rv32imc", (*RISCV, PICOLIBC)), ("rv32imafc", RISCV),
]
RUN = encode_u32(Type.SET_INPUT, 0, INPUT) + encode_u32(Type.RUN_UNTIMED, 1)


def linked(core, argv=None, **how):
    target, config = get_target(core), CompileConfig(target=core, toolchain=argv)
    if argv and not shutil.which(argv[0]):
        pytest.skip(f"needs {argv[0]}")
    model = link_models.fake(target, Context(), config=config, **how)
    return link_baremetal(model.program, model.plan, model.objects, target, config=config,
                          context=Context(), name="tiny", version="1")


def talk(tmp_path, core, files, sent, code=0):
    """Answers to `sent`, and what was said on stderr."""
    command = built_in_boards()[f"emulated-{core}"].command([str(tmp_path / "runner")])
    if not shutil.which(command[0]):
        pytest.skip(f"needs {command[0]}")
    (tmp_path / "runner").write_bytes(files["runner/runner"])
    done = subprocess.run(command, input=sent, capture_output=True, timeout=30, check=False)
    assert done.returncode == code, (done.returncode, done.stderr.decode())
    return link_models.frames(done.stdout), done.stderr.decode()


@pytest.mark.parametrize("core, argv", TOOLCHAINS, ids=str)
def test_the_runner_computes_what_the_model_does(tmp_path, core, argv):
    files = linked(core, argv)
    sent = RUN + encode_u32(Type.GET_OUTPUT, 0) + RUN + encode_u32(Type.GET_OUTPUT, 0)
    answers, said = talk(tmp_path, core, files, sent + encode(Type.QUIT))
    assert [a[:2] for a in answers] == [(2, 0), (4, 0), (5, 0)] * 2 + [(9, 0)] and said == ""
    assert answers[2][2] == answers[5][2] == link_models.reference(INPUT)


def test_the_end_of_its_input_ends_the_runner(tmp_path):
    answers, said = talk(tmp_path, "cortex-m3", linked("cortex-m3"), RUN[:-2])
    assert [a[:2] for a in answers] == [(2, 0)] and said == ""


@pytest.mark.parametrize("core, words", [
    ("cortex-m0plus", "runner: hard fault"),
    ("cortex-m3", "past the end of the arena: byte 192 of 192, at instruction"),
    ("cortex-m55", "past the end of the arena: byte 192 of 192, at instruction"),
    ("rv32imc", "store access fault: access past the end of the arena: byte 192 of"),
])
def test_a_write_past_the_arena_is_a_fault_that_is_named(tmp_path, core, words):
    files = linked(core, last="spill", spill=192 - 64)
    answers, said = talk(tmp_path, core, files, RUN, code=86)
    assert [a[:2] for a in answers] == [(2, 0)] and words in said


def test_an_overrun_stack_is_a_fault_that_is_named(tmp_path, monkeypatch):
    deep = ("volatile int8_t t[40000]; int32_t i; (void)args; (void)begin; (void)w;"
            "for (i = 0; i < 40000; i++) t[i] = x[0]; y[0] = t[end];")
    monkeypatch.setitem(link_models.KERNELS, "flip", deep)
    for core in ("cortex-m4f", "rv32imc"):
        _, said = talk(tmp_path, core, linked(core), RUN, code=86)
        assert "the stack overflowed, at instruction 0x" in said


@pytest.mark.parametrize("frame, words", [
    (encode_u32(Type.RUN, 1), b"no clock"),
    (encode_u32(Type.PROFILE, 1), b"no clock"),
    (encode_u32(Type.PIN, 0), b"one core"),
    (encode_u32(Type.GET_OUTPUT, 0), b"no output yet"),
    (RUN + encode_u32(Type.GET_OUTPUT, 7), b"no such output"),
    (encode_u32(Type.RUN_UNTIMED, 4_000_000), b"too many runs"),
    (encode_u32(Type.SET_INPUT, 3, INPUT), b"no such input"),
    (encode_u32(Type.SET_INPUT, 0, INPUT[1:]), b"wrong input size"),
    (link_models.malformed(Type.SET_INPUT, b"ab"), b"without an index"),
    (link_models.malformed(Type.HELLO, b"abcd"), b"wrong payload size"),
    (link_models.malformed(Type.HELLO, status=1), b"must be 0"),
    (link_models.malformed(99), b"unknown request type"),
])
def test_refusals_say_why_and_the_runner_goes_on(tmp_path, frame, words):
    files = linked("cortex-m3")
    answers, _ = talk(tmp_path, "cortex-m3", files, frame + RUN + encode(Type.QUIT))
    assert answers[-4][1] == 1 and words in answers[-4][2]
    assert [a[:2] for a in answers[-3:]] == [(2, 0), (4, 0), (9, 0)]


def test_nonsense_ends_the_runner(tmp_path):
    answers, _ = talk(tmp_path, "cortex-m3", linked("cortex-m3"), b"GARBAGE GARBAGE", code=5)
    assert b"wrong magic" in answers[0][2]


def test_damaged_weights_are_noticed(tmp_path):
    files = linked("cortex-m4f")
    at = files["runner/runner"].index(link_models.WEIGHTS)
    damaged = bytearray(files["runner/runner"])
    damaged[at + 5] ^= 1
    _, said = talk(tmp_path, "cortex-m4f", {"runner/runner": bytes(damaged)}, RUN, code=3)
    assert said == "runner: the weights in flash are damaged\n"


def test_the_status_tells_the_deepest_stack(tmp_path):
    files = linked("cortex-m4f")
    answers, _ = talk(tmp_path, "cortex-m4f", files, RUN + encode(Type.STATUS) + encode(Type.QUIT))
    assert 64 < int(answers[2][2].removeprefix(b'{"stack_bytes":').rstrip(b"}")) < 400


def test_the_files_of_a_bare_metal_bundle():
    files = linked("cortex-m4f")
    assert sorted(files) == ["include/tiny.h", "lib/libtiny.a", "lib/tiny_weights.o",
                             "report/size.json", "runner/runner", "runner/serial",
                             "src/tiny.c", "src/tiny.ld", "src/tiny_weights.s"]
    elf = describe(files["runner/runner"])
    assert (elf.machine, elf.kind, elf.static) == ("arm", "executable", True)
    assert linked("cortex-m4f") == files


@pytest.mark.parametrize("core", CORES)
def test_the_program_lies_in_the_memories_of_the_target(core):
    for start, end in load_addresses(linked(core)["runner/runner"]):
        assert any(r.base <= start and end <= r.base + r.size_bytes
                   for r in get_target(core).memories)


def test_threads_are_refused():
    model = link_models.fake(get_target("cortex-m3"), Context())
    with pytest.raises(ConfigError, match="threads=2: cortex-m3 has no threads"):
        link_baremetal(model.program, model.plan, model.objects, get_target("cortex-m3"),
                       config=CompileConfig(target="cortex-m3", threads=2), context=Context(),
                       name="tiny", version="1")


def test_a_missing_compiler_is_named():
    model = link_models.fake(get_target("cortex-m3"), Context())
    with pytest.raises(ToolchainError, match="'arm-none-eabi-gdc' was not found on PATH"):
        link_baremetal(model.program, model.plan, model.objects, get_target("cortex-m3"),
                       config=CompileConfig(toolchain=("arm-none-eabi-gdc",)), context=Context(),
                       name="tiny", version="1")
