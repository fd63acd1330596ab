"""Every error a user can meet. A message says what, where, needed against available, what to do."""

from __future__ import annotations


class EdgeccError(Exception):
    """Base of all errors that are the input's or the environment's fault, not a bug.

    Attributes: `what` (the finding), `where` (node, tensor, file or board, if any), `needed` and
    `available` (with units, if a limit was met), `advice` (what to do next, if known).
    """

    exit_code = 1

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        needed: str | None = None,
        available: str | None = None,
        advice: str | None = None,
    ):
        self.what, self.where = what, where
        self.needed, self.available, self.advice = needed, available, advice
        super().__init__(self._message())

    def _message(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.needed or self.available:
            text += f" (needed {self.needed or '?'}, available {self.available or '?'})"
        return f"{text}; {self.advice}" if self.advice else text


class ConfigError(EdgeccError):
    """A configuration value or command-line argument is wrong or not implemented."""

    exit_code = 2


class UnsupportedModel(EdgeccError):
    """The model has a node, attribute, type or shape that no rule accepts."""

    exit_code = 3


class QuantizationError(EdgeccError):
    """Calibration data do not fit the model, or quantization cannot be done."""

    exit_code = 4


class DoesNotFit(EdgeccError):
    """The program needs more memory than the target has.

    The planner also fills `peak_step`, `live_bytes` (by buffer, at the peak), `region` and
    `shortfall_bytes`.
    """

    exit_code = 5
    peak_step: str | None = None
    live_bytes: dict[str, int] | None = None
    region: str | None = None
    shortfall_bytes: int | None = None


class TargetError(EdgeccError):
    """The target is unknown, or its data are inconsistent."""

    exit_code = 6


class ToolchainError(EdgeccError):
    """A compiler or linker is missing or failed."""

    exit_code = 7


class BoardError(EdgeccError):
    """The board cannot be reached, is of the wrong kind, or failed while running."""

    exit_code = 8


class BundleError(EdgeccError):
    """The bundle is damaged, tampered with, or of another version."""

    exit_code = 9


class CheckFailed(Exception):
    """A value broke its own rules: a bug in edgecc, never the user's fault."""

    exit_code = 70
