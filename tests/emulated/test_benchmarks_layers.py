"""Whole layers keep what the benchmark of layers asks of their tiles, on Arm, RVV and x86."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import layers  # noqa: E402

pytestmark = [pytest.mark.emulated, pytest.mark.slow]


@pytest.mark.parametrize("isa", ["dotprod", "i8mm", "neon", "rvv256", "rvv128", "dsp", "mve"])
def test_layers_keep_their_share(isa):
    rows = layers.measured(isa)
    assert len(rows) == len(layers.LAYERS)
    below = [row for row in rows if not row["reached"]]
    assert not below, layers.table(below)


@pytest.mark.parametrize("isa", ["vnni", "avxvnni"])
def test_layers_keep_their_share_of_vnni(isa):
    """A layer with padding, a pointwise and the depthwise ones: each step takes microseconds."""
    if reason := layers.why_not(isa):
        pytest.skip(reason)
    try:
        rows = layers.measured(isa, layers.LAYERS[1:3] + layers.LAYERS[4:])
    except layers.stepped.NotTraced as error:
        pytest.skip(str(error))
    assert len(rows) == 4 and all(row["reached"] for row in rows), layers.table(rows)


@pytest.mark.parametrize("code, error", [(3, "NotTraced"), (4, "RuntimeError")])
def test_a_program_that_is_not_counted_says_why(code, error, tmp_path):
    (tmp_path / "stepped").write_text(f"#!/bin/sh\nexit {code}\n")
    (tmp_path / "stepped").chmod(0o755)
    with pytest.raises(RuntimeError) as raised:
        layers.stepped._run(tmp_path, ["./stepped"])
    assert type(raised.value).__name__ == error


def test_a_layer_below_its_limit_is_marked():
    layer, step = layers.LAYERS[0], {"kernel": "int8_conv2d_4x16__dotprod"}
    slow = layers.row("dotprod", layer, step, layer.macs // 11)
    assert not slow["reached"] and layers.table([slow]).endswith("below")
    assert layers.row("dotprod", layer, step, layer.macs // 12)["reached"]


def test_depthwise_layers_are_held_to_twice_the_best_peer():
    layer, step = layers.LAYERS[4], {"kernel": "int8_depthwise_1x16__generic"}
    best = min(layers.counted("vnni", layer))
    twice = layers.row("vnni", layer, step, best // 2)
    assert twice["reached"] and twice["times"] == pytest.approx(2, rel=1e-4)
    assert not layers.row("vnni", layer, step, best // 2 + 10)["reached"]
    alone = layers.row("avxvnni", layer, step, best)
    assert alone["times"] is alone["limit"] is None and alone["reached"]


def test_products_with_the_padding_are_not_counted():
    """Of a 3x3 window on 4 positions the outer two see two, the inner two all three."""
    assert layers.Layer("window", 4, 5, 7, 3).macs == (2 + 3 + 3 + 2) ** 2 * 5 * 7
    assert layers.Layer("depthwise", 4, 6, 6, 3, groups=6).macs == 10**2 * 6
    assert layers.Layer("pointwise", 4, 5, 7, 1).macs == 4**2 * 5 * 7
