"""What the line says and remembers: where a model came from, one summary line per value, and the
text forms that `--dump` writes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
LONGEST_NAME = 64
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
        name, data = _name_and_bytes(source)
        prefix = identifier(config.name or Path(name).stem)
        return cls(name, prefix, hashlib.sha256(data).hexdigest())


def _name_and_bytes(source: Any) -> tuple[str, bytes]:
    if isinstance(source, str | Path):
        path = Path(source)
        # A file that cannot be read is `load`'s to name: it says what is wrong with it.
        return path.name, path.read_bytes() if path.is_file() else b""
    import onnx_ir as ir

    proto = ir.to_proto(source) if isinstance(source, ir.Model) else source
    return proto.graph.name or "model", proto.SerializeToString(deterministic=True)


def identifier(name: str) -> str:
    """A C identifier made of `name`. Raises ConfigError if nothing of it is left."""
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()[:LONGEST_NAME - 2]
    if not text:
        raise ConfigError(f"name {name!r} has no letter or digit", advice="give --name")
    return f"m_{text}" if text[0].isdigit() else text


class Teller:
    """Tells the caller what a verb did (`load` and `quantize` speak for themselves) and, if
    asked to, writes the value's text form."""

    def __init__(self, context: Context):
        self._context = context

    def __call__(self, verb: str, summary: str) -> None:
        self._context.progress(verb, summary)

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


def samples(graph: Any, calibration: Any) -> list[Mapping[str, Any]]:
    """The first samples, checked against the model; none without calibration data."""
    if calibration is None:
        return []
    from edgecc.quantize.calibration import read

    return list(islice(read(calibration, graph), SAMPLES_KEPT))


def amount(number: int) -> str:
    """1234 as "1.2 k", 7490000 as "7.49 M"."""
    if number < 1000:
        return str(number)
    return f"{number / 1e3:.0f} k" if number < 1e6 else f"{number / 1e6:.2f} M"


def scheduled(program: Program) -> str:
    steps = program.entry("run").steps
    macs = sum(getattr(step, "macs", 0) for step in steps)
    return (f"{len(steps)} steps".ljust(19) + f"{amount(macs)} MAC · "
            f"{counted(program.layout_conversions, 'layout conversion')}")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def planned(plan: MemoryPlan) -> str:
    gap = plan.arena_bytes - plan.lower_bound_bytes
    bound = "= lower bound" if gap == 0 else f"{gap:,} B above the lower bound"
    return (f"{plan.arena_bytes:,} B arena".ljust(19) + f"{bound} · activations "
            f"{plan.activation_bytes:,} B, scratch {plan.scratch_bytes:,} B · peak at "
            f"{plan.peak_step}")


def lowered(program: Program, objects: Objects) -> str:
    from edgecc.schedule.program import Kernel

    kernels = [step for step in program.entry("run").steps if isinstance(step, Kernel)]
    slow = {step.spec.op for step in kernels if step.why_not_fast}
    text = f"{sum(not step.why_not_fast for step in kernels)} of {len(kernels)} steps fast"
    if slow:
        text += f" · plain: {', '.join(sorted(slow))}"
    return counted(len(objects.code), "kernel").ljust(19) + text


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
    return " · ".join(f"{name} {size:,.1f} KB" for name, size in kilobytes)


def manifest_text(bundle: Any) -> str:
    return bundle.files["manifest.json"].decode()


def checked(agreements: list[Any]) -> str:
    return "ONNX Runtime       " + " · ".join(f"{a.output}: {a.text}" for a in agreements)
