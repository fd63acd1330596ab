"""Preprocessing: values, layouts, JSON round trip, and every refusal."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecc.cli import main, preprocessing
from edgecc.data import Preprocessing
from edgecc.data.preprocessing import declared, picture_layout
from edgecc.errors import ConfigError

IMAGENET = Preprocessing(scale=1, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225),
                         resize=256, crop=224)


def test_values_are_those_of_torchvision():
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 14
    tensor = pixels.astype(np.float32) / np.float32(255)  # ToTensor
    expected = (tensor - np.float32(IMAGENET.mean)) / np.float32(IMAGENET.std)  # Normalize
    assert IMAGENET.values(pixels).dtype == np.float32
    assert np.array_equal(IMAGENET.values(pixels), expected)


def test_scale_255_keeps_pixels():
    how = Preprocessing(scale=255)
    assert how.is_plain and not IMAGENET.is_plain
    assert np.array_equal(how.values(np.uint8([[[0, 7, 255]]])), np.float32([[[0, 7, 255]]]))


@pytest.mark.parametrize("shape, channels, layout, size", [
    ((1, 3, 20, 30), 3, "NCHW", (30, 20)), ((1, 20, 30, 3), 3, "NHWC", (30, 20)),
    ((3, 20, 30), 3, "CHW", (30, 20)), ((20, 30, 1), 1, "HWC", (30, 20)),
    ((20, 30), 1, "HW", (30, 20)), ((1, 3, 8, 3), 3, "NCHW", (3, 8)),
    ((1, 1, 28, 28), 1, "NCHW", (28, 28))])
def test_layout_comes_from_the_models_input(shape, channels, layout, size):
    assert picture_layout(shape, channels) == (layout, size)


@pytest.mark.parametrize("shape", [(1, 4, 8, 8), (2, 3, 8, 8), (1, 784), (8,), (1, 3, 8, 8, 8)])
def test_inputs_that_take_no_pictures_are_refused(shape):
    with pytest.raises(ConfigError, match="takes no such pictures"):
        picture_layout(shape, 3)


def test_feed_puts_pixels_into_the_layout():
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    how = Preprocessing(scale=255)
    assert np.array_equal(how.feed(pixels, (1, 3, 2, 4), "float32")[0], pixels.transpose(2, 0, 1))
    assert np.array_equal(how.feed(pixels, (1, 2, 4, 3), "uint8")[0], pixels)
    folded = Preprocessing(scale=1, mean=(0.5,), folded=True)
    assert np.array_equal(folded.feed(pixels, (1, 2, 4, 3), "uint8")[0], pixels)
    assert np.array_equal(folded.unfold(pixels[None], (1, 3, 2, 4))[0],
                          folded.values(pixels).transpose(2, 0, 1))


def test_dtypes_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match="takes uint8 pixels, so scale, mean and std do nothing"):
        IMAGENET.check_dtype("uint8")
    with pytest.raises(ConfigError, match="pictures do not fit an input of int64"):
        IMAGENET.check_dtype("int64")


@pytest.mark.parametrize("changes", [
    {"scale": 0}, {"scale": -1}, {"scale": float("inf")}, {"scale": "1"}, {"scale": True},
    {"color": "hsv"}, {"filter": "magic"}, {"mean": (0.1, 0.2)}, {"mean": float("nan")},
    {"std": (0.0,)}, {"std": (1, 1, -1)}, {"resize": 0}, {"resize": (1, 2, 3)}, {"crop": 2.5},
    {"resize": 1 << 20}, {"folded": 1}, {"color": "gray", "mean": (1, 2, 3)}])
def test_wrong_values_are_refused(changes):
    with pytest.raises(ConfigError, match="is not possible"):
        Preprocessing(**{"scale": 1, **changes})


def test_declared_needs_one_input_and_a_declaration():
    assert declared(IMAGENET, ["x"], "m") is IMAGENET
    with pytest.raises(ConfigError, match="models of one input"):
        declared(IMAGENET, ["a", "b"], "m")
    with pytest.raises(ConfigError, match="not declared how pictures become"):
        declared(None, ["x"], "m")


numbers = st.floats(0.01, 300)
sizes = st.one_of(st.none(), st.integers(1, 500), st.tuples(st.integers(1, 9), st.integers(1, 9)))


@given(scale=numbers, mean=st.lists(numbers, min_size=3, max_size=3).map(tuple), std=numbers,
       color=st.sampled_from(["rgb", "bgr"]), resize=sizes, crop=sizes, folded=st.booleans(),
       filter=st.sampled_from(["bilinear", "bicubic", "nearest"]))
def test_json_round_trip(**values):
    how = Preprocessing(**values)
    assert Preprocessing.from_json(json.loads(json.dumps(how.to_json()))) == how


@pytest.mark.parametrize("record", [{}, {"mean": [0]}, {"scale": 1, "shear": 2}, [1], "x"])
def test_records_that_are_none_are_refused(record):
    with pytest.raises(ConfigError, match="is no preprocessing record"):
        Preprocessing.from_json(record)


def options(*texts: str):
    return main.parser().parse_args(["compile", "m.onnx", "--target", "host", "-o", "x", *texts])


def test_options_declare_it():
    found = preprocessing.declared(options(
        "--resize", "256", "--crop", "224x192", "--mean", "0.5,0.4,0.3", "--std", "0.2",
        "--scale", "1", "--color", "bgr", "--filter", "bicubic", "--normalize"))
    assert found == Preprocessing(scale=1, mean=(0.5, 0.4, 0.3), std=(0.2,), color="bgr",
                                  resize=256, crop=(224, 192), filter="bicubic", folded=True)
    assert preprocessing.declared(options()) is None


@pytest.mark.parametrize("texts, message", [
    (["--mean", "0.5"], "--scale is not given.*0..255"),
    (["--normalize"], "--scale is not given"),
    (["--scale", "x"], "--scale 'x' is not made of numbers"),
    (["--scale", "1", "--resize", "2xy"], "--resize '2xy' is not made of numbers"),
    (["--scale", "1", "--mean", "1,b"], "--mean '1,b' is not made of numbers")])
def test_wrong_options_are_refused(texts, message):
    with pytest.raises(ConfigError, match=message):
        preprocessing.declared(options(*texts))


def test_options_change_what_was_recorded_but_not_what_is_in_the_model():
    changed = preprocessing.declared(options("--resize", "300"), IMAGENET)
    assert (changed.resize, changed.crop) == (300, (224, 224))
    folded = Preprocessing(scale=1, folded=True)
    with pytest.raises(ConfigError, match="--mean: the model does this itself"):
        preprocessing.declared(options("--mean", "0.5"), folded)
