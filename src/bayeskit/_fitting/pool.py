r"""A pool of several model forms: the weighted mean of their posteriors.

.. math:: P(c \mid x) = \sum_m w_m P_m(c \mid x)

The weights are those of least log-loss on leave-one-out posteriors, found by EM, whose every step lowers the loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit._conditionals.class_prior import ClassPrior, log_normalise
from bayeskit._conditionals.conditional import Conditional
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.leave_one_out import log_posterior
from bayeskit._fitting.model import Model, ModelForm, ModelSpec, class_prior_of, estimate
from bayeskit._schema import Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
from bayeskit.priors import MEstimate, as_smoothing, backs_off
from bayeskit.typing import Floats


@dataclass(frozen=True)
class Member:
    """One form of a pool: its name, its prior and its weight."""

    name: str
    form: ModelForm
    prior: Any
    weight: float = 1.0

    def spec(self, spec: ModelSpec) -> ModelSpec:
        """Return the pool's spec with this member's form and prior."""
        base = MEstimate(1.0) if backs_off(self.prior) else self.prior
        smoothing = as_smoothing(None, self.prior)
        return replace(spec, form=self.form, smoothing=smoothing, class_smoothing=base)


@dataclass(frozen=True)
class Pool(ModelForm):
    """Forms that are counted together and answer together.

    Attributes
    ----------
    members : tuple of Member
        Their weights add to one; a member of weight 0 is counted and not asked.
    """

    members: tuple[Member, ...]

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        """Ask once for what any of them needs."""
        found: dict[str, Pattern] = {}
        for member in self.members:
            for pattern in member.form.plan(schema, member.spec(spec)).patterns:
                held = found.get(pattern.kind)
                names = dict.fromkeys((*(held.attributes if held else ()), *pattern.attributes))
                found[pattern.kind] = Pattern(pattern.kind, tuple(names))
        return Plan(tuple(found.values()))

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        return Pool(tuple(replace(m, form=m.form.settled(statistics, m.spec(spec))) for m in self.members))

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        return (PooledPosterior(self.voters(statistics, spec)),)

    def voters(self, statistics: Statistics, spec: ModelSpec) -> tuple[Voter, ...]:
        """Estimate the members that have a weight, from statistics whose classes are weighed already."""
        found = []
        for member in self.members:
            if member.weight > 0.0:
                own = replace(member.spec(spec), class_weight=None)
                found.append(Voter(member.weight, estimate(statistics, own), class_prior_of(statistics, own)))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Voter:
    """A model with its weight in the pool."""

    weight: float
    model: Model
    prior: ClassPrior

    def posterior(self, chunk: Chunk) -> Floats:
        joint = self.model.joint_chunk(chunk)
        log_normalise(joint, self.model.log_prior)
        return np.exp(joint)

    def left_out(self, chunk: Chunk, own: Floats) -> Floats:
        assert chunk.target is not None
        log_prior = self.prior.log_left_out(chunk.target, own)
        joint = log_prior.copy() if self.model.adds_prior else np.zeros_like(log_prior)
        for conditional in self.model.conditionals:
            conditional.add_left_out(chunk, own, joint)
        return np.exp(log_posterior(joint, log_prior))


@dataclass(frozen=True, eq=False)
class PooledPosterior(Conditional):
    """log of a weighted mean of posteriors."""

    voters: tuple[Voter, ...]

    adds_prior = False
    is_distribution = False

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        mean = sum(voter.weight * voter.posterior(chunk) for voter in self.voters)
        with np.errstate(divide="ignore"):
            out += np.log(mean)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        mean = sum(voter.weight * voter.left_out(chunk, own) for voter in self.voters)
        with np.errstate(divide="ignore"):
            out += np.log(mean)


def pool_weights(posteriors: Floats, weights: Floats, most: int = 500) -> Floats:
    r"""Return the weights of members that give the rows' own classes the least log-loss.

    .. math:: w_m \leftarrow \frac{1}{N + M} \Bigl(1 + \sum_r \frac{w_m p_{rm}}{\sum_k w_k p_{rk}}\Bigr)

    Each of the M members has one imaginary row of its own: on few rows the members that were chosen by them look
    better than they are.

    Parameters
    ----------
    posteriors : array of shape (n, members)
        p of each row's own class by each member, the row left out.
    weights : array of shape (n,)

    Examples
    --------
    >>> pool_weights(np.array([[0.9, 0.1]] * 998), np.ones(998)).round(3)
    array([0.999, 0.001])
    """
    n_members = posteriors.shape[1]
    found = np.full(n_members, 1.0 / n_members)
    total = weights.sum()
    # A row that all members give 0 has no say.
    p = np.maximum(posteriors, 1e-300)
    for _ in range(most):
        # Σ_r w_m p_rm / Σ_k w_k p_rk as two products with p: no array of shares is made in each step.
        new = (1.0 + found * ((weights / (p @ found)) @ p)) / (total + n_members)
        moved = np.abs(new - found).max()
        found = new
        if moved < 1e-7:
            break
    found[found < 1e-4] = 0.0
    return np.asarray(found / found.sum())


def votes_left_out(voters: Iterable[Voter], chunk: Chunk, own: Floats) -> tuple[Floats, Floats]:
    """Return each member's posterior of the rows' own class, shape (n, members), and whether it was right."""
    assert chunk.target is not None
    rows = np.arange(chunk.n_rows)
    answers = [voter.left_out(chunk, own) for voter in voters]
    p = np.column_stack([answer[rows, chunk.target] for answer in answers])
    right = np.column_stack([answer.argmax(axis=1) == chunk.target for answer in answers])
    return p, right.astype(np.float64)
