"""What a comparison of models found, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit._decision.risk import BayesRisk
from bayeskit._messages import did_you_mean, text_in
from bayeskit._schema import Label
from bayeskit._visible import plain
from bayeskit.errors import SettingError, UsageError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._report.comparison_report.comparison_page import Findings

# {action: {class: cost}}
Losses = dict[Any, dict[Label, float]]


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
    """The table that was read: how many rows had a class, how many had none, of a file its path and its bytes' hash."""

    path: str | None
    rows: int
    unlabelled: int
    sha256: str | None

    def called(self, lang: str) -> str:
        """Return what texts call it."""
        return text_in(lang, "The table given") if self.path is None else self.path


@dataclass(frozen=True)
class Measure:
    """A number, and how much it varies: over folds their standard deviation, over rows the standard error."""

    value: float
    deviation: float | None = None


@dataclass(frozen=True)
class ModelStanding:
    """One model's figures on rows that it had not learned.

    Attributes
    ----------
    key : the name that it is asked for by
    ours : whether it is a model to choose, of bayeskit or of the user's own, not a baseline
    error, log_loss, brier, auc, cost : Measure
        ``auc``: each class against the rest, the classes' mean; None where the rows judged are all of one class.
        ``cost``: None without a loss.
    by_fold : tuple of float
        What decides (the cost if there is a loss, else the error) in each fold; empty with one set of test rows.
    cpu_seconds : for fitting and predicting, all folds together
    size : int or None
        Bytes of the model; None where it can neither be saved nor pickled.
    p : float or None
        Of the paired test against the best; None for the best itself.
    tied : bool
        Whether it cannot be told from the best: p is at least 0.05.
    own : whether it is an estimator of the user's own
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
    size: int | None
    p: float | None = None
    tied: bool = True
    own: bool = False

    @property
    def decisive(self) -> Measure:
        """What decides: the cost if there is a loss, else the error."""
        return self.error if self.cost is None else self.cost

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The rows that were judged: their numbers in the file (from 1), their classes, and the pick's posteriors."""

    rows: NDArray[np.int64]
    truth: NDArray[np.intp]
    posterior: Floats


class Refitter(Protocol):
    """What made a comparison, and can fit its models again."""

    def fitted(self, key: str) -> Any: ...

    def findings(
        self, found: Comparison, command: str, next_lines: Sequence[str], loss_path: str | None
    ) -> Findings: ...


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Everything that a comparison found, the best model first.

    Attributes
    ----------
    table, test : Table
        What was learned from, and what was judged by, if that was another table.
    columns : tuple of Column
        What was understood of each column, and why some are left out.
    standings : tuple of ModelStanding
        The figures of each model.
    folds : int
        1 where the models were judged on a table of its own.
    pick : str
        The key of the model to take: of those, baselines apart, that cannot be told from the best, the one with the
        best probabilities.
    ceiling : BayesRisk
        By the posteriors of the model named in `ceiling_by`.
    losses : {action: {class: cost}} or None
    failed : tuple of (name, why)
    uncounted_pairs : int or None
        The bytes that the counts of all pairs of values would have taken, where that was too much: then nothing is
        known about how attributes depend on one another. None where it was looked at.
    run : Rerun or None
        What fits the models again.
    """

    table: Table
    test: Table | None
    target: str
    classes: tuple[Label, ...]
    class_counts: tuple[int, ...]
    columns: tuple[Column, ...]
    folds: int
    random_state: int
    standings: tuple[ModelStanding, ...]
    pick: str
    ceiling: BayesRisk
    ceiling_by: str
    held: JudgedRows
    losses: Losses | None = None
    failed: tuple[tuple[str, str], ...] = ()
    uncounted_pairs: int | None = None
    lang: str = "en"
    run: Refitter | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Rows and fitted models stay where they are: a copy in another process is the values alone.
        return vars(self) | {"run": None}

    def of(self, key: str) -> ModelStanding:
        """Return the figures of one model."""
        by_key = {standing.key: standing for standing in self.standings}
        if key not in by_key:
            raise SettingError(
                "There is no model {key!r} in this comparison. {hint}",
                key=key,
                hint=did_you_mean(key, by_key),
            )
        return by_key[key]

    @property
    def picked(self) -> ModelStanding:
        """The figures of the model to take."""
        return self.of(self.pick)

    @property
    def best(self) -> ModelStanding:
        """The figures of the model that does best, a baseline perhaps."""
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

    def fitted(self, key: str | None = None) -> Any:
        """Return a model fitted to all rows that were learned from: the pick, or the one named."""
        if self.run is None:
            raise UsageError("This comparison has no rows to fit a model to. Make it by bayeskit.compare.")
        return self.run.fitted(self.of(self.pick if key is None else key).key)

    def page(self, *, command: str = "", next_lines: Sequence[str] = (), loss_path: str | None = None) -> str:
        """Return a page of HTML about all of it, which stands alone.

        Parameters
        ----------
        command, next_lines : what to type to get the page again, and then; left out where there is nothing
        loss_path : where the loss was read from
        """
        from bayeskit._report.comparison_report.comparison_page import as_page

        if self.run is None:
            raise UsageError("This comparison has no rows to explain. Make it by bayeskit.compare.")
        return as_page(self.run.findings(self, command, next_lines, loss_path))

    def to_frame(self) -> Any:
        """Return the figures as a pandas frame: a row for each model, the best first, by its key."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise UsageError("to_frame needs pandas, which is not installed: pip install pandas.") from None
        rows = []
        for standing in self.standings:
            row: dict[str, Any] = {"model": standing.name}
            for name in ("cost", "error", "log_loss", "brier", "auc"):
                measure: Measure | None = getattr(standing, name)
                row[name] = None if measure is None else measure.value
                row[f"{name}_deviation"] = None if measure is None else measure.deviation
            rest = ("p", "tied", "ours", "own", "cpu_seconds", "size")
            rows.append(row | {name: getattr(standing, name) for name in rest})
        frame = pandas.DataFrame(rows, index=[standing.key for standing in self.standings])
        return frame if self.losses is not None else frame.drop(columns=["cost", "cost_deviation"])

    def __repr__(self) -> str:
        from bayeskit._report.comparison_report.standings import standings_text

        return standings_text(self)

    def _repr_html_(self) -> str:
        """Return the figures of all models for a notebook; the report has the rest."""
        from bayeskit._report.comparison_report.sections import Footnotes
        from bayeskit._report.comparison_report.standings import standings_html

        notes = Footnotes(self.lang)
        table = standings_html(self, notes)
        return f"{table}{notes.listed()}"

    def to_dict(self) -> dict[str, Any]:
        """Return all but the posteriors as plain values."""
        from bayeskit._report.comparison_report.verdict import uncounted_text

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
                {"label": plain(label), "rows": n}
                for label, n in zip(self.classes, self.class_counts, strict=True)
            ],
            "columns": [asdict(column) for column in self.columns],
            "folds": self.folds,
            "random_state": self.random_state,
            "models": [standing.to_dict() for standing in self.standings],
            "failed": [{"model": name, "why": why} for name, why in self.failed],
            "not_looked_at": unseen,
            "pick": self.pick,
            "ceiling": {"accuracy": self.ceiling.ceiling, "interval": [1.0 - high, 1.0 - low]}
            | {"by": self.ceiling_by, "holds": self.ceiling_holds},
        }
