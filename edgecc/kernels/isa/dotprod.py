"""Arm NEON with FEAT_DotProd: SDOT multiplies 16 pairs of int8 into four int32 lanes.

Source: Arm Architecture Reference Manual, A64 SIMD instructions, SDOT (by element).
"""

from __future__ import annotations

from typing import ClassVar

from edgecc.kernels.isa.assembled import Code, Shape, run_of
from edgecc.kernels.isa.neon import NeonEnd

SDOT = "llvm.aarch64.neon.sdot.v4i32.v16i8"


class DotProd(NeonEnd):
    """Activations are loaded 16 (8, 4) at a time and used by lane; weights hold 4 K per column."""

    name: ClassVar[str] = "dotprod"
    requires: ClassVar[frozenset[str]] = frozenset({"dotprod"})
    group: ClassVar[int] = 4
    piece: ClassVar[int] = 16
    shares_taps: ClassVar[bool] = True
    assembled: ClassVar[bool] = True
    starts_with_bias: ClassVar[bool] = True
    leaves_rows_out: ClassVar[bool] = True

    def statement(self, shape: Shape) -> Code:
        code = Code(shape)

        def piece(length: int, used: int) -> None:
            rows, across = code.positions(length), shape.width // 4
            columns = code.columns(shape.taps * used // 4 * across)
            for tap in range(shape.taps):
                for step in range(used // 4):
                    for j in range(across):
                        _sdot(code, rows, next(columns), (tap, step, j))

        run_of(code, [16, 8, 4], piece)
        return code


def _sdot(code: Code, rows: list[list[int]], column: int, at: tuple[int, int, int]) -> None:
    """Four columns times four values of K of every row of the tile."""
    tap, step, j = at
    shape = code.shape
    for i in range(shape.mr):
        row = rows[i * shape.step + tap][step // 4]
        code.emit(f"sdot ${i * (shape.width // 4) + j}.4s, v{column}.16b, v{row}.4b[{step % 4}]")
