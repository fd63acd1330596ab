"""The judge of a bundle: files against the manifest, and the manifest against itself.

It shares no code with what makes bundles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import prod
from typing import Any

from edgecc.errors import BundleError, CheckFailed

ITEM_BYTES = {"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "float16": 2, "int32": 4,
              "uint32": 4, "float32": 4, "int64": 8, "float64": 8}


def check_bundle(bundle: Any) -> None:
    """What the line makes must read back. Raises CheckFailed: a bug in edgecc."""
    try:
        again = type(bundle).from_bytes(bundle.data)
    except BundleError as error:
        raise CheckFailed(f"edgecc wrote a bundle that it refuses: {error}") from error
    if dict(again.files) != dict(bundle.files):
        raise CheckFailed("edgecc wrote a bundle that reads back differently")


def check_contents(manifest: dict[str, Any], files: Mapping[str, bytes], where: str) -> None:
    """Raises BundleError unless the files are exactly those listed, and the figures agree."""
    check_listing(manifest["files"], set(files) - {"manifest.json"}, where)
    for path, entry in manifest["files"].items():
        check_file(path, entry, files[path], where)
    for port in manifest["inputs"] + manifest["outputs"]:
        check_port(port, where)
    check_unique_names(manifest, where)
    check_sizes(manifest, where)
    check_vectors(manifest, where)


def check_listing(listed: Mapping[str, Any], present: set[str], where: str) -> None:
    if missing := sorted(set(listed) - present):
        raise BundleError(f"lacks {missing[0]!r}, which its manifest lists", where=where)
    if unlisted := sorted(present - set(listed)):
        raise BundleError(f"holds {unlisted[0]!r}, which its manifest does not list", where=where)


def check_file(path: str, entry: Mapping[str, Any], data: bytes, where: str) -> None:
    if len(data) != entry["bytes"]:
        raise BundleError(f"{path!r} has the wrong size", where=where,
                          needed=f"{entry['bytes']:,} B", available=f"{len(data):,} B")
    found = hashlib.sha256(data).hexdigest()
    if found != entry["sha256"]:
        raise BundleError(
            f"{path!r} was changed", where=where, needed=f"sha256 {entry['sha256'][:12]}…",
            available=f"sha256 {found[:12]}…", advice="do not use this bundle",
        )


def check_port(port: Mapping[str, Any], where: str) -> None:
    """Raises BundleError unless shape, bytes, permutation and quantization agree."""
    shape, model, order = port["shape"], port["model_shape"], port["permutation"]
    if prod(shape) * ITEM_BYTES[port["dtype"]] != port["bytes"]:
        problem = f"{port['bytes']} B do not hold {port['dtype']} {shape}"
    elif prod(shape) != prod(model):
        problem = f"shape {shape} does not hold the model's {model}"
    elif order is not None and sorted(order) != list(range(len(model))):
        problem = f"{order} is no permutation of {len(model)} axes"
    elif (port["scale"] is None) != (port["zero_point"] is None):
        problem = "scale and zero_point go together"
    elif port["scale"] is not None and "int" not in port["dtype"]:
        problem = f"{port['dtype']} values have no scale"
    else:
        return
    raise BundleError(f"manifest.json, {port['name']!r}: {problem}", where=where)


def check_unique_names(manifest: Mapping[str, Any], where: str) -> None:
    for group in ("inputs", "outputs", "steps"):
        names = [item["name"] for item in manifest[group]]
        if len(set(names)) != len(names):
            raise BundleError(f"manifest.json, {group}: a name occurs twice", where=where)


def check_sizes(manifest: Mapping[str, Any], where: str) -> None:
    """Raises BundleError where sizes contradict each other or a placement leaves the arena."""
    weights = manifest["files"].get("weights.bin", {"bytes": 0})["bytes"]
    if weights != manifest["weights_bytes"]:
        raise BundleError("manifest.json, weights_bytes: not the size of weights.bin",
                          where=where, needed=f"{weights:,} B",
                          available=f"{manifest['weights_bytes']:,} B")
    for placed in manifest["memory"]["placements"]:
        end = placed["offset_bytes"] + placed["size_bytes"]
        if end > manifest["arena_bytes"]:
            raise BundleError(
                f"manifest.json, {placed['name']!r} leaves the arena", where=where,
                needed=f"{end:,} B", available=f"{manifest['arena_bytes']:,} B",
            )


def check_vectors(manifest: Mapping[str, Any], where: str) -> None:
    """Raises BundleError where a golden vector is missing or of the wrong size."""
    for n in range(manifest["vectors"]["count"]):
        for kind in ("input", "output"):
            for i, port in enumerate(manifest[f"{kind}s"]):
                path = f"vectors/{n}/{kind}_{i}.bin"
                found = manifest["files"].get(path, {"bytes": None})["bytes"]
                if found != port["bytes"]:
                    raise BundleError(
                        f"golden vector {path!r} is missing or of the wrong size", where=where,
                        needed=f"{port['bytes']} B", available=f"{found or 0} B",
                    )
