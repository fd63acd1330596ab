"""Every registered target keeps the contract; broken registrations fail loudly, by name."""

from __future__ import annotations

import re
import sys
from dataclasses import FrozenInstanceError, replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from target_contract import findings

from edgecc import targets
from edgecc.errors import TargetError
from edgecc.rpc.boards import built_in_boards
from edgecc.targets import Region, Serial, Toolchain, all_targets, get_target

README = Path(__file__).parents[2] / "targets" / "README.md"
PI = get_target("raspberry-pi-5")


@pytest.fixture
def plug_ins(monkeypatch):
    """Sets the entry points that edgecc finds, and forgets the targets it knew."""

    def install(**values: str) -> None:
        points = [EntryPoint(name, value, "edgecc.targets") for name, value in values.items()]
        monkeypatch.setattr(targets, "entry_points", lambda group: points)
        all_targets.cache_clear()

    yield install
    all_targets.cache_clear()


@pytest.mark.parametrize("name", sorted(all_targets()))
def test_target_keeps_the_contract(name):
    assert findings(get_target(name)) == []


@pytest.mark.parametrize("name", sorted(all_targets()))
def test_target_cannot_be_changed(name):
    target = get_target(name)
    with pytest.raises(FrozenInstanceError):
        target.cpu = "another"


def test_the_targets_that_tests_and_readme_rely_on_exist():
    assert {"host", "null", "raspberry-pi-5"} <= set(all_targets())


@pytest.mark.parametrize("change, finding", [
    ({"name": "Raspberry Pi"}, "lower-case"),
    ({"description": ""}, "description"),
    ({"triple": "x86_64-linux-gnu"}, "architecture"),
    ({"source": {**PI.source, "clock_hz": ""}}, "clock_hz has no source"),
    ({"source": {**PI.source, "colour": "the box"}}, "no field"),
    ({"memories": (Region("ram", 0),)}, "no bytes"),
    ({"memories": (Region("ram", 1, align_bytes=12),)}, "power of two"),
    ({"memories": (Region("ram", 1, may_hold=("cake",)),)}, "cake"),
    ({"memories": (Region("ram", 1), Region("ram", 2))}, "same name"),
    ({"features": frozenset({"dotprod", "warp"})}, "warp"),
    ({"kernels": ("int8_everything__at_once",)}, "no such kernels"),
    ({"toolchain": Toolchain("zig", ("zig", "cc", "-target", "x86_64-linux-musl"))}, "zig"),
    ({"toolchain": Toolchain("none", ())}, "needs a toolchain"),
    ({"toolchain": Toolchain("none", ("cc",))}, "exactly when"),
    ({"toolchain": Toolchain("tcc", ("tcc",))}, "kind"),
    ({"toolchain": Toolchain("gcc", ("gcc", ""))}, "words"),
    ({"runner": "windows"}, "runner"),
    ({"emulator": ("wine", "x")}, "not QEMU"),
    ({"features": frozenset({"mve"})}, "mve"),
    ({"emulator": ("qemu-aarch64", "-cpu", "cortex-a53")}, "emulated board"),
    ({"dtypes": ()}, "dtypes"),
    ({"preferred_layout": "CHW"}, "layout"),
    ({"clock_hz": 0}, "positive"),
])
def test_contract_finds_what_is_wrong(change, finding):
    assert any(finding in found for found in findings(replace(PI, **change)))


@pytest.mark.parametrize("change, finding", [
    ({"memories": (Region("ram", 1 << 20),)}, "no base address"),
    ({"memories": (Region("flash", 2, base=0), Region("ram", 1, base=1))}, "overlap"),
    ({"memories": (Region("ram", 1, base=0, may_hold=("arena",)),)}, "none the weights"),
    ({"toolchain": Toolchain("none", ())}, "needs a toolchain"),
    ({"toolchain": Toolchain("zig", ("zig", "cc", "-target", "thumb-linux-musleabi"))}, "zig"),
    ({"emulator": ("qemu-arm", "-cpu", "cortex-m4")}, "qemu-system-"),
    ({"source": {}}, "serial has no source"),
    ({"serial": Serial("lin", 0x40000000, 1 << 24)}, "serial kind 'lin'"),
    ({"serial": Serial("nrf", 0x40000000, 1 << 24)}, "need them"),
    ({"serial": Serial("cmsdk", 0x40000000, 1 << 24, pins=(1, 2))}, "choose them"),
    ({"serial": Serial("cmsdk", 0x40000002, 1 << 24)}, "serial base 0x40000002 is no register"),
    ({"serial": Serial("cmsdk", 4, 1 << 24, setup=((0, 0, 1),))}, "serial setup 0x0 is no reg"),
    ({"serial": Serial("cmsdk", 4, 115_200)}, "too fast"),
    ({"serial": Serial("cmsdk", 4, 1 << 24), "runner": "linux"}, "without an operating system"),
    ({"serial": Serial("cmsdk", 4, 1 << 24, core_hz=1), "architecture": "riscv32"}, "a DWT"),
])
def test_contract_finds_what_is_wrong_with_a_microcontroller(change, finding):
    target = replace(get_target("cortex-m4f"), **change)
    assert any(finding in found for found in findings(target))


def test_unknown_target_offers_near_matches():
    with pytest.raises(TargetError, match="did you mean raspberry-pi-5") as error:
        get_target("raspbery-pi5")
    assert error.value.exit_code == 6


def test_target_unlike_any_other_points_to_the_list():
    with pytest.raises(TargetError, match="`edgecc targets` lists them"):
        get_target("zzzz")


def test_plug_in_brings_a_target_and_its_board(plug_ins, monkeypatch):
    monkeypatch.setattr(targets, "plug_in_for_tests", replace(PI, name="pi-6"), raising=False)
    plug_ins(pi6="edgecc.targets:plug_in_for_tests")
    assert get_target("pi-6").cpu == "cortex-a76"
    assert built_in_boards()["emulated-pi-6"].emulator == PI.emulator
    assert findings(get_target("pi-6")) == []


def test_plug_in_may_bring_several_targets(plug_ins, monkeypatch):
    several = (replace(PI, name="pi-6"), replace(PI, name="pi-7"))
    monkeypatch.setattr(targets, "plug_ins_for_tests", several, raising=False)
    plug_ins(pis="edgecc.targets:plug_ins_for_tests")
    assert {"pi-6", "pi-7"} <= set(all_targets())


def test_plug_in_that_cannot_be_loaded_fails_by_name(plug_ins):
    plug_ins(acme="no_such_package_of_acme:TARGETS")
    with pytest.raises(TargetError, match=r"'acme' failed to load.*uninstall") as error:
        all_targets()
    assert error.value.where == "no_such_package_of_acme:TARGETS"


def test_plug_in_that_is_no_target_fails_by_name(plug_ins):
    plug_ins(acme="edgecc:__version__")
    with pytest.raises(TargetError, match="'acme' registers '.*', which is not a Target"):
        all_targets()


def test_plug_in_cannot_replace_a_target(plug_ins):
    plug_ins(acme="edgecc.targets.raspberry_pi_5:TARGETS")
    with pytest.raises(TargetError, match="'acme' registers target 'raspberry-pi-5' a second time"):
        all_targets()


@pytest.mark.parametrize("name", ["allwinner-h618", "stm32f411"])
def test_examples_of_the_readme_register_from_their_own_files(tmp_path, monkeypatch, name):
    blocks = re.findall(r"`targets/(\w+)\.py`:\n\n```python\n(.*?)```", README.read_text(),
                        re.DOTALL)
    for module, text in blocks:
        (tmp_path / f"{module}.py").write_text(text)
        monkeypatch.delitem(sys.modules, f"edgecc.targets.{module}", raising=False)
    monkeypatch.setattr(targets, "__path__", [*targets.__path__, str(tmp_path)])
    all_targets.cache_clear()
    try:
        assert findings(get_target(name)) == [] and len(blocks) == 2
        assert built_in_boards()[f"emulated-{name}"].target == name
    finally:
        all_targets.cache_clear()


def test_readme_explains_every_field():
    text = README.read_text()
    for name in targets.Target.__dataclass_fields__:
        assert f"| `{name}` |" in text
