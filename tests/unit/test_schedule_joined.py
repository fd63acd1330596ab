"""Clamps in front of views, and arithmetic of tables."""

import numpy as np
import pytest
import schedule_cases as cases
import schedule_models as models
from schedule_models import Qdq

IMAGE = (1, 6, 4, 5)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def kinds(program):
    return [step.spec.op for step in program.entry().steps]


def conv(q, x):
    w, s = q.weights((6, 6, 1, 1))
    return q.add("Conv", [x, w, q.bias(s)])


def same_bytes(proto, expected):
    """Fused and plain programs agree; the fused one has the expected steps."""
    feeds = models.feeds_for(proto, 3)
    fused, plain = (models.program_of(proto, fusion=f) for f in (True, False))
    assert kinds(fused) == expected
    ours, other = (models.run_ours(p, feeds, real=False) for p in (fused, plain))
    assert np.array_equal(ours["y"], other["y"])
    theirs = models.run_ort(proto, feeds)["y"]
    scale = fused.entry().outputs[0].view.quantization.scale
    assert np.abs(models.run_ours(fused, feeds)["y"] - theirs).max() <= 1.01 * scale


def test_a_relu_behind_views_goes_into_the_operator_before_them():
    q = Qdq()
    c = q.through(conv(q, q.through("x")), 0.3, 1)
    r = q.add("Reshape", [c, q.constant(np.array([1, 6, 20]))])
    t = q.through(q.add("Transpose", [r], perm=[0, 2, 1]), 0.3, 1)
    y = q.through(q.add("Relu", [t]), 0.3, 1)
    same_bytes(cases.finish(q, y, {"x": IMAGE}, (1, 20, 6)), ["conv2d"])


def test_a_view_that_others_read_keeps_its_values():
    q = Qdq()
    c = q.through(conv(q, q.through("x")), 0.3, 1)
    r = q.through(q.add("Reshape", [c, q.constant(np.array([1, 6, 20]))]), 0.3, 1)
    y = q.through(q.add("Add", [q.through(q.add("Relu", [r]), 0.3, 1), r]), 0.5, 2)
    same_bytes(cases.finish(q, y, {"x": IMAGE}, (1, 6, 20)), ["conv2d", "table"])


def test_what_two_tables_of_one_tensor_give_is_a_table():
    """x * Sigmoid(x) with the sigmoid quantized, as other tools' models have it."""
    q = Qdq()
    c = q.through(conv(q, q.through("x")), 0.3, 1)
    s = q.through(q.add("Sigmoid", [c]), 1 / 256, -128)
    y = q.through(q.add("Mul", [c, s]), 0.25, -100)
    same_bytes(cases.finish(q, y, {"x": IMAGE}, IMAGE), ["conv2d", "table"])


def test_tables_of_two_tensors_stay_apart():
    q = Qdq()
    c = q.through(conv(q, q.through("x")), 0.3, 1)
    s = q.through(q.add("Sigmoid", [q.through(conv(q, c), 0.3, 1)]), 1 / 256, -128)
    y = q.through(q.add("Mul", [c, s]), 0.25, -100)
    same_bytes(cases.finish(q, y, {"x": IMAGE}, IMAGE), ["conv2d", "conv2d", "table", "binary"])
