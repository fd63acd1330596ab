"""Format c-source: C99 that any compiler takes, and beside it, chosen by a macro, the fast
kernels of the bundle's target as GNU assembly.

Both variants have headers of their own, since their arenas and weights differ; `<name>.h` takes
the one that `<NAME>_FAST` chooses. Every file is harmless in the other variant: all of src may
be compiled, always.
"""

from __future__ import annotations

from typing import Any

from edgecc.bundle.package import contents
from edgecc.bundle.package.compilers import Compilers, compilers
from edgecc.bundle.package.readme import readme
from edgecc.bundle.package.relower import Source, relowered
from edgecc.context import Context

LAYOUT = (
    ("include, src", "the model: API, run function, kernels, weights, self-test"),
    ("example/main.c", "a program that runs the self-test"),
)


def files(bundle: Any, context: Context) -> dict[str, bytes]:
    """See `edgecc.bundle.package.package`."""
    manifest = bundle.manifest
    name, bare = manifest["name"], contents.is_bare(manifest)
    portable = relowered(bundle, "c", context)
    fast = relowered(bundle, "assembly", context) if bare else None
    made = {
        **contents.licences(bundle), **contents.tests(bundle),
        f"include/{name}_weights.h": contents.weights_header(name),
        "example/main.c": contents.example(name),
        **variant(name, portable, "portable", f"!defined({name.upper()}_FAST)"),
        "README.md": _readme(manifest, fast is not None, compilers(manifest)),
    }
    if fast is None:
        return {**made, f"include/{name}.h": portable.texts[f"include/{name}.h"].encode(),
                **_without(f"include/{name}_portable.h", made)}
    return {**made, **variant(name, fast, "fast", f"defined({name.upper()}_FAST)"),
            f"include/{name}.h": _chooser(name).encode()}


def _without(path: str, made: dict[str, bytes]) -> dict[str, bytes]:
    made.pop(path)
    return {}


def variant(name: str, source: Source, kind: str, condition: str) -> dict[str, bytes]:
    """Header, run function, kernels and weights of one variant, each under its condition."""
    def under(text: str) -> bytes:
        # a file must not be empty, whatever the condition
        return (f"typedef int {name}_{kind}_translation_unit;\n#if {condition}\n"
                f"{text.rstrip()}\n#endif\n").encode()

    made = {f"include/{name}_{kind}.h": source.texts[f"include/{name}.h"].encode(),
            f"src/{name}_{kind}_run.c": under(source.texts[f"src/{name}.c"]),
            f"src/{name}_{kind}_weights.c": under(
                contents.weights_source(name, source.objects.weights).decode())}
    for path, data in source.objects.code.items():
        if path.endswith(".s"):
            made[f"src/{path[:-2]}.S"] = f"#if {condition}\n{data.decode()}#endif\n".encode()
        else:
            made[f"src/{path}"] = under(data.decode())
    return made


def _chooser(name: str) -> str:
    upper = name.upper()
    return f"""\
/* The model {name}: define {upper}_FAST, for every file, to take the kernels in assembly. */
#if defined({upper}_FAST)
#include "{name}_fast.h"
#else
#include "{name}_portable.h"
#endif
"""


def _readme(manifest: Any, fast: bool, found: Compilers) -> bytes:
    build = ["cc -std=c99 -O2 -Iinclude src/*.c example/main.c -o selftest && ./selftest"]
    upper = manifest["name"].upper()
    notes = [f"""\
For {manifest["target"]} itself, the fast kernels as assembly (the figures above are theirs):

    {found.cc} {" ".join(found.flags)} -O2 -D{upper}_FAST -Iinclude -c src/*.c src/*.S

`{upper}_FAST` must be the same for every file, the application's too."""] if fast else []
    return readme(manifest, build, LAYOUT, notes)
