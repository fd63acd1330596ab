"""Output rows at the edge of an image leave out what a kernel has in the padding."""

from itertools import product

import pytest

from edgecc.kernels.edges import edges, outside
from edgecc.kernels.spec import Conv2d


def conv(h, kh, stride=1, top=0, bottom=0, dilation=1):
    return Conv2d("int8", 1, h, 8, 16, 16, kh, 3, (stride, 1), (dilation, 1),
                  (top, 1, bottom, 1))


@pytest.mark.parametrize("spec, found", [
    (conv(8, 3, top=1, bottom=1), ({0}, {2})),
    (conv(2, 3, top=1, bottom=1), ({0}, {2})),
    (conv(8, 3, stride=2, bottom=1), (set(), {2})),
    (conv(9, 3, stride=2, top=1, bottom=1), ({0}, {2})),
    (conv(8, 5, stride=2, top=2, bottom=2), ({0, 1}, {4})),
    (conv(9, 3, stride=2, top=2, bottom=2, dilation=2), ({0}, {2})),
    (conv(1, 3, top=1, bottom=1), None),  # one row is both edges
    (conv(8, 5, top=2, bottom=2), None),  # the second row leaves out something too
    (conv(8, 3), None),
    (conv(8, 3, stride=2, top=0, bottom=0), None),
    (conv(7, 3, stride=2, bottom=1), None),  # a row of padding that no window reaches
])
def test_which_rows_are_left_out(spec, found):
    assert edges(spec) == (None if found is None else tuple(map(frozenset, found)))


def test_every_row_leaves_out_what_its_edge_does():
    for h, kh, stride, top, bottom, dilation in product(
            range(1, 8), range(1, 4), (1, 2), range(3), range(3), (1, 2)):
        spec = conv(h, kh, stride, top, bottom, dilation)
        if spec.oh < 1 or (found := edges(spec)) is None:
            continue
        image = [False] * top + [True] * h + [False] * bottom
        for y in range(spec.oh):
            missed = {ky for ky in range(kh) if not image[y * stride + ky * dilation]}
            expected = found[0] if y == 0 else found[1] if y == spec.oh - 1 else set()
            assert missed == outside(spec, y) == expected and not found[0] & found[1]
