"""Boards: built-in, from files, and every way a file can be wrong."""

import pytest

from edgecc.errors import BoardError, TargetError
from edgecc.rpc.boards import built_in_boards, get_board, load_boards
from edgecc.targets import all_targets

GOOD = """
[pi5]
transport = "ssh"
target = "raspberry-pi-5"
host = "192.168.1.40"
user = "pi"
key = "keys/pi"
cpu = 3
timeout_s = 30

[bench-qemu]
transport = "emulator"
target = "raspberry-pi-5"
emulator = ["qemu-aarch64", "-cpu", "max"]
"""


def write(tmp_path, text, name="boards.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_built_in_boards_cover_host_fake_and_every_emulator():
    boards = built_in_boards()
    assert boards["host"].transport == "local" and not boards["host"].emulated
    assert boards["fake"].target == "null"
    for target in all_targets().values():
        assert (f"emulated-{target.name}" in boards) == bool(target.emulator)
    assert boards["emulated-raspberry-pi-5"].emulated
    assert boards["emulated-raspberry-pi-5"].command(["a", "b"])[-3:] == ("cortex-a76", "a", "b")


def test_file_values_and_relative_paths(tmp_path):
    path = write(tmp_path, GOOD)
    board = get_board("pi5", [path])
    assert (board.host, board.user, board.port, board.cpus) == ("192.168.1.40", "pi", 22, (3,))
    assert board.key == str(tmp_path / "keys/pi")
    assert get_board("bench-qemu", [path]).emulator == ("qemu-aarch64", "-cpu", "max")


def test_first_file_wins_and_missing_files_are_passed_over(tmp_path):
    first = write(tmp_path, GOOD)
    second = write(tmp_path, GOOD.replace("192.168.1.40", "10.0.0.1"), "user.toml")
    boards = load_boards([tmp_path / "none.toml", first, second])
    assert boards["pi5"].host == "192.168.1.40"


def test_unknown_board_offers_near_matches(tmp_path):
    with pytest.raises(BoardError, match="unknown board 'pi6'; did you mean pi5"):
        get_board("pi6", [write(tmp_path, GOOD)])
    with pytest.raises(BoardError, match="`edgecc boards` lists them"):
        get_board("@@@@", [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\nport = 2.5", r"boards.toml: \[a\]: port = 2.5 is not a whole number or a s"),
        ("[a]\ncpu = true", "cpu = True is not a whole number"),
        ("[a]\nssh_config = 1", "ssh_config = 1 is not true or false"),
        ("[a]\ntransport = 'ssh'\ntarget = 'host'\nhost = 'x'\njump = 'a@b,c'",
         "jump = 'a@b,c' is not one host; write jump = "),
        ("[a]\ntimeout_s = 'long'", "timeout_s = 'long' is not a number"),
        ("[a]\nhost = 3", "host = 3 is not a string"),
        ("[a]\nemulator = [1]", "emulator = .1. is not a list of strings"),
        ("[a]\nemulator = []", "emulator = .. is not a list of strings"),
        ("[a]\nhots = 'b'", "unknown key 'hots'; did you mean host"),
        ("[a]\nzzz = 'b'", "unknown key 'zzz'; known keys are transport"),
        ("[a]\ntarget = 'host'", "transport is missing"),
        ("[a]\ntransport = 'ssh'", "target is missing"),
        ("[a]\ntransport = 'ssh'\ntarget = 'host'", "host is missing"),
        ("[a]\ntransport = 'emulator'\ntarget = 'host'", "emulator is missing"),
        ("[a]\ntransport = 'usb'\ntarget = 'host'", "transport = 'usb' is not implemented"),
        ("[a]\ntransport = 'local'\ntarget = 'host'\nport = 70000", "port = 70000 is outside"),
        ("[a]\ntransport = 'local'\ntarget = 'host'\ncpu = -1", "cpu = -1 is outside 0 to 1023"),
        ("[a]\ntransport = 'local'\ntarget = 'host'\ncpus = [4, 1024]",
         r"cpus = \[4, 1024\] are not all from 0 to 1023"),
        ("[a]\ntransport = 'local'\ntarget = 'host'\ncpus = [4]\ncpu = 4", "both cpu and cpus"),
        ("[a]\ncpus = []", r"cpus = \[\] is not a list of whole numbers"),
        ("[a]\ncpus = [1, '2']", "is not a list of whole numbers"),
        ("[a]\ncpus = [true]", "is not a list of whole numbers"),
        ("[a]\ntransport = 'local'\ntarget = 'host'\ntimeout_s = 0", "timeout_s = 0 is not betw"),
        ("[host]\ntransport = 'local'", "'host' is a built-in board"),
        ("a = 1", "is not a board"),
        ("['../x']\ntransport = 'local'", "is not a board"),
        ("[a", "boards.toml: cannot be read"),
    ],
)
def test_wrong_files_name_file_table_and_key(tmp_path, text, message):
    with pytest.raises(BoardError, match=message):
        load_boards([write(tmp_path, text)])


def test_unknown_target_is_named(tmp_path):
    text = "[a]\ntransport = 'local'\ntarget = 'raspberry-pi-55'"
    with pytest.raises(TargetError, match="raspberry-pi-5"):
        load_boards([write(tmp_path, text)])
