"""Tells when the loss of predictions has changed: a monitor, and the window that it watches them through.

ADWIN is a window over numbers that grows while their mean stays the same, and drops its older part when it changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from bayeskit._schema import Label
from bayeskit.errors import SettingError

# The maximum number of buckets of each size, and the number of values between two tests, as in Bifet and Gavaldà.
_MOST_ALIKE = 5
_EVERY = 32
# Each side of a cut must have at least this many numbers.
_FEWEST = 5
# What a probability is raised to before its logarithm is taken.
LEAST_PROBABILITY = 1e-15


class Adwin:
    r"""A window over numbers between 0 and 1. Its memory grows with the logarithm of its length.

    The older part of the window is dropped if the means of the two parts differ by more than

    .. math:: \epsilon = \sqrt{\frac{2}{m} \sigma^2 \ln\frac{2}{\delta'}} + \frac{2}{3m} \ln\frac{2}{\delta'},
       \qquad \frac1m = \frac1{n_0} + \frac1{n_1}, \quad \delta' = \frac{\delta}{\ln n}

    Numbers are stored in buckets of 1, 2, 4, … numbers: their count, sum and sum of squares.

    Examples
    --------
    >>> window = Adwin(0.002)
    >>> [step for step in range(200) if window.add(float(step >= 100))]
    [127]
    >>> window.mean
    1.0
    """

    def __init__(self, delta: float) -> None:
        self.delta = delta
        # From the newest to the oldest: [count, sum, sum of squares].
        self._buckets: list[tuple[int, float, float]] = []
        self._steps = 0

    @property
    def size(self) -> int:
        return sum(count for count, _, _ in self._buckets)

    @property
    def mean(self) -> float:
        return sum(total for _, total, _ in self._buckets) / max(self.size, 1)

    def add(self, value: float) -> tuple[int, float] | None:
        """Add a number. If the mean has changed, return the count and the mean of the numbers dropped."""
        self._buckets.insert(0, (1, value, value * value))
        self._compress()
        self._steps += 1
        return self._cut() if self._steps % _EVERY == 0 else None

    def _compress(self) -> None:
        start = 0
        while start < len(self._buckets):
            count = self._buckets[start][0]
            stop = start
            while stop < len(self._buckets) and self._buckets[stop][0] == count:
                stop += 1
            if stop - start <= _MOST_ALIKE:
                return
            older, newer = self._buckets[stop - 1], self._buckets[stop - 2]
            self._buckets[stop - 2 : stop] = [_sum(older, newer)]
            start = stop - 2

    def _cut(self) -> tuple[int, float] | None:
        dropped: tuple[int, float, float] | None = None
        place = self._changed()
        while place is not None:
            for bucket in self._buckets[place:]:
                dropped = bucket if dropped is None else _sum(dropped, bucket)
            del self._buckets[place:]
            place = self._changed()
        return None if dropped is None else (dropped[0], dropped[1] / dropped[0])

    def _changed(self) -> int | None:
        """Return the start of the shortest older part whose mean differs from the rest, or None."""
        n, total, squares = (
            (sum(column) for column in zip(*self._buckets, strict=True)) if self._buckets else (0, 0, 0)
        )
        if n < 2 * _FEWEST:
            return None
        variance = max(squares / n - (total / n) ** 2, 0.0)
        bound = log(2.0 * log(n) / self.delta)
        old_n, old_total = 0, 0.0
        for place in range(len(self._buckets) - 1, 0, -1):
            old_n, old_total = old_n + self._buckets[place][0], old_total + self._buckets[place][1]
            new_n = n - old_n
            if old_n < _FEWEST or new_n < _FEWEST:
                continue
            inverse = 1.0 / old_n + 1.0 / new_n
            least = sqrt(2.0 * inverse * variance * bound) + 2.0 / 3.0 * inverse * bound
            if abs(old_total / old_n - (total - old_total) / new_n) > least:
                return place
        return None


def _sum(a: tuple[int, float, float], b: tuple[int, float, float]) -> tuple[int, float, float]:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@dataclass(frozen=True)
class Drift:
    """A change that was found.

    Attributes
    ----------
    row : int
        The number of losses so far.
    before, after : float
        The mean log-loss of the older rows, which were dropped, and of those that stay.
    n_dropped, n_kept : int
        How many rows these are.
    """

    row: int
    before: float
    after: float
    n_dropped: int
    n_kept: int


class DriftMonitor:
    """Watches the log-loss of predictions and tells when its mean has changed (ADWIN).

    Parameters
    ----------
    delta : float, default=0.002
        The bound on the probability of a false alarm in each test.
    largest_loss : float, default=5
        Larger losses count as this one, since the test needs bounded values.

    References
    ----------
    A. Bifet, R. Gavaldà, Learning from time-changing data with adaptive windowing, SDM 2007.

    Examples
    --------
    >>> monitor = DriftMonitor()
    >>> found = [monitor.update({"a": 0.9, "b": 0.1}, "a" if row < 300 else "b") for row in range(600)]
    >>> [drift.row for drift in found if drift][0] < 330
    True
    """

    def __init__(self, delta: float = 0.002, largest_loss: float = 5.0) -> None:
        for name, value, top in (("delta", delta, 1.0), ("largest_loss", largest_loss, np.inf)):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < top:
                raise SettingError(
                    "{name} is {value!r}; give a number above 0 and below {top}.",
                    name=name,
                    value=value,
                    top=top,
                )
        self.delta, self.largest_loss = delta, largest_loss
        self._window = Adwin(delta)
        self.n_rows = 0

    def update(self, posterior: Mapping[Any, float], y: Label) -> Drift | None:
        """Add the posterior of a row and its true class. Return the change, if one is found.

        A class that the posterior does not name has probability 0.
        """
        loss = min(-log(max(posterior.get(y, 0.0), LEAST_PROBABILITY)), self.largest_loss)
        self.n_rows += 1
        dropped = self._window.add(loss / self.largest_loss)
        if dropped is None:
            return None
        n, mean = dropped
        after = self._window.mean * self.largest_loss
        return Drift(self.n_rows, mean * self.largest_loss, after, n, self._window.size)

    @property
    def mean_loss(self) -> float:
        """The mean log-loss since the last change."""
        return self._window.mean * self.largest_loss
