"""The text form of a Program, against a golden file (--update-golden rewrites it)."""

from pathlib import Path

import pytest
import schedule_cases as cases
import schedule_models as models
from test_schedule_check import flat, relu, small

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.schedule import schedule, to_text
from edgecc.schedule.program import Branch, Copy, Dim, Loop, Npu
from edgecc.targets.null import NULL

GOLDEN = Path(__file__).parent / "golden" / "schedule_program.txt"


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def a_model():
    q = models.Qdq()
    x = q.through("x", 0.05, 3)
    w, s = q.weights((6, 6, 3, 3))
    c = q.through(q.add("Conv", [x, w, q.bias(s)], pads=[1] * 4), 0.4, 5)
    y = q.through(q.add("Add", [x, c]), 0.5, 7)
    return cases.finish(q, y, {"x": (1, 6, 3, 4)}, (1, 6, 3, 4))


def test_text_is_golden(request):
    program = models.program_of(a_model())
    text = to_text(program)
    assert text == to_text(models.program_of(a_model()))
    if request.config.getoption("--update-golden"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_every_kind_of_step_has_a_text():
    first, second = relu("a", flat("in"), flat("mid")), relu("b", flat("mid"), flat("out"))
    steps = (Loop("l", 3, (first,)), Branch("c", flat("in"), (first,), (second,)),
             Loop("d", Dim("t", 1, 9), (second,)), Npu("n", "null", "go", (), ()),
             Copy("k", flat("in"), flat("mid")))
    text = to_text(small(*steps))
    for line in ("step l: loop 3", "step c: branch", "step d: loop t", "npu null go", "then",
                 "else", "step k: copy"):
        assert line in text


def test_the_verb_tells_what_it_did():
    import onnx_ir as ir

    lines = []
    context = Context(progress=lambda verb, line: lines.append((verb, line)))
    program = schedule(ir.from_proto(a_model()), NULL, config=CompileConfig(name="m"),
                       context=context)
    assert program.name == "m"
    assert lines == [("schedule", "1 steps · 0.00 M MAC · 0 layout conversions")]
