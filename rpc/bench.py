"""measure: deploy a bundle to a board, verify every golden vector, then time and count."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from edgecc.context import Context
from edgecc.errors import BoardError, BundleError
from edgecc.report.efficiency import counted, timed
from edgecc.rpc import golden, microcontroller, statistics
from edgecc.rpc.board import Board
from edgecc.rpc.deploy import Deployment, deploy
from edgecc.rpc.fit import check_fit, runner_of
from edgecc.rpc.icount import Counts, count_instructions
from edgecc.rpc.probe import BoardInfo, probe
from edgecc.rpc.report import Report, StepReport
from edgecc.rpc.runner_client import MAX_COUNT, Hello, RunnerClient
from edgecc.rpc.transport import Transport, open_transport
from edgecc.rpc.transport.base import FlashedTransport

FRAME_NS = 2_000_000_000
"""Runs are asked for in portions of about this long, so that a hang is noticed in time."""


def bench(bundle_files: Mapping[str, bytes], manifest: Mapping[str, Any], board: Board, *,
          context: Context, count: int = 100, warmup: int = 10, profile: bool = False) -> Report:
    """Measures a bundle on a board.

    Raises BoardError when the board cannot be reached, does not fit the bundle, fails, or answers
    one golden vector wrongly (nothing is timed then); BundleError when the bundle lacks a part.
    """
    vectors, bare = golden.vectors_of(bundle_files, manifest), microcontroller.is_bare(manifest)
    with open_transport(board, context.cache_dir, context.ask) as transport:
        before, deployment = prepare(transport, bundle_files, manifest, context)
        with start(transport, deployment, bundle_files, manifest) as client:
            agreement = golden.replay(client, vectors, board.name)
            clock = _clock(client, board)
            times = None if clock == 0 else time_runs(client, count, warmup)
            step_ns = _profile(client, manifest, count) if profile and times else None
            peak = None if board.emulated else _peak_rss_bytes(client)
            client.quit()
        after = before if board.emulated or bare else probe(transport, before.architecture,
                                                    context.cache_dir)
        counts = _count(transport, deployment, vectors[0], manifest, context)
    report = _report(board, manifest, before, after, deployment, len(vectors), times, counts,
                     _steps(manifest, step_ns, count, counts, clock), peak, agreement, clock)
    context.progress("measure", report.to_text().splitlines()[3])
    return report


def run_once(bundle_files: Mapping[str, bytes], manifest: Mapping[str, Any], board: Board,
             inputs: Sequence[bytes], *, context: Context | None = None) -> list[bytes]:
    """One inference on a board: the outputs' bytes for the inputs' bytes. Raises BoardError."""
    return run_many(bundle_files, manifest, board, [inputs], context=context)[0]


def run_many(bundle_files: Mapping[str, bytes], manifest: Mapping[str, Any], board: Board,
             samples: Iterable[Sequence[bytes]], *,
             context: Context | None = None) -> list[list[bytes]]:
    """One inference per sample, all in one runner: uploaded and started once.

    Raises BoardError.
    """
    context = context or Context()
    sizes = [port["bytes"] for port in manifest["outputs"]]
    with open_transport(board, context.cache_dir, context.ask) as transport:
        _, deployment = prepare(transport, bundle_files, manifest, context)
        with start(transport, deployment, bundle_files, manifest) as client:
            outputs = [golden.infer(client, list(inputs), sizes) for inputs in samples]
            client.quit()
    return outputs


def prepare(transport: Transport, files: Mapping[str, bytes], manifest: Mapping[str, Any],
            context: Context) -> tuple[BoardInfo, Deployment]:
    """Checks that board and bundle fit, then uploads what the board lacks."""
    bare = microcontroller.is_bare(manifest)
    program = microcontroller.program_path(transport.board) if bare else "runner/runner"
    for path in (program, "weights.bin"):
        if path not in files:
            raise BundleError(f"has no {path}, so it cannot be run",
                              where=str(manifest.get("name")),
                              advice="compile it for a target with a runner, and with room "
                              "for it beside the model")
    if bare:
        info = microcontroller.identify(transport.board, files, manifest)
        return info, _deploy_bare(transport, files, manifest)
    if transport.board.is_machine or transport.board.transport == "serial":
        raise BoardError(f"{transport.board.target} is a microcontroller; bundle "
                         f"{manifest['name']!r} is for {manifest['target']}",
                         where=transport.board.name,
                         advice=f"compile for {transport.board.target}")
    elf = runner_of(files, manifest)
    info = probe(transport, manifest["target_info"]["architecture"], context.cache_dir,
                 elf.interpreter if elf else None)
    check_fit(files, manifest, elf, info, transport.board.name)
    return info, deploy(transport, files["runner/runner"], files["weights.bin"])


def _deploy_bare(transport: Transport, files: Mapping[str, bytes],
                 manifest: Mapping[str, Any]) -> Deployment:
    """Over a serial line the program, which holds the weights, is all that is sent."""
    if not isinstance(transport, FlashedTransport):
        return deploy(transport, files["runner/runner"], files["weights.bin"])
    program = files["runner/serial"]
    path, flashed = transport.install(program, str(manifest["name"]))
    return Deployment(path, "", len(program) if flashed else 0, 0 if flashed else len(program))


@contextmanager
def start(transport: Transport, deployment: Deployment, files: Mapping[str, bytes],
          manifest: Mapping[str, Any]) -> Iterator[RunnerClient]:
    """A runner that has said who it is, pinned if the board says so."""
    board = transport.board
    process = transport.run(board.command([deployment.runner, deployment.weights]))
    with RunnerClient(process, board.name, board.timeout_s) as client:
        check_hello(client.hello(), files["weights.bin"], manifest, board.name)
        if board.cpus:
            client.pin(board.cpus[:threads_of(manifest)])
        yield client


def check_hello(hello: Hello, weights: bytes, manifest: Mapping[str, Any], board: str) -> None:
    """Raises BoardError unless runner, weights and manifest belong together."""
    crc = zlib.crc32(weights)
    for what, have, need in (
        ("weights", f"CRC {hello.weights_crc32:08x}", f"CRC {crc:08x}"),
        ("arena", f"{hello.arena_bytes:,} B", f"{manifest['arena_bytes']:,} B"),
        ("number of inputs", str(hello.inputs), str(len(manifest["inputs"]))),
        ("number of outputs", str(hello.outputs), str(len(manifest["outputs"]))),
        ("number of steps", str(len(hello.steps)), str(len(manifest["steps"]))),
    ):
        if have != need:
            raise BoardError(f"the runner has another {what} than the bundle's manifest",
                             where=board, needed=need, available=have,
                             advice="`edgecc verify` checks the bundle; compile it anew")


def time_runs(client: RunnerClient, count: int, warmup: int) -> list[int]:
    """Nanoseconds of `count` runs after `warmup` others."""
    one = max(client.run(1)[0], 1)
    portion = max(1, min(FRAME_NS // one, MAX_COUNT))
    times: list[int] = []
    for start_at in range(1, warmup, portion):
        client.run(min(portion, warmup - start_at))
    while len(times) < count:
        times += client.run(min(portion, count - len(times)))
    return times


def _clock(client: RunnerClient, board: Board) -> int | None:
    """Hz of a bare chip's cycle counter, 0 where nothing can be timed; None: the clock of the
    system is used."""
    if board.transport == "serial":
        value = client.status().get("clock_hz", 0)
        return value if isinstance(value, int) and value > 0 else 0
    return 0 if board.emulated else None


def _profile(client: RunnerClient, manifest: Mapping[str, Any], count: int) -> list[int]:
    return client.profile(min(count, MAX_COUNT), len(manifest["steps"]))


def _peak_rss_bytes(client: RunnerClient) -> int | None:
    value = client.status().get("peak_rss_bytes")
    return value if isinstance(value, int) and value > 0 else None


def _count(transport: Transport, deployment: Deployment, vector: golden.Vector,
           manifest: Mapping[str, Any], context: Context) -> Counts:
    """All of the work by one thread: others would add how long they spun, which never repeats."""
    symbols = [step["symbol"] for step in manifest["steps"]]
    return count_instructions(transport, deployment, list(vector.inputs),
                              f"{manifest['name']}_run", symbols, context.cache_dir,
                              options=["--alone"] if threads_of(manifest) > 1 else [])


def threads_of(manifest: Mapping[str, Any]) -> int:
    """1 for a bundle that says nothing of threads."""
    return int(manifest.get("threads", {}).get("count", 1))


def _steps(manifest: Mapping[str, Any], step_ns: list[int] | None, count: int,
           counts: Counts, clock: int | None) -> tuple[StepReport, ...]:
    steps = []
    for index, step in enumerate(manifest["steps"]):
        us = step_ns[index] / count / 1000 if step_ns else None
        instructions = counts.steps[index] if counts.steps else None
        steps.append(_step(step, _info(manifest, clock), us, instructions))
    return tuple(steps)


def _info(manifest: Mapping[str, Any], clock: int | None) -> dict[str, Any]:
    """What rates are measured by: a bare chip's runner leaves the core at its clock after reset."""
    known = {key: manifest["target_info"].get(key) for key in ("clock_hz", "peaks")}
    return {**known, "clock_hz": clock} if clock else known


def _step(step: Mapping[str, Any], info: Mapping[str, Any], us: float | None,
          instructions: int | None) -> StepReport:
    by_count, by_time = counted(step, info, instructions), timed(step, info, us)
    best = by_time.of_peak if by_time.of_peak is not None else by_count.of_peak
    return StepReport(step["name"], step["op"], step["kernel"], step["symbol"], step["macs"],
                      us, instructions, step.get("tile"), step.get("dtype"),
                      step.get("threads", 1), by_count.macs, by_time.macs, best,
                      step.get("why_not_fast"))


def _report(board: Board, manifest: Mapping[str, Any], before: BoardInfo, after: BoardInfo,
            deployment: Deployment, vectors: int, times: list[int] | None, counts: Counts,
            steps: tuple[StepReport, ...], peak: int | None, agreement: str,
            clock: int | None) -> Report:
    summary = statistics.summarize(times) if times else None
    hot = None if board.emulated else after.temperature_millicelsius
    figures: dict[str, Any] = {} if summary is None else {
        "p50_us": summary.p50_us, "p90_us": summary.p90_us, "p99_us": summary.p99_us,
        "min_us": summary.min_us, "mad_us": summary.mad_us, "spread": summary.spread,
        "outliers": summary.outliers, "warm_up": summary.warm_up,
    }
    return Report(
        board=board.name, target=manifest["target"], architecture=before.architecture,
        features=tuple(sorted(before.features)), golden="pass", vectors=vectors,
        agreement=agreement,
        timing="emulated" if board.emulated else "measured" if times else "not measured",
        verdict=_verdict(board, summary, before, after, clock),
        count=summary.count if summary else 0,
        uploaded_bytes=deployment.uploaded_bytes, reused_bytes=deployment.reused_bytes,
        peak_rss_bytes=peak, instructions=counts.total, instructions_reason=counts.reason,
        kernel=before.kernel, governor=None if board.emulated else after.governor,
        temperature_celsius=hot / 1000 if hot is not None else None, steps=steps,
        target_info=_info(manifest, clock),
        **figures,
    )


def _verdict(board: Board, summary: statistics.Summary | None, before: BoardInfo,
             after: BoardInfo, clock: int | None) -> str:
    if summary is not None:
        at = f", core at {clock / 1e6:g} MHz" if clock else ""
        return statistics.verdict(summary, before, after) + at
    if board.emulated:
        return "emulated: no latency is claimed"
    return "not measured: the chip has no cycle counter that runs"
