"""The conditional risk of each action for one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._decision.choice import prepare, settle
from bayeskit._decision.loss import read_loss
from bayeskit._report.fractions import magnitude, number, short
from bayeskit._schema import Label
from bayeskit.typing import LossLike


@dataclass(frozen=True)
class Risks:
    r"""The risk of each action, and the chosen action.

    .. math:: R(a \mid x) = \sum_c \lambda_{ac} P(c \mid x)

    Attributes
    ----------
    actions : tuple of names
    costs : tuple of tuples, one for each action: its cost in each class
    risks : tuple of float
    action : the action of minimum risk, or the name for rejecting
    risk : float
    reject : float, optional
        The cost of rejecting.
    rejected : bool
    """

    actions: tuple[Any, ...]
    costs: tuple[tuple[float, ...], ...]
    risks: tuple[float, ...]
    action: Any
    risk: float
    reject: float | None
    rejected: bool

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        from bayeskit._visible import plain

        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


def risks_of(
    posterior: Sequence[float],
    classes: Sequence[Any],
    loss: LossLike = None,
    reject: float | None = None,
    actions: Sequence[Label] | None = None,
) -> Risks:
    """Compute the risk of each action. Without a loss, every mistake costs 1.

    Examples
    --------
    >>> loss = {"delete": {"spam": 0, "ham": 20}, "keep": {"spam": 1, "ham": 0}}
    >>> found = risks_of([0.75, 0.25], ["spam", "ham"], loss)
    >>> found.risks, found.action
    ((5.0, 0.75), 'keep')
    """
    table, label = prepare(read_loss(loss, len(classes), list(classes)), reject, actions)
    decision = settle(np.array([posterior], dtype=np.float64), table, reject, label)
    return Risks(
        tuple(decision.names),
        tuple(map(tuple, table.values.tolist())),
        tuple(decision.risks[0].tolist()),
        decision.actions.tolist()[0],
        float(decision.risk[0]),
        None if reject is None else float(reject),
        bool(decision.rejected[0]),
    )


def risk_rows(
    risks: Risks, posterior: Sequence[float], order: Sequence[int], words: Mapping[str, str]
) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return a line for each action, with its terms under the classes shown, and one for the decision."""
    rows = []
    for action, costs, risk in zip(risks.actions, risks.costs, risks.risks, strict=True):
        terms = tuple(
            f"{number(costs[k])}·{_written(posterior[k])} = {_written(costs[k] * posterior[k])}"
            for k in order
        )
        rows.append((words["risk"].format(action=action), short(risk), terms))
    done = (
        words["rejected"].format(action=risks.action, cost=number(risks.risk))
        if risks.rejected
        else risks.action
    )
    rows.append((words["decision"], str(done), ("",) * len(order)))
    return rows


def _written(x: float) -> str:
    return ("-" if x < 0 else "") + magnitude(float(np.log(abs(x)))) if x else "0"
