"""Tests a loaded model before returning it: it must be valid and able to predict."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._fitting.calibration import from_held
from bayeskit._messages import Message
from bayeskit._schema import Name, Schema, Variable
from bayeskit._words import Vocabulary
from bayeskit.errors import ModelFormatError
from bayeskit.typing import Floats

Check = Callable[[Any, Schema], bool]
C = TypeVar("C", bound=Check)

# Generated rows: enough for every state of a table with one-byte codes.
MOST_ROWS = 256


# -- answers ---------------------------------------------------------------------------------------


def try_answers(joint: Callable[[Any], Floats], schema: Schema, log_prior: Floats | None = None) -> None:
    """Compute log P(c, x) of generated rows, and raise an error if the model cannot.

    Whatever a wrong number in a file causes (NaN, infinity, any error), it occurs here, inside
    :func:`~bayeskit._io.saved.naming`, and not at the first prediction.

    Parameters
    ----------
    joint : callable
        From rows, as a user would pass them, to an array of shape (n, K).
    log_prior : array of shape (K,), optional
        log P(c), the result for rows that are impossible in every class.
    """
    answers = joint(made_up_rows(schema))
    total = 1.0 if log_prior is None else float(np.exp(log_prior).sum())
    if np.isnan(answers).any() or np.isposinf(answers).any() or not abs(total - 1.0) < 1e-6:
        raise ModelFormatError(
            "its numbers give no probabilities. It was not written by bayeskit, or by a version with a fault: save "
            "it again."
        )


def made_up_rows(schema: Schema) -> Any:
    """Return a few rows of a schema; unless there are too many, every state occurs in one of them.

    >>> made_up_rows(Schema((Variable("色泽", "categorical", ("青绿", "乌黑")),), Variable("y", "categorical")))
    {'色泽': array(['青绿', '青绿', '乌黑'], dtype=object)}
    """
    if schema.vocabulary is not None:
        return _made_up_texts(schema, schema.vocabulary)
    if schema.block is not None:
        return np.vstack([np.zeros(schema.block.width), np.ones(schema.block.width)])
    largest = max((variable.size for variable in schema.categorical), default=0)
    n = min(max(largest, 3), MOST_ROWS)
    return {variable.name: _cells(variable, n) for variable in schema.attributes}


def _made_up_texts(schema: Schema, vocabulary: Vocabulary) -> NDArray[Any]:
    """Return rows of texts, the first without any word, with the other columns around them."""
    words = vocabulary.words[:MOST_ROWS]
    cells = np.full((3, schema.n_columns), None, dtype=object)
    cells[1:, list(vocabulary.places)] = vocabulary.splitting.between.join(words)
    others = [j for j in range(schema.n_columns) if j not in vocabulary.places]
    for j, variable in zip(others, schema.attributes[:-1], strict=True):
        cells[:, j] = _cells(variable, 3)
    return cells


def _cells(variable: Variable, n: int) -> NDArray[Any]:
    if variable.kind == "numeric":
        return np.arange(n, dtype=np.float64) % 3
    cells = np.full(n, None, dtype=object)
    for row, code in enumerate(np.linspace(0, variable.size - 1, n).astype(int) if variable.size else ()):
        if variable.cuts is None:
            cells[row] = variable.states[code]
        else:  # the last interval has no upper end
            cells[row] = (*variable.cuts, (variable.cuts or (0.0,))[-1] + 1.0)[code]
    return cells


# -- held choices ---------------------------------------------------------------------------------


_CHECKS: dict[str, Check] = {}


def held_choice(name: str) -> Callable[[C], C]:
    """Register the check of a choice with this name from a file: true for what a model can have chosen.

    Choices of several kinds of models are registered here. Other models register their own choices.
    """

    def register(check: C) -> C:
        _CHECKS[name] = check
        return check

    return register


def check_held(held: object, schema: Schema, needed: Collection[str] = ()) -> None:
    """Raise an error for what a model cannot have chosen from rows: ``needed`` must exist, nothing unknown may."""
    if not isinstance(held, dict) or not all(isinstance(key, str) for key in held):
        raise ModelFormatError(
            Message(
                "its held choices are {held}, not a mapping from names. Save it again.", held=_short(held)
            )
        )
    strange = [key for key in held if key not in _CHECKS]
    missing = [key for key in needed if key not in held]
    if strange or missing:
        said = (
            Message("contains {strange!r}", strange=strange[0])
            if strange
            else Message("lacks {missing!r}", missing=missing[0])
        )
        raise ModelFormatError(
            Message(
                "it {said}, unlike any model of this version. Save it again, with this version.", said=said
            )
        )
    for key, value in held.items():
        if not _CHECKS[key](value, schema):
            raise ModelFormatError(
                Message(
                    "it holds {value} for {key!r}, which does not fit its columns. Save it again.",
                    value=_short(value),
                    key=key,
                )
            )


def is_number(value: object, least: float = -math.inf) -> TypeGuard[float]:
    return is_loss(value) and math.isfinite(value) and value >= least


def is_loss(value: object) -> TypeGuard[float]:
    """Infinite if an event that occurred had probability zero."""
    numbers = (int, float, np.integer, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool) and not math.isnan(value)


@held_choice("chosen_from")
def _is_share_of_rows(value: object, schema: Schema) -> bool:
    if not isinstance(value, dict) or set(value) != {"rows", "of", "seed"}:
        return False
    return all(type(n) is int and n >= 0 for n in value.values()) and value["rows"] <= value["of"]


@held_choice("super_parent")
def _is_name(value: object, schema: Schema) -> bool:
    return value in schema.position


@held_choice("super_parents")
def _are_names(value: object, schema: Schema) -> TypeGuard[tuple[Name, ...]]:
    return type(value) is tuple and len(set(value)) == len(value) and all(v in schema.position for v in value)


@held_choice("order")
def _is_order(value: object, schema: Schema) -> bool:
    """An order of all discrete attributes."""
    return _are_names(value, schema) and set(value) == {v.name for v in schema.categorical}


@held_choice("structure")
def _is_structure(value: object, schema: Schema) -> bool:
    """Parents by name, without a cycle, which the graph itself checks. In a network the class is a node, too."""
    from bayeskit._fitting.graphical import as_graph, check_graph, class_node
    from bayeskit._graphs.dag import Dag

    if not isinstance(value, dict) or not all(type(parents) is tuple for parents in value.values()):
        return False
    nodes = {*schema.position, class_node(schema)}
    known = all(len(set(names)) == len(names) and nodes.issuperset(names) for names in value.values())
    if not known or not nodes.issuperset(value):
        return False
    if class_node(schema) in value:
        check_graph(as_graph(value, schema), schema)
    return bool(Dag(tuple(value), tuple(value.values())).nodes or not value)


@held_choice("structures")
def _are_structures(value: object, schema: Schema) -> bool:
    return isinstance(value, dict) and all(
        isinstance(name, str) and _is_structure(structure, schema) for name, structure in value.items()
    )


@held_choice("cut_points")
def _are_cuts(value: object, schema: Schema) -> bool:
    """The cut points of the columns that are cut."""
    return isinstance(value, dict) and all(
        name in schema.position and _ascend(cuts) and schema[name].cuts in (None, cuts)
        for name, cuts in value.items()
    )


@held_choice("views")
def _are_views(value: object, schema: Schema) -> bool:
    """The cut points of every numeric column, one set for each view."""
    return (
        type(value) is tuple
        and bool(value)
        and all(
            isinstance(view, dict)
            and set(view) == set(schema.numeric_index)
            and all(map(_ascend, view.values()))
            for view in value
        )
    )


def _ascend(cuts: object) -> bool:
    return type(cuts) is tuple and all(map(is_number, cuts)) and all(a < b for a, b in pairwise(cuts))


@held_choice("families")
def _are_families(value: object, schema: Schema) -> bool:
    return isinstance(value, dict) and all(
        name in schema.position and isinstance(family, str) for name, family in value.items()
    )


@held_choice("weights")
def _are_weights(value: object, schema: Schema) -> bool:
    return isinstance(value, dict) and all(is_number(weight, 0.0) for weight in value.values())


@held_choice("scores")
def _are_scores(value: object, schema: Schema) -> bool:
    return isinstance(value, dict) and all(
        type(scores) is tuple and len(scores) == 3 and all(map(is_loss, scores)) for scores in value.values()
    )


@held_choice("losses")
def _are_losses(value: object, schema: Schema) -> bool:
    """A loss for each attribute, or rows of losses of the same length."""
    if isinstance(value, dict):
        return all(name in schema.position and is_loss(loss) for name, loss in value.items())
    if type(value) is not tuple:
        return False
    rows = all(type(row) is tuple and all(map(is_loss, row)) for row in value)
    return rows and len(set(map(len, value))) == 1


@held_choice("k")
def _is_number_of_parents(value: object, schema: Schema) -> bool:
    return type(value) is int and 0 <= value <= 64


@held_choice("classes")
def _are_classes(value: object, schema: Schema) -> bool:
    return type(value) is tuple and set(schema.target.states) <= set(value)


@held_choice("calibration")
def _is_calibration(value: object, schema: Schema) -> bool:
    return from_held({"calibration": value}) is not None


@held_choice("completion")
def _is_completion(value: object, schema: Schema) -> bool:
    """How unlabelled rows were used."""
    keys = {"weight", "losses", "history", "converged", "fell"}
    return (
        isinstance(value, dict)
        and set(value) == keys
        and is_number(value["weight"], 0.0)
        and isinstance(value["losses"], dict)
        and all(is_number(weight, 0.0) and is_loss(loss) for weight, loss in value["losses"].items())
        and type(value["history"]) in (tuple, list)
        and all(map(is_loss, value["history"]))
        and type(value["converged"]) is bool
        and type(value["fell"]) is bool
    )


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]}…"
