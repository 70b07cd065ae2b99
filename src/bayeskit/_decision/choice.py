"""The action of minimum conditional risk, with an option to reject; and the Bayes risk, that of the best decisions."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit._data.frames import as_array
from bayeskit._decision.loss import (
    LossLike,
    LossTable,
    NumbersLike,
    label_array,
    read_loss,
    read_named,
    rename,
)
from bayeskit._decision.posterior import check_probabilities, read_posterior
from bayeskit._display_table import DisplayTable, as_html
from bayeskit._markup import Html, framed
from bayeskit._visible import shorter
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._decision.posterior import Posterior


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
        return framed(decision_html(self))


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


@dataclass(frozen=True)
class BayesRisk:
    """The Bayes risk: the lowest risk that any classifier can have.

    Attributes
    ----------
    value : float
    interval : (float, float)
        A confidence interval for the risk in the population of the rows; (value, value) if exact.
    ceiling : float or None
        The best possible accuracy, 1 − value. Only for the 0/1 loss; None for any other loss.
    level : float
        The confidence of the interval.
    n_rows : int or None
        The number of averaged posteriors; None if the joint distribution was given.
    """

    value: float
    interval: tuple[float, float]
    ceiling: float | None
    level: float
    n_rows: int | None

    def __float__(self) -> float:
        return self.value

    def _repr_html_(self) -> str:
        return framed(risk_html(self))


def bayes_risk(
    posterior: NumbersLike | None = None,
    loss: LossLike = None,
    level: float = 0.95,
    *,
    joint: NumbersLike | None = None,
) -> BayesRisk:
    r"""Estimate the Bayes risk from posteriors, or compute it from a joint distribution.

    .. math:: R^* = E_x\bigl[\min_i R(i \mid x)\bigr] = \sum_x \min_i \sum_j \lambda_{ij} P(x, c_j)

    Parameters
    ----------
    posterior : as in `conditional_risk`
        Posteriors of randomly drawn rows. The estimate is only as good as the posteriors.
    loss : as in `conditional_risk`
    level : float
        The confidence level of the interval: the normal interval for the mean over the rows, clipped to the
        range of the loss. For a single row the spread is unknown, so the interval is the whole range.
    joint : array of shape (..., K), mapping or frame
        P(x, c) over all x, instead of `posterior`. It must sum to one within 1e-9. The risk is then exact.

    References
    ----------
    Zhou Z.-H., Machine Learning, Tsinghua University Press 2016, eqs. 7.2-7.5.

    Examples
    --------
    >>> bayes_risk(joint=[[0.4, 0.1], [0.2, 0.3]]).ceiling
    0.7
    """
    if (posterior is None) == (joint is None):
        raise SettingError(
            "bayes_risk: give either posteriors or a joint distribution (joint=), not both or neither."
        )
    if not 0 < level < 1:
        raise SettingError(
            "level: {level!r} is not a confidence level. Give a number between 0 and 1, such as 0.95.",
            level=level,
        )
    if joint is not None:
        cells, names = read_named(joint, "joint")
        if cells.ndim < 1 or not cells.size:
            raise DataError(
                "joint: has shape {shape}. Give P(x, c) as (..., K), classes on the last axis.",
                shape=cells.shape,
            )
        check_probabilities(cells.reshape(1, -1).astype(np.float64), "joint", 1e-9, rows=False)
        rows = cells.reshape(-1, cells.shape[-1]).astype(np.float64)
        table = read_loss(loss, rows.shape[1], names)
        value = float(table.risks(rows).min(axis=1).sum())
        return BayesRisk(value, (value, value), _ceiling(table, value), level, None)
    rows, names, _ = read_posterior(posterior)
    if not len(rows):
        raise DataError("posterior: has no rows, so there is nothing to average. Give at least one row.")
    table = read_loss(loss, rows.shape[1], names)
    least = table.risks(rows).min(axis=1)
    value = float(least.mean())
    return BayesRisk(value, _interval(least, level, table), _ceiling(table, value), level, len(rows))


def _interval(least: Floats, level: float, table: LossTable) -> tuple[float, float]:
    # The best action costs at least the smallest entry of the table and at most the minimax cost; under the
    # 0/1 loss, the uniform posterior is the worst.
    floor, roof = float(table.values.min()), float(table.values.max(axis=1).min())
    if table.is_zero_one:
        roof = 1.0 - 1.0 / table.values.shape[1]
    value, n = float(least.mean()), len(least)
    if n == 1:
        return min(floor, value), max(roof, value)
    half = NormalDist().inv_cdf(0.5 + level / 2) * float(least.std(ddof=1)) / n**0.5
    # Rows sum to one only within a tolerance, so the value itself may lie slightly outside.
    return min(value, max(floor, value - half)), max(value, min(roof, value + half))


def _ceiling(table: LossTable, value: float) -> float | None:
    return 1.0 - value if table.is_zero_one else None


# A notebook shows at most this many rows, and this many classes or actions of each.
MOST_ROWS = 20
MOST_COLUMNS = 20


def decision_html(decision: Decision) -> Html:
    """Return a row for each object: the action, its risk, and the risk of every action.

    Examples
    --------
    >>> from bayeskit.decision import decide
    >>> html = decision_html(decide([0.9, 0.1], actions=["<go>", "stay"]))
    >>> html[html.index("<tbody>") :]
    '<tbody><tr><th>1</th><td>&lt;go&gt;</td><td>0.1</td><td>0.1</td><td>0.9</td></tr></tbody></table>'
    """
    actions, risk = np.ravel(np.asarray(decision)).tolist(), np.atleast_1d(decision.risk).tolist()
    risks = np.atleast_2d(decision.risks)[:MOST_ROWS, :MOST_COLUMNS].tolist()
    n, rejected = len(actions), int(np.sum(decision.rejected))
    title = f"{n:,} {_counted(n, 'decision')}" + (f", {rejected:,} rejected" if rejected else "")
    names = [f"risk of {name}" for name in decision.names[:MOST_COLUMNS]]
    rows = [
        (i, a, _number(r), *map(_number, all_))
        for i, (a, r, all_) in enumerate(zip(actions[:MOST_ROWS], risk[:MOST_ROWS], risks, strict=True), 1)
    ]
    more = _more(n, "object", len(decision.names), "action")
    return _table(title, ("", "action", "risk", *names), rows, more)


def posterior_html(posterior: Posterior) -> Html:
    """Return a row for each object: P(c | x) of every class, and P(x)."""
    values, evidence = np.atleast_2d(posterior.probabilities), np.atleast_1d(posterior.evidence)
    n, k = values.shape
    names = posterior.names if posterior.names is not None else range(k)
    head = ("", *(f"P({name} | x)" for name in list(names)[:MOST_COLUMNS]), "P(x)")
    pairs = zip(values[:MOST_ROWS, :MOST_COLUMNS].tolist(), evidence[:MOST_ROWS].tolist(), strict=True)
    rows = [(i, *map(_number, row), _number(e)) for i, (row, e) in enumerate(pairs, 1)]
    title = f"{n:,} {_counted(n, 'posterior')} over {k:,} {_counted(k, 'class')}"
    return _table(title, head, rows, _more(n, "object", k, "class"))


def loss_html(table: LossTable, classes: Sequence[Any]) -> Html:
    """Return the costs: a row for each action, a column for each true class."""
    shown = zip(
        table.labels[:MOST_ROWS].tolist(), table.values[:MOST_ROWS, :MOST_COLUMNS].tolist(), strict=True
    )
    head = ("action", *(f"if {name}" for name in classes[:MOST_COLUMNS]))
    rows = [(action, *map(_number, costs)) for action, costs in shown]
    return _table("Costs", head, rows, _more(len(table.labels), "action", len(classes), "class"))


def risk_html(risk: BayesRisk) -> Html:
    """Return the Bayes risk, its source, and the best accuracy."""
    low, high = risk.interval
    rows = [("Bayes risk", _number(risk.value))]
    if risk.n_rows is not None:
        rows.append((f"{100 * risk.level:.4g}% interval", f"{_number(low)}–{_number(high)}"))
    if risk.ceiling is not None:
        rows.append(("best accuracy", _number(risk.ceiling)))
    source = "from the joint distribution" if risk.n_rows is None else f"from {risk.n_rows:,} posteriors"
    return _table(f"The least risk, {source}", (), rows)


def _table(
    title: str, head: Sequence[object], rows: Iterable[Sequence[object]], notes: tuple[str, ...] = ()
) -> Html:
    cells = tuple(tuple(map(shorter, row)) for row in rows)
    return as_html(DisplayTable(shorter(title), tuple(map(shorter, head)), cells, notes=notes), whole=True)


def _more(n: int, row: str, k: int, column: str) -> tuple[str, ...]:
    hidden = ((n - MOST_ROWS, row), (k - MOST_COLUMNS, column))
    left = [f"{more:,} more {_counted(more, what)}" for more, what in hidden if more > 0]
    return (f"… {', '.join(left)} not shown.",) if left else ()


def _counted(n: int, name: str) -> str:
    return name if n == 1 else f"{name}es" if name.endswith("s") else f"{name}s"


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")
