"""The canonical form: what `load` promises to every later verb.

Functions inlined, inputs fixed, opset 17 or newer, constants folded into initializers, BatchNorm
folded, Identity and Dropout gone, Gemm with transB=1 and no factors, all shapes known, names
unique, dead code gone. DequantizeLinear is never folded: QDQ models keep their integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx
import onnx_ir as ir
import onnxscript.optimizer as optimizer
from onnx_ir.passes import common
from onnxscript import rewriter
from onnxscript.rewriter.rules import common as rules

from edgecc.context import Context
from edgecc.errors import UnsupportedModel
from edgecc.model import linear, norms, oracle, reading, shapes

OPSET = 17
_FOLD_LIMIT = 1 << 26  # elements; weights are folded whatever their size
_ROUNDS = 4


def load(
    source: str | Path | onnx.ModelProto | ir.Model,
    given: Mapping[str, tuple[int, ...]],
    context: Context,
) -> ir.Model:
    """See `edgecc.model.load`."""
    proto, name = reading.read(source)
    model = _inlined(proto)
    shapes.fix_inputs(model, given)
    model = _converted(model, name)
    shapes.forget(model)
    shapes.infer(model)
    names = _names(model)
    _simplify(model)
    _tidy(model, names)
    shapes.infer(model)
    shapes.require_fixed(model)
    oracle.check_runs(model, name)
    context.progress("load", _summary(model, name))
    return model


def _inlined(proto: onnx.ModelProto) -> ir.Model:
    model = ir.from_proto(proto)
    common.InlinePass()(model)
    common.RemoveUnusedFunctionsPass()(model)
    common.RemoveInitializersFromInputsPass()(model)
    common.TopologicalSortPass()(model)
    common.ClearMetadataAndDocStringPass()(model)
    model.graph.name = model.graph.name or "model"
    return model


def _converted(model: ir.Model, name: str) -> ir.Model:
    """At least opset 17 (13 where the converter cannot): newer models stay as they are."""
    version = model.graph.opset_imports.get("", OPSET)
    if version >= OPSET:
        return _modern(model)
    proto = ir.to_proto(model)
    for target in (OPSET, 13):
        try:
            if version < target:
                proto = onnx.version_converter.convert_version(proto, target)
            return _modern(ir.from_proto(proto))
        except Exception as error:  # ConvertError is a RuntimeError; adapters raise others
            failure = error
    raise UnsupportedModel(
        f"opset {version} cannot be converted to 13: {' '.join(str(failure).split())[:300]}",
        where=name,
        advice="export it with opset 17 or newer",
    ) from failure


def _modern(model: ir.Model) -> ir.Model:
    common.RemoveInitializersFromInputsPass()(model)
    model.ir_version = max(model.ir_version or 8, 8)
    return model


def _should_fold(node: ir.Node) -> bool | None:
    """DequantizeLinear of a weight is how QDQ spells an integer weight: keep it."""
    if node.op_type == "DequantizeLinear":
        return False
    return True if node.op_type in ("QuantizeLinear", "ConstantOfShape") else None


def _simplify(model: ir.Model) -> None:
    for _ in range(_ROUNDS):
        changed = _fold(model)
        changed |= bool(rewriter.RewritePass(_rules(model))(model).modified)
        changed |= norms.replace_left_over(model)
        changed |= norms.to_global_pool(model)
        changed |= linear.canonicalise(model)
        changed |= bool(common.IdentityEliminationPass()(model).modified)
        common.RemoveUnusedNodesPass()(model)
        if not changed:
            return
        shapes.infer(model)


def _fold(model: ir.Model) -> bool:
    result = optimizer.fold_constants(
        model,
        input_size_limit=_FOLD_LIMIT,
        output_size_limit=_FOLD_LIMIT,
        should_fold=_should_fold,
    )
    common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    return bool(result.modified)


def _rules(model: ir.Model) -> list:
    """onnxscript's own default rules, and those it keeps apart that every model profits from."""
    chosen = [
        *rewriter._DEFAULT_REWRITE_RULES,
        rules.matmul_add_to_gemm_rule,
        rules.transpose_b_matmul_add_to_gemm_rule,
        rules.conv_affine_fusion_rule,
        rules.affine_conv_fusion_rule,
    ]
    if model.graph.opset_imports.get("", 0) >= 14:
        chosen += list(rules.fuse_hardswish_rules())
    return chosen


def _names(model: ir.Model) -> dict[str, str]:
    """Node names by what they compute, so that rewritten nodes can keep the user's names."""
    named = {}
    for node in model.graph.all_nodes():
        for value in node.outputs:
            if value.name and node.name:
                named[value.name] = node.name
    return named


def _tidy(model: ir.Model, names: Mapping[str, str]) -> None:
    for each in (
        common.RemoveUnusedNodesPass(),
        common.LiftSubgraphInitializersToMainGraphPass(),
        common.DeduplicateInitializersPass(),
        common.CommonSubexpressionEliminationPass(),
        common.OutputFixPass(),
        common.RemoveUnusedNodesPass(),
        common.RemoveUnusedOpsetsPass(),
        common.ClearMetadataAndDocStringPass(),
    ):
        each(model)
    _name_nodes(model, names)
    common.NameFixPass()(model)


def _name_nodes(model: ir.Model, names: Mapping[str, str]) -> None:
    """The name of the node that computed the value at first, or operator and place."""
    for index, node in enumerate(model.graph.all_nodes()):
        first = node.outputs[0].name or ""
        node.name = names.get(first) or f"{node.op_type.lower()}_{index}"


def _summary(model: ir.Model, name: str) -> str:
    weights = sum(v.const_value.size for v in model.graph.initializers.values() if v.const_value)
    operators = sum(1 for _ in model.graph)
    return f"{name} · {operators} operators · {weights / 1000:.0f} k parameters"
