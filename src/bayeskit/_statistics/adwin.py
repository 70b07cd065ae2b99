"""ADWIN: a window over numbers that grows while their mean stays the same, and drops its older part when it changes."""

from __future__ import annotations

from math import log, sqrt

# The maximum number of buckets of each size, and the number of values between two tests, as in Bifet and Gavaldà.
_MOST_ALIKE = 5
_EVERY = 32
# Each side of a cut must have at least this many numbers.
_FEWEST = 5


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
