"""Chips at a serial line: QEMU's boards behind a pseudo-terminal, with every UART that it has."""

import json
from dataclasses import replace

import link_models
import pipeline_models
import pytest
from serial_chip import chip
from test_link_baremetal import INPUT, RUN, linked, talk

import edgecc
from edgecc.cli.main import main
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import BoardError, TargetError
from edgecc.link import baremetal
from edgecc.link.serial_board import IDENTITY, serial_header
from edgecc.link.toolchain import driver_for
from edgecc.lower.runner_glue import runtime_text
from edgecc.rpc import bench
from edgecc.rpc.protocol import Type, encode, encode_u32
from edgecc.rpc.runner_client import RunnerClient
from edgecc.rpc.transport import open_transport
from edgecc.rpc.transport import serial as transport
from edgecc.targets import get_target
from edgecc.targets.target import Region

pytestmark = pytest.mark.emulated
# the machine's serial port where it is not the first
CHIPS = {"cortex-m0plus": 0, "cortex-m4f": 0, "cortex-m7": 0, "cortex-m33": 0, "cortex-m55": 0,
         "rv32imc": 0, "rv32imafc": 0, "stm32f407": 1}


def infer(board, folder):
    """The model's answer, over one session."""
    with open_transport(board, folder) as way, RunnerClient(way.run([]), "desk", 20.0) as client:
        assert client.hello().model == "tiny"
        client.set_input(0, INPUT)
        client.run_untimed(1)
        answer = client.get_output(0, link_models.SIZE)
        with pytest.raises(BoardError, match="the runner refused RUN: this runner has no clock"):
            client.run(1)
        assert client.status().keys() == {"stack_bytes"}
        client.quit()
    return answer


@pytest.mark.parametrize("name", CHIPS)
def test_every_uart_gives_the_models_bytes(tmp_path, name):
    files = linked(name)
    with chip(name, files["runner/serial"], tmp_path, port=CHIPS[name]) as board:
        for _ in range(2):  # a second session begins the program anew
            assert infer(board, tmp_path) == link_models.reference(INPUT)


def test_the_uart_of_an_nrf_chip(tmp_path, monkeypatch):
    """QEMU has no nRF52840: an nRF51 has the same UART at the same address."""
    own, m0 = get_target("nrf52840"), get_target("cortex-m0plus")
    small = replace(m0, name="nrf51", serial=replace(own.serial, core_hz=None),
                    emulator=("qemu-system-arm", "-M", "microbit"),
                    memories=(Region("flash", 256 << 10, base=0, may_hold=("code", "weights")),
                              Region("ram", 16 << 10, base=0x20000000, may_hold=("arena",))))
    monkeypatch.setattr(baremetal, "UNKNOWN_STACK_BYTES", 4096)
    for module in ("test_link_baremetal.get_target", "serial_chip.get_target"):
        monkeypatch.setattr(module, lambda name: small)
    with chip("nrf51", linked("cortex-m0plus")["runner/serial"], tmp_path) as board:
        assert infer(replace(board, target="cortex-m0plus"), tmp_path) == link_models.reference(
            INPUT)


class Spoiled:
    """A port that changes, in both directions, one byte of every 700."""

    def __init__(self, port):
        self.port, self.count = port, 0

    def spoil(self, data):
        made = bytearray(data)
        for at in range(len(made)):
            self.count += 1
            made[at] ^= 0x20 if self.count % 700 == 0 else 0
        return bytes(made)

    def write(self, data):
        self.port.write(b"\xec\x1aD" + self.spoil(data))  # and what looks like a packet before it

    def read(self):
        return self.spoil(self.port.read())

    def close(self):
        self.port.close()


def test_a_chip_lives_with_noise(tmp_path, monkeypatch):
    own = transport.SerialPort
    monkeypatch.setattr(transport, "SerialPort", lambda board: Spoiled(own(board)))
    with chip("cortex-m4f", linked("cortex-m4f")["runner/serial"], tmp_path) as board:
        assert infer(board, tmp_path) == link_models.reference(INPUT)


@pytest.mark.parametrize("name", ["cortex-m3", "rv32imc"])
def test_a_fault_is_named_and_the_next_session_works(tmp_path, name):
    files = linked(name, last="spill", spill=192 - 64)
    with chip(name, files["runner/serial"], tmp_path) as board:
        for _ in range(2):
            with open_transport(board, tmp_path) as way, RunnerClient(
                    way.run([]), "desk", 20.0) as client:
                client.set_input(0, INPUT)
                with pytest.raises(BoardError, match="ended with exit code 86 during RUN_UNTIMED; "
                                   "it said: runner: .*past the end of the arena: byte 192"):
                    client.run_untimed(1)


CLOCKED = """uint32_t edgecc_clock_hz(void) { return 3000; }

uint32_t edgecc_cycles(void) {
  static uint32_t now = 0xFFFFFFF0u;
  return now += 7;
}
"""


def test_cycles_become_nanoseconds(tmp_path, monkeypatch):
    """A clock of 3 kHz that moves by seven cycles whenever it is read, and wraps."""
    def text(name):
        found = runtime_text(name)
        return (found.split("uint32_t edgecc_clock_hz")[0] + CLOCKED
                if name == "baremetal/line_semihost.c" else found)

    monkeypatch.setattr(baremetal, "runtime_text", text)
    for name in ("cortex-m0plus", "rv32imc"):
        sent = (RUN + encode_u32(Type.RUN, 40) + encode_u32(Type.PROFILE, 5)
                + encode(Type.STATUS) + encode(Type.QUIT))
        answers, said = talk(tmp_path, name, linked(name), sent)
        assert said == "" and [a[:2] for a in answers] == [
            (2, 0), (4, 0), (3, 0), (6, 0), (7, 0), (9, 0)]
        assert answers[2][2] == (7 * 10**9 // 3000).to_bytes(8, "little") * 40
        assert set(zip(*[iter(answers[3][2])] * 8, strict=True)) == {
            tuple((5 * 7 * 10**9 // 3000).to_bytes(8, "little"))}
        assert json.loads(answers[4][2])["clock_hz"] == 3000


def test_bench_measures_a_board_at_a_serial_port(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bundle = edgecc.compile(pipeline_models.network(), target="cortex-m4f", name="net")
    bundle.save("net.ecb")
    with chip("cortex-m4f", bundle.files["runner/serial"], tmp_path) as board:
        (tmp_path / "boards.toml").write_text(
            f'[desk]\ntransport = "serial"\ntarget = "mps2-an386"\nport = "{board.line}"\n')
        assert main(["bench", "net.ecb", "--board", "desk", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["golden"], found["timing"], found["p50_us"]) == ("pass", "not measured", None)
        assert found["verdict"] == "not measured: the chip has no cycle counter that runs"
        assert main(["boards"]) == 0
        assert f"{board.line} at 115,200 baud" in capsys.readouterr().out
        program = bundle.files["runner/serial"]
        at = program.index(IDENTITY.encode()) + len(IDENTITY)
        other = {**bundle.files, "runner/serial": program[:at] + bytes(16 * [48])
                 + program[at + 16 :]}
        with pytest.raises(BoardError, match="holds another program than the bundle's; flash /.*/"
                           "net-[0-9a-f]{16}.elf onto the board"):
            bench.bench(other, bundle.manifest, board, context=Context(cache_dir=tmp_path))


@pytest.mark.parametrize("name", ["cortex-m0plus", "stm32f407", "stm32h743", "nrf52840",
                                  "rv32imc"])
def test_the_lines_of_every_uart_compile_without_warnings(name):
    target = get_target(name)
    driver = driver_for(target, CompileConfig(target=name), Context())
    files = {n: runtime_text(f"baremetal/{n}") for n in (
        "baremetal.h", "line.h", "semihost.h", "uart.h", "serial.c", "line_semihost.c",
        "arithmetic.c", "words.c", "console.c", "runner.c")}
    files |= {"serial_board.h": serial_header(target.serial, "0" * 16),
              "runner_model.h": runtime_text("runner_model.h")}
    for source in (n for n in files if n.endswith(".c")):
        driver.compile(source, files, "-Wall", "-Wextra", "-Werror", "-Wconversion", "-pedantic",
                       "-DINPUT_ROOM=4u", "-DSTEP_ROOM=4u")


def test_a_uart_without_a_driver_is_an_error():
    with pytest.raises(TargetError, match="serial: no driver for a UART of kind 'lin' .needed one "
                       "that is known, available cmsdk, 16550, .*; correct the target's `serial`"):
        serial_header(replace(get_target("nrf52840").serial, kind="lin"), "")
