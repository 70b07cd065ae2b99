"""The text of the cells of an explanation: names, values, factors and odds."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bayeskit._report.explanation import Attribute, PageFactor
from bayeskit._report.fractions import magnitude, number


def name_text(name: object, separator: str = ", ") -> str:
    """Write the name of an attribute, or the names of several taken together."""
    return separator.join(map(str, name)) if isinstance(name, tuple) else str(name)


def value_text(value: object, as_missing: bool, words: Mapping[str, str]) -> str:
    """Write a value, or several together, and mark missing values.

    Examples
    --------
    >>> words = {"missing": "missing", "treated": "{value} (as missing)"}
    >>> value_text(None, True, words), value_text("mauve", True, words), value_text((0.5, "a"), False, words)
    ('missing', 'mauve (as missing)', '0.5, a')
    """
    if value is None:
        return words["missing"]
    if as_missing:
        return words["treated"].format(value=value)
    parts = value if isinstance(value, tuple) else (value,)
    shown = (words["missing"] if v is None else number(v) if isinstance(v, float) else str(v) for v in parts)
    return ", ".join(shown)


def attribute_text(attribute: Attribute, words: Mapping[str, str]) -> str:
    """Write the value of an attribute, what was summed over for it, and the parents it is given.

    Examples
    --------
    >>> texture = Attribute("纹理", "清晰", "table", (), given=(("脐部", "凹陷"),))
    >>> attribute_text(texture, {})
    '清晰 | 脐部=凹陷'
    """
    text = value_text(attribute.value, attribute.as_missing, words)
    if attribute.given:
        parents = (f"{name}={value_text(value, False, words)}" for name, value in attribute.given)
        text += f" | {', '.join(parents)}"
    return f"{text} (Σ {name_text(attribute.summed)})" if attribute.summed else text


def cell_text(factor: PageFactor) -> str:
    """Write a factor: the arithmetic, if there is any, and the number."""
    shown = magnitude(factor.log)
    return f"{factor.working} = {shown}" if factor.working else shown


def odds_text(odds: float | None) -> str:
    """Write log-odds with their sign.

    >>> odds_text(0.6931), odds_text(float("-inf")), odds_text(None)
    ('+0.693', '−∞', '–')
    """
    if odds is None or math.isnan(odds):
        return "–"
    if math.isinf(odds):
        return "+∞" if odds > 0 else "−∞"
    shown = f"{odds:+.3g}" if abs(odds) >= 0.0005 else "0"
    return shown.replace("-", "−")
