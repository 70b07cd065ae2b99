"""A model as JSON: its columns, and its formula as a tree of documented tables (docs/guide/export.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    Step,
    Sum,
)
from bayeskit._export.scorer import Scorer, kind_of
from bayeskit._fitting.calibration import Curve
from bayeskit._schema import Variable
from bayeskit._visible import json_text
from bayeskit.typing import Floats

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
