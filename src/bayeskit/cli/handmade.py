"""One row for a classifier: of a table, or typed by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayeskit.cli.evidence import number_of, split
from bayeskit.cli.models import kinds_of
from bayeskit.cli.output import note
from bayeskit.data.file_rows import FileRows
from bayeskit.errors import UsageError, did_you_mean
from bayeskit.schema import Variable

if TYPE_CHECKING:
    from bayeskit.classifiers.base import CountClassifier


def row_of(estimator: CountClassifier, rows: FileRows, number: int) -> Any:
    """Return a row of a table, its columns those that the model has learned."""
    if not hasattr(estimator, "feature_names_in_"):
        target = str(estimator.schema_.target.name)
        return list(rows.without([target] if target in rows.names else None).row(number).values())
    names = [str(name) for name in estimator.feature_names_in_]
    rows.need(*names)
    return rows.read_as(names, kinds_of(estimator.schema_.attributes)).row(number)


def row_by_hand(estimator: CountClassifier, given: Sequence[str]) -> dict[str, Any]:
    """Read ``COL=VALUE``: what is not given is missing."""
    if not hasattr(estimator, "feature_names_in_"):
        raise UsageError("This model was learned from columns without names, so none can be set by name.")
    variables = {str(v.name): v for v in estimator.schema_.attributes}
    row: dict[str, Any] = {name: math.nan if _is_number(v) else None for name, v in variables.items()}
    for text in given:
        name, is_so, value = split(text, variables, "--set")
        if not is_so:
            raise UsageError(f"--set {text!r}: a row has values. Use {name}=VALUE.")
        row[name] = _value(variables[name], value)
    return row


def _is_number(variable: Variable) -> bool:
    return variable.kind == "numeric" or variable.cuts is not None


def _value(variable: Variable, text: str) -> Any:
    if _is_number(variable):
        return number_of(str(variable.name), text, "--set")
    by_text = {str(state): state for state in variable.states}
    if text not in by_text:
        note(
            f"{str(variable.name)!r} was never {text!r} when the model learned. {did_you_mean(text, by_text)}"
        )
    return by_text.get(text, text)
