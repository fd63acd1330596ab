"""Trained models on real data: SQNR, agreement, published scores, time."""

import time

import numpy as np
import onnx_ir as ir
import pytest
from shared_data import shared

from edgecc.config import CompileConfig
from edgecc.model import check_model, load, oracle
from edgecc.quantize import agreement, check_quantized, quantize
from edgecc.quantize.calibration import read

MINMAX = CompileConfig(quantization="int8")


def bitmap(name):
    """An uncompressed .bmp as (height, width, 3) bytes."""
    raw = shared(f"models/data/img/{name}.bmp").read_bytes()
    start, width, height = (int.from_bytes(raw[i : i + 4], "little") for i in (10, 18, 22))
    channels = int.from_bytes(raw[28:30], "little") // 8
    stride = (width * channels + 3) // 4 * 4
    rows = np.frombuffer(raw, np.uint8, stride * height, start).reshape(height, stride)[::-1]
    pixels = rows[:, : width * channels].reshape(height, width, channels)
    return np.repeat(pixels, 3, axis=2) if channels == 1 else pixels[:, :, ::-1]


def crops(image, size, count):
    """Random square windows as float32 (count, 3, size, size), 0 to 255."""
    random = np.random.default_rng(1)
    corners = [
        (random.integers(image.shape[0] - size + 1), random.integers(image.shape[1] - size + 1))
        for _ in range(count)
    ]
    windows = np.stack([image[y : y + size, x : x + size] for y, x in corners])
    return windows.transpose(0, 3, 1, 2).astype(np.float32)


def photographs(size, count=32, scale=1.0, offset=0.0):
    cat = bitmap("resized_cat")[:: 2 if size < 64 else 1, :: 2 if size < 64 else 1]
    return crops(cat, size, count) * np.float32(scale) + np.float32(offset)


def measured(name, source, config=MINMAX):
    model = load(shared(f"models/onnx_fp32/{name}.onnx"))
    source = shared(source) if isinstance(source, str) else source
    result, report = quantize(model, source, config=config)
    check_model(result)
    check_quantized(result)
    assert report.int8_macs_fraction == 1.0 and not report.left_in_float, report.to_text()
    return model, result, report, agreement(model, result, read(source, model))


@pytest.mark.parametrize("observer", ["minmax", "percentile", "mse", "entropy"])
def test_streaming_wake_word_answers_like_the_float_model(observer):
    config = CompileConfig(quantization="int8", observer=observer)
    _, _, report, found = measured(
        "mlperf_tiny_strww_fp32", "models/data/strww_calibration45_nchw.npz", config
    )
    assert found["samples"] == 45 and found["top1"] == 1.0
    assert found["output_sqnr_db"] > 35 and report.worst[1] > 25


@pytest.mark.parametrize("observer", ["minmax", "percentile", "mse", "entropy"])
def test_keyword_spotting(observer):
    config = CompileConfig(quantization="int8", observer=observer)
    _, _, report, found = measured(
        "mlperf_tiny_kws_dscnn_fp32", "models/data/kws_mfcc_tflm4.npz", config
    )
    assert found["samples"] == 4 and found["top1"] == 1.0
    assert found["output_sqnr_db"] > 18


def test_anomaly_detection_keeps_its_published_score():
    model, result, report, found = measured(
        "mlperf_tiny_ad_autoencoder_fp32", "models/data/ad_normal_id_01_00000000_windows.npz"
    )
    windows = np.load(shared("models/data/ad_normal_id_01_00000000_windows.npz"))["x"]

    def score(candidate):
        answers = [oracle.run(candidate, {"input": w[None]})["output"][0] for w in windows[::4]]
        return float(np.mean((np.stack(answers) - windows[::4]) ** 2))

    # The file's source publishes 9.707 (float) and 10.260 (full int8) over all windows.
    assert abs(score(result) / score(model) - 1) < 0.02
    assert found["output_sqnr_db"] > 40


def test_visual_wake_words_is_quantized_well_and_fast():
    images = photographs(96, scale=1 / 255)
    model = load(shared("models/onnx_fp32/mlperf_tiny_vww_mobilenetv1_fp32.onnx"))
    start = time.process_time()
    quantize(model, images, config=MINMAX)
    assert time.process_time() - start < 3
    _, _, report, found = measured("mlperf_tiny_vww_mobilenetv1_fp32", images)
    assert found["top1"] == 1.0 and found["output_sqnr_db"] > 28 and report.worst[1] > 17


def test_image_classification():
    _, _, report, found = measured("mlperf_tiny_resnet8_cifar10_fp32", photographs(32))
    assert found["top1"] >= 0.93 and found["output_sqnr_db"] > 22 and report.worst[1] > 20


def test_resnet20_with_its_sliced_shortcuts():
    images = photographs(32, scale=1 / 64, offset=-2)
    _, _, report, found = measured("resnet20_cifar10_akamaster_fp32", images)
    assert found["top1"] >= 0.9 and found["output_sqnr_db"] > 25


def test_dead_channels_of_visual_wake_words_have_usable_scales():
    _, result, _, _ = measured("mlperf_tiny_vww_mobilenetv1_fp32", photographs(96, 4, 1 / 255))
    tiny = np.finfo(np.float32).tiny
    for name, value in result.graph.initializers.items():
        if name.endswith("_scale"):
            assert (value.const_value.numpy() > tiny).all(), name


def test_only_the_ends_are_float():
    _, result, _, _ = measured("mlperf_tiny_kws_dscnn_fp32", "models/data/kws_mfcc_tflm4.npz")
    first, last = result.graph[0], result.graph.outputs[0].producer()
    assert first.op_type == "QuantizeLinear" and last.op_type == "DequantizeLinear"
    assert result.graph.inputs[0].dtype == result.graph.outputs[0].dtype == ir.DataType.FLOAT
