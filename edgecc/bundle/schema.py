"""The manifest's form: strict JSON, its schema, and the versions that this edgecc reads."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from edgecc.errors import BundleError

FORMAT_VERSION = "1.0"
ABI_VERSION = "1.2"
PROTOCOL_VERSION = "1.1"
VERSIONS = {"format_version": FORMAT_VERSION, "abi_version": ABI_VERSION,
            "protocol_version": PROTOCOL_VERSION}
MAX_MANIFEST_BYTES = 64 << 20


@cache
def manifest_schema() -> dict[str, Any]:
    """The JSON schema that ships with edgecc (docs/manifest.schema.json is a copy)."""
    text = resources.files("edgecc.bundle").joinpath("manifest.schema.json").read_text("utf-8")
    return json.loads(text)


def dump(value: Any) -> bytes:
    """JSON as edgecc writes it: stable order, no NaN, one final newline."""
    return (json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def parse(data: bytes, where: str) -> dict[str, Any]:
    """The manifest. Raises BundleError unless it is JSON, of a known version and valid."""
    if len(data) > MAX_MANIFEST_BYTES:
        raise BundleError("manifest.json is too large", where=where, needed=f"{len(data):,} B",
                          available=f"{MAX_MANIFEST_BYTES:,} B")
    try:
        manifest = json.loads(data, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"manifest.json is not valid JSON: {error}", where=where) from error
    check_versions(manifest, where)
    check_schema(manifest, where)
    return manifest


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def check_versions(manifest: Any, where: str) -> None:
    """Versions first, so that a bundle from the future is named as such. Same major is read."""
    for key, ours in VERSIONS.items():
        theirs = manifest.get(key) if isinstance(manifest, dict) else None
        if not isinstance(theirs, str):
            raise BundleError(f"manifest.json has no {key}", where=where)
        if theirs.split(".")[0] != ours.split(".")[0]:
            raise BundleError(
                f"{key} does not match", where=where, needed=theirs, available=ours,
                advice="use the edgecc that wrote it, or compile the model again",
            )


def check_schema(manifest: dict[str, Any], where: str) -> None:
    """Raises BundleError naming the first field that breaks the schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(manifest_schema()).iter_errors(manifest))
    if error is not None:
        field = "/".join(map(str, error.absolute_path)) or "its top level"
        raise BundleError(f"manifest.json, {field}: {error.message[:200]}", where=where)
