"""Bayes' rule, and the posterior it gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit._data.frames import as_array
from bayeskit._decision.loss import Names, NumbersLike, match, read_named
from bayeskit._markup import framed
from bayeskit.errors import DataError, UnseenClass
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class Posterior:
    """P(c | x) for one row or many. `np.asarray` gives the probabilities.

    Attributes
    ----------
    probabilities : array of shape (K,) or (n, K)
    evidence : float or array of shape (n,)
        P(x), the probability of the observation.
    names : tuple or None
        The classes, in the order of the last axis.
    """

    probabilities: Floats
    evidence: Any
    names: Names | None = None

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.probabilities, dtype, copy)

    def __getitem__(self, key: Any) -> Any:
        """Index as an array, or by the name of a class if that is text."""
        if not isinstance(key, str):
            return self.probabilities[key]
        if self.names is None or key not in self.names:
            known = "no names" if self.names is None else ", ".join(map(str, self.names))
            raise UnseenClass(
                "posterior: there is no class {key!r} (there are {known}). Use a position or one of these names.",
                key=key,
                known=known,
            )
        return self.probabilities[..., self.names.index(key)]

    def __len__(self) -> int:
        return len(self.probabilities)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.probabilities)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of ``probabilities``."""
        return self.probabilities.shape

    def _repr_html_(self) -> str:
        from bayeskit._decision.choice import posterior_html

        return framed(posterior_html(self))


def bayes_rule(prior: NumbersLike, likelihood: NumbersLike) -> Posterior:
    r"""Compute the posterior from a prior and a likelihood.

    .. math:: P(c \mid x) = \frac{P(c)\, P(x \mid c)}{P(x)}, \qquad P(x) = \sum_j P(c_j)\, P(x \mid c_j)

    Parameters
    ----------
    prior : array of shape (K,), mapping or Series
        Must sum to one within 1e-9.
    likelihood : array of shape (K,) or (n, K), mapping, Series or frame
        Probabilities or densities, with the classes on the last axis. If prior and likelihood both have
        names, they are matched by name, otherwise by position.

    References
    ----------
    Zhou Z.-H., Machine Learning, Tsinghua University Press 2016, eq. 7.8.

    Examples
    --------
    >>> mail = bayes_rule({"spam": 0.7, "ham": 0.3}, {"spam": 0.9, "ham": 0.01})
    >>> round(mail.evidence, 6), round(float(mail["spam"]), 6)
    (0.633, 0.995261)
    """
    p, p_names = read_named(prior, "prior")
    f, f_names = read_named(likelihood, "likelihood")
    p, f = p.astype(np.float64), f.astype(np.float64)
    if p.ndim != 1 or f.ndim not in (1, 2) or f.shape[-1] != p.size or not p.size:
        raise DataError(
            "prior has shape {shape} and likelihood {shape2}. Give (K,) and (K,) or (n, K).",
            shape=p.shape,
            shape2=f.shape,
        )
    if p_names is not None and f_names is not None:
        f = f[..., match(f_names, p_names, "likelihood")]
    check_probabilities(p[None, :], "prior", 1e-9, rows=False)
    single, f = f.ndim == 1, np.atleast_2d(f)
    check_nonnegative(f, "likelihood", rows=not single)

    # Densities of many attributes can be so small that products lose digits; relative ones do not.
    peak = f.max(axis=1, keepdims=True)
    joint = p * (f / np.where(peak > 0, peak, 1.0))
    total = joint.sum(axis=1, keepdims=True)
    if (impossible := np.flatnonzero(total[:, 0] == 0)).size:
        raise DataError(
            "likelihood{row}: the evidence is 0, because no class with a positive prior can produce it. So "
            "there is no posterior. Smooth the likelihood, or leave the row out.",
            row=_row(impossible[0], not single),
        )
    posterior, evidence = joint / total, (p * f).sum(axis=1)
    names = p_names if p_names is not None else f_names
    if single:
        return Posterior(posterior[0], float(evidence[0]), names)
    return Posterior(posterior, evidence, names)


def read_posterior(posterior: object) -> tuple[Floats, Names | None, bool]:
    """Read and check posteriors: values (n, K), names, and whether it was a single posterior.

    >>> read_posterior([0.25, 0.75])
    (array([[0.25, 0.75]]), None, True)
    """
    if isinstance(posterior, Posterior):
        values, names = posterior.probabilities, posterior.names
    else:
        values, names = read_named(posterior, "posterior")
    if values.ndim not in (1, 2) or not values.shape[-1]:
        raise DataError(
            "posterior: has shape {shape}. Give (K,) for one object or (n, K) for many.", shape=values.shape
        )
    # Rounding alone makes float32 rows of a thousand classes differ from one by more than 1e-6.
    tolerance = max(1e-6, 32 * float(np.finfo(values.dtype).eps))
    single, rows = values.ndim == 1, np.atleast_2d(values).astype(np.float64)
    check_probabilities(rows, "posterior", tolerance, rows=not single)
    return rows, names, single


def check_probabilities(values: Floats, what: str, tolerance: float, rows: bool) -> None:
    """Each row must be a distribution: finite, not negative, summing to one within the tolerance."""
    check_nonnegative(values, what, rows)
    total = values.sum(axis=1)
    if (off := np.flatnonzero(np.abs(total - 1.0) > tolerance)).size:
        raise DataError(
            "{what}{row}: sums to {total:.12g}, not to 1. If these are weights, divide them by their sum.",
            what=what,
            row=_row(off[0], rows),
            total=total[off[0]],
        )


def check_nonnegative(values: Floats, what: str, rows: bool) -> None:
    """Raise an error for NaN, infinity and negative numbers, naming the first such row."""
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise DataError(
            "{what}{row}, class {j}: {value} is not a probability. Give finite numbers that are not "
            "negative; leave out unknown rows.",
            what=what,
            row=_row(i, rows),
            j=j,
            value=values[i, j],
        )


def _row(i: int | np.integer, rows: bool) -> str:
    return f", row {i}" if rows else ""
