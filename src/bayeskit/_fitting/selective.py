"""The choice of the number of attributes and parents by leave-one-out, adding one attribute at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.back_off import GRID, Trie, best_constant, lay_tries, level_losses
from bayeskit._conditionals.family_tries import FamilyTries, estimate_families, n_states
from bayeskit._counting.count_families import count_families
from bayeskit._data.encoded import Chunk
from bayeskit._intrinsics import fibonacci_hash
from bayeskit._messages import Joined
from bayeskit._numba import kernel
from bayeskit._schema import Name, Schema
from bayeskit._statistics.families import Families
from bayeskit.errors import SettingError
from bayeskit.priors import BackOff, Lidstone, Prior, Smoothing
from bayeskit.typing import Floats

RMSE, LOG_LOSS, ERROR, MCC = 0, 1, 2, 3

_U = np.uintp
# Shares below _LEAST are stored as share · 2⁶⁰⁰, together with the number of such steps. So no share underflows, and a
# class that is very improbable after a hundred attributes can still win.
_LEAST, _MOST, _STEP = 2.0**-600, 2.0**600, 600.0 * np.log(2.0)
# Classes whose shares differ only by rounding are tied, and the first of them is predicted.
_TIE = 1.0 + 2.0**-40


@kernel
def number_kinds(
    codes: Any,
    columns: Any,
    radices: Any,
    target: Any,
    own: Any,
    n_classes: Any,
    table: Any,
    shift: Any,
    kind: Any,
    first: Any,
    keys: Any,
) -> Any:
    """Number the rows by their cell in a family, and return the number of distinct cells (kinds).

    Rows with the same cell and the same weight to leave out have the same probabilities. ``table`` has 2^(64 − shift)
    slots, filled with −1, and becomes a hash table from cells to kinds. ``kind`` becomes the kind of each row,
    ``first`` the first row of each kind, and ``keys`` its cell.
    """
    mask, n = _U(table.shape[0] - 1), 0
    for i in range(codes.shape[0]):
        key = _U(0)
        for j in range(columns.shape[0]):
            key = key * radices[j] + _U(codes[i, columns[j]])
        key = key * _U(n_classes) + _U(target[i])
        place = fibonacci_hash(np.uint64(key)) >> np.uint64(shift)
        while table[place, 0] >= 0 and table[place, 0] != np.int64(key):
            place = (place + _U(1)) & mask
        if table[place, 0] < 0:
            table[place, 0] = np.int64(key)
            table[place, 1] = n
        found = table[place, 1]
        if found == n or own[first[found]] != own[i]:
            found = n
            first[n] = i
            keys[n] = np.int64(key)
            n += 1
        kind[i] = found
    return n


@kernel
def add_losses(
    shares: Any,
    steps: Any,
    levels: Any,
    kind: Any,
    target: Any,
    own: Any,
    weights: Any,
    class_weights: Any,
    held: Any,
    criterion: Any,
    losses: Any,
    confusion: Any,
) -> None:
    """Update the posteriors of all rows and models by one attribute, and add their losses.

    Parameters
    ----------
    shares, steps : arrays of shape (n, models, K)
        The posteriors: shares · 2^(−600·steps).
    levels, kind : arrays of shape (kinds, k + 1, K) and (n,)
        p_l of the attribute for each kind of row; model m takes level min(m, k).
    target, own, weights : arrays of shape (n,)
    class_weights, held : array of shape (K,), bool
        If every class is impossible, P(c) ∝ class_weights, without the row's own weight unless the prior is ``held``.
    criterion : int
    losses : array of shape (models,)
    confusion : array of shape (models, K, K)
        The weight by true and predicted class.
    """
    k, deepest = shares.shape[2], levels.shape[1] - 1
    n_all = 0.0
    for c in range(k):
        n_all += class_weights[c]
    for i in range(shares.shape[0]):
        y, row = np.int64(target[i]), kind[i]
        for m in range(shares.shape[1]):
            level = min(m, deepest)
            total, is_small = 0.0, False
            for c in range(k):
                p, share = levels[row, level, c], shares[i, m, c]
                value = share * p
                if value < _LEAST or steps[i, m, c] > 0:
                    is_small = True
                    if value < _LEAST and share > 0.0 and p > 0.0:
                        value = share * _MOST * p
                        steps[i, m, c] += 1
                        if value < _LEAST:
                            value *= _MOST
                            steps[i, m, c] += 1
                shares[i, m, c] = value
                total += value
            lowest = np.int64(0)
            if is_small:
                lowest, total = np.int64(-1), 0.0
                for c in range(k):
                    if shares[i, m, c] > 0.0 and (lowest < 0 or steps[i, m, c] < lowest):
                        lowest = np.int64(steps[i, m, c])
                for c in range(k):
                    if steps[i, m, c] == lowest:
                        total += shares[i, m, c]
            answer, best, of_own = 0, 0.0, 0.0
            if lowest < 0:
                # If every class is impossible, use the class prior.
                taken = 0.0 if held else own[i]
                left = n_all - taken
                for c in range(k):
                    share = (
                        max(class_weights[c] - (taken if c == y else 0.0), 0.0) / left
                        if left > 0.0
                        else 1.0 / k
                    )
                    if share > best * _TIE:
                        answer, best = c, share
                    if c == y:
                        of_own = share
            else:
                for c in range(k):
                    share = shares[i, m, c] / total
                    if is_small and share > 0.0:
                        steps[i, m, c] -= lowest
                        if steps[i, m, c] > 0 and share > 1.0:
                            share *= _LEAST
                            steps[i, m, c] -= 1
                    shares[i, m, c] = share
                    if is_small and steps[i, m, c] > 0:
                        share = 0.0
                    if share > best * _TIE:
                        answer, best = c, share
                    if c == y:
                        of_own = share
            if criterion == RMSE:
                losses[m] += weights[i] * ((1.0 - of_own) * (1.0 - of_own))
            elif criterion == LOG_LOSS:
                # A row without weight has no loss, even if it is impossible.
                if weights[i] > 0.0:
                    log_own = np.log(of_own)
                    if lowest >= 0 and is_small:
                        log_own = np.log(shares[i, m, y]) - steps[i, m, y] * _STEP
                    losses[m] -= weights[i] * log_own
            elif criterion == ERROR:
                losses[m] += weights[i] if answer != y else 0.0
            else:
                confusion[m, y, answer] += weights[i]


Criterion = Literal["rmse", "log-loss", "error", "mcc"]

# The maximum size in bytes of the counts that are kept between the levels of back-off.
_MOST_BYTES = 2**29


@dataclass(frozen=True, eq=False)
class Selection:
    """The result of a selection by leave-one-out.

    Attributes
    ----------
    k : int
        The number of parents.
    n_attributes : int
        The number of attributes to use, from the first.
    losses : array of shape (max_k + 1, d + 1)
        The loss of every k with every number of attributes. Column 0 is the class prior alone. For "mcc" it is 1 − MCC.
    """

    k: int
    n_attributes: int
    losses: Floats


def select(
    chunks: Sequence[Chunk],
    schema: Schema,
    families: Sequence[tuple[Name, ...]],
    smoothing: Smoothing,
    *,
    max_k: int,
    criterion: Criterion = "rmse",
    class_smoothing: Prior | None = None,
    class_prior: Floats | None = None,
    constants: Floats | None = None,
    missing: str = "ignore",
    unseen: str = "ignore",
) -> Selection:
    """Score every prefix of the attributes with every number of parents by leave-one-out.

    A row of weight w counts as w rows of weight 1: min(w, 1) is left out of the counts, and its loss has weight w.
    Each attribute is counted, scored over all rows and released, so each row needs memory for one posterior per k. If
    a parent is missing, its family uses the parents before it. A sum over its states, as in prediction, would need
    all families at once.

    Parameters
    ----------
    chunks : sequence of Chunk
        All rows, with codes as matrices.
    schema : Schema
    families : sequence of (child, parent 1, …)
        The families, in the order in which attributes are added. A model with k parents uses the first k of each.
    smoothing : Smoothing
    max_k : int
    criterion : "rmse", "log-loss", "error" or "mcc"
        The root of the mean of (1 − P(own class))², the mean of −log P, the share of errors, or 1 − MCC.
    class_smoothing : prior, optional
        The prior of the class. By default, Laplace's.
    class_prior : array of shape (K,), optional
        A given P(c), instead of estimating it.
    constants : array over the levels, optional
        The constants of back-off. By default, they are chosen from the counts, as in
        :class:`~bayeskit.priors.BackOff`.
    missing : "ignore" or "state"
    unseen : "ignore" or "smooth"

    Returns
    -------
    Selection
        The selection with the lowest loss; in a tie, with fewer attributes, then fewer parents.

    References
    ----------
    Martínez, Webb, Chen and Zaidi, *Scalable learning of Bayesian network classifiers*, JMLR 17, 2016. Unlike their
    code, the class prior alone is scored like all others and can be chosen.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
    >>> codes, target = np.array([[0], [0], [1], [1]], np.uint8), np.array([0, 0, 1, 1], np.uint32)
    >>> rows = [Chunk(4, codes, np.empty((4, 0)), target=target)]
    >>> chosen = select(rows, schema, [("a",)], Smoothing(Lidstone(1.0), {}), max_k=1)
    >>> chosen.n_attributes, chosen.k, chosen.losses[0].round(3)
    (1, 0, array([0.6 , 0.36]))
    """
    if criterion not in get_args(Criterion):
        raise SettingError(
            "criterion is {criterion!r}; choose from {names}.",
            criterion=criterion,
            names=Joined(get_args(Criterion)),
        )
    families = [tuple(family[: max_k + 1]) for family in families]
    margin = sum(
        (np.bincount(c.target, c.weights, schema.n_classes) for c in chunks if c.target is not None),
        np.zeros(schema.n_classes),
    )
    if constants is None:
        constants = _constants(chunks, schema, families, smoothing, missing, unseen)
    held = class_prior is not None
    weights = margin + (class_smoothing or Lidstone(1.0)).cells(schema.target, 1)
    judge = _Judge(chunks, np.asarray(class_prior) if held else weights, held, max_k, criterion)
    losses = np.empty((max_k + 1, len(families) + 1))
    losses[:, 0] = judge.add(None)
    for position, family in enumerate(families):
        counted = _count(chunks, schema, family)
        tries = estimate_families(
            counted, schema, smoothing, constants=constants, missing=missing, unseen=unseen
        )
        losses[:, position + 1] = judge.add(tries)
    # Treat losses that differ only by rounding as equal: an attribute with one state changes at most the last bit.
    most = losses.min() * (1.0 + 1e-12) + 1e-15
    n_attributes, k = (int(at) for at in np.argwhere(most >= losses.T)[0])
    return Selection(k, n_attributes, losses)


class _Judge:
    """The posteriors of all rows under all models so far."""

    def __init__(
        self, chunks: Sequence[Chunk], class_weights: Floats, held: bool, max_k: int, criterion: Criterion
    ) -> None:
        self.chunks, self.class_weights, self.held = chunks, class_weights, held
        self.criterion = get_args(Criterion).index(criterion)
        k, n_models = len(class_weights), max_k + 1
        self.shape = n_models, k
        self.total = sum(float(chunk.row_weights.sum()) for chunk in chunks)
        self.shares = [np.empty((chunk.n_rows, n_models, k)) for chunk in chunks]
        self.steps = [np.zeros((chunk.n_rows, n_models, k), np.uint16) for chunk in chunks]
        for chunk, shares in zip(chunks, self.shares, strict=True):
            shares[:] = self._priors(chunk)[:, None]

    def _priors(self, chunk: Chunk) -> Floats:
        """Return P(c) without each row's own weight."""
        found = np.tile(self.class_weights, (chunk.n_rows, 1))
        if not self.held and chunk.target is not None:
            found[np.arange(chunk.n_rows), chunk.target] -= np.minimum(chunk.row_weights, 1.0)
            np.maximum(found, 0.0, out=found)
        total = found.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, found / np.where(total > 0.0, total, 1.0), 1.0 / max(found.shape[1], 1))

    def add(self, tries: FamilyTries | None) -> Floats:
        """Add one attribute (or none), and return the loss of every model."""
        n_models, k = self.shape
        sums, confusion = np.zeros(n_models), np.zeros((n_models, k, k))
        for at, chunk in enumerate(self.chunks):
            own = np.minimum(chunk.row_weights, 1.0)
            kind, levels = np.zeros(chunk.n_rows, np.int64), np.ones((1, 1, k))
            if tries is not None:
                kind, first = _kinds(chunk, own, tries, k)
                levels = tries.level_probabilities(0, chunk.take(first), own[first])
            rows = (kind, chunk.target, own, chunk.row_weights, self.class_weights, self.held)
            add_losses(self.shares[at], self.steps[at], levels, *rows, self.criterion, sums, confusion)
        if self.criterion == MCC:
            return np.array([1.0 - matthews(table) for table in confusion])
        mean = sums / self.total if self.total > 0.0 else sums
        return np.sqrt(mean) if self.criterion == RMSE else mean


def matthews(confusion: Floats) -> float:
    """Return the Matthews correlation coefficient of a confusion matrix, or 0 if one side is constant.

    >>> matthews(np.array([[2.0, 0.0], [0.0, 3.0]]))
    1.0
    """
    total, of_class, of_answer = confusion.sum(), confusion.sum(axis=1), confusion.sum(axis=0)
    above = np.trace(confusion) * total - of_class @ of_answer
    below = (total**2 - of_class @ of_class) * (total**2 - of_answer @ of_answer)
    return float(above / np.sqrt(below)) if below > 0.0 else 0.0


def _kinds(
    chunk: Chunk, own: Floats, tries: FamilyTries, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the kind of each row and the first row of each kind. There are far fewer kinds than rows."""
    columns = np.append(tries.trie.parents, tries.trie.child)
    radices = tries.trie.sizes[columns] + 1
    bits = (2 * chunk.n_rows).bit_length()
    table = np.full((1 << bits, 2), -1, np.int64)
    kind, first, keys = np.empty((3, chunk.n_rows), np.int64)
    family = (columns.astype(np.uintp), radices.astype(np.uintp), chunk.target, own, n_classes)
    n = number_kinds(chunk.codes, *family, table, 64 - bits, kind, first, keys)
    # Process them in the order of the cells, which is their order in memory. This is twice as fast.
    order = np.argsort(keys[:n])
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    return rank[kind], first[order]


def _count(chunks: Sequence[Chunk], schema: Schema, family: tuple[Name, ...]) -> Families:
    total = Families.zero(schema, (family,))
    for chunk in chunks:
        total = total.merge(count_families(chunk, schema, (family,)))
    return total


def _constants(
    chunks: Sequence[Chunk],
    schema: Schema,
    families: Sequence[tuple[Name, ...]],
    smoothing: Smoothing,
    missing: str,
    unseen: str,
) -> Floats | None:
    """Choose the back-off constants from all families together."""
    chosen = [
        family
        for family in families
        if isinstance(prior := smoothing.of(schema[family[0]]), BackOff) and prior.constants is None
    ]
    held = _HeldTries(chunks, schema, missing)
    constants = np.empty(0)
    for level in range(max((len(family) for family in chosen), default=0)):
        losses = np.zeros(len(GRID))
        for family in chosen:
            if len(family) > level:
                trie, margin = held.of(family, level)
                base = np.array([1.0 / max(n_states(trie, int(trie.child[0])) + (unseen == "smooth"), 1)])
                losses += level_losses(trie, base, margin, [0], level, constants)
        constants = np.append(constants, best_constant(losses, level))
    return constants if chosen else None


class _HeldTries:
    """The counts of families. They are cached up to a memory limit, and otherwise counted again at every level."""

    def __init__(self, chunks: Sequence[Chunk], schema: Schema, missing: str) -> None:
        self.chunks, self.schema, self.missing = chunks, schema, missing
        self.held: dict[tuple[Name, ...], tuple[Trie, Floats]] = {}
        self.room = _MOST_BYTES

    def of(self, family: tuple[Name, ...], level: int) -> tuple[Trie, Floats]:
        """Return the counts of a family with at least this many parents, and n(c)."""
        if family in self.held:
            return self.held[family]
        deep = family if self.room > 0 else family[: level + 1]
        counted = _count(self.chunks, self.schema, deep)
        found = lay_tries(counted, self.schema, self.missing), counted.margin
        if self.room > 0:
            self.room -= sum(array.nbytes for array in found[0] if isinstance(array, np.ndarray))
            self.held[family] = found
        return found
