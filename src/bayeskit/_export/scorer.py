"""A fitted model prepared for export: columns, codes, its formula, its calibration; and all of it as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

import numpy as np

from bayeskit._conditionals.conditional import no_formula
from bayeskit._conditionals.scoring import (
    Average,
    Distance,
    IfPresent,
    Log,
    LookUp,
    Marginal,
    Normals,
    Number,
    Product,
    Score,
    Step,
    Sum,
)
from bayeskit._data.encode import Unseen
from bayeskit._fitting.calibration import Calibration, Curve
from bayeskit._fitting.model import Model
from bayeskit._messages import Message
from bayeskit._schema import Label, Name, Variable, first_twice
from bayeskit._visible import json_text
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


# A model as JSON: its columns, and its formula as a tree of documented tables (docs/guide/export.md).

FORMAT, VERSION = "bayeskit-formula", 1

Plain = dict[str, Any]


def json_of(scorer: Scorer, indent: int | None = None) -> str:
    """Return a model as JSON text."""
    writer = _Tables(scorer)
    calibration = scorer.calibration
    content: Plain = {
        "format": FORMAT,
        "version": VERSION,
        "model": scorer.model,
        "target": str(scorer.target.name),
        "classes": _labels(scorer.target),
        "columns": [
            *(_column(variable) for variable in scorer.categorical),
            *({"name": name, "kind": "numeric"} for name in scorer.numbers),
        ],
        "unseen": scorer.unseen,
        "log_prior": _plain(scorer.log_prior),
        "score": scorer.score.write(writer),
        "calibration": None if calibration is None else calibration.write(writer, scorer.target.states),
    }
    return json_text(content, indent)


def _labels(variable: Variable) -> list[Any]:
    kind_of(variable, "JSON")
    return list(variable.states)


def _column(variable: Variable) -> Plain:
    if variable.cuts is not None:
        return {"name": str(variable.name), "kind": "intervals", "cuts": list(variable.cuts)}
    kind = "codes" if variable.dense else "categorical"
    return {"name": str(variable.name), "kind": kind, "states": _labels(variable)}


def _plain(table: Floats) -> Any:
    """Return nested lists, with None for log 0."""
    values = np.asarray(table).astype(object)
    values[np.isneginf(table)] = None
    return values.tolist()


@dataclass(frozen=True, eq=False)
class _Tables:
    """Writes each kind of score as a JSON object."""

    scorer: Scorer

    def _name(self, j: int) -> str:
        return str(self.scorer.categorical[j].name)

    def look_up(self, score: LookUp) -> Plain:
        columns = [self._name(j) for j in score.columns]
        return {"kind": "look-up", "columns": columns, "table": _plain(score.table)}

    def number(self, score: Number) -> Plain:
        return {"kind": "number", "column": self.scorer.numbers[score.column]}

    def sum(self, score: Sum) -> Plain:
        return {"kind": "sum", "terms": [term.write(self) for term in score.flat()]}

    def product(self, score: Product) -> Plain:
        return {"kind": "product", "factors": [factor.write(self) for factor in score.factors]}

    def log(self, score: Log) -> Plain:
        return {"kind": "log", "of": score.of.write(self)}

    def distance(self, score: Distance) -> Plain:
        parts = {"mean": score.mean, "low": score.low, "scale": score.scale}
        written = {name: part.write(self) for name, part in parts.items()}
        return {"kind": "distance", "column": self.scorer.numbers[score.column], **written}

    def step(self, score: Step) -> Plain:
        sides = {"below": _plain(score.below), "above": _plain(score.above)}
        return {"kind": "step", "column": self.scorer.numbers[score.column], "at": score.at, **sides}

    def if_present(self, score: IfPresent) -> Plain:
        cases = {"there": score.there.write(self), "missing": score.missing.write(self)}
        return {"kind": "if-present", "column": self.scorer.numbers[score.column], **cases}

    def marginal(self, score: Marginal) -> Plain:
        families = [
            {
                "parents": [self._name(i) for i in family.parents],
                "child": self._name(family.child),
                "table": _plain(family.table),
            }
            for family in score.families
        ]
        values = {self._name(j): list(codes) for j, codes in score.values.items()}
        return {"kind": "marginal", "families": families, "values": values, "most": score.most}

    def average(self, score: Average) -> Plain:
        return {
            "kind": "average",
            "columns": [self._name(j) for j in range(len(score.offsets) - 1)],
            "offsets": score.offsets.tolist(),
            "contexts": score.contexts.tolist(),
            "logs": _plain(score.logs),
            "normals": None if score.normals is None else self._normals(score.normals),
            "otherwise": score.otherwise.write(self),
        }

    def _normals(self, normals: Normals) -> Plain:
        columns = [self.scorer.numbers[m] for m in normals.columns]
        tables = {name: getattr(normals, name).tolist() for name in ("norm", "mean", "low", "scale")}
        return {"columns": columns, **tables}

    def temper(self, t: float) -> Plain:
        return {"method": "temperature", "t": t}

    def bend(self, curves: Sequence[Curve | None], least: float) -> Plain:
        written = [None if c is None else {"at": list(c[0]), "share": list(c[1])} for c in curves]
        return {"method": "isotonic", "curves": written, "least": least}
