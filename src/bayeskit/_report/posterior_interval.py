"""Credible intervals of class posteriors, as numbers and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.frames import to_native
from bayeskit._display_table import text_lines
from bayeskit._schema import Label

Floats = NDArray[np.float64]

# The number of rows that a notebook shows.
MOST_ROWS = 20


@dataclass(frozen=True, eq=False)
class PosteriorInterval:
    """P(c | x) of rows with credible intervals.

    Attributes
    ----------
    classes : tuple of K labels
    level : float
        The probability of each interval.
    posterior : array of shape (n, K)
        The result of ``predict_proba``. With very few counts it can lie outside its interval, because the
        posterior under the mean tables is not the mean posterior.
    lower, upper : arrays of shape (n, K)
    median : array of shape (n, K)
        The median of the draws.
    n_samples : int

    Examples
    --------
    >>> posterior, lower, upper = np.array([[[0.1, 0.9]], [[0.01, 0.5]], [[0.5, 0.99]]])
    >>> print(PosteriorInterval(("no", "yes"), 0.9, posterior, lower, upper, posterior, 1000))
    90% intervals of 1 row, 1,000 draws
    <BLANKLINE>
    row  no                 yes
    1    0.100 0.010–0.500  0.900 0.500–0.990
    """

    classes: tuple[Label, ...]
    level: float
    posterior: Floats
    lower: Floats
    upper: Floats
    median: Floats
    n_samples: int

    def __len__(self) -> int:
        return len(self.posterior)

    @property
    def width(self) -> Floats:
        """upper − lower."""
        return self.upper - self.lower

    def frame(self) -> Any:
        """Return a data frame of an installed library, with one row for each row and class."""
        n, k = self.posterior.shape
        return to_native(
            {
                "row": np.repeat(np.arange(1, n + 1), k),
                "class": np.array([str(label) for label in self.classes] * n, dtype=object),
                "posterior": self.posterior.ravel(),
                "lower": self.lower.ravel(),
                "upper": self.upper.ravel(),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        from bayeskit._visible import plain

        arrays = {name: getattr(self, name).tolist() for name in ("posterior", "lower", "upper", "median")}
        return {"classes": plain(self.classes), "level": self.level, "n_samples": self.n_samples, **arrays}

    def __str__(self) -> str:
        page = self._page()
        return "\n".join([page.title, "", *text_lines(page), *page.notes])

    def _repr_html_(self) -> str:
        from bayeskit._display_table import as_html

        return as_html(self._page())

    def _page(self) -> Any:
        from bayeskit._display_table import DisplayTable

        n = len(self)
        triples = zip(*(a[:MOST_ROWS] for a in (self.posterior, self.lower, self.upper)), strict=True)
        rows = tuple(
            (str(i), *(f"{p:.3f} {low:.3f}–{high:.3f}" for p, low, high in zip(*row, strict=True)))
            for i, row in enumerate(triples, 1)
        )
        notes = (f"… and {n - MOST_ROWS} more rows.",) if n > MOST_ROWS else ()
        title = (
            f"{100 * self.level:.4g}% intervals of {n:,} row{'' if n == 1 else 's'}, {self.n_samples:,} draws"
        )
        return DisplayTable(
            title, ("row", *map(str, self.classes)), rows, notes=notes, right=1 + len(self.classes)
        )
