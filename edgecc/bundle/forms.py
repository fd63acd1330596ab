"""A bundle in another form of its model: kernels compiled from the sources that packages bring.

`library` is the bundle itself: its program is linked from lib<p>.a and the weights. `portable`
and `assembly` are the C99 and the GNU assembly of `edgecc package --format c-source`, compiled
by the bundle's own toolchain and linked to a program again, so that boards run and count them
like any other bundle.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgecc.bundle import manifest as records
from edgecc.bundle.check import check_bundle
from edgecc.bundle.package.relower import Source, config_of, relowered
from edgecc.context import Context
from edgecc.errors import ConfigError
from edgecc.lower.objects import Objects
from edgecc.targets import Target, get_target

if TYPE_CHECKING:
    from edgecc.bundle.bundle import Bundle

SOURCE_OF = {"library": "object", "portable": "c", "assembly": "assembly"}
FORMS = tuple(SOURCE_OF)
KEPT = ("vectors/", "model/", "report/report.json", "sbom.spdx.json", "LICENSES/")
DESCRIBED = ("-g1", "-fasynchronous-unwind-tables")  # what stack figures are read from


def in_form(bundle: Bundle, form: str, *, context: Context | None = None) -> Bundle:
    """The bundle with its program made of `form`: library, portable or assembly.

    Inputs, outputs and golden vectors are the same; arena, weights, code and steps are the
    form's own. Raises ConfigError for a form that there is not, or that the target has not;
    ToolchainError and DoesNotFit as compiling does.
    """
    check_form(form, bundle.manifest)
    return bundle if form == "library" else _linked_anew(bundle, form, context or Context())


def check_form(form: str, manifest: Mapping[str, Any]) -> None:
    """Raises ConfigError as `in_form`."""
    if form not in FORMS:
        near = difflib.get_close_matches(form, FORMS, n=1)
        raise ConfigError(f"unknown form {form!r}", advice=f"did you mean {near[0]}?" if near
                          else f"forms are {', '.join(FORMS)}")
    if lack := lacking(form, manifest):
        raise ConfigError(lack, where=manifest["name"], advice="use another form or target")


def lacking(form: str, manifest: Mapping[str, Any]) -> str | None:
    """Why the bundle's target has no program of this form; None if it has."""
    target, runner = manifest["target"], manifest["target_info"]["runner"]
    if runner == "none":
        return f"{target} has no programs"
    if form == "assembly" and runner != "baremetal":
        return f"{target} has no form assembly: it is for chips without an operating system"
    return None


def _linked_anew(bundle: Bundle, form: str, context: Context) -> Bundle:
    from edgecc import link

    before = bundle.manifest
    target, config = get_target(before["target"]), config_of(before)
    source = relowered(bundle, SOURCE_OF[form], context)
    objects = compiled(source, target, config, context)
    named: dict[str, Any] = {"config": config, "context": context, "name": before["name"],
                             "version": before["model"]["sha256"][:12]}
    stack = (before["stack_bytes"] if form == "assembly"  # the same code, without its description
             else link.stack_bytes(source.program, source.plan, objects, target, **named))
    objects = replace(objects, stack_bytes=stack)
    linked = link.link_baremetal if target.runner == "baremetal" else link.link_linux
    files = {**{path: data for path, data in bundle.files.items() if path.startswith(KEPT)},
             **linked(source.program, source.plan, objects, target, **named),
             "weights.bin": objects.weights}
    made = type(bundle).of(_manifest(before, source, objects, target, config, files), files)
    check_bundle(made)
    return made


def compiled(source: Source, target: Target, config: Any, context: Context) -> Objects:
    """The kernels' sources through the target's C compiler. Raises ToolchainError."""
    from edgecc.link.toolchain import driver_for

    driver = driver_for(target, config, context)
    code = {}
    for path, text in sorted(source.objects.code.items()):
        name = path if path.endswith(".c") else f"{path[:-2]}.S"
        flags = DESCRIBED if path.endswith(".c") else ()
        code[f"{path[:-2]}.o"] = driver.compile(name, {name: text.decode()}, *flags)
    return replace(source.objects, code=code)


def _manifest(before: Mapping[str, Any], source: Source, objects: Objects, target: Target,
              config: Any, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The form's own figures and steps; where the model came from stays."""
    made = records.build(source.program, source.plan, objects, target, config,
                         prefix=before["name"], model=before["model"], files=files,
                         quantization=before["quantization"], vectors=before["vectors"],
                         seed=before["seeds"]["seed"])
    return {**made, "config": before["config"]}
