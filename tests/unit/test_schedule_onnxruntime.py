"""Every int8 operator against ONNX Runtime, within the differences docs/numerics.md lists."""

import re
from pathlib import Path

import numpy as np
import pytest
import schedule_models as models
from schedule_cases import CASES, differences

NUMERICS = Path(__file__).parents[2] / "docs" / "numerics.md"


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


@pytest.mark.parametrize("name", CASES)
def test_integers_equal_onnxruntime_within_the_listed_difference(name):
    build, limit = CASES[name]
    proto = build()
    found = differences(name, models.program_of(proto), proto)
    assert np.abs(found).max() <= limit


@pytest.mark.parametrize("name", CASES)
def test_fusion_does_not_change_a_byte(name):
    proto = CASES[name][0]()
    feeds = models.feeds_for(proto, 3, scale=3.0)
    fused, plain = (models.run_ours(models.program_of(proto, fusion=f), feeds, real=False)
                    for f in (True, False))
    assert fused["y"].dtype == np.int8
    assert (fused["y"] == plain["y"]).all()


@pytest.mark.parametrize("name", ["Conv 3x3", "Gemm", "Add", "Concat", "Softmax of channels"])
def test_float_ports_give_the_numbers_of_int8_ports(name):
    proto = CASES[name][0]()
    feeds = models.feeds_for(proto, 3, scale=3.0)
    program = models.program_of(proto, io="float32")
    assert {p.view.dtype for p in (*program.entry().inputs, *program.entry().outputs)} == {
        "float32"}
    int8 = models.run_ours(models.program_of(proto), feeds)
    assert (models.run_ours(program, feeds)["y"] == int8["y"]).all()


def test_the_documented_table_has_every_case_and_limit():
    text = NUMERICS.read_text()
    rows = dict(re.findall(r"^\| ([^|]+?) +\| (\d+) ", text, re.M))
    assert {name: int(rows.get(name, -1)) for name in CASES} == {
        name: limit for name, (_, limit) in CASES.items()}
