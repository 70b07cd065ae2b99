"""Contributions of each attribute to the log-odds of each class, for many rows at once.

For naive Bayes they are computed in one pass, for any other model row by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit._data.encoded import Chunk
from bayeskit._data.frames import as_array
from bayeskit._fitting.model import Model
from bayeskit._messages import Joined
from bayeskit._report.explanation import Explanation
from bayeskit._report.factors.average import logs_of
from bayeskit._schema import Name

if TYPE_CHECKING:
    pass


PRIOR, TOGETHER = "(prior)", "(together)"


@dataclass(frozen=True, eq=False)
class Contributions:
    r"""Contributions that sum to the log posterior odds. ``np.asarray`` gives ``values``.

    .. math:: \sum_j v_{rjc} = \log \frac{P(c \mid x_r)}{P(c' \mid x_r)}

    where c' is the class to compare with: the given one, or the most probable of the others.

    Attributes
    ----------
    columns : tuple
        "(prior)", the attributes, and "(together)" if there is an effect that belongs to no single attribute.
    classes : tuple of labels
    logs : array of shape (n, columns, K)
        The logarithms of the factors. Their sum over the columns is log P(c, x).
    rivals : int array of shape (n, K)
        The index of c' for each row and class.

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
        """Contributions to the log-odds: shape (n, columns, K). They are 0 where both factors are zero."""
        against = np.take_along_axis(self.logs, self.rivals[:, None, :], axis=2)
        both = np.isneginf(self.logs) & np.isneginf(against)
        with np.errstate(invalid="ignore"):
            return np.where(both, 0.0, self.logs - against)

    @property
    def log_odds(self) -> Floats:
        """The sums: shape (n, K). NaN where infinite contributions of opposite sign meet."""
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
        """Return the contributions to one class as a data frame of an installed library."""
        from bayeskit._data.frames import to_native

        return to_native({str(name): column for name, column in self.of(label).items()})

    def _repr_html_(self) -> str:
        from bayeskit._display_table import DisplayTable, notebook_html

        n = len(self)
        # One row in full; for many rows the mean size, which shows what matters.
        shown = (
            self.values[0] if n == 1 else np.abs(self.values).mean(axis=0) if n else self.values.sum(axis=0)
        )
        rows = tuple(
            (str(name), *map(_signed, line)) for name, line in zip(self.columns, shown.tolist(), strict=True)
        )
        last = (("log-odds", *map(_signed, self.log_odds[0].tolist())),) if n == 1 else ()
        title = "Contributions to the log-odds" + ("" if n == 1 else f": mean size over {n:,} rows")
        return notebook_html(DisplayTable(title, ("", *map(str, self.classes)), rows, last, ()))

    def __repr__(self) -> str:
        n, columns, k = self.logs.shape
        return f"<Contributions of {columns} columns to {k} classes in {n} rows>"


def contributions_of(
    columns: tuple[Name, ...], classes: tuple[Any, ...], logs: Floats, against: object = None
) -> Contributions:
    """Choose the class to compare each class with."""
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
    """Return the index of a class."""
    from bayeskit.errors import UnseenClass

    try:
        return classes.index(label)
    except ValueError:
        known = Joined(map(repr, classes[:12]))
        raise UnseenClass(
            "{label!r} is none of the classes, which are {known}.", label=label, known=known
        ) from None


def _signed(value: float) -> str:
    return f"{value:.4f}".replace("-", "−")


Floats = NDArray[np.float64]


def is_separate(model: Model) -> bool:
    """Whether the factors of the model belong to single attributes, or can be decomposed attribute by attribute."""
    is_plain = model.schema.block is None or model.schema.vocabulary is not None
    return is_plain and all(c.supports("add_separate") for c in model.conditionals)


def separate_logs(model: Model, chunk: Chunk) -> Floats:
    """Return log P(c) and each attribute's log P(x_j | c): shape (n, 1 + attributes, K).

    Jointly Gaussian attributes are decomposed in column order:
    P(x_1 | c) P(x_2 | c, x_1) …
    """
    schema = model.schema
    out = np.zeros((chunk.n_rows, 1 + len(schema.attributes), len(model.log_prior)))
    out[:, 0] = model.log_prior if model.adds_prior else 0.0
    categorical, numeric = (
        np.array([1 + schema.position[v.name] for v in variables], dtype=np.intp)
        for variables in (schema.categorical, schema.numeric)
    )
    for conditional in model.conditionals:
        conditional.add_separate(chunk, categorical, numeric, out)
    return out


def explained_logs(pages: Sequence[Explanation], names: Sequence[Name]) -> tuple[tuple[Name, ...], Floats]:
    """Return the columns and the logarithms that explanations hold.

    Attributes that share one factor share it evenly. An average over super-parents is decomposed by their
    shares: column j is the mean, weighted by these shares, of the logarithms of their factors of x_j (and
    P(x_i | c) goes to x_i). The difference between the logarithm of the sum and the mean of the logarithms is
    in the column "(together)".
    """
    place = {name: 1 + j for j, name in enumerate(names)}
    last = 1 + len(place)
    logs = np.zeros((len(pages), last + 1, len(pages[0].classes) if pages else 0))
    for out, page in zip(logs, pages, strict=True):
        out[0] = [f.log for f in page.prior]
        for attribute in page.attributes:
            _share(out, place, attribute)
        if page.average is not None:
            _average(out, place, page)
        if page.rest is not None:
            out[last] += [f.log for f in page.rest]
    if not logs[:, last].any():
        return (PRIOR, *names), logs[:, :last]
    return (PRIOR, *names, TOGETHER), logs


def _share(out: Floats, place: Mapping[Name, int], attribute: Any) -> None:
    # A name may itself be a tuple. Otherwise a tuple contains the names of several attributes.
    alone = attribute.name in place
    names = (attribute.name,) if alone else attribute.name
    logs = np.array([f.log for f in attribute.factors])
    for name in names:
        out[place[name]] += logs / len(names)


def _average(out: Floats, place: Mapping[Name, int], page: Explanation) -> None:
    """Add an average: with shares s_i that sum to 1 in each class, log Σ t_i = Σ s_i log t_i − Σ s_i log s_i."""
    average = page.average
    assert average is not None
    prior = np.array(page.fallback if page.fallback is not None else [0.0] * len(page.classes))
    prior = np.where(np.isfinite(prior), prior, 0.0)
    out[0] += prior
    total = np.array([f.log for f in average.factors])
    shares = np.array([average.shares(k) for k in range(len(total))]).T
    before = out.sum(axis=0) - prior
    for weight, parent in zip(shares, average.super_parents, strict=True):
        out[place[parent.name]] += _times(weight, np.array([f.log for f in parent.first]) - prior)
        said = logs_of(parent.attributes)
        if said:
            out[[place[name] for name, _ in said]] += _times(weight, np.array([logs for _, logs in said]))
    change = out.sum(axis=0) - before
    out[-1] += np.where(np.isfinite(total), total - np.where(np.isfinite(change), change, 0.0), total)


def _times(weight: Floats, logs: Floats) -> Floats:
    """Multiply logarithms by weights; with weight 0 even an impossible value has no effect."""
    with np.errstate(invalid="ignore"):
        return np.where(weight > 0.0, weight * logs, 0.0)
