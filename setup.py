"""Maps the three top-level folders to edgecc, edgecc.targets and edgecc.rpc."""

from pathlib import Path

from setuptools import find_packages, setup


def packages() -> list[str]:
    core = find_packages(include=["edgecc", "edgecc.*"])
    targets = ["edgecc.targets"] + [f"edgecc.targets.{p}" for p in find_packages("targets")]
    rpc = ["edgecc.rpc"] + [f"edgecc.rpc.{p}" for p in find_packages("rpc")]
    return core + targets + rpc


setup(
    name="edgecc",
    version="0.1.0",
    description="Compile PyTorch and ONNX models to small quantized programs for edge chips",
    long_description=Path("README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=packages(),
    package_dir={"edgecc": "edgecc", "edgecc.targets": "targets", "edgecc.rpc": "rpc"},
    package_data={
        "edgecc.lower": ["runtime/*", "runtime/baremetal/*"],
        "edgecc.rpc": ["*.c"],
        "edgecc.bundle": ["*.json", "templates/*"],
        "edgecc": ["py.typed"],
    },
    install_requires=[
        "numpy>=1.26",
        "onnx>=1.16",
        "onnx_ir>=1.0",
        "onnxscript>=0.6",
        "onnxruntime>=1.18",
        "apache-tvm>=0.27,<0.28",
        "ziglang>=0.13",
        "jsonschema>=4.18",
        "paramiko>=3.0",
        "rich>=13",
        "tomli>=2; python_version < '3.11'",
    ],
    extras_require={
        "test": ["pytest>=7.4", "hypothesis>=6.90", "pytest-xdist>=3.2", "ruff", "mypy",
                 "scikit-learn>=1.3", "pillow>=10", "pyserial>=3.5"],
        "sample": ["scikit-learn>=1.3"],
        "torch": ["torch>=2.5"],
        "images": ["pillow>=10"],
        "serial": ["pyserial>=3.5"],
    },
    entry_points={"console_scripts": ["edgecc = edgecc.cli.main:main"]},
)
