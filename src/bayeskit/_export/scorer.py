"""A fitted model prepared for export: columns, codes, the formula of the model, and its calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

import numpy as np

from bayeskit._conditionals.conditional import no_formula
from bayeskit._conditionals.scoring import Score
from bayeskit._data.encode import Unseen
from bayeskit._fitting.calibration import Calibration
from bayeskit._fitting.model import Model
from bayeskit._messages import Message
from bayeskit._schema import Label, Name, Variable, first_twice
from bayeskit.errors import ColumnError, NotSupported, UsageError
from bayeskit.typing import Floats

# LOG_ZERO replaces log 0 in languages without infinity, and scores below IMPOSSIBLE are impossible. No other sum comes
# near it, because numbers are clipped to ±LARGEST.
LOG_ZERO, IMPOSSIBLE, LARGEST = -1e300, -1e299, 1e100

Kind = Literal["text", "number", "truth"]


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted model, ready for export.

    Attributes
    ----------
    model : the name of its class
    target : Variable
    categorical : tuple of Variable
        The attributes that scores look up by code.
    numbers : tuple of names
        The numeric attributes, or the columns of a block.
    unseen : "ignore", "smooth" or "error"
    log_prior : array of shape (K,)
        The log-posterior of rows for which every class is impossible.
    score : Score
    calibration : Calibration, optional
    """

    model: str
    target: Variable
    categorical: tuple[Variable, ...]
    numbers: tuple[str, ...]
    unseen: Unseen
    log_prior: Floats
    score: Score
    calibration: Calibration | None

    @property
    def n_classes(self) -> int:
        return len(self.log_prior)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all attributes, categorical ones first."""
        return (*(str(v.name) for v in self.categorical), *self.numbers)

    def log_zero(self, table: Floats) -> Floats:
        """Return a table with a finite number instead of log 0."""
        return np.maximum(table, LOG_ZERO)

    def need_no_error(self, what: str) -> None:
        """Raise an error for ``unseen="error"`` in a language that cannot raise errors."""
        if self.unseen == "error":
            raise NotSupported(
                '{what} cannot stop at an unseen value, as unseen="error" asks. Fit with unseen="ignore" or "smooth".',
                what=what,
            )


def scorer_of(
    name: str,
    model: Model,
    classes: Sequence[Label],
    columns: tuple[Name, ...],
    unseen: Unseen,
    calibration: Calibration | None,
) -> Scorer:
    """Return a model as a formula; ``columns`` are the names of a block's columns, ``classes`` the labels."""
    if not all(conditional.supports("score") for conditional in model.conditionals):
        raise no_formula(name)
    schema = model.schema
    target = replace(schema.target, states=tuple(classes))
    numbers = columns if schema.block is not None else tuple(v.name for v in schema.numeric)
    scorer = Scorer(
        name, target, tuple(schema.categorical), tuple(str(number) for number in numbers), unseen,
        model.log_prior, model.score(), calibration,
    )  # fmt: skip
    twice = first_twice(scorer.columns)
    if twice is not None:
        raise ColumnError("Two columns would both be called {name!r}. Rename one, and fit again.", name=twice)
    return scorer


def kind_of(variable: Variable, where: str | Message) -> Kind:
    """Return the kind of a variable's states. Raise an error if they have no literal in the target language.

    >>> kind_of(Variable("sky", "categorical", ("blue", "red")), "SQL")
    'text'
    """
    states = variable.states
    if all(isinstance(state, str) for state in states):
        return "text"
    if all(type(state) is bool for state in states):
        return "truth"
    if all(type(state) in (int, float) for state in states):
        return "number"
    strange: Label = next(s for s in states if type(s) is not type(states[0]) or type(s) not in (int, float))
    raise NotSupported(
        "{where} has no value for all states of {name!r}, such as {strange!r} (a {kind}). Make the column text, "
        "numbers or truth values, and fit again.",
        where=where,
        name=variable.name,
        strange=strange,
        kind=type(strange).__name__,
    )


def need(package: str, extra: str, verb: str) -> Any:
    """Import a package of an extra. If it is missing, raise an error that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise UsageError(
            '{verb} needs {package}: pip install "bayeskit[{extra}]".',
            verb=verb,
            package=package,
            extra=extra,
        ) from None
