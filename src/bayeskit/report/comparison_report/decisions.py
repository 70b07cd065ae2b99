"""The same posteriors under three losses: what is done, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.report.comparison_report.comparison import Comparison
from bayeskit.report.comparison_report.markup import Html, filled, join, table, tag
from bayeskit.report.comparison_report.words import WORDS
from bayeskit.typing import Floats

# What it costs not to decide, and how much dearer it is to miss the rarest class.
REJECT, DEARER = 0.2, 5.0
# So many actions are listed with the share of rows they are taken in.
MOST_ACTIONS = 4


@dataclass(frozen=True, eq=False)
class Outcome:
    """One loss: what was done in which share of the rows, and the mean costs that came true.

    Attributes
    ----------
    fixed : the cost of the action that is best if it must be the same for all rows
    likely : the cost of saying the most probable class; None where the actions are not the classes
    """

    loss: str
    actions: tuple[tuple[str, float], ...]
    cost: float
    fixed: float
    likely: float | None


def outcomes(found: Comparison, loss_path: str | None = None) -> tuple[Outcome, ...]:
    """Decide every row that was judged under each loss."""
    words, k = WORDS[found.lang], len(found.classes)
    labels = [str(label) for label in found.classes]
    zero_one = 1.0 - np.eye(k)
    with_reject = np.vstack([zero_one, np.full(k, REJECT)])
    if found.losses is not None:
        costs = np.array([[row[c] for c in found.classes] for row in found.losses.values()])
        actions = [str(action) for action in found.losses]
        second = (words["loss_given"].format(path=loss_path or "loss="), actions, costs)
    else:
        rare = int(np.argmin(found.class_counts))
        costs = zero_one.copy()
        costs[:, rare] *= DEARER
        second = (words["loss_rare"].format(label=labels[rare]), labels, costs)
    three = (
        (words["loss_01"], labels, zero_one),
        second,
        (words["loss_reject"], [*labels, words["reject"]], with_reject),
    )
    return tuple(_outcome(found, *each) for each in three)


def _outcome(found: Comparison, loss: str, actions: list[str], costs: Floats) -> Outcome:
    posterior, truth = found.held.posterior, found.held.truth
    taken = (posterior @ costs.T).argmin(axis=1)
    shares = np.bincount(taken, minlength=len(actions)) / len(truth)
    order = np.argsort(-shares, kind="stable")
    listed = tuple((actions[a], float(shares[a])) for a in order if shares[a] > 0)
    labels = [str(label) for label in found.classes]
    likely = None
    if actions[: len(labels)] == labels:
        likely = float(costs[posterior.argmax(axis=1), truth].mean())
    fixed = float(costs[:, truth].mean(axis=1).min())
    return Outcome(loss, listed, float(costs[taken, truth].mean()), fixed, likely)


def decisions_html(found: Comparison, risk: Html, loss_path: str | None = None) -> Html:
    """Return the section under its heading."""
    words = WORDS[found.lang]
    rows = []
    for each in outcomes(found, loss_path):
        shown = [f"{action} {share:.1%}" for action, share in each.actions[:MOST_ACTIONS]]
        more = ["…"] if len(each.actions) > MOST_ACTIONS else []
        likely = "–" if each.likely is None else f"{each.likely:.3g}"
        rows.append(
            (
                each.loss,
                words["separator"].join(shown + more),
                f"{each.cost:.3g}",
                likely,
                f"{each.fixed:.3g}",
            )
        )
    headers = [words[key] for key in ("loss", "done", "mean_cost", "likely_cost", "fixed_cost")]
    text = tag("p", filled(words["decisions_text"], fn=risk), cls="faint")
    return join([text, table(headers, rows, 2)])
