"""The package's front: lazy, and with the import rules that keep its parts apart."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from bundle_maker import bundle

import edgecc
from edgecc import pipeline
from edgecc.errors import BundleError, ConfigError

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "onnx", "onnx_ir", "onnxscript", "onnxruntime", "tvm", "paramiko", "rich",
         "jsonschema", "torch")
ALLOWED = {
    "tvm": ("edgecc/kernels/", "edgecc/lower/"),
    "paramiko": ("rpc/transport/ssh",),
    "torch": ("edgecc/model/torch",),
}


def sources():
    for folder in ("edgecc", "targets", "rpc"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").split(".")[0]


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_are_imported_only_where_they_belong(package):
    users = {path.relative_to(ROOT).as_posix() for path in sources() if package in imports(path)}
    assert not {user for user in users if not user.startswith(ALLOWED[package])}


@pytest.mark.parametrize("module", ["edgecc", "edgecc.cli.main", "edgecc.model", "edgecc.targets",
                                    "edgecc.config", "edgecc.errors"])
def test_front_modules_import_nothing_heavy(module):
    code = f"import sys, {module}; print([m for m in {HEAVY} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           check=True)
    assert shown.stdout.strip() == "[]"


def test_compile_passes_its_arguments_on(monkeypatch):
    asked = {}
    monkeypatch.setattr(pipeline, "compile", lambda model, **rest: asked.update(rest) or bundle())
    made = edgecc.compile("m.onnx", target="raspberry-pi-5", quantization="int8",
                          calibration=[1], fusion=False)
    assert made.sha256 == bundle().sha256 and asked["calibration"] == [1]
    assert asked["config"] == edgecc.CompileConfig(
        target="raspberry-pi-5", quantization="int8", fusion=False)


def test_unknown_options_offer_the_nearest():
    with pytest.raises(ConfigError, match="unknown option 'fusoin'; did you mean fusion"):
        edgecc.compile("m.onnx", fusoin=True)
    with pytest.raises(ConfigError, match="unknown option 'zzz'; target, optimization"):
        edgecc.compile("m.onnx", zzz=True)


def test_load_bundle(tmp_path):
    path = bundle().save(tmp_path / "b.ecb")
    assert isinstance(edgecc.load_bundle(path), edgecc.Bundle)
    with pytest.raises(BundleError):
        edgecc.load_bundle(tmp_path / "none")


def test_unknown_attributes_are_named():
    with pytest.raises(AttributeError, match="'edgecc' has no attribute 'complie'"):
        _ = edgecc.complie
