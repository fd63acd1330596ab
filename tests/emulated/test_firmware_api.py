"""The C API on bare chips in QEMU: what init refuses, arenas against the end of RAM, two models
on one arena, two instances step by step; from the library and from both source forms. And stacks:
at or below the bound, and near it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import link_models
import numpy as np
import pipeline_models
import pytest
from shared_data import shared

import edgecc
from edgecc.bundle.package import package, write
from edgecc.context import Context
from edgecc.link.elf_symbols import symbols_by_section
from edgecc.model import load
from edgecc.quantize.calibration import ports
from edgecc.rpc.boards import built_in_boards
from edgecc.rpc.protocol import Type, encode, encode_u32

pytestmark = pytest.mark.emulated
APP = Path(__file__).parents[1] / "firmware_app.c"
ARM, RISCV = ("arm-none-eabi-gcc",), ("riscv64-unknown-elf-gcc",)
CHIPS = {"cortex-m3": ARM, "cortex-m4f": ARM, "cortex-m55": ARM, "rv32imc": RISCV}
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wcast-align", "-pedantic")
FORMS = {"library": (), "portable": (), "assembly": ("-DNET_FAST", "-DOTHER_FAST")}
EVERY_DAY = {"cortex-m3": ("library",), "cortex-m4f": FORMS, "cortex-m55": ("library", "assembly"),
             "rv32imc": ("library", "portable")}
REAL = {"kws": "kws_dscnn", "strww": "strww", "ad": "ad_autoencoder"}


@pytest.fixture(scope="module")
def models(chip):
    """An INT8 model `net`, and a float32 model `other`."""
    return (
        edgecc.compile(pipeline_models.network(), target=chip, name="net", quantization="int8",
                       calibration={"x": pipeline_models.samples()}),
        edgecc.compile(pipeline_models.network(seed=5), target=chip, name="other"))


def unpacked(bundles, form, folder):
    """Packages of both, and the port of the first."""
    for bundle in bundles:
        write(package(bundle, "make" if form == "library" else "c-source"),
              folder / bundle.manifest["name"])
    port = package(bundles[0], "make")
    for path in (p for p in port if p.startswith("port/")):
        (folder / "net" / path).parent.mkdir(exist_ok=True)
        (folder / "net" / path).write_bytes(port[path])


def compiler(chip, zig):
    toolchain = edgecc.targets.get_target(chip).toolchain
    if zig:
        return [sys.executable, "-m", "ziglang", *toolchain.argv[1:]], []
    if not shutil.which(CHIPS[chip][0]):
        pytest.skip(f"needs {CHIPS[chip][0]}")
    libraries = ["-nodefaultlibs", "-lgcc"] if CHIPS[chip] == RISCV else []
    return [*CHIPS[chip], *toolchain.gnu_flags], libraries


def built(folder, chip, form, *more, zig=False):
    """The firmware of tests/firmware_app.c."""
    command, libraries = compiler(chip, zig)
    places = [folder / "net", folder / "other"]
    flags = ["-O2", "-ffreestanding", "-ffunction-sections", "-DEDGECC_BAREMETAL", *FORMS[form],
             *(f"-I{place}/include" for place in places), f"-I{folder}/net/port", *more]
    sources = [APP, *folder.glob("net/port/*.c")]
    if form == "library":
        sources += [p / f"src/{p.name}_{kind}.c" for p in places for kind in ("weights",
                                                                              "selftest")]
    else:
        sources += [s for p in places for s in p.glob("src/*.[cS]")]
    objects = []
    for i, source in enumerate(sorted(sources)):
        strict = STRICT if source.suffix == ".c" else ()
        objects.append(str(folder / f"{i}.o"))
        run([*command, *flags, *strict, "-c", str(source), "-o", objects[-1]])
    objects += [str(p / f"lib/lib{p.name}.a") for p in places] if form == "library" else []
    run([*command, "-O2", "-nostartfiles", "-Wl,--gc-sections", "-Wl,-e,edgecc_reset",
         "-T", str(folder / "net/port/net.ld"), *objects, *libraries, "-o", str(folder / "app")])
    return folder / "app"


def run(command, code=0):
    zig = str(Context().cache_dir / "zig")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                          env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp",
                               "ZIG_GLOBAL_CACHE_DIR": zig, "ZIG_LOCAL_CACHE_DIR": zig})
    assert done.returncode == code, f"{command}:\n{done.stdout[-500:]}{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def emulated(chip, app, code=0):
    command = built_in_boards()[f"emulated-{chip}"].command([str(app)])
    if not shutil.which(command[0]):
        pytest.skip(f"needs {command[0]}")
    return run(list(command), code)


@pytest.mark.parametrize("chip, form", [
    pytest.param(chip, form, marks=() if form in EVERY_DAY[chip] else pytest.mark.slow)
    for chip in CHIPS for form in FORMS], scope="module")
def test_two_models_and_two_instances_in_one_firmware(models, tmp_path, chip, form):
    unpacked(models, form, tmp_path)
    assert emulated(chip, built(tmp_path, chip, form)) == "firmware: all holds\n"


@pytest.mark.parametrize("chip", CHIPS, scope="module")
def test_the_next_byte_is_a_fault(models, tmp_path, chip):
    unpacked(models, "library", tmp_path)
    app = built(tmp_path, chip, "library", "-DPAST_THE_END", zig=True)
    arena = models[0].manifest["arena_bytes"]
    end = -(-arena // 16) * 16  # of RAM: as near as the arena's alignment allows
    said = emulated(chip, app, code=86)
    assert f"past the end of the arena: byte {end} of {arena}, at instruction" in said


def test_weights_go_where_the_application_says(tmp_path):
    """To RAM, say, whence a chip with slow flash reads them faster: start-up code fills it."""
    chip, name = "cortex-m4f", pipeline_models.network()
    bundles = [edgecc.compile(name, target=chip, name=each) for each in ("net", "other")]
    unpacked(bundles, "library", tmp_path)
    place = '__attribute__((section(".data.net_weights"),aligned(64)))'
    app = built(tmp_path, chip, "library", f"-DNET_WEIGHTS_PLACE={place}")
    assert emulated(chip, app) == "firmware: all holds\n"
    sections = symbols_by_section(app.read_bytes())
    held = {section: {name for name, _ in found} for section, (_, found) in sections.items()}
    assert "net_weights" in held[".data"] and "other_weights" in held[".edgecc.weights"]


def stack_used(bundle, chip, folder):
    """The most that a run took: the runner fills the stack beforehand."""
    (folder / "runner").write_bytes(bundle.files["runner/runner"])
    command = built_in_boards()[f"emulated-{chip}"].command([str(folder / "runner")])
    sent = encode_u32(Type.RUN_UNTIMED, 1) + encode(Type.STATUS) + encode(Type.QUIT)
    done = subprocess.run(command, input=sent, capture_output=True, timeout=60, check=True)
    return json.loads(link_models.frames(done.stdout)[1][2])["stack_bytes"]


def check_stack(bundle, chip, folder):
    used, bound = stack_used(bundle, chip, folder), bundle.manifest["stack_bytes"]
    assert used <= bound <= 1.25 * used, (bundle.manifest["name"], chip, used, bound)


@pytest.mark.parametrize("chip", CHIPS, scope="module")
def test_the_stack_bound_holds_and_is_tight(models, tmp_path, chip):
    for bundle in models:
        check_stack(bundle, chip, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_the_stack_bound_of_real_models(tmp_path, name):
    path = shared(f"models/onnx_fp32/mlperf_tiny_{REAL[name]}_fp32.onnx")
    generator = np.random.default_rng(0)
    samples = [{port.name: generator.standard_normal(port.shape).astype(port.dtype)
                for port in ports(load(path))} for _ in range(2)]
    for chip in CHIPS:
        check_stack(edgecc.compile(path, target=chip, name=name, quantization="int8",
                                   calibration=samples), chip, tmp_path)
