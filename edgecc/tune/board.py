"""Where a search measures."""

from __future__ import annotations

from typing import Any

from edgecc.errors import ConfigError
from edgecc.targets import Target


def board_for(target: Target, board: Any) -> Any:
    """The Board that is named, or the target's default one. Raises ConfigError, BoardError."""
    from edgecc.bundle.measure import as_board, default_board
    from edgecc.rpc.boards import built_in_boards

    if board is not None:
        return as_board(board, {})
    advice = "name a board with --board, or take -O2, or tiles found elsewhere with --tiles"
    if target.runner == "none":
        raise ConfigError("O3 measures on a board, and this target runs nowhere",
                          where=f"target {target.name}", advice=advice)
    info = {"runner": target.runner, "architecture": target.architecture,
            "features": target.features}
    name = default_board({"target": target.name, "target_info": info})
    found = built_in_boards().get(name)
    if found is None:
        raise ConfigError("O3 measures on a board, and QEMU emulates none of this target",
                          where=f"target {target.name}", advice=advice)
    return found
