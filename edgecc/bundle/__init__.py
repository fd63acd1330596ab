"""Bundles: the compiled model as a value and as an `.ecb` file."""

from edgecc.bundle.bundle import Bundle
from edgecc.bundle.check import check_bundle

__all__ = ["Bundle", "check_bundle"]
