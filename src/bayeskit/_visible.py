r"""Text that is safe to display, with control characters and direction marks escaped.

Names of columns, states, classes and files come from untrusted files. ``ESC [ 2 J`` in a name would clear the
user's screen, and U+202E would show the rest of the line backwards.
"""

from __future__ import annotations

import html
import json
import math
import re
from typing import Any

# Controls (C0, DEL, C1), separators of lines, embeddings and overrides of direction, and halves of surrogate pairs.
_STEERING = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_HIDDEN = re.compile(f"[{_STEERING}]")
_HIDDEN_BUT_LINES = re.compile(f"(?!\n)[{_STEERING}]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(value: object) -> str:
    r"""Return a name or a value as one line with visible control characters.

    Examples
    --------
    >>> print(visible("red\x1b[2J"), visible("two\nlines"), visible("\u202egnp.exe"), visible("纹理"))
    red\x1b[2J two\nlines \u202egnp.exe 纹理
    """
    return _HIDDEN.sub(_written, str(value))


def visible_lines(text: object) -> str:
    r"""Return a text of several lines, with all other control characters made visible.

    Examples
    --------
    >>> print(visible_lines("a\x07\nb"))
    a\x07
    b
    """
    return _HIDDEN_BUT_LINES.sub(_written, str(text))


def shorter(value: object, most: int = 60) -> str:
    """Return a name for a notebook, with visible control characters, cut if it is very long.

    >>> shorter("a_very_long_name", 8)
    'a_very_…'
    """
    text = visible(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def escape(value: object) -> str:
    r"""Return a name or a text escaped for HTML, with visible control characters.

    Examples
    --------
    >>> print(escape("<b>\x1b"))
    &lt;b&gt;\x1b
    """
    return html.escape(visible_lines(value))


def json_text(value: Any, indent: int | None = None, ascii_only: bool = False) -> str:
    r"""Return a value as JSON. Control characters in texts are escaped, and restored when the JSON is read.

    Examples
    --------
    >>> print(json_text({"纹理": "\x9b2J"}))
    {"纹理": "\u009b2J"}
    """
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, allow_nan=False)
    return _HIDDEN_BUT_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _SHORT.get(found[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def plain(value: Any) -> Any:
    """Return a value as JSON allows it: numbers, texts, booleans and None unchanged, others as text.

    Examples
    --------
    >>> import numpy as np
    >>> plain(np.float64(0.5)), plain(float("nan")), plain(-math.inf), plain(("a", 1))
    (0.5, None, '-inf', ['a', 1])
    """
    kind = type(value)
    if kind is str or (kind is float and math.isfinite(value)):  # most are
        return value
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)
