"""What a table P(x_j | c, x_i) is estimated from: pair counts, imaginary counts, back-off constants.

Kernels read these arrays one cell at a time, so that the same arithmetic gives look-up tables, answers for rows
with holes, and answers with the row itself left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit.priors import AnyPrior, BackOff, BDeu, Smoothing, WittenBell, one_more_cell
from bayeskit.schema import Schema
from bayeskit.statistics.pairs import Pairs
from bayeskit.typing import Floats

Places = NDArray[np.uintp]

# How the prior of an attribute works: imaginary counts, back-off with constants, back-off by Witten and Bell.
IMAGINARY, BACK_OFF, WITTEN_BELL = 0, 1, 2


class PairCells(NamedTuple):
    """Counts and priors of all pairs of d attributes with T states together (spare cells included).

    Attributes
    ----------
    counts : array of shape (T, T, K)
        As in :class:`bayeskit.statistics.pairs.Pairs`.
    offsets : uintp array of shape (d + 1,)
    real : uintp array of shape (d,)
        The number of states; this very code is the spare cell, the next one means unseen.
    sizes : uintp array of shape (d,)
        One more than ``real`` where missing is a state.
    mode : int64 array of shape (d,)
    mass : array of shape (T,)
        The imaginary count of each state, for one configuration of the class alone.
    extra : array of shape (d,)
        That of a value never learned; 0 where such values are left out.
    total_mass : array of shape (d,)
    alike : array of shape (d,)
        How many states share what is left when nothing is known.
    first : array of shape (d, K)
        n(c) over the rows where the attribute is present.
    scale : array of shape (d, d)
        By what to multiply the imaginary counts of child j under parent i (BDeu spreads them).
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
    """Lay counts and priors out for the kernels.

    ``constants`` are those of levels 0 and 1, needed where some attribute backs off.
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
    for j, (variable, prior) in enumerate(zip(variables, priors)):
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
