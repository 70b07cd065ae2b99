"""Factors: tables of numbers over named variables with named states."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bayeskit._data.frames import as_array, to_native
from bayeskit._display_table import DisplayTable, table_html
from bayeskit._graphs.distributions import frozen
from bayeskit._markup import Html, framed
from bayeskit._messages import Joined
from bayeskit._schema import Label, Name, first_twice, state_code
from bayeskit._visible import visible
from bayeskit.errors import SettingError


class Factor:
    """An immutable factor: numbers over the states of some variables. ``np.asarray`` gives the numbers.

    Parameters
    ----------
    names : the variables, one for each axis
    states : the states of each, in order
    values : array of shape (number of states of each)

    Examples
    --------
    >>> rain = Factor(["rain"], [["no", "yes"]], [0.8, 0.2])
    >>> float(rain["yes"])
    0.2
    >>> wet = Factor(["rain", "wet"], [["no", "yes"], ["dry", "wet"]], [[0.9, 0.1], [0.2, 0.8]])
    >>> (rain * wet).marginal("wet").values.round(2)
    array([0.76, 0.24])
    """

    __slots__ = ("names", "states", "values")

    names: tuple[Name, ...]
    states: tuple[tuple[Label, ...], ...]
    values: NDArray[np.float64]

    def __init__(self, names: Iterable[Name], states: Iterable[Iterable[Label]], values: ArrayLike) -> None:
        self.names = tuple(names)
        self.states = tuple(tuple(s) for s in states)
        self.values = frozen(values)
        shape = tuple(len(s) for s in self.states)
        if len(self.names) != len(shape) or self.values.shape != shape:
            raise SettingError(
                "A factor over {names} with {shape} states has numbers of the shape {shape2}.",
                names=Joined(map(repr, self.names)),
                shape=shape,
                shape2=self.values.shape,
            )
        if len(set(self.names)) < len(self.names):
            raise SettingError("A factor contains {name!r} twice.", name=first_twice(self.names))

    def __getitem__(self, states: Label) -> float:
        """Return the number of one cell: a state for each variable, in the order of ``names``."""
        if len(self.names) == 1 and (not isinstance(states, tuple) or states in self.states[0]):
            states = (states,)
        if not isinstance(states, tuple) or len(states) != len(self.names):
            raise SettingError(
                "{states!r} is not a cell of a factor over {names}: give a state for each.",
                states=states,
                names=Joined(map(repr, self.names)),
            )
        place = tuple(state_code(n, s, v) for n, s, v in zip(self.names, self.states, states, strict=True))
        return float(self.values[place])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.values, dtype, copy)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of states of each variable."""
        return tuple(int(size) for size in self.values.shape)

    def axis(self, name: Name) -> int:
        """Return the position of a variable's axis."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SettingError(
                "The factor is over {names}, not {name!r}.", names=Joined(map(repr, self.names)), name=name
            ) from None

    def ordered(self, names: Iterable[Name]) -> Factor:
        """Return the same factor with its axes in this order."""
        names = tuple(names)
        if sorted(map(repr, names)) != sorted(map(repr, self.names)):
            raise SettingError(
                "The factor is over {names}; give these in the wanted order.",
                names=Joined(map(repr, self.names)),
            )
        axes = [self.axis(name) for name in names]
        return Factor(names, (self.states[a] for a in axes), self.values.transpose(axes))

    def marginal(self, *names: Name) -> Factor:
        """Sum out all other variables. The axes are in the given order."""
        axes = [self.axis(name) for name in names]
        others = tuple(a for a in range(len(self.names)) if a not in axes)
        kept = [n for n in self.names if n in names]
        states = [self.states[self.axis(n)] for n in kept]
        return Factor(kept, states, self.values.sum(axis=others)).ordered(names)

    def given(self, evidence: Mapping[Name, Any]) -> Factor:
        """Return the slice where these variables have these states."""
        place: list[Any] = [slice(None)] * len(self.names)
        for name, value in evidence.items():
            axis = self.axis(name)
            place[axis] = state_code(name, self.states[axis], value)
        kept = [a for a, name in enumerate(self.names) if name not in evidence]
        return Factor(
            (self.names[a] for a in kept), (self.states[a] for a in kept), self.values[tuple(place)]
        )

    def normalised(self) -> Factor:
        """Divide by the sum. A factor of zeros is unchanged."""
        total = self.values.sum()
        return Factor(self.names, self.states, self.values / total if total > 0 else self.values)

    def __mul__(self, other: Factor) -> Factor:
        """Multiply two factors, matching variables by name."""
        names = (*self.names, *(n for n in other.names if n not in self.names))
        states = [
            self.states[self.axis(n)] if n in self.names else other.states[other.axis(n)] for n in names
        ]
        for name in other.names:
            if name in self.names and self.states[self.axis(name)] != other.states[other.axis(name)]:
                raise SettingError("The two factors give {name!r} different states.", name=name)
        return Factor(names, states, self._spread(names) * other._spread(names))

    def _spread(self, names: tuple[Name, ...]) -> NDArray[np.float64]:
        """Return the numbers with an axis for each of the names, of length one if the factor has no such axis."""
        mine = [n for n in names if n in self.names]
        values = self.values.transpose([self.axis(n) for n in mine])
        return values.reshape([len(self.states[self.axis(n)]) if n in self.names else 1 for n in names])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Factor)
            and self.names == other.names
            and self.states == other.states
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[Hashable, float]:
        """Return state → number, or (state, …) → number for several variables."""
        cells = np.ndindex(*self.sizes)
        if len(self.names) == 1:
            return {state: float(v) for state, v in zip(self.states[0], self.values, strict=True)}
        return {
            tuple(s[i] for s, i in zip(self.states, cell, strict=True)): float(self.values[cell])
            for cell in cells
        }

    def to_frame(self) -> Any:
        """Return a data frame with a row for each cell: a column for each variable, and ``probability``."""
        return factor_frame(self)

    def _repr_html_(self) -> str:
        return framed(factor_html(self))

    def __repr__(self) -> str:
        if not self.names:
            return f"Factor({self.values:.6g})"
        if len(self.names) == 1:
            cells = ", ".join(
                f"{state!r}: {value:.6g}"
                for state, value in zip(self.states[0], self.values.tolist(), strict=True)
            )
            return f"Factor({self.names[0]!r}: {{{cells}}})"
        return f"Factor over {', '.join(map(repr, self.names))}:\n{self._rows()}"

    def _rows(self, most: int = 40) -> str:
        """Return one line for each configuration of all but the last variable."""
        *first, last = self.states
        head = " ".join(map(visible, self.names[:-1])) + " | " + "  ".join(map(visible, last))
        lines = [head]
        for row, cell in enumerate(np.ndindex(*self.sizes[:-1])):
            if row == most:
                lines.append("…")
                break
            key = " ".join(visible(s[i]) for s, i in zip(first, cell, strict=True))
            lines.append(key + " | " + "  ".join(f"{v:.6g}" for v in self.values[cell]))
        return "\n".join(lines)


# Tables with more rows, columns or cells are truncated, so that a page stays readable.
MOST_ROWS = 64
MOST_COLUMNS = 32
MOST_CELLS = 512


def factor_frame(factor: Factor) -> Any:
    """Return a row for each cell, in the order of the cells: a column for each variable, and ``probability``.

    The frame is of pandas, or else of polars or pyarrow, whichever is installed. If a variable is named
    ``probability``, the column of numbers is ``probability_``.

    Examples
    --------
    >>> from bayeskit.networks import Factor
    >>> factor_frame(Factor(["rain"], [["no", "yes"]], [0.8, 0.2]))
      rain  probability
    0   no          0.8
    1  yes          0.2
    """
    cells = np.indices(factor.sizes).reshape(len(factor.names), factor.values.size)
    columns = {
        name: _labels(s, codes) for name, s, codes in zip(factor.names, factor.states, cells, strict=True)
    }
    numbers: Any = "probability"
    while numbers in columns:
        numbers += "_"
    columns[numbers] = np.array(factor.values.ravel())
    return to_native(columns)  # type: ignore[arg-type]  # names of nodes need not be text


def _labels(states: tuple[Any, ...], codes: NDArray[np.int64]) -> Any:
    """Return the states of these codes, as a typed array if they have one type."""
    kinds = {type(state) for state in states}
    if len(kinds) == 1 and kinds <= {int, float, bool}:
        return np.array(states)[codes]
    labels = np.empty(len(states), dtype=object)
    for k, state in enumerate(states):
        labels[k] = state
    return labels[codes]


def factor_html(factor: Factor, caption: str | None = None, most_rows: int = MOST_ROWS) -> Html:
    """Return a table: a row for each configuration of all but the last variable, whose states are the columns.

    Parameters
    ----------
    caption : text above the table; None for the names of the variables
    most_rows : further rows are counted, not shown

    Examples
    --------
    >>> from bayeskit.networks import Factor
    >>> print(factor_html(Factor(["rain"], [["no", "<yes>"]], [0.8, 0.2]), caption=""))
    <table><thead><tr><th>rain</th><th>no</th><th>&lt;yes&gt;</th></tr></thead><tbody><tr><th></th><td>0.8</td><td>0.2</td></tr></tbody></table>
    """
    if not factor.names:
        return table_html(DisplayTable("", (), ((f"{float(factor.values):.6g}",),), names=0))
    *first, last = factor.names
    *given, states = factor.states
    shown = states[:MOST_COLUMNS]
    beyond = [f"… {len(states) - len(shown)} more"] if len(states) > len(shown) else []
    most_rows = min(most_rows, max(MOST_CELLS // max(len(shown), 1), 1))
    # The states of the last variable are the column headings; if there are parents, its name comes first.
    header = (*(first or [last]), *(f"{last} = {s}" if first else s for s in shown), *beyond)
    n_rows = int(np.prod(factor.sizes[:-1], dtype=np.int64))
    rows: list[tuple[str, ...]] = []
    for cell in islice(np.ndindex(*factor.sizes[:-1]), most_rows):
        labels = [s[i] for s, i in zip(given, cell, strict=True)] or [""]
        rows.append(
            (*map(str, labels), *(f"{value:.6g}" for value in factor.values[cell][: len(shown)].tolist()))
        )
    title = " × ".join(map(str, factor.names)) if caption is None else caption
    if n_rows > most_rows:
        rows.append((f"… {n_rows - most_rows} more rows",))
    table = DisplayTable(title, tuple(map(str, header)), tuple(rows), names=max(len(first), 1))
    return table_html(table)
