"""Names of untrusted models become C that cannot be broken out of."""

import ast
import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecc.errors import CheckFailed
from edgecc.lower import c_text


@pytest.mark.parametrize("name, prefix", [
    ("vww", "vww"), ("MobileNet-v2 (1.0)", "mobilenet_v2_1_0"), ("", "model"), ("../../x", "x"),
    ("9lives", "model_9lives"), ("edgecc", "model_edgecc"), ("é", "model"), ("__a__", "a"),
])
def test_prefixes(name, prefix):
    assert c_text.prefix_of(name) == prefix


@given(st.text())
def test_a_prefix_is_an_identifier_and_its_own_prefix(name):
    prefix = c_text.prefix_of(name)
    assert c_text.identifier(prefix) == prefix and len(prefix) <= c_text.LONGEST_PREFIX
    assert c_text.prefix_of(prefix) == prefix and "__" not in prefix


@pytest.mark.parametrize("text", ["", "a-b", "a b", "1a", "a;b", "a\n", "_a", "é"])
def test_what_is_no_identifier(text):
    with pytest.raises(CheckFailed, match="not a C identifier"):
        c_text.identifier(text)


@given(st.text())
def test_literals_hold_the_text_and_nothing_else(text):
    made = c_text.literal(text)
    inside = made[1:-1]
    assert set(inside) <= set(string.printable) - set('"?\n\r\t\x0b\x0c')
    assert re.fullmatch(r"(?:[^\\]|\\[0-7]{3})*", inside)
    back = ast.literal_eval(f"b{made}").decode()  # three octal digits mean the same in Python
    assert back == text.encode("utf-8", "replace").decode()[: len(back)]
    assert len(back) == len(text) or len(text.encode("utf-8", "replace")) > c_text.LONGEST_LITERAL


def test_a_long_literal_is_cut_between_characters():
    made = c_text.literal("é" * 2000)
    assert made.count("\\303") == made.count("\\251") == c_text.LONGEST_LITERAL // 2


@given(st.text())
def test_comments_end_where_they_should(text):
    assert re.fullmatch(r"/\* [A-Za-z0-9_.:-]* \*/", c_text.comment(text))


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_read_back_as_they_were(value):
    made = c_text.float32(value)
    assert made.endswith("f") and ("." in made or "e" in made)
    assert np.float32(made[:-1]) == np.float32(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_floats_that_c_cannot_write(value):
    with pytest.raises(CheckFailed, match="no C constant"):
        c_text.float32(value)


def test_byte_arrays():
    assert [int(n) for n in c_text.byte_array(bytes(range(256))).split(",")] == list(range(256))
