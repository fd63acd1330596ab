"""When an answer counts as right: integers exactly, floats within a part of the largest."""

import numpy as np
import pytest

from edgecc.rpc.golden import agrees


def floats(*values):
    return np.array(values, np.float32).tobytes()


@pytest.mark.parametrize(("dtype", "want", "got", "right"), [
    ("int8", b"\1\2", b"\1\2", True),
    ("int8", b"\1\2", b"\1\3", False),
    ("float32", floats(1, 100), floats(1.009, 100), True),
    ("float32", floats(1, 100), floats(1.02, 100), False),
    ("float32", floats(0, 0), floats(0, 1e-30), False),
    ("float32", floats(1, np.nan), floats(1, 2), False),
    ("float32", floats(1, 2), floats(1, np.inf), False),
    ("float32", floats(1, 2), floats(1), False),
])
def test_right_answers(dtype, want, got, right):
    assert agrees(dtype, want, got) is right
