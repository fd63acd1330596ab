"""Boards at a serial port: a line that loses and spoils bytes, and everything that goes wrong."""

import dataclasses
import errno
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serial_fake import ELF, NAME, chip

from edgecc.errors import BoardError
from edgecc.rpc.board import Board
from edgecc.rpc.boards import get_board
from edgecc.rpc.runner_client import RunnerClient
from edgecc.rpc.transport import open_transport
from edgecc.rpc.transport import serial as transport
from edgecc.rpc.transport import serial_line as line

pytest.importorskip("serial", reason="needs pyserial")


def board(path, **site):
    return dataclasses.replace(Board("desk", "serial", "stm32f407", line=path, baud=115_200,
                                     timeout_s=5.0, connect_timeout_s=5.0), **site)


def upside_down(came):
    """Inverts what came in; ends after a zero."""
    return bytes(255 - b for b in came), b"", 7 if b"\0" in came else None


def opened(path, folder, **site):
    return open_transport(board(path, **site), folder)


class Spoiling:
    """Loses, changes and adds bytes, the same every time: about one in `rate`."""

    def __init__(self, rate):
        self.random, self.rate = random.Random(5), rate

    def __call__(self, data):
        made = bytearray()
        for byte in data:
            luck = self.random.randrange(3 * self.rate)
            made += (b"" if luck == 0 else bytes([byte ^ 16]) if luck == 1
                     else bytes([byte, 0xEC]) if luck == 2 else bytes([byte]))
        return bytes(made)


packets = st.builds(line.Packet, st.integers(0, 255), st.integers(0, 255),
                    st.binary(max_size=line.ROOM))


@given(st.lists(packets, max_size=4), st.integers(1, 300), st.binary(max_size=30))
def test_packets_come_whole_out_of_any_pieces(sent, size, noise):
    noise = noise.replace(b"\xec", b"")  # the start of a packet would hide what follows
    stream = b"".join(noise + line.encode(p.kind, p.number, p.payload) for p in sent)
    decoder, found = line.Decoder(), []
    for at in range(0, len(stream), size):
        found += decoder.feed(stream[at : at + size])
    assert found == sent


@given(packets, st.data())
def test_a_damaged_packet_is_none(packet, data):
    whole = bytearray(line.encode(packet.kind, packet.number, packet.payload))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert line.Decoder().feed(bytes(whole) + line.FLUSH) == []


@pytest.mark.parametrize("rate", [None, 1000])
def test_bytes_go_and_come_back_over_any_line(tmp_path, rate, monkeypatch):
    monkeypatch.setattr(line, "FIRST_WAIT_S", 0.03)
    sent = bytes(range(1, 256)) * 4
    manner = {"spoil": Spoiling(rate)} if rate else {}
    with chip(upside_down, **manner) as (_, path), opened(path, tmp_path) as way:
        process = way.run([])
        process.write(sent)
        got = bytearray()
        while len(got) < len(sent):
            got += process.read(400)
        assert bytes(got) == bytes(255 - b for b in sent)
        assert process.wait(0.05) is None
        process.write(b"\0")
        assert process.read(9) == b"\xff" and process.read(9) == b""
        assert process.wait() == 7


def test_words_and_the_end_of_a_program_reach_whoever_asked(tmp_path):
    def program(came):
        return b"", b"runner: bus fault\n" if came else b"", 86 if came else None

    with chip(program) as (_, path), opened(path, tmp_path) as way, pytest.raises(
            BoardError, match="ended with exit code 86 during HELLO; it said: runner: bus fault"):
        RunnerClient(way.run([]), "desk", 5.0).hello()


def test_a_busy_chip_is_asked_for_its_output_first(tmp_path):
    with chip() as (made, path), opened(path, tmp_path) as way:
        process = way.run([])
        made.answers = {line.DATA: (line.BUSY, b""), line.ASK: (line.SENT, b"x")}
        with pytest.raises(BoardError, match="stopped reading what it is sent"):
            process._give(b"abc", 0.0)
        assert process.read(9) == b"x"


@pytest.mark.parametrize("answers, act", [
    ({line.DATA: (line.SENT, b"x")}, lambda p: p.write(b"a")),
    ({line.ASK: (line.TAKEN, b"")}, lambda p: p.read(1)),
    ({line.ASK: (line.ENDED, b"")}, lambda p: p.read(1)),
    ({line.ASK: (line.NONE, b"x")}, lambda p: p.read(1)),
])
def test_answers_that_nobody_asked_for(tmp_path, answers, act):
    with chip() as (made, path), opened(path, tmp_path) as way:
        process = way.run([])
        made.answers = answers
        with pytest.raises(BoardError, match="desk: answered with a frame of kind .* nobody"):
            act(process)


def test_a_chip_that_hangs_is_given_up(tmp_path):
    with chip() as (made, path), opened(path, tmp_path, timeout_s=0.4) as way:
        process = way.run([])
        with pytest.raises(BoardError, match="did not answer within 0.3 s"):
            process.read(1, 0.3)  # it answers, and has nothing
        made.answers = {line.DATA: (None, b""), line.ASK: (None, b"")}
        with pytest.raises(BoardError, match="desk: did not answer within 0.4 s; raise timeout_s"):
            process.write(b"a")
        assert process.wait(0.1) is None
        process.close_stdin(), process.kill()


@pytest.mark.parametrize("name, words", [
    (None, "desk: no program answers on /dev/pts/[0-9]+ at 115,200 baud; flash .*/net-0123456789ab"
     r"cdef.elf onto the board, or give it a command that does: flash = \[\"openocd\""),
    (b"edgecc-program:ffffffffffffffff", "desk: holds another program than the bundle's; flash "),
])
def test_without_a_command_the_file_to_flash_is_named(tmp_path, name, words):
    with chip(name=lambda: name) as (_, path), opened(
            path, tmp_path, connect_timeout_s=0.3) as way:
        with pytest.raises(BoardError, match=words) as caught:
            way.install(ELF, "net")
        file = Path(str(caught.value).split("flash ")[1].split(" onto")[0])
        assert file.read_bytes() == ELF


def flashing(folder, body):
    """A command that flashes, and the chip's name after it."""
    script = folder / "flash.py"
    script.write_text(f"import sys, pathlib\nelf = pathlib.Path(sys.argv[1])\n{body}")
    made = folder / "flashed"
    return ((sys.executable, str(script), "{elf}", str(made)),
            lambda: made.read_bytes() if made.exists() else b"edgecc-program:eeeeeeeeeeeeeeee")


def test_a_board_is_flashed_once(tmp_path):
    body = "pathlib.Path(sys.argv[2]).write_bytes(elf.read_bytes()[24:55])"
    command, name = flashing(tmp_path, body)
    with chip(name=name) as (_, path), opened(path, tmp_path, flash=command) as way:
        assert name() != NAME
        assert [way.install(ELF, "net")[1] for _ in range(2)] == [True, False]
        assert name() == NAME


@pytest.mark.parametrize("body, words", [
    ("", "desk: was flashed, and still holds another program; flash must write"),
    ("sys.exit('no probe\\nfound')", r"could not flash the board .exit code 1.: no probe / found"),
    ("sys.exit(3)", "exit code 3.: it said nothing"),
    ("import time; time.sleep(20)", "did not end within 1 s; run it by hand: "),
])
def test_flashing_that_fails(tmp_path, monkeypatch, body, words):
    monkeypatch.setattr(transport, "FLASH_TIMEOUT_S", 1.0)
    command, name = flashing(tmp_path, body)
    with chip(name=name) as (_, path), opened(path, tmp_path, flash=command) as way, pytest.raises(
            BoardError, match=words):
        way.install(ELF, "net")


def test_commands_that_cannot_flash(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o700)
    for tool, words in (("no-such-tool", "no-such-tool is not installed, which flash of the"),
                        (str(broken), "cannot start .*/broken: No such file")):
        with pytest.raises(BoardError, match=words):
            transport.flash(board("x", flash=(tool, "{elf}")), "a.elf")


def test_a_program_without_a_name_is_refused():
    with pytest.raises(BoardError, match="does not say which one it is; compile the bundle anew"):
        transport.identity_of(b"\x7fELF", board("x"))


def test_ports_that_cannot_be_had(tmp_path, monkeypatch):
    import serial

    with pytest.raises(BoardError, match="desk: the port does not exist .needed /dev/ttyACM99, "
                       "available .*; plug the board in, or correct its port"):
        opened("/dev/ttyACM99", tmp_path).run([])
    with chip() as (_, path), serial.Serial(path, exclusive=True), pytest.raises(
            BoardError, match="is in use by another program; end that"):
        opened(path, tmp_path).run([])

    def refusing(*_, **__):
        raise serial.SerialException(errno.EACCES, "denied")

    monkeypatch.setattr(serial, "Serial", refusing)
    for path, group in (("/dev/null", "root"), ("/dev/ttyACM99", "often dialout")):
        with pytest.raises(BoardError, match=f"no permission to use {path}; join .*, {group}, "):
            opened(path, tmp_path).run([])
    monkeypatch.undo()
    with chip() as (_, path), pytest.raises(BoardError, match="cannot open .* at -1 baud: Not a"):
        opened(path, tmp_path, baud=-1).run([])


def test_pyserial_is_asked_for_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(BoardError, match="pyserial is not installed.*pip install 'edgecc.se"):
        opened("/dev/ttyACM0", tmp_path).run([])


@pytest.mark.parametrize("act", [lambda p: p.read(1, 5.0), lambda p: p.write(b"abc")])
def test_a_board_that_is_pulled_out(tmp_path, act):
    with chip() as (made, path), opened(path, tmp_path) as way:
        process = way.run([])
        made.over = True
        made.join()
        os.close(made.master)
        made.name = "unplugged"
        with pytest.raises(BoardError, match=f"desk: the connection over {path} is gone: .*plug"):
            act(process)


def test_a_chip_that_takes_nothing_does_not_answer(tmp_path):
    with chip() as (made, path), opened(path, tmp_path, timeout_s=0.5) as way:
        process = way.run([])
        made.over = True
        made.join()
        with pytest.raises(BoardError, match="did not answer within 0.5 s"):
            process.write(bytes(100_000))


TABLE = """
[desk]
transport = "serial"
target = "stm32f407"
port = "/dev/ttyACM0"
"""


def test_serial_boards_of_a_file(tmp_path):
    file = tmp_path / "boards.toml"
    file.write_text(TABLE + 'flash = ["openocd", "-c", "program {elf} verify reset exit"]\n')
    found = get_board("desk", [file])
    assert (found.line, found.baud, found.flash[0]) == ("/dev/ttyACM0", 115_200, "openocd")
    assert not found.emulated and not found.is_machine
    file.write_text(TABLE + "baud = 115200\n")
    assert get_board("desk", [file]).baud == 115_200


@pytest.mark.parametrize("change, words", [
    (lambda t: t + "baud = 9600", "speak at another baud rate .needed 115,200 baud, available 9,6"),
    (lambda t: t.replace("stm32f407", "rp2040"), "no program of rp2040 speaks over a serial line"),
    (lambda t: t.replace("stm32f407", "host"), "no program of host speaks over a serial line"),
    (lambda t: t.replace('"/dev/ttyACM0"', "22"), "port = 22 is no port of such a board"),
    (lambda t: t.replace('"serial"', '"local"'), "port = '/dev/ttyACM0' is no port of such a"),
    (lambda t: t.replace("\nport =", "\n# "), 'port is missing .transport = "serial" needs it'),
    (lambda t: t + "host = 'x'", "host is not for boards with transport = .serial."),
    (lambda t: t + "emulator = ['x']", "emulator is not for boards with transport"),
    (lambda t: t + "flash = ['openocd']", "flash does not say what to flash; put {elf} where"),
    (lambda t: t + "flash = 'openocd {elf}'", "flash = 'openocd {elf}' is not a list of strings"),
    (lambda t: "[a]\ntransport = 'local'\ntarget = 'host'\nbaud = 9600", "baud is for boards with"),
    (lambda t: "[a]\ntransport = 'local'\ntarget = 'host'\nflash = ['{elf}']", "flash is for boa"),
])
def test_wrong_tables(tmp_path, change, words):
    file = tmp_path / "boards.toml"
    file.write_text(change(TABLE))
    with pytest.raises(BoardError, match=words):
        get_board("desk", [file])
