"""Arithmetic operators in int8: the interpreter against ONNX Runtime."""

import re
from pathlib import Path

import numpy as np
import pytest
import schedule_models as models
from math_qdq_cases import CASES
from schedule_cases import differences


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


@pytest.mark.parametrize("name", CASES)
def test_integers_equal_onnxruntime_within_the_listed_difference(name):
    build, limit = CASES[name]
    proto = build()
    program = models.program_of(proto)
    dtypes = {view.dtype for step in program.entry().steps for view in step.outputs}
    assert dtypes == {"int8"}
    found = differences(name, program, proto, runs=6)
    assert np.abs(found).max() <= limit


def test_the_documented_table_has_every_case_and_limit():
    text = (Path(__file__).parents[2] / "docs" / "numerics.md").read_text()
    rows = dict(re.findall(r"^\| ([^|]+?) +\| (\d+) ", text, re.M))
    functions = next(name for name in rows if name.endswith(", each"))
    limits = {name: int(rows.get(name, 1 if name.split()[0] in functions else -1))
              for name in CASES}
    assert limits == {name: limit for name, (_, limit) in CASES.items()}
