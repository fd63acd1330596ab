"""Models for several threads: the same bytes whatever their number, arenas exact, cores pinned."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pipeline_models
import pytest
from link_models import frames

import edgecc
from edgecc import lower, memory, quantize, schedule
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ConfigError
from edgecc.link.elf import describe
from edgecc.lower.api_facts import facts_of
from edgecc.lower.run_function import generate
from edgecc.lower.runner_glue import RUNNER_SOURCES, RUNTIME, glue, runtime_text
from edgecc.model import load
from edgecc.rpc.protocol import Type, encode, encode_pin, encode_u32
from edgecc.targets import get_target

pytestmark = pytest.mark.host
SAMPLES = pipeline_models.samples()
GIVEN = [{"x": x[None]} for x in SAMPLES]
COUNTS = (1, 2, 4)


@pytest.fixture(scope="module")
def bundles():
    """(quantization, threads): bundle. Every step is shared that has something to share."""
    return {(kind, count): edgecc.compile(
        pipeline_models.network(), target="host", name="net", quantization=kind, threads=count,
        parallel_chunk=0, calibration={"x": SAMPLES})
        for kind in ("int8", "none") for count in COUNTS}


def digest(bundle):
    return [answer["y"].tobytes() for answer in bundle.run_many(GIVEN, native=True)]


@pytest.mark.parametrize("kind", ["int8", "none"])
def test_results_do_not_depend_on_the_number_of_threads(bundles, kind):
    alone, two, four = (digest(bundles[kind, count]) for count in COUNTS)
    assert alone == two == four


def test_the_manifest_says_who_shares_what(bundles):
    one, four = bundles["int8", 1].manifest, bundles["int8", 4].manifest
    assert four["threads"]["count"] == 4 and one["threads"] == {
        "count": 1, "cores": one["threads"]["cores"], "note": None}
    alone, shared = (step for m in (one, four) for step in m["steps"] if step["name"] == "conv0")
    assert (alone["threads"], shared["threads"]) == (1, 4)
    stride = -(-alone["scratch_bytes"] // 64) * 64
    assert shared["scratch_bytes"] == 3 * stride + alone["scratch_bytes"] > 0
    assert four["memory"]["scratch_bytes"] > one["memory"]["scratch_bytes"]
    assert four["memory"]["align_bytes"] == 64


def test_more_threads_than_cores_are_allowed_and_noted():
    bundle = edgecc.compile(pipeline_models.network(), target="generic-aarch64", threads=2)
    assert bundle.manifest["threads"]["note"] == (
        "2 threads take turns on the 1 core that generic-aarch64 is described with")


def test_small_steps_stay_with_the_caller(bundles):
    made = edgecc.compile(pipeline_models.network(), target="host", threads=4)
    assert {step["threads"] for step in made.manifest["steps"]} == {1}
    assert digest(made) == digest(bundles["none", 1])


def test_one_thread_has_no_pool(bundles):
    files = bundles["int8", 1].files
    assert not [path for path in files if "pool" in path]
    source = files["src/net.c"].decode() + files["include/net.h"].decode()
    assert "parallel" not in source and "worker" not in source
    assert "src/net_pool.c" in bundles["int8", 2].files


@pytest.mark.parametrize("count", [0, -1, 17, 2.0, "2"])
def test_impossible_numbers(count):
    with pytest.raises(ConfigError, match="threads=.* is out of range"):
        CompileConfig(threads=count)


def test_threads_need_linux():
    with pytest.raises(ConfigError, match=r"threads=2 is not implemented without Linux"):
        edgecc.compile(pipeline_models.network(), target="null", threads=2)


def unpacked(bundle, folder):
    bundle.save(folder / "net.ecb")
    for path, data in bundle.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "runner/runner").chmod(0o755)
    return folder


def runner(folder, *options):
    return [folder / "runner/runner", folder / "weights.bin", *options]


def test_one_byte_less_than_the_arena_is_refused_by_name(bundles, tmp_path):
    folder = unpacked(bundles["int8", 4], tmp_path)
    needed = bundles["int8", 4].manifest["arena_bytes"]
    done = subprocess.run(runner(folder, "--arena-bytes", str(needed - 1)), input=b"",
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 4
    assert f"arena too small: NET_ARENA_BYTES is {needed}".encode() in done.stderr


def cores_of(pid):
    """Allowed cores of every thread of a process, as the kernel lists them."""
    status = [(task / "status").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    return sorted(line.split()[1] for text in status for line in text.splitlines()
                  if line.startswith("Cpus_allowed_list:"))


def answer(process, frame):
    process.stdin.write(frame)
    process.stdin.flush()
    head = process.stdout.read(12)
    return head[5], process.stdout.read(int.from_bytes(head[8:12], "little"))


def test_pin_moves_every_thread(bundles, tmp_path):
    folder = unpacked(bundles["int8", 4], tmp_path)
    free = sorted(os.sched_getaffinity(0))
    with subprocess.Popen(runner(folder), stdin=-1, stdout=-1) as process:
        assert answer(process, encode(Type.HELLO))[0] == 0
        assert len(cores_of(process.pid)) == 4
        assert answer(process, encode_pin((free[0], free[-1]))) == (0, b"")
        assert cores_of(process.pid) == sorted([str(free[0]), str(free[-1])] * 2)
        assert answer(process, encode_u32(Type.RUN, 3))[0] == 0
        said = answer(process, encode_pin((free[0], 1023)))
        assert said == (1, b"a cpu of the list does not exist or is not allowed")
        assert answer(process, encode_pin((0,) * 5))[0] == 1  # more than there are threads
        assert len(cores_of(process.pid)) == 4
        assert answer(process, encode(Type.QUIT)) == (0, b"")
        assert process.wait(30) == 0


def test_alone_starts_no_thread(bundles, tmp_path):
    folder = unpacked(bundles["int8", 4], tmp_path)
    with subprocess.Popen(runner(folder, "--alone"), stdin=-1, stdout=-1) as process:
        assert answer(process, encode(Type.HELLO))[0] == 0
        assert len(cores_of(process.pid)) == 1
        process.stdin.close()
        assert process.wait(30) == 0


WRAPPER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from net import Model
model, given = Model(cpus=[0]), open(sys.argv[2], "rb").read()
count = lambda: len(os.listdir("/proc/self/task"))
first, during = model.run([given]), count()
model.close()
model.close()
time.sleep(0.05)
after = count()
assert model.run([given]) == first and (during - after, after) == (3, 1), (during, after)
two = [Model(), Model()]
assert all(other.run([given]) == first for other in two)
sys.stdout.buffer.write(first[0])
"""


def test_the_python_wrapper_has_the_threads(bundles, tmp_path):
    bundle = bundles["int8", 4]
    folder = unpacked(bundle, tmp_path)
    given = folder / "vectors/0/input_0.bin"
    done = subprocess.run([sys.executable, "-c", WRAPPER, str(folder / "python"), str(given)],
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == (folder / "vectors/0/output_0.bin").read_bytes()


def lowered(quantization, count):
    """Program, plan and objects of the network, every divisible step shared."""
    context, config = Context(), CompileConfig(
        quantization=quantization, threads=count, parallel_chunk=0)
    graph, _ = quantize.quantize(load(pipeline_models.network()), {"x": SAMPLES}, config=config,
                                 context=context)
    target = get_target("host")
    program = schedule.schedule(graph, target, config=config, context=context)
    plan = memory.plan((program,), target, config=config, context=context)
    made = lower.lower(program, plan, target, config=config, context=context, prefix="net")
    return program, plan, made


def build_sanitized(folder, count):
    """The runner, the pool and the run function under the thread sanitizer, with real kernels."""
    program, plan, objects = lowered("int8", count)
    facts = facts_of(program, plan, objects, prefix="net", version="1")
    texts = {Path(name).name: text for name, text in generate(
        program, plan, objects, prefix="net", version="1").items()}
    texts |= {path.name: path.read_text() for path in RUNTIME.glob("*.h")}
    texts |= {name: runtime_text(name) for name in RUNNER_SOURCES}
    texts["glue.c"] = glue(facts, objects.weights, model="net", target="host")
    for name, data in {**{n: t.encode() for n, t in texts.items()}, **objects.code,
                       "weights.bin": objects.weights}.items():
        (folder / name).write_bytes(data)
    (folder / "runner").mkdir()
    subprocess.run(["gcc", "-g", "-O1", "-fsanitize=thread", "-no-pie", *objects.code,
                    *(n for n in texts if n.endswith(".c")), "-pthread", "-o", "runner/runner"],
                   cwd=folder, check=True, timeout=300)


def test_the_thread_sanitizer_is_quiet_about_a_real_model(bundles, tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    build_sanitized(tmp_path, 4)
    golden = bundles["int8", 1].files
    sent = [encode_u32(Type.SET_INPUT, 0, golden["vectors/0/input_0.bin"]),
            encode_u32(Type.RUN, 50), encode_pin((0,)), encode_u32(Type.RUN_UNTIMED, 1),
            encode_u32(Type.PROFILE, 20), encode_u32(Type.RUN, 1),
            encode_u32(Type.GET_OUTPUT, 0), encode(Type.QUIT)]
    done = subprocess.run(["setarch", "-R", *runner(tmp_path)], input=b"".join(sent),
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()[-3000:]
    answers = frames(done.stdout)
    assert [status for _, status, _ in answers] == [0] * 8
    assert answers[6][2] == golden["vectors/0/output_0.bin"]


@pytest.mark.parametrize(("target", "tool"), [
    ("host", "gcc"), ("host", "clang"), ("raspberry-pi-5", "aarch64-linux-gnu-gcc"),
    ("armv7-neon", None), ("riscv64-generic", None), ("riscv64-generic", "riscv64-linux-gnu-gcc"),
])
def test_the_pool_needs_no_library_of_any_compiler(target, tool):
    if tool and not shutil.which(tool):
        pytest.skip(f"needs {tool}")
    bundle = edgecc.compile(pipeline_models.network(), target=target, name="net", threads=3,
                            parallel_chunk=0,
                            toolchain=(tool,) if tool else None)
    found = set(describe(bundle.files["lib/libnet.so"], "libnet.so").undefined_symbols)
    assert found - {"memcpy", "memset"} == {"pthread_create", "pthread_join", "syscall"}
    assert bundle.manifest["stack_bytes"] > 0
