"""One row, however it is held, as a table of one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit.data.table import Table, open_table
from bayeskit.errors import DataError


def one_row(row: Any) -> Table:
    """Open a single row: a mapping from name to value, a pandas Series, a list, or a table of one row.

    Examples
    --------
    >>> one_row({"色泽": "青绿", "密度": 0.6}).names
    ('色泽', '密度')
    >>> one_row(["青绿", 0.6]).n_rows
    1
    """
    if hasattr(row, "to_dict") and hasattr(row, "index") and not hasattr(row, "columns"):
        row = row.to_dict()  # a row taken from a pandas frame
    if isinstance(row, Mapping):
        row = {name: value if _is_column(value) else [value] for name, value in row.items()}
    elif isinstance(row, np.ndarray) and row.ndim == 1:
        row = row[None, :]
    elif isinstance(row, (list, tuple)) and not any(map(_is_column, row)):
        cells = np.empty((1, len(row)), dtype=object)
        cells[0, :] = row
        row = cells
    table = open_table(row)
    if table.n_rows != 1:
        raise DataError(
            f"One row is explained at a time, not {table.n_rows}. Pass one, as X.iloc[[0]] or X[:1]."
        )
    return table


def _is_column(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))
