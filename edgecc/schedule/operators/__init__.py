"""One function per ONNX operator: it reads the node and appends typed operators.

To add an operator, write a function `(node: Node) -> None` in a file here and register it with
`@operator("OpType")`. Every attribute that the function does not read is refused by the reader.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable

from edgecc.schedule.reader import Node

Function = Callable[[Node], None]
DOMAINS = {"": None, "ai.onnx": None,
           "com.microsoft": {"QuantizeLinear", "DequantizeLinear", "Gelu", "FastGelu", "QuickGelu",
                             "MatMulNBits"}}
OPERATORS: dict[str, Function] = {}


def operator(*names: str) -> Callable[[Function], Function]:
    """Register a function for ONNX operators of the default domain."""

    def register(function: Function) -> Function:
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return register


def supported() -> dict[str, Function]:
    """Every operator that has a function: all files of this folder are asked."""
    for found in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{found.name}")
    return OPERATORS


def function_for(node: Node) -> Function:
    """The node's function. Raises UnsupportedModel with near matches."""
    known = supported()
    domain = node.node.domain
    allowed = DOMAINS.get(domain, set())
    if node.op_type in known and (allowed is None or node.op_type in allowed):
        return known[node.op_type]
    label = f"{domain}::{node.op_type}" if domain else node.op_type
    near = difflib.get_close_matches(node.op_type, known, n=3, cutoff=0.6)
    advice = f"operators with near names: {', '.join(near)}" if near else (
        "rewrite the model with supported operators: " + ", ".join(sorted(known)))
    return node.refuse(f"operator {label} is not supported", advice)
