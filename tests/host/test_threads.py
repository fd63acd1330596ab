"""Threads of a model: the pool and its refusals, under sanitizers, with every kernel in C."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import thread_models

pytestmark = pytest.mark.host
APP = Path(__file__).parents[1] / "thread_app.c"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wcast-align", "-Wshadow",
          "-pedantic")
ZIG = (sys.executable, "-m", "ziglang", "cc")
INPUT = bytes((37 * i + 11) % 256 for i in range(thread_models.SIZE))
SANITIZERS = {"thread": "-fsanitize=thread", "address": "-fsanitize=address,undefined"}


def needs(tool):
    if not shutil.which(tool):
        pytest.skip(f"needs {tool}")


def build(compiler, folder, threads, *flags):
    made = thread_models.texts(threads) | thread_models.texts(2, "less")
    for name, text in made.items():
        (folder / name).write_text(text)
    (folder / "weights.bin").write_bytes(thread_models.WEIGHTS)
    sources = [n.name for n in folder.glob("*.c")]
    subprocess.run([*compiler, *STRICT, "-g", "-O1", *flags, "-I.", *sources, str(APP), "-pthread",
                    "-Wl,--wrap=pthread_create", "-o", "app"], cwd=folder, check=True, timeout=300)


def run(folder, prefix=()):
    return subprocess.run([*prefix, "./app", "weights.bin"], cwd=folder, input=INPUT,
                          capture_output=True, timeout=300, check=False)


def check(done):
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 0 and said == "", said[-3000:]
    assert done.stdout == thread_models.reference(INPUT)


@pytest.mark.parametrize(("compiler", "sanitizer", "threads"), [
    ("gcc", "thread", 4), ("clang", "thread", 2), ("gcc", "address", 4), ("clang", "address", 4),
])
def test_sanitizers_are_quiet(compiler, sanitizer, threads, tmp_path):
    """Two threads spin where there are two cores; four that have to share them sleep."""
    needs(compiler)
    build((compiler,), tmp_path, threads, SANITIZERS[sanitizer], "-fno-sanitize-recover=all")
    # the thread sanitizer's memory map wants addresses that are not random
    check(run(tmp_path, ("setarch", "-R") if sanitizer == "thread" else ()))


@pytest.mark.parametrize("threads", [2, 16])
def test_any_number_of_threads(threads, tmp_path):
    needs("gcc")
    build(("gcc",), tmp_path, threads)
    check(run(tmp_path))


def test_static_with_musl(tmp_path):
    build(ZIG, tmp_path, 3, "-target", "x86_64-linux-musl", "-static")
    check(run(tmp_path))


def test_a_race_would_be_seen(tmp_path):
    """The sanitizer speaks up when two parts of a step share scratch."""
    needs("gcc")
    stride, thread_models.STRIDE = thread_models.STRIDE, 0
    try:
        build(("gcc",), tmp_path, 4, "-fsanitize=thread")
    finally:
        thread_models.STRIDE = stride
    assert b"data race" in run(tmp_path, ("setarch", "-R")).stderr


def test_one_thread_has_no_pool():
    made = thread_models.texts(1)
    assert sorted(made) == ["kernels.c", "spin.c", "spin.h"]
    text = "".join(made.values())
    assert "#define SPIN_THREADS 1\n" in text
    assert not any(word in text for word in ("parallel", "worker", "pool", "POOL"))
