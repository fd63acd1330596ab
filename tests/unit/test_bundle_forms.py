"""Forms of a bundle: which there are for which targets, and what is said of the others."""

import pytest

from edgecc.bundle.forms import FORMS, check_form, in_form, lacking
from edgecc.cli import matrix
from edgecc.errors import ConfigError


def manifest(runner):
    return {"name": "net", "target": "somewhere", "target_info": {"runner": runner}}


def test_a_bare_chip_has_every_form():
    assert [lacking(form, manifest("baremetal")) for form in FORMS] == [None] * 3


@pytest.mark.parametrize("form, runner, words", [
    ("assembly", "linux", "somewhere has no form assembly"),
    ("portable", "none", "somewhere has no programs"),
    ("portible", "linux", "did you mean portable"),
    ("x", "linux", "forms are library, portable, assembly"),
])
def test_a_form_that_there_is_not_is_refused(form, runner, words):
    with pytest.raises(ConfigError, match=words):
        check_form(form, manifest(runner))


def test_the_library_is_the_bundle_itself():
    class Bundle:
        manifest = manifest("linux")

    bundle = Bundle()
    assert in_form(bundle, "library") is bundle


def test_the_matrix_counts_an_absent_form_as_no_failure():
    found = {"model": "m", "quantization": "int8", "target": "host", "form": "assembly",
             "error": None, "absent": "no such form", "golden": None, "agrees": False}
    assert matrix.passed(found) and matrix.differing([found]) == []
    assert matrix.cells(found)[4] == "absent"
    assert not matrix.passed({**found, "absent": None})
