r"""A log-linear stack of several models: the weighted product of their posteriors.

.. math:: P(c \mid x) = (1 - e)\, \frac{\prod_m P_m(c \mid x)^{w_m}}{\sum_{c'} \prod_m P_m(c' \mid x)^{w_m}}
          + \frac{e}{K}, \qquad w_m \ge 0, \quad e = \frac{1}{n + 2}

The weights are those of least log-loss on answers about training rows in which a row had no say, drawn a little to
1/M. They need not sum to one: their sum is a temperature of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._blas import one_blas_thread
from bayeskit._conditionals.class_prior import ClassPrior, log_normalise
from bayeskit._conditionals.conditional import Conditional, Workings, refuse_infinite
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.calibration import Temperature
from bayeskit._fitting.leave_one_out import LeaveOneOut, log_posterior
from bayeskit._fitting.model import Model, ModelForm, ModelSpec, class_prior_of, estimate
from bayeskit._schema import Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
from bayeskit.typing import Floats

# No member may be surer than this that a class is wrong: one row must not decide over its weight.
FLOOR = -20.0
# λ of the penalty λ‖w − 1/M‖² on the weights.
PENALTY = 5.0


@dataclass(frozen=True)
class Member:
    """One model of a stack: its name, how it is estimated, its weight, and the temperature of its posteriors."""

    name: str
    spec: ModelSpec
    weight: float
    temperature: float


@dataclass(frozen=True)
class Stack(ModelForm):
    """Models that are counted together and answer together.

    Attributes
    ----------
    members : tuple of Member
        A member of weight 0 is counted and not asked.
    """

    members: tuple[Member, ...]

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        """Ask once for what any of them needs."""
        found: dict[str, Pattern] = {}
        for member in self.members:
            for pattern in member.spec.form.plan(schema, member.spec).patterns:
                held = found.setdefault(pattern.kind, pattern)
                if held != pattern:
                    names = dict.fromkeys((*held.attributes, *pattern.attributes))
                    found[pattern.kind] = Pattern(pattern.kind, tuple(names))
        return Plan(tuple(found.values()))

    def settled(self, statistics: Statistics, spec: ModelSpec) -> Stack:
        return Stack(tuple(_settled(member, statistics) for member in self.members))

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        asked = (member for member in self.members if member.weight > 0.0)
        voters = tuple(Voter(_settled(member, statistics), statistics) for member in asked)
        counted = class_prior_of(statistics, replace(spec, class_prior=None))
        return (StackedPosterior(voters, statistics.total, counted, prior),)


def _settled(member: Member, statistics: Statistics) -> Member:
    """Return a member with all decided that the counts decide; their classes are weighed already."""
    spec = replace(member.spec, class_weight=None)
    return replace(member, spec=replace(spec, form=spec.form.settled(statistics, spec)))


@dataclass(frozen=True, eq=False)
class Voter:
    """A member with its counts."""

    member: Member
    statistics: Statistics

    @cached_property
    def model(self) -> Model:
        """The member's look-up tables."""
        return estimate(self.statistics, self.member.spec)

    @cached_property
    def _left_out(self) -> LeaveOneOut:
        return LeaveOneOut(self.statistics, self.member.spec)

    def log_posterior(self, chunk: Chunk) -> Floats:
        """Return log P(c | x), tempered, of each row."""
        joint = self.model.joint_chunk(chunk)
        log_normalise(joint, self.model.log_prior)
        return tempered(joint, self.member.temperature)

    def log_left_out(self, chunk: Chunk, own: Floats) -> Floats:
        """Return the same of rows that were counted, without them."""
        scores = self._left_out.scores(chunk, own)
        return tempered(log_posterior(*scores), self.member.temperature)


def tempered(log_share: Floats, temperature: float) -> Floats:
    """Return log-posteriors with a floor, then raised to the power 1/temperature."""
    out = np.maximum(log_share, FLOOR) / temperature
    log_normalise(out, np.zeros(out.shape[1]))
    return out


@dataclass(frozen=True, eq=False)
class StackedPosterior(Conditional):
    """log of the weighted product of posteriors, mixed with a little of every class.

    Attributes
    ----------
    voters : tuple of Voter
    total : float
        n: how many rows were counted.
    counted, prior : ClassPrior
        As the members have it from the counts, and as it shall be; the same unless it was given.
    """

    voters: tuple[Voter, ...]
    total: float
    counted: ClassPrior
    prior: ClassPrior

    adds_prior = False
    is_distribution = False
    explains_attributes = False

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        refuse_infinite(chunk)
        answers = (voter.log_posterior(chunk) for voter in self.voters)
        joint = self._product(answers, out.shape)
        log_mix(joint, np.full(len(joint), self.total))
        out += joint + (self.prior.log - self.counted.log)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        assert chunk.target is not None
        refuse_infinite(chunk)
        answers = (voter.log_left_out(chunk, own) for voter in self.voters)
        joint = self._product(answers, out.shape)
        log_mix(joint, np.maximum(self.total - own, 0.0))
        out += joint
        if self.prior.mass is None:
            out += self.prior.log - self.counted.log_left_out(chunk.target, own)

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_stack(self)

    def _product(self, answers: Iterator[Floats], shape: tuple[int, ...]) -> Floats:
        joint = np.zeros(shape)
        for voter, answer in zip(self.voters, answers, strict=True):
            joint += voter.member.weight * answer
        return joint


def log_mix(joint: Floats, n_rows: Floats) -> None:
    """Normalise logarithms in place, then mix the shares with 1/(n + 2) of every class alike."""
    log_normalise(joint, np.zeros(joint.shape[1]))
    e = 1.0 / (n_rows[:, None] + 2.0)
    joint[:] = np.log((1.0 - e) * np.exp(joint) + e / joint.shape[1])


class StackFit(NamedTuple):
    """Weights of members, one each, and the log-posteriors that they give the rows: shape (n, K)."""

    weights: Floats
    log_shares: Floats


@one_blas_thread
def stack_weights(
    answers: Sequence[Floats], target: NDArray[np.intp], row_weights: Floats, penalty: float = PENALTY
) -> StackFit:
    r"""Return the weights w ≥ 0 of least penalised log-loss, which is convex in them.

    .. math:: -\sum_r v_r \log P_w(y_r \mid x_r) + \lambda \|w - 1/M\|^2

    By Newton's steps over the weights that are free to move, each cut back at 0 and halved until the loss falls.

    Parameters
    ----------
    answers : sequence of arrays of shape (n, K)
        Finite log-posteriors of the members.
    target : int array of shape (n,)
    row_weights : array of shape (n,)
        v.

    Examples
    --------
    >>> sure, unsure = np.log([[0.9, 0.1], [0.1, 0.9]]), np.log([[0.5, 0.5], [0.5, 0.5]])
    >>> stack_weights([sure, unsure], np.array([0, 1]), np.full(2, 1000.0)).weights.round(2)
    array([2.46, 0.5 ])
    """
    logs = np.stack(answers)
    m, n = len(logs), len(target)
    true = logs[:, np.arange(n), target]
    weights = np.full(m, 1.0 / m)

    def shares_at(w: Floats) -> tuple[float, Floats]:
        joint = np.tensordot(w, logs, axes=1)
        log_normalise(joint, np.zeros(joint.shape[1]))
        loss = -row_weights @ joint[np.arange(n), target] + penalty * ((w - 1.0 / m) ** 2).sum()
        return float(loss), joint

    loss, joint = shares_at(weights)
    for _ in range(_MOST_STEPS):
        share = np.exp(joint)
        mean = (share * logs).sum(axis=2)
        slope = (mean - true) @ row_weights + 2.0 * penalty * (weights - 1.0 / m)
        spread = np.sqrt(row_weights[:, None] * share) * (logs - mean[:, :, None])
        flat = spread.reshape(m, -1)
        bend = flat @ flat.T + 2.0 * penalty * np.eye(m)
        free = np.flatnonzero((weights > 0.0) | (slope < 0.0))
        if not len(free) or np.abs(slope[free]).max() <= 1e-10 * (1.0 + loss):
            break
        step = np.zeros(m)
        step[free] = np.linalg.solve(bend[np.ix_(free, free)], -slope[free])
        for halved in 0.5 ** np.arange(_MOST_HALVINGS):
            moved = np.maximum(weights + halved * step, 0.0)
            new_loss, new_joint = shares_at(moved)
            if new_loss < loss:
                break
        else:
            break
        weights, loss, joint = moved, new_loss, new_joint
    return StackFit(weights, joint)


_MOST_STEPS, _MOST_HALVINGS = 100, 30


def temperature_of(logs: Floats, target: NDArray[np.intp], row_weights: Floats) -> float:
    """Return the temperature of least log-loss of a member's log-posteriors."""
    return Temperature.fitted(logs, target, row_weights).t


def cross_fitted(
    honest: Sequence[Floats],
    is_tempered: Sequence[bool],
    target: NDArray[np.intp],
    row_weights: Floats,
    fold: NDArray[np.int64],
) -> Floats:
    """Return log-posteriors of a stack whose temperatures and weights the other folds have chosen: shape (n, K).

    The loss of weights on the rows that chose them is too low, the more so the fewer rows there are.

    Parameters
    ----------
    honest : sequence of arrays of shape (n, K)
        Log-posteriors of the members, in which a row had no say.
    is_tempered : sequence of bool
        Which members have a temperature.
    fold : int array of shape (n,)
    """
    joint = np.zeros_like(honest[0])
    for f in np.unique(fold):
        learn, judge = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        temperatures = [
            temperature_of(logs[learn], target[learn], row_weights[learn]) if has_one else 1.0
            for logs, has_one in zip(honest, is_tempered, strict=True)
        ]
        answers = [tempered(logs[learn], t) for logs, t in zip(honest, temperatures, strict=True)]
        weights = stack_weights(answers, target[learn], row_weights[learn]).weights
        for w, logs, t in zip(weights, honest, temperatures, strict=True):
            joint[judge] += w * tempered(logs[judge], t)
    return joint
