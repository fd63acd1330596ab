"""The line: seven verbs over immutable values, each value judged after it is made.

    load → Model · quantize → Model · schedule → Program · plan → MemoryPlan · lower → Objects ·
    link → Bundle · measure → Report (Bundle.bench)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from edgecc.bundle import Bundle, check_bundle
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ConfigError
from edgecc.levels import LEVELS
from edgecc.line import Origin, Teller
from edgecc.schedule.remembered import Remembered


@dataclass(frozen=True)
class Prepared:
    """A model before it meets a target: canonical, quantized if that was asked for, with what a
    bundle keeps of its past. `original` is what was loaded, `samples` golden inputs, and
    `answers` what the references gave for them, for the next target."""

    graph: Any
    original: Any
    report: Any
    samples: list[Mapping[str, Any]]
    origin: Origin
    answers: Remembered = field(default_factory=Remembered)


def compile(
    source: Any, *, config: CompileConfig, calibration: Any = None, example_inputs: Any = None,
    context: Context, board: Any = None,
) -> Bundle:
    """A checked bundle of an ONNX file, a ModelProto, an onnx_ir.Model or a torch module.

    `calibration` is what `edgecc.quantize` takes; INT8 needs it unless the model is quantized
    already. Its first samples also become golden vectors. A torch module needs `example_inputs`:
    see `edgecc.model.imported`. `board` (a name or a Board) is where O3 measures; None: the
    target's default one. Raises every class of edgecc.errors; BoardError at O3 only.
    """
    from edgecc.targets import get_target

    target = get_target(config.target)  # a wrong name is an error before any work
    board = measuring_board(target, config, board)
    prepared = prepare(source, config=config, calibration=calibration,
                       example_inputs=example_inputs, context=context)
    return build(prepared, config=config, context=context, board=board)


def prepare(
    source: Any, *, config: CompileConfig, calibration: Any = None, example_inputs: Any = None,
    context: Context,
) -> Prepared:
    """The verbs that know no target: what they give serves every target of one config."""
    from edgecc import line, model, quantize

    tell = Teller(context)
    report: Any = None
    source = model.imported(source, shapes=config.shapes, example_inputs=example_inputs)
    origin, calibration = Origin.of(source, config), line.repeatable(calibration)
    context = tell.context

    graph = line.folded(model.load(source, shapes=config.shapes, context=context), config)
    model.check_model(graph)
    tell.dump("load", lambda: model.to_text(graph))

    samples, original = line.samples(graph, calibration, config.preprocessing), graph
    if config.quantization == "int8":
        graph, report = quantize.quantize(graph, calibration, config=config, context=context)
        model.check_model(graph)
        quantize.check_quantized(graph)
    elif config.quantization == "int4":
        graph, report = quantize.quantize_weights(graph, config=config, context=context)
        model.check_model(graph)
    elif config.quantization == "float16":
        graph, report = quantize.to_float16(graph, calibration, config=config, context=context)
        model.check_model(graph)
    tell.dump("quantize", lambda: model.to_text(graph))
    return Prepared(graph, original, report, samples, origin)


def measuring_board(target: Any, config: CompileConfig, board: Any) -> Any:
    """Where O3 measures; None at other levels. Raises ConfigError where there is no board, or no
    use for one, and BoardError for an unknown name."""
    if not LEVELS[config.optimization].searches:
        if board is not None:
            raise ConfigError(f"a board is of no use at {config.optimization}: only O3 measures",
                              advice="leave it out, or take O3")
        return None
    from edgecc.tune.board import board_for

    return board_for(target, board)


def build(prepared: Prepared, *, config: CompileConfig, context: Context,
          board: Any = None) -> Bundle:
    """The verbs from schedule to link, for the target of the config; at O3 after a search for
    tiles on the board, at Os for the smaller of two programs."""
    from edgecc.targets import get_target

    board = measuring_board(get_target(config.target), config, board)
    tiles, graph, again = config.tiles, prepared.graph, partial(built, prepared)
    if board is not None:
        from edgecc.tune.search import search

        tiles = search(graph, again, config=config, context=context, board=board)
    elif LEVELS[config.optimization].small:
        from edgecc.tune.smallest import smallest

        tiles = smallest(graph, again, config=config, context=context)
    return built(prepared, replace(config, tiles=tiles), context)


def built(prepared: Prepared, config: CompileConfig, context: Context) -> Bundle:
    """The verbs once, with the tiles of the config or else those of the cost model."""
    from edgecc import line, link, lower, memory, schedule
    from edgecc.bundle.assemble import assemble
    from edgecc.bundle.oracle import check_against_onnxruntime
    from edgecc.targets import get_target

    target, tell, origin = get_target(config.target), Teller(context), prepared.origin
    context = tell.context

    program = schedule.schedule(prepared.graph, target, config=config, context=context)
    schedule.check_program(program)
    tell.dump("schedule", lambda: schedule.to_text(program))

    plan = memory.plan((program,), target, config=config, context=context)
    memory.check_plan((program,), plan)
    tell.dump("plan", lambda: memory.to_text(plan))
    tell("plan", line.planned(plan))

    objects = lower.lower(program, plan, target, config=config, context=context,
                          prefix=origin.prefix)
    tell.dump("lower", lambda: line.objects_text(objects))
    tell("lower", line.lowered(program, objects))

    files: dict[str, bytes] = {}
    if target.runner != "none":
        named: dict[str, Any] = {"config": config, "context": context, "name": origin.prefix,
                                 "version": origin.version}
        linked = link.link_baremetal if target.runner == "baremetal" else link.link_linux
        stack = link.stack_bytes(program, plan, objects, target, **named)
        objects = replace(objects, stack_bytes=stack)
        files = linked(program, plan, objects, target, **named)
    bundle = assemble(program, plan, objects, files, target=target, config=config, origin=origin,
                      graph=prepared.graph, original=prepared.original, report=prepared.report,
                      samples=prepared.samples, seed=context.seed, answer=prepared.answers)
    check_bundle(bundle)
    tell.dump("link", lambda: line.manifest_text(bundle))
    tell("link", line.linked(bundle.manifest))

    if config.check == "full":
        tell("check", line.checked(check_against_onnxruntime(bundle)))
    return bundle
