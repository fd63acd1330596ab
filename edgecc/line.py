"""What the line says and remembers: where a model came from, one summary line per value, and the
text forms that `--dump` writes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ConfigError

if TYPE_CHECKING:
    from edgecc.lower.objects import Objects
    from edgecc.memory.plan import MemoryPlan
    from edgecc.schedule.program import Program

SAMPLES_KEPT = 64
DUMPED = {"load": "1_model.txt", "quantize": "2_quantized.txt", "schedule": "3_program.txt",
          "plan": "4_memory.txt", "lower": "5_objects.txt", "link": "6_manifest.json"}


@dataclass(frozen=True)
class Origin:
    """Where the model came from. `prefix` names it in C; `sha256` is the file's, or the
    protobuf's."""

    name: str
    prefix: str
    sha256: str

    @property
    def version(self) -> str:
        return self.sha256[:12]

    @classmethod
    def of(cls, source: Any, config: CompileConfig) -> Origin:
        from edgecc.lower.c_text import prefix_of

        name, data = _name_and_bytes(source)
        prefix = prefix_of(config.name or Path(name).stem)
        return cls(name, prefix, hashlib.sha256(data).hexdigest())


def _name_and_bytes(source: Any) -> tuple[str, bytes]:
    if isinstance(source, str | Path):
        path = Path(source)
        # A file that cannot be read is `load`'s to name: it says what is wrong with it.
        return path.name, path.read_bytes() if path.is_file() else b""
    import onnx_ir as ir

    proto = ir.to_proto(source) if isinstance(source, ir.Model) else source
    if not hasattr(proto, "graph"):
        raise ConfigError(f"{type(source).__name__} is no model", where="edgecc.compile",
                          advice="give an ONNX file, a ModelProto, an onnx_ir.Model or a "
                                 "torch.nn.Module")
    return proto.graph.name or "model", proto.SerializeToString(deterministic=True)


class Teller:
    """Tells the caller what a verb did, once, and writes the value's text form if asked to.

    Verbs get `context`, through which they may speak for themselves; for those that did not,
    the line speaks.
    """

    def __init__(self, context: Context):
        self._context, self._spoken = context, set[str]()
        self.context = replace(context, progress=self._say)

    def _say(self, verb: str, summary: str) -> None:
        self._spoken.add(verb)
        self._context.progress(verb, summary)

    def __call__(self, verb: str, summary: str) -> None:
        if verb not in self._spoken:
            self._say(verb, summary)

    def dump(self, verb: str, text: Callable[[], str]) -> None:
        """Raises ConfigError when the folder cannot be written."""
        folder = self._context.dump_dir
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / DUMPED[verb]).write_text(text(), "utf-8")
        except OSError as error:
            raise ConfigError(f"cannot dump: {error.strerror}", where=str(folder)) from error


def repeatable(calibration: Any) -> Any:
    """Calibration that can be read twice: a one-way iterable becomes a list."""
    once = hasattr(calibration, "__next__")
    return list(calibration) if once else calibration


def folded(graph: Any, config: CompileConfig) -> Any:
    """The model with the arithmetic of its preprocessing inside, where that was asked for."""
    if config.preprocessing is None or not config.preprocessing.folded:
        return graph
    from edgecc.model import pixels

    return pixels.fold(graph, config.preprocessing)


def samples(graph: Any, calibration: Any, preprocessing: Any) -> list[Mapping[str, Any]]:
    """The first samples, checked against the model; none without calibration data."""
    if calibration is None:
        return []
    from edgecc.quantize.calibration import read

    return list(islice(read(calibration, graph, preprocessing), SAMPLES_KEPT))


def planned(plan: MemoryPlan) -> str:
    gap = plan.arena_bytes - plan.lower_bound_bytes
    bound = "= lower bound" if gap == 0 else f"{gap:,} B above the lower bound"
    return (f"{plan.arena_bytes:,} B arena {bound} · activations {plan.activation_bytes:,} B, "
            f"scratch {plan.scratch_bytes:,} B · peak at {plan.peak_step}")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def lowered(program: Program, objects: Objects) -> str:
    from edgecc.schedule.program import Kernel

    kernels = [step for step in program.entry("run").steps if isinstance(step, Kernel)]
    slow = {step.spec.op for step in kernels if step.why_not_fast}
    text = f"{sum(not step.why_not_fast for step in kernels)} of {len(kernels)} steps fast"
    if slow:
        text += f" · plain: {', '.join(sorted(slow))}"
    if objects.threads > 1:
        shared = sum(step.threads > 1 for step in kernels)
        text += f" · {shared} shared by {objects.threads} threads"
    return counted(len(objects.code), "kernel") + " · " + text


def objects_text(objects: Objects) -> str:
    """Kernels by size, and the calls in order."""
    lines = [f"{symbol:<60} {len(code):>8} B" for symbol, code in sorted(objects.code.items())]
    lines += [f"weights {len(objects.weights)} B, stack {objects.stack_bytes} B", ""]
    for call in objects.calls:
        pointers = ", ".join(f"{a.base}+{a.offset_bytes}" for a in call.arguments)
        lines.append(f"{call.step}: {call.symbol}({pointers}; {call.extent})")
    return "\n".join(lines) + "\n"


def linked(manifest: Mapping[str, Any]) -> str:
    kilobytes = [(name, manifest[f"{name}_bytes"] / 1000) for name in ("runner", "code", "weights")]
    sizes = " · ".join(f"{name} {size:,.1f} KB" for name, size in kilobytes)
    note = manifest["threads"]["note"]
    if not manifest["runner_bytes"] and manifest["target_info"]["runner"] == "baremetal":
        sizes += " · the chip has room for the model, but none for a runner to measure it"
    return sizes if note is None else f"{sizes} · {note}"


def manifest_text(bundle: Any) -> str:
    return bundle.files["manifest.json"].decode()


def checked(agreements: list[Any]) -> str:
    return "ONNX Runtime · " + " · ".join(f"{a.output}: {a.text}" for a in agreements)
