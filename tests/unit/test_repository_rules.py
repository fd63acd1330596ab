"""Rules of the repository that no single module can hold: imports, sizes, names, start-up time."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("edgecc", "targets", "rpc", "samples", "tests", "scripts")
HOMES = {  # heavy or dangerous packages, and the only places that may import them
    "tvm": ("edgecc/kernels/", "edgecc/lower/", "tests/", "benchmarks/"),
    "paramiko": ("rpc/transport/ssh", "tests/"),
    "serial": ("rpc/transport/serial_port.py", "tests/"),
    "PIL": ("edgecc/data/pictures.py", "tests/"),
    "torch": ("edgecc/model/torch", "edgecc/quantize/torch", "samples/03_torch_", "tests/"),
}
FORBIDDEN = {"pickle", "shelve", "marshal", "dill", "joblib"}
VAGUE = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}
LONGEST_FILE, LONGEST_FUNCTION, WIDEST_LINE = 600, 80, 100
START_SECONDS = 0.3
README_COMMANDS = ("sh scripts/demo.sh", "sh scripts/test.sh")


@cache
def sources() -> list[tuple[str, str, ast.Module]]:
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text("utf-8")
            found.append((path.relative_to(ROOT).as_posix(), text, ast.parse(text)))
    assert len(found) > 50
    return found


def imports(tree: ast.Module) -> list[tuple[str, int]]:
    """(top-level package, line) of every import, inside functions too."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name.split(".")[0], node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(((node.module or "").split(".")[0], node.lineno))
    return found


def test_packages_are_imported_only_where_they_belong():
    wrong = [f"{path}:{line} imports {package}" for path, _, tree in sources()
             for package, line in imports(tree)
             if package in HOMES and not path.startswith(HOMES[package])]
    assert wrong == []


def test_torch_reads_nothing_but_weights():
    """torch.load unpickles unless it is told not to."""
    loads = [(path, node) for path, _, tree in sources() for node in ast.walk(tree)
             if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load"]
    wrong = [f"{path}:{node.lineno}" for path, node in loads
             if "weights_only=True" not in [ast.unparse(word) for word in node.keywords]]
    assert loads and wrong == []


def test_nothing_unpickles():
    wrong = [f"{path}:{line} imports {package}" for path, _, tree in sources()
             for package, line in imports(tree) if package in FORBIDDEN]
    assert wrong == []


def test_files_and_functions_are_not_too_long():
    files = [f"{path}: {text.count(chr(10))} lines" for path, text, _ in sources()
             if text.count("\n") > LONGEST_FILE]
    functions = [f"{path}:{node.lineno} {node.name}" for path, _, tree in sources()
                 for node in ast.walk(tree)
                 if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                 and (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION]
    assert files + functions == []


def test_shipped_c_and_scripts_are_not_too_wide_or_long():
    found = []
    for pattern in ("edgecc/**/*.[ch]", "rpc/**/*.[ch]", "samples/*.[ch]", "scripts/*.sh"):
        for path in ROOT.glob(pattern):
            lines = path.read_text("utf-8").splitlines()
            found += [f"{path.name}:{n}" for n, line in enumerate(lines, 1)
                      if len(line) > WIDEST_LINE]
            found += [path.name] if len(lines) > LONGEST_FILE else []
    assert found == []


def test_module_names_say_something():
    wrong = [path for path, _, _ in sources() if VAGUE & set(Path(path).stem.split("_"))]
    assert wrong == []


def test_every_module_and_public_class_says_what_it_is():
    wrong = []
    for path, text, tree in sources():
        if path.startswith(("tests/", "samples/")) or not text.strip():
            continue
        if ast.get_docstring(tree) is None:
            wrong.append(path)
        wrong += [f"{path}:{node.lineno} {node.name}" for node in tree.body
                  if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
                  and ast.get_docstring(node) is None]
    assert wrong == []


def test_nothing_is_left_unimplemented_in_silence():
    wrong = [f"{path}:{node.lineno}" for path, _, tree in sources() for node in ast.walk(tree)
             if isinstance(node, ast.Raise) and node.exc is not None
             and "NotImplementedError" in ast.dump(node.exc)]
    assert wrong == []


@pytest.mark.parametrize("arguments", [("-c", "import edgecc"),
                                       ("-m", "edgecc.cli.main", "--help")])
def test_starting_is_quick(arguments):
    """Processor time, so that a busy machine does not matter; the best of several runs."""
    assert min(processor_seconds(arguments) for _ in range(7)) < START_SECONDS


def processor_seconds(arguments: tuple[str, ...]) -> float:
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, cwd="/")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("module", ["edgecc", "edgecc.cli.main", "edgecc.pipeline",
                                    "edgecc.targets", "edgecc.rpc.boards"])
def test_heavy_packages_wait_until_they_are_needed(module):
    heavy = "tvm onnx onnx_ir onnxscript onnxruntime paramiko sklearn torch"
    code = f"import sys, {module}; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/",
                          check=True)
    assert done.stdout.strip() == "[]"


def test_commands_of_the_readme_exist():
    text = (ROOT / "README.md").read_text("utf-8")
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    for command in README_COMMANDS:
        assert f"\n{command}\n" in text and command in ci
        assert (ROOT / command.split()[1]).is_file()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "targets/README.md",
                                  "docs/architecture.md", "docs/numerics.md"])
def test_links_between_pages_lead_somewhere(page):
    path = ROOT / page
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_python_of_the_readme_and_contributing_compiles():
    for page in ("README.md", "CONTRIBUTING.md"):
        for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
            compile(block, page, "exec")


def test_samples_are_numbered_and_each_is_run_by_a_test():
    tests = "".join(text for path, text, _ in sources()
                    if path.startswith("tests/") and not path.endswith("test_repository_rules.py"))
    numbered = sorted(path.name for path in (ROOT / "samples").glob("[0-9]*.py"))
    assert [name[:2] for name in numbered] == [f"{i:02}" for i in range(1, len(numbered) + 1)]
    assert numbered and all(name in tests for name in numbered)
