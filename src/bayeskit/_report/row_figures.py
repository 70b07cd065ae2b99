"""What is reported of a row beside its posterior: risks of actions, credible intervals, novelty and conflicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.encoded import Chunk
from bayeskit._data.frames import to_native
from bayeskit._decision.choice import prepare, settle
from bayeskit._decision.loss import read_loss
from bayeskit._display_table import text_lines
from bayeskit._report.fractions import magnitude, number, short
from bayeskit._schema import Label
from bayeskit.typing import LossLike


@dataclass(frozen=True)
class Risks:
    r"""The risk of each action, and the chosen action.

    .. math:: R(a \mid x) = \sum_c \lambda_{ac} P(c \mid x)

    Attributes
    ----------
    actions : tuple of names
    costs : tuple of tuples, one for each action: its cost in each class
    risks : tuple of float
    action : the action of minimum risk, or the name for rejecting
    risk : float
    reject : float, optional
        The cost of rejecting.
    rejected : bool
    """

    actions: tuple[Any, ...]
    costs: tuple[tuple[float, ...], ...]
    risks: tuple[float, ...]
    action: Any
    risk: float
    reject: float | None
    rejected: bool

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        from bayeskit._visible import plain

        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


def risks_of(
    posterior: Sequence[float],
    classes: Sequence[Any],
    loss: LossLike = None,
    reject: float | None = None,
    actions: Sequence[Label] | None = None,
) -> Risks:
    """Compute the risk of each action. Without a loss, every mistake costs 1.

    Examples
    --------
    >>> loss = {"delete": {"spam": 0, "ham": 20}, "keep": {"spam": 1, "ham": 0}}
    >>> found = risks_of([0.75, 0.25], ["spam", "ham"], loss)
    >>> found.risks, found.action
    ((5.0, 0.75), 'keep')
    """
    table, label = prepare(read_loss(loss, len(classes), list(classes)), reject, actions)
    decision = settle(np.array([posterior], dtype=np.float64), table, reject, label)
    return Risks(
        tuple(decision.names),
        tuple(map(tuple, table.values.tolist())),
        tuple(decision.risks[0].tolist()),
        decision.actions.tolist()[0],
        float(decision.risk[0]),
        None if reject is None else float(reject),
        bool(decision.rejected[0]),
    )


def risk_rows(
    risks: Risks, posterior: Sequence[float], order: Sequence[int], words: Mapping[str, str]
) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return a line for each action, with its terms under the classes shown, and one for the decision."""
    rows = []
    for action, costs, risk in zip(risks.actions, risks.costs, risks.risks, strict=True):
        terms = tuple(
            f"{number(costs[k])}·{_written(posterior[k])} = {_written(costs[k] * posterior[k])}"
            for k in order
        )
        rows.append((words["risk"].format(action=action), short(risk), terms))
    done = (
        words["rejected"].format(action=risks.action, cost=number(risks.risk))
        if risks.rejected
        else risks.action
    )
    rows.append((words["decision"], str(done), ("",) * len(order)))
    return rows


def _written(x: float) -> str:
    return ("-" if x < 0 else "") + magnitude(float(np.log(abs(x)))) if x else "0"


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
        from bayeskit._display_table import notebook_html

        return notebook_html(self._page())

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


# Rows whose logarithms differ by less are equally probable.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Novelty:
    r"""How unusual rows are under the model. Every array has one number per row.

    Attributes
    ----------
    log_evidence : log P(x) of the values that are present
    share : float in (0, 1]
        (1 + sampled rows that are at most as probable) / (1 + sampled rows), where the sampled rows have the
        same missing cells. Small values mean unusual rows. Of rows that come from the model, a tenth have a
        share of at most 0.1.
    conflict : :math:`\log \frac{\prod_i P(x_i)}{P(x)}`, or None if ``missing="state"``
        Jensen's conflict measure. Above 0, the values fit together less well than if they were independent.
    unseen : int
        The number of unseen values. They do not affect the other numbers unless ``unseen="smooth"``.
    n_samples : int
    """

    log_evidence: Floats
    share: Floats
    conflict: Floats | None
    unseen: NDArray[np.intp]
    n_samples: int

    def __len__(self) -> int:
        return len(self.share)

    def to_dict(self) -> dict[str, Any]:
        """Return a list for each array."""
        from bayeskit._visible import plain

        names = ("log_evidence", "share", "conflict", "unseen")
        arrays = {name: getattr(self, name) for name in names}
        return {name: None if a is None else plain(a.tolist()) for name, a in arrays.items()}

    def to_frame(self) -> Any:
        """Return a data frame of an installed library, with one row per row."""
        from bayeskit._data.frames import to_native

        names = ("log_evidence", "share", "conflict", "unseen")
        return to_native({n: np.asarray(getattr(self, n)) for n in names if getattr(self, n) is not None})

    def _repr_html_(self) -> str:
        from bayeskit._display_table import MOST_ROWS, DisplayTable, notebook_html

        order = np.argsort(self.share, kind="stable")[:MOST_ROWS].tolist()
        conflict = self.conflict if self.conflict is not None else np.full(len(self), np.nan)
        rows = tuple(
            (
                str(i + 1),
                f"{self.share[i]:.4g}",
                *(f"{v[i]:.4f}".replace("-", "−") for v in (self.log_evidence, conflict)),
                str(self.unseen[i]),
            )
            for i in order
        )
        more = len(self) - len(order)
        notes = (f"… {more:,} more rows not shown.",) if more else ()
        header = ("row", "share", "log P(x)", "conflict", "unseen")
        return notebook_html(DisplayTable(f"The strangest of {len(self):,} rows", header, rows, (), notes))

    def __repr__(self) -> str:
        strange = int((self.share <= 0.01).sum())
        return f"<Novelty of {len(self)} rows: {strange} stranger than 99% of {self.n_samples:,} drawn from the model>"


def shares_among(
    score: Callable[[Chunk], Floats], rows: Chunk, drawn: Chunk, missing: NDArray[np.intp] | None
) -> tuple[Floats, Floats]:
    """Return log P(x) of rows, and the share of drawn rows at most as probable.

    Parameters
    ----------
    score : chunk → log P(x)
    rows, drawn : Chunk
    missing : the code of a missing value of each categorical attribute; None if missing is a state

    Each pattern of missing cells is compared with the drawn rows that have the same cells blanked.
    """
    log_p = score(rows)
    share = np.empty(rows.n_rows)
    blank = np.zeros((rows.n_rows, rows.codes.shape[1] + rows.values.shape[1]), dtype=np.bool_)
    if missing is not None:
        blank = np.hstack([rows.codes == missing, np.isnan(rows.values)])
    patterns, which = np.unique(blank, axis=0, return_inverse=True)
    for p, pattern in enumerate(patterns):
        here = np.flatnonzero(which.ravel() == p)
        expected = np.sort(score(drawn if missing is None else _blanked(drawn, pattern, missing)))
        below = np.searchsorted(expected, log_p[here] + _ROUNDING, side="right")
        share[here] = (1.0 + below) / (1.0 + len(expected))
    return log_p, share


def conflicts(
    score: Callable[[Chunk], Floats], rows: Chunk, log_p: Floats, missing: NDArray[np.intp]
) -> Floats:
    """Return log Π P(x_i) / P(x) of each row; 0 if it has at most one value."""
    alone = np.zeros(rows.n_rows)
    d = rows.codes.shape[1]
    if d:
        # Score every code of every attribute once, including missing and unseen. These are far fewer than cells.
        starts = np.concatenate([[0], np.cumsum(missing + 2)])
        codes = np.tile(missing, (int(starts[-1]), 1))
        for j in range(d):
            codes[starts[j] : starts[j + 1], j] = np.arange(missing[j] + 2)
        blank = np.full((len(codes), rows.values.shape[1]), np.nan)
        table = score(Chunk(len(codes), np.ascontiguousarray(codes.astype(rows.codes.dtype)), blank))
        alone += table[rows.codes.astype(np.intp) + starts[:-1]].sum(axis=1)
    for m in range(rows.values.shape[1]):
        others = np.ones(d + rows.values.shape[1], dtype=np.bool_)
        others[d + m] = False
        alone += score(_blanked(rows, others, missing))
    with np.errstate(invalid="ignore"):
        found = alone - log_p
    # A value that is impossible by itself is no conflict.
    return np.where(np.isneginf(alone), 0.0, found)


def _blanked(chunk: Chunk, pattern: NDArray[np.bool_], missing: NDArray[np.intp]) -> Chunk:
    d = chunk.codes.shape[1]
    codes = np.where(pattern[:d], missing, chunk.codes).astype(chunk.codes.dtype)
    values = np.where(pattern[d:], np.nan, chunk.values)
    return Chunk(chunk.n_rows, np.ascontiguousarray(codes), np.ascontiguousarray(values))
