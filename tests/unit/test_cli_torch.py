"""`edgecc export-torch`, and torch modules where other commands take a model."""

from __future__ import annotations

import builtins
import json
import sys

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch", reason="needs torch (pip install 'edgecc[torch]')")

from edgecc import pipeline  # noqa: E402
from edgecc.cli import main  # noqa: E402
from edgecc.errors import ConfigError  # noqa: E402
from edgecc.model import oracle, torch_factory  # noqa: E402

SOURCE = '''
from torch import nn


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())

    def forward(self, image):
        return self.body(image)


class Makers:
    make = Tiny


def fails():
    raise RuntimeError("the weights are on another machine")


ready, number = Tiny(), 3
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, holding the user's module."""
    (tmp_path / "tiny_net.py").write_text(SOURCE)
    (tmp_path / "broken_net.py").write_text("import no_such_package_at_all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("tiny_net", "broken_net"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def cli(*words):
    return main.main([str(word) for word in words])


def export(name, *words):
    return cli("export-torch", name, "--input", "image=1,3,8,8", "-o", "m.onnx", *words)


@pytest.mark.parametrize("name", ["tiny_net:Tiny", "tiny_net:ready", "tiny_net:Makers.make"])
def test_a_module_becomes_a_file_that_runs(name, folder, capsys):
    assert export(name) == 0
    said = capsys.readouterr().out
    assert "export    Tiny · " in said and "verify    ONNX Runtime within " in said
    assert "input     image   float32 [1, 3, 8, 8]\n" in said
    assert "output    output   float32 [1, 4, 6, 6]\nwrote m.onnx\n" in said
    found = oracle.run(onnx.load("m.onnx"), {"image": np.zeros((1, 3, 8, 8), np.float32)})
    assert found["output"].shape == (1, 4, 6, 6)


def test_random_weights_follow_the_seed(folder, capsys):
    files = []
    for seed in (0, 0, 1):
        assert export("tiny_net:Tiny", "--seed", seed) == 0
        files.append((folder / "m.onnx").read_bytes())
    assert files[0] == files[1] != files[2]


def test_weights_and_json(folder, capsys):
    sys.path.insert(0, str(folder))
    state = torch_factory.build("tiny_net:Tiny", None, 7).state_dict()
    torch.save(state, "w.pt")
    assert export("tiny_net:Tiny", "--weights", "w.pt", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["difference"] < 1e-5 and said["outputs"][0]["shape"] == [1, 4, 6, 6]
    weights = {t.name: onnx.numpy_helper.to_array(t)
               for t in onnx.load("m.onnx").graph.initializer}
    np.testing.assert_allclose(weights["body.0.weight"] * np.sqrt(1 + 1e-5),
                               state["body.0.weight"].numpy(), rtol=1e-6)


@pytest.mark.parametrize("name, told", [
    ("tiny_net", "tiny_net: is no package.module:name"),
    ("tiny_net:Tinny", "tiny_net:Tinny: has no 'Tinny'; did you mean Tiny?"),
    ("tiny_net:qqq", "tiny_net:qqq: has no 'qqq'"),
    ("tiny_net:number", "is a int, not a torch.nn.Module, class or function"),
    ("tiny_net:fails", "without arguments: RuntimeError: the weights are on another machine;"),
    ("builtins:dict", "gives a dict, not a torch.nn.Module"),
    ("broken_net:Tiny", "broken_net cannot be imported: ModuleNotFoundError: No module named"),
    ("no_net:Tiny", "run edgecc in the folder that holds it"),
])
def test_names_that_lead_to_no_module(name, told, folder, capsys):
    assert export(name) == ConfigError.exit_code
    said = capsys.readouterr().err
    assert said.startswith("error: ConfigError: ") and told in said and said.count("\n") == 1
    assert not (folder / "m.onnx").exists()


def test_without_torch_the_extra_is_named(folder, monkeypatch):
    def without(name, *rest, **named):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'")
        return imports(name, *rest, **named)

    imports = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"torch cannot be imported: .*pip install 'edgecc\[to"):
        torch_factory.build("tiny_net:Tiny", None, 0)


def test_compile_takes_a_module(folder, monkeypatch, capsys):
    asked = {}

    def fake(model, *, config, **_):
        asked.update(model=model, shapes=config.shapes)
        raise ConfigError("enough")

    monkeypatch.setattr(pipeline, "compile", fake)
    cli("compile", "tiny_net:Tiny", "--input", "image=1,3,8,8", "--target", "host", "-o", "o.ecb")
    assert type(asked["model"]).__name__ == "Tiny" and asked["shapes"] == {"image": (1, 3, 8, 8)}
    cli("compile", "m.onnx", "--target", "host", "-o", "o.ecb")
    assert asked["model"] == "m.onnx"


def test_weights_belong_to_modules(folder, capsys):
    assert cli("quantize", "m.onnx", "--weights", "w.pt", "--calibrate", "c.npz", "-o",
               "q.onnx") == ConfigError.exit_code
    assert "m.onnx: --weights are for torch modules" in capsys.readouterr().err


def test_a_file_whose_name_looks_like_a_module_is_a_file(folder):
    (folder / "net:v2").touch()
    assert not torch_factory.is_named("net:v2") and torch_factory.is_named("net:v3")
    assert not torch_factory.is_named("C:/models/net.onnx")
