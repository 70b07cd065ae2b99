"""What a comparison of models found, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.decision.risk import BayesRisk
from bayeskit.report.plain import plain
from bayeskit.schema import Label

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """What was understood of one column.

    Attributes
    ----------
    family : str
        How it is modelled, such as "table" or "gaussian"; empty where it is left out.
    states : int
        How many values a category has; 0 for numbers.
    missing : int
        How many cells are empty.
    left_out : str or None
        Why it is not used: "identifier", "constant", "copy", "date" or "dropped".
    suggestion : str or None
        Another family that might suit.
    """

    name: str
    family: str
    states: int
    missing: int
    left_out: str | None = None
    suggestion: str | None = None


@dataclass(frozen=True)
class Table:
    """The file that was read: how many rows had a class, how many had none, and the hash of its bytes."""

    path: str
    rows: int
    unlabelled: int
    sha256: str


@dataclass(frozen=True)
class Measure:
    """A number, and how much it varies: over folds their standard deviation, over rows the standard error."""

    value: float
    deviation: float | None = None


@dataclass(frozen=True)
class Standing:
    """One model's figures on rows that it had not learned.

    Attributes
    ----------
    key : the name that the command line knows
    ours : whether it is a model of bayeskit, not a yardstick
    error, log_loss, brier, auc, cost : Measure
        ``auc``: each class against the rest, the classes' mean; None where the rows judged are all of one class.
        ``cost``: None without a loss.
    by_fold : tuple of float
        What decides (the cost if there is a loss, else the error) in each fold; empty with one set of test rows.
    cpu_seconds : for fitting and predicting, all folds together
    size : bytes of the model
    p : float or None
        Of the paired test against the best; None for the best itself.
    tied : bool
        Whether it cannot be told from the best: p is at least 0.05.
    """

    key: str
    name: str
    ours: bool
    error: Measure
    log_loss: Measure
    brier: Measure
    auc: Measure | None
    cost: Measure | None
    by_fold: tuple[float, ...]
    cpu_seconds: float
    size: int
    p: float | None = None
    tied: bool = True

    @property
    def decisive(self) -> Measure:
        """What decides: the cost if there is a loss, else the error."""
        return self.error if self.cost is None else self.cost

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Held:
    """The rows that were judged: their numbers in the file (from 1), their classes, and the pick's posteriors."""

    rows: NDArray[np.int64]
    truth: NDArray[np.intp]
    posterior: Floats


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything that a comparison found, the best model first.

    Attributes
    ----------
    folds : int
        1 where the models were judged on a file of its own.
    pick : str
        The key of the model of bayeskit to take: of those that cannot be told from the best of bayeskit's, the one
        with the best probabilities.
    ceiling : BayesRisk
        By the posteriors of the model named in `ceiling_by`.
    losses : {action: {class: cost}} or None
    failed : tuple of (name, why)
    uncounted_pairs : int or None
        The bytes that the counts of all pairs of values would have taken, where that was too much: then nothing is
        known about how attributes depend on one another. None where it was looked at.
    """

    table: Table
    test: Table | None
    target: str
    classes: tuple[Label, ...]
    class_counts: tuple[int, ...]
    columns: tuple[Column, ...]
    folds: int
    seed: int
    standings: tuple[Standing, ...]
    pick: str
    ceiling: BayesRisk
    ceiling_by: str
    held: Held
    losses: dict[str, dict[Label, float]] | None = None
    failed: tuple[tuple[str, str], ...] = ()
    uncounted_pairs: int | None = None
    lang: str = "en"

    def of(self, key: str) -> Standing:
        """Return the figures of one model."""
        return next(standing for standing in self.standings if standing.key == key)

    @property
    def picked(self) -> Standing:
        """The figures of the model to take."""
        return self.of(self.pick)

    @property
    def best(self) -> Standing:
        """The figures of the model that does best, a yardstick perhaps."""
        return self.standings[0]

    @property
    def attributes(self) -> int:
        """How many columns are used."""
        return sum(column.left_out is None for column in self.columns)

    @property
    def least_error(self) -> float:
        """The error of the model that errs least, whatever decides."""
        return min(standing.error.value for standing in self.standings)

    @property
    def ceiling_holds(self) -> bool:
        """Whether no model has surpassed what should be the best possible: else the posteriors are too doubtful."""
        return self.least_error >= self.ceiling.interval[0]

    @property
    def majority(self) -> tuple[Label, float]:
        """The most frequent class of the rows learned, and how often it is wrong for those judged."""
        place = int(np.argmax(self.class_counts))
        return self.classes[place], float((self.held.truth != place).mean())

    def _repr_html_(self) -> str:
        """Return the figures of all models for a notebook; the report has the rest."""
        from bayeskit.report.comparison_report.footnotes import Footnotes
        from bayeskit.report.comparison_report.standings import standings_html

        notes = Footnotes(self.lang)
        table = standings_html(self, notes)
        return f"{table}{notes.listed()}"

    def to_dict(self) -> dict[str, Any]:
        """Return all but the posteriors as plain values."""
        from bayeskit.report.comparison_report.verdict import uncounted_text

        low, high = self.ceiling.interval
        unseen = []
        if self.uncounted_pairs is not None:
            size = {"columns": self.attributes, "bytes": self.uncounted_pairs}
            unseen.append({"what": "dependence", **size, "why": uncounted_text(self)})
        return {
            "data": asdict(self.table),
            "test": asdict(self.test) if self.test else None,
            "target": self.target,
            "classes": [
                {"label": plain(label), "rows": n} for label, n in zip(self.classes, self.class_counts)
            ],
            "columns": [asdict(column) for column in self.columns],
            "folds": self.folds,
            "seed": self.seed,
            "models": [standing.to_dict() for standing in self.standings],
            "failed": [{"model": name, "why": why} for name, why in self.failed],
            "not_looked_at": unseen,
            "pick": self.pick,
            "ceiling": {"accuracy": self.ceiling.ceiling, "interval": [1.0 - high, 1.0 - low]}
            | {"by": self.ceiling_by, "holds": self.ceiling_holds},
        }
