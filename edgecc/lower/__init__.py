"""lower: a Program and its plan become Objects: kernels as machine code, packed weights, calls."""

from edgecc.lower.lower import lower
from edgecc.lower.objects import Argument, Call, Objects

__all__ = ["Argument", "Call", "Objects", "lower"]
