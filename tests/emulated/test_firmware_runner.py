"""Programs on a bare chip that do not answer as a runner does: one clear error, and no emulator
that outlives it."""

import dataclasses
from pathlib import Path

import pipeline_models
import pytest

import edgecc
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import BoardError
from edgecc.link.firmware import firmware
from edgecc.link.toolchain import driver_for
from edgecc.lower.runner_glue import runtime_text
from edgecc.rpc import bench
from edgecc.rpc.boards import get_board
from edgecc.targets import get_target

pytestmark = pytest.mark.emulated
CHIPS = {"cortex-m3": "start_arm.c", "rv32imc": "start_riscv.c"}
TALK = """
#include "baremetal.h"
#include "semihost.h"
static void answer(const char *text, size_t n) {
  edgecc_move(SYS_WRITE, edgecc_open("/dev/stdout", OPEN_APPEND), (uintptr_t)text, n);
}
"""
PROGRAMS = {
    "is mute": ("for (;;) {}", "HELLO: did not answer within 1.5 s"),
    "speaks garbage": (r'answer("Welcome to my board\r\n", 21); for (;;) {}',
                       "HELLO: answered b'Welcome to m', which is no frame"),
    "stops half way": (r'answer("ECC1\1\0\0\0\xff\0\0\0{", 13); for (;;) {}',
                       "HELLO: did not answer within 1.5 s"),
    "never ends": ('for (;;) answer("ECC1", 4);', "HELLO"),
    "promises too much": (r'answer("ECC1\1\0\0\0\xff\xff\xff\xff", 12); for (;;) {}',
                          "larger than its question allows"),
    "leaves": ('edgecc_say("out of order\\n"); edgecc_leave(7);',
               "ended with exit code 7 during HELLO; it said: out of order"),
    "crashes": ("*(volatile uint32_t *)edgecc_ram_end = 1;",
                "ended with exit code 86 during HELLO; it said: runner: .*past the end"),
}


@pytest.fixture(scope="module")
def bundles():
    return {chip: edgecc.compile(pipeline_models.network(), target=chip, name="net")
            for chip in CHIPS}


def program(bundle, chip, body):
    """The bundle's files, with another program in place of the runner."""
    driver = driver_for(get_target(chip), CompileConfig(target=chip), Context())
    headers = {n: runtime_text(f"baremetal/{n}") for n in ("baremetal.h", "semihost.h")}
    sources = {n: runtime_text(f"baremetal/{n}") for n in (CHIPS[chip], "console.c", "words.c")}
    sources["main.c"] = f"{TALK}void edgecc_main(void) {{ {body} }}\n"
    objects = {f"{n}.o": driver.compile(n, {n: text, **headers}) for n, text in sources.items()}
    made = firmware(driver, objects, bundle.files["src/net.ld"].decode(), [])
    return {**bundle.files, "runner/runner": made}


def running(folder):
    """Command lines of processes that name something in the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:  # ended meanwhile
            continue
        if str(folder).encode() in words:
            found.append(words)
    return found


@pytest.mark.parametrize("chip, manner", [
    *[("cortex-m3", manner) for manner in PROGRAMS],
    *[("rv32imc", manner) for manner in ("speaks garbage", "leaves", "crashes")]])
def test_one_clear_error_and_no_process(bundles, tmp_path, chip, manner):
    bundle, (body, words) = bundles[chip], PROGRAMS[manner]
    board = dataclasses.replace(get_board(f"emulated-{chip}"), timeout_s=1.5)
    with pytest.raises(BoardError, match=words) as caught:
        bench.run_many(program(bundle, chip, body), bundle.manifest, board,
                       [[bytes(port["bytes"]) for port in bundle.manifest["inputs"]]],
                       context=Context(cache_dir=tmp_path))
    assert caught.value.where == f"emulated-{chip}" and "\n" not in str(caught.value)
    assert running(tmp_path) == []
