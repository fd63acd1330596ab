"""Text from a model made safe for C: identifiers, string literals, comments, numbers.

Names come from untrusted files: nothing here passes a character through that could end a
literal, a comment or a file name.
"""

from __future__ import annotations

import math
import re

import numpy as np

from edgecc.errors import CheckFailed

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
LONGEST_PREFIX = 48
LONGEST_LITERAL = 1000  # C99 promises 4095 characters, and an escape takes up to four
PLAIN = {byte for byte in range(0x20, 0x7F)} - {ord(c) for c in '"\\?'}  # "?": no trigraphs


def prefix_of(name: str) -> str:
    """The C identifier that a model's names begin with: `MobileNet-v2` gives `mobilenet_v2`."""
    words = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "model"
    if words[0].isdigit() or words.startswith("edgecc"):  # edgecc_ is taken by the API's own types
        words = f"model_{words}"
    return words[:LONGEST_PREFIX].rstrip("_")


def identifier(text: str) -> str:
    """`text` itself if it is a C identifier. Raises CheckFailed."""
    if not IDENTIFIER.match(text):
        raise CheckFailed(f"{text!r} is not a C identifier")
    return text


def literal(text: str) -> str:
    """A C string literal of the text's UTF-8, cut to LONGEST_LITERAL bytes."""
    raw = text.encode("utf-8", "replace")[:LONGEST_LITERAL]
    whole = raw.decode("utf-8", "ignore").encode("utf-8")  # no half character at the cut
    return '"' + "".join(chr(b) if b in PLAIN else f"\\{b:03o}" for b in whole) + '"'


def comment(text: str) -> str:
    """A comment naming `text` as far as plain characters go."""
    return f"/* {re.sub(r'[^A-Za-z0-9_.:-]', '_', text)[:80]} */"


def byte_array(data: bytes) -> str:
    """Initializer of an unsigned char array: any length, unlike a literal."""
    rows = [data[at : at + 20] for at in range(0, len(data), 20)]
    return ",\n    ".join(", ".join(str(b) for b in row) for row in rows)


def float32(value: float) -> str:
    """A float constant that reads back as the same float32. Raises CheckFailed if not finite."""
    if not math.isfinite(value):
        raise CheckFailed(f"{value!r} has no C constant")
    text = f"{float(np.float32(value)):.9g}"
    return f"{text}f" if any(c in text for c in ".e") else f"{text}.0f"
