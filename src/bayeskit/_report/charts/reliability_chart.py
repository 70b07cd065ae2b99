"""Reliability diagrams: predicted probabilities against observed frequencies, with the number of rows.

Charts of predictions use one posterior per row, and whether the class was correct (`outcomes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._messages import Joined
from bayeskit._report.charts.chart import Chart
from bayeskit._report.charts.plot import Axis, Bars, Curve, Panel, Plot
from bayeskit._report.words import chart_words
from bayeskit._schema import Label
from bayeskit.errors import DataError, SettingError

_Z = 1.959963984540054  # of 95%
# The smallest width of a bin, as a fraction of the axis, with room for a number of four characters.
NARROW = 0.07


@dataclass(frozen=True, eq=False)
class Reliability(Chart):
    """A reliability diagram: rows binned by their posterior. Empty bins are left out.

    Attributes
    ----------
    label : label or None
        The class whose posterior is checked. None for the predicted class, against whether it was correct.
    predicted, observed : arrays of shape (b,)
        The mean posterior of the rows in a bin, and the share of them that belong to the class.
    lower, upper : arrays of shape (b,)
        The 95% interval of the share (Wilson).
    counts : array of shape (b,)
    edges : array
        The edges of the bins.
    error : float
        The expected calibration error (ECE): the mean distance between share and posterior, over the rows.
    """

    label: Label | None
    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    counts: NDArray[np.int64]
    edges: Floats
    error: float
    lang: str = "en"

    def _texts(self) -> tuple[str, list[str]]:
        words = chart_words(self.lang)
        said = {"label": self.label, "gap": f"{self.error:.3f}", "n": f"{int(self.counts.sum()):,}"}
        of_class = self.label is not None
        title = words["reliability_title" if of_class else "reliability_top"].format(**said)
        note = words["reliability_note" if of_class else "reliability_note_top"].format(**said)
        return title, [note, words["reliability_gap"].format(**said)]

    def description(self) -> Plot:
        words = chart_words(self.lang)
        title, notes = self._texts()
        listed = "; ".join(
            f"{p:.3f}: {s:.3f} ({n:,})"
            for p, s, n in zip(self.predicted, self.observed, self.counts, strict=True)
        )
        curve = Curve(
            self.predicted, self.observed, description=listed, size=4.5, lower=self.lower, upper=self.upper
        )
        ends = np.array([0.0, 1.0])
        predicted, observed = (Axis(words[name], 0.0, 1.0, "percent") for name in ("predicted", "observed"))
        main = Panel(predicted, observed, (Curve(ends, ends, None, dashed=True), curve), height=300.0)
        return Plot(title, tuple(notes), listed, (main, self._rows(words["rows"])))

    def _rows(self, name: str) -> Panel:
        """Return the panel of row counts: bars with the same edges as the bins above, and the numbers on top."""
        inside = np.clip(np.searchsorted(self.edges[1:-1], self.predicted), 0, len(self.edges) - 2)
        left, right = self.edges[inside], self.edges[inside + 1]
        # A narrow bar has no room for its number.
        texts = tuple(
            _short(int(n)) if wide >= NARROW else ""
            for n, wide in zip(self.counts, right - left, strict=True)
        )
        most = max(int(self.counts.max(initial=1)), 1)
        listed = "; ".join(
            f"{a:.3g}–{b:.3g}: {n:,}" for a, b, n in zip(left, right, self.counts, strict=True)
        )
        bars = Bars(
            (left + right) / 2,
            self.counts.astype(np.float64),
            right - left,
            0,
            texts=texts,
            description=listed,
        )
        # Room over the highest bar for its number.
        y = Axis(name, 0.0, 1.35 * most, "whole", bare=True)
        return Panel(Axis("", 0.0, 1.0, "percent", bare=True), y, (bars,), height=60.0, beneath=True)


def _short(n: int) -> str:
    """Write a number of rows in at most four characters.

    >>> _short(987), _short(12_345), _short(1_234_567)
    ('987', '12k', '1.2M')
    """
    if n < 10_000:
        return str(n)
    return f"{n / 1000:.0f}k" if n < 1_000_000 else f"{n / 1e6:.1f}M"


def reliability(
    y: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Label] | NDArray[Any],
    *,
    label: Label | None = None,
    n_bins: int = 10,
    strategy: str = "uniform",
    lang: str = "en",
) -> Reliability:
    """Compare predicted probabilities with observed frequencies.

    Parameters
    ----------
    y : array of shape (n,)
        The class of each row.
    posterior : array of shape (n, K)
        The result of ``predict_proba`` of any classifier.
    classes : sequence of K labels
    label : label, optional
        The class whose posterior is checked. By default, the second of two classes; with more classes, the
        predicted class, against whether it was correct.
    n_bins : int
    strategy : "uniform" or "quantile"
        Bins of equal width, or with about equal numbers of rows.
    lang : "en" or "zh"

    Examples
    --------
    >>> found = reliability([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.15, 0.85], [0.25, 0.75]], [0, 1], n_bins=2)
    >>> found.counts, found.predicted, found.observed.round(3)
    (array([1, 3]), array([0.1, 0.8]), array([0.   , 0.667]))
    """
    chart_words(lang)
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or not 1 <= n_bins <= 1000:
        raise SettingError("n_bins is {n_bins!r}; give a whole number from 1 to 1000.", n_bins=n_bins)
    label, p, hit = outcomes(y, posterior, classes, label)
    if strategy == "uniform":
        edges = np.linspace(0.0, 1.0, n_bins + 1)
    elif strategy == "quantile":
        edges = np.percentile(p, np.linspace(0, 1, n_bins + 1) * 100)
    else:
        raise SettingError("strategy is {strategy!r}; choose 'uniform' or 'quantile'.", strategy=strategy)
    inside = np.searchsorted(edges[1:-1], p)
    counts = np.bincount(inside, minlength=n_bins)
    full = counts > 0
    n = counts[full]
    predicted = np.bincount(inside, weights=p, minlength=n_bins)[full] / n
    observed = np.bincount(inside, weights=hit, minlength=n_bins)[full] / n
    error = float((n * np.abs(observed - predicted)).sum() / n.sum())
    return Reliability(label, predicted, observed, *wilson(observed, n), n, edges, error, lang)


Floats = NDArray[np.float64]


def wilson(share: Floats, n: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the ends of the 95% interval of shares of n rows each (Wilson).

    >>> [round(float(end[0]), 3) for end in wilson(np.array([0.0]), np.array([10]))]
    [0.0, 0.278]
    """
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(share * (1 - share) / n + (_Z / (2 * n)) ** 2)
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


def class_codes(
    y: ArrayLike, posterior: ArrayLike, classes: Sequence[Label] | NDArray[Any]
) -> tuple[NDArray[np.intp], Floats, list[Label]]:
    """Return the index of the class of each row, the posteriors as an array, and the classes.

    >>> class_codes(["b", "a"], [[0.5, 0.5], [1.0, 0.0]], ["a", "b"])[0]
    array([1, 0])
    """
    labels = list(classes.tolist() if isinstance(classes, np.ndarray) else classes)
    shares = np.asarray(posterior, dtype=np.float64)
    truth = np.asarray(y).tolist() if not isinstance(y, list) else y
    if shares.ndim != 2 or shares.shape != (len(truth), len(labels)) or not len(truth):
        raise DataError(
            "posterior has shape {shape}, for {n} rows and {n_labels} classes. Give one row of "
            "posteriors for each label, one column for each class.",
            shape=shares.shape,
            n=len(truth),
            n_labels=len(labels),
        )
    if not np.isfinite(shares).all() or (shares < 0).any() or (shares > 1 + 1e-9).any():
        raise DataError(
            "posterior contains numbers that are not probabilities. Pass what predict_proba returns."
        )
    place = {label: k for k, label in enumerate(labels)}
    strange = next((label for label in truth if label not in place), None)
    if strange is not None or None in truth:
        raise DataError(
            "The row label {strange!r} is none of the classes ({names}).",
            strange=strange,
            names=Joined(map(str, labels[:8])),
        )
    return np.array([place[label] for label in truth], dtype=np.intp), shares, labels


def outcomes(
    y: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Label] | NDArray[Any],
    label: Label | None,
    *,
    binary: bool = False,
) -> tuple[Label | None, Floats, Floats]:
    """Return the class (None: the predicted one), its posterior in each row, and 1 where it is correct.

    Without a label it is the second of two classes. With ``binary`` there must be one.

    >>> outcomes([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], [0, 1, 2], None)[1:]
    (array([0.5, 0.8]), array([1., 0.]))
    """
    codes, shares, labels = class_codes(y, posterior, classes)
    if label is None and len(labels) == 2:
        label = labels[1]
    if label is None:
        if binary:
            raise SettingError(
                "There are {n} classes: choose one with label=, such as {label!r}.",
                n=len(labels),
                label=labels[0],
            )
        chosen = shares.argmax(axis=1)
        return None, shares[np.arange(len(codes)), chosen], (chosen == codes).astype(np.float64)
    if label not in labels:
        raise SettingError(
            "label is {label!r}, which is not a class. There are {names}.",
            label=label,
            names=Joined(map(repr, labels[:12])),
        )
    k = labels.index(label)
    return label, shares[:, k], (codes == k).astype(np.float64)
