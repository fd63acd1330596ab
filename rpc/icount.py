"""Exact instruction counts on boards emulated by QEMU, by a plug-in of our own (icount.c).

Two processes run 1 and 3 inferences of the same input, each with an empty environment and its
requests from a file. What the run function and its calls execute is the figure, and it must be
three times as much in the second. Where it cannot be had the figure is None, with the reason:
never a failure.
"""

from __future__ import annotations

import platform
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from edgecc.errors import BoardError, ToolchainError
from edgecc.rpc.deploy import Deployment, put_blob
from edgecc.rpc.probe import compile_cached
from edgecc.rpc.runner_client import request_bytes
from edgecc.rpc.transport import Transport
from edgecc.rpc.transport.base import read_all

SOURCE = Path(__file__).with_name("icount.c")
FEW, MANY = 1, 3
RESULT_BYTES = 1 << 20
OUTPUT_BYTES = 1 << 16


@dataclass(frozen=True)
class Tally:
    """What one process executed. `calls` are (callee, instructions) of the run function's calls
    in order, summed over `runs`; `own` are the run function's own instructions."""

    total: int
    runs: int
    own: int
    calls: tuple[tuple[str, int], ...] = ()
    symbols: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Counts:
    """Instructions per inference; per step in the steps' order (None: no call of its own, as for
    a copy that the compiler put inline), and per symbol. `reason` says why something is None."""

    total: int | None
    steps: tuple[int | None, ...] = ()
    symbols: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None


class _NotCounted(Exception):
    """Why there is no figure."""


def count_instructions(transport: Transport, deployment: Deployment, inputs: list[bytes],
                       run_symbol: str, step_symbols: Sequence[str], cache_dir: Path,
                       options: Sequence[str] = ()) -> Counts:
    """Counts on an emulated board; on any other, says why not. `options` are the runner's."""
    try:
        plugin = _plugin(transport, cache_dir)
        few, many = (
            _tally(transport, [deployment.runner, deployment.weights, *options],
                   request_bytes(inputs, count), plugin, run_symbol)
            for count in (FEW, MANY)
        )
        return steady_state(few, many, step_symbols)
    except (_NotCounted, BoardError, ToolchainError) as error:
        return Counts(None, (None,) * len(step_symbols), reason=str(error))


def _plugin(transport: Transport, cache_dir: Path) -> str:
    emulator = transport.board.emulator
    if not emulator or "qemu-" not in emulator[0]:
        raise _NotCounted("instructions are counted on boards emulated by QEMU")
    if sys.platform != "linux":
        raise _NotCounted(f"no counter plug-in for QEMU on {sys.platform}")
    argv = [sys.executable, "-m", "ziglang", "cc", "-O2", "-shared", "-fPIC",
            "-target", f"{platform.machine()}-linux-gnu"]
    library = compile_cached(argv, SOURCE, cache_dir / "icount", ".so")
    path, _ = put_blob(transport, library.read_bytes(), executable=True)
    if "," in path:
        raise _NotCounted(f"QEMU takes no plug-in from a folder with a comma: {path}")
    return path


def _tally(transport: Transport, runner: Sequence[str], request: bytes, plugin: str,
           run_symbol: str) -> Tally:
    """Runs one process on a request file under the plug-in."""
    stem = f"{transport.workdir}/icount-{secrets.token_hex(6)}"
    question, answer = f"{stem}.in", f"{stem}.out"
    program = transport.board.emulator[0]
    argv = list(transport.board.command(
        runner, ["-plugin", f"{plugin},out={answer},run={run_symbol}"]))
    if transport.board.transport == "ssh":
        argv = ["env", "-i", *argv]
    transport.put(request, question)
    try:
        said = _run_to_end(transport, argv, question)
        if transport.size(answer) is None:
            raise _NotCounted(f"{program} takes no counter plug-in: {said}")
        return parse_tally(transport.get(answer, RESULT_BYTES).decode(errors="replace"))
    finally:
        transport.remove(question)
        transport.remove(answer)


def _run_to_end(transport: Transport, argv: list[str], stdin_path: str) -> str:
    """The last line that the emulator said. Raises _NotCounted unless it ended well."""
    process = transport.run(argv, stdin_path=stdin_path)
    try:
        read_all(process, OUTPUT_BYTES)
        code = process.wait()
        words = process.stderr().decode(errors="replace").strip().splitlines()
    finally:
        process.close()
    said = words[-1][:300] if words else f"exit code {code}"
    if code != 0:
        raise _NotCounted(f"counting failed: {said}")
    return said


def parse_tally(text: str) -> Tally:
    """Reads what the plug-in wrote. Raises BoardError for anything else."""
    figures: dict[str, int] = {}
    calls: list[tuple[str, int]] = []
    symbols: dict[str, int] = {}
    try:
        for line in text.splitlines():
            match line.split(" ", 3):
                case ["call", index, count, name] if int(index) == len(calls):
                    calls.append((name, int(count)))
                case ["symbol", count, name]:
                    symbols[name] = symbols.get(name, 0) + int(count)
                case [("total" | "runs" | "own") as key, count]:
                    figures[key] = int(count)
                case _:
                    raise ValueError(line)
        return Tally(figures["total"], figures["runs"], figures["own"], tuple(calls), symbols)
    except (ValueError, KeyError) as error:
        raise BoardError(f"the instruction counter wrote nonsense: {error}") from error


def steady_state(few: Tally, many: Tally, step_symbols: Sequence[str]) -> Counts:
    """Figures per inference from tallies of FEW and of MANY runs of the same input."""
    nothing = (None,) * len(step_symbols)
    if (few.runs, many.runs) != (FEW, MANY):
        return Counts(None, nothing, reason="the runner has no symbol of the run function")
    total = per_run(few, many, lambda tally: tally.own + sum(n for _, n in tally.calls))
    if total is None:
        return Counts(None, nothing, reason="counts do not repeat from one run to the next")
    steps, reason = match_steps(few, many, step_symbols)
    return Counts(total, steps, _symbols(few, many), reason)


def per_run(few: Tally, many: Tally, figure: Callable[[Tally], int]) -> int | None:
    """A figure of one run; None unless every run had the same."""
    one, rest = divmod(figure(few), FEW)
    return one if not rest and figure(many) == MANY * one else None


def _symbols(few: Tally, many: Tally) -> dict[str, int]:
    """What every symbol executed more with more runs, per run."""
    more = {name: (count - few.symbols.get(name, 0)) // (MANY - FEW)
            for name, count in many.symbols.items()}
    return {name: count for name, count in more.items() if count}


def match_steps(few: Tally, many: Tally,
                step_symbols: Sequence[str]) -> tuple[tuple[int | None, ...], str | None]:
    """Instructions of every step, from the run function's calls in order; and why not."""
    nothing = (None,) * len(step_symbols)
    if [name for name, _ in few.calls] != [name for name, _ in many.calls]:
        return nothing, "no figures per step: runs call different functions"
    steps: list[int | None] = []
    at = 0
    for symbol in step_symbols:
        if at < len(many.calls) and _is_call_of(many.calls[at][0], symbol):
            steps.append(per_run(few, many, partial(_instructions, at)))
            at += 1
        else:
            steps.append(None)
    if at != len(many.calls):
        return nothing, (f"no figures per step: call {at} went to {many.calls[at][0]}, which is "
                         "not the next step's kernel")
    return tuple(steps), None


def _instructions(call: int, tally: Tally) -> int:
    return tally.calls[call][1]


def _is_call_of(callee: str, symbol: str) -> bool:
    """A copy may end in any of the C library's functions, or in one without a symbol."""
    return callee in (symbol, "?") or (symbol == "memcpy" and "mem" in callee)
