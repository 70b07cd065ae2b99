"""Renders decisions, posteriors and losses as small HTML tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._display_table import DisplayTable, as_html
from bayeskit._markup import Html
from bayeskit._visible import shorter

if TYPE_CHECKING:
    from bayeskit._decision.choice import BayesRisk, Decision
    from bayeskit._decision.loss import LossTable
    from bayeskit._decision.posterior import Posterior

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
    title = f"{n:,} decision{'' if n == 1 else 's'}" + (f", {rejected:,} rejected" if rejected else "")
    names = [f"risk of {name}" for name in decision.names[:MOST_COLUMNS]]
    rows = [
        (i, a, _number(r), *map(_number, all_))
        for i, (a, r, all_) in enumerate(zip(actions[:MOST_ROWS], risk[:MOST_ROWS], risks, strict=True), 1)
    ]
    more = _more(n, "objects", len(decision.names), "actions")
    return _table(title, ("", "action", "risk", *names), rows, more)


def posterior_html(posterior: Posterior) -> Html:
    """Return a row for each object: P(c | x) of every class, and P(x)."""
    values, evidence = np.atleast_2d(posterior.probabilities), np.atleast_1d(posterior.evidence)
    n, k = values.shape
    names = posterior.names if posterior.names is not None else range(k)
    head = ("", *(f"P({name} | x)" for name in list(names)[:MOST_COLUMNS]), "P(x)")
    pairs = zip(values[:MOST_ROWS, :MOST_COLUMNS].tolist(), evidence[:MOST_ROWS].tolist(), strict=True)
    rows = [(i, *map(_number, row), _number(e)) for i, (row, e) in enumerate(pairs, 1)]
    title = f"{n:,} posterior{'' if n == 1 else 's'} over {k:,} class{'' if k == 1 else 'es'}"
    return _table(title, head, rows, _more(n, "objects", k, "classes"))


def loss_html(table: LossTable, classes: Sequence[Any]) -> Html:
    """Return the costs: a row for each action, a column for each true class."""
    shown = zip(
        table.labels[:MOST_ROWS].tolist(), table.values[:MOST_ROWS, :MOST_COLUMNS].tolist(), strict=True
    )
    head = ("action", *(f"if {name}" for name in classes[:MOST_COLUMNS]))
    rows = [(action, *map(_number, costs)) for action, costs in shown]
    return _table("Costs", head, rows, _more(len(table.labels), "actions", len(classes), "classes"))


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


def _more(n: int, rows: str, k: int, columns: str) -> tuple[str, ...]:
    left = [f"{n - MOST_ROWS:,} more {rows}"] if n > MOST_ROWS else []
    left += [f"{k - MOST_COLUMNS:,} more {columns}"] if k > MOST_COLUMNS else []
    return (f"… {', '.join(left)} not shown.",) if left else ()


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")
