"""The waterfall of an explanation: from the prior to the posterior, one bar for each contribution to the log-odds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayeskit._messages import WordList
from bayeskit._report.charts.axis import around
from bayeskit._report.charts.chart import Chart
from bayeskit._report.charts.plot import Axis, Bars, Curve, Key, Panel, Plot, states_axis
from bayeskit._report.contributions import PRIOR, TOGETHER, explained_logs
from bayeskit._report.explanation import Explanation
from bayeskit._report.factors.average import logs_of
from bayeskit._report.fractions import share
from bayeskit._report.page import PRIOR_WORDS, SMALLEST, name_text, odds_text, value_text
from bayeskit._report.words import chart_words, words_of
from bayeskit._schema import Label, Name
from bayeskit._visible import shorter
from bayeskit.errors import SettingError, UsageError

# The height of a bar and the gap below it, in pixels, and the colours: for, against, and the total.
BAR = 21.0
FOR, AGAINST, TOTAL = 0, 1, 7


@dataclass(frozen=True)
class Step:
    """One contribution to the log-odds: that of the prior, of an attribute, of several, or of the calibration."""

    name: str
    log_odds: float


@dataclass(frozen=True, eq=False)
class Waterfall(Chart):
    """The contributions to the log-odds of the predicted class, in the order in which they are added.

    Attributes
    ----------
    target : hashable
    label, against : labels
        The predicted class, and the most probable of the others.
    steps : tuple of Step
        The prior, the attributes by weight, what belongs to no single one, and the calibration.
    probabilities : (float, float)
        P(label) by the prior, and by the posterior.

    Examples
    --------
    >>> chart = Waterfall("coin", "head", "tail", (Step("P(coin)", 0.0), Step("toss", 1.5)), (0.5, 0.82))
    >>> chart.log_odds, [step.name for step in chart.steps]
    (1.5, ['P(coin)', 'toss'])
    """

    target: Name
    label: Label
    against: Label
    steps: tuple[Step, ...]
    probabilities: tuple[float, float]
    lang: str = "en"

    @property
    def log_odds(self) -> float:
        """The sum of the steps: log P(label | x) − log P(against | x)."""
        return math.fsum(step.log_odds for step in self.steps)

    def description(self) -> Plot:
        words = chart_words(self.lang)
        names = [step.name for step in self.steps] + [words["waterfall_total"]]
        finite = [step.log_odds for step in self.steps if math.isfinite(step.log_odds)]
        levels = np.concatenate([[0.0], np.cumsum(finite)])
        low, high = around(levels, room=0.08)
        # A value that rules the other class out has no end on this axis: its bar, the last, runs to the edge.
        ends = [*levels[1:].tolist(), *[high] * (len(self.steps) - len(finite))]
        series: list[Curve | Bars] = [_nought(len(names))]
        begin = 0.0
        for place, (step, end) in enumerate(zip(self.steps, ends, strict=True)):
            colour = FOR if step.log_odds >= 0.0 else AGAINST
            series.append(_bar(place, begin, end, colour, step, words))
            begin = end
        total = Step(names[-1], self.log_odds)
        series.append(_bar(len(self.steps), 0.0, begin, TOTAL, total, words))
        label, against = shorter(self.label), shorter(self.against)
        title = words["waterfall_title"].format(a=label)
        before, after = (share(p, 1.0 - p) for p in self.probabilities)
        note = words["waterfall_note"].format(a=label, before=before, after=after)
        told = words.pairs((step.name, odds_text(step.log_odds)) for step in self.steps)
        panel = Panel(
            Axis(words["waterfall_axis"], low, high),
            states_axis("", names, downwards=True),
            tuple(series),
            height=BAR * len(names),
        )
        keys = (
            Key(words["waterfall_for"].format(label=label), FOR),
            Key(words["waterfall_for"].format(label=against), AGAINST),
        )
        return Plot(title, (note,), told, (panel,), keys)


def _bar(place: int, begin: float, end: float, colour: int, step: Step, words: WordList) -> Bars:
    at, base, value, width = (np.array([number]) for number in (float(place), begin, end, 0.72))
    text = odds_text(step.log_odds)
    description = words.pairs([(step.name, text)])
    return Bars(at, value, width, colour, horizontal=True, texts=(text,), description=description, base=base)


def _nought(n: int) -> Curve:
    return Curve(np.zeros(2), np.array([-0.5, n - 0.5]), None, dashed=True)


def waterfall_of(e: Explanation, most: int) -> Waterfall:
    """Return the waterfall of an explanation, with at most so many attributes."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise SettingError("most is {most!r}; give a number of attributes, at least 1.", most=most)
    if e.runner_up is None:
        raise UsageError(
            "There is only one class, {label!r}, so nothing speaks for another.", label=e.prediction
        )
    if e.impossible:
        raise UsageError("Every class has a product of 0, so there are no log-odds to draw. See left_out.")
    words = words_of(e.lang)
    first, named, last = _parts(e)
    named = sorted(named, key=lambda step: -abs(step.log_odds))
    shown, rest = named[:most], named[most:]
    telling = [step for step in shown if e.all or abs(step.log_odds) >= SMALLEST]
    rest = [step for step in shown if step not in telling] + rest
    steps = [first, *telling]
    if rest:
        key = "folded_models" if e.form == "stack" else "folded_attributes"
        steps.append(Step(words[key].format(n=len(rest)), math.fsum(step.log_odds for step in rest)))
    a, b = e.ranking[:2]
    before, after = _prior_of(e)[a], (e.calibrated or e.posterior)[a]
    if e.calibrated is not None and e.log_odds is not None:
        change = _log_ratio(e.calibrated[a], e.calibrated[b]) - e.log_odds
        last = [*last, Step(words["calibrated"], 0.0 if math.isnan(change) else change)]
    finite = [step for step in [*steps, *last] if math.isfinite(step.log_odds)]
    endless = [step for step in [*steps, *last] if not math.isfinite(step.log_odds)]
    return Waterfall(e.target, e.prediction, e.runner_up, (*finite, *endless), (before, after), e.lang)


def _parts(e: Explanation) -> tuple[Step, list[Step], list[Step]]:
    """Return the step of the prior, those of attributes, and those that belong to no single attribute."""
    words = words_of(e.lang)
    prior_name = words[PRIOR_WORDS[e.prior_source]].format(target=e.target)
    if e.average is None:
        first = Step(prior_name, _odds(e.prior_log_odds))
        named = [
            Step(_name(a.name, a.value, a.as_missing, words), _odds(odds))
            for a, odds in zip(e.attributes, e.attribute_log_odds, strict=True)
        ]
        return first, named, [] if e.rest is None else [Step(words["rest"], _odds(e.odds_of(e.rest)))]
    # An average is taken apart by the shares of its super-parents, as contributions are.
    values = {parent.name: parent.value for parent in e.average.super_parents}
    values |= {a.name: a.value for a in e.attributes}
    for parent in e.average.super_parents:
        for name, _ in logs_of(parent.attributes):
            values.setdefault(name, None)
    columns, logs = explained_logs([e], list(values))
    a, b = e.ranking[:2]
    with np.errstate(invalid="ignore"):
        odds = dict(zip(columns, (logs[0, :, a] - logs[0, :, b]).tolist(), strict=True))
    first = Step(words["prior"].format(target=e.target), _odds(odds.pop(PRIOR)))
    last = [Step(words["rest"], _odds(odds.pop(TOGETHER)))] if columns[-1] == TOGETHER else []
    return first, [Step(_name(n, values[n], False, words), _odds(o)) for n, o in odds.items()], last


def _name(name: object, value: object, as_missing: bool, words: WordList) -> str:
    """Write an attribute with its value, which may be missing where a page has no value to show."""
    text = shorter(name_text(name, words["separator"]))
    if value is None and not as_missing:
        return text
    return f"{text} = {shorter(value_text(value, as_missing, words))}"


def _prior_of(e: Explanation) -> tuple[float, ...]:
    """Return P(c) before the row was seen: the prior, normalised, or that of the model where it is no factor."""
    logs = [factor.log for factor in e.prior]
    if e.fallback is not None and (e.average is not None or e.prior_source == "unused"):
        logs = list(e.fallback)
    weights = [math.exp(log - max(logs)) for log in logs]
    return tuple(weight / math.fsum(weights) for weight in weights)


def _odds(odds: float | None) -> float:
    """Return a contribution; 0 where both classes are ruled out."""
    return 0.0 if odds is None or math.isnan(odds) else odds


def _log_ratio(a: float, b: float) -> float:
    return math.inf if b == 0.0 else math.log(a) - math.log(b) if a > 0.0 else -math.inf
