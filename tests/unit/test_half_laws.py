"""Programs that add in float16: what numpy follows to the byte, and what tolerance is left."""

import numpy as np
import pipeline_models
import pytest
import schedule_models as models
from halved import half_feeds, half_model
from schedule_models import model, node

from edgecc import tolerance
from edgecc.kernels import half_reference, pool_law
from edgecc.kernels.reference import reference
from edgecc.kernels.spec import Pool2d
from edgecc.schedule import laws
from edgecc.schedule.program import Kernel
from edgecc.schedule.remembered import Remembered
from edgecc.targets import get_target

PI = get_target("raspberry-pi-5")


def rows(*nodes):
    """A Gemm of 40 inputs and 24 outputs, then `nodes` from "g" to "y", over halves."""
    draw = np.random.default_rng(0).standard_normal
    weights = {"w": draw((40, 24)).astype(np.float32), "b": draw(24).astype(np.float32),
               "v": draw((24, 24)).astype(np.float32)}
    last = "g" if nodes else "y"
    return half_model(model([node("Gemm", ["x", "w", "b"], [last], name="gemm"), *nodes],
                            {"x": [2, 40]}, {"y": [2, 24]},
                            weights if len(nodes) > 1 else {k: weights[k] for k in "wb"}))


SOFTMAX = node("Softmax", ["g"], ["y"], name="soft")
ATTENDED = (node("Softmax", ["g"], ["s"], name="soft"), node("MatMul", ["s", "v"], ["y"], name="v"))


@pytest.mark.parametrize("nodes, target, wanted", [
    ((), PI, tolerance.EXACT), ((node("Relu", ["g"], ["y"], name="r"),), PI, tolerance.EXACT),
    ((SOFTMAX,), PI, tolerance.STORED), (ATTENDED, PI, tolerance.COMPUTED),
    ((), get_target("riscv64-generic"), tolerance.STORED)])
def test_what_is_known_to_the_byte_has_no_tolerance(nodes, target, wanted):
    assert tolerance.of_program(models.program_of(rows(*nodes), target)) == wanted


def test_a_network_of_convolutions_and_pools_is_known_up_to_its_softmax():
    proto = half_model(pipeline_models.network())
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    program = models.program_of(proto, PI)
    kept = [s for s in program.entry().steps if isinstance(s, Kernel) and laws.law_of(s) is None]
    assert [step.spec.op for step in kept] == ["softmax"]
    assert tolerance.of_program(program) == tolerance.STORED


def test_programs_follow_the_laws_of_their_kernels():
    proto, feeds = rows(), half_feeds({"x": np.random.default_rng(1).standard_normal(
        (2, 40)).astype(np.float32)})
    program = models.program_of(proto, PI)
    (step,) = program.entry().steps
    found = models.run_ours(program, feeds)["y"]
    assert np.array_equal(found, half_reference.tiled(step.spec, [feeds["x"]], step.constants)[0])
    assert not np.array_equal(found, reference(step.spec, [feeds["x"]], step.constants)[0])


def test_models_beyond_what_numpy_follows_keep_the_reference(monkeypatch):
    program = models.program_of(rows(), PI)
    monkeypatch.setattr(laws, "MOST_MACS", 2 * 40 * 24 - 1)
    assert tolerance.of_program(program) == tolerance.COMPUTED
    (step,), x = program.entry().steps, np.ones((2, 40), np.float16)
    assert np.array_equal(models.run_ours(program, {"x": x})["y"],
                          reference(step.spec, [x], step.constants)[0])
    monkeypatch.setattr(laws, "MOST_MACS", 2 * 40 * 24)
    assert tolerance.of_program(program) == tolerance.EXACT


@pytest.mark.parametrize("own, beside", [(1e-4, 1e-4), (0.0, 2.0**-5), (2.0**-8, 2.0**-5)])
def test_other_engines_have_other_laws(own, beside):
    assert tolerance.beside_others({"float_tolerance": own}) == beside


def test_averages_are_added_in_order():
    """One by one, the ones are lost beside 2^24; two by two they are not."""
    x = np.array([2.0**24, 1, 1, 1], np.float32).reshape(1, 2, 2, 1)
    spec = Pool2d("float32", "average", n=1, h=2, w=2, c=1, kh=2, kw=2)
    assert pool_law.averaged(spec, [x], {})[0].item() == 2.0**22
    assert reference(spec, [x], {})[0].item() == np.float32((2.0**24 + 3) / 4)


def test_laws_are_remembered_apart_from_the_reference():
    answer, x = Remembered(), np.array([2.0**24, 1, 1, 1], np.float32)
    spec = Pool2d("float32", "average", n=1, h=2, w=2, c=1, kh=2, kw=2)
    first = answer(spec, [x], {}, pool_law.averaged)
    assert answer(spec, [x], {})[0].item() != first[0].item()
    assert answer(spec, [x], {}, pool_law.averaged) is first
