r"""Chooses the number and the kind of components by BIC or AIC, and matches components with known classes.

.. math:: \mathrm{BIC} = -2 \log L + p \log n, \qquad \mathrm{AIC} = -2 \log L + 2 p

with p free parameters and n rows (their weight). Lower is better. A model with a collapsed component is taken
only if all models have one: its likelihood is unbounded, and so is its criterion.

References
----------
Schwarz (1978), Estimating the dimension of a model. Fraley, Raftery (2002), Model-based clustering.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bayeskit._data.columns import is_missing
from bayeskit._data.frames import to_native
from bayeskit._messages import Joined
from bayeskit._mixtures.mixture_em import whole
from bayeskit._schema import Label, label_order
from bayeskit.errors import BayeskitError, DataError, SettingError, SuspectResult
from bayeskit.typing import LabelsLike

F = TypeVar("F")
# The default of mclust.
MOST = 9


@dataclass(frozen=True)
class Candidate:
    """One fitted candidate model.

    Attributes
    ----------
    n_components : int
    covariance_type : str
        Empty for models without one.
    log_likelihood : float
        The total over rows; −inf if fitting failed.
    n_parameters : int
    bic, aic : float
        Lower is better; inf if fitting failed.
    converged : bool
    stopped : str
        "time" or "interrupt" if EM was stopped early; otherwise empty.
    failure : str
        Why fitting failed; empty if it did not.
    collapsed : bool
        Whether a component has no spread in some direction.
    """

    n_components: int
    covariance_type: str
    log_likelihood: float
    n_parameters: int
    bic: float
    aic: float
    converged: bool
    stopped: str = ""
    failure: str = ""
    collapsed: bool = False

    def rank(self, criterion: str) -> tuple[bool, bool, float, int]:
        """Return the sort key of candidates, the best first."""
        return bool(self.failure), self.collapsed, getattr(self, criterion), self.n_parameters


@dataclass(frozen=True)
class ComponentChoice:
    """All candidate models. Prints as a table, also in notebooks; ``chart()`` draws a picture.

    Attributes
    ----------
    candidates : tuple of Candidate
    criterion : "bic" or "aic"
    """

    candidates: tuple[Candidate, ...]
    criterion: str

    @property
    def best(self) -> Candidate:
        """The candidate with the lowest criterion. Ties go to the smaller one; collapsed models come last."""
        return min(self.candidates, key=lambda c: c.rank(self.criterion))

    def frame(self) -> Any:
        """Return the table as a data frame of an installed library."""
        names = (
            "n_components",
            "covariance_type",
            "log_likelihood",
            "n_parameters",
            "bic",
            "aic",
            "converged",
        )
        return to_native({name: np.array([getattr(c, name) for c in self.candidates]) for name in names})

    def chart(self, lang: str = "en") -> Any:
        """Draw the criterion over the number of components.

        There is one line for each covariance type. Collapsed models are left out.

        Parameters
        ----------
        lang : "en" or "zh"
        """
        from bayeskit._report.mixture_report import component_chart

        best = self.best
        found = [
            (c.covariance_type, c.n_components, getattr(c, self.criterion))
            for c in self.candidates
            if c.collapsed == best.collapsed
        ]
        return component_chart(found, self.criterion.upper(), lang=lang)

    def __str__(self) -> str:
        from bayeskit._display_table import as_text

        return as_text(self._page())

    def _repr_html_(self) -> str:
        from bayeskit._display_table import notebook_html

        return notebook_html(self._page())

    def _page(self) -> Any:
        from bayeskit._display_table import DisplayTable

        typed = any(c.covariance_type for c in self.candidates)
        header = ["components", "log-likelihood", "parameters", "BIC", "AIC", ""]
        if typed:
            header.insert(1, "covariance")
        rows = tuple(_row(c, typed) for c in self.candidates)
        best = (*_row(self.best, typed)[:-1], "best")
        return DisplayTable(f"Components by {self.criterion.upper()}", tuple(header), rows, (best,), ())


def _row(c: Candidate, typed: bool) -> tuple[str, ...]:
    numbers = (f"{c.log_likelihood:.3f}", str(c.n_parameters), f"{c.bic:.3f}", f"{c.aic:.3f}")
    kind = (c.covariance_type,) if typed else ()
    notes = ["collapsed"] * c.collapsed + ["not converged"] * (not c.converged)
    note = c.failure or ", ".join(notes)
    return (str(c.n_components), *kind, *(n.replace("-", "−") for n in numbers), note)


def candidate(
    n_components: int,
    covariance_type: str,
    log_likelihood: float,
    n_parameters: int,
    total: float,
    converged: bool,
    stopped: str | None = None,
    collapsed: bool = False,
) -> Candidate:
    """Compute the criteria of a model; ``total`` is the weight of all rows.

    >>> round(candidate(2, "", -10.0, 3, 100.0, True).bic, 3)
    33.816
    """
    bic = -2.0 * log_likelihood + n_parameters * math.log(total)
    aic = -2.0 * log_likelihood + 2.0 * n_parameters
    return Candidate(
        n_components,
        covariance_type,
        log_likelihood,
        n_parameters,
        bic,
        aic,
        converged,
        stopped or "",
        collapsed=collapsed,
    )


def read_components(n_components: object, n_rows: int) -> tuple[tuple[int, ...], str | None]:
    """Return the numbers of components to try, and the criterion (None if there is nothing to choose).

    >>> read_components("aic", 4), read_components(range(2, 4), 100), read_components(3, 100)
    (((1, 2, 3, 4), 'aic'), ((2, 3), 'bic'), ((3,), None))
    """
    if isinstance(n_components, str):
        if n_components not in ("bic", "aic"):
            raise SettingError(
                "n_components is {n_components!r}; give a whole number, several of them, 'bic' or 'aic'.",
                n_components=n_components,
            )
        return tuple(range(1, min(MOST, n_rows) + 1)), n_components
    if isinstance(n_components, Iterable):
        found = tuple(dict.fromkeys(whole("n_components", k, 1) for k in n_components))
        if not found:
            raise SettingError("n_components is empty; give at least one number of components.")
        return found, "bic"
    return (whole("n_components", n_components, 1),), None


def choose(
    fit: Callable[[int, str, float | None], tuple[F, Candidate]],
    numbers: Sequence[int],
    types: Sequence[str],
    criterion: str,
    time_limit: float | None = None,
) -> tuple[F, ComponentChoice]:
    """Fit every number of components with every covariance type, and keep the best.

    Ctrl-C stops the search with the best candidate so far.

    Parameters
    ----------
    fit : callable
        Takes a number of components, a covariance type and the remaining seconds.
    time_limit : float, optional
        The limit in seconds for all candidates together. A warning lists the candidates that were not tried.
    """
    end = None if time_limit is None else time.monotonic() + time_limit
    tried: list[Candidate] = []
    best: tuple[F, Candidate] | None = None
    failure: BayeskitError | None = None
    wanted = [(k, kind) for kind in types for k in numbers]
    for k, kind in wanted:
        left = None if end is None else max(end - time.monotonic(), 0.0)
        if left == 0.0 and tried:
            warnings.warn(
                SuspectResult(
                    "The time_limit of {time_limit} seconds was reached: {n} of {n_wanted} models were tried.",
                    time_limit=time_limit,
                    n=len(tried),
                    n_wanted=len(wanted),
                ),
                stacklevel=4,
            )
            break
        try:
            fitted, found = fit(k, kind, left)
        except BayeskitError as error:
            failure = failure or error
            said = f"failed: {error}"
            found = Candidate(k, kind, -math.inf, 0, math.inf, math.inf, False, failure=said)
        else:
            if best is None or found.rank(criterion) < best[1].rank(criterion):
                best = (fitted, found)
        tried.append(found)
        if found.stopped == "interrupt":
            break
    if best is None:
        assert failure is not None
        raise failure
    return best[0], ComponentChoice(tuple(tried), criterion)


class Matching(dict[Label, Label]):
    """A dict from component to label, with measures of agreement.

    Attributes
    ----------
    accuracy : float
        The share of labelled rows whose component is matched to their label.
    table : array of shape (components, labels)
        The number of labelled rows for each pair.
    components, labels : tuple
        The rows and columns of the table.
    """

    def __init__(
        self,
        pairs: dict[Label, Label],
        components: tuple[Label, ...],
        labels: tuple[Label, ...],
        table: NDArray[np.int64],
    ) -> None:
        super().__init__(pairs)
        self.components, self.labels, self.table = components, labels, table
        place = {label: j for j, label in enumerate(labels)}
        right = sum(int(table[i, place[pairs[c]]]) for i, c in enumerate(components) if pairs[c] is not None)
        self.accuracy = right / int(table.sum())

    def _repr_html_(self) -> str:
        from bayeskit._display_table import DisplayTable, notebook_html

        rows = tuple(
            (str(c), "" if self[c] is None else str(self[c]), *(f"{n:,}" for n in counts))
            for c, counts in zip(self.components, self.table.tolist(), strict=True)
        )
        title = f"Components matched to labels: {self.accuracy:.1%} of the rows agree"
        return notebook_html(
            DisplayTable(title, ("component", "label", *map(str, self.labels)), rows, (), ())
        )

    def translate(self, components: LabelsLike) -> NDArray[Any]:
        """Return the label of each component. A component that was not matched before is an error."""
        given = listed(components, "components")
        found = np.empty(len(given), dtype=object)
        for row, component in enumerate(given):
            if component not in self:
                shown = Joined(map(repr, self.components[:12]))
                raise DataError(
                    "Row {row} belongs to component {component!r}; only {shown} are matched.",
                    row=row,
                    component=component,
                    shown=shown,
                )
            found[row] = self[component]
        return found


def match_labels(components: LabelsLike, labels: LabelsLike) -> Matching:
    """Match each component with a class, so that as many rows as possible agree.

    The matching is one-to-one and maximises the number of agreeing rows (the Hungarian method on the table of
    counts). Extra components, and those that share no row with the class left for them, get the majority
    class of their rows. A component without labelled rows gets None.

    Parameters
    ----------
    components : array of shape (n,)
        From ``predict`` of a mixture.
    labels : array of shape (n,)
        Known classes. Rows with None or NaN are left out.

    Returns
    -------
    Matching
        A dict from component to label. ``accuracy`` and ``table`` show the agreement.

    Examples
    --------
    >>> found = match_labels([0, 0, 1, 1, 1], ["b", "b", "a", "a", "b"])
    >>> dict(found), found.accuracy
    ({0: 'b', 1: 'a'}, 0.8)
    >>> found.translate([1, 0]).tolist()
    ['a', 'b']

    References
    ----------
    Kuhn (1955), The Hungarian method for the assignment problem.
    """
    mine, its = listed(components, "components"), listed(labels, "labels")
    if len(mine) != len(its):
        raise DataError(
            "There are {n} components and {n_its} labels. Give one of each for every row.",
            n=len(mine),
            n_its=len(its),
        )
    for row, component in enumerate(mine):
        if is_missing(component):
            raise DataError(
                "The component of row {row} is {component!r}. Only labels may be missing.",
                row=row,
                component=component,
            )
    known = [(c, label) for c, label in zip(mine, its, strict=True) if not is_missing(label)]
    if not known:
        raise DataError("No row has a label, so there is nothing to match components with.")
    rows, columns = _sorted(mine), _sorted([label for _, label in known])
    at_row, at_column = ({value: i for i, value in enumerate(values)} for values in (rows, columns))
    table = np.zeros((len(rows), len(columns)), dtype=np.int64)
    np.add.at(table, ([at_row[c] for c, _ in known], [at_column[label] for _, label in known]), 1)
    majority = table.argmax(axis=1)
    chosen = np.where(table.any(axis=1), majority, -1)
    for i, j in zip(*linear_sum_assignment(table, maximize=True), strict=True):
        if table[i, j] > 0:
            chosen[i] = j
    pairs = {c: columns[j] if j >= 0 else None for c, j in zip(rows, chosen.tolist(), strict=True)}
    return Matching(pairs, rows, columns, table)


def listed(values: LabelsLike, what: str) -> list[Any]:
    """Return values of any library, one for each row, as a list of Python objects."""
    array: Any = values if hasattr(values, "ndim") else np.asarray(_listed(values, what), dtype=object)
    if array.ndim != 1:
        raise DataError(
            "The {what} have {ndim} dimensions. Give one for each row.", what=what, ndim=array.ndim
        )
    found = array.tolist() if hasattr(array, "tolist") else array.to_list()
    return [value.item() if isinstance(value, np.generic) else value for value in found]


def _listed(values: Any, what: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise DataError("The {what} are {values!r}. Give one for each row.", what=what, values=values)
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def _sorted(values: list[Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(set(values), key=label_order))
    except TypeError as error:
        raise DataError("Components and labels must be plain values: {error}.", error=error) from None
