"""DepthToSpace and SpaceToDepth: reshapes around a transpose, so at most one conversion."""

from __future__ import annotations

from collections.abc import Sequence

from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Reshape, Tensor, Transpose
from edgecc.schedule.reader import Node


def _block(node: Node, x: Tensor, divided: Sequence[int], by: int) -> int:
    size = int(node.attribute("blocksize", 0))
    if len(x.shape) != 4 or size < 1 or any(x.shape[i] % size**by for i in divided):
        node.refuse(f"blocks of {size} do not fit {x.shape}")
    return size


def _mode(node: Node) -> str:
    """Whether the pixels of a block are the outer (DCR) or the inner (CRD) part of channels."""
    mode = node.attribute("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        node.refuse(f"mode {mode!r} is unknown", "use DCR or CRD")
    return mode


def _moved(node: Node, x: Tensor, cut: Sequence[int], permutation: Sequence[int],
           shape: Sequence[int]) -> None:
    parts = node.emit(Reshape, [x.name], cut, like=x, last=False)
    turned = node.emit(Transpose, [parts.name], [cut[i] for i in permutation], like=x, last=False,
                       permutation=tuple(permutation))
    node.emit(Reshape, [turned.name], shape, like=x)


@operator("DepthToSpace")
def depth_to_space(node: Node) -> None:
    x, mode = node.tensor(), _mode(node)
    block = _block(node, x, (1,), 2)
    n, c, h, w = x.shape
    depth = c // block**2
    cut, order = ((n, block, block, depth, h, w), (0, 3, 4, 1, 5, 2)) if mode == "DCR" else (
        (n, depth, block, block, h, w), (0, 1, 4, 2, 5, 3))
    _moved(node, x, cut, order, (n, depth, h * block, w * block))


@operator("SpaceToDepth")
def space_to_depth(node: Node) -> None:
    x, mode = node.tensor(), _mode(node)
    block = _block(node, x, (2, 3), 1)
    n, c, h, w = x.shape
    cut = (n, c, h // block, block, w // block, block)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    _moved(node, x, cut, order, (n, c * block**2, h // block, w // block))
