"""The runner client against a runner that misbehaves, over the local transport."""

import dataclasses
import os
import time

import pytest
import rpc_fake_runner as fake

from edgecc.errors import BoardError
from edgecc.rpc.boards import get_board
from edgecc.rpc.runner_client import RunnerClient
from edgecc.rpc.transport.local import LocalTransport

BOARD = dataclasses.replace(get_board("host"), timeout_s=20)


@pytest.fixture
def talk(tmp_path):
    """Starts a fake runner with given manners; every process must be gone afterwards."""
    started = []

    def start(timeout_s=20.0, **manners):
        board = dataclasses.replace(BOARD, timeout_s=timeout_s)
        transport = LocalTransport(board, tmp_path)
        files = fake.files(**manners)
        transport.put(files["runner/runner"], f"{tmp_path}/runner", executable=True)
        transport.put(files["weights.bin"], f"{tmp_path}/weights")
        process = transport.run([f"{tmp_path}/runner", f"{tmp_path}/weights"])
        started.append(process._child)
        return RunnerClient(process, "desk", timeout_s)

    yield start
    assert all(child.poll() is not None for child in started)


def test_a_whole_conversation(talk):
    with talk() as client:
        hello = client.hello()
        assert (hello.inputs, hello.outputs, hello.steps) == (1, 1, ("first", "second"))
        client.set_input(0, bytes(16))
        client.run_untimed(3)
        assert client.get_output(0, 16) == b"\xff" * 16
        assert client.run(5) == [1000] * 5
        assert client.profile(10, 2) == [6000, 4000]
        assert client.status() == {"peak_rss_bytes": 4096, "cpu": [0]}
        client.pin((0,))
        client.quit()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("crash", "ended with signal SIGABRT during RUN; it said: runner starts / about to crash"),
        ("exit", "ended with exit code 3 during RUN; it said: runner starts / giving up"),
        ("garbage", "answered b'Welcome to m', which is no frame"),
        ("oversize", "larger than its question allows.*4,294,967,295 B, available 8 B"),
        ("long error", "larger than its question allows.*available 1,048,576 B"),
        ("refuse", "the runner refused RUN: no, thank you"),
        ("short", "another number of figures than asked"),
        ("half", "ended with exit code 7 during RUN"),
        ("other type", "RUN was answered by a frame of type 77"),
    ],
)
def test_misbehaviour_is_told_as_it_is(talk, how, message):
    with talk(RUN=how) as client, pytest.raises(BoardError, match=f"desk: .*{message}"):
        client.hello()
        client.run(1)


def test_a_hang_is_noticed_and_the_runner_ended(talk):
    began = time.monotonic()
    with talk(timeout_s=0.5, RUN="hang") as client:
        with pytest.raises(BoardError, match="RUN: did not answer within 0.5 s"):
            client.run(1)
        pid = client._process._child.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert time.monotonic() - began < 10


def test_a_runner_that_stops_reading_is_noticed(talk):
    with talk(timeout_s=0.5, RUN="hang") as client:
        client.hello()
        client._process.write(b"ECC1\x03\0\0\0\4\0\0\0\1\0\0\0")
        with pytest.raises(BoardError, match="SET_INPUT: did not answer within 0.5 s"):
            client.set_input(0, bytes(1 << 20))


@pytest.mark.parametrize(
    ("manners", "message"),
    [
        ({"hello": {"protocol": [2, 0]}}, "another runner protocol .needed 1.x, available 2.0"),
        ({"hello": {"abi": [3, 1]}}, "another C ABI .needed 1.x, available 3.1"),
        ({"hello": {"steps": None}}, "HELLO answered"),
        ({"HELLO": "text"}, "HELLO answered b'.not json"),
    ],
)
def test_hello_is_checked(talk, manners, message):
    with talk(**manners) as client, pytest.raises(BoardError, match=message):
        client.hello()


def test_a_newer_minor_version_is_welcome(talk):
    with talk(hello={"protocol": [1, 7]}) as client:
        assert client.hello().protocol == (1, 7)


def test_outputs_of_another_size_are_refused(talk):
    with talk() as client, pytest.raises(BoardError, match="output 0 has another size"):
        client.get_output(0, 17)


def test_status_must_be_json(talk):
    with talk(STATUS="text") as client, pytest.raises(BoardError, match="STATUS answered"):
        client.status()


def test_a_bad_end_is_told(talk):
    with talk(exit=9) as client, pytest.raises(BoardError, match="exit code 9 during QUIT"):
        client.quit()


def test_counts_are_bounded(talk):
    with talk() as client, pytest.raises(BoardError, match="cannot run 0 times"):
        client.run(0)
