"""Reference answers that are kept between targets: asked once, never mixed up, bounded."""

import numpy as np
import pytest

from edgecc.schedule import remembered
from edgecc.schedule.remembered import Remembered, digest


@pytest.fixture
def asked(monkeypatch):
    """Calls that reached the reference."""
    calls = []

    def reference(spec, values, constants):
        calls.append(spec)
        return [values[0] * constants["by"]]

    monkeypatch.setattr(remembered, "reference", reference)
    return calls


def test_the_same_question_is_answered_once(asked):
    answer, x, by = Remembered(), np.arange(4), np.array([2])
    first = answer("scale", [x], {"by": by})
    again = answer("scale", [x.copy()], {"by": by.copy()})
    assert np.array_equal(first[0], [0, 2, 4, 6]) and again[0] is first[0] and len(asked) == 1


@pytest.mark.parametrize("spec, x, by", [
    ("other", np.arange(4), 2), ("scale", np.arange(1, 5), 2), ("scale", np.arange(4), 3),
    ("scale", np.arange(4).reshape(2, 2), 2), ("scale", np.arange(4).view(np.float64), 2),
    ("scale", np.arange(4), np.array(2))])
def test_another_question_is_asked(asked, spec, x, by):
    answer = Remembered()
    answer("scale", [np.arange(4)], {"by": 2})
    assert np.array_equal(answer(spec, [x], {"by": by})[0], x * by) and len(asked) == 2


def test_answers_beyond_the_limit_are_given_but_not_kept(asked):
    answer, x = Remembered(limit_bytes=40), np.arange(4)
    for _ in range(2):
        answer("scale", [x], {"by": 2})
        assert np.array_equal(answer("scale", [x], {"by": 3})[0], x * 3)
    assert len(asked) == 3 and answer.used_bytes == 32


def test_strides_do_not_tell_equal_arrays_apart():
    x = np.arange(12).reshape(3, 4)
    assert digest(x.T) == digest(np.ascontiguousarray(x.T)) != digest(x)
