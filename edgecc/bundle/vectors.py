"""Golden vectors: inputs from calibration samples and a seeded generator, outputs from the numpy
references. A board that gives other bytes is wrong, whatever it is fast at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.bundle import ports
from edgecc.schedule.program import Program

FROM_CALIBRATION = 4
RANDOM_BESIDE_CALIBRATION = 2
RANDOM_ALONE = 4
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Vectors:
    """Native inputs and the outputs that the program must give for them, in port order."""

    inputs: tuple[Arrays, ...]
    outputs: tuple[Arrays, ...]
    calibration: int
    random: int

    @property
    def summary(self) -> dict[str, int]:
        return {"count": len(self.inputs), "calibration": self.calibration,
                "random": self.random}

    def files(
        self, inputs: Sequence[ports.Port], outputs: Sequence[ports.Port]
    ) -> dict[str, bytes]:
        """`vectors/<n>/input_<i>.bin` and `output_<i>.bin`."""
        found = {}
        for n, (given, wanted) in enumerate(zip(self.inputs, self.outputs, strict=True)):
            for kind, described, arrays in (("input", inputs, given), ("output", outputs, wanted)):
                for i, port in enumerate(described):
                    found[f"vectors/{n}/{kind}_{i}.bin"] = arrays[port["name"]].tobytes()
        return found


def make(program: Program, inputs: Sequence[ports.Port], samples: Sequence[Mapping[str, Any]],
         seed: int, answer: Callable[..., Any]) -> Vectors:
    """A few vectors for `program`: samples (model-shaped, spread over the set), then random.
    `answer` is the reference of a step, or one that remembers."""
    from edgecc.schedule.interpret import interpret

    chosen = [ports.native_inputs(inputs, sample) for sample in spread(samples)]
    count = RANDOM_BESIDE_CALIBRATION if chosen else RANDOM_ALONE
    generator = np.random.default_rng(seed)
    drawn = [{port["name"]: draw(port, generator) for port in inputs} for _ in range(count)]
    outputs = [interpret(program, given, answer=answer) for given in chosen + drawn]
    return Vectors(tuple(chosen + drawn), tuple(outputs), len(chosen), count)


def spread(samples: Sequence[Any]) -> list[Any]:
    """Up to FROM_CALIBRATION samples, evenly spaced, the first and the last among them."""
    count = min(FROM_CALIBRATION, len(samples))
    places = np.linspace(0, len(samples) - 1, count).round().astype(int)
    return [samples[int(place)] for place in places]


def draw(port: ports.Port, generator: np.random.Generator) -> np.ndarray:
    """Random native values: the whole range of an integer type, else a standard normal."""
    shape, dtype = tuple(port["shape"]), np.dtype(port["dtype"])
    if dtype.kind in "iu":
        whole = bool(port["scale"]) or dtype == np.uint8
        limits = np.iinfo(dtype if whole else np.int8)  # type: ignore[type-var]
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if dtype.kind == "b":
        return generator.integers(0, 1, shape, np.int8, endpoint=True).astype(bool)
    return generator.standard_normal(shape).astype(dtype)
