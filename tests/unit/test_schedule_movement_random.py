"""Random graphs of selections and concatenations: views, copies and plans that keep every byte."""

import movement_cases as cases
import numpy as np
import pytest
import schedule_models as models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_schedule_random import Growing

from edgecc.kernels import registry
from edgecc.memory import check_plan, plan
from edgecc.targets.null import NULL

OWN = ("slice", "split", "gather", "padded", "nearest", "linear", "constant", "tile")
OPS = (*OWN, *OWN, "conv", "relu", "add", "concat", "transpose", "reshape")


class Moving(Growing):
    """Grows by operators that move elements more than by others."""

    def grow(self):
        op = self.draw(st.sampled_from(OPS))
        name, shape, parameters = self.draw(st.sampled_from(self.values))
        if np.prod(shape) < 4000:
            getattr(self, op)(name, shape, parameters)

    def ints(self, *values):
        return self.q.constant(np.array(values, np.int64))

    def keep_moved(self, out, shape, axis, size, parameters):
        self.keep(out, tuple(size if i == axis else n for i, n in enumerate(shape)), parameters)

    def slice(self, name, shape, parameters):
        axis = self.draw(st.sampled_from([1, 2, 3]))
        first = self.draw(st.integers(0, shape[axis] - 1))
        step = self.draw(st.sampled_from([1, 1, 1, 2, -1, -2]))
        end = self.draw(st.integers(first + 1, shape[axis])) if step > 0 else -100
        out = self.q.add("Slice", [name, self.ints(first), self.ints(end), self.ints(axis),
                                   self.ints(step)])
        self.keep_moved(out, shape, axis, len(range(shape[axis])[first:end:step]), parameters)

    def split(self, name, shape, parameters):
        axis = self.draw(st.sampled_from([1, 2, 3]))
        if shape[axis] < 2:
            return
        first = self.draw(st.integers(1, shape[axis] - 1))
        outputs = [self.q.name("split"), self.q.name("split")]
        sizes = (first, shape[axis] - first)
        self.q.nodes.append(models.node("Split", [name, self.ints(*sizes)], outputs, axis=axis))
        for out, size in zip(outputs, sizes, strict=True):
            self.keep_moved(out, shape, axis, size, parameters)

    def gather(self, name, shape, parameters):
        axis = self.draw(st.sampled_from([1, 2, 3]))
        picked = self.draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=6))
        out = self.q.add("Gather", [name, self.ints(*picked)], axis=axis)
        self.keep_moved(out, shape, axis, len(picked), parameters)

    def padded(self, name, shape, parameters):
        mode = self.draw(st.sampled_from(["edge", "constant"]))
        axis = self.draw(st.sampled_from([1, 2, 3]))
        pads = [0] * 8
        pads[axis], pads[axis + 4] = self.draw(st.integers(0, 2)), self.draw(st.integers(0, 2))
        out = self.q.add("Pad", [name, self.ints(*pads)], mode=mode)
        self.keep_moved(out, shape, axis, shape[axis] + pads[axis] + pads[axis + 4], parameters)

    def nearest(self, name, shape, parameters):
        scales = self.q.constant(np.float32([1, 1, 2, 1.5]))
        out = self.q.add("Resize", [name, "", scales], mode="nearest")
        self.keep(out, (*shape[:2], 2 * shape[2], int(shape[3] * 1.5)), parameters)

    def linear(self, name, shape, parameters):
        sizes = (*shape[:2], 3, 5)
        out = self.q.add("Resize", [name, "", "", self.ints(*sizes)], mode="linear")
        self.keep(out, sizes, parameters)

    def tile(self, name, shape, parameters):
        axis = self.draw(st.sampled_from([1, 2, 3]))
        out = self.q.add("Tile", [name, self.ints(*(2 if i == axis else 1 for i in range(4)))])
        self.keep_moved(out, shape, axis, 2 * shape[axis], parameters)

    def constant(self, name, shape, parameters):
        axis = self.draw(st.sampled_from([1, 2, 3]))
        extra = self.q.constant(np.full([1 if i == axis else n for i, n in enumerate(shape)], 0.3,
                                        np.float32))
        parts = self.draw(st.permutations([name, extra]))
        self.keep_moved(self.q.add("Concat", parts, axis=axis), shape, axis, shape[axis] + 1,
                        parameters)


@st.composite
def graphs(draw, quantized):
    growing = Moving(draw, quantized)
    for _ in range(draw(st.integers(2, 10))):
        growing.grow()
    names = [f"y{i}" for i in range(len(growing.values[-3:]))]
    for end, (name, _, _) in zip(names, growing.values[-3:], strict=True):
        growing.q.nodes.append(models.node("Identity", [name], [end], name=f"o{end}"))
    return cases.built(growing.q.nodes, {"x": growing.values[0][1]}, names, growing.q.constants,
                       17)


SETTINGS = settings(max_examples=60,
                    suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.fixture(scope="module", autouse=True)
def catalogue():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "all_kernels", lambda: models.PLAIN)
        yield


def planned(proto, **config):
    program = models.program_of(proto, **config)
    check_plan([program], plan([program], NULL))
    return program


@SETTINGS
@given(graphs(quantized=True))
def test_quantized_graphs(proto):
    feeds = models.feeds_for(proto, 4, 2.0)
    fused = models.run_ours(planned(proto), feeds)
    plain = models.run_ours(planned(proto, fusion=False, io="float32"), feeds)
    for name, value in fused.items():
        assert (value == plain[name]).all()


@SETTINGS
@given(graphs(quantized=False))
def test_float_graphs(proto):
    feeds = models.feeds_for(proto, 4)
    theirs = models.run_ort(proto, feeds)
    for fusion in (True, False):
        models.assert_close(models.run_ours(planned(proto, fusion=fusion), feeds), theirs)
