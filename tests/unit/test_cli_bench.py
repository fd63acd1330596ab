"""`edgecc bench` on several boards: one table, one JSON, and nobody's results are lost."""

import json
import sys

import bundle_maker
import pytest

from edgecc.bundle import Bundle
from edgecc.cli import arguments
from edgecc.cli.console import Console
from edgecc.cli.main import main
from edgecc.errors import BoardError
from edgecc.rpc.report import Report, StepReport

BOARDS = ("emulated-rk3588", "host", "fake")


def report(name, **fields):
    return Report(board=name, target="t", architecture="aarch64", features=("neon",),
                  golden="pass", vectors=1, timing="measured", verdict="stable", count=5,
                  uploaded_bytes=1, reused_bytes=2, steps=(StepReport("s", "o", "k", "y", 1, 2.0),),
                  **fields)


@pytest.fixture
def ecb(tmp_path, monkeypatch):
    """A bundle on disk, and boards that answer: one well, one with an error, one emulated."""
    results = {
        "emulated-rk3588": report("emulated-rk3588", instructions=12345),
        "host": BoardError("caught fire", where="host", advice="call for help"),
        "fake": report("fake", p50_us=1.5, p90_us=2.0, p99_us=1234.56, peak_rss_bytes=4096,
                       spread=0.01),
    }

    def bench(self, board, **options):
        if isinstance(results[board.name], Exception):
            raise results[board.name]
        return results[board.name]

    monkeypatch.setattr(Bundle, "bench", bench)
    return bundle_maker.bundle().save(tmp_path / "b.ecb")


def cli(ecb, *words):
    return main(["bench", str(ecb), *words])


def test_one_table_and_every_boards_line(ecb, capsys):
    words = [word for name in BOARDS for word in ("--board", name)]
    assert cli(ecb, *words) == 8
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["board", "golden", "p50", "us", "p90", "us", "p99", "us",
                              "instructions", "memory", "B", "verdict"]
    assert out[1].split() == ["emulated-rk3588", "pass", "-", "-", "-", "12,345", "-", "stable"]
    assert out[2].split() == ["host", *["-"] * 6, "BoardError"]
    assert out[3].split() == ["fake", "pass", "1.5", "2.0", "1,234.6", "-", "4,096", "stable"]
    assert out[4] == "BoardError: host: caught fire; call for help" and len(out) == 5


def test_one_json_with_reports_and_errors(ecb, capsys):
    assert cli(ecb, "--board", "fake", "--board", "host", "--json") == 8
    first, second = json.loads(capsys.readouterr().out)["boards"]
    assert (first["board"], first["p50_us"]) == ("fake", 1.5)
    assert second["board"] == "host" and second["error"] == {
        "class": "BoardError", "message": "host: caught fire; call for help", "exit_code": 8,
        "what": "caught fire", "where": "host", "needed": None, "available": None,
        "advice": "call for help"}


def test_all_well_is_code_0(ecb, capsys):
    assert cli(ecb, "--board", "fake", "--board", "emulated-rk3588", "--profile") == 0
    assert capsys.readouterr().out.count("golden    1 of 1 vectors") == 2


def test_one_board_is_as_ever(ecb, capsys):
    assert cli(ecb, "--board", "fake", "--json") == 0
    assert json.loads(capsys.readouterr().out)["board"] == "fake"
    assert cli(ecb, "--board", "host") == 8
    assert "error: BoardError: host: caught fire" in capsys.readouterr().err


def test_an_unknown_board_stops_before_anything_runs(ecb, capsys):
    assert cli(ecb, "--board", "fake", "--board", "none") == 8
    printed = capsys.readouterr()
    assert printed.out == "" and "unknown board" in printed.err


def test_pages_show_one_board(ecb, tmp_path, capsys):
    assert cli(ecb, "--board", "fake", "--board", "host", "--html", str(tmp_path / "x.html")) == 2
    assert "--html and --trace show one board" in capsys.readouterr().err


# Passwords


def test_secrets_are_asked_for_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert arguments.asking(Console()) is None
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda prompt: f"typed after {prompt}")
    assert arguments.asking(Console())("me: ") == "typed after me: "


def test_a_prompt_that_is_left(monkeypatch):
    def left(prompt):
        raise EOFError

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", left)
    with pytest.raises(BoardError, match="me's password: nothing was typed"):
        arguments.asking(Console())("me's password: ")
