"""The Bundle value: manifest, files and the checks between them."""

from pathlib import Path

import pytest
from bundle_maker import bundle, files, flat_port, manifest, port

from edgecc.bundle import Bundle, check_bundle, schema
from edgecc.bundle.bundle import MANIFEST
from edgecc.errors import BundleError, CheckFailed

ROOT = Path(__file__).resolve().parents[2]


def reread(whole: Bundle) -> Bundle:
    return Bundle.from_bytes(whole.data, "b.ecb")


def refused(whole: Bundle, match: str) -> None:
    with pytest.raises(BundleError, match=match) as caught:
        reread(whole)
    assert caught.value.where == "b.ecb" and caught.value.exit_code == 9


def with_manifest(text: bytes) -> Bundle:
    return Bundle({**files(), MANIFEST: text})


def test_a_bundle_reads_back(tmp_path):
    whole = bundle()
    path = whole.save(tmp_path / "b.ecb")
    again = Bundle.read(path)
    assert dict(again.files) == dict(whole.files) and again.sha256 == whole.sha256
    assert whole.export(tmp_path / "c.ecb").read_bytes() == path.read_bytes()
    check_bundle(whole)


def test_a_bundle_cannot_be_changed():
    whole = bundle()
    whole.manifest["target"] = "other"
    assert whole.manifest["target"] == "host"
    with pytest.raises(TypeError):
        whole.files["weights.bin"] = b""


def test_vectors_are_native_arrays():
    (inputs, outputs), = bundle().vectors()
    assert inputs["x"].shape == (1, 2, 2, 3) and inputs["x"].dtype == "int8"
    assert outputs["y"].tolist() == [[0, 1, 2, 3]]


def test_the_schema_is_valid_and_the_docs_show_it():
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(schema.manifest_schema())
    shipped = ROOT / "edgecc/bundle/manifest.schema.json"
    assert shipped.read_bytes() == (ROOT / "docs/manifest.schema.json").read_bytes()


def test_the_licence_shipped_is_the_projects():
    ours = ROOT / "edgecc/bundle/templates/Apache-2.0.txt"
    assert ours.read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_no_such_file(tmp_path):
    with pytest.raises(BundleError, match="cannot be read: No such file"):
        Bundle.read(tmp_path / "none.ecb")


def test_no_manifest():
    refused(Bundle({"a": b""}), "no manifest.json")


@pytest.mark.parametrize("text", [
    b"{", b"\xff", b"[" * 100_000, b'{"a": 1, "a": 2}', b'{"a": NaN}',
])
def test_a_manifest_that_is_no_json(text):
    refused(with_manifest(text), "not valid JSON")


def test_a_huge_manifest(monkeypatch):
    monkeypatch.setattr(schema, "MAX_MANIFEST_BYTES", 10)
    refused(bundle(), "manifest.json is too large")


@pytest.mark.parametrize("text", [b"[]", b"null", b"{}", b'{"format_version": 1}'])
def test_a_manifest_without_versions(text):
    refused(with_manifest(text), "no format_version")


@pytest.mark.parametrize("key", ["format_version", "abi_version", "protocol_version"])
def test_another_major_version_is_refused_by_name(key):
    ours = schema.VERSIONS[key]
    refused(bundle(**{key: "2.0"}), rf"{key} does not match \(needed 2.0, available {ours}\)")


def test_a_newer_minor_version_with_new_fields_is_read():
    assert reread(bundle(format_version="1.7", novelty={"a": 1})).manifest["novelty"] == {"a": 1}


@pytest.mark.parametrize(("changes", "field"), [
    ({"arena_bytes": -1}, "arena_bytes"),
    ({"arena_bytes": "12"}, "arena_bytes"),
    ({"name": "no identifier"}, "name"),
    ({"model": {"name": "x", "sha256": "12", "file": None}}, "model/sha256"),
    ({"inputs": [port("x", dtype="complex64")]}, "inputs/0/dtype"),
    ({"steps": [{}]}, "steps/0"),
    ({"vectors": {"count": 65, "calibration": 0, "random": 0}}, "vectors/count"),
])
def test_a_manifest_against_the_schema(changes, field):
    refused(bundle(**changes), f"manifest.json, {field}: ")


@pytest.mark.parametrize("name", sorted(set(manifest()) - set(schema.VERSIONS)))
def test_every_field_is_required(name):
    fields = manifest()
    del fields[name]
    refused(Bundle.of(fields, files()), f"{name}.* is a required property")


def test_a_changed_file_is_named():
    changed = {**bundle().files, "weights.bin": b"\0" * 8}
    refused(Bundle(changed), r"'weights.bin' was changed \(needed sha256 [0-9a-f]{12}…")


def test_a_file_of_the_wrong_size_is_named():
    refused(Bundle({**bundle().files, "weights.bin": b"\0"}),
            r"'weights.bin' has the wrong size \(needed 8 B, available 1 B\)")


def test_a_missing_file_is_named():
    less = {path: data for path, data in bundle().files.items() if path != "weights.bin"}
    refused(Bundle(less), "lacks 'weights.bin'")


def test_an_unlisted_file_is_named():
    refused(Bundle({**bundle().files, "extra": b""}), "holds 'extra'.*does not list")


@pytest.mark.parametrize(("changes", "problem"), [
    ({"bytes": 13}, "13 B do not hold int8"),
    ({"model_shape": [1, 5]}, "does not hold the model's"),
    ({"permutation": [0, 1, 2, 2]}, "non-unique"),
    ({"permutation": [0, 1, 2, 7]}, "no permutation"),
    ({"permutation": [0, 1]}, "no permutation"),
    ({"zero_point": None}, "go together"),
    ({"dtype": "float32", "bytes": 48}, "float32 values have no scale"),
])
def test_a_port_that_contradicts_itself(changes, problem):
    refused(bundle(inputs=[port("x", **changes)]), problem)


@pytest.mark.parametrize("group", ["inputs", "outputs", "steps"])
def test_names_occur_once(group):
    refused(bundle(**{group: manifest()[group] * 2}), f"{group}: a name occurs twice")


def test_weights_of_another_size():
    refused(bundle(weights_bytes=9), r"weights_bytes.*\(needed 8 B, available 9 B\)")


def test_a_placement_outside_the_arena():
    refused(bundle(arena_bytes=11), r"'x' leaves the arena \(needed 12 B, available 11 B\)")


@pytest.mark.parametrize("changes", [
    {"vectors": {"count": 2, "calibration": 0, "random": 2}},
    {"outputs": [flat_port("y") | {"shape": [1, 5], "bytes": 5, "model_shape": [1, 5]}]},
])
def test_golden_vectors_are_complete(changes):
    refused(bundle(**changes), "golden vector.*missing or of the wrong size")


def test_vectors_of_an_unchecked_bundle_are_checked():
    whole = Bundle.of(manifest(), files(**{"vectors/0/input_0.bin": b"1"}))
    with pytest.raises(BundleError, match="'x' has the wrong size"):
        whole.vectors()


def test_a_bundle_that_edgecc_should_not_have_made():
    with pytest.raises(CheckFailed, match="it refuses: .*weights_bytes"):
        check_bundle(bundle(weights_bytes=9))


def test_a_bundle_that_reads_back_differently():
    whole = bundle()
    vars(whole)["data"] = bundle(macs=1).data
    with pytest.raises(CheckFailed, match="reads back differently"):
        check_bundle(whole)
