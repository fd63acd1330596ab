"""Pooling kernels on the host."""

from dataclasses import replace

import kernel_problems as problems
import pytest
from kernel_checks import check, check_split

from edgecc.kernels import pool2d
from edgecc.kernels.spec import Pool2d

pytestmark = pytest.mark.host


def test_pool_equals_reference():
    check(problems.pool2d(), "host", [pool2d])


def test_whole_image_windows_become_one_run():
    spec = Pool2d("int8", "average", n=2, h=6, w=5, c=8, kh=6, kw=5)
    assert (pool2d.flattened(spec).h, pool2d.flattened(spec).kw) == (1, 30)
    padded = replace(spec, pads=(1, 0, 0, 0))
    assert pool2d.flattened(padded) is padded


def test_one_divisor_or_all():
    spec = Pool2d("int8", "average", n=1, h=6, w=6, c=8, kh=3, kw=3)
    assert pool2d.factors(spec).tolist() == [9]
    assert pool2d.factors(replace(spec, pads=(1, 1, 1, 1))).tolist() == list(range(1, 10))


def test_records_decline_the_other_kind():
    spec = Pool2d("int8", "max", n=1, h=6, w=6, c=8, kh=3, kw=3)
    reasons = {r.name: r.accepts(spec) for r in pool2d.KERNELS if r.dtype == "int8"}
    assert reasons == {"int8_pool2d_max__generic": None,
                       "int8_pool2d_average__generic": "computes average pooling only"}


def test_ranges_write_their_own_part():
    found = [p for p in problems.pool2d() if p[0].oh > 1 and p[0].c == 65][::3]
    check_split(found, "host", [pool2d])
