"""What should be doubted about a comparison: leaks, rare classes, few test rows, probabilities that do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bayeskit._messages import WordList
from bayeskit._report.charts.reliability_chart import wilson
from bayeskit._report.comparison_report.class_figures import class_figures
from bayeskit._report.comparison_report.comparison import Comparison
from bayeskit._report.comparison_report.verdict import signed

WORDS = WordList(
    {
        "leak": "{name} alone tells the class of {share} of the rows. Was it known before the outcome? If not, the "
        "model learns the answer from it: leave it out with exclude=[{name!r}].",
        "perfect": "{pick} makes almost no mistakes ({value}). Was every column known before the outcome? Look at the "
        "columns that it depends on most.",
        "useless": "{pick} may be no better than the same decision for all rows: it saves {value} (95% interval {low} "
        "to {high}).",
        "never": "{label} is never predicted, though {n} test rows ({share}) are of this class. Decide by its "
        "probabilities: say with loss= what it costs to miss it.",
        "rare": "{label} is rare ({n} of {all} test rows, {share}), so the error says little about it. Of its rows "
        "{recall} are found (95% interval {low} to {high}); of the rows taken for it {precision} are right.",
        "few": "There are only {n} test rows. The error of {pick} lies between {low} and {high} (95% interval).",
        "folds": "A fold has as few as {n} test rows, so figures differ much from fold to fold. Fewer folds=, or a "
        "test table (test=), would tell more.",
        "too_sure": "The probabilities of {pick} are too sure: on average its answers are given {said}, and {right} of "
        "them are right.",
        "too_doubtful": "The probabilities of {pick} are too doubtful: on average its answers are given {said}, and "
        "{right} of them are right.",
        "uneven": "The probabilities of {pick} do not hold everywhere: they are off by {gap} on average, as the chart "
        "shows.",
        "sample": "Models were compared on {n} of {all} rows, drawn at random. On all rows, models with many "
        "parameters may gain: full=True compares them.",
        "interrupt": "The comparison was stopped by Ctrl-C. {names} were not finished, and one of them may be better.",
        "time": "The time limit came before {names} were finished, and one of them may be better.",
        "screened": "{names}: the counts of all attributes would not fit into memory, so these models look at the most "
        "telling ones only, as each fold has them.",
        "more": "{n} more",
        "and": ", ",
    }
)
# A class with a smaller share of the test rows is rare; and so is one below the second share whose figures depend on
# single rows, because it has fewer rows than this in a fold.
RARE, UNEVEN, FEW_IN_FOLD = 0.05, 0.2, 5
# With fewer test rows, in all or in a fold, an error is known to several points only.
FEW_ROWS, FEW_ROWS_IN_FOLD = 200, 20
# An error below this is suspicious if answering the same always is wrong that often.
PERFECT, DIFFICULT = 0.005, 0.05
# Probabilities are doubted if the distance from the diagonal is larger than this, and than chance would make it (1%).
GAP, LEVEL = 0.02, 0.01
BINS = 10
# The most classes, columns and models to name.
MOST = 5


@dataclass(frozen=True)
class Caution:
    """A warning.

    Attributes
    ----------
    kind : str
        "leak", "perfect", "useless", "never", "rare", "few", "folds", "too_sure", "too_doubtful", "uneven", "sample",
        "interrupt", "time" or "screened".
    about : str
        The column, class or models it is about; empty if it is about the whole.
    text : str
    """

    kind: str
    about: str
    text: str


def cautions(found: Comparison) -> tuple[Caution, ...]:
    """Return all warnings, the gravest first."""
    words = WORDS.of(found.lang)

    return tuple(
        Caution(kind, str(about), words[kind].format(pick=found.picked.name, **values))
        for (kind, about), values in _all(found)
    )


_Told = Iterator[tuple[tuple[str, object], dict[str, object]]]


def _all(found: Comparison) -> _Told:
    yield from _leaks(found)
    yield from _usefulness(found)
    yield from _classes(found)
    yield from _fewness(found)
    yield from _calibration(found)
    yield from _models(found)


def _leaks(found: Comparison) -> _Told:
    leaks = [(column.name, column.tells) for column in found.columns if column.tells is not None]
    for name, share in leaks[:MOST]:
        yield ("leak", name), {"name": name, "share": f"{share:.1%}"}
    error = found.picked.error.value
    if (
        not leaks
        and error <= PERFECT
        and found.majority[1] >= DIFFICULT
        and len(found.held.truth) >= FEW_ROWS
    ):
        yield ("perfect", ""), {"value": f"{error:.2%}"}


def _usefulness(found: Comparison) -> _Told:
    lift, is_share = found.lift, found.picked.cost is None
    # If all test rows are of one class, the same decision is right for all of them.
    if lift is not None and lift.low <= 0.0 and len(set(found.held.truth.tolist())) > 1:
        written = [signed(each, is_share, found.lang) for each in (lift.value, lift.low, lift.high)]
        yield ("useless", ""), dict(zip(("value", "low", "high"), written, strict=True))


def _classes(found: Comparison) -> _Told:
    n = len(found.held.truth)
    told = 0
    for each in sorted(class_figures(found.classes, found.held), key=lambda figures: figures.rows):
        share = each.rows / n
        if not each.rows or told == MOST:
            continue
        if not each.said:
            told += 1
            yield ("never", each.label), {"label": each.label, "n": f"{each.rows:,}", "share": percent(share)}
        elif share < RARE or (share < UNEVEN and each.rows < FEW_IN_FOLD * found.folds):
            told += 1
            low, high = each.recall_interval or (0.0, 1.0)
            values = {"label": each.label, "n": f"{each.rows:,}", "all": f"{n:,}", "share": percent(share)}
            values |= {"recall": f"{each.recall:.0%}", "low": f"{low:.0%}", "high": f"{high:.0%}"}
            yield ("rare", each.label), values | {"precision": f"{each.precision:.0%}"}


def _fewness(found: Comparison) -> _Told:
    n = len(found.held.truth)
    least = n // found.folds
    if n < FEW_ROWS:
        low, high = wilson(np.array([found.picked.error.value]), np.array([n]))
        yield ("few", ""), {"n": f"{n:,}", "low": f"{float(low[0]):.1%}", "high": f"{float(high[0]):.1%}"}
    if found.folds > 2 and least < FEW_ROWS_IN_FOLD:
        yield ("folds", ""), {"n": least}


def _calibration(found: Comparison) -> _Told:
    """Compare the probability of the predicted class with how often it was right, in bins of equal width.

    Under the hypothesis that they hold, the squared distance in a bin over its variance has mean 1, and the sum over
    bins is χ² with as many degrees of freedom as there are bins (rows were not learned from, so none is lost).
    """
    from scipy.stats import chi2

    posterior, truth = found.held.posterior, found.held.truth
    said = posterior.argmax(axis=1)
    p, hit = posterior[np.arange(len(said)), said], (said == truth).astype(np.float64)
    inside = np.minimum((p * BINS).astype(np.intp), BINS - 1)
    n, sum_p, sum_hit, spread = (
        np.bincount(inside, weights=w, minlength=BINS) for w in (np.ones(len(p)), p, hit, p * (1.0 - p))
    )
    full = n > 0
    # A bin of posteriors of 1 has no variance; one wrong row in it is counted as one row.
    chi = float(((sum_hit - sum_p)[full] ** 2 / np.maximum(spread[full], 1.0)).sum())
    gap = float(np.abs(sum_hit - sum_p).sum() / len(p))
    if gap < GAP or chi2.sf(chi, int(full.sum())) >= LEVEL:
        return
    mean, right = float(p.mean()), float(hit.mean())
    kind = "uneven" if abs(mean - right) < gap / 2 else "too_sure" if mean > right else "too_doubtful"
    yield (kind, ""), {"said": f"{mean:.1%}", "right": f"{right:.1%}", "gap": f"{gap:.1%}"}


def _models(found: Comparison) -> _Told:
    if found.sample is not None:
        yield ("sample", ""), {"n": f"{found.sample:,}", "all": f"{found.table.rows:,}"}
    if found.stopped is not None:
        names = found.unfinished
        yield (found.stopped, _named(found, names)), {"names": _named(found, names)}
    if found.screened:
        names = tuple(found.of(key).name for key in found.screened)
        yield ("screened", _named(found, names)), {"names": _named(found, names)}


def _named(found: Comparison, names: tuple[str, ...]) -> str:
    words = WORDS.of(found.lang)
    more = [words["more"].format(n=len(names) - MOST)] if len(names) > MOST else []
    return words["and"].join([*names[:MOST], *more])


def percent(share: float) -> str:
    """Write a share that may be small.

    >>> percent(0.004), percent(0.25)
    ('0.40%', '25.0%')
    """
    return f"{share:.1%}" if share >= 0.01 else f"{share:.2%}"
