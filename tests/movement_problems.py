"""Problems for the kernels that move elements: (spec, inputs, constants)."""

import numpy as np

from edgecc.kernels.movement_spec import FILL, Fixed, Interpolate
from edgecc.kernels.runs import DTYPES
from edgecc.kernels.taking import take_of

R = np.random.default_rng(11)


def values(dtype, *shape):
    if dtype == "bool":
        return R.integers(0, 2, shape).astype(dtype)
    return R.integers(-100, 100, shape).astype(dtype)


def padded(n, before, after):
    return np.array([FILL] * before + list(range(n)) + [FILL] * after)


SELECTIONS = [  # shape, one table per axis
    ((1, 9, 11, 3), (None, padded(9, 1, 2), padded(11, 2, 1), None)),
    ((1, 9, 11, 16), (None, padded(9, 1, 2), padded(11, 2, 1), None)),
    ((2, 9, 11, 5), (None, np.repeat(np.arange(9), 2), np.repeat(np.arange(11), 3), None)),
    ((6, 7, 8), (padded(6, 1, 1), padded(7, 3, 0), padded(8, 0, 2))),
    ((6, 7, 8), ([1, 0, 1, 2, 3, 4, 5, 4], [1, 0, 1, 2, 3, 4, 5, 6, 5, 4], [2, 1, 0, 1, 2, 3])),
    ((3, 140), (None, np.arange(0, 140, 2))),
    ((3, 140), (None, np.arange(139, -1, -1))),
    ((3, 139), (None, np.arange(138, -1, -2))),
    ((3, 141), (None, np.arange(1, 141, 3))),
    ((3, 141), (None, np.arange(0, 141, 4))),
    ((3, 64), ([2, 0, 0], R.integers(FILL, 64, 50))),
    ((3, 64), ([2, 0, FILL], R.integers(0, 64, 50))),
    ((4, 8, 5), (R.permutation(4), R.integers(FILL, 8, 40), None)),
    ((30, 5), (R.integers(FILL, 30, 40), None)),
    ((4, 33), (None, np.tile(np.arange(33), 3))),
    ((5, 1, 7), (None, [0] * 6, None)),
    ((5, 7, 1), (None, None, [0] * 19)),
    ((20,), (np.arange(19, 2, -3),)),
    ((1,), ([0],)),
    ((6, 7), ([1, 1], None)),
]


def takes():
    """Every selection in two dtypes, so that each dtype has several."""
    for number, (shape, tables) in enumerate(SELECTIONS):
        arrays = [None if t is None else np.asarray(t) for t in tables]
        for dtype in {"int8", DTYPES[number % len(DTYPES)]}:
            fill = True if dtype == "bool" else 7
            spec, constants = take_of(dtype, shape, arrays, fill)
            yield spec, [values(dtype, *shape)], constants


def fixed():
    for number, dtype in enumerate(DTYPES):
        size = (1, 7, 63, 64, 65, 130)[number % 6]
        yield Fixed(dtype, size), [], {"values": values(dtype, size)}


def ties():
    """Every pair of bytes at weights whose sums an FMA rounds to another integer."""
    pairs = np.stack(np.meshgrid(*[np.arange(-128, 128)] * 2)).reshape(2, -1).astype(np.int8)
    columns = np.float32([[0.3, 0.7], [0.9, 0.1], [1.1, 0.037]])
    yield Interpolate("int8", 1, 1, 2, 256 * 256, 1, 3, (1, 2)), [pairs[None, None]], {
        "rows": np.zeros((1, 1), np.int32), "row_weights": np.ones((1, 1), np.float32),
        "columns": np.int32([[0, 1]] * 3), "column_weights": columns,
        "input_zero_point": 3, "output_zero_point": 1}


def interpolations(dtypes=("int8", "float32")):
    """Channels around vectors, one tap to four."""
    for dtype in dtypes:
        for c, taps in ((1, (2, 2)), (3, (2, 2)), (8, (1, 2)), (19, (4, 4)), (37, (2, 1))):
            spec = Interpolate(dtype, 2, 5, 6, c, 9, 7, taps)
            weights = [R.random((n, k)).astype(np.float32) for n, k in zip((9, 7), taps,
                                                                           strict=True)]
            weights[0][::3], weights[1][::2] = 0.5, 0.25
            yield spec, [values(dtype, 2, 5, 6, c)], {
                "rows": R.integers(0, 5, (9, taps[0])).astype(np.int32),
                "columns": R.integers(0, 6, (7, taps[1])).astype(np.int32),
                "row_weights": weights[0], "column_weights": weights[1],
                "input_zero_point": 3, "output_zero_point": -5}
