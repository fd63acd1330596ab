"""The search for tiles: compile with the next candidate of every layer, measure every step, keep
what was best.

Layers of one signature share a kernel, so they share a tile. One round tries one more candidate of
all layers at once: steps do not depend on each other's tiles. Every round is a whole bundle, whose
golden vectors the board must answer before anything is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import BoardError, DoesNotFit
from edgecc.kernels import registry, tiles
from edgecc.levels import shaped
from edgecc.line import counted
from edgecc.schedule import schedule
from edgecc.schedule.program import Kernel, Program
from edgecc.schedule.selection import allowed
from edgecc.targets import Target, get_target

MOST_CANDIDATES = 8  # of a layer, the kernel that the cost model takes included
WORTH_TRYING = 2.0  # times the estimate of that kernel
TURNS, RUNS = 3, 50  # measurements of a bundle by time, and runs of each: the best one counts
BETTER = {"instructions": 1.0, "us": 0.97}  # what a tile must reach: times have noise
Build = Callable[[CompileConfig, Context], Any]


@dataclass(frozen=True)
class Layer:
    """Steps of one signature: their numbers, and kernels to try, today's first."""

    signature: str
    steps: tuple[int, ...]
    kernels: tuple[str, ...]


def search(graph: Any, build: Build, *, config: CompileConfig, context: Context,
           board: Any) -> dict[str, str]:
    """Tiles by signature, the ones of `config` among them. `build` makes a bundle of the graph.

    Raises what building and measuring raise.
    """
    quiet = replace(context, progress=lambda verb, line: None, dump_dir=None)
    work = _Search(build, config, quiet, board)
    program = schedule(graph, get_target(config.target), config=config, context=quiet)
    layers = tuple(layers_of(program, config))
    try:
        return work.run(layers, context.progress)
    except DoesNotFit:  # together, the candidates need more scratch than there is room for
        return work.run(tuple(layers_of(program, config, lean=True)), context.progress)


def layers_of(program: Program, config: CompileConfig, lean: bool = False) -> Iterator[Layer]:
    """What there is to choose: layers with several kernels, whose tile nobody has fixed. `lean`:
    no kernel that needs more scratch than today's."""
    target = shaped(get_target(config.target), config)
    same: dict[str, list[int]] = {}
    steps = program.entry().steps
    for number, step in enumerate(steps):
        if isinstance(step, Kernel) and not config.tiles.keys() & {step.name, step.spec.text()}:
            same.setdefault(step.spec.text(), []).append(number)
    for signature, numbers in same.items():
        kernels = candidates(steps[numbers[0]], target, lean)
        if len(kernels) > 1:
            yield Layer(signature, tuple(numbers), kernels)


def candidates(step: Any, target: Target, lean: bool = False) -> tuple[str, ...]:
    """Kernels for the step's layer: the one that it has, then the cheapest others by estimate."""
    spec, today = step.spec, registry.find(step.kernel)
    strong = registry.strengths(target.features)
    found = [today.name]
    for kernel in allowed(tiles.candidates(spec, target.features), target):
        heavier = lean and kernel.scratch_bytes(spec) > today.scratch_bytes(spec)
        worth = kernel.cost(spec) <= WORTH_TRYING * today.cost(spec) and kernel.wants <= strong
        if worth and not heavier and kernel.name != today.name:
            found.append(kernel.name)
    return tuple(found[:MOST_CANDIDATES])


def rounds(layers: tuple[Layer, ...]) -> Iterator[dict[str, str]]:
    """Tiles of every further round: the next kernel of each layer that has one left."""
    for number in range(1, max((len(layer.kernels) for layer in layers), default=0)):
        yield {layer.signature: layer.kernels[number] for layer in layers
               if number < len(layer.kernels)}


@dataclass(frozen=True)
class _Search:
    """Building and measuring on one board."""

    build: Build
    config: CompileConfig
    context: Context
    board: Any

    @property
    def unit(self) -> str:
        return "instructions" if self.board.emulated else "us"

    def run(self, layers: tuple[Layer, ...],
            progress: Callable[[str, str], None]) -> dict[str, str]:
        bundles = [self._bundle(chosen) for chosen in ({}, *rounds(layers))] if layers else []
        figures = self._figures(bundles)
        best = {layer.signature: self._best(layer, figures) for layer in layers}
        progress("search", self._summary(layers, best, figures))
        return {**{layer.signature: layer.kernels[best[layer.signature]] for layer in layers},
                **self.config.tiles}

    def _bundle(self, chosen: Mapping[str, str]) -> Any:
        return self.build(replace(self.config, tiles={**chosen, **self.config.tiles}),
                          self.context)

    def _figures(self, bundles: list[Any]) -> list[list[float]]:
        """Of every bundle, its steps: counts, or the best of several interleaved times."""
        turns = 1 if self.board.emulated else TURNS
        found = [[self._measured(bundle) for bundle in bundles] for _ in range(turns)]
        return [[min(values) for values in zip(*same, strict=True)]
                for same in zip(*found, strict=True)]

    def _measured(self, bundle: Any) -> list[float]:
        report = bundle.bench(self.board, count=RUNS, profile=True, context=self.context)
        figures = [getattr(step, self.unit) for step in report.steps]
        if None in figures:
            raise BoardError(f"this board tells no {self.unit} of steps, which O3 needs",
                             where=self.board.name,
                             available=report.instructions_reason or "neither times nor counts",
                             advice="take -O2, or another board")
        return figures

    def _best(self, layer: Layer, figures: list[list[float]]) -> int:
        """The number of the kernel; today's unless another is clearly better."""
        sums = self._sums(layer, figures)
        first = min(range(len(sums)), key=sums.__getitem__)
        return first if sums[first] < sums[0] * BETTER[self.unit] else 0

    def _sums(self, layer: Layer, figures: list[list[float]]) -> list[float]:
        return [sum(figures[number][step] for step in layer.steps)
                for number in range(len(layer.kernels))]

    def _summary(self, layers: tuple[Layer, ...], best: Mapping[str, int],
                 figures: list[list[float]]) -> str:
        if not layers:
            return "no layer has a tile to choose"
        before = sum(figures[0])
        saved = sum(sums[0] - sums[best[layer.signature]] for layer in layers
                    for sums in [self._sums(layer, figures)])
        tried, other = sum(len(layer.kernels) for layer in layers), sum(map(bool, best.values()))
        unit = "µs" if self.unit == "us" else self.unit
        return (f"{tried} kernels for {counted(len(layers), 'layer')} on {self.board.name} · "
                f"{counted(other, 'other tile')} · {before:,.0f} to {before - saved:,.0f} {unit}")
