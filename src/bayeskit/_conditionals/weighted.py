r"""Weighted conditionals: the factor of each attribute is raised to its weight.

.. math:: \prod_i P(x_i \mid c)^{w_i}

A weight of 0 leaves the attribute out, even if its factor is 0. Such a product is not a distribution of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayeskit._conditionals.categorical import CountedTables, TableConditional
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.gaussian import (
    CountedMoments,
    Gaussian,
    add_log_density,
    infinite_value,
    normals,
)
from bayeskit._conditionals.kernels.gaussian_scores import TILE
from bayeskit._conditionals.presence import Presence
from bayeskit._conditionals.scoring import Score
from bayeskit._data.encoded import Chunk
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class WeightedTables(Conditional):
    """Σ w_i log P(x_i | c) of all categorical attributes.

    Attributes
    ----------
    plain : TableConditional
    weights : array of shape (d,)

    Examples
    --------
    >>> log_table = np.log([[0.2, 0.8], [0.8, 0.2], [1.0, 1.0], [1.0, 1.0]])  # two states, missing, unseen
    >>> half = WeightedTables(TableConditional(log_table, np.array([0, 4], np.uintp)), np.array([0.5]))
    >>> out = np.zeros((1, 2))
    >>> half.add_log_prob(Chunk(1, np.array([[1]], np.uint8), np.empty((1, 0))), out)
    >>> np.exp(out).round(3)  # √0.8 and √0.2
    array([[0.894, 0.447]])
    """

    plain: TableConditional
    weights: Floats

    is_separate: ClassVar[bool] = True
    is_distribution = False

    @cached_property
    def _folded(self) -> TableConditional:
        offsets = self.plain.offsets.astype(np.intp)
        per_row = np.repeat(self.weights, offsets[1:] - offsets[:-1])
        return TableConditional(powered(self.plain.log_table, per_row[:, None]), self.plain.offsets)

    @cached_property
    def _singles(self) -> tuple[TableConditional, ...]:
        return tuple(_single_tables(self.plain))

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        self._folded.add_log_prob(chunk, out)

    def score(self) -> Score:
        return self._folded.score()

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        for j, (single, weight) in enumerate(zip(self._singles, self.weights, strict=True)):
            alone = np.zeros(out.shape)
            column = np.ascontiguousarray(chunk.codes[:, j : j + 1])
            single.add_left_out(replace(chunk, codes=column), own, alone)
            out += powered(alone, weight)


@dataclass(frozen=True, eq=False)
class WeightedGaussian(Conditional):
    """Σ w_j log p(x_j | c) of numeric attributes.

    Attributes
    ----------
    plain : Gaussian
    weights : array of shape (d,)
    """

    plain: Gaussian
    weights: Floats

    is_separate: ClassVar[bool] = True
    is_distribution = False

    @cached_property
    def _arrays(self) -> tuple[Floats, ...]:
        """The arguments of the kernel: w·(norm − z²) is w·norm − (√w·z)²."""
        normal, used = self.plain, self.plain.used & (self.weights > 0.0)
        weights = self.weights[used]
        mean, low, deviation = (a[:, used] for a in (normal.mean, normal.mean_low, normal.deviation))
        norm = weights * (-np.log(deviation) - 0.5 * np.log(2.0 * np.pi))
        inverse = np.sqrt(0.5 * weights) / deviation
        places = normal.columns[used].astype(np.uintp)
        return (places, *map(np.ascontiguousarray, (mean, low, inverse, norm)), norm.sum(axis=1))

    @cached_property
    def _singles(self) -> tuple[Gaussian, ...]:
        return tuple(_single_gaussians(self.plain))

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        tile, sums = np.empty((len(self._arrays[0]), TILE)), np.empty((len(self.plain.mean), TILE))
        infinite = add_log_density(chunk.values, *self._arrays, tile, sums, out)
        if infinite >= 0:
            raise infinite_value(chunk.values, infinite)

    def score(self) -> Score:
        places, mean, low, inverse, norm, _ = self._arrays
        return normals(map(int, places), norm, mean, low, inverse)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        for single, weight in zip(self._singles, self.weights, strict=True):
            alone = np.zeros(out.shape)
            single.add_left_out(chunk, own, alone)
            out += powered(alone, weight)


@dataclass(frozen=True, eq=False)
class WeightedPresence(Conditional):
    """Σ w_j log P(present or missing | c) of numeric attributes.

    Attributes
    ----------
    plain : Presence
    weights : array of shape (d,)
        Of the attributes at ``plain.columns``.
    """

    plain: Presence
    weights: Floats

    is_separate: ClassVar[bool] = True
    is_distribution = False

    @cached_property
    def _folded(self) -> Presence:
        weights = self.weights[:, None]
        logs = powered(self.plain.log_present, weights), powered(self.plain.log_missing, weights)
        return replace(self.plain, log_present=logs[0], log_missing=logs[1])

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        self._folded.add_log_prob(chunk, out)

    def score(self) -> Score:
        return self._folded.score()

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        plain = self.plain
        for j, weight in enumerate(self.weights):
            one = slice(j, j + 1)
            logs = plain.log_present[one], plain.log_missing[one]
            alone = np.zeros(out.shape)
            single = Presence(plain.columns[one], *logs, plain.present[one], plain.missing[one], plain.alpha)
            single.add_left_out(chunk, own, alone)
            out += powered(alone, weight)


def powered(log: Floats, weight: float | Floats) -> Floats:
    """Return the logarithm of a factor raised to a weight; 0⁰ is 1.

    >>> powered(np.array([-np.inf, -np.inf, -2.0]), np.array([0.0, 0.5, 0.5]))
    array([  0., -inf,  -1.])
    """
    weight = np.broadcast_to(weight, log.shape)
    return np.multiply(log, weight, out=np.zeros(log.shape), where=weight > 0.0)


def _single_tables(tables: TableConditional) -> Iterator[TableConditional]:
    """Yield the table of each attribute separately, with its counts."""
    counted = tables.counted
    assert counted is not None
    for j in range(len(tables.offsets) - 1):
        here = slice(int(tables.offsets[j]), int(tables.offsets[j + 1]))
        there = slice(int(counted.offsets[j]), int(counted.offsets[j + 1]))
        own = CountedTables(
            counted.counts[there],
            None if counted.counts_low is None else counted.counts_low[there],
            np.array([0, there.stop - there.start], dtype=np.uintp),
            counted.imaginary[there],
            counted.prior[j : j + 1],
            counted.spare[j : j + 1],
        )
        places = np.array([0, here.stop - here.start], dtype=np.uintp)
        yield TableConditional(tables.log_table[here], places, own)


def _single_gaussians(normal: Gaussian) -> Iterator[Gaussian]:
    """Yield the density of each attribute separately, with its moments."""
    assert normal.counted is not None
    for j in range(len(normal.columns)):
        one = np.array([j])
        counted = CountedMoments(normal.counted.classes.columns(one), normal.counted.pooled.columns(one))
        yield replace(
            normal,
            mean=normal.mean[:, one],
            mean_low=normal.mean_low[:, one],
            variance=normal.variance[:, one],
            deviation=normal.deviation[:, one],
            used=normal.used[one],
            columns=normal.columns[one],
            counted=counted,
        )
