"""What is inside a bundle and under which licence: SPDX 2.3 JSON and the licence texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from edgecc.bundle.schema import dump

# package: SPDX licence, who, file under LICENSES/, template
PARTS = {
    "edgecc-runtime": ("Apache-2.0", "The edgecc authors", "Apache-2.0.txt"),
    "musl": ("MIT", "Rich Felker, et al.", "musl.txt"),
    "compiler-rt": ("MIT AND (Apache-2.0 WITH LLVM-exception)", "Zig contributors; LLVM Project",
                    "compiler-rt.txt"),
}


def linked_parts(toolchain_kind: str, libc: str) -> list[str]:
    """Names of PARTS that the runner and the libraries contain."""
    from_zig = toolchain_kind == "zig"
    return ["edgecc-runtime"] + (["compiler-rt"] if from_zig else []) + (
        ["musl"] if from_zig and libc == "musl" else [])


def licence_files(parts: list[str]) -> dict[str, bytes]:
    """`LICENSES/<part>` texts; a C library of the user's own toolchain is named in the SBOM."""
    folder = resources.files("edgecc.bundle").joinpath("templates")
    names = sorted(PARTS[part][2] for part in parts)
    return {f"LICENSES/{name}": folder.joinpath(name).read_bytes() for name in names}


def sbom(name: str, model: Mapping[str, Any], weights: bytes, parts: list[str],
         tools: Mapping[str, str], toolchain: list[str], dynamic: bool = False) -> bytes:
    """The SPDX document; `dynamic`: the runner uses the C library of its board.

    No time of day and no random names: same inputs, same bytes.
    """
    packages = [_model(name, model, weights)] + [_part(part, tools) for part in parts]
    if "musl" not in parts and toolchain:
        packages.append(_package("system-c-library", f"of {toolchain[0]}", "NOASSERTION",
                                 "NOASSERTION"))
    digest = hashlib.sha256(dump([packages, dict(tools)])).hexdigest()
    return dump({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"urn:edgecc:sbom:{name}-{digest}",
        "creationInfo": {"created": "1980-01-01T00:00:00Z",
                         "creators": [f"Tool: edgecc-{tools['edgecc']}"]},
        "packages": packages,
        "relationships": _relationships(packages, dynamic),
    })


def _package(name: str, version: str, licence: str, holder: str) -> dict[str, Any]:
    return {
        "SPDXID": f"SPDXRef-{name}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": holder,
    }


def _model(name: str, model: Mapping[str, Any], weights: bytes) -> dict[str, Any]:
    package = _package("model", model["sha256"][:12], "NOASSERTION", "NOASSERTION")
    digest = hashlib.sha256(weights).hexdigest()
    return {
        **package, "name": name,
        "comment": f"weights.bin and the generated code come from {model['name']}",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
    }


def _part(part: str, tools: Mapping[str, str]) -> dict[str, Any]:
    licence, holder, _ = PARTS[part]
    version = tools["edgecc"] if part == "edgecc-runtime" else f"of ziglang {tools['ziglang']}"
    return _package(part, version, licence, holder)


def _relationships(packages: list[dict[str, Any]], dynamic: bool) -> list[dict[str, str]]:
    root, *others = [package["SPDXID"] for package in packages]
    links = [("SPDXRef-DOCUMENT", "DESCRIBES", root)]
    links += [(root, "DYNAMIC_LINK" if dynamic and "system-c-library" in other else "STATIC_LINK",
               other) for other in others]
    return [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in links]
