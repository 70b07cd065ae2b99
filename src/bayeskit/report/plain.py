"""Values that JSON can hold."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: numbers, texts, truth values and None as they are, others as text.

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
