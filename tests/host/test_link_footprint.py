"""A model that is larger than its chip: by how much, what takes most, and what would help."""

import dataclasses

import bundle_maker
import link_models
import pytest

from edgecc import line
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import DoesNotFit, ToolchainError
from edgecc.link import baremetal, link_baremetal
from edgecc.targets import get_target
from edgecc.targets.target import Region

pytestmark = pytest.mark.host
M4, M55 = get_target("cortex-m4f"), get_target("cortex-m55")
ROOM = 1 << 20


def flash(size):
    return Region("flash", size, base=0, may_hold=("code", "weights"))


def ram(size):
    return Region("ram", size, base=0x20000000, may_hold=("arena",))


def linked(target, *memories):
    target = dataclasses.replace(target, memories=memories)
    model = link_models.fake(target, Context())
    objects = dataclasses.replace(model.objects, stack_bytes=400,
                                  weight_offsets={"scale_0": (64, 36), "last_1": (0, 0)})
    return link_baremetal(model.program, model.plan, objects, target,
                          config=CompileConfig(target=target.name), context=Context(),
                          name="tiny", version="1")


def refused(target, *memories):
    with pytest.raises(DoesNotFit) as caught:
        linked(target, *memories)
    error = caught.value
    assert sum(error.live_bytes.values()) - error.shortfall_bytes == next(
        region.size_bytes for region in memories if region.name == error.region)
    return error


def test_too_little_flash():
    error = refused(M4, flash(300), ram(ROOM))
    assert error.region == "flash" and set(error.live_bytes) == {"code", "weights"}
    words = str(error)
    assert words.startswith(f"cortex-m4f: {error.shortfall_bytes:,} B too much for flash: code ")
    assert " + weights 100 B; most is tiny_" in words
    assert "available 300 B of flash)" in words and "or a target with at least " in words
    assert words.endswith(" KB there")


def test_too_little_memory_for_weights_alone():
    itcm = Region("itcm", ROOM, base=0, may_hold=("code",))
    sram = Region("sram", 99, base=0x11000000, may_hold=("weights",))
    error = refused(M55, itcm, sram, Region("ram", ROOM, base=0x31000000, may_hold=("arena",)))
    assert str(error) == (
        "cortex-m55: 1 B too much for sram: weights 100 B; most is the weights of scale_0 with "
        "36 B (needed 100 B, available 99 B of sram); try int8 instead of float32 (a quarter of "
        "the weights), or fewer channels, or a target with at least 1 KB there")


def test_too_little_ram():
    error = refused(M4, flash(ROOM), ram(600))
    assert (error.region, error.shortfall_bytes) == ("ram", 192 + 20 + 400 - 600)
    assert str(error) == (
        "cortex-m4f: 12 B too much for ram: arena 192 B + context 20 B + stack 400 B; most is "
        "buffer z with 64 B (needed 612 B, available 600 B of ram); try a smaller input, or int8 "
        "instead of float32, or a target with at least 1 KB there")


def test_one_memory_for_everything():
    everything = Region("ram", 700, base=0x20000000, may_hold=("code", "weights", "arena"))
    error = refused(M4, everything)
    assert set(error.live_bytes) == {"code", "weights", "arena", "context", "stack", "data"}


def test_a_chip_with_room_for_the_model_alone_gets_no_runner():
    for memories in ((flash(2300), ram(ROOM)), (flash(ROOM), ram(900))):
        files = linked(M4, *memories)
        assert "runner/runner" not in files and {"lib/libtiny.a", "src/tiny.ld"} <= set(files)
    assert "runner/runner" in linked(M4, flash(ROOM), ram(ROOM))


def test_a_runner_that_cannot_be_linked_at_all_is_an_error(monkeypatch):
    monkeypatch.setattr(baremetal, "START", {"arm": "app.c"})  # calls a main that nobody has
    with pytest.raises(ToolchainError, match="main"):
        linked(M4, flash(ROOM), ram(ROOM))


def test_what_the_line_says_of_a_bundle_without_runner():
    info = {"runner": "baremetal"}
    manifest = bundle_maker.manifest(runner_bytes=0, target_info=info, threads={"note": None})
    assert "no" in line.linked(manifest) and "for a runner to measure it" in line.linked(manifest)
    assert "measure it" not in line.linked({**manifest, "runner_bytes": 9})
