"""Random QDQ and float graphs: fused and plain programs agree, and both with ONNX Runtime."""

import numpy as np
import pytest
import schedule_models as models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgecc.kernels import registry

OPS = ("conv", "depthwise", "relu", "clip", "sigmoid", "add", "maxpool", "pad", "concat",
       "transpose", "reshape", "mul")


class Growing:
    """A graph that grows by one operator after another, with or without QDQ."""

    def __init__(self, draw, quantized):
        self.draw, self.quantized = draw, quantized
        self.q = models.Qdq(draw(st.integers(0, 1000)))
        self.values = []  # (name, shape)
        self.keep("x", (1, draw(st.integers(1, 5)), draw(st.integers(3, 6)), 5))

    def keep(self, name, shape, same=None):
        if self.quantized:
            scale, zero = same or (float(self.draw(st.sampled_from([0.03127, 0.0571, 0.1313]))),
                                   self.draw(st.sampled_from([-128, -7, 3])))
            name = self.q.through(name, scale, zero)
        else:
            scale = zero = None
        self.values.append((name, shape, (scale, zero)))

    def weights(self, shape):
        if self.quantized:
            return self.q.weights(shape)[0]
        return self.q.constant(self.q.random.standard_normal(shape).astype(np.float32))

    def grow(self):
        op = self.draw(st.sampled_from(OPS))
        name, shape, parameters = self.draw(st.sampled_from(self.values))
        getattr(self, op)(name, shape, parameters)

    def conv(self, name, shape, _):
        n, c, h, w = shape
        k = self.draw(st.sampled_from([1, 2, c, 4]))
        side = self.draw(st.sampled_from([1, 3]))
        out = self.q.add("Conv", [name, self.weights((k, c, side, side))], pads=[side // 2] * 4)
        self.keep(self.activated(out), (n, k, h, w))

    def depthwise(self, name, shape, _):
        n, c, h, w = shape
        out = self.q.add("Conv", [name, self.weights((c, 1, 2, 2))], group=c, pads=[0, 1, 1, 0])
        self.keep(self.activated(out), (n, c, h, w))

    def activated(self, name):
        return self.q.add("Relu", [name]) if self.draw(st.booleans()) else name

    def relu(self, name, shape, _):
        self.keep(self.q.add("Relu", [name]), shape)

    def clip(self, name, shape, parameters):
        bounds = [self.q.constant(np.float32(v)) for v in (-0.25, 1.5)]
        self.keep(self.q.add("Clip", [name, *bounds]), shape, parameters)

    def sigmoid(self, name, shape, _):
        self.keep(self.q.add("Sigmoid", [name]), shape, (1 / 256, -128))

    def add(self, name, shape, _):
        others = [v[0] for v in self.values if v[1] == shape]
        out = self.q.add("Add", [name, self.draw(st.sampled_from(others))])
        self.keep(self.activated(out), shape)

    def mul(self, name, shape, _):
        others = [v[0] for v in self.values if v[1] == shape]
        self.keep(self.q.add("Mul", [name, self.draw(st.sampled_from(others))]), shape)

    def maxpool(self, name, shape, parameters):
        n, c, h, w = shape
        if min(h, w) > 1:
            out = self.q.add("MaxPool", [name], kernel_shape=[2, 2])
            self.keep(out, (n, c, h - 1, w - 1), parameters)

    def pad(self, name, shape, parameters):
        pads = self.q.constant(np.array([0, 0, 1, 0, 0, 0, 0, 1]))
        self.keep(self.q.add("Pad", [name, pads]), (*shape[:2], shape[2] + 1, shape[3] + 1),
                  parameters)

    def concat(self, name, shape, parameters):
        axis = self.draw(st.sampled_from([1, 2, 3]))
        others = [v[0] for v in self.values if v[1] == shape]
        out = self.q.add("Concat", [name, self.draw(st.sampled_from(others))], axis=axis)
        self.keep(out, tuple(2 * d if i == axis else d for i, d in enumerate(shape)), parameters)

    def transpose(self, name, shape, parameters):
        perm = self.draw(st.permutations([1, 2, 3]))
        out = self.q.add("Transpose", [name], perm=[0, *perm])
        self.keep(out, tuple(shape[i] for i in (0, *perm)), parameters)

    def reshape(self, name, shape, parameters):
        wanted = (1, shape[2], shape[1], shape[3])
        out = self.q.add("Reshape", [name, self.q.constant(np.array(wanted))])
        self.keep(out, wanted, parameters)


@st.composite
def graphs(draw, quantized):
    growing = Growing(draw, quantized)
    for _ in range(draw(st.integers(1, 8))):
        growing.grow()
    outputs = {}
    for i, (name, shape, _) in enumerate(growing.values[-2:]):
        growing.q.nodes.append(models.node("Identity", [name], [f"y{i}"], name=f"o{i}"))
        outputs[f"y{i}"] = shape
    return growing.q.build({"x": growing.values[0][1]}, outputs)


SETTINGS = settings(max_examples=40,
                    suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.fixture(scope="module", autouse=True)
def catalogue():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "all_kernels", lambda: models.PLAIN)
        yield


@SETTINGS
@given(graphs(quantized=True))
def test_quantized_graphs(proto):
    feeds = models.feeds_for(proto, 4, 2.0)
    fused = models.run_ours(models.program_of(proto), feeds)
    plain = models.run_ours(models.program_of(proto, fusion=False, io="float32"), feeds)
    for name, value in fused.items():
        assert (value == plain[name]).all()
        assert value.shape == models.run_ort(proto, feeds)[name].shape


@SETTINGS
@given(graphs(quantized=False))
def test_float_graphs(proto):
    feeds = models.feeds_for(proto, 4)
    theirs = models.run_ort(proto, feeds)
    for fusion in (True, False):
        models.assert_close(models.run_ours(models.program_of(proto, fusion=fusion), feeds),
                            theirs)
