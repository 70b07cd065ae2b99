"""What a Gaussian mixture is estimated from: expected sums over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from bayeskit.errors import Incompatible
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class GaussianSums:
    r"""Expected sums of each component about a pivot of its own: :math:`z = x - pivot`.

    A row counts for component k with its weight times its responsibility r. Missing cells enter with their conditional
    means, and their conditional covariances are in ``second``.

    Attributes
    ----------
    pivot : array of shape (K, d)
    weight : array of shape (K,)
        :math:`\sum r` over all rows.
    seen : array of shape (K,)
        The same over rows with at least one cell: a row without any tells about weights only.
    first : array of shape (K, d)
        :math:`\sum r z`
    second : array of shape (K, d, d) or (K, d)
        :math:`\sum r z z^T`, or its diagonal where no covariances are wanted.

    Examples
    --------
    >>> one, square = np.ones(1), np.zeros((1, 1))
    >>> a = GaussianSums(np.array([[1.0]]), one, one, square, square)
    >>> b = GaussianSums(np.array([[3.0]]), one, one, square, square)
    >>> both = a.merge(b)
    >>> both.means, both.scatter / 2
    (array([[2.]]), array([[1.]]))
    """

    pivot: Floats
    weight: Floats
    seen: Floats
    first: Floats
    second: Floats

    @property
    def shift(self) -> Floats:
        """From the pivots to the means; zero where a component has no rows."""
        return self.first / np.where(self.seen > 0.0, self.seen, 1.0)[:, None]

    @property
    def means(self) -> Floats:
        return self.pivot + self.shift

    @property
    def scatter(self) -> Floats:
        """The second sums about the means."""
        return self.second - self._square(self.shift, self.first)

    def merge(self, other: Self) -> Self:
        """Add sums over other rows."""
        if self.second.shape != other.second.shape:
            raise Incompatible(
                f"Sums of shape {self.second.shape} and {other.second.shape} cannot be added: "
                "they are of mixtures with other numbers of components or columns."
            )
        # The heavier one keeps its pivot: an empty component is neutral.
        pivot = np.where((self.seen >= other.seen)[:, None], self.pivot, other.pivot)
        a, b = self.moved(pivot), other.moved(pivot)
        return type(self)(pivot, a.weight + b.weight, a.seen + b.seen, a.first + b.first, a.second + b.second)

    def scale(self, factor: float) -> Self:
        """Let every row count ``factor`` times."""
        return type(self)(
            self.pivot, factor * self.weight, factor * self.seen, factor * self.first, factor * self.second
        )

    def moved(self, pivot: Floats) -> Self:
        """Return the same sums about other pivots."""
        by = self.pivot - pivot
        first = self.first + self.seen[:, None] * by
        second = self.second + self._square(by, self.first) + self._square(first, by)
        return type(self)(pivot, self.weight, self.seen, first, second)

    def _square(self, a: Floats, b: Floats) -> Floats:
        return a[:, :, None] * b[:, None, :] if self.second.ndim == 3 else a * b
