"""Everything about an int8 product of two computed matrices that cost and code must agree on.

b is brought into the order of a convolution's packed weights at run time, once per matrix and
call; from there on rows of a are positions and columns of b are output channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels import conv2d_plan
from edgecc.kernels.int8_packing import Columns, header
from edgecc.kernels.isa.base import Isa
from edgecc.kernels.math_spec import MatMul
from edgecc.kernels.ring import padded
from edgecc.kernels.spec import Conv2d

AREA = 16  # bytes of a vector; every part of the scratch is aligned to it
# Plain code takes three times as long on MVE as on NEON, for which it is estimated.
MVE_SHARE = 0.35
SCALE, B_ZERO_POINT = 14, 15  # words of the header


@dataclass(frozen=True)
class Plan:
    """A product in tiles of `mr` rows by `nr` columns."""

    spec: MatMul
    isa: Isa
    mr: int
    nr: int

    @property
    def product(self) -> conv2d_plan.Plan:
        """One matrix as a convolution whose weights are packed in advance."""
        s = self.spec
        conv = Conv2d("int8", 1, 1, s.m, s.k, s.n, 1, 1, clamp=s.clamp)
        return conv2d_plan.Plan(conv, self.isa, self.mr, self.nr)

    @property
    def columns(self) -> Columns:
        return self.product.columns

    @property
    def wide(self) -> int:
        """Columns of all blocks together, those that are padding included."""
        return sum(width for _, width, _ in self.columns.blocks())

    @property
    def depth(self) -> int:
        """k, padded to whole multiply steps."""
        return padded(self.spec.k, self.isa.group)

    @property
    def direct(self) -> bool:
        """Whether rows of a are read where they lie."""
        return (self.isa.reads_input and self.spec.a_strides[-1] == 1
                and self.spec.k % self.isa.group == 0)

    @property
    def pitch(self) -> int:
        """Elements from one row of a to the next."""
        return self.spec.a_strides[-2] if self.direct else self.depth

    @property
    def blocks(self) -> int:
        """Blocks of rows of a matrix."""
        return -(-self.spec.m // self.mr)

    @property
    def extent(self) -> int:
        return self.spec.batches * self.blocks

    @property
    def areas(self) -> dict[str, int]:
        """Bytes of the parts of the scratch, in order."""
        sizes = {"right": self.depth * self.wide * np.dtype(self.isa.weight_dtype).itemsize,
                 "bias": 4 * self.wide, "rows": 4 * self.mr,
                 "ones": self.depth * self.activation_bytes,
                 "left": 0 if self.direct else self.mr * self.depth * self.activation_bytes}
        return {name: padded(size, AREA) for name, size in sizes.items()}

    @property
    def activation_bytes(self) -> int:
        return np.dtype(self.isa.activation_dtype).itemsize

    def start(self, area: str) -> int:
        """Byte offset of a part of the scratch."""
        names = list(self.areas)
        return sum(self.areas[name] for name in names[: names.index(area)])

    def scratch_bytes(self) -> int:
        return sum(self.areas.values())

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        """The header of int8 tiles, with the scale and b's zero point at its end."""
        named = {**constants, "input_zero_point": constants["a_zero_point"]}
        words = header(named, self.spec.clamp, False, self.isa).view(np.int32)
        words.view(np.float32)[SCALE] = np.float32(constants["scale"])
        words[B_ZERO_POINT] = int(constants["b_zero_point"])
        return words.view(np.uint8)

    def accepts(self) -> str | None:
        if self.spec.m < self.mr:
            return f"fewer than {self.mr} rows"
        return None

    def cost(self) -> float:
        """Estimated instructions: the tiles, and what brings b, its sums and a into place."""
        s, isa = self.spec, self.isa
        vectors = isa.lanes > 1
        in_order = s.b_strides[-1] == 1 and (isa.group == 1 or vectors)
        turned = s.b_strides[-2] == 1 and isa.group > 1 and vectors
        narrow = isa.group * 2 >= AREA and self.nr < AREA and not turned  # a few bytes at a time
        packed = self.depth * self.wide * (2.0 if narrow else 0.5 if in_order or turned else 4.0)
        copied = 0.0 if self.direct else s.m * s.k * (0.2 if vectors else 3.0)
        rows = s.m * (s.k / (5.0 if vectors else 0.5) + 8)
        total = s.batches * (self.product.cost() + packed + copied + rows) + 100
        return total * (MVE_SHARE if "mve" in isa.requires else 1.0)
