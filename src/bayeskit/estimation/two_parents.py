r"""Two super-parents at a time (A2DE): the mean of what every two attributes say.

.. math:: \hat P(c, x) = \operatorname*{mean}_{i<j} \hat P(c, x_i, x_j) \prod_{k \ne i, j} \hat P(x_k \mid c, x_i, x_j)

over the pairs of super-parents that are present and were seen together often enough (Webb, Boughton, Zheng, Ting and
Salem, "Learning by extrapolation from marginal to full-multivariate probability distributions", 2012).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit.data.encoded import Chunk
from bayeskit.errors import SettingError
from bayeskit.estimation.conditional import Conditional
from bayeskit.estimation.contexts import Contexts, Layout, find_contexts, look_up
from bayeskit.estimation.kernels.two_parents import add_two_parents
from bayeskit.estimation.kernels.two_parents_left_out import add_left_out_two_parents
from bayeskit.priors import Smoothing, backs_off
from bayeskit.schema import Name, Schema
from bayeskit.statistics.part import never_counted
from bayeskit.statistics.triples import Triples
from bayeskit.typing import Floats

# Rows that are scored while one pair's part of the look-up table is in the cache.
_TILE = 4096


@dataclass(frozen=True, eq=False)
class TwoParents(Conditional):
    """log P(c, x) of the categorical attributes, the prior of the class included.

    Attributes
    ----------
    contexts : Contexts
    log_table : array of shape (rows, Σ(r + 2), padded K)
        See :func:`bayeskit.estimation.contexts.look_up`.
    offsets : int array of shape (d + 1,)
        Where each attribute begins in a row: its states, a cell for missing and one for unseen values.
    triples, totals, imaginary, is_state
        What the table was made of, for leaving rows out: the counts, the denominators (rows of the table, d, K),
        the imaginary counts (pairs, Σ(r + 2)), and the attributes for which missing is a state.
    min_count : float
    fallback : conditional
        It answers, prior included, where no pair counts.
    """

    adds_prior: ClassVar[bool] = False

    contexts: Contexts
    log_table: Floats
    offsets: NDArray[np.intp]
    triples: Triples
    totals: Floats
    imaginary: Floats
    is_state: NDArray[np.bool_]
    min_count: float
    fallback: Any

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        """Add log P(c, x) of every row to ``out`` of shape (n, K)."""
        here, fallen = self.contexts, np.empty(chunk.n_rows, dtype=np.bool_)
        tile = min(_TILE, max(chunk.n_rows, 1))
        places = np.empty((tile, len(self.offsets) - 1), dtype=np.uint32)
        scores, best, total = np.empty((3, tile, self.log_table.shape[2]))
        add_two_parents(
            *(chunk.codes, _places(here.pairs), _places(here.cells), here.row_of),
            *(_places(self.offsets), here.votes, self.log_table),
            *(places, scores, best, total, np.empty(tile), out, fallen),
        )
        rows = np.flatnonzero(fallen)
        if len(rows):
            answers = np.zeros((len(rows), out.shape[1]))
            self.fallback.add_log_prob(chunk.take(rows), answers)
            out[rows] += answers

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add log P(c, x) of every row as if ``own[i]`` of its weight had never been counted."""
        assert chunk.target is not None
        here, fallen, short = self.contexts, np.empty(chunk.n_rows, dtype=np.bool_), np.zeros(1)
        tile, k = min(_TILE, max(chunk.n_rows, 1)), out.shape[1]
        scores, best, total = np.empty((3, tile, k))
        add_left_out_two_parents(
            *(chunk.codes, chunk.target, own, _places(here.pairs), _places(here.cells), here.row_of),
            *(_places(self.offsets), here.votes, self.log_table, _places(self.triples.sizes), self.is_state),
            *(self.triples.counts, _places(here.starts), here.weight, _least(self.min_count)),
            *(self.imaginary, self.totals, here.joint, here.joint_total, here.alike),
            *(scores, best, total, np.empty(tile), short, out, fallen),
        )
        if short[0] > 1e-12 * self.triples.margin.sum():
            raise never_counted(-short[0])
        rows = np.flatnonzero(fallen)
        if len(rows):
            answers = np.zeros((len(rows), k))
            self.fallback.add_left_out(chunk.take(rows), own[rows], answers)
            out[rows] += answers


def estimate_two_parents(
    triples: Triples,
    schema: Schema,
    smoothing: Smoothing,
    attributes: Iterable[Name],
    *,
    fallback: Any,
    min_count: float = 1,
    missing: str = "ignore",
    unseen: str = "ignore",
    weights: ArrayLike | None = None,
) -> TwoParents:
    """Estimate P(c, x_i, x_j) and P(x_k | c, x_i, x_j) for every two super-parents.

    Parameters
    ----------
    triples : Triples
    attributes : names
        The super-parents to use, among those counted.
    fallback : conditional
        What answers for a row where no pair counts. Like the result it includes the prior of the class.
    min_count : float
        A pair of states counts where n(x_i, x_j), over all classes, is at least this.
    weights : array of shape (pairs,), optional
        The vote of each pair of ``attributes``, pairs in schema order; one without weight is not heard.

    Examples
    --------
    >>> from bayeskit.priors import Laplace
    >>> from bayeskit.schema import Variable
    >>> two = tuple(Variable(name, "categorical", (0, 1)) for name in "ab")
    >>> schema = Schema(two, Variable("y", "categorical", ("no",)))
    >>> counts = np.zeros((9, 6, 1))
    >>> counts[0, [0, 3]] = 2.0  # two rows with a = 0, b = 0
    >>> triples = Triples(np.array([2.0]), counts, np.array([0, 3, 6]), np.array([0, 1]))
    >>> model = estimate_two_parents(triples, schema, Smoothing(Laplace(), {}), "ab", fallback=None)
    >>> out = np.zeros((1, 1))
    >>> model.add_log_prob(Chunk(1, np.zeros((1, 2), np.uint8), np.empty((1, 0))), out)
    >>> np.exp(out).round(3)  # (2 + 1) / (2 + 4)
    array([[0.5]])
    """
    for variable in schema.categorical:
        prior = smoothing.of(variable)
        if backs_off(prior):
            raise SettingError(
                f"AnDE(n=2) does not back off: smoothing is {prior!r} for {variable.name!r}. Use MEstimate, "
                "Laplace, Lidstone, Dirichlet, MAP, BDeu or MLE, or AnDE(n=1), which does."
            )
    wanted = [j for name in set(attributes) for j, v in enumerate(schema.categorical) if v.name == name]
    which = np.flatnonzero(np.isin(triples.pairs, wanted).all(axis=1))
    votes = np.ones(len(which)) if weights is None else np.asarray(weights, dtype=np.float64)
    if votes.shape != which.shape or not (np.isfinite(votes) & (votes >= 0)).all():
        raise SettingError(
            f"The weights of {len(which)} pairs of super-parents have shape {votes.shape}; give one finite "
            "number of at least 0 for each pair."
        )
    is_state = np.zeros(len(schema.categorical), dtype=np.bool_)
    if missing == "state" and len(which):
        is_state = triples.tables.counts[triples.offsets[1:] - 1].sum(axis=1) > 0
    layout = Layout(schema, smoothing, is_state, unseen == "smooth")
    contexts = find_contexts(triples, layout, which, votes, _least(min_count))
    imaginary = np.array([layout.imaginary(i, j) for i, j in contexts.pairs]).reshape(-1, len(layout.owner))
    log_table, totals = look_up(triples, layout, contexts, imaginary)
    return TwoParents(
        contexts, log_table, layout.offsets, triples, totals, imaginary, is_state, float(min_count), fallback
    )


def _least(min_count: float) -> float:
    # Fractions that make up min_count may add up to a little less.
    return float(min_count) * (1.0 - 1e-9)


def _places(array: NDArray[np.integer]) -> NDArray[np.uintp]:
    return array.astype(np.uintp)
