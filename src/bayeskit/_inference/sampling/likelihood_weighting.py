r"""Likelihood weighting (free variables are sampled, observed ones weight the sample), and rejection.

.. math:: w = \prod_{v \in e} P(e_v \mid \mathrm{parents}), \qquad
          \hat P(c) = \frac{\sum_i w_i [x_i = c]}{\sum_i w_i}

The variance is that of a ratio (delta method), :math:`\sum w_i^2 ([x_i = c] - \hat P)^2 / (\sum w_i)^2`;
`Cells.errors` turns it into standard errors. The effective sample size is :math:`(\sum w)^2 / \sum w^2`
(Kong). Rejection drops rows that disagree with the evidence, which means weights of 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit._graphs.distributions import log_normal
from bayeskit._inference.potentials import Evidence
from bayeskit._inference.relevant import ancestral
from bayeskit._inference.sampling.estimate import Cells
from bayeskit._inference.sampling.forward import Forward, draw, draw_rows, logs_of, uniform_chunks
from bayeskit._inference.sampling.numeric_nodes import Numeric
from bayeskit._numba import kernel
from bayeskit.errors import SettingError
from bayeskit.typing import Floats, Ints


@kernel
def weighted_rows(
    order: Any,
    factor_of: Any,
    sizes: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    value_start: Any,
    observed: Any,
    offsets: Any,
    log_likelihoods: Any,
    uniforms: Any,
    codes: Any,
    log_weights: Any,
) -> None:
    """Fill codes (rows × variables) and add to log_weights.

    ``observed`` contains the code of each observed variable and −1 elsewhere; ``log_likelihoods`` those of
    every state of every variable (from ``offsets``), 0 if there is no soft evidence.
    """
    for row in range(codes.shape[0]):
        log_weight = 0.0
        for place in range(order.shape[0]):
            v = order[place]
            f = factor_of[v]
            at = np.int64(0)
            for e in range(scope_start[f], scope_start[f + 1] - 1):
                u = scope[e]
                at = at * sizes[u] + codes[row, u]
            start = value_start[f] + at * sizes[v]
            code = observed[v]
            if code >= 0:
                log_weight += np.log(values[start + code])
            else:
                code = draw(values, start, sizes[v], uniforms[row, place])
            codes[row, v] = code
            log_weight += log_likelihoods[offsets[v] + code]
            if log_weight == -np.inf:
                # The rest cannot matter; zeros keep the codes in range.
                for rest in range(place + 1, order.shape[0]):
                    codes[row, order[rest]] = 0
                break
        log_weights[row] += log_weight


@dataclass(frozen=True)
class Shares:
    """Probabilities of cells, their standard errors (both in the shape of the targets) and effective sample size.

    ``log_mean`` is the log of the mean weight, which estimates log P(evidence).
    """

    values: Floats
    standard_error: Floats
    worth: float
    log_mean: float = 0.0


def likelihood_weighting(
    forward: Forward,
    cells: Cells,
    evidence: Evidence,
    n: int,
    rng: np.random.Generator,
    numeric: Numeric | None = None,
    known: Floats | None = None,
) -> Shares:
    """Estimate the targets' distribution. ``known`` are the observed values of numeric nodes (NaN: free)."""
    at, log_weights = weighted_cells(forward, cells, evidence, n, rng, numeric, known)
    weights, log_mean = relative_weights(log_weights)
    return replace(weighted_shares(at, weights, cells), log_mean=log_mean)


def relative_weights(log_weights: Floats) -> tuple[Floats, float]:
    """Return the weights over the largest, and the log of the mean weight."""
    top = log_weights.max(initial=-np.inf)
    if top == -np.inf:
        raise SettingError(
            "None of the {n} samples agrees with the evidence: it is impossible, or too improbable for "
            "likelihood weighting. Raise n_samples, or use query or log_probability, which are exact.",
            n=len(log_weights),
        )
    weights = np.exp(log_weights - top)
    return weights, float(top + np.log(weights.mean()))


def weighted_cells(
    forward: Forward,
    cells: Cells,
    evidence: Evidence,
    n: int,
    rng: np.random.Generator,
    numeric: Numeric | None = None,
    known: Floats | None = None,
) -> tuple[Ints, Floats]:
    """Return the cell and the log weight of each of n samples."""
    at, log_weights = np.zeros(n, np.int64), np.zeros(n)
    for rows, codes, _, logs in weighted_chunks(forward, cells.targets, (), evidence, n, rng, numeric, known):
        at[rows], log_weights[rows] = cells.of_rows(codes), logs
    return at, log_weights


def weighted_numbers(
    forward: Forward,
    targets: Sequence[int],
    evidence: Evidence,
    n: int,
    rng: np.random.Generator,
    numeric: Numeric,
    known: Floats,
) -> tuple[Floats, Floats]:
    """Return the values of numeric nodes (samples × targets) and the log weight of each of n samples."""
    values, log_weights = np.zeros((n, len(targets))), np.zeros(n)
    for rows, _, drawn, logs in weighted_chunks(forward, (), targets, evidence, n, rng, numeric, known):
        values[rows], log_weights[rows] = drawn[:, list(targets)], logs
    return values, log_weights


def weighted_chunks(
    forward: Forward,
    targets: Sequence[int],
    numeric_targets: Sequence[int],
    evidence: Evidence,
    n: int,
    rng: np.random.Generator,
    numeric: Numeric | None,
    known: Floats | None,
) -> Iterator[tuple[slice, Ints, Floats, Floats]]:
    """Yield rows, their codes, the values of numeric nodes, and the log weights.

    Only what the targets and the evidence depend on is drawn.
    """
    p = forward.potentials
    needed = [*targets, *np.flatnonzero(evidence.codes >= 0), *evidence.likelihoods]
    wanted: list[int] = []
    if numeric is not None and known is not None:
        wanted = [*(int(k) for k in np.flatnonzero(~np.isnan(known))), *numeric_targets]
        above = numeric.ancestral(wanted)
        needed += [c for k in np.flatnonzero(above) for c in numeric.nodes[k][1]]
    forward = forward.only(ancestral(p, needed))
    soft = np.zeros(int(p.offsets[-1]))
    for v, likelihood in evidence.likelihoods.items():
        soft[p.offsets[v] : p.offsets[v + 1]] = logs_of(likelihood)
    width = len(forward.order)
    extra = len(numeric.nodes) if numeric is not None and wanted else 0
    for start, uniforms in uniform_chunks(rng, n, width + extra):
        log_weights = np.zeros(len(uniforms))
        codes = np.zeros((len(uniforms), p.n_variables), np.int64)
        _weigh(forward, evidence, soft, uniforms, codes, log_weights)
        values = np.zeros((len(uniforms), extra))
        if numeric is not None and known is not None and wanted:
            log_weights += _density(numeric, known, wanted, codes, uniforms[:, width:], values)
        yield slice(start, start + len(uniforms)), codes, values, log_weights


def _weigh(
    forward: Forward, evidence: Evidence, soft: Floats, uniforms: Floats, codes: Ints, log_weights: Floats
) -> None:
    """Fill codes and add to the log weights; ``soft`` are the log likelihoods of every state of every variable."""
    p = forward.potentials
    for places, rule in forward.stretches():
        if rule is not None:
            v = int(forward.order[places.start])
            logs, code = forward.log_rows(rule, places.start, codes), int(evidence.codes[v])
            if code >= 0:
                codes[:, v] = code
                log_weights += logs[:, code]
            else:
                codes[:, v] = draw_rows(logs, uniforms[:, places.start])
            log_weights += soft[p.offsets[v] + codes[:, v]]
            continue
        weighted_rows(
            forward.order[places],
            forward.factor_of,
            p.sizes,
            p.scope,
            p.scope_start,
            p.values,
            p.value_start,
            evidence.codes,
            p.offsets,
            soft,
            np.ascontiguousarray(uniforms[:, places]),
            codes,
            log_weights,
        )


def _density(
    numeric: Numeric, known: Floats, wanted: list[int], codes: Ints, uniforms: Floats, values: Floats
) -> Floats:
    """Return the log weight of each row from observed numeric nodes; fill the values of these and their ancestors."""
    above = numeric.ancestral(wanted)
    log_weights = np.zeros(len(codes))
    for k in numeric.order:
        if not above[k]:
            continue
        if np.isnan(known[k]):
            numeric.draw(k, codes, uniforms, values)
        else:
            value = float(known[k])
            mean, variance = numeric.moments(k, codes, values)
            log_weights += log_normal(value - mean, variance, np.maximum(np.abs(mean), abs(value)))[0]
            values[:, k] = value
    return log_weights


def weighted_shares(at: Ints, weights: Floats, cells: Cells) -> Shares:
    """Return the estimate from the cell and the weight of each sample; some weight is positive."""
    squares = (weights**2).sum()
    values = np.bincount(at, weights, cells.size)
    # Not weights.sum(), which rounds differently: if all samples are in one cell, the result must be exactly one.
    total = values.sum()
    values = values / total
    within = np.bincount(at, weights**2, cells.size)  # Σ w² of the samples in each cell
    variance = within * (1 - values) ** 2 + np.maximum(squares - within, 0.0) * values**2
    worth = float(total**2 / squares)
    errors = cells.errors(values, variance / total**2, float(weights.max() / total))
    return Shares(values.reshape(cells.shape), errors, worth)


def rejection(
    forward: Forward, cells: Cells, evidence: Evidence, n: int, rng: np.random.Generator
) -> tuple[Shares, int]:
    """Estimate the targets' distribution from the accepted ones of n rows; also return their number.

    Soft evidence accepts a row with probability equal to its likelihood (which must not exceed one).
    """
    p = forward.potentials
    observed = np.flatnonzero(evidence.codes >= 0)
    forward = forward.only(ancestral(p, [*cells.targets, *observed, *evidence.likelihoods]))
    width, soft = len(forward.order), list(evidence.likelihoods.items())
    found = [np.zeros(0, np.int64)]
    for _, uniforms in uniform_chunks(rng, n, width + len(soft)):
        codes = np.zeros((len(uniforms), p.n_variables), np.int64)
        forward.fill(uniforms, codes)
        agrees = (codes[:, observed] == evidence.codes[observed]).all(axis=1)
        for k, (v, likelihood) in enumerate(soft):
            agrees &= uniforms[:, width + k] < likelihood[codes[:, v]]
        found.append(cells.of_rows(codes[agrees]))
    at = np.concatenate(found)
    if not len(at):
        raise SettingError(
            "None of the {n} samples agrees with the evidence: it is impossible, or too improbable for "
            'rejection sampling. Raise n_samples, or use method="likelihood weighting", or query, which is '
            "exact.",
            n=n,
        )
    return weighted_shares(at, np.ones(len(at)), cells), len(at)
