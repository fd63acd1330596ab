"""A part of `edgecc matrix` that covers every model and every Linux target, int8 and float32.

The heavy models run where emulation is cheap: natively, and on dot products.
"""

import json
import shutil

import pytest
import whole_models
from shared_data import shared

from edgecc import model as models
from edgecc.cli.main import main
from edgecc.targets import all_targets, host_cpu

pytestmark = pytest.mark.emulated
COVER = {
    "mlperf_tiny_ad_autoencoder_fp32": ("raspberry-pi-5", "riscv64-generic", "visionfive-2",
                                        "armv7-neon", "spacemit-k1", "x86-64-v3-vnni"),
    "mlperf_tiny_strww_fp32": ("riscv64-generic", "visionfive-2", "imx8mp", "raspberry-pi-3",
                               "x86-64-v3-vnni"),
    "mlperf_tiny_kws_dscnn_fp32": ("host", "raspberry-pi-5", "armv7-neon", "generic-aarch64",
                                   "generic-aarch64-i8mm", "riscv64-generic-v"),
    "mlperf_tiny_vww_mobilenetv1_fp32": ("raspberry-pi-5", "spacemit-k1", "generic-aarch64-i8mm",
                                         "riscv64-generic-v"),
    "mlperf_tiny_resnet8_cifar10_fp32": ("host", "raspberry-pi-5", "raspberry-pi-4"),
    "mobilenet_v1_0.25_128_imagenet_fp32": ("rk3588", "x86-64-v3"),
    "ppocr_mobile_v2.0_cls": ("imx8mp", "x86-64-v3"),
    "resnet20_cifar10_akamaster_fp32": ("generic-aarch64", "x86-64-v4-vnni"),
    "mlperf_tiny_resnet_large_cifar10_fp32": ("raspberry-pi-4", "x86-64-v4-vnni"),
    "ultraface_version-RFB-320_simplified": ("raspberry-pi-3", "x86-64-v3"),
    "FastestDet_coco80_352": ("rk3588", "x86-64-v4-vnni"),
    "mobilenet_v2": ("spacemit-k1", "x86-64-v3"),
    "mobilenet_v3_small": ("armv7-neon", "raspberry-pi-3"),
    "efficientnet": ("raspberry-pi-5", "visionfive-2"),
}
# of the INT8 form on a Raspberry Pi 5: LiteRT's instruction count on the same core (XNNPACK),
# and the liveness bound of the activations
LIMITS = {
    "mlperf_tiny_ad_autoencoder_fp32": (47_944, 768),
    "mlperf_tiny_kws_dscnn_fp32": (714_551, 16_000),
    "mlperf_tiny_resnet8_cifar10_fp32": (1_501_651, 49_152),
    "mlperf_tiny_vww_mobilenetv1_fp32": (1_929_774, 55_296),
}


def test_every_target_runs_two_models_and_every_model_on_two_targets():
    linux = {t.name for t in all_targets().values()
             if t.runner == "linux" and "zvfh" not in t.features}  # that is for float16 only
    runs = [target for targets in COVER.values() for target in targets]
    assert set(runs) == linux and min(runs.count(target) for target in linux) >= 2
    assert set(COVER) == {*whole_models.FILES, *whole_models.NETS}
    assert all(len(set(targets)) >= 2 for targets in COVER.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", COVER)
def test_a_model_gives_the_same_bytes_on_its_targets(name, tmp_path, capsys):
    targets = [target for target in COVER[name] if runs_here(target)]
    words = ["matrix", str(file_of(name, tmp_path)), "--targets", ",".join(targets), "--count",
             "2", "--inputs", "2", "--calibrate-dir", str(tmp_path), "--json"]
    for port, shape in whole_models.SHAPES.get(name, {}).items():
        words += ["--shape", f"{port}={','.join(map(str, shape))}"]
    code, found = main(words), json.loads(capsys.readouterr().out)
    wrong = [row for row in found["rows"] if row["error"] or not row["agrees"]]
    assert code == 0 and not found["differing"], (found["differing"], wrong)
    assert len(found["rows"]) == 2 * len(targets)
    for row in found["rows"]:
        if name in LIMITS and (row["quantization"], row["target"]) == ("int8", "raspberry-pi-5"):
            within(row, *LIMITS[name])


def within(row, instructions, activations):
    assert row["instructions"] <= instructions
    assert row["arena_bytes"] <= activations + row["scratch_bytes"]
    assert row["onnxruntime"] == "identical"


def runs_here(target):
    """Whether this machine can be, or emulate, the target; its emulators are needed."""
    chip = all_targets()[target]
    native = chip.architecture == host_cpu.architecture() and chip.features <= host_cpu.features()
    if native or not chip.emulator:
        return native
    return shutil.which(chip.emulator[0]) or pytest.skip(f"needs {chip.emulator[0]}")


def file_of(name, folder):
    """The model's file; calibration data of its own are put beside where it is looked for."""
    if name in whole_models.DATA:
        shutil.copy(shared(f"models/data/{whole_models.DATA[name]}"), folder / f"{name}.npz")
    source = whole_models.source(name)
    if name not in whole_models.NETS:
        return source
    models.save(source, folder / f"{name}.onnx")
    return folder / f"{name}.onnx"
