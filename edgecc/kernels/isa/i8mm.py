"""Arm NEON with FEAT_I8MM: SMMLA multiplies two rows by two columns of eight int8 values.

Activations lie row by row, so two rows are brought together eight values at a time (TRN); an
accumulator holds two columns of both rows.
Source: Arm Architecture Reference Manual, A64 SIMD instructions, SMMLA (vector).
"""

from __future__ import annotations

from typing import Any, ClassVar

from edgecc.kernels.isa.assembled import Code, Shape, run_of
from edgecc.kernels.isa.neon import NeonEnd


class I8mm(NeonEnd):
    """Pairs of rows by pairs of columns. A row without a partner is its own."""

    name: ClassVar[str] = "i8mm"
    requires: ClassVar[frozenset[str]] = frozenset({"i8mm"})
    group: ClassVar[int] = 8
    piece: ClassVar[int] = 16
    multiply_cost: ClassVar[float] = 1.1
    row_pairs: ClassVar[bool] = True
    shares_taps: ClassVar[bool] = True
    assembled: ClassVar[bool] = True
    starts_with_bias: ClassVar[bool] = True
    leaves_rows_out: ClassVar[bool] = True

    def statement(self, shape: Shape) -> Code:
        pairs = -(-shape.mr // 2)
        code = Code(shape, scratch=2 * pairs)

        def piece(length: int, used: int) -> None:
            rows, parts = code.positions(length), max(used // 16, 1)
            steps = min(used // 8, 2)
            columns = code.columns(shape.taps * parts * steps * (shape.width // 2))
            for tap in range(shape.taps):
                for part in range(parts):
                    _join(code, rows, tap, part, steps)
                    for step in range(steps):
                        for j in range(shape.width // 2):
                            _smmla(code, next(columns), step, j)

        run_of(code, [16, 8], piece)
        return code

    def row_of(self, even: bool, left: Any, right: Any) -> Any:
        """Four sums of a row, from two accumulators of two columns each."""
        from edgecc.kernels import tir

        return tir.T.Shuffle([left, right], [0, 1, 4, 5] if even else [2, 3, 6, 7])


def _join(code: Code, rows: list[list[int]], tap: int, part: int, steps: int) -> None:
    """Scratch: eight values of both rows of a pair, then the next eight."""
    shape = code.shape
    for pair in range(-(-shape.mr // 2)):
        first, second = (rows[min(2 * pair + i, shape.mr - 1) * shape.step + tap][part]
                         for i in range(2))
        for step in range(steps):
            joined = code.lowest + 2 * pair + step
            code.emit(f"trn{step + 1} v{joined}.2d, v{first}.2d, v{second}.2d")


def _smmla(code: Code, column: int, step: int, j: int) -> None:
    for pair in range(-(-code.shape.mr // 2)):
        joined = code.lowest + 2 * pair + step
        acc = pair * (code.shape.width // 2) + j
        code.emit(f"smmla ${acc}.4s, v{joined}.16b, v{column}.16b")
