"""The numeric columns of a table, cut: where, and the table written anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.cli.writing import RowWriter, opened_text
from bayeskit.data.file_rows import FileRows
from bayeskit.errors import ColumnError

CutPoints = dict[str, NDArray[np.float64]]


def cut_points(rows: FileRows, target: str | None, method: str, bins: int) -> CutPoints:
    """Find where each numeric column but the target is cut."""
    from bayeskit import Discretizer

    kinds = rows.source.dtypes
    names = [name for name in rows.names if name != target and kinds[name] in ("int64", "float64")]
    if not names:
        raise ColumnError(f"{rows.shown} has no column of numbers to cut. Name one with --numeric COL.")
    columns = rows.read_as([*names, *([target] if target else [])]).columns()
    y = columns.pop(target) if target else None
    found = Discretizer(method, n_bins=bins).fit(columns, y).cut_points_
    return {str(name): cuts for name, cuts in found.items()}


def write_cut(
    rows: FileRows, points: CutPoints, codes: bool, output: str | None, form: str, spreadsheet: bool
) -> int:
    """Write the table with intervals in the place of numbers; return how many rows there were."""
    from bayeskit.classifiers.discretizer import intervals_of
    from bayeskit.data.reading import interval_labels

    # Dates and the like pass as the text they are.
    texts = {
        name: "str" for name, kind in rows.source.dtypes.items() if kind not in ("int64", "float64", "bool")
    }
    labels: dict[str, list[Any]] = {
        name: [*(range(len(cuts) + 1) if codes else interval_labels(cuts)), None]
        for name, cuts in points.items()
    }
    n = 0
    with opened_text(output) as stream:
        writer = RowWriter(stream, rows.names, form, spreadsheet)
        for batch in rows.read_as(kinds=texts).batches():
            columns = []
            for name, column in batch.items():
                if name in points:
                    columns.append(
                        [labels[name][code] for code in intervals_of(column, points[name]).tolist()]
                    )
                else:
                    columns.append([None if cell != cell else cell for cell in column.tolist()])
            writer.write(list(zip(*columns)))
            n += len(columns[0])
        writer.close()
    return n
