"""The result of a comparison of models, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit._decision.choice import BayesRisk
from bayeskit._markup import framed
from bayeskit._messages import did_you_mean, text_in
from bayeskit._schema import Label
from bayeskit._visible import plain
from bayeskit.errors import SettingError, UsageError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._report.comparison_report.class_figures import ClassFigures
    from bayeskit._report.comparison_report.comparison_page import Findings
    from bayeskit._report.comparison_report.verdict import Caution

# {action: {class: cost}}
Losses = dict[Any, dict[Label, float]]


@dataclass(frozen=True)
class Column:
    """How one column was read.

    Attributes
    ----------
    family : str
        How it is modelled, such as "table", "gaussian" or "words"; empty if it is left out.
    states : int
        The number of values of a categorical column; 0 for numbers.
    missing : int
        The number of missing cells.
    left_out : str or None
        Why it is not used: "identifier", "constant", "copy", "date" or "dropped".
    suggestion : str or None
        Another family that might fit.
    tells : float or None
        The share of the rows whose class this column alone tells, if that is suspiciously much.
    """

    name: str
    family: str
    states: int
    missing: int
    left_out: str | None = None
    suggestion: str | None = None
    tells: float | None = None


@dataclass(frozen=True)
class Table:
    """The table that was read: its numbers of rows with and without a class.

    For a file, its path, its hash, and the texts of each column that were taken as missing.
    """

    path: str | None
    rows: int
    unlabelled: int
    sha256: str | None
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def called(self, lang: str) -> str:
        """Return its name for texts."""
        return text_in(lang, "The table given") if self.path is None else self.path


@dataclass(frozen=True)
class Measure:
    """A number with its variation: the standard deviation over folds, or the standard error over rows."""

    value: float
    deviation: float | None = None


@dataclass(frozen=True)
class Difference:
    """A mean difference on the test rows, and the ends of its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SimplerModel:
    """The best of the models that are simpler than the recommended one.

    ``more`` is what it adds to the decisive measure (the cost if there is a loss, otherwise the error), ``log_loss``
    what it adds to the log-loss.
    """

    key: str
    more: Difference
    log_loss: Difference


@dataclass(frozen=True)
class ModelStanding:
    """The held-out results of one model.

    Attributes
    ----------
    key : the name of the model
    ours : whether it is a model to choose, from bayeskit or the user, and not a baseline
    error, log_loss, brier, auc, cost : Measure
        ``auc``: the mean over the classes, each against the rest; None if all test rows have the same class.
        ``cost``: None without a loss.
    by_fold : tuple of float
        The decisive measure (the cost if there is a loss, otherwise the error) in each fold; empty with a
        test set.
    cpu_seconds : for fitting and predicting, all folds together
    size : int or None
        The size of the model in bytes; None if it can be neither saved nor pickled.
    p : float or None
        The p-value of the paired test against the best model; None for the best itself.
    tied : bool
        Whether it cannot be distinguished from the best: p is at least 0.05.
    own : whether it is the user's own estimator
    behind : Difference or None
        How much its decisive measure is above that of the best model; None for the best itself.
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
    behind: Difference | None = None

    @property
    def decisive(self) -> Measure:
        """The decisive measure: the cost if there is a loss, otherwise the error."""
        return self.error if self.cost is None else self.cost

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The test rows: their numbers in the file (from 1), their classes, and the chosen model's posteriors."""

    rows: NDArray[np.int64]
    truth: NDArray[np.intp]
    posterior: Floats


class Refitter(Protocol):
    """The run behind a comparison, which can fit its models again."""

    def fitted(self, key: str) -> Any: ...

    def findings(
        self, found: Comparison, command: str, next_lines: Sequence[str], loss_path: str | None
    ) -> Findings: ...


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of a comparison, the best model first.

    Attributes
    ----------
    table, test : Table
        The training table, and the test table if there is one.
    columns : tuple of Column
        How each column was read, and why some are left out.
    standings : tuple of ModelStanding
        The figures of each model.
    folds : int
        The number of folds; 1 if the models were evaluated on a test table.
    pick : str
        The key of the recommended model: among the models tied with the best (without baselines), the one
        with the best probabilities.
    ceiling : BayesRisk
        Estimated from the posteriors of the model named in `ceiling_by`.
    losses : {action: {class: cost}} or None
    failed : tuple of (name, why)
    uncounted_pairs : int or None
        The bytes that the counts of all pairs of values would need, if that was too much. The dependences
        between attributes are then known for the most informative ones only. None if all were examined.
    run : Refitter or None
    looked_at : int or None
        The number of attributes whose dependences were examined, if these are not all.
    qualified : tuple of str
        The keys of models, without baselines, that a paired test cannot distinguish from the best of them.
    unfinished : tuple of str
        The names of models that were left out because the comparison ended early.
    sample : int or None
        The number of training rows that models were compared on, if it was a random sample of them.
    stopped : "interrupt", "time" or None
        Why models are missing, if the comparison ended early.
    screened : tuple of str
        The keys of models that looked only at the most informative attributes, because of the memory.
    lift : Difference or None
        What the recommended model saves, in the decisive measure, against the same decision for all rows.
    simpler : SimplerModel or None
        The best of the models that are simpler than the recommended one, if there is one.
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
    looked_at: int | None = None
    qualified: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    sample: int | None = None
    stopped: str | None = None
    screened: tuple[str, ...] = ()
    lift: Difference | None = None
    simpler: SimplerModel | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Rows and fitted models are not pickled: a copy in another process has only the values.
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
        """The figures of the recommended model."""
        return self.of(self.pick)

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What should be doubted: leaks, rare classes, few test rows, probabilities that do not hold."""
        from bayeskit._report.comparison_report.verdict import cautions

        return cautions(self)

    @property
    def by_class(self) -> tuple[ClassFigures, ...]:
        """Recall, precision and F1 of the recommended model for each class, with 95% intervals."""
        from bayeskit._report.comparison_report.class_figures import class_figures

        return class_figures(self.classes, self.held)

    @property
    def best(self) -> ModelStanding:
        """The figures of the best model, which may be a baseline."""
        return self.standings[0]

    @property
    def attributes(self) -> int:
        """The number of columns in use."""
        return sum(column.left_out is None for column in self.columns)

    @property
    def least_error(self) -> float:
        """The lowest error of any model, regardless of the decisive measure."""
        return min(standing.error.value for standing in self.standings)

    @property
    def ceiling_holds(self) -> bool:
        """Whether no model is better than the estimated ceiling; otherwise the posteriors are not reliable
        enough."""
        return self.least_error >= self.ceiling.interval[0]

    @property
    def majority(self) -> tuple[Label, float]:
        """The most frequent class of the training rows, and its error rate on the test rows."""
        place = int(np.argmax(self.class_counts))
        return self.classes[place], float((self.held.truth != place).mean())

    def fitted(self, key: str | None = None) -> Any:
        """Return a model fitted to all training rows: the recommended one, or the one named."""
        if self.run is None:
            raise UsageError(
                "This comparison has no rows to fit a model to. Create it with bayeskit.compare."
            )
        return self.run.fitted(self.of(self.pick if key is None else key).key)

    def page(self, *, command: str = "", next_lines: Sequence[str] = (), loss_path: str | None = None) -> str:
        """Return a self-contained HTML report.

        Parameters
        ----------
        command, next_lines : the command that reproduces the report, and those to run next; omitted if empty
        loss_path : the file of the loss
        """
        from bayeskit._report.comparison_report.comparison_page import as_page

        if self.run is None:
            raise UsageError("This comparison has no rows to explain. Create it with bayeskit.compare.")
        return as_page(self.run.findings(self, command, next_lines, loss_path))

    def to_frame(self) -> Any:
        """Return the figures as a pandas frame: a row for each model, indexed by its key, the best first."""
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
        return framed(table, notes.listed())

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the posteriors as plain values."""
        from bayeskit._report.comparison_report.verdict import rule_text, uncounted_text

        low, high = self.ceiling.interval
        unseen = []
        if self.uncounted_pairs is not None:
            size = {"columns": self.attributes, "bytes": self.uncounted_pairs, "looked_at": self.looked_at}
            unseen.append({"what": "dependence", **size, "why": uncounted_text(self)})
        return {
            "data": asdict(self.table),
            "test": asdict(self.test) if self.test else None,
            "target": self.target,
            "classes": [
                {"label": plain(label), "rows": n, "test_rows": each.rows}
                | {"recall": each.recall, "precision": each.precision, "f1": each.f1}
                | {"recall_interval": each.recall_interval, "precision_interval": each.precision_interval}
                for label, n, each in zip(self.classes, self.class_counts, self.by_class, strict=True)
            ],
            "warnings": [asdict(each) for each in self.cautions],
            "columns": [asdict(column) for column in self.columns],
            "folds": self.folds,
            "random_state": self.random_state,
            "models": [standing.to_dict() for standing in self.standings],
            "failed": [{"model": name, "why": why} for name, why in self.failed],
            "not_looked_at": unseen,
            "sample": self.sample,
            "stopped": self.stopped,
            "screened": list(self.screened),
            "pick": self.pick,
            "why": rule_text(self),
            "lift": None if self.lift is None else asdict(self.lift),
            "simpler": None if self.simpler is None else asdict(self.simpler),
            "ceiling": {"accuracy": self.ceiling.ceiling, "interval": [1.0 - high, 1.0 - low]}
            | {"by": self.ceiling_by, "holds": self.ceiling_holds},
        }
