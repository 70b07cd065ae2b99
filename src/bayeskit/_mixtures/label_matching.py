"""Matches mixture components with known classes.

The module has another name than the function ``match_labels``, because a package cannot have both under one name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bayeskit._data.columns import is_missing
from bayeskit._messages import Joined
from bayeskit._schema import Label, label_order
from bayeskit.errors import DataError
from bayeskit.typing import LabelsLike


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
        from bayeskit._display_table import DisplayTable, as_html

        rows = tuple(
            (str(c), "" if self[c] is None else str(self[c]), *(f"{n:,}" for n in counts))
            for c, counts in zip(self.components, self.table.tolist(), strict=True)
        )
        title = f"Components matched to labels: {self.accuracy:.1%} of the rows agree"
        return as_html(DisplayTable(title, ("component", "label", *map(str, self.labels)), rows, (), ()))

    def translate(self, components: LabelsLike) -> NDArray[Any]:
        """Return the label of each component. A component that was not matched before is an error."""
        given = listed(components, "components")
        found = np.empty(len(given), dtype=object)
        for row, component in enumerate(given):
            if component not in self:
                shown = Joined(map(repr, self.components[:12]))
                raise DataError(
                    "Row {row} is of component {component!r}; those matched are {shown}.",
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
