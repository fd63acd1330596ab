"""A whole DSP tile as assembly: biases, the inner loop, int8 out. No sum is an operand, so nothing
goes through the stack on its way into the loop and out of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgecc.kernels.isa.dsp_end import LANES, End, Sum
from edgecc.kernels.isa.dsp_loop import FARTHEST, Loop
from edgecc.kernels.isa.dsp_text import Operand, function


@dataclass(frozen=True)
class Tile:
    """The outputs of `loop`, whose rows lie `pitch` apart; of its columns the first `used` are
    stored. In front of the weights are the columns' biases and scales."""

    loop: Loop
    used: int
    pitch: int
    clamp: bool

    @property
    def symbol(self) -> str:
        return f"edgecc_{self.loop.symbol}_{self.used}_{self.pitch}_{int(self.clamp)}"

    @property
    def reaches(self) -> bool:
        """Whether every store is near enough to the first one."""
        return (self.loop.mr - 1) * self.pitch + self.used <= FARTHEST

    def text(self) -> str:
        """LLVM IR of void symbol(activations, block, output, zero point, bounds if it clamps)."""
        sums = [Operand(f"a{i}", "temporary") for i in range(self.loop.mr * self.loop.nr)]
        words = ["zero", *(["low", "high"] if self.clamp else [])]
        given = [Operand("out", "given", "t", pointer=True),
                 *(Operand(name, "given", "t") for name in words)]
        return function(self.symbol, [*sums, *self.loop.operands, *given],
                        [*self._begin(), *self.loop.code, *self._finish()],
                        [*LANES, *self._scales])

    @property
    def _scales(self) -> list[str]:
        """FPU registers of the columns' scales."""
        return [f"s{len(LANES) + j}" for j in range(self.loop.nr)]

    def _begin(self) -> list[str]:
        """Scales, and every row's sums from the biases."""
        mr, nr = self.loop.mr, self.loop.nr
        lines = [f"vldr {scale}, [{{w}}, #{4 * (nr + j)}]" for j, scale in enumerate(self._scales)]
        for j in range(0, nr, 2):
            step = 8 if j + 2 < nr else 4 * nr + 8
            lines.append(f"ldrd {{a{j}}}, {{a{j + 1}}}, [{{w}}], #{step}")
        return lines + [f"mov {{a{i}}}, {{a{i % nr}}}" for i in range(nr, mr * nr)]

    def _finish(self) -> list[str]:
        nr = self.loop.nr
        end = End("{x}", "{w}", "{odd0}", "{odd1}", short=False, clamp=self.clamp)
        lines = ["vmov {x}, {out}", "vmov {w}, {zero}"]
        lines += ["vmov {odd0}, {low}", "vmov {odd1}, {high}"] if self.clamp else []
        return lines + end.lines([
            Sum(f"{{a{i * nr + j}}}", self._scales[j], i * self.pitch + j)
            for i in range(self.loop.mr) for j in range(self.used)])
