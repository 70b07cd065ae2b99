"""Choosing the action of minimum conditional risk, with an option to reject."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit._data.native_frames import as_array
from bayeskit._decision.loss import LossLike, LossTable, read_loss, rename
from bayeskit._decision.named_numbers import NumbersLike, label_array
from bayeskit._decision.posterior import read_posterior
from bayeskit.errors import SettingError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._decision.loss import LossLike

TIE = 1e-12
"""Risks that differ by less than this part of the loss are equal: 20·(1 − 20/21) and 20/21 are, on paper."""


@dataclass(frozen=True, eq=False)
class Decision:
    """The action for each row. `np.asarray` gives the actions.

    For a single posterior, `actions`, `risk`, `rejected` and `indices` are plain scalars.

    Attributes
    ----------
    actions : array of shape (n,)
        The name of the chosen action (its number, if it has no name), or the name for rejecting.
    risk : array of shape (n,)
        The conditional risk of the chosen action; for rejected rows, the cost of rejecting.
    risks : array of shape (n, actions)
        The conditional risk of every action except rejecting.
    rejected : bool array of shape (n,)
    indices : int array of shape (n,)
        The row of the loss that was chosen; −1 for rejected rows.
    names : tuple
        The actions, in the order of the columns of `risks`.
    """

    actions: Any
    risk: Any
    risks: Floats
    rejected: Any
    indices: Any
    names: tuple[Hashable, ...]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.actions, dtype, copy)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __len__(self) -> int:
        return len(np.asarray(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(np.asarray(self))

    def _repr_html_(self) -> str:
        from bayeskit._decision.decision_html import decision_html

        return decision_html(self)


def conditional_risk(posterior: NumbersLike, loss: LossLike = None) -> Floats:
    r"""Compute the expected loss of each action.

    .. math:: R(i \mid x) = \sum_j \lambda_{ij} P(c_j \mid x)

    Parameters
    ----------
    posterior : array of shape (K,) or (n, K), Posterior, mapping, Series or frame
        Rows must sum to one within 1e-6 (float32: 4e-6).
    loss : array of shape (actions, K), frame, mapping {action: {class: cost}}, or None
        ``loss[i, j]`` is the cost of action i when the true class is j. None means the 0/1 loss. A pandas
        frame has actions in the index and classes in the columns; a frame without an index may have the names
        of the actions in its first column. If posterior and loss both name their classes, they are matched by
        name, in any order.

    Returns
    -------
    array of shape (actions,) for one posterior, (n, actions) for many

    References
    ----------
    Zhou Z.-H., Machine Learning, Tsinghua University Press 2016, eq. 7.1.

    Examples
    --------
    >>> conditional_risk([0.75, 0.25], [[0, 20], [1, 0]])
    array([5.  , 0.75])
    """
    values, names, single = read_posterior(posterior)
    risks = read_loss(loss, values.shape[1], names).risks(values)
    return risks[0] if single else risks


def decide(
    posterior: NumbersLike,
    loss: LossLike = None,
    reject: float | None = None,
    actions: Iterable[Hashable] | None = None,
) -> Decision:
    r"""Choose the action of minimum conditional risk, or reject if even that risk is too high.

    .. math:: h^*(x) = \arg\min_i R(i \mid x), \quad\text{rejected where}\quad \min_i R(i \mid x) > \lambda_r

    Ties go to the action listed first. A risk equal to the cost of rejecting is accepted. "Equal" means up to
    1e-12 of the loss, so that rounding does not break ties.

    Parameters
    ----------
    posterior, loss
        As in `conditional_risk`.
    reject : float or None
        The cost of rejecting (Chow's rule). None means never reject.
    actions : sequence of names or None
        Names for the actions of a loss without names, or the existing names in the order in which to break
        ties. With `reject`, one more name at the end is the name for rejecting, which is "reject" by default.
        Without names, the actions of a square loss have the names of the classes, those of any other loss 0,
        1, 2, …

    References
    ----------
    Chow C. K., On optimum recognition error and reject tradeoff, IEEE Trans. Information
    Theory 16 (1970) 41-46.

    Examples
    --------
    >>> decide([[0.9, 0.1], [0.6, 0.4]], reject=0.2, actions=["yes", "no", "ask"]).actions
    array(['yes', 'ask'], dtype='<U3')
    """
    values, names, single = read_posterior(posterior)
    table, label = prepare(read_loss(loss, values.shape[1], names), reject, actions)
    decision = settle(values, table, reject, label)
    if not single:
        return decision
    return Decision(
        decision.actions[:1].tolist()[0],
        float(decision.risk[0]),
        decision.risks[0],
        bool(decision.rejected[0]),
        int(decision.indices[0]),
        decision.names,
    )


def prepare(
    table: LossTable, reject: object, actions: Iterable[Hashable] | None
) -> tuple[LossTable, Hashable]:
    """Determine the names of the actions, and the name for rejecting."""
    label: Hashable = "reject"
    if actions is not None:
        given = [actions] if isinstance(actions, str) else list(actions)
        if reject is not None and len(given) == len(table.labels) + 1:
            label = given.pop()
        table = rename(table, given)
    if reject is not None:
        if not _is_cost(reject):
            raise SettingError(
                "reject: {reject!r} is not a cost. Give a number, or None never to reject.", reject=reject
            )
        if label in table.labels.tolist():
            raise SettingError(
                "reject: {label!r} names an action already. Put another name at the end of `actions`.",
                label=label,
            )
    return table, label


def _is_cost(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return float(value) > -math.inf
    except OverflowError:  # a whole number beyond any float
        return False


def settle(posterior: Floats, table: LossTable, reject: float | None, label: Hashable) -> Decision:
    """Decide for checked posteriors (n, K)."""
    risks, regrets = table.risks(posterior), table.regrets(posterior)
    least = regrets.min(axis=1, keepdims=True)
    # argmax finds the first action that ties with the best one.
    indices = np.argmax(regrets <= least + TIE * table.spread, axis=1)
    risk = np.take_along_axis(risks, indices[:, None], axis=1)[:, 0]
    labels, rejected = table.labels, np.zeros(len(risk), dtype=np.bool_)
    if reject is not None:
        labels = label_array([*labels.tolist(), label])
        rejected = risk > reject + TIE * np.abs(table.values).max()
        indices, risk = np.where(rejected, -1, indices), np.where(rejected, reject, risk)
    return Decision(labels[indices], risk, risks, rejected, indices, tuple(table.labels.tolist()))
