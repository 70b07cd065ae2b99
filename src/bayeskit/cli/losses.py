"""A file of costs: the first column names the actions, the others the classes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from bayeskit.cli.options import Reading
from bayeskit.cli.rows import opened
from bayeskit.errors import ColumnError, DataError, SourceNote, did_you_mean


def read_losses(path: str, classes: Sequence[Any]) -> dict[str, dict[Any, float]]:
    """Read the cost of each action when each class is the truth.

    Returns
    -------
    {action: {class: cost}}, with the classes of the model
    """
    if path != "-" and not os.path.exists(path):
        labels = ",".join(map(str, [*classes[:6], *(["…"] if len(classes) > 6 else [])]))
        raise DataError(
            f"There is no file {path!r}. Write one: the line 'action,{labels}', then for each action a line with its "
            "name and what it costs where each of these is true."
        )
    # The column of actions needs no name.
    with warnings.catch_warnings(action="ignore", category=SourceNote), opened(path, Reading()) as rows:
        first, *costs = rows.names
        by_text = {str(label): label for label in classes}
        absent = [text for text in by_text if text not in costs]
        strange = [name for name in costs if name not in by_text]
        if absent or strange:
            wrong = f"no column for the class {absent[0]!r}" if absent else f"a column {strange[0]!r}"
            hint = did_you_mean(absent[0], costs) if absent else did_you_mean(strange[0], by_text)
            raise ColumnError(f"{rows.shown}: there is {wrong}. {hint} Its first column names the actions.")
        table = rows.read_as(kinds={first: "str", **dict.fromkeys(costs, "float64")}).columns()
    actions = table[first].tolist()
    if len(set(actions)) < len(actions) or None in actions:
        raise DataError(
            f"{rows.shown}: the first column must name each action once. Its header may be anything."
        )
    return {a: {by_text[c]: float(table[c][i]) for c in costs} for i, a in enumerate(actions)}
