"""RunnerClient: speaks the runner protocol to a process on a board that is not trusted."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from edgecc.errors import BoardError
from edgecc.rpc.protocol import (
    MAX_TEXT_BYTES,
    VERSION,
    Frame,
    Type,
    encode,
    encode_pin,
    encode_u32,
    read_frame,
    unpack_u64,
)
from edgecc.rpc.transport import Process

ABI_MAJOR = 1
MAX_COUNT = 100_000
"""Runs asked for in one frame: bounds what an answer may hold."""


@dataclass(frozen=True)
class Hello:
    """What the runner says it is."""

    protocol: tuple[int, int]
    abi: tuple[int, int]
    model: str
    arena_bytes: int
    weights_bytes: int
    weights_crc32: int
    inputs: int
    outputs: int
    steps: tuple[str, ...]


class RunnerClient:
    """One runner. Use it in a `with`: the process never outlives the block.

    `timeout_s` bounds every answer. Every method raises BoardError with the runner's own words
    when it refuses, dies, hangs or answers nonsense.
    """

    def __init__(self, process: Process, where: str, timeout_s: float):
        self._process, self._where, self._timeout_s = process, where, timeout_s

    def __enter__(self) -> RunnerClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.close()

    def hello(self) -> Hello:
        """Asks for versions and sizes, and refuses versions that edgecc does not speak."""
        payload = self._ask(Type.HELLO, encode(Type.HELLO), MAX_TEXT_BYTES)
        try:
            hello = _parse_hello(json.loads(payload))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BoardError(f"HELLO answered {payload[:120]!r}: {error!r}",
                             where=self._where) from error
        for name, have, need in (("runner protocol", hello.protocol, VERSION[0]),
                                 ("C ABI", hello.abi, ABI_MAJOR)):
            if have[0] != need:
                raise BoardError(f"the runner has another {name}", where=self._where,
                                 needed=f"{need}.x", available=f"{have[0]}.{have[1]}",
                                 advice="compile the bundle anew with this edgecc")
        return hello

    def set_input(self, index: int, data: bytes) -> None:
        """Gives input `index` its bytes, for this and every later run."""
        self._ask(Type.SET_INPUT, encode_u32(Type.SET_INPUT, index, data), 0)

    def run(self, count: int = 1) -> list[int]:
        """Runs `count` times; nanoseconds of each run."""
        payload = self._ask(Type.RUN, encode_u32(Type.RUN, _checked(count)), 8 * count)
        return unpack_u64(payload, count, self._where)

    def run_untimed(self, count: int) -> None:
        """Runs `count` times in a bare loop."""
        self._ask(Type.RUN_UNTIMED, encode_u32(Type.RUN_UNTIMED, _checked(count)), 0)

    def get_output(self, index: int, size_bytes: int) -> bytes:
        """Output `index`, which must have exactly `size_bytes`."""
        data = self._ask(Type.GET_OUTPUT, encode_u32(Type.GET_OUTPUT, index), size_bytes)
        if len(data) != size_bytes:
            raise BoardError(f"output {index} has another size than the bundle says",
                             where=self._where, needed=f"{size_bytes:,} B",
                             available=f"{len(data):,} B")
        return data

    def profile(self, count: int, steps: int) -> list[int]:
        """Nanoseconds per step, summed over `count` runs."""
        payload = self._ask(Type.PROFILE, encode_u32(Type.PROFILE, _checked(count)), 8 * steps)
        return unpack_u64(payload, steps, self._where)

    def status(self) -> dict[str, Any]:
        """Peak memory and affinity, as the runner says it."""
        payload = self._ask(Type.STATUS, encode(Type.STATUS), MAX_TEXT_BYTES)
        try:
            answer = json.loads(payload)
        except (ValueError, RecursionError) as error:
            raise BoardError(f"STATUS answered {payload[:120]!r}", where=self._where) from error
        return answer if isinstance(answer, dict) else {}

    def pin(self, cpus: Sequence[int]) -> None:
        """Keeps the runner's threads on these cores, one after the other."""
        self._ask(Type.PIN, encode_pin(cpus), 0)

    def quit(self) -> None:
        """Ends the runner and checks that it went in peace."""
        self._ask(Type.QUIT, encode(Type.QUIT), 0)
        if self._process.wait(self._timeout_s) != 0:
            raise self._died("QUIT")

    def _ask(self, type: Type, frame: bytes, limit_bytes: int) -> bytes:
        try:
            self._process.write(frame)
            answer = read_frame(self._reader(), limit_bytes, self._where)
        except EOFError as error:
            raise self._died(type.name) from error
        except BoardError as error:
            raise self._explained(type.name, error) from error
        return self._check(type, answer)

    def _reader(self) -> Callable[[int], bytes]:
        deadline = time.monotonic() + self._timeout_s

        def read_exactly(size: int) -> bytes:
            parts = bytearray()
            while len(parts) < size:
                left = max(deadline - time.monotonic(), 1e-3)
                try:
                    data = self._process.read(size - len(parts), left)
                except BoardError as error:
                    if time.monotonic() < deadline:
                        raise
                    raise BoardError(f"did not answer within {self._timeout_s:.3g} s",
                                     where=self._where, advice=error.advice) from error
                if not data:
                    raise EOFError
                parts += data
            return bytes(parts)

        return read_exactly

    def _check(self, type: Type, answer: Frame) -> bytes:
        if answer.type != type:
            raise BoardError(f"{type.name} was answered by a frame of type {answer.type}",
                             where=self._where)
        if answer.status:
            words = answer.payload.decode(errors="replace").strip()
            raise BoardError(f"the runner refused {type.name}: {words[:500]}", where=self._where)
        return answer.payload

    def _explained(self, doing: str, error: BoardError) -> BoardError:
        """The same error with what was being done; a runner that died meanwhile explains more."""
        nonsense = "frame" in error.what or "connection" in error.what
        if not nonsense and self._process.wait(0.2) is not None:
            return self._died(doing)
        return BoardError(f"{doing}: {error.what}{self._said()}", where=self._where,
                          needed=error.needed, available=error.available, advice=error.advice)

    def _died(self, doing: str) -> BoardError:
        code = self._process.wait(2.0)
        end = "closed its output" if code is None else f"ended with {_exit_words(code)}"
        return BoardError(f"the runner {end} during {doing}{self._said()}", where=self._where,
                          advice="`edgecc verify` checks the bundle; dmesg may tell why")

    def _said(self) -> str:
        words = self._process.stderr().decode(errors="replace").split("\n")
        said = " / ".join(line.strip() for line in words if line.strip())
        return f"; it said: {said[-500:]}" if said else ""


def _exit_words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}" if code != -1 else "a signal"
    except ValueError:
        return f"signal {-code}"


def _checked(count: int) -> int:
    if not 0 < count <= MAX_COUNT:
        raise BoardError(f"cannot run {count} times", needed="at least 1",
                         available=f"{MAX_COUNT:,}")
    return count


def _parse_hello(answer: Any) -> Hello:
    def version(key: str) -> tuple[int, int]:
        major, minor = answer[key]
        return int(major), int(minor)

    return Hello(
        protocol=version("protocol"), abi=version("abi"), model=str(answer["model"]),
        arena_bytes=int(answer["arena_bytes"]), weights_bytes=int(answer["weights_bytes"]),
        weights_crc32=int(answer["weights_crc32"]), inputs=_count(answer["inputs"]),
        outputs=_count(answer["outputs"]), steps=tuple(map(str, answer["steps"])),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) else len(value)


def request_bytes(inputs: list[bytes], count: int) -> bytes:
    """A whole conversation for a runner that reads a file: inputs, untimed runs, the end.

    One frame per run: inputs are restored at the start of each, so all runs do the same work.
    """
    frames = [encode_u32(Type.SET_INPUT, i, data) for i, data in enumerate(inputs)]
    return b"".join([*frames, *[encode_u32(Type.RUN_UNTIMED, 1)] * count, encode(Type.QUIT)])
