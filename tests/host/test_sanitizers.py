"""All C that a bundle ships, under address and undefined-behaviour sanitizers, for every model:
runner, run function and tables around machine code, and the same around portable C kernels."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import whole_models
from link_models import talk

from edgecc import lower, memory, schedule
from edgecc.bundle import manifest
from edgecc.bundle.package.relower import portable_target
from edgecc.bundle.vectors import Vectors, make
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.lower.api_facts import facts_of
from edgecc.lower.run_function import texts_of
from edgecc.lower.runner_glue import RUNNER_HEADERS, RUNNER_SOURCES, glue, runtime_text
from edgecc.rpc.golden import agrees
from edgecc.rpc.protocol import Type, encode_u32
from edgecc.targets import get_target

pytestmark = [
    pytest.mark.host, pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]
SANITIZED = ("gcc", "-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
VECTORS = 1  # of the calibration data; random ones, over the whole range, come on top
TARGETS = {"object": get_target("host"), "c": portable_target(get_target("host"))}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """The runner's own objects."""
    folder = tmp_path_factory.mktemp("runtime")
    for name in (*RUNNER_SOURCES, *RUNNER_HEADERS):
        (folder / name).write_text(runtime_text(name))
    compile_in(folder, "-c", *RUNNER_SOURCES)
    return folder


@pytest.mark.parametrize("name", [*whole_models.FILES, *whole_models.NETS])
def test_a_model_is_quiet(name, runtime, tmp_path):
    for quantization in ("int8", "none"):
        prepared, vectors = whole_models.prepared(name, quantization), None
        for form, target in TARGETS.items():
            folder = tmp_path / f"{quantization}-{form}"
            program, ports = built(prepared, quantization, form, target, runtime, folder)
            vectors = vectors or make(program, ports[0], prepared.samples[:VECTORS], 0,
                                      prepared.answers)
            run(folder, vectors, *ports)


def built(prepared: Any, quantization: str, form: str, target: Any, runtime: Path,
          folder: Path) -> Any:
    """A sanitized runner in `folder`; its program, input and output ports."""
    context, prefix = Context(), prepared.origin.prefix
    config = CompileConfig(target="host", quantization=quantization)
    program = schedule.schedule(prepared.graph, target, config=config, context=context)
    plan = memory.plan((program,), target, config=config, context=context)
    objects = lower.lower(program, plan, target, config=config, context=context, prefix=prefix,
                          form=form)
    facts = facts_of(program, plan, objects, prefix=prefix, version="1", target=target.name)
    files = {Path(path).name: text.encode() for path, text in texts_of(facts).items()}
    files["glue.c"] = glue(facts, objects.weights, model=prefix, target="host").encode()
    link(folder, {**files, **objects.code}, objects.weights, runtime)
    entry = program.entry()
    return program, [[manifest.port(port, plan) for port in side]
                     for side in (entry.inputs, entry.outputs)]


def link(folder: Path, files: dict[str, bytes], weights: bytes, runtime: Path) -> None:
    (folder / "runner").mkdir(parents=True)
    (folder / "weights.bin").write_bytes(weights)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    own = sorted(name for name in files if name.endswith((".c", ".o")))
    compile_in(folder, f"-I{runtime}", *own, *(str(path) for path in runtime.glob("*.o")),
               "-o", "runner/runner")


def compile_in(folder: Path, *words: str) -> None:
    done = subprocess.run([*SANITIZED, *words], cwd=folder, capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr[:2000]


def run(folder: Path, vectors: Vectors, inputs: Any, outputs: Any) -> None:
    """Every vector through the runner: right answers and nothing said."""
    for given, wanted in zip(vectors.inputs, vectors.outputs, strict=True):
        sent = [encode_u32(Type.SET_INPUT, i, given[port["name"]].tobytes())
                for i, port in enumerate(inputs)]
        sent += [encode_u32(Type.RUN, 1)]
        sent += [encode_u32(Type.GET_OUTPUT, i) for i in range(len(outputs))]
        answers, said = talk(folder, b"".join(sent))
        assert said == "" and all(status == 0 for _, status, _ in answers), said
        for port, (_, _, data) in zip(outputs, answers[-len(outputs):], strict=True):
            want = wanted[port["name"]].tobytes()
            assert agrees(port["dtype"], want, data), f"{folder.name}: {port['name']} differs"
