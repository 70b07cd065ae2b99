r"""Exact leave-one-out: every row is scored by the model of all other rows.

Counts are sums over rows, so the model without a row is the model of the counts minus those of the row. For a product
of count ratios, only the cells of the row change. So one pass over the rows is enough, instead of n fits:

.. math:: P_{-i}(x_j \mid c) = \frac{n(x_j, c) - w_i [c = c_i] + a}{n(c) - w_i [c = c_i] + \sum a}

The schema, cut points, structure and back-off constants are kept fixed. Counted rows are read again for it: all of
them, or an evenly spaced selection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.class_prior import class_factors, log_normalise
from bayeskit._counting.backend import count, in_order
from bayeskit._data.class_labels import as_labels, batch_weights, encode_labels
from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._data.source import Rows, Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.model import Model, ModelSpec, class_prior_of, estimate, weighted_classes
from bayeskit._messages import Joined
from bayeskit._schema import Schema
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import InfiniteValue, SettingError, UnseenClass
from bayeskit.typing import Floats

Scores = tuple[Floats, Floats]

SCORINGS = ("log-loss", "error", "rmse", "brier")


class LeaveOneOut:
    """Scores rows by the model of all other rows, from statistics that include them.

    If every conditional of the model has ``add_left_out``, this is a look-up (``fast``). Otherwise the model is
    estimated again without each row.
    """

    def __init__(self, statistics: Statistics, spec: ModelSpec) -> None:
        self.statistics = statistics
        weighted = weighted_classes(statistics, spec)
        self.spec = replace(spec, form=spec.form.settled(weighted, spec))
        self.model = estimate(statistics, self.spec)
        self.fast = all(conditional.supports("add_left_out") for conditional in self.model.conditionals)

    @property
    def balanced(self) -> bool:
        """Whether the class weights depend on the row that is left out (``class_weight="balanced"``)."""
        return isinstance(self.spec.class_weight, str)

    def scores(self, chunk: Chunk, own: Floats) -> Scores:
        """Return log P(c, x) and log P(c), each of shape (n, K), with ``own`` of each row's weight left out."""
        assert chunk.target is not None
        self._refuse_strange(chunk, own)
        if not self.fast:
            return by_refit(self.statistics, self.spec, chunk, own)
        last = self._last_holes(chunk, own)
        if len(last):
            joint, log_prior = by_refit(self.statistics, self.spec, chunk.take(last), own[last])
            rest = np.setdiff1d(np.arange(chunk.n_rows), last)
            whole = np.empty((2, chunk.n_rows, joint.shape[1]))
            whole[:, last] = joint, log_prior
            if len(rest):
                whole[:, rest] = self.scores(chunk.take(rest), own[rest])
            return whole[0], whole[1]
        if self.balanced:
            return self._balanced(chunk, own)
        weighted, factors = self._weighted
        return look_up(
            self.model, weighted, self.spec, chunk, own if factors is None else own * factors[chunk.target]
        )

    def _last_holes(self, chunk: Chunk, own: Floats) -> NDArray[np.intp]:
        """Return the rows that alone have a missing value in some attribute: without them, missing is not a state."""
        schema = self.statistics.schema
        if self.spec.missing != "state" or self.spec.form.is_naive or not schema.categorical:
            return np.empty(0, dtype=np.intp)
        sizes = np.array([v.size for v in schema.categorical])
        holes = self.statistics.tables.counts[schema.offsets[1:].astype(np.intp) - 1].sum(axis=1)
        alone = holes[None, :] - own[:, None] <= 1e-12 * holes[None, :]
        return np.flatnonzero(((chunk.codes == sizes) & alone & (own[:, None] > 0.0)).any(axis=1))

    @cached_property
    def _weighted(self) -> tuple[Statistics, Floats | None]:
        target = self.statistics.schema.target
        factors = class_factors(self.spec.class_weight, self.statistics.class_counts, target)
        return (self.statistics if factors is None else self.statistics.scale(factors)), factors

    def _balanced(self, chunk: Chunk, own: Floats) -> Scores:
        """Return the scores for ``class_weight="balanced"``.

        Rows of the same class and weight lead to the same class weights, so one estimate serves all of them.
        """
        assert chunk.target is not None
        joint, log_prior = np.empty((2, chunk.n_rows, self.statistics.schema.n_classes))
        plain = replace(self.spec, class_weight=None)
        keys, group = np.unique(np.column_stack([chunk.target, own]), axis=0, return_inverse=True)
        for g, (label, w) in enumerate(keys):
            counts = self.statistics.class_counts.copy()
            counts[int(label)] = max(counts[int(label)] - w, 0.0)
            with np.errstate(invalid="ignore"):  # if no row is left, every factor is 1
                factors = class_factors("balanced", counts, self.statistics.schema.target)
            assert factors is not None
            weighted = self.statistics.scale(factors)
            rows = np.flatnonzero(group.ravel() == g)
            part = chunk.take(rows)
            assert part.target is not None
            model = estimate(weighted, plain)
            joint[rows], log_prior[rows] = look_up(
                model, weighted, plain, part, own[rows] * factors[part.target]
            )
        return joint, log_prior

    def _refuse_strange(self, chunk: Chunk, own: Floats) -> None:
        """Raise an error for rows that cannot have been counted.

        These have infinite numbers, unknown states, or more weight than the counts.
        """
        assert chunk.target is not None
        infinite = np.argwhere(np.isinf(chunk.values))
        if len(infinite):
            row, column = infinite[0].tolist()
            name = self.statistics.schema.numeric[column].name
            raise InfiniteValue(name, chunk.first_row + row, float(chunk.values[row, column]))
        sizes = np.array([v.size for v in self.statistics.schema.categorical])
        strange = (chunk.codes > sizes).any(axis=1) & (own > 0.0)
        if strange.any():
            raise never_counted(-float(own[strange][0]))
        if sizes.size:
            begin = self.statistics.schema.offsets[:-1].astype(np.intp)
            places = begin + np.minimum(chunk.codes, sizes).astype(np.intp)
            held = self.statistics.tables.counts[places, chunk.target[:, None].astype(np.intp)].min(axis=1)
            if (held - own < -1e-9 * np.maximum(held, own)).any():
                raise never_counted(float((held - own).min()))
        held = self.statistics.class_counts[chunk.target]
        left = held - own
        if (left < -1e-9 * held).any():
            raise never_counted(float(left.min()))


def look_up(model: Model, statistics: Statistics, spec: ModelSpec, chunk: Chunk, own: Floats) -> Scores:
    """Score rows by conditionals that support leave-one-out. Class weights must already be applied."""
    assert chunk.target is not None
    log_prior = class_prior_of(statistics, spec).log_left_out(chunk.target, own)
    joint = log_prior.copy() if model.adds_prior else np.zeros_like(log_prior)
    try:
        for conditional in model.conditionals:
            conditional.add_left_out(chunk, own, joint)
    except InfiniteValue as error:
        name = model.schema.numeric[int(str(error.column))].name
        raise InfiniteValue(name, chunk.first_row + error.row, error.value) from None
    return joint, log_prior


def by_refit(statistics: Statistics, spec: ModelSpec, chunk: Chunk, own: Floats) -> Scores:
    """Estimate the model again without each row, and score that row: exact by definition, but slow.

    The form of the spec must be settled. Otherwise each refit would repeat the choices made from counts.
    """
    joint, log_prior = np.empty((2, chunk.n_rows, statistics.schema.n_classes))
    known: dict[Any, Scores] = {}
    for i in range(chunk.n_rows):
        row = replace(chunk.take(np.array([i])), weights=own[i : i + 1].copy())
        assert row.target is not None
        # Equal rows of equal weight have the same scores. Blocks are not compared: they are long and rarely equal.
        key = (
            row.codes.tobytes(),
            row.values.tobytes(),
            int(row.target[0]),
            own[i],
            i * (chunk.block is not None),
        )
        if key not in known:
            left = statistics
            if own[i] > 0.0:
                left = statistics.subtract(count(row, statistics.schema, statistics.plan))
            with np.errstate(invalid="ignore"):  # class weights if no row is left
                model = estimate(left, spec)
            known[key] = model.joint_chunk(row)[0], model.log_prior
        joint[i], log_prior[i] = known[key]
    return joint, log_prior


def left_out_joint(
    statistics: Statistics,
    spec: ModelSpec,
    encoded: EncodedTable,
    *,
    own: Floats | None = None,
    n_jobs: int | None = None,
) -> Scores:
    """Return log P(c, x) of every row by the model of the other rows, and their log P(c).

    Parameters
    ----------
    statistics : Statistics
        The statistics of rows that include these.
    spec : ModelSpec
    encoded : Encoded
        The rows with their classes, in the codes of the statistics' schema.
    own : array of shape (n,), optional
        How much of each row's weight to leave out. By default, all of it.
    n_jobs : int, optional

    Returns
    -------
    log_joint, log_prior : arrays of shape (n, K)
        If all classes are impossible, :func:`log_posterior` returns the prior.
    """
    weights = np.ones(encoded.n_rows) if encoded.weights is None else encoded.weights
    own = np.ascontiguousarray(weights if own is None else own, dtype=np.float64)
    if not _same_states(encoded.schema, statistics.schema):
        raise never_counted(-float(own.max(initial=0.0)))
    left_out, bounds = LeaveOneOut(statistics, spec), encoded.bounds()
    shape = (encoded.n_rows, statistics.schema.n_classes)
    joint, log_prior = np.empty(shape), np.empty(shape)

    def score(start: int, stop: int) -> None:
        chunk = encoded.chunk(start, stop)
        joint[start:stop], log_prior[start:stop] = left_out.scores(chunk, own[start:stop])

    for _ in in_order(score, bounds, n_jobs):
        pass
    return joint, log_prior


def log_posterior(joint: Floats, log_prior: Floats) -> Floats:
    """Turn log P(c, x) into log P(c | x). Rows that are impossible in every class get log P(c).

    >>> log_posterior(np.array([[-np.inf, -np.inf]]), np.log([[0.25, 0.75]])).round(3)
    array([[-1.386, -0.288]])
    """
    posterior = np.where(np.isneginf(joint).all(axis=1, keepdims=True), log_prior, joint)
    log_normalise(posterior, np.zeros(joint.shape[1]))
    return posterior


def encode_learned(fitted: FittedState, schema: Schema, rows: Rows) -> EncodedTable:
    """Encode training rows. Only rows without weight can have an unknown class or state."""
    encoded = fitted.encode(fitted.matched(rows.table, schema, learning=True), schema, "smooth")
    n = encoded.n_rows
    weights = batch_weights(rows.weights, n)
    own = np.ones(n) if weights is None else weights
    try:
        target, codes = encode_labels(as_labels(rows.y, n), schema.target, "grow")
    except UnseenClass:
        raise never_counted(-float(own.max())) from None
    place = np.array([schema.target.codes.get(label, -1) for label in target.states])[codes]
    if (own[place < 0] > 0.0).any():
        raise never_counted(-float(own[place < 0].max()))
    return replace(encoded, target=np.maximum(place, 0).astype(np.uint32), weights=weights)


def mean_loss(log_posterior: Floats, target: NDArray[Any], weights: Floats, criterion: str) -> float:
    r"""Return the weighted mean loss; lower is better.

    ``"log-loss"``: −log p of the true class. ``"error"``: 1 if the predicted class (the first of the most probable)
    is wrong. ``"rmse"``: the root of the mean of (1 − p)². ``"brier"``: :math:`\sum_c (p_c - [c = c_i])^2`.

    >>> mean_loss(np.log([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 0]), np.ones(2), "error")
    0.5
    """
    if criterion not in SCORINGS:
        raise SettingError(
            "criterion is {criterion!r}; choose from {names}.",
            criterion=criterion,
            names=Joined(map(repr, SCORINGS)),
        )
    rows = np.flatnonzero(weights > 0.0)
    log_posterior, target, weights = log_posterior[rows], target[rows], weights[rows]
    each = np.arange(len(rows))
    if criterion == "log-loss":
        losses = -log_posterior[each, target]
    elif criterion == "error":
        losses = (log_posterior.argmax(axis=1) != target).astype(np.float64)
    else:
        share = np.exp(log_posterior)
        losses = (1.0 - share[each, target]) ** 2
        if criterion == "brier":
            losses += (share**2).sum(axis=1) - share[each, target] ** 2
    mean = float(weights @ losses / weights.sum())
    return float(np.sqrt(mean)) if criterion == "rmse" else mean


def _same_states(a: Schema, b: Schema) -> bool:
    """Whether two schemas have the same codes."""
    if a is b:
        return True
    return [v.states for v in (*a.categorical, a.target)] == [v.states for v in (*b.categorical, b.target)]


def learned_chunks(fitted: FittedState, source: Source) -> Iterator[Chunk]:
    """Yield the rows of a counted source as chunks, in the codes of its schema, without rows of weight 0."""
    for rows in source:
        yield from chunks_with_weight(encode_learned(fitted, fitted.schema, rows))


def chunks_with_weight(encoded: EncodedTable) -> Iterator[Chunk]:
    """Yield encoded rows as chunks, without rows of weight 0."""
    for chunk in encoded.chunks():
        if chunk.weights is not None and not (chunk.weights > 0.0).all():
            chunk = chunk.take(np.flatnonzero(chunk.weights > 0.0))
        if chunk.n_rows:
            yield chunk


def spread(
    chunks: Iterable[Chunk], score: Callable[[Chunk], tuple[NDArray[Any], ...]], most: int
) -> list[NDArray[Any]]:
    """Score at most a given number of evenly spaced rows: every row, or every second, every fourth, …

    Parameters
    ----------
    chunks : iterable of Chunk
    score : callable
        A function from a chunk to arrays, with one entry for each row.
    most : int

    Returns
    -------
    list of arrays, concatenated over all chunks
    """
    pieces: list[tuple[NDArray[Any], ...]] = []
    held: list[NDArray[np.intp]] = []
    seen, step = 0, 1
    for chunk in chunks:
        numbers = seen + np.arange(chunk.n_rows)
        seen += chunk.n_rows
        while sum(int((n % step == 0).sum()) for n in (*held, numbers)) > most:
            step *= 2
        chosen = np.flatnonzero(numbers % step == 0)
        if len(chosen):
            pieces.append(score(chunk.take(chosen)))
            held.append(numbers[chosen])
    kept = [n % step == 0 for n in held]
    return [
        np.concatenate([a[k] for a, k in zip(arrays, kept, strict=True)])
        for arrays in zip(*pieces, strict=True)
    ]
