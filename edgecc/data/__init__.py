"""Pictures and labels: how files become model inputs, and what the right answers are.

Pillow (the extra `images`) is imported when the first picture is read, not before.
"""

from edgecc.data.preprocessing import Preprocessing

__all__ = ["Preprocessing"]
