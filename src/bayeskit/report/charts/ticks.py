"""Round numbers along an axis, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Tick = tuple[float, str]


def around(values: Iterable[float], room: float = 0.04) -> tuple[float, float]:
    """Return a little less than the least and a little more than the most.

    >>> around([0.0, 10.0], room=0.1), around([3.0])
    ((-1.0, 11.0), (2.0, 4.0))
    """
    found = list(values)
    least, most = min(found), max(found)
    # Where all are equal to rounding, there is nothing to magnify.
    if not most - least > 1e-9 * max(abs(least), abs(most)):
        return least - max(1.0, 1e-6 * abs(least)), most + max(1.0, 1e-6 * abs(most))
    return least - room * (most - least), most + room * (most - least)


def round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two, at most so many.

    >>> round_numbers(0.0, 1.0), round_numbers(-3.0, 17.0, 5)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0, 10.0, 15.0])
    """
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    power = math.floor(math.log10(span / most))
    for step in (10.0**power * m for m in (1, 2, 5, 10, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            break
    return [round(i * step, -power) for i in range(first, last + 1)] or [low]


def written(value: float) -> str:
    """Write a number in a few digits, with a true minus.

    >>> written(-0.50), written(20_000.0), written(1.5e9), written(0.1 + 0.2)
    ('−0.5', '20,000', '1.5e+09', '0.3')
    """
    whole = 1e4 <= abs(value) < 1e7 and value == round(value)
    return (f"{value:,.0f}" if whole else f"{value:.4g}").replace("-", "−")


def written_alike(values: Sequence[float]) -> list[str]:
    """Write evenly spaced numbers with as many digits as tell them apart; very large and small ones by powers of ten.

    >>> written_alike([-0.5, 0.0, 0.5]), written_alike([10_000.0, 20_000.0]), written_alike([0.0, 2e9])
    (['−0.5', '0.0', '0.5'], ['10,000', '20,000'], ['0', '2e+09'])
    """
    if len(values) < 2:
        return [written(value) for value in values]
    step, largest = values[1] - values[0], max(map(abs, values))
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if largest < 1e7 and digits <= 5:
        comma = "," if largest >= 1e4 else ""
        texts = [f"{value:{comma}.{digits}f}" for value in values]
    else:
        texts = [f"{value:.{1 + math.ceil(math.log10(largest / step))}g}" for value in values]
    # Rounding may leave a minus before nothing.
    return [text.replace("-", "−") if float(text.replace(",", "")) else text.lstrip("-") for text in texts]


def ticks_of(low: float, high: float, most: int = 6, *, whole: bool = False) -> list[Tick]:
    """Return round numbers with their texts; whole ones only where there is nothing between.

    >>> ticks_of(0.0, 1.0, 3), ticks_of(0.0, 1.0, 3, whole=True)
    ([(0.0, '0.0'), (0.5, '0.5'), (1.0, '1.0')], [(0.0, '0'), (1.0, '1')])
    """
    values = [value for value in round_numbers(low, high, most) if not whole or value == round(value)]
    return list(zip(values, written_alike(values)))


def percent_ticks(high: float = 1.0, most: int = 6) -> list[Tick]:
    """Return shares from 0 on with their texts in per cent.

    >>> percent_ticks(0.2, 3)
    [(0.0, '0%'), (0.1, '10%'), (0.2, '20%')]
    """
    return [(value, f"{100 * value:.4g}%") for value in round_numbers(0.0, high, most)]
