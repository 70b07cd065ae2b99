"""What each attribute adds to the log-odds of each class, for many rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit.data.native import as_array
from bayeskit.schema import Name

Floats = NDArray[np.float64]

PRIOR, TOGETHER = "(prior)", "(together)"


@dataclass(frozen=True, eq=False)
class Contributions:
    r"""Numbers that add up to the log posterior odds; ``np.asarray`` gives ``values``.

    .. math:: \sum_j v_{rjc} = \log \frac{P(c \mid x_r)}{P(c' \mid x_r)}

    where c' is the class that c is held against: the one asked for, else the most probable of the others.

    Attributes
    ----------
    columns : tuple
        "(prior)", the attributes, and "(together)" where attributes say more, or less, together than one by one.
    classes : tuple of labels
    logs : array of shape (n, columns, K)
        The logarithms of the factors: their sum over the columns is log P(c, x).
    rivals : int array of shape (n, K)
        The place of c' for each row and class.

    Examples
    --------
    >>> logs = np.log([[[0.5, 0.5], [0.8, 0.2]]])
    >>> found = Contributions(("(prior)", "colour"), ("good", "bad"), logs, np.array([[1, 0]]))
    >>> found.values.round(3)
    array([[[ 0.   ,  0.   ],
            [ 1.386, -1.386]]])
    >>> found.log_odds.round(3)
    array([[ 1.386, -1.386]])
    """

    columns: tuple[Name, ...]
    classes: tuple[Any, ...]
    logs: Floats
    rivals: NDArray[np.intp]

    @cached_property
    def values(self) -> Floats:
        """Contributions to the log-odds: shape (n, columns, K). Where both factors are zero, 0."""
        against = np.take_along_axis(self.logs, self.rivals[:, None, :], axis=2)
        both = np.isneginf(self.logs) & np.isneginf(against)
        with np.errstate(invalid="ignore"):
            return np.where(both, 0.0, self.logs - against)

    @property
    def log_odds(self) -> Floats:
        """The sums: shape (n, K); NaN where an infinite contribution stands against another."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.values.sum(axis=1))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.values, dtype, copy)

    def __len__(self) -> int:
        return len(self.logs)

    def of(self, label: object) -> dict[Name, Floats]:
        """Return the contributions to one class: column → array of shape (n,)."""
        k = place_of(self.classes, label)
        return {name: self.values[:, j, k] for j, name in enumerate(self.columns)}

    def to_frame(self, label: object) -> Any:
        """Return the contributions to one class as a data frame of the library that is installed."""
        from bayeskit.data.native import to_native

        return to_native({str(name): column for name, column in self.of(label).items()})

    def _repr_html_(self) -> str:
        from bayeskit.report.html import as_html
        from bayeskit.report.page import Page

        n = len(self)
        # One row in full; of many the mean size, which tells what weighs.
        shown = (
            self.values[0] if n == 1 else np.abs(self.values).mean(axis=0) if n else self.values.sum(axis=0)
        )
        rows = tuple((str(name), *map(_signed, line)) for name, line in zip(self.columns, shown.tolist()))
        last = (("log-odds", *map(_signed, self.log_odds[0].tolist())),) if n == 1 else ()
        title = "Contributions to the log-odds" + ("" if n == 1 else f": mean size over {n:,} rows")
        return as_html(Page(title, ("", *map(str, self.classes)), rows, last, ()))

    def __repr__(self) -> str:
        n, columns, k = self.logs.shape
        return f"<Contributions of {columns} columns to {k} classes in {n} rows>"


def contributions_of(
    columns: tuple[Name, ...], classes: tuple[Any, ...], logs: Floats, against: object = None
) -> Contributions:
    """Choose the classes that each class is held against."""
    n, _, k = logs.shape
    if against is not None:
        rivals = np.full((n, k), place_of(classes, against), dtype=np.intp)
        return Contributions(columns, classes, logs, rivals)
    joint = logs.sum(axis=1)
    order = np.argsort(-joint, axis=1, kind="stable")
    first, second = order[:, :1], order[:, 1:2] if k > 1 else order[:, :1]
    rivals = np.where(np.arange(k)[None, :] == first, second, first)
    return Contributions(columns, classes, logs, rivals)


def place_of(classes: tuple[Any, ...], label: object) -> int:
    """Return the place of a class."""
    from bayeskit.errors import UnseenClass

    try:
        return classes.index(label)
    except ValueError:
        known = ", ".join(map(repr, classes[:12]))
        raise UnseenClass(f"{label!r} is none of the classes, which are {known}.") from None


def _signed(value: float) -> str:
    return f"{value:.4f}".replace("-", "−")
