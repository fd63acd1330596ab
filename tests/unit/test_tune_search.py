"""The search for tiles, with bundles and boards that only say figures."""

import zlib
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from pipeline_models import network, samples

from edgecc import pipeline, quantize, schedule
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import BoardError, ConfigError, DoesNotFit
from edgecc.kernels import registry
from edgecc.model import load
from edgecc.rpc.boards import get_board
from edgecc.schedule.program import Kernel
from edgecc.targets import get_target
from edgecc.tune import search as tune
from edgecc.tune.board import board_for

CONFIG = CompileConfig(target="raspberry-pi-5", optimization="O3")
EMULATED, REAL = get_board("emulated-raspberry-pi-5"), replace(
    get_board("host"), target="raspberry-pi-5")


@pytest.fixture(scope="module")
def graph():
    config = CompileConfig(quantization="int8")
    return quantize.quantize(load(network()), {"x": samples()}, config=config,
                             context=Context())[0]


@dataclass
class Fake:
    """Builds that cost what `cost(kernel)` says, in the unit of the board."""

    graph: object
    cost: object
    fails: object = None
    built: list = None

    def __call__(self, config, context):
        program = schedule.schedule(self.graph, get_target(config.target), config=config,
                                    context=context)
        self.built = [*(self.built or []), config.tiles]
        steps = [s.kernel if isinstance(s, Kernel) else "copy" for s in program.entry().steps]
        if self.fails and any(map(self.fails, program.entry().steps)):
            raise DoesNotFit("too large")
        return SimpleNamespace(bench=lambda board, **given: self.report(board, steps))

    def report(self, board, steps):
        values = [self.cost(kernel) for kernel in steps]
        return SimpleNamespace(instructions_reason="no QEMU here", steps=[
            SimpleNamespace(instructions=v if board.emulated else None,
                            us=None if board.emulated else v) for v in values])


def run(fake, board=EMULATED, config=CONFIG):
    said = []
    context = Context(progress=lambda verb, line: said.append((verb, line)))
    return tune.search(fake.graph, fake, config=config, context=context, board=board), said


def layers(graph):
    program = schedule.schedule(graph, get_target("raspberry-pi-5"), config=CONFIG,
                                context=Context())
    return list(tune.layers_of(program, CONFIG))


def test_the_best_tile_of_every_layer_is_kept(graph):
    def cost(kernel):
        return zlib.crc32(kernel.encode()) % 1000

    found, said = run(Fake(graph, cost))
    assert found == {layer.signature: min(layer.kernels, key=cost) for layer in layers(graph)}
    [(verb, line)] = said
    assert verb == "search" and "on emulated-raspberry-pi-5" in line and "instructions" in line


def test_equal_tiles_leave_the_cost_models_choice(graph):
    fake = Fake(graph, lambda kernel: 100)
    found, _ = run(fake)
    program = schedule.schedule(graph, get_target("raspberry-pi-5"), config=CONFIG,
                                context=Context())
    usual = {s.spec.text(): s.kernel for s in program.entry().steps if isinstance(s, Kernel)}
    assert found and found.items() <= usual.items()
    assert 1 < len(fake.built) <= tune.MOST_CANDIDATES


def test_times_must_be_clearly_better_and_counts_need_not(graph):
    usual = {layer.signature: layer.kernels[0] for layer in layers(graph)}

    def costing(figure):
        return lambda kernel: 100 if kernel in usual.values() else figure

    assert run(Fake(graph, costing(98)))[0] != usual
    assert run(Fake(graph, costing(98)), REAL)[0] == usual
    assert run(Fake(graph, costing(90)), REAL)[0] != usual


def test_a_fixed_tile_is_not_searched(graph):
    program = schedule.schedule(graph, get_target("raspberry-pi-5"), config=CONFIG,
                                context=Context())
    fixed = {s.spec.text(): s.kernel for s in program.entry().steps if isinstance(s, Kernel)}
    fake = Fake(graph, lambda kernel: 100)
    found, [(_, line)] = run(fake, config=replace(CONFIG, tiles=fixed))
    assert found == fixed and fake.built is None and line == "no layer has a tile to choose"


def test_where_scratch_is_short_only_candidates_without_more_of_it_are_tried(graph):
    def heavy(step):
        return isinstance(step, Kernel) and step.scratch_bytes > usual[step.spec.text()]

    program = schedule.schedule(graph, get_target("raspberry-pi-5"), config=CONFIG,
                                context=Context())
    usual = {s.spec.text(): s.scratch_bytes for s in program.entry().steps
             if isinstance(s, Kernel)}
    found, _ = run(Fake(graph, lambda kernel: 100, fails=heavy))
    specs = {s.spec.text(): s.spec for s in program.entry().steps if isinstance(s, Kernel)}
    assert all(registry.find(k).scratch_bytes(specs[s]) <= usual[s] for s, k in found.items())


def test_a_board_without_figures_is_named(graph):
    with pytest.raises(BoardError, match="tells no instructions of steps, which O3 needs") as got:
        run(Fake(graph, lambda kernel: None))
    assert "no QEMU here" in str(got.value)


@pytest.mark.parametrize(("target", "said"), [
    ("null", "this target runs nowhere"), ("esp32-c3", "QEMU emulates none of this target")])
def test_without_a_board_the_error_says_what_to_do(target, said):
    with pytest.raises(ConfigError, match=said) as caught:
        board_for(get_target(target), None)
    assert "--board" in str(caught.value) and "-O2" in str(caught.value)


def test_only_o3_takes_a_board():
    with pytest.raises(ConfigError, match="only O3 measures"):
        pipeline.compile("m.onnx", config=CompileConfig(), context=Context(), board="host")
    with pytest.raises(BoardError, match="unknown board 'hots'"):
        pipeline.compile("m.onnx", config=CONFIG, context=Context(), board="hots")
