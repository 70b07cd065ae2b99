"""A factor as a data frame and as a table of HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.native import to_native
from bayeskit.visible import escape, visible

if TYPE_CHECKING:
    from bayeskit.graphs.factor import Factor

# A table of more rows, columns or cells is cut: a page is to be read.
MOST_ROWS = 64
MOST_COLUMNS = 32
MOST_CELLS = 512


def factor_frame(factor: Factor) -> Any:
    """Return a row for each cell, in the order of the cells: a column for each variable, and ``probability``.

    The frame is of pandas, or of polars or pyarrow where that is what is installed. Should a variable be called
    ``probability``, the column of numbers is ``probability_``.

    Examples
    --------
    >>> from bayeskit.graphs.factor import Factor
    >>> factor_frame(Factor(["rain"], [["no", "yes"]], [0.8, 0.2]))
      rain  probability
    0   no          0.8
    1  yes          0.2
    """
    cells = np.indices(factor.sizes).reshape(len(factor.names), factor.values.size)
    columns = {name: _labels(s, codes) for name, s, codes in zip(factor.names, factor.states, cells)}
    numbers: Any = "probability"
    while numbers in columns:
        numbers += "_"
    columns[numbers] = np.array(factor.values.ravel())
    return to_native(columns)  # type: ignore[arg-type]  # names of nodes need not be text


def _labels(states: tuple[Any, ...], codes: NDArray[np.int64]) -> Any:
    """Return the states of these codes, as an array of their own kind where they have one."""
    kinds = {type(state) for state in states}
    if len(kinds) == 1 and kinds <= {int, float, bool}:
        return np.array(states)[codes]
    labels = np.empty(len(states), dtype=object)
    for k, state in enumerate(states):
        labels[k] = state
    return labels[codes]


def factor_html(factor: Factor, caption: str | None = None, most_rows: int = MOST_ROWS) -> str:
    """Return a table: a row for each configuration of all but the last variable, whose states are the columns.

    Parameters
    ----------
    caption : text above the table; None for the names of the variables
    most_rows : rows beyond are counted, not shown

    Examples
    --------
    >>> from bayeskit.graphs.factor import Factor
    >>> print(factor_html(Factor(["rain"], [["no", "<yes>"]], [0.8, 0.2]), caption=""))
    <table><thead><tr><th>rain</th><th>no</th><th>&lt;yes&gt;</th></tr></thead><tbody><tr><th></th><td>0.8</td><td>0.2</td></tr></tbody></table>
    """
    if not factor.names:
        return f"<table><tbody><tr><td>{float(factor.values):.6g}</td></tr></tbody></table>"
    *first, last = factor.names
    *given, states = factor.states
    shown = states[:MOST_COLUMNS]
    beyond = f"… {len(states) - len(shown)} more" if len(states) > len(shown) else ""
    most_rows = min(most_rows, max(MOST_CELLS // max(len(shown), 1), 1))
    head = "".join(f"<th>{_text(name)}</th>" for name in first) + ("" if first else f"<th>{_text(last)}</th>")
    # The states of the last variable head the columns; where there are parents, its name stands before them.
    head += "".join(f"<th>{_text(f'{last} = {s}' if first else s)}</th>" for s in shown)
    head += f"<th>{beyond}</th>" if beyond else ""
    rows: list[str] = []
    n_rows = int(np.prod(factor.sizes[:-1], dtype=np.int64))
    for cell in np.ndindex(*factor.sizes[:-1]):
        if len(rows) == most_rows and n_rows > most_rows:
            rest = f"… {n_rows - most_rows} more rows"
            rows.append(f'<tr><td colspan="{max(len(first), 1) + len(shown)}">{rest}</td></tr>')
            break
        labels = "".join(f"<th>{_text(s[i])}</th>" for s, i in zip(given, cell)) or "<th></th>"
        numbers = "".join(f"<td>{value:.6g}</td>" for value in factor.values[cell][: len(shown)].tolist())
        rows.append(f"<tr>{labels}{numbers}</tr>")
    said = " × ".join(map(str, factor.names)) if caption is None else caption
    above = f"<caption>{_text(said)}</caption>" if said else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _text(value: object) -> str:
    return escape(visible(value))
