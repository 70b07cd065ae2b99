"""The outcome of a comparison in sentences, and what should be doubted about it.

Doubts are leaks, rare classes, few test rows, and probabilities that do not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bayeskit._messages import WordList, closed_up, text_in
from bayeskit._report.charts.reliability_chart import wilson
from bayeskit._report.comparison_report.class_figures import class_figures
from bayeskit._report.comparison_report.comparison import Comparison, Measure, ModelStanding

WORDS = WordList(
    {
        "wrong": "The recommended bayeskit model is {pick}: its error for {target} on held-out rows is {value} "
        "(always predicting {label}: {base})",
        "wrong_own": "The recommended model is {pick}: its error for {target} on held-out rows is {value} (always "
        "predicting {label}: {base})",
        "costs": "The recommended bayeskit model is {pick}: its decisions about {target} cost {value} per row",
        "costs_own": "The recommended model is {pick}: its decisions about {target} cost {value} per row",
        "best": "; no other model does better.",
        "alone": "; no other model was compared.",
        "tied": "; not significantly different: {others}.",
        "tied_best": "; {best} has {figure}, a difference that may be due to chance.",
        "beaten": "; {best} does better, with {figure}.",
        "useless": "Nothing was learned that helps to predict {target} in new rows: the error of {pick} is "
        "{value}, no better than always predicting {label} ({base}).",
        "telling": "The error of {pick} for {target} on held-out rows is {value}, no lower than always predicting "
        "{label} ({base}). But its probabilities separate the classes (AUC {auc}): if errors have different "
        "costs, set them with loss= and decide by cost.",
        "one_class": "The error of {pick} for {target} on held-out rows is {value}. All of these rows are "
        "{label}, so they do not show whether it separates the classes.",
        "uncounted": "Dependences between attributes given {target} were not examined: the counts of all pairs of "
        "values of {n} columns would take {size}. models=['tan'] counts as many as fit.",
        "counted_some": "Dependences between attributes given {target} were examined only for the {most} most "
        "informative of {n} columns: the counts of all pairs of values would take {size}. models=['tan'] counts "
        "as many as fit.",
        "why": "The rule: among the models that do not differ significantly from the best (paired test, p ≥ "
        "0.05), the one with the lowest log-loss is recommended. Baselines are for comparison only. Here {n} of "
        "{all} qualify: {names}.",
        "why_one": "The rule: among the models that do not differ significantly from the best (paired test, p ≥ "
        "0.05), the one with the lowest log-loss is recommended. Baselines are for comparison only. Here only "
        "{names} qualifies.",
        "simpler_error": "The best simpler model, {name}, changes the error by {more} (95% interval {low} to {high}) "
        "and the log-loss by {loss}; it takes {size} instead of {own}.",
        "simpler_cost": "The best simpler model, {name}, changes the cost per row by {more} (95% interval {low} "
        "to {high}) and the log-loss by {loss}; it takes {size} instead of {own}.",
        "simplest": "No simpler model was compared.",
        "ceiling": "If the probabilities of {model} are correct, no model can predict more than {ceiling} of such "
        "rows correctly (95% interval {low} to {high}); {pick} predicts {right} correctly.",
        "no_ceiling": "The best possible accuracy cannot be estimated: by the probabilities of {model} it is at "
        "most {ceiling}, but {right} of the predictions were correct. The model is underconfident, or the rows "
        "are too few.",
        "majority": "majority class",
        "logistic": "logistic regression",
        "forest": "random forest",
        "boosting": "gradient boosting",
        "and": ", ",
        "more": "{n} more",
    }
)
# The maximum number of tied models to name.
MOST_NAMED = 4


def name_of(standing: ModelStanding, lang: str) -> str:
    """Return the name of a model: ours as in Python code, baselines in words."""
    return standing.name if standing.ours else WORDS.of(lang)[standing.key]


def figure(measure: Measure, share: bool) -> str:
    """Write a share in per cent, or a cost, with its variation.

    >>> figure(Measure(0.1234, 0.004), True), figure(Measure(0.5), False)
    ('12.3% ± 0.4%', '0.5')
    """
    if share:
        spread = "" if measure.deviation is None else f" ± {measure.deviation:.1%}"
        return f"{measure.value:.1%}{spread}"
    spread = "" if measure.deviation is None else f" ± {measure.deviation:.2g}"
    return f"{measure.value:.3g}{spread}"


def bytes_text(size: int) -> str:
    """Write a size in at most four characters and a unit.

    >>> bytes_text(512), bytes_text(20_480), bytes_text(3_500_000)
    ('512 B', '20 kB', '3.5 MB')
    """
    if size < 1000:
        return f"{size} B"
    units = (("kB", 1e3), ("MB", 1e6), ("GB", 1e9))
    unit, scale = next((each for each in units if size < 999.5 * each[1]), units[-1])
    value = size / scale
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"


def size_text(standing: ModelStanding) -> str:
    """Write the size of a model."""
    return "–" if standing.size is None else bytes_text(standing.size)


def verdict(found: Comparison) -> str:
    """Return one sentence that says which model to choose, and whether the choice is certain."""
    words, pick, best = WORDS.of(found.lang), found.picked, found.best
    label, base = found.majority
    share = pick.cost is None
    said = {"pick": pick.name, "target": found.target, "label": label, "base": f"{base:.1%}"}
    said["value"] = figure(pick.decisive, share)
    if share and pick.auc is None:
        said["label"] = found.classes[int(found.held.truth[0])]
        return words["one_class"].format(**said)
    if share and pick.auc is not None and pick.error.value >= base:
        # If one class is rare, even useful probabilities rarely exceed one half.
        # With folds, the variation is that of one fold. With a test file, it is already that of the mean.
        least = pick.auc.value - 2.0 * (pick.auc.deviation or 0.0) / found.folds**0.5
        sentence = words["telling" if least > 0.5 else "useless"]
        return sentence.format(auc=f"{pick.auc.value:.2f}", **said)
    text = words[("wrong" if share else "costs") + ("_own" if pick.own else "")].format(**said)
    rivals = [s for s in found.standings if s.tied and s.key != pick.key]
    if not pick.tied:
        other = "beaten"
    elif best.decisive.value < pick.decisive.value:
        other = "tied_best"
    else:
        other = "tied" if rivals else "best" if len(found.standings) > 1 else "alone"
    names = [name_of(s, found.lang) for s in rivals]
    if len(names) > MOST_NAMED + 1:
        names = [*names[:MOST_NAMED], words["more"].format(n=len(names) - MOST_NAMED)]
    said |= {"best": name_of(best, found.lang), "figure": figure(best.decisive, share)}
    text += words[other].format(others=words["and"].join(names), **said)
    return text if pick.own or found.lang != "en" else text[0].upper() + text[1:]


def rule_text(found: Comparison) -> str:
    """Return the rule by which the model is recommended, and the models that it leaves to choose from."""
    words = WORDS.of(found.lang)
    ours = [s for s in found.standings if s.ours]
    names = [s.name for s in ours if s.key in {*found.qualified, found.pick}]
    more = [words["more"].format(n=len(names) - MOST_NAMED)] if len(names) > MOST_NAMED + 1 else []
    shown = words["and"].join([*(names[:MOST_NAMED] if more else names), *more])
    return words["why" if len(names) > 1 else "why_one"].format(n=len(names), all=len(ours), names=shown)


def simpler_text(found: Comparison) -> str:
    """Return what it costs to take a simpler model than the recommended one."""
    words, simpler, is_share = WORDS.of(found.lang), found.simpler, found.picked.cost is None
    if simpler is None:
        return words["simplest"]
    other, more = found.of(simpler.key), simpler.more
    values = {"more": more.value, "low": more.low, "high": more.high}
    return words["simpler_error" if is_share else "simpler_cost"].format(
        name=other.name,
        loss=signed(simpler.log_loss.value, False, found.lang),
        size=size_text(other),
        own=size_text(found.picked),
        **{name: signed(value, is_share, found.lang) for name, value in values.items()},
    )


def signed(value: float, is_share: bool, lang: str) -> str:
    """Write a difference: of shares in percentage points, of costs as a number.

    >>> signed(0.012, True, "en"), signed(-0.5, False, "en")
    ('+1.2 points', '−0.5')
    """
    if not is_share:
        return f"{value:+.3g}".replace("-", "−")
    return text_in(lang, "{n} points").format(n=f"{100 * value:+.1f}".replace("-", "−"))


def uncounted_text(found: Comparison) -> str:
    """Return a sentence that says why not all dependence between attributes was examined."""
    return WORDS.of(found.lang)["counted_some" if found.looked_at else "uncounted"].format(
        target=found.target,
        n=found.attributes,
        size=bytes_text(found.uncounted_pairs or 0),
        most=found.looked_at,
    )


def ceiling_text(found: Comparison) -> str:
    """Return a sentence about the best possible accuracy, estimated from the best posteriors."""
    low, high = found.ceiling.interval
    if not found.ceiling_holds:
        said = WORDS.of(found.lang)["no_ceiling"].format(
            model=name_of(found.of(found.ceiling_by), found.lang),
            ceiling=f"{1.0 - low:.1%}",
            right=f"{1.0 - found.least_error:.1%}",
        )
    else:
        said = WORDS.of(found.lang)["ceiling"].format(
            model=name_of(found.of(found.ceiling_by), found.lang),
            ceiling=f"{1.0 - found.ceiling.value:.1%}",
            low=f"{1.0 - high:.1%}",
            high=f"{1.0 - low:.1%}",
            pick=found.picked.name,
            right=f"{1.0 - found.picked.error.value:.1%}",
        )
    return closed_up(said)


CAUTION_WORDS = WordList(
    {
        "leak": "{name} alone predicts the class of {share} of the rows. Was it known before the outcome? If not, "
        "the model learns the answer from it: leave it out with exclude=[{name!r}].",
        "perfect": "{pick} makes almost no errors ({value}). Was every column known before the outcome? Check the "
        "columns that it depends on most.",
        "useless": "{pick} may be no better than making the same decision for all rows: it saves {value} (95% "
        "interval {low} to {high}).",
        "never": "{label} is never predicted, although {n} test rows ({share}) belong to it. Use its "
        "probabilities, and set the cost of missing it with loss=.",
        "rare": "{label} is rare ({n} of {all} test rows, {share}), so the error says little about it. Its recall "
        "is {recall} (95% interval {low} to {high}) and its precision {precision}.",
        "few": "There are only {n} test rows. The error of {pick} is between {low} and {high} (95% interval).",
        "folds": "Some folds have only {n} test rows, so the results vary from fold to fold. Use fewer folds=, or "
        "a test table (test=).",
        "too_sure": "{pick} is overconfident: the mean probability of its predicted class is {said}, but only "
        "{right} of the predictions are correct.",
        "too_doubtful": "{pick} is underconfident: the mean probability of its predicted class is {said}, but "
        "{right} of the predictions are correct.",
        "uneven": "The probabilities of {pick} are not calibrated everywhere: on average they are off by {gap}, "
        "as the chart shows.",
        "sample": "Models were compared on {n} of {all} rows, drawn at random. Models with many parameters may do "
        "better on all rows: full=True compares them there.",
        "interrupt": "The comparison was stopped by Ctrl-C. {names} did not finish; one of them may be better.",
        "time": "The time limit was reached before {names} finished; one of them may be better.",
        "screened": "{names}: the counts of all attributes would not fit into memory, so these models use only "
        "the most informative ones, chosen in each fold.",
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
    words = CAUTION_WORDS.of(found.lang)

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
    words = CAUTION_WORDS.of(found.lang)
    more = [words["more"].format(n=len(names) - MOST)] if len(names) > MOST else []
    return words["and"].join([*names[:MOST], *more])


def percent(share: float) -> str:
    """Write a share that may be small.

    >>> percent(0.004), percent(0.25)
    ('0.40%', '25.0%')
    """
    return f"{share:.1%}" if share >= 0.01 else f"{share:.2%}"
