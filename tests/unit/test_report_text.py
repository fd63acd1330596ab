"""Text reports: aligned tables, the memory map, the table of steps, the trace."""

import json

import pytest
from memory_programs import chain, image_classification, kernel, program, vector
from report_manifests import bench, manifest

from edgecc.memory import plan
from edgecc.report import memory_map, perfetto_trace, plan_map, steps_table, table
from edgecc.report.table import printable, shortened
from edgecc.targets import get_target


def test_table_aligns_text_left_and_numbers_right():
    text = table(["name", "bytes", "share"], [["a", 5, "1.5%"], ["long name", 12345, None]])
    assert text.splitlines() == [
        "name        bytes  share",
        "─────────  ──────  ─────",
        "a               5   1.5%",
        "long name  12,345      -",
    ]
    assert table(["a", "b"], [[True, 0.5]]).splitlines()[-1] == "yes  0.5"
    assert table(["a"], []) == "a\n─\n"


def test_names_cannot_steer_the_terminal():
    assert printable("a\x1b[2J\u202eb\n") == "a\ufffd[2J\ufffdb\ufffd"
    assert "\x1b" not in steps_table(manifest_named("\x1b[31mred"))
    assert "\x1b" not in memory_map(manifest_named("\x1b[31mred"))


def manifest_named(name):
    about = manifest(chain("c", [32, 16, 8]))
    for step in about["steps"]:
        step |= {"name": name, "kernel": name, "why_not_fast": name}
    for placement in about["memory"]["placements"]:
        placement["name"] = name
    about["memory"]["peak_step"] = name
    return about


@pytest.mark.parametrize(("text", "short"), [
    ("abc", "abc"), ("abcdefgh", "abcdefgh"), ("abcdefghi", "abc…fghi"),
])
def test_long_names_lose_their_middle(text, short):
    assert shortened(text, 8) == short


def test_small_map():
    text = memory_map(manifest(chain("c", [32, 16, 32])), width=32)
    assert text.startswith("arena 48 B = lower bound · peak at make_t1\n")
    rows = [line.split("│")[1] for line in text.splitlines() if "│" in line]
    assert {row[:8] for row in rows} == {"aaaaaaaa", "bbbbbbbb"}
    assert {row[8:] for row in rows} == {"cccccccc", "bbbbbbbb"}
    assert text.endswith("steps\na t0  0 + 32 [0, 1)\nb t1 32 + 16 [0, 2)\nc t2  0 + 32 [1, 2)\n")


@pytest.mark.parametrize("steps", [1, 12, 90, 400])
def test_map_keeps_to_100_columns(steps):
    text = memory_map(manifest(chain("long", [64 + n % 7 * 16 for n in range(steps + 1)])))
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) < 75


def test_map_shows_every_buffer_of_a_residual_network_in_its_place():
    about = manifest(image_classification())
    text = memory_map(about)
    for letter, name in (("a", "a"), ("c", "b"), ("d", "c")):
        assert f"\n{letter} {name} " in text
    first = next(line for line in text.splitlines() if line.lstrip().startswith("0 │"))
    assert first.split("│")[1].startswith("a" * 21 + "e" * 21)


def test_map_of_a_plan_is_the_map_of_its_manifest():
    made = image_classification()
    assert plan_map(made, plan([made], get_target("null"))) == memory_map(manifest(made))


def test_map_of_several_entries_and_of_nothing():
    assert memory_map({"arena_bytes": 0, "steps": []}) == "nothing is placed in the arena\n"
    about = manifest(chain("c", [16, 16]), arena_lower_bound_bytes=16)
    del about["memory"]["placements"][0]["kind"]
    assert "(lower bound 16 B)" in memory_map(about)


def test_steps_by_instructions_or_time():
    about = manifest(image_classification())
    counted = steps_table(about, bench(about))
    assert "instr." in counted and "18." in counted
    assert "µs" in steps_table(about, bench(about, timed=True))
    plain = steps_table(about)
    assert "share" not in plain and "make_p0" in plain
    assert plain.endswith("* not the fast kernel\n"
                          "  step 11: no fast int8 softmax kernel for this target\n")


def test_figures_of_another_model_are_not_shown():
    about = manifest(image_classification())
    other = manifest(chain("c", [16, 16]))
    assert "share" not in steps_table(about, bench(other))


def test_trace_lays_steps_end_to_end():
    about = manifest(image_classification())
    trace = json.loads(perfetto_trace(about, bench(about)))
    steps = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in steps] == [s["name"] for s in about["steps"]]
    for before, after in zip(steps[:-1], steps[1:], strict=True):
        assert after["ts"] == pytest.approx(before["ts"] + before["dur"], abs=0.01)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"]
    assert names == ["ic on emulated-raspberry-pi-5", "steps (1 µs = 1,000 instructions)"]
    assert sum(e["dur"] for e in steps) == pytest.approx(bench(about)["instructions"] / 1000)


def test_trace_of_times_and_of_nothing():
    about = manifest(image_classification())
    timed = json.loads(perfetto_trace(about, bench(about, timed=True)))
    assert timed["traceEvents"][1]["args"]["name"] == "steps"
    unmeasured = json.loads(perfetto_trace(about, None))
    assert [e["ph"] for e in unmeasured["traceEvents"]] == ["M", "M"]


def test_scratch_has_its_own_kind_on_the_map():
    step = kernel("s", [vector("x", 64)], [vector("y", 64)], scratch=32)
    made = program("p", {"x": 64, "y": 64}, [step], ["x"], ["y"])
    about = manifest(made)
    kinds = {p["name"]: p["kind"] for p in about["memory"]["placements"]}
    assert kinds == {"x": "input", "y": "output", "s.scratch": "scratch"}
