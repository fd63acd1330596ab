"""Layout algebra against numpy: every claim about bytes is checked on real arrays."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgecc.schedule import layout as lay


def stored(x, layout):
    return x.reshape(layout.atoms or (1,)).transpose(layout.order or (0,)).reshape(-1)


@st.composite
def tensors(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    order = draw(st.permutations(range(len(shape))))
    return np.arange(math.prod(shape)).reshape(shape), tuple(order)


@given(tensors())
def test_make_keeps_the_bytes_and_is_canonical(case):
    x, order = case
    layout = lay.make(x.shape, order)
    assert (stored(x, layout) == x.transpose(order).reshape(-1)).all()
    assert lay.make(layout.atoms, layout.order) == layout


@given(tensors(), st.randoms())
def test_a_transpose_is_a_view_and_a_conversion_moves_the_right_bytes(case, random):
    x, order = case
    perm = list(range(x.ndim))
    random.shuffle(perm)
    layout = lay.make(x.shape, order)
    seen = lay.transposed(layout, x.shape, perm)
    y = x.transpose(perm).reshape(-1)
    assert (stored(y, seen) == stored(x, layout)).all()
    step = lay.conversion(seen, lay.make((x.size,)))
    shape, permutation = step
    assert (stored(y, seen).reshape(shape).transpose(permutation).reshape(-1) == y).all()


@given(tensors())
def test_axis_order_gives_back_an_order_of_the_same_bytes(case):
    x, order = case
    found = lay.axis_order(lay.make(x.shape, order), x.shape)
    assert (x.transpose(found).reshape(-1) == x.transpose(order).reshape(-1)).all()


def test_a_flattened_nhwc_tensor_tears_its_axis_but_has_a_tail_order():
    layout = lay.channels_last((1, 3, 2, 2))
    assert lay.axis_order(layout, (1, 12)) is None
    order = lay.tail_order(layout, (1, 12), (1,))
    x = np.arange(12)
    assert (x[order] == x.reshape(3, 4).T.reshape(-1)).all()
    assert lay.tail_order(lay.channels_last((2, 3, 2, 2)), (2, 3, 2, 2), (2, 3)) is None


def test_layouts_that_do_not_align():
    assert lay.refine(lay.make((4, 6), (1, 0)), (8, 3)) is not None
    assert lay.refine(lay.make((2, 3), (1, 0)), (3, 2)) is None
    assert lay.transposed(lay.make((2, 3), (1, 0)), (3, 2), (1, 0)) is None
    assert lay.axis_order(lay.make((2, 3), (1, 0)), (3, 2)) is None
    assert lay.tail_order(lay.make((2, 3), (1, 0)), (3, 2), (1,)) is None
    assert lay.conversion(lay.make((2, 3), (1, 0)), lay.make((3, 2), (1, 0))) is None


def test_with_tail_moves_an_axis_to_the_end():
    assert lay.with_tail((2, 3, 4), (1,)) == lay.make((2, 3, 4), (0, 2, 1))
