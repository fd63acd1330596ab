"""The runner on this machine: the protocol, its refusals, its guard pages, its sanitizers."""

import json
import shutil
import struct
import subprocess
import zlib

import link_models
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_models import infer, malformed, reference, talk

from edgecc.context import Context
from edgecc.lower.api_facts import facts_of
from edgecc.lower.runner_glue import RUNNER_HEADERS, RUNNER_SOURCES, glue, runtime_text
from edgecc.rpc.protocol import Type, encode, encode_u32
from edgecc.targets import get_target

pytestmark = pytest.mark.host
INPUT = bytes(range(64))
OTHER = bytes(range(100, 164))


def link(tmp_path_factory, name, **changes):
    target, context = get_target("host"), Context()
    model = link_models.fake(target, context, **changes)
    return link_models.unpack_bundle(link_models.link(model, target, context),
                                     tmp_path_factory.mktemp(name))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return link(tmp_path_factory, "tiny")


def test_hello(tiny):
    [(kind, status, payload)], said = talk(tiny, encode(Type.HELLO))
    hello = json.loads(payload)
    assert (kind, status, said) == (Type.HELLO, 0, "")
    tensor = {"shape": [1, 4, 4, 4], "dtype": "int8", "layout": "NHWC", "bytes": 64,
              "scale": 0.05, "zero_point": -3}
    assert hello == {
        "protocol": [1, 1], "abi": [1, 2], "threads": 1, "model": "tiny",
        "version": link_models.VERSION,
        "target": "host", "arena_bytes": 192, "weights_bytes": 100,
        "weights_crc32": zlib.crc32(link_models.WEIGHTS),
        "inputs": [{"name": "image", **tensor}], "outputs": [{"name": "result", **tensor}],
        "steps": ["scale_0", "last_1", "copy_2"]}


def test_a_whole_conversation(tiny):
    sent = [encode_u32(Type.SET_INPUT, 0, INPUT), encode_u32(Type.RUN, 3),
            encode_u32(Type.GET_OUTPUT, 0), encode_u32(Type.PROFILE, 5),
            encode_u32(Type.SET_INPUT, 0, OTHER), encode_u32(Type.GET_OUTPUT, 0),
            encode_u32(Type.RUN_UNTIMED, 1), encode_u32(Type.GET_OUTPUT, 0), encode(Type.QUIT)]
    answers, said = talk(tiny, b"".join(sent))
    assert [a[1] for a in answers] == [0] * 9 and said == ""
    assert all(0 < ns < 10**9 for ns in struct.unpack("<3Q", answers[1][2]))
    assert all(0 < ns < 10**9 for ns in struct.unpack("<3Q", answers[3][2]))
    assert answers[2][2] == answers[5][2] == reference(INPUT)  # SET_INPUT leaves the arena alone
    assert answers[7][2] == reference(OTHER)


def test_untimed_runs_restore_inputs_once(tiny):
    sent = encode_u32(Type.SET_INPUT, 0, INPUT) + encode_u32(Type.RUN_UNTIMED, 2)
    answers, _ = talk(tiny, sent + encode_u32(Type.GET_OUTPUT, 0))
    assert answers[-1][2] == reference(reference(INPUT))  # y lies where x was


def test_status_and_pin(tiny):
    cpu = max(json.loads(talk(tiny, encode(Type.STATUS))[0][0][2])["cpu"])
    answers, _ = talk(tiny, encode_u32(Type.PIN, cpu) + encode(Type.STATUS))
    status = json.loads(answers[1][2])
    assert answers[0][1] == 0 and status["cpu"] == [cpu]
    assert 0 < status["peak_rss_bytes"] < 4 << 20


@pytest.mark.parametrize("sent, said", [
    (encode_u32(Type.SET_INPUT, 1, INPUT), "no such input: index (needed 1, available 1)"),
    (encode_u32(Type.SET_INPUT, 2**32 - 1, INPUT), "no such input"),
    (encode_u32(Type.SET_INPUT, 0, INPUT[1:]), "wrong input size: bytes (needed 64, available 63)"),
    (encode(Type.SET_INPUT, b"\0\0\0"), "SET_INPUT without an index"),
    (encode_u32(Type.SET_INPUT, 0, INPUT + b"x"), "payload too long: bytes (needed 69"),
    (encode_u32(Type.GET_OUTPUT, 0), "no output yet: send RUN first"),
    (encode_u32(Type.GET_OUTPUT, 7), "no such output: index (needed 7, available 1)"),
    (encode(Type.RUN), "wrong payload size: bytes (needed 4, available 0)"),
    (encode_u32(Type.RUN, 1, b"x"), "wrong payload size: bytes (needed 4, available 5)"),
    (encode_u32(Type.RUN, 1_000_001), "at once: count (needed 1000001, available 1000000)"),
    (encode_u32(Type.RUN_UNTIMED, 2**32 - 1), "too many runs at once"),
    (encode_u32(Type.PROFILE, 2**32 - 1), "too many runs at once"),
    (encode_u32(Type.PIN, 2**32 - 1), "no such cpu"),
    (encode_u32(Type.PIN, 1023), "Invalid argument"),
    (encode(Type.HELLO, b"hello"), "wrong payload size"),
    (malformed(0), "unknown request type"),
    (malformed(10), "unknown request type"),
    (malformed(255, b"abc"), "unknown request type"),
    (malformed(1, status=1), "status and reserved must be 0"),
    (malformed(1, b"abc", reserved=1), "status and reserved must be 0"),
    (malformed(2, bytes(100_000)), "payload too long: bytes (needed 100000, available 68)"),
])
def test_refusals_leave_the_runner_going(tiny, sent, said):
    [first, last], _ = talk(tiny, sent + encode(Type.QUIT))
    assert (first[0], first[1], last) == (sent[4], 1, (Type.QUIT, 0, b""))
    assert said in first[2].decode()


def test_a_wrong_magic_ends_the_runner(tiny):
    [answer], _ = talk(tiny, malformed(1, magic=b"ECC2") + encode(Type.HELLO), code=5)
    assert answer[:2] == (1, 1) and b"wrong magic" in answer[2]


@pytest.mark.parametrize("sent", [b"", b"ECC", encode(Type.HELLO)[:-1],
                                  encode_u32(Type.SET_INPUT, 0, INPUT)[:-1]])
def test_the_end_of_input_ends_the_runner(tiny, sent):
    assert talk(tiny, sent) == ([], "")


def test_a_length_that_lies_is_answered_before_its_payload_comes(tiny):
    answers, _ = talk(tiny, malformed(2, b"abc", length=2**32 - 1))
    assert answers[0][1] == 1 and b"needed 4294967295" in answers[0][2]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(
    st.binary(max_size=40),
    st.builds(malformed, st.integers(0, 12), st.binary(max_size=80),
              status=st.integers(0, 1), reserved=st.sampled_from([0, 0, 9]),
              length=st.one_of(st.none(), st.integers(0, 200))),
    st.builds(encode_u32, st.sampled_from([Type.RUN, Type.PROFILE, Type.GET_OUTPUT]),
              st.integers(0, 3))), max_size=8))
def test_noise_never_crashes_the_runner(tiny, parts):
    done = subprocess.run([tiny / "runner" / "runner", tiny / "weights.bin"],
                          input=b"".join(parts), capture_output=True, timeout=60, check=False)
    assert done.returncode in (0, 5), parts
    assert done.stderr == b""
    link_models.frames(done.stdout)


@pytest.mark.parametrize("arena, available", [("191", "191"), ("0", "0"), ("00016", "16")])
def test_a_smaller_arena_is_refused_by_name(tiny, arena, available):
    answers, said = talk(tiny, b"", "--arena-bytes", arena, code=4)
    assert answers == [] and said == (
        "runner: arena too small: TINY_ARENA_BYTES is 192 (needed 192 bytes, "
        f"available {available} bytes)\n")


@pytest.mark.parametrize("options", [["--arena-bytes"], ["--arena-bytes", ""], ["--arena", "9"],
                                     ["--arena-bytes", "-1"], ["--arena-bytes", "1x"],
                                     ["--arena-bytes", "9" * 19]])
def test_usage(tiny, options):
    assert "usage: runner WEIGHTS_FILE" in talk(tiny, b"", *options, code=2)[1]


def test_no_memory(tiny):
    said = talk(tiny, b"", "--arena-bytes", "9" * 18, code=4)[1]
    assert said.startswith("runner: no memory: needed 10000000000")


@pytest.mark.parametrize("weights, said", [
    (None, "cannot be read"), (b"", "wrong size, bytes (needed 100, available 0)"),
    (link_models.WEIGHTS[1:], "wrong size"), (bytes(100), "damaged, crc32 (needed"),
    ("folder", "not a file"),
], ids=["missing", "empty", "short", "damaged", "folder"])
def test_wrong_weights(tiny, tmp_path, weights, said):
    path = tmp_path / "weights.bin"
    if isinstance(weights, bytes):
        path.write_bytes(weights)
    elif weights:
        path.mkdir()
    done = subprocess.run([tiny / "runner" / "runner", path], input="", capture_output=True,
                          timeout=60, check=False, text=True)
    assert done.returncode == 3 and said in done.stderr and str(path) in done.stderr


def run_once(folder, code=0, kind=Type.RUN):
    return talk(folder, encode_u32(kind, 1) + encode(Type.QUIT), code=code)


def test_the_last_byte_of_the_arena_is_the_models(tmp_path_factory):
    folder = link(tmp_path_factory, "last", last="spill", spill=192 - 1 - 64)
    assert [a[1] for a in run_once(folder)[0]] == [0, 0]


def test_one_byte_past_the_arena_is_caught(tmp_path_factory):
    folder = link(tmp_path_factory, "past", last="spill", spill=192 - 64)
    assert run_once(folder, code=86) == ([], (
        "runner: access past the end of the arena: byte 192 of TINY_ARENA_BYTES = 192\n"))
    said = run_once(folder, code=86, kind=Type.PROFILE)[1]
    assert said.endswith("TINY_ARENA_BYTES = 192, in step last_1\n")


def test_one_byte_past_an_arena_of_odd_size_is_caught(tmp_path_factory):
    folder = link(tmp_path_factory, "odd", last="spill", spill=193 - 64, tail=1)
    answers, _ = run_once(folder)
    assert answers[0][1:] == (1, b"a kernel wrote past the end of the arena")


def test_one_byte_below_the_arena_is_caught(tmp_path_factory):
    folder = link(tmp_path_factory, "below", last="spoil")
    assert run_once(folder)[0][0][1:] == (1, b"a kernel wrote below the start of the arena")
    pages = link(tmp_path_factory, "pages", last="spoil", tail=4096 - 192)
    assert "access below the start of the arena: byte -1" in run_once(pages, code=86)[1]


def test_the_runner_is_small_and_static(tiny):
    assert (tiny / "runner" / "runner").stat().st_size < 40_000


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_sanitizers_are_quiet(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    build_sanitized(compiler, tmp_path)
    sent = [encode_u32(Type.SET_INPUT, 0, INPUT), encode_u32(Type.RUN, 3),
            encode_u32(Type.PROFILE, 2), encode_u32(Type.GET_OUTPUT, 0), encode(Type.STATUS),
            malformed(2, bytes(9000)), malformed(77), encode(Type.HELLO),
            encode_u32(Type.RUN, 0), encode_u32(Type.RUN_UNTIMED, 1)]
    answers, said = talk(tmp_path, b"".join(sent))
    assert said == "" and len(answers) == 10 and answers[3][2] == reference(INPUT)
    assert infer(tmp_path, OTHER) == reference(OTHER)


def build_sanitized(compiler, folder):
    model = link_models.fake(get_target("host"), Context())
    files = link_models.link(model, get_target("host"), Context())
    facts = facts_of(model.program, model.plan, model.objects, prefix="tiny", version="1")
    texts = {n: runtime_text(n) for n in (*RUNNER_SOURCES, *RUNNER_HEADERS)}
    texts |= {"glue.c": glue(facts, link_models.WEIGHTS, model="tiny", target="host"),
              "tiny.h": files["include/tiny.h"].decode(), "tiny.c": files["src/tiny.c"].decode()}
    texts |= {f"{k}.c": link_models.kernel_source("tiny", k) for k in ("scale", "flip")}
    (folder / "runner").mkdir()
    (folder / "weights.bin").write_bytes(link_models.WEIGHTS)
    for name, text in texts.items():
        (folder / name).write_text(text)
    subprocess.run([compiler, "-g", "-O1", "-fsanitize=address,undefined",
                    "-fno-sanitize-recover=all", *(n for n in texts if n.endswith(".c")),
                    "-o", "runner/runner"], cwd=folder, check=True, timeout=300)
