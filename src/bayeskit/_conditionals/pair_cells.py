"""The input for estimating P(x_j | c, x_i): pair counts, imaginary counts, back-off constants.

Kernels read these arrays one cell at a time, so that the same arithmetic is used for look-up tables, for rows with
missing values, and for leave-one-out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._numba import kernel
from bayeskit._schema import Schema
from bayeskit._statistics.tables import Pairs
from bayeskit.priors import AnyPrior, BackOff, BDeu, Smoothing, WittenBell, one_more_cell
from bayeskit.typing import Floats

_U = np.uintp

# Kernels unpack the fields of PairCells once, at their beginning: repeated access to the tuple would cost more than the
# arithmetic. Local names are those of the fields; n_classes comes from the counts. Constants are passed as NumPy types
# (np.bool_, np.intp), because a literal has a type of its own and would compile the callee again.


@kernel
def is_present(real: Any, sizes: Any, j: Any, x: Any) -> Any:
    """Whether a code is a state (missing may be one) or unseen. Otherwise the cell is missing."""
    return x < sizes[j] or x == real[j] + _U(1)


@kernel
def cell(
    counts: Any, offsets: Any, real: Any, sizes: Any, mode: Any, mass: Any, extra: Any, total_mass: Any, alike: Any,
    first: Any, scale: Any, constants: Any, j: Any, x: Any, i: Any, parent: Any, c: Any, own: float, own_pair: float,
) -> Any:  # fmt: skip
    """Return P(x_j = x | c, x_i = parent), or P(x_j = x | c) with ``i`` below 0.

    ``own`` is the weight to leave out of n(x_j, c), ``own_pair`` that to leave out of n(x_j, x_i, c).
    """
    start, states, kind = offsets[j], real[j], mode[j]
    novel = x > states
    here = start if novel else start + x
    n0, total0, n1, total1 = 0.0, 0.0, 0.0, 0.0
    above = start
    if i < 0 or kind != 0:
        total0 = max(first[j, c] - own, 0.0)
        if not novel:
            n0 = max(counts[here, here, c] - own, 0.0)
    if i >= 0 and parent <= real[i]:
        above = offsets[i] + parent
        total1 = counts[above, above, c] - own_pair
        if sizes[j] == states:
            total1 -= counts[above, start + states, c]
        total1 = max(total1, 0.0)
        if not novel:
            n1 = max(counts[above, here, c] - own_pair, 0.0)
    if kind == 0:
        if novel and extra[j] == 0.0:
            return 1.0
        factor = scale[i, j] if i >= 0 else 1.0
        imaginary = extra[j] if novel else mass[here]
        n, total = (n1, total1) if i >= 0 else (n0, total0)
        whole = total + factor * total_mass[j]
        return (n + factor * imaginary) / whole if whole > 0.0 else 1.0 / alike[j]
    c0, c1 = constants[0], constants[1]
    if kind == 2:
        c0 = _distinct(counts, offsets, sizes, j, start, c, x, own, np.bool_(False))
        c1 = 0.0
        if i >= 0 and total1 > 0.0:
            c1 = _distinct(counts, offsets, sizes, j, above, c, x, own_pair, np.bool_(True))
    p = (n0 + c0 / alike[j]) / (total0 + c0) if total0 + c0 > 0.0 else 1.0 / alike[j]
    return (n1 + c1 * p) / (total1 + c1) if i >= 0 and total1 + c1 > 0.0 else p


@kernel
def _distinct(
    counts: Any, offsets: Any, sizes: Any, j: Any, above: Any, c: Any, own_state: Any, own: float, given: bool
) -> float:
    """Count the states of attribute j that are seen with class c (and a parent's state)."""
    start = offsets[j]
    found = 0.0
    for v in range(sizes[j]):
        here = start + _U(v)
        n = counts[above, here, c] if given else counts[here, here, c]
        if _U(v) == own_state:
            # Ignore rounding errors of fractional weights.
            left = n - own
            n = left if left > 4e-15 * n else 0.0
        if n > 0.0:
            found += 1.0
    return found


@kernel
def fill_children(cells: Any, parents: Any, starts: Any, table: Any) -> None:
    """Write log P(x_j | c, x_parent) of every child: blocks of (parent's codes) × (child's codes) × classes.

    Codes are the states, the spare cell and unseen; a missing value has the logarithm 0, so it has no effect.
    """
    counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants = cells
    d, n_classes = len(parents), counts.shape[2]
    for j in range(d):
        i = parents[j]
        width = real[j] + _U(2)
        height = real[i] + _U(2) if i >= 0 else _U(1)
        for u in range(height):
            for v in range(width):
                row = starts[j] + _U(u) * width + _U(v)
                for c in range(n_classes):
                    if is_present(real, sizes, j, _U(v)):
                        p = cell(
                            counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants,
                            j, _U(v), i, _U(u), c, 0.0, 0.0,
                        )  # fmt: skip
                        table[row, c] = np.log(p)
                    else:
                        table[row, c] = 0.0


@kernel
def fill_averaged(cells: Any, starts: Any, table: Any) -> None:
    """Write log P(x_j | c, x_i) of all pairs: ``table[g, h, c]`` over codes of all attributes one after another.

    Each attribute has its states, the spare cell, unseen, and one code for "left out".
    """
    counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale, constants = cells
    d, n_classes = len(real), counts.shape[2]
    for i in range(d):
        for u in range(sizes[i]):
            g = starts[i] + _U(u)
            for j in range(d):
                for v in range(real[j] + _U(3)):
                    h = starts[j] + _U(v)
                    for c in range(n_classes):
                        if i != j and is_present(real, sizes, j, _U(v)):
                            p = cell(
                                counts, offsets, real, sizes, mode, mass, extra, total_mass, alike, first, scale,
                                constants, j, _U(v), i, _U(u), c, 0.0, 0.0,
                            )  # fmt: skip
                            table[g, h, c] = np.log(p)
                        else:
                            table[g, h, c] = 0.0


Places = NDArray[np.uintp]

# How the prior of an attribute works: imaginary counts, back-off with constants, back-off by Witten and Bell.
IMAGINARY, BACK_OFF, WITTEN_BELL = 0, 1, 2


class PairCells(NamedTuple):
    """Counts and priors of all pairs of d attributes with T states together (spare cells included).

    Attributes
    ----------
    counts : array of shape (T, T, K)
        As in :class:`bayeskit._statistics.tables.Pairs`.
    offsets : uintp array of shape (d + 1,)
    real : uintp array of shape (d,)
        The number of states; this very code is the spare cell, the next one means unseen.
    sizes : uintp array of shape (d,)
        One more than ``real`` if missing is a state.
    mode : int64 array of shape (d,)
    mass : array of shape (T,)
        The imaginary count of each state, for one configuration of the class alone.
    extra : array of shape (d,)
        The imaginary count of unseen; 0 if unseen values are left out.
    total_mass : array of shape (d,)
    alike : array of shape (d,)
        The number of states that share the probability if there are neither rows nor a prior.
    first : array of shape (d, K)
        n(c) over the rows where the attribute is present.
    scale : array of shape (d, d)
        The factor for the imaginary counts of child j under parent i (BDeu spreads them).
    constants : array of shape (2,)
        Back-off constants of level 0 (the class) and level 1 (one parent).
    """

    counts: Floats
    offsets: Places
    real: Places
    sizes: Places
    mode: NDArray[np.int64]
    mass: Floats
    extra: Floats
    total_mass: Floats
    alike: Floats
    first: Floats
    scale: Floats
    constants: Floats


def pair_cells(
    pairs: Pairs,
    schema: Schema,
    smoothing: Smoothing,
    constants: Sequence[float] | None,
    *,
    missing: str,
    unseen: str,
) -> PairCells:
    """Return counts and priors in the layout of the kernels.

    ``constants`` are the back-off constants of levels 0 and 1, needed if some attribute backs off.
    """
    variables = schema.categorical
    offsets = np.asarray(schema.offsets, dtype=np.intp)
    spare = offsets[1:] - 1
    n_classes = schema.n_classes
    diagonal = pairs.tables.counts
    is_state = diagonal[spare].sum(axis=1) > 0 if missing == "state" else np.zeros(len(variables), dtype=bool)
    priors = [smoothing.of(v) for v in variables]
    modes = [_mode(prior) for prior in priors]
    mass, extra = np.zeros(int(offsets[-1])), np.zeros(len(variables))
    for j, (variable, prior) in enumerate(zip(variables, priors, strict=True)):
        if modes[j] != IMAGINARY:
            continue
        cells = prior.cells(variable, n_classes)
        mean = one_more_cell(prior, variable, n_classes)
        mass[offsets[j] : spare[j]] = cells
        mass[spare[j]] = mean if is_state[j] else 0.0
        extra[j] = mean if unseen == "smooth" else 0.0
    totals = np.add.reduceat(mass, offsets[:-1]) + extra if len(variables) else extra
    first = np.add.reduceat(diagonal, offsets[:-1], axis=0) if len(variables) else np.zeros((0, n_classes))
    first = first - np.where(is_state[:, None], 0.0, diagonal[spare])
    sizes = np.array([v.size for v in variables], dtype=np.uintp)
    states = sizes + is_state
    steps_back = np.array(modes) != IMAGINARY
    spread = np.array([isinstance(prior, BDeu) for prior in priors], dtype=bool)
    scale = np.where(spread[None, :], 1.0 / np.maximum(states, 1)[:, None], 1.0)
    return PairCells(
        np.ascontiguousarray(pairs.counts),
        schema.offsets,
        sizes,
        states.astype(np.uintp),
        np.array(modes, dtype=np.int64),
        mass,
        extra,
        totals,
        np.maximum(states + ((extra > 0) | (steps_back & (unseen == "smooth"))), 1).astype(np.float64),
        np.ascontiguousarray(first),
        np.ascontiguousarray(scale, dtype=np.float64),
        np.ones(2) if constants is None else np.asarray(constants, dtype=np.float64),
    )


def _mode(prior: AnyPrior) -> int:
    if isinstance(prior, WittenBell):
        return WITTEN_BELL
    return BACK_OFF if isinstance(prior, BackOff) else IMAGINARY
