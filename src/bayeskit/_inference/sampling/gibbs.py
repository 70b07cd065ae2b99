"""Gibbs sampling: resamples each variable given its Markov blanket, and tied variables together."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._inference.potentials import Contradiction, Evidence, Potentials
from bayeskit._inference.relevant import ancestral, relevant_factors, with_tables
from bayeskit._inference.sampling.estimate import Cells
from bayeskit._inference.sampling.forward import draw, logs_of, uniform_chunks
from bayeskit._messages import listed
from bayeskit._numba import kernel
from bayeskit.errors import UsageError
from bayeskit.typing import Floats, Ints

Bools = NDArray[np.bool_]
# Variables, and which of their joint (allowed) states are possible.
Tie = tuple[tuple[int, ...], Bools]


class Support:
    """The states that zeros, one table at a time, do not exclude; and the remaining zeros.

    Attributes
    ----------
    allowed : for each variable, the codes still possible
    ties : the tables that still have a zero among allowed states, reduced to the variables on which the zeros
    depend. Every other table is positive for all allowed states, so a joint state is possible exactly if all
    ties allow it.
    """

    def __init__(self, potentials: Potentials, factors: Sequence[int], evidence: Evidence) -> None:
        self._potentials = potentials
        self._mask = [np.ones(int(size), bool) for size in potentials.sizes]
        for v in np.flatnonzero(evidence.codes >= 0).tolist():
            self._mask[v] = np.arange(len(self._mask[v])) == evidence.codes[v]
        for v, likelihood in evidence.likelihoods.items():
            self._mask[v] &= likelihood > 0
        if any(not mask.any() for mask in self._mask):
            raise Contradiction
        with_zeros = [f for f in factors if not (potentials.table_of(f) > 0).all()]
        self._settle(with_zeros)
        self.allowed: list[Ints] = [np.flatnonzero(mask) for mask in self._mask]
        self.ties: list[Tie] = [tie for f in with_zeros for tie in self._tie(f)]

    def _possible(self, f: int) -> tuple[list[int], Bools]:
        """Return the scope of a factor and which of its allowed states are positive."""
        scope = self._potentials.scope_of(f)
        table = self._potentials.table_of(f)
        return scope, table[np.ix_(*(np.flatnonzero(self._mask[v]) for v in scope))] > 0

    def _settle(self, factors: list[int]) -> None:
        """Exclude states for which some table has only zeros, until nothing changes."""
        holding: dict[int, list[int]] = {}
        for f in factors:
            for v in self._potentials.scope_of(f):
                holding.setdefault(v, []).append(f)
        waiting, queued = deque(factors), set(factors)
        while waiting:
            f = waiting.popleft()
            queued.discard(f)
            scope, possible = self._possible(f)
            if not possible.any():
                raise Contradiction
            for axis, v in enumerate(scope):
                alive = possible.any(axis=tuple(a for a in range(possible.ndim) if a != axis))
                if not alive.all():
                    self._mask[v][np.flatnonzero(self._mask[v])[~alive]] = False
                    again = [g for g in holding[v] if g not in queued]
                    waiting.extend(again)
                    queued.update(again)

    def _tie(self, f: int) -> list[Tie]:
        scope, possible = self._possible(f)
        if possible.all():
            return []
        varying = [axis for axis in range(possible.ndim) if (possible != possible.take([0], axis=axis)).any()]
        kept = tuple(slice(None) if axis in varying else 0 for axis in range(possible.ndim))
        return [(tuple(scope[axis] for axis in varying), possible[kept])]


MOST_STATES = 4096


@dataclass(frozen=True, eq=False)
class Block:
    """Variables and their possible joint states, one per row."""

    variables: tuple[int, ...]
    states: Ints


def blocks_of(potentials: Potentials, support: Support, variables: list[int]) -> list[Block]:
    """Return the blocks of the variables that are not determined yet.

    Variables that share a tie are in one block, so every tie lies inside a block. The possible joint states
    are then all combinations of possible states of the blocks. Resampling block after block reaches every one
    of them, so the chain is irreducible.
    """
    root = {v: v for v in variables}

    def top(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for scope, _ in support.ties:
        for v in scope[1:]:
            root[top(v)] = top(scope[0])
    members: dict[int, list[int]] = {}
    for v in variables:
        members.setdefault(top(v), []).append(v)
    ties: dict[int, list[Tie]] = {}
    for tie in support.ties:
        ties.setdefault(top(tie[0][0]), []).append(tie)
    found = []
    for first, block in members.items():
        if len(block) > 1:
            found.append(_joint(potentials, support, ties[first]))
        elif len(support.allowed[block[0]]) > 1:
            found.append(Block((block[0],), support.allowed[block[0]][:, None]))
    return found


def _joint(potentials: Potentials, support: Support, ties: list[Tie]) -> Block:
    """Return the joint states that all ties allow, adding one variable at a time."""
    order = _connected(ties)
    column = {v: k for k, v in enumerate(order)}
    # A tie can be checked when its last variable is added.
    ready: dict[int, list[Tie]] = {}
    for tie in ties:
        ready.setdefault(max(column[v] for v in tie[0]), []).append(tie)
    states = np.zeros((1, 0), np.int64)  # indices of the allowed codes
    for k, v in enumerate(order):
        new = np.arange(len(support.allowed[v]))
        states = np.column_stack([np.repeat(states, len(new), axis=0), np.tile(new, len(states))])
        for scope, possible in ready.get(k, ()):
            states = states[possible[tuple(states[:, column[u]] for u in scope)]]
        if len(states) > MOST_STATES:
            names = [potentials.names[u] for u in order]
            shown = listed(map(repr, names), 12)
            raise UsageError(
                "Zeros in the tables tie {shown} together: resampled one at a time they would not reach all "
                "their states, and together they have more than {most_states}, too many to resample at once. "
                'Use method="likelihood weighting" or "loopy", or query, which is exact.',
                shown=shown,
                most_states=MOST_STATES,
            )
    if not len(states):
        raise Contradiction
    codes = np.column_stack([support.allowed[v][states[:, k]] for k, v in enumerate(order)])
    return Block(tuple(order), codes)


def _connected(ties: list[Tie]) -> list[int]:
    """Return the variables of the ties in an order in which each shares a tie with an earlier one."""
    holding: dict[int, list[int]] = {}
    for t, (scope, _) in enumerate(ties):
        for v in scope:
            holding.setdefault(v, []).append(t)
    first = min(holding)
    order, seen, used = [first], {first}, set()
    for v in order:  # grows during the loop
        for t in holding[v]:
            if t not in used:
                used.add(t)
                fresh = [u for u in ties[t][0] if u not in seen]
                seen.update(fresh)
                order.extend(fresh)
    return order


def _halves(draws: Floats) -> Floats:
    """Split every chain in two: a chain that drifts disagrees with itself."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def split_r_hat(draws: Floats) -> float:
    r"""Return the split R-hat of draws (chains × draws of one number).

    .. math:: \hat R = \sqrt{\frac{(n-1)/n \cdot W + B/n}{W}}

    with W the mean variance within the half-chains of length n and B/n the variance of their means (Gelman
    and others, *Bayesian Data Analysis*). Draws that never change give 1; half-chains stuck at different
    numbers give infinity.

    Examples
    --------
    >>> split_r_hat(np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]])).__round__(4)
    0.7071
    """
    parts = _halves(draws)
    if parts.shape[1] < 2:
        return math.nan
    n = parts.shape[1]
    within = float(parts.var(axis=1, ddof=1).mean())
    between = float(parts.mean(axis=1).var(ddof=1))
    if within == 0:
        return 1.0 if between == 0 else math.inf
    return math.sqrt(((n - 1) / n * within + between) / within)


def effective_sample_size(draws: Floats) -> float:
    r"""Return the number of independent draws with the same error of the mean as these (chains × draws).

    .. math:: N / \Big(1 + 2 \sum_t \hat\rho_t\Big)

    The autocorrelations of all half-chains are pooled with the variance between them. They are summed in
    pairs while the pairs are positive, with each pair at most as large as the previous one (Geyer's initial
    monotone sequence; Vehtari and others, 2021).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> 3500 < effective_sample_size(rng.normal(size=(4, 1000))) < 4500
    True
    """
    parts = _halves(draws)
    m, n = parts.shape
    if n < 4 or np.ptp(parts) == 0:
        return float(m * n)
    covariance = _autocovariance(parts)
    within = float((covariance[:, 0] * n / (n - 1)).mean())
    pooled = within * (n - 1) / n + float(parts.mean(axis=1).var(ddof=1))
    rho = 1 - (within - covariance.mean(axis=0) * n / (n - 1)) / pooled
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    ended = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: ended[0] if len(ended) else len(pairs)])
    time = max(-1 + 2 * float(pairs.sum()), 1 / math.log10(m * n))
    return float(m * n / time)


def _autocovariance(parts: Floats) -> Floats:
    """Return the autocovariance of each row at every lag, by Fourier transform."""
    n = parts.shape[1]
    centred = parts - parts.mean(axis=1, keepdims=True)
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, length)
    return np.asarray(np.fft.irfft(spectrum * spectrum.conj(), length)[:, :n] / n)


@kernel
def gibbs_sweeps(
    x: Any,
    uniforms: Any,
    block_start: Any,
    block_variable: Any,
    state_start: Any,
    n_states: Any,
    state_code: Any,
    pair_start: Any,
    pair_base: Any,
    outer_start: Any,
    outer_variable: Any,
    outer_stride: Any,
    inner_start: Any,
    inner: Any,
    log_values: Any,
    weights: Any,
    targets: Any,
    strides: Any,
    cells: Any,
) -> None:
    """Resample all blocks once for each row of uniforms (sweeps × blocks); write the targets' cell after each sweep.

    A pair is a block and a factor that contains some of its variables. The cell of the factor is pair_base,
    plus code × stride of its variables outside the block, plus inner[…] of the block's joint state.
    """
    for sweep in range(uniforms.shape[0]):
        for b in range(block_start.shape[0] - 1):
            count = n_states[b]
            for s in range(count):
                weights[s] = 0.0
            for pair in range(pair_start[b], pair_start[b + 1]):
                at = pair_base[pair]
                for o in range(outer_start[pair], outer_start[pair + 1]):
                    at += x[outer_variable[o]] * outer_stride[o]
                first = inner_start[pair]
                for s in range(count):
                    weights[s] += log_values[at + inner[first + s]]
            top = -np.inf
            for s in range(count):
                top = max(top, weights[s])
            for s in range(count):
                weights[s] = np.exp(weights[s] - top)
            chosen = draw(weights, 0, count, uniforms[sweep, b])
            width = block_start[b + 1] - block_start[b]
            place = state_start[b] + chosen * width
            for k in range(width):
                x[block_variable[block_start[b] + k]] = state_code[place + k]
        cell = 0
        for t in range(targets.shape[0]):
            cell += x[targets[t]] * strides[t]
        cells[sweep] = cell


@dataclass(frozen=True, eq=False)
class Sampler:
    """The blocks and the tables of a sweep, stored flat for the kernel."""

    blocks: list[Block]
    settled: Ints
    arrays: tuple[Ints | Floats, ...]

    @classmethod
    def of(cls, potentials: Potentials, evidence: Evidence, targets: Sequence[int]) -> Sampler:
        seeds = [*targets, *np.flatnonzero(evidence.codes >= 0), *evidence.likelihoods]
        relevant = ancestral(potentials, seeds)
        factors = relevant_factors(potentials, relevant)
        potentials = with_tables(potentials, evidence, factors)
        support = Support(potentials, factors, evidence)
        variables = [int(v) for v in np.flatnonzero(relevant)]
        blocks = blocks_of(potentials, support, variables)
        settled = np.array([int(codes[0]) for codes in support.allowed], np.int64)
        return cls.laid_out(potentials, evidence, factors, blocks, settled)

    @classmethod
    def laid_out(
        cls,
        potentials: Potentials,
        evidence: Evidence,
        factors: Sequence[int],
        blocks: list[Block],
        settled: Ints,
    ) -> Sampler:
        """Lay out given blocks. ``settled`` are the codes of the variables in no block."""
        tables = [potentials.values]
        pieces = [(potentials.scope_of(f), int(potentials.value_start[f])) for f in factors]
        end = len(potentials.values)
        for v, likelihood in evidence.likelihoods.items():
            tables.append(likelihood)
            pieces.append(([v], end))
            end += len(likelihood)
        holding: dict[int, list[int]] = {}
        for piece, (scope, _) in enumerate(pieces):
            for v in scope:
                holding.setdefault(v, []).append(piece)
        sizes = [int(s) for s in potentials.sizes]
        moving = {v for block in blocks for v in block.variables}
        pair_start, pair_base, outer_start, inner_start = [0], [], [0], []
        outer_variable: list[int] = []
        outer_stride: list[int] = []
        inner: list[Ints] = []
        filled = 0
        for block in blocks:
            column = {v: k for k, v in enumerate(block.variables)}
            for piece in sorted({p for v in block.variables for p in holding.get(v, ())}):
                scope, base = pieces[piece]
                inside = np.zeros(len(block.states), np.int64)
                stride = 1
                for v in reversed(scope):
                    if v in column:
                        inside += block.states[:, column[v]] * stride
                    elif v in moving:
                        outer_variable.append(v)
                        outer_stride.append(stride)
                    else:
                        base += int(settled[v]) * stride
                    stride *= sizes[v]
                pair_base.append(base)
                outer_start.append(len(outer_variable))
                inner_start.append(filled)
                inner.append(inside)
                filled += len(inside)
            pair_start.append(len(pair_base))
        arrays = (
            _starts([len(block.variables) for block in blocks]),
            _ints([v for block in blocks for v in block.variables]),
            _starts([block.states.size for block in blocks]),
            _ints([len(block.states) for block in blocks]),
            np.concatenate([_ints([]), *(block.states.ravel() for block in blocks)]),
            _ints(pair_start),
            _ints(pair_base),
            _ints(outer_start),
            _ints(outer_variable),
            _ints(outer_stride),
            _ints(inner_start),
            np.concatenate([_ints([]), *inner]),
            logs_of(np.concatenate(tables)),
        )
        return cls(blocks, settled, arrays)

    def _start(self, rng: np.random.Generator) -> Ints:
        """Return where a chain starts: a possible joint state of every block, drawn uniformly."""
        x = self.settled.copy()
        for block in self.blocks:
            x[list(block.variables)] = block.states[rng.integers(len(block.states))]
        return x

    def _buffer(self) -> Floats:
        return np.zeros(max((len(block.states) for block in self.blocks), default=0))

    def chain(self, cells: Cells, n: int, burn_in: int, rng: np.random.Generator) -> Ints:
        """Return the targets' cell after each of n sweeps, following burn_in others."""
        x, weights = self._start(rng), self._buffer()
        targets = np.array(cells.targets, np.int64)
        found = np.zeros(burn_in + n, np.int64)
        for start, uniforms in uniform_chunks(rng, burn_in + n, len(self.blocks)):
            rows = slice(start, start + len(uniforms))
            gibbs_sweeps(x, uniforms, *self.arrays, weights, targets, cells.strides, found[rows])
        return found[burn_in:]

    def visited(self, n: int, sweeps: int, burn_in: int, rng: np.random.Generator) -> Ints:
        """Return the codes of all variables (n × variables), n times after so many sweeps, following burn_in others."""
        x = self._start(rng)
        weights, nothing = self._buffer(), np.zeros(0, np.int64)
        found = np.zeros((n, len(x)), np.int64)
        for row in range(-1, n):
            length = burn_in if row < 0 else sweeps
            uniforms = rng.random((length, len(self.blocks)))
            gibbs_sweeps(x, uniforms, *self.arrays, weights, nothing, nothing, np.zeros(length, np.int64))
            if row >= 0:
                found[row] = x
        return found


@dataclass(frozen=True)
class GibbsShares:
    """Probabilities of cells from several chains, with standard errors, effective sample size and split R-hat."""

    values: Floats
    standard_error: Floats
    worth: float
    r_hat: float


def gibbs(
    potentials: Potentials,
    cells: Cells,
    evidence: Evidence,
    n: int,
    n_chains: int,
    burn_in: int,
    rng: np.random.Generator,
) -> GibbsShares:
    """Estimate the targets' distribution from n sweeps of each of n_chains chains."""
    sampler = Sampler.of(potentials, evidence, cells.targets)
    chains = np.stack([sampler.chain(cells, n, burn_in, own) for own in rng.spawn(n_chains)])
    return shares_of_chains(chains, cells)


def shares_of_chains(chains: Ints, cells: Cells) -> GibbsShares:
    """Return the estimate from the cells that each chain (row) visited."""
    values = np.bincount(chains.ravel(), minlength=cells.size) / chains.size
    variances = np.zeros(cells.size)
    worth, r_hat = math.inf, 1.0
    for cell in np.flatnonzero((values > 0) & (values < 1)):
        inside = (chains == cell).astype(np.float64)
        size = effective_sample_size(inside)
        variances[cell] = values[cell] * (1 - values[cell]) / size
        worth = min(worth, size)
        r_hat = max(r_hat, split_r_hat(inside))
    worth = min(worth, float(chains.size))
    return GibbsShares(values.reshape(cells.shape), cells.errors(values, variances, 1 / worth), worth, r_hat)


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


def _starts(lengths: list[int]) -> Ints:
    return np.cumsum([0, *lengths], dtype=np.int64)
