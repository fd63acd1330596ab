"""`edgecc size`: figures of one bundle, and what two differ in."""

import json

import bundle_maker
import pytest

from edgecc.bundle import Bundle
from edgecc.cli.main import main
from edgecc.errors import BundleError
from edgecc.link.archive import MAGIC, archive, members
from edgecc.report import size

SIZES = {"flash": {"code": 90, "constants": 8, "support": 2, "weights": 8, "data": 0},
         "ram": {"arena": 64, "context": 20, "stack": None, "data": 0},
         "symbols": [{"part": "code", "name": "tiny_run", "bytes": 60},
                     {"part": "code", "name": "tiny_fc", "bytes": 30}]}


def firmware(**changes):
    found = {**SIZES, **changes}
    files = bundle_maker.files(**{"report/size.json": json.dumps(found).encode()})
    return Bundle.of(bundle_maker.manifest(), files)


def sized(bundle):
    return size.size_of(bundle.files, bundle.manifest)


def test_totals_are_the_sums_of_the_parts():
    found = sized(firmware())
    assert found["flash_bytes"] == 108 and found["ram_bytes"] == 84
    assert ("flash", "total", "108") in size.totals(found, None)
    assert ("ram", "stack", "-") in size.totals(found, None)
    assert size.symbols(found, None) == [("code", "tiny_run", "60"), ("code", "tiny_fc", "30")]


def test_two_bundles_show_what_changed():
    other = firmware(flash={**SIZES["flash"], "code": 120}, symbols=[
        {"part": "code", "name": "tiny_run", "bytes": 60},
        {"part": "code", "name": "tiny_conv", "bytes": 60}])
    one, two = sized(firmware()), sized(other)
    assert ("flash", "code", "90", "120", "+30") in size.totals(one, two)
    assert size.symbols(one, two) == [("code", "tiny_conv", "0", "60", "+60"),
                                      ("code", "tiny_fc", "30", "0", "-30")]


def test_a_bundle_without_sizes_says_what_its_manifest_does():
    plain = Bundle.of(bundle_maker.manifest(), bundle_maker.files())
    assert sized(plain)["flash"] == {"code": 100, "weights": 8}
    assert sized(plain)["symbols"] == []


def test_sizes_that_are_none_are_refused():
    broken = Bundle.of(bundle_maker.manifest(), bundle_maker.files(**{"report/size.json": b"[]"}))
    with pytest.raises(BundleError, match=r"report/size.json has no sizes.*compile the bundle"):
        sized(broken)


def test_the_command(tmp_path, capsys):
    paths = [str(firmware().save(tmp_path / f"{name}.ecb")) for name in "ab"]
    assert main(["size", *paths]) == 0
    assert "flash   total" in capsys.readouterr().out
    assert main(["size", paths[0], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bundles"][0]["flash_bytes"] == 108
    assert main(["size", *paths, paths[0]]) == 2
    assert "3 bundles cannot be compared" in capsys.readouterr().err


def test_a_library_gives_back_its_members():
    assert members(archive({})) == members(b"") == {}
    with pytest.raises(BundleError, match="not a static library"):
        members(b"PK\3\4" * 20)
    with pytest.raises(BundleError, match="damaged library at byte 8"):
        members(MAGIC + b"x.o/".ljust(48) + b"999999".ljust(10) + b"`\n")
