"""Dead channels: found exactly, removed only where nothing can tell, bytes unchanged."""

import numpy as np
import pytest
import schedule_cases as cases
import schedule_models as models

from edgecc.schedule import dead_channels
from edgecc.schedule.fuse import drop_identities, fuse
from edgecc.schedule.ops import Pool
from edgecc.schedule.program import Copy
from edgecc.schedule.qdq import fold_quantization
from edgecc.schedule.ranges import channel_ranges
from edgecc.schedule.reader import read_graph

IMAGE = (1, 4, 7, 6)
SCALE = 0.05


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)
    monkeypatch.setattr(dead_channels, "CHANNEL_STEP", 1)


class Pruned(models.Qdq):
    """QDQ models whose convolutions have given channels dead: their weights are zero."""

    def conv(self, x, shape, dead, value=0.0, scale=0.3, zero=-128, **attributes):
        """A convolution with Relu; dead channels give `value` (a real number)."""
        weights = self.random.integers(-90, 91, shape).astype(np.int8)
        weights[dead] = 0
        factors = np.full(shape[0], 0.01, np.float32)
        w = self.add("DequantizeLinear", [self.constant(weights), self.constant(factors),
                                          self.constant(np.zeros(shape[0], np.int8))], axis=0)
        bias = self.random.integers(-200, 200, shape[0]) * 0.01
        bias[dead] = value if value > 0 else -50.0
        y = self.add("Conv", [x, w, self.constant(bias.astype(np.float32))], **attributes)
        return self.through(self.add("Relu", [y]), scale, zero)


def outputs_kept(program):
    return [s.spec.k for s in program.entry().steps
            if not isinstance(s, Copy) and s.spec.op == "conv2d"]


def unchanged(q, y, out, dead_steps=None):
    """The program's convolution widths, after its bytes were compared with plain steps."""
    proto = cases.finish(q, y, {"x": IMAGE}, out)
    fused, plain = models.program_of(proto), models.program_of(proto, fusion=False)
    for seed in range(4):
        feeds = models.feeds_for(proto, seed, 4.0)
        ours = models.run_ours(fused, feeds)["y"]
        assert (ours == models.run_ours(plain, feeds)["y"]).all()
        assert np.abs((ours - models.run_ort(proto, feeds)["y"]) / 0.3).max() < 1.5
    return outputs_kept(fused)


@pytest.mark.parametrize("value, pads, kept", [
    (0.0, [0] * 4, 5), (2.0, [0] * 4, 5), (0.0, [1] * 4, 5), (2.0, [1] * 4, 8)])
def test_a_padded_reader_spares_only_zeros(value, pads, kept):
    q = Pruned()
    c = q.conv(q.through("x", SCALE, 3), (8, 4, 3, 3), [1, 4, 7], value)
    y = q.conv(c, (3, 8, 3, 3), [], pads=pads)
    size = (3, 2) if not any(pads) else (5, 4)
    assert unchanged(q, y, (1, 3, *size)) == [kept, 3]


@pytest.mark.parametrize("value", [0.0, 2.0])
def test_a_constant_goes_through_depthwise_and_pools_into_a_matrix(value):
    q = Pruned()
    c = q.conv(q.through("x", SCALE, 3), (8, 4, 1, 1), [0, 3], value)
    d = q.conv(c, (8, 1, 3, 3), [3, 5], value, group=8)
    e = q.conv(d, (10, 8, 1, 1), [2, 9], value)
    p = q.through(q.add("GlobalAveragePool", [e]), 0.2, -128)
    w, s = q.weights((5, 10))
    g = q.add("Gemm", [q.add("Flatten", [p]), w, q.bias(s, 0.2)], transB=1)
    # channel 0 of the depthwise is constant with its input, 5 without it: both go
    kept = unchanged(q, q.through(g, 0.3, 4), (1, 5))
    assert kept[:2] == [5, 5] and kept[2] <= 8


def test_shared_and_visible_channels_stay():
    q = Pruned()
    x = q.through("x", SCALE, 3)
    c = q.conv(x, (4, 4, 1, 1), [1, 2])
    d = q.conv(c, (6, 4, 1, 1), [])
    r = q.through(q.add("Sigmoid", [q.through(q.add("Add", [c, x]), 0.3, 0)]), 0.3, 0)
    both = q.through(q.add("Concat", [d, r], axis=1), 0.3, 0)
    assert unchanged(q, both, (1, 10, 7, 6)) == [4, 6]


def test_a_residual_reader_keeps_every_channel():
    q = Pruned()
    x = q.through("x", SCALE, 3)
    c = q.conv(x, (4, 4, 1, 1), [1, 2])
    d = q.conv(q.through("x", SCALE, 3), (4, 4, 3, 3), [], pads=[1] * 4)
    y = q.through(q.add("Add", [d, c]), 0.5, 0)
    assert unchanged(q, y, (1, 4, 7, 6)) == [4, 4]


def test_all_channels_dead_leaves_one():
    q = Pruned()
    c = q.conv(q.through("x", SCALE, 3), (4, 4, 1, 1), [0, 1, 2, 3], 1.0)
    assert unchanged(q, q.conv(c, (3, 4, 1, 1), []), (1, 3, 7, 6)) == [1, 3]


def test_widths_stay_multiples_of_a_vector(monkeypatch):
    monkeypatch.setattr(dead_channels, "CHANNEL_STEP", 4)
    q = Pruned()
    c = q.conv(q.through("x", SCALE, 3), (16, 4, 1, 1), list(range(5, 16)))
    assert unchanged(q, q.conv(c, (3, 16, 1, 1), []), (1, 3, 7, 6)) == [8, 3]


def test_ranges_hold_for_every_value_seen():
    q = Pruned(3)
    c = q.conv(q.through("x", SCALE, 3), (6, 4, 3, 3), [2], 1.5, pads=[1] * 4)
    t = q.through(q.add("Sigmoid", [c]), 0.3, -9)
    m = q.through(q.add("AveragePool", [t], kernel_shape=[2, 3]), 0.2, -9)
    y = q.through(q.add("MaxPool", [m], kernel_shape=[2, 2]), 0.2, -9)
    proto = cases.finish(q, y, {"x": IMAGE}, (1, 6, 5, 3))
    program = models.program_of(proto, fusion=False)
    graph = fuse(drop_identities(fold_quantization(read_graph(models.ir.from_proto(proto)))))
    found = channel_ranges(graph)
    (last,) = (found[op.output] for op in graph.ops if isinstance(op, Pool)
               and op.function == "max")
    assert last.constant().tolist() == [i == 2 for i in range(6)]
    for seed in range(5):
        values = models.run_ours(program, models.feeds_for(proto, seed, 6.0), real=False)["y"]
        assert (values >= last.lo[:, None, None]).all() and (values <= last.hi[:, None, None]).all()
