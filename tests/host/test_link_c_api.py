"""The generated C API on this machine: every way of linking it gives the runner's bytes."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import link_models
import numpy as np
import pytest

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.lower.api_facts import facts_of
from edgecc.lower.run_function import generate
from edgecc.lower.runner_glue import RUNNER_HEADERS, RUNNER_SOURCES, glue, runtime_text
from edgecc.targets import get_target

pytestmark = pytest.mark.host
APP = Path(__file__).parents[1] / "link_app.c"
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wcast-align", "-Wshadow", "-pedantic")
ZIG = (sys.executable, "-m", "ziglang", "cc")
INPUT = bytes(range(150, 214))
TOOLCHAINS = {"zig": None, "gcc": ("gcc",), "clang": ("clang",)}


def needs(tool):
    return shutil.which(tool) or pytest.skip(f"needs {tool}")


@pytest.fixture(scope="module", params=TOOLCHAINS)
def bundle(request, tmp_path_factory):
    argv = TOOLCHAINS[request.param]
    if argv:
        needs(argv[0])
    return make_bundle(tmp_path_factory.mktemp(request.param), argv)


@pytest.fixture(scope="module")
def zig_bundle(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("only_zig"), None)


def make_bundle(folder, argv):
    """The bundle's files, and beside them the header of a second model."""
    target, context, config = get_target("host"), Context(), CompileConfig(toolchain=argv)
    model = link_models.fake(target, context, config=config)
    link_models.unpack_bundle(link_models.link(model, target, context, config=config), folder)
    other = generate(model.program, model.plan, model.objects, prefix="other", version="2")
    (folder / "include" / "other.h").write_text(other["include/other.h"])
    return folder


def run_app(argv, folder):
    done = subprocess.run([*argv, str(folder / "weights.bin")], input=INPUT, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def build(compiler, folder, *more):
    if compiler is not ZIG:
        needs(compiler[0])
    app = folder / "app"
    subprocess.run([*compiler, *STRICT, f"-I{folder / 'include'}", *more, "-o", str(app)],
                   check=True, timeout=300, cwd=folder)
    return run_app([str(app)], folder)


def test_the_runner_computes_the_model(bundle):
    assert link_models.infer(bundle, INPUT) == link_models.reference(INPUT)


@pytest.mark.parametrize("compiler", [
    ("gcc", "-std=c99"), ("clang", "-std=c99"), ("gcc", "-std=c99", "-static"),
    ("g++", "-std=c++17", "-xc++"), ("clang++", "-std=c++17", "-xc++"),
], ids=" ".join)
def test_static_library(bundle, compiler):
    library = bundle / "lib" / "libtiny.a"
    given = (str(APP), "-xnone", str(library))
    assert build(compiler, bundle, *given) == link_models.infer(bundle, INPUT)


def test_static_library_with_zig(zig_bundle):
    given = ("-std=c99", "-O2", str(APP), str(zig_bundle / "lib" / "libtiny.a"))
    assert build(ZIG, zig_bundle, *given) == link_models.reference(INPUT)


def test_shared_library(bundle):
    given = (str(APP), f"-L{bundle / 'lib'}", "-ltiny", f"-Wl,-rpath,{bundle / 'lib'}")
    assert build(("gcc",), bundle, *given) == link_models.infer(bundle, INPUT)


@pytest.mark.parametrize("compiler", [
    ("gcc", "-std=c99"), ("clang", "-std=c99"), (*ZIG, "-std=c99"),
    ("g++", "-std=c++17", "-xc++"), ("clang++", "-std=c++17", "-xc++"),
], ids=lambda c: " ".join(c[-3:]))
def test_generated_and_shipped_c_is_clean(compiler, tmp_path):
    if compiler[0] != sys.executable:
        needs(compiler[0])
    for name, text in evil_model().items():
        (tmp_path / name).write_text(text)
    sources = [n for n in ("evil.c", "none.c") if (tmp_path / n).exists()]
    if "-xc++" not in compiler:
        sources += [*RUNNER_SOURCES, "glue.c"]
    for source in sources:
        subprocess.run([*compiler, *STRICT, "-O2", "-c", source, "-o", "made.o"], cwd=tmp_path,
                       check=True, timeout=300)


def evil_model() -> dict[str, str]:
    """Texts of a model whose names attack the C around them, and of one that has nothing."""
    model = link_models.fake(get_target("host"), Context())
    evil = '*/ ??/ \\" %s \x00 \n#error "' + "long" * 3000
    program = model.program
    entry = program.entries[0]
    port = type(entry.inputs[0])(evil, entry.inputs[0].view, (1, 4, 4, 4))
    hard = type(program)(evil, program.buffers, (type(entry)("run", (port,), (port,), ()),))
    calls = tuple(type(c)(evil + c.step, c.symbol, c.arguments, c.extent)
                  for c in model.objects.calls)
    objects = type(model.objects)({}, calls, link_models.WEIGHTS)
    facts = facts_of(hard, model.plan, objects, prefix="evil", version=evil)
    texts = generate(hard, model.plan, objects, prefix="evil", version=evil)
    empty = type(program)("none", (), (type(entry)("run", (), (), ()),))
    nothing = model.change("plan", arena_bytes=0).plan
    texts |= generate(empty, nothing, type(objects)({}), prefix="none", version="")
    shipped = {n: runtime_text(n) for n in (*RUNNER_SOURCES, *RUNNER_HEADERS)}
    return {Path(n).name: t for n, t in texts.items()} | shipped | {
        "glue.c": glue(facts, link_models.WEIGHTS, model=evil, target=evil)}


def test_headers_of_another_abi_are_refused(zig_bundle, tmp_path):
    needs("gcc")
    (tmp_path / "a.c").write_text('#define EDGECC_ABI_MAJOR 2\n#include "tiny.h"\n')
    done = subprocess.run(["gcc", f"-I{zig_bundle / 'include'}", "-c", "a.c"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode and "this model has edgecc C ABI 1" in done.stderr


def test_a_header_and_source_of_different_versions_are_refused(zig_bundle, tmp_path):
    needs("gcc")
    header = (zig_bundle / "include" / "tiny.h").read_text()
    (tmp_path / "tiny.h").write_text(header.replace("TINY_ABI_MAJOR 1", "TINY_ABI_MAJOR 2"))
    shutil.copy(zig_bundle / "src" / "tiny.c", tmp_path)
    done = subprocess.run(["gcc", "-c", "tiny.c"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode and "take both from one bundle" in done.stderr


def load_wrapper(folder):
    spec = importlib.util.spec_from_file_location("tiny", folder / "python" / "tiny.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_python_wrapper(bundle):
    model = load_wrapper(bundle).Model()
    assert [(t.name, t.dtype, t.shape, t.layout) for t in (*model.inputs, *model.outputs)] == [
        ("image", "int8", (1, 4, 4, 4), "NHWC"), ("result", "int8", (1, 4, 4, 4), "NHWC")]
    assert model.version == link_models.VERSION and model.inputs[0].zero_point == -3
    assert model.inputs[0].scale == pytest.approx(0.05) and model.inputs[0].bytes == 64
    assert model.run([INPUT]) == [link_models.infer(bundle, INPUT)]
    assert model.run([bytearray(64)]) == [link_models.reference(bytes(64))]


def test_python_wrapper_with_numpy(zig_bundle):
    module = load_wrapper(zig_bundle)
    one, two = module.Model(), module.Model()
    given = np.frombuffer(INPUT, np.int8).reshape(4, 4, 4, 1).transpose(3, 0, 1, 2)
    for model in (one, two):
        [out] = model.run([given])
        assert out.shape == (1, 4, 4, 4) and out.dtype == np.int8
        assert out.tobytes() == link_models.reference(INPUT)


def test_python_wrapper_refuses(zig_bundle, tmp_path):
    module = load_wrapper(zig_bundle)
    model = module.Model()
    with pytest.raises(ValueError, match="takes 1 inputs, not 0"):
        model.run([])
    with pytest.raises(ValueError, match="'image' takes 64 bytes, not 63"):
        model.run([INPUT[1:]])
    with pytest.raises(TypeError, match="'image' is int8, not uint8"):
        model.run([np.zeros(64, np.uint8)])
    for damaged in (link_models.WEIGHTS[1:], link_models.WEIGHTS + b"x", bytes(100)):
        (tmp_path / "weights.bin").write_bytes(damaged)
        with pytest.raises(ValueError, match="does not hold the weights of tiny"):
            module.Model(weights=tmp_path / "weights.bin")


def test_python_wrapper_passes_the_library_refusal_on(zig_bundle, monkeypatch):
    module = load_wrapper(zig_bundle)
    monkeypatch.setattr(module, "ARENA_BYTES", 191)
    with pytest.raises(RuntimeError, match="arena too small: TINY_ARENA_BYTES is 192"):
        module.Model()
