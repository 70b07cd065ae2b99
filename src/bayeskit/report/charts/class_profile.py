"""How each attribute is distributed in each class, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import ColumnError, SettingError
from bayeskit.report.charts.chart import Chart
from bayeskit.report.charts.palette import COLOURS, colour_of
from bayeskit.report.charts.profile_scene import profile_scene
from bayeskit.report.charts.terms import Terms
from bayeskit.report.charts.words import chart_words
from bayeskit.report.scene import Scene
from bayeskit.schema import Label, Name

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distribution:
    """One attribute in every class.

    Attributes
    ----------
    name : hashable
    numeric : bool
    values : tuple
        States, or numbers over the span that the classes have.
    shares : array of shape (K, m)
        P(state | c), or the density at the numbers.
    information : float
        How much it tells about the class, I(X; Y) in nats.
    """

    name: Name
    numeric: bool
    values: tuple[Label, ...]
    shares: Floats
    information: float


@dataclass(frozen=True, eq=False)
class ClassProfile(Chart):
    """Every attribute by class; those that tell most come first.

    Attributes
    ----------
    target : hashable
    classes : tuple of K labels
    prior : array of shape (K,)
    distributions : tuple of Distribution
    most : int
        How many are drawn.
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
        known = ", ".join(repr(d.name) for d in self.distributions[:12])
        raise ColumnError(f"There is no attribute {name!r}. There are {known}.")

    def scene(self) -> Scene:
        return profile_scene(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw with Matplotlib: the attribute that tells most on axes that are given, else each on axes of its own.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        The axes, or a list of them.
        """
        if ax is not None:
            return super().plot(ax)
        shown = self.distributions[: self.most]
        first = super().plot(None)
        figure = first.figure
        first.remove()
        found = []
        for i, distribution in enumerate(shown):
            axes = figure.add_subplot(len(shown), 1, i + 1)
            found.append(replace(self, distributions=(distribution,)).plot(axes))
            if i:  # one legend serves all
                axes.get_legend().remove()
        return found

    def _on_axes(self, axes: Any) -> None:
        found = self.distributions[0]
        for k, label in enumerate(self.classes):
            colour = COLOURS[colour_of(k)][0]
            if found.numeric:
                axes.plot(found.values, found.shares[k], color=colour, label=str(label))
            else:
                at = np.arange(len(found.values)) + 0.8 * (k + 0.5) / len(self.classes) - 0.4
                axes.bar(at, found.shares[k], 0.8 / len(self.classes), color=colour, label=str(label))
        if not found.numeric:
            axes.set_xticks(range(len(found.values)), [str(value) for value in found.values])
        axes.set_title(str(found.name))
        axes.legend(title=str(self.target))


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
    """Put the distributions of attributes side by side.

    Parameters
    ----------
    terms : sequence of Terms
        log P(value | c).
    prior : array of shape (K,)
    classes : sequence of K labels
    target : name of the class
    attributes : sequence of names, optional
        Those to keep, in this order; else all, those that tell most first.
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
        raise SettingError(f"most is {most!r}; give the number of attributes to draw, at least 1.")
    found = [_distribution(term, np.asarray(prior)) for term in terms]
    if attributes is None:
        found.sort(key=lambda one: -one.information)
    else:
        by_name = {one.name: one for one in found}
        strange = next((name for name in attributes if name not in by_name), None)
        if strange is not None:
            known = ", ".join(repr(name) for name in list(by_name)[:12])
            raise ColumnError(f"There is no attribute {strange!r}. There are {known}.")
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
