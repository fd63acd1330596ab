"""Small code: shared kernels or own ones, by what the linked program takes."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from pipeline_models import network, samples

from edgecc import quantize
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import DoesNotFit
from edgecc.model import load
from edgecc.tune.smallest import own_kernels, smallest

CONFIG = CompileConfig(target="cortex-m4f", optimization="Os")


@pytest.fixture(scope="module")
def graph():
    config = CompileConfig(quantization="int8")
    return quantize.quantize(load(network()), {"x": samples()}, config=config,
                             context=Context())[0]


def chosen(graph, flash_bytes, config=CONFIG):
    """`flash_bytes(tiles)`: None where it does not fit."""
    def build(config, context):
        size = flash_bytes(config.tiles)
        if size is None:
            raise DoesNotFit("too large")
        return SimpleNamespace(manifest={"flash_bytes": size})

    return dict(smallest(graph, build, config=config, context=Context()))


@pytest.mark.parametrize(("shared", "own", "takes_own"), [
    (100, 99, True), (100, 100, False), (99, 100, False), (None, 100, True), (100, None, False),
    (None, None, False)])
def test_the_smaller_program_is_taken(graph, shared, own, takes_own):
    made = own_kernels(graph, CONFIG, Context())
    assert made and not any("_any__" in kernel for kernel in made.values())
    found = chosen(graph, lambda tiles: own if tiles else shared)
    assert found == (made if takes_own else {})


def test_where_nothing_is_shared_there_is_nothing_to_compare(graph):
    vectors = replace(CONFIG, target="raspberry-pi-5")
    assert chosen(graph, lambda tiles: pytest.fail("built"), vectors) == {}


def test_tiles_of_the_users_own_stay(graph):
    signature = next(iter(own_kernels(graph, CONFIG, Context())))
    config = replace(CONFIG, tiles={signature: "1x4"})
    assert chosen(graph, lambda tiles: -len(tiles), config)[signature] == "1x4"
