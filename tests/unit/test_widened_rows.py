"""Rows of an image in turns, where those of a kernel are apart: every output row comes once, after
one that it shares input rows with."""

from hypothesis import given
from hypothesis import strategies as st

from edgecc.kernels.spec import Conv2d
from edgecc.kernels.widened_rows import RowsShape


@given(oh=st.integers(1, 20), kh=st.integers(1, 4), stride=st.integers(1, 5),
       dilation=st.integers(1, 6))
def test_every_output_row_comes_once(oh, kh, stride, dilation):
    h = (oh - 1) * stride + (kh - 1) * dilation + 1
    shape = RowsShape(Conv2d("int8", 1, h, 3, 2, 2, kh, 1, strides=(stride, 1),
                             dilations=(dilation, 1)))
    turns = [(place // shape.per_class, place % shape.per_class) for place in range(shape.places)]
    rows = [first + turn * shape.classes for first, turn in turns]
    assert sorted(y for y in rows if y < oh) == list(range(oh))
    for y, after, (_, turn) in zip(rows, rows[1:], turns[1:], strict=False):
        assert turn == 0 or (after - y) * stride == shape.step * shape.apart
