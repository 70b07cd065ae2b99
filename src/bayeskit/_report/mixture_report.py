"""What is shown of mixtures: class profiles, components over two columns, the history of EM, criteria over sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.frames import to_native
from bayeskit._display_table import text_lines
from bayeskit._fitting.mixtures.latent_model import components_of
from bayeskit._fitting.model import Model
from bayeskit._markup import plain
from bayeskit._messages import Joined, text_in
from bayeskit._report.charts.axis import around
from bayeskit._report.charts.chart import PlotPicture
from bayeskit._report.charts.plot import Axis, Curve, Key, Panel, Plot, Points, Ring, Shape, Tag
from bayeskit._report.words import chart_words
from bayeskit._schema import Label, Name
from bayeskit.errors import ColumnError, SettingError

if TYPE_CHECKING:
    from bayeskit._display_table import DisplayTable

Floats = NDArray[np.float64]

MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Profile:
    """One attribute in every component.

    Attributes
    ----------
    name : hashable
    family : "table", or the name of a family of numbers
    rows : tuple
        The names of the values: the states; or "mean" and "sd"; or "rate"; …. If missing is a state,
        "(missing)" is added.
    values : array of shape (components, rows)
    """

    name: Name
    family: str
    rows: tuple[Label, ...]
    values: Floats


@dataclass(frozen=True, eq=False)
class ClassProfiles:
    """Every attribute in every component. Prints as a table, also in notebooks.

    Attributes
    ----------
    weights : array of shape (K,)
        P(k).
    profiles : tuple of Profile
        In the order of the columns.

    Examples
    --------
    >>> rain = Profile("rain", "table", ("no", "yes"), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> print(ClassProfiles(np.array([0.75, 0.25]), (rain,)))
    2 components
    <BLANKLINE>
    attribute       component 0  component 1
    (weight)        0.75         0.25
    rain       no   0.9          0.2
               yes  0.1          0.8
    """

    weights: Floats
    profiles: tuple[Profile, ...]

    def __getitem__(self, name: Name) -> Profile:
        for profile in self.profiles:
            if profile.name == name:
                return profile
        known = Joined(repr(p.name) for p in self.profiles[:12])
        raise ColumnError("There is no attribute {name!r}. There are {known}.", name=name, known=known)

    def frame(self) -> Any:
        """Return a data frame of an installed library, with a row for each row of each profile."""
        lines = [(p.name, row, p.values[:, i]) for p in self.profiles for i, row in enumerate(p.rows)]
        columns: dict[str, Any] = {
            "attribute": np.array([str(name) for name, _, _ in lines], dtype=object),
            "row": np.array([str(row) for _, row, _ in lines], dtype=object),
        }
        for k in range(len(self.weights)):
            columns[f"component {k}"] = np.array([values[k] for _, _, values in lines])
        return to_native(columns)

    def __str__(self) -> str:
        page = self._page()
        return "\n".join([page.title, "", *text_lines(page)])

    def _repr_html_(self) -> str:
        from bayeskit._display_table import notebook_html

        return notebook_html(self._page())

    def _page(self, lang: str = "en") -> DisplayTable:
        from bayeskit._display_table import DisplayTable

        say = partial(text_in, lang)
        k = len(self.weights)
        rows = [(f"({say('weight')})", "", *(f"{w:.4g}" for w in self.weights))]
        for profile in self.profiles:
            for i, row in enumerate(profile.rows):
                name = str(profile.name) if i == 0 else ""
                rows.append((name, str(row), *(f"{value:.4g}" for value in profile.values[:, i])))
        header = (say("attribute"), "", *(f"{say('component')} {place}" for place in range(k)))
        return DisplayTable(f"{k} component{'' if k == 1 else 's'}", header, tuple(rows), right=len(header))


class _Profiles:
    """The profiles so far, and the share of rows in which an attribute is missing, if missing is a state."""

    def __init__(self, model: Model) -> None:
        self.schema = model.schema
        self.found: dict[Name, Profile] = {}
        self.missing: dict[Name, Floats] = {}

    def add_table(self, column: int, values: Floats) -> None:
        variable = self.schema.categorical[column]
        self.found[variable.name] = Profile(variable.name, "table", variable.states, values)

    def add_numbers(self, column: int, family: str, rows: tuple[str, ...], values: Floats) -> None:
        name = self.schema.numeric[column].name
        self.found[name] = Profile(name, family, rows, values)

    def add_missing(self, kind: Literal["categorical", "numeric"], column: int, share: Floats) -> None:
        self.missing[getattr(self.schema, kind)[column].name] = share


def class_profiles(model: Model) -> ClassProfiles:
    """Return the profiles of the components of a naive Bayes model with a hidden class."""
    page = _Profiles(model)
    for component in components_of(model):
        component.describe(page)
    found = page.found
    for name, share in page.missing.items():
        p = found[name]
        found[name] = Profile(name, p.family, (*p.rows, MISSING), np.column_stack([p.values, share]))
    return ClassProfiles(np.exp(model.log_prior), tuple(found[v.name] for v in model.schema.attributes))


# More rows would not be distinguishable.
MOST_ROWS = 2_000
MOST_LISTED, MOST_SHAPES = 12, 6
SHAPES: tuple[Shape, ...] = ("disc", "square", "triangle", "cross")
# P(within r) = 1 − exp(−r²/2) in two dimensions.
HALF, MOST = math.sqrt(2 * math.log(2)), math.sqrt(2 * math.log(20))
# A quarter of a circle as one Bézier curve.
_KAPPA = 4 / 3 * (math.sqrt(2) - 1)
_CIRCLE = np.array(
    [
        [1, 0],
        *([1, _KAPPA], [_KAPPA, 1], [0, 1]),
        *([-_KAPPA, 1], [-1, _KAPPA], [-1, 0]),
        *([-1, -_KAPPA], [-_KAPPA, -1], [0, -1]),
        *([_KAPPA, -1], [1, -_KAPPA], [1, 0]),
    ]
)


def mixture_picture(
    rows: Floats,
    components: NDArray[np.int64],
    weights: Floats,
    means: Floats,
    covariances: Floats,
    names: tuple[object, object],
    labels: Sequence[object] | None = None,
    *,
    lang: str = "en",
) -> PlotPicture:
    r"""Draw rows and components. The inner ellipse of a component contains half of it, the outer one 95 %.

    .. math:: (x - \mu)^T \Sigma^{-1} (x - \mu) = -2 \log(1 - p)

    Parameters
    ----------
    rows : array of shape (n, 2)
        Rows with a missing cell are left out. Of very many rows, only some are drawn.
    components : array of shape (n,)
        The component of each row: its colour.
    weights, means, covariances : arrays of shape (K,), (K, 2), (K, 2, 2)
    names : of the two columns
    labels : sequence of n labels, optional
        Known classes: the shape of each row. Beyond the fourth class shapes repeat.
    lang : "en" or "zh"

    Examples
    --------
    >>> one = np.ones(1)
    >>> mixture_picture(np.zeros((1, 2)), np.array([0]), one, np.zeros((1, 2)), np.eye(2)[None], ("a", "b"))
    <Picture: 1 component over a and b, 440 × 491 pixels>
    """
    words = chart_words(lang)
    whole = np.flatnonzero(np.isfinite(rows).all(axis=1))
    shown = whole[:: math.ceil(len(whole) / MOST_ROWS)] if len(whole) else whole
    kinds = sorted(set(map(plain, labels))) if labels is not None else []
    shape = {kind: SHAPES[i % len(SHAPES)] for i, kind in enumerate(kinds)}
    notes = [words["mixture_note"]]
    if len(whole) < len(rows):
        notes.append(words["mixture_holes"].format(n=f"{len(rows) - len(whole):,}"))
    if len(shown) < len(whole):
        notes.append(words["mixture_thinned"].format(n=f"{len(shown):,}", whole=f"{len(whole):,}"))
    many = words["component" if len(weights) == 1 else "components"].format(n=len(weights))
    title = words["mixture_title"].format(many=many, x=plain(names[0]), y=plain(names[1]))
    shape_of = np.array(["disc"] * len(rows) if labels is None else [shape[plain(label)] for label in labels])
    drawn = []
    for k in range(len(weights)):
        for one in SHAPES:
            at = rows[shown[(components[shown] == k) & (shape_of[shown] == one)]]
            if len(at):
                description = f"rows of component {k}"
                drawn.append(Points(at[:, 0], at[:, 1], k, 2.4, one, rim=False, description=description))
    said = [_component_text(k, weights[k], mean, names) for k, mean in enumerate(means)]
    rings = [
        Ring(_ellipse(mean, covariances[k], radius), k, said[k])
        for k, mean in enumerate(means)
        for radius in (HALF, MOST)
    ]
    # Draw numbers last, so that nothing covers them.
    numbers = [Tag(x, y, str(k), f"mean of component {k}") for k, (x, y) in enumerate(means.tolist())]
    inside = np.vstack([rows[shown], *(ring.points for ring in rings)])
    across, up = (Axis(str(name), *around(inside[:, j].tolist())) for j, name in enumerate(names))
    panel = Panel(replace(across, most=8), up, (*drawn, *rings, *numbers), height=320.0)
    return PlotPicture(Plot(title, tuple(notes), "; ".join(said), (panel,), _names(weights, shape, words)))


def _component_text(k: int, weight: float, mean: Floats, names: tuple[object, object]) -> str:
    x, y = (f"{plain(name)} {value:.4g}" for name, value in zip(names, mean, strict=True))
    return f"component {k}: {weight:.1%}, {x}, {y}"


def _ellipse(mean: Floats, spread: Floats, radius: float) -> Floats:
    """Return the points of four Bézier curves, 13 of them."""
    values, vectors = np.linalg.eigh(spread)
    # Rounding may leave a variance a little below zero.
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    return np.asarray(mean + radius * _CIRCLE @ root.T)


def _names(weights: Floats, shape: Mapping[str, Shape], words: Mapping[str, str]) -> tuple[Key, ...]:
    """Return the legend: components by colour, classes by shape."""
    found = [
        Key(words["mixture_component"].format(k=k, share=f"{weight:.1%}"), k)
        for k, weight in enumerate(weights[:MOST_LISTED])
    ]
    if len(weights) > MOST_LISTED:
        found.append(Key(words["mixture_more"].format(n=len(weights) - MOST_LISTED)))
    found += [Key(label, shape=kind) for label, kind in list(shape.items())[:MOST_SHAPES]]
    if len(shape) > MOST_SHAPES:
        found.append(Key(words["mixture_more"].format(n=len(shape) - MOST_SHAPES)))
    return tuple(found)


# With more points only the line is drawn.
MOST_POINTS = 60


def curve_picture(
    curves: Mapping[str, Iterable[tuple[float, float]]], across: str, up: str, title: str
) -> PlotPicture:
    """Draw curves, each with its name at its end.

    Parameters
    ----------
    curves : mapping from name to points (x, y)
        Points that are not finite are left out, because EM may start at −inf.
    across, up : the names of the axes
    title : the title of the picture

    Examples
    --------
    >>> curve_picture({"soft": enumerate([-30.0, -20.0, -19.0])}, "step", "log-likelihood", "EM climbs")
    <Picture: EM climbs, 440 × 385 pixels>
    """
    found = {
        name: sorted((float(x), float(y)) for x, y in points if math.isfinite(x) and math.isfinite(y))
        for name, points in curves.items()
    }
    found = {name: points for name, points in found.items() if points}
    if not found:
        raise SettingError(
            "No curve has a finite point, so there is nothing to draw of {title!r}.", title=title
        )
    everything = [point for points in found.values() for point in points]
    whole = all(x == round(x) for x, _ in everything)  # steps of EM are integers
    lines = tuple(
        _curve(i, name, points, f"{name}, in the end {points[-1][1]:.6g}")
        for i, (name, points) in enumerate(found.items())
    )
    x = Axis(across, *around(x for x, _ in everything), "whole" if whole else "number")
    y = Axis(up, *around(y for _, y in everything))
    description = "; ".join(
        f"{plain(name)}: " + ", ".join(f"{a:.6g} {b:.6g}" for a, b in points[:MOST_POINTS])
        for name, points in found.items()
    )
    return PlotPicture(Plot(title, (), description, (Panel(x, y, lines, direct=True),)))


def _curve(colour: int, name: str, points: Sequence[tuple[float, float]], description: str) -> Curve:
    x, y = np.array(points, dtype=np.float64).T
    return Curve(x, y, colour, name, description, size=3.5 if len(points) <= MOST_POINTS else 0.0)


def component_chart(
    found: Sequence[tuple[str, int, float]], criterion: str, *, lang: str = "en"
) -> PlotPicture:
    """Draw a criterion, of which the lowest value is the best.

    Parameters
    ----------
    found : sequence of (covariance type, number of components, value)
        Values that are not finite are left out.
    criterion : str
        The name of the criterion.
    lang : "en" or "zh"

    Examples
    --------
    >>> component_chart([("full", 1, 30.0), ("full", 2, 20.0), ("diag", 1, 25.0)], "BIC")
    <Picture: BIC by number of components: lowest for 2 components, full (20.00), 440 × 421 pixels>
    """
    words = chart_words(lang)
    points = [(kind, k, value) for kind, k, value in found if math.isfinite(value)]
    if not points:
        raise SettingError(
            "No model has a finite {criterion}, so there is nothing to draw.", criterion=criterion
        )
    best = min(points, key=lambda point: (point[2], point[1]))
    said = words["component" if best[1] == 1 else "components"].format(n=best[1])
    said = words["choice_best"].format(many=said, kind=plain(best[0])) if best[0] else said
    title = words["choice_title"].format(criterion=criterion, best=said, value=f"{best[2]:,.2f}")
    kinds = list(dict.fromkeys(kind for kind, _, _ in points))
    lines = {kind: sorted((k, value) for this, k, value in points if this == kind) for kind in kinds}
    curves = []
    for i, kind in enumerate(kinds):
        description = ", ".join(f"{k}: {value:.2f}" for k, value in lines[kind])
        curves.append(_curve(i, kind, lines[kind], f"{kind} {criterion} {description}".strip()))
    ring = Points(np.array([best[1]]), np.array([best[2]]), None, 8.0, "ring", description=f"best: {said}")
    numbers = sorted({k for _, k, _ in points})
    # Label every number that was tried.
    ticks = tuple((float(k), str(k)) for k in numbers)
    x = Axis(words["choice_axis"], *around(map(float, numbers)), ticks=ticks)
    y = Axis(criterion, *around(value for _, _, value in points))
    listed = "; ".join(f"{plain(kind)} {k}: {value:.2f}" for kind, k, value in points)
    panel = Panel(x, y, (*curves, ring), direct=True)
    return PlotPicture(Plot(title, (words["choice_note"],), listed, (panel,)))
