"""The class profile chart: the distribution of each attribute in each class; and the terms that such charts draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._data.encoded import Chunk
from bayeskit._fitting.model import Model
from bayeskit._markup import plain
from bayeskit._messages import Joined
from bayeskit._report.charts.axis import COLOURS
from bayeskit._report.charts.chart import Chart
from bayeskit._report.charts.plot import Axis, Bars, Curve, Key, Panel, Plot, states_axis
from bayeskit._report.words import chart_words
from bayeskit._schema import Label, Name, Variable
from bayeskit._statistics.moments import Moments
from bayeskit.errors import ColumnError, SettingError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The log-probability terms of each attribute value, in models with one factor per attribute.

GRID = 161


@dataclass(frozen=True, eq=False)
class Terms:
    """Values of one attribute, and log P(value | c) − log P(unknown | c) of each: shape (m, K)."""

    name: Name
    numeric: bool
    values: tuple[Label, ...]
    logs: Floats


def need_separate_factors(model: Model, who: str, what: str) -> None:
    """Raise an error for a model in which the factor of an attribute depends on others."""
    if model.schema.block is not None:
        raise UsageError(
            "{who} reads all columns as one text, and a {what} of every word would be too large. "
            "explain(row) breaks down a row.",
            who=who,
            what=what,
        )
    if not all(conditional.is_separate for conditional in model.conditionals):
        raise UsageError(
            "In {who} the effect of a value depends on other values, so it has no points of its own. {what} "
            "is for NaiveBayes, GaussianNB, CategoricalNB and WeightedNB; explain(row) breaks down a row of "
            "any model.",
            who=who,
            what=what,
        )


def nothing_known(model: Model, n: int = 1) -> Chunk:
    """Return rows in which everything is missing."""
    schema = model.schema
    codes = np.array([[v.size for v in schema.categorical]] * n, dtype=schema.code_dtype)
    values = np.full((n, len(schema.numeric)), np.nan)
    return Chunk(n, codes.reshape(n, len(schema.categorical)), values)


def terms_of(model: Model, variable: Variable, cells: ArrayLike) -> Floats:
    """Return log P(x | c) − log P(unknown | c) of one attribute for these codes or numbers: shape (m, K)."""
    cells = np.asarray(cells)
    chunk, names = nothing_known(model, len(cells)), model.schema
    before = model.joint_chunk(nothing_known(model))
    if variable.kind == "numeric":
        chunk.values[:, names.numeric_index[variable.name]] = cells
    else:
        chunk.codes[:, [v.name for v in names.categorical].index(variable.name)] = cells
    return np.asarray(model.joint_chunk(chunk) - before)


def all_terms(model: Model, moments: Moments | None) -> list[Terms]:
    """Return the terms of every attribute, for all its states or for numbers over the range of its classes."""
    found = []
    for variable in model.schema.attributes:
        if variable.kind == "numeric":
            assert moments is not None
            cells: Any = span_of(moments, model.schema.numeric_index[variable.name], _least(model, variable))
            values: tuple[Label, ...] = tuple(cells.tolist())
        else:
            cells, values = np.arange(variable.size), variable.states
        if len(cells):
            found.append(
                Terms(variable.name, variable.kind == "numeric", values, terms_of(model, variable, cells))
            )
    return found


def span_of(moments: Moments, column: int, least: float = -np.inf, n: int = GRID) -> Floats:
    """Return numbers over the range of the classes: means ± 2.5 standard deviations.

    >>> span_of(Moments.from_sums([[4.0]], [[0.0]], [[0.0]], [[4.0]]), 0, n=3)
    array([-2.5,  0. ,  2.5])
    """
    seen = moments.weight[:, column] > 0
    mean, deviation = moments.mean()[0][seen, column], moments.deviation()[seen, column]
    if not len(mean):
        return np.zeros(1)
    low, high = float((mean - 2.5 * deviation).min()), float((mean + 2.5 * deviation).max())
    return np.linspace(max(low, least), high, n) if high > max(low, least) else np.array([high])


def _least(model: Model, variable: Variable) -> float:
    """Return the lowest value to draw: 0 for a count attribute."""
    return max(c.least(model.schema.numeric_index[variable.name]) for c in model.conditionals)


# The heights of bars. With two classes, a bar is as tall as the number next to it.
BAR, TALL_BAR, CURVE, MOST_STATES = 7.0, 11.0, 74.0, 8
# The fraction of a state's height that its bars fill.
FILLED = 0.8

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distribution:
    """One attribute in every class.

    Attributes
    ----------
    name : hashable
    numeric : bool
    values : tuple
        States, or numbers over the range of the classes.
    shares : array of shape (K, m)
        P(state | c), or the density at the numbers.
    information : float
        The mutual information with the class, I(X; Y), in nats.
    """

    name: Name
    numeric: bool
    values: tuple[Label, ...]
    shares: Floats
    information: float


@dataclass(frozen=True, eq=False)
class ClassProfile(Chart):
    """The distribution of every attribute by class, the most informative first.

    Attributes
    ----------
    target : hashable
    classes : tuple of K labels
    prior : array of shape (K,)
    distributions : tuple of Distribution
    most : int
        The number of attributes to draw.
    """

    target: Name
    classes: tuple[Label, ...]
    prior: Floats
    distributions: tuple[Distribution, ...]
    most: int = 8
    lang: str = "en"

    def __getitem__(self, name: Name) -> Distribution:
        for found in self.distributions:
            if found.name == name:
                return found
        known = Joined(repr(d.name) for d in self.distributions[:12])
        raise ColumnError("There is no attribute {name!r}. There are {known}.", name=name, known=known)

    def description(self) -> Plot:
        words = chart_words(self.lang)
        # The most frequent classes get the colours.
        classes = sorted(np.argsort(-self.prior, kind="stable")[: len(COLOURS)].tolist())
        notes = [words["profile_note"]]
        for name, hidden in (
            ("profile_more", len(self.distributions) - self.most),
            ("profile_classes", len(self.classes) - len(classes)),
        ):
            if hidden > 0:
                notes.append(words[name].format(n=hidden))
        title = words["profile_title"].format(target=self.target)
        shown = self.distributions[: self.most]
        panels = tuple((self._curves if d.numeric else self._bars)(d, classes) for d in shown)
        listed = words.join((f"{plain(d.name)} {d.information:.3f}" for d in shown), "; ")
        names = tuple(Key(str(self.classes[k]), i) for i, k in enumerate(classes))
        return Plot(title, tuple(notes), listed, panels, names, str(self.target))

    def _bars(self, found: Distribution, classes: list[int]) -> Panel:
        rows = [(str(value), found.shares[:, i]) for i, value in enumerate(found.values)]
        if len(rows) > MOST_STATES:
            overall = self.prior @ found.shares
            top = np.argsort(-overall, kind="stable")[: MOST_STATES - 1]
            rest = np.setdiff1d(np.arange(len(rows)), top)
            more = chart_words(self.lang)["others"].format(n=len(rest))
            rows = [*(rows[i] for i in sorted(top.tolist())), (more, found.shares[:, rest].sum(axis=1))]
        few = len(classes) <= 2
        width = FILLED / len(classes)
        series = []
        for i, k in enumerate(classes):
            at = np.arange(float(len(rows))) + width * (i + 0.5) - FILLED / 2
            shares = np.array([share[k] for _, share in rows])
            numbers = tuple(f"{100 * share:.0f}%" for share in shares) if few else ()
            say = chart_words(self.lang)
            said = say.pairs(
                (text, f"{100 * share:.1f}%") for (text, _), share in zip(rows, shares, strict=True)
            )
            label = str(self.classes[k])
            series.append(
                Bars(
                    at,
                    shares,
                    np.full(len(rows), width),
                    i,
                    label,
                    horizontal=True,
                    texts=numbers,
                    description=say.join((say.join((found.name, label)), said), ": "),
                )
            )
        height = max((TALL_BAR if few else BAR) * len(classes), 12.0) / FILLED
        x = Axis("", 0.0, 1.0, "percent", bare=True)
        y = states_axis("", [text for text, _ in rows], downwards=True)
        return Panel(x, y, tuple(series), title=str(found.name), height=height * len(rows))

    def _curves(self, found: Distribution, classes: list[int]) -> Panel:
        numbers = np.asarray(found.values, dtype=np.float64)
        means = found.shares @ numbers / np.maximum(found.shares.sum(axis=1), 1e-300)
        series = tuple(
            Curve(numbers, found.shares[k], i, label, f"{found.name}, {label}: {means[k]:.4g}")
            for i, (k, label) in enumerate((k, str(self.classes[k])) for k in classes)
        )
        # If there is only one number, put it in the middle.
        low, high = (numbers[0], numbers[-1]) if len(numbers) > 1 else (numbers[0] - 0.5, numbers[0] + 0.5)
        highest = float(found.shares[classes].max())
        y = Axis("", 0.0, 1.04 * highest if highest > 0 else 1.0, bare=True)
        return Panel(Axis("", float(low), float(high)), y, series, title=str(found.name), height=CURVE)

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw with Matplotlib: the most informative attribute on the given axes, or each one on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        The axes, or a list of them.
        """
        found = super().plot(ax)
        return found if ax is not None or isinstance(found, list) else [found]


def class_profile(
    terms: Sequence[Terms],
    prior: Floats,
    classes: Sequence[Label],
    *,
    target: Name,
    attributes: Sequence[Name] | None = None,
    most: int = 8,
    lang: str = "en",
) -> ClassProfile:
    """Return the class profile of some attributes.

    Parameters
    ----------
    terms : sequence of Terms
        log P(value | c).
    prior : array of shape (K,)
    classes : sequence of K labels
    target : name of the class
    attributes : sequence of names, optional
        The attributes to keep, in this order. By default all, the most informative first.
    most : int
    lang : "en" or "zh"

    Examples
    --------
    >>> rain = Terms("rain", False, ("no", "yes"), np.log([[0.9, 0.2], [0.1, 0.8]]))
    >>> profile = class_profile([rain], np.array([0.5, 0.5]), ["dry", "wet"], target="lawn")
    >>> profile["rain"].shares.round(3).tolist(), round(profile["rain"].information, 3)
    ([[0.9, 0.1], [0.2, 0.8]], 0.275)
    """
    chart_words(lang)
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise SettingError("most is {most!r}; give the number of attributes to draw, at least 1.", most=most)
    found = [_distribution(term, np.asarray(prior)) for term in terms]
    if attributes is None:
        found.sort(key=lambda one: -one.information)
    else:
        by_name = {one.name: one for one in found}
        strange = next((name for name in attributes if name not in by_name), None)
        if strange is not None:
            known = Joined(repr(name) for name in list(by_name)[:12])
            raise ColumnError(
                "There is no attribute {strange!r}. There are {known}.", strange=strange, known=known
            )
        found, most = [by_name[name] for name in attributes], max(len(attributes), 1)
    if not found:
        raise SettingError("There is no attribute to draw.")
    return ClassProfile(target, tuple(classes), np.asarray(prior), tuple(found), int(most), lang)


def _distribution(term: Terms, prior: Floats) -> Distribution:
    shares = np.exp(term.logs).T
    if term.numeric and len(term.values) > 1:
        numbers = np.asarray(term.values, dtype=np.float64)
        weights = shares * np.gradient(numbers)
    else:
        weights = shares
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    joint = prior[:, None] * weights
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = joint * (np.log(weights) - np.log(joint.sum(axis=0)))
    return Distribution(term.name, term.numeric, term.values, shares, max(0.0, float(np.nansum(terms))))
