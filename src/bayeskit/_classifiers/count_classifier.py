"""The scikit-learn interface shared by all classifiers that are estimated from counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayeskit._classifiers.base_classifier import BaseClassifier
from bayeskit._classifiers.input_checks import (
    announced,
    check_announced,
    check_same_settings,
    dtype_of_target,
    not_fitted,
    plain_dtype,
    refuse_sparse,
    require_y,
    warn_of_impossible,
)
from bayeskit._classifiers.semi_supervision import (
    all_labelled,
    check_unlabelled,
    complete,
    label_source,
    numbering,
    parted,
)
from bayeskit._classifiers.streams import (
    WaitingRows,
    count_waiting,
    learn_one,
    predict_one,
    predict_proba_one,
    take_away,
)
from bayeskit._conditionals.class_prior import choose, log_normalise, normalise
from bayeskit._counting.backend import backend_of, rows_for_choices, thread_count
from bayeskit._data.database_url import DatabaseTable, names_database
from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._data.formats import Unsure
from bayeskit._data.frames import cluster_of
from bayeskit._data.missing_marks import MarksLike
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source, memory_in_bytes
from bayeskit._data.table import Table
from bayeskit._fitting.calibration import calibrate, check_method, from_held
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.lazy_state import LazyState, Refresh
from bayeskit._fitting.leave_one_out import (
    LeaveOneOut,
    encode_learned,
    left_out_joint,
    log_posterior,
    mean_loss,
)
from bayeskit._fitting.long_runs import never
from bayeskit._fitting.model import Model, ModelSpec, RowChoice
from bayeskit._fitting.row_stream import RowStream
from bayeskit._messages import Joined, listed
from bayeskit._random_state import generator_of
from bayeskit._schema import Label, Name, Schema, Variable
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import BayeskitError, DataError, Incompatible, NeedsRows, UsageError
from bayeskit.typing import (
    Floats,
    LabelsLike,
    LossLike,
    PathLike,
    RowLike,
    RowSource,
    Seed,
    TableLike,
    WeightsLike,
)

if TYPE_CHECKING:
    from bayeskit._classifiers.picture_data import RegionSettings
    from bayeskit._classifiers.row_sink import Written
    from bayeskit._conditionals.posterior_draws import Draws
    from bayeskit._data.file_reading import FileReading
    from bayeskit._export.scorer import Scorer
    from bayeskit._export.sql import SqlScript
    from bayeskit._report.charts.class_profile import ClassProfile
    from bayeskit._report.charts.nomogram import Nomogram
    from bayeskit._report.charts.regions import Regions
    from bayeskit._report.explanation import Explanation
    from bayeskit._report.novelty_report import Novelty
    from bayeskit._report.value_of_information import Questions


class CountClassifier(BaseClassifier):
    """Fit, update, forget, merge, predict and sample: the base class of all classifiers estimated from
    counts.

    A subclass stores its parameters and implements ``_reading()`` and ``_spec(schema)``. If something must
    be chosen from rows, it also implements ``_choose(source)``. The fitted state is in ``_fitted`` (in
    ``_lazy`` for a lazy model), and what was chosen is in ``_held``.
    """

    _threshold: float | None = None
    # What ``_choose`` always chooses: a saved model that does not hold it is none.
    _holds: frozenset[str] = frozenset()
    # Held for display, not for predictions: models that differ only in these can be merged.
    _not_choices = frozenset({"losses", "scores", "completion", "chosen_from"})
    _wants_hints = False
    # Whether ``_choose_by_counts`` chooses anything.
    _chooses_by_counts = False
    # Whether a stack is to choose a temperature for its answers; not where they were fitted by log-loss already.
    _is_tempered = True
    _fitted: FittedState | None = None
    _lazy: LazyState | None = None
    # Rows of a stream that were learned and are counted before the next question: as they came, and coded.
    _waiting: WaitingRows | None = None
    _stream: RowStream | None = None
    calibration: str | None = None
    n_jobs: int | None = None
    # Whether it learns the words of free text.
    _reads_texts = False
    reading_: FileReading | None = None
    """How the file was read that the model was fitted to; None if it was fitted to other rows."""

    # -- hooks ---------------------------------------------------------------------------------

    def _reading(self) -> Reading:
        return Reading()

    def _spec(self, schema: Schema) -> ModelSpec:
        return ModelSpec()

    # Whether the time for choosing is over: asked between steps of what takes long.
    _is_over: Callable[[], bool] = never

    def _choose(self, source: Source) -> dict[str, Any]:
        """Choose from rows what no statistic decides; it is then held."""
        return {}

    def _choose_by_counts(self, source: Source, fitted: FittedState) -> dict[str, Any]:
        """Choose what needs the rows once more beside their counts; it is then held. The plan must not change by it."""
        return {}

    def _held_with(self, names: tuple[Name, ...]) -> Mapping[str, Any]:
        """Return what is held once new attributes have joined, which depend on the class alone."""
        return self._held

    def _honest_log_posteriors(
        self, statistics: Statistics, spec: ModelSpec, rows: Chunk, some: NDArray[np.intp]
    ) -> Floats:
        """Return log P(c | x) of rows that were counted, as a model that is fitted to these answers should see them.

        A row must have had no say in its own answer, by counts or by choices: here it is left out of the counts. A
        classifier that chooses much from rows overrides this. Of a row of weight w, min(w, 1) is left out.

        Parameters
        ----------
        statistics, spec
            What was counted, by a plan that has this classifier's patterns, and how it becomes a model.
        rows : Chunk
            The rows with their classes; all of them, or as many as choices were made from.
        some : int array
            Those to answer for.
        """
        part = rows.take(some)
        scores = LeaveOneOut(statistics, spec).scores(part, np.minimum(part.row_weights, 1.0))
        return log_posterior(*scores)

    def _source(self, X: RowSource, *given: Any, **more: Any) -> Source:
        """Return the rows that a verb was given; what is in memory is opened as this classifier opens rows."""
        source = Source(X, *given, **more)
        # Workers get what opens rows, and nothing that was learned.
        opener = clone(self)._open if source.in_partitions else self._open
        return replace(source, opener=opener, threads=thread_count(self.n_jobs))

    def _source_like(self, *given: Any) -> Source:
        """Return rows that are added or taken away; a file is read as the one that the model has learned."""
        source = self._source(*given)
        return source if self.reading_ is None else replace(source, reading=self.reading_)

    def _examined(self, source: Source, keep: Sequence[Name] = ()) -> Source:
        """Return the source with the columns that are used; see `bayeskit._data.source.Source.examined`."""
        return source.examined((keep,) if isinstance(keep, str) else keep, self._reads_texts)

    def _learn(
        self, source: Source, learn: Callable[[Source], None], keep: Sequence[Name] | None = None
    ) -> Self:
        """Learn from a source; with ``keep``, it is examined first.

        A file that was read quickly, and is not as its first rows promise, is read again with care.
        """
        keep = (keep,) if isinstance(keep, str) else keep
        # Not by _examined: what is found is told as a warning to whoever called the verb, so many calls above.
        used = source if keep is None else source.examined(keep, self._reads_texts)
        try:
            learn(used)
        except (BayeskitError, Unsure):
            if used.sure:
                raise
        else:
            return self
        # The careful way says what is wrong, if anything is.
        source = source.surveyed()
        learn(source if keep is None else source.examined(keep, self._reads_texts))
        return self

    def _row_choices(self) -> list[RowChoice]:
        """Return which choices these settings make from rows; counts are not enough for them."""
        found = []
        if self.calibration is not None:
            found.append(RowChoice(f"calibration={self.calibration!r}", "Leave calibration out."))
        if self.semi_supervised:
            found.append(RowChoice("semi_supervised=True", "Learn from the labelled rows alone."))
        return found

    def _check_settings(self) -> None:
        """Raise an error for invalid parameters, before any row is read."""
        if self.calibration is not None:
            check_method(self.calibration)
        if (
            self.semi_supervised is not False
            or self.unlabelled_weight != 1.0
            or self.missing_label is not None
        ):
            check_unlabelled(self)

    # -- learning: each verb is all or nothing -------------------------------------------------

    def fit(
        self,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        target: Name | None = None,
        columns: Sequence[Name] | None = None,
        exclude: Sequence[Name] | None = None,
        encoding: str | None = None,
        separator: str | None = None,
        missing: MarksLike | None = None,
        keep: Sequence[Name] = (),
        max_memory: int | str | None = None,
    ) -> Self:
        """Fit the model to all rows of a source, discarding any earlier fit.

        Parameters
        ----------
        X : array, frame, sparse matrix, iterator of batches, :class:`bayeskit.Batches`, path, or DuckDB relation
            A path may be a pattern (``"part-*.parquet"``), and several paths a list. Lazy frames (Polars, PyArrow
            datasets, Ibis, Dask) are read piece by piece, with ``target``. A batch is (X, y),
            (X, y, weights), or rows that include the target column. DuckDB counts a relation in place, without
            reading rows, so the model must not need to choose anything from rows.
        y : array of shape (n,), optional
            The class of each row. Alternatively, pass ``target``. With ``semi_supervised=True`` labels may be
            missing: None, NaN, or −1 if the labels are integers.
        sample_weight : array of shape (n,), number or column name, optional
            A row of weight 0 is ignored: it adds no class and no state, and does not affect the variance
            floor.
        target : column name, optional
            The column of X that holds the class.
        columns, exclude : column names, optional
            The attributes to use, or to leave out.
        encoding : str, optional
            The encoding of a text file. UTF-8, UTF-16 and GB18030 are detected automatically.
        separator : str, optional
            What separates the cells of a text file. The usual ones are detected automatically.
        missing : texts, or {column: texts}, optional
            Texts of a text file that mean a missing cell. By default, an empty cell and the usual marks (``NA``, ``?``;
            among numbers also ``-``, ``.``, ``unknown`` and others), never in the target.
        keep : column names
            Columns of a file to use that would be left out: identifiers, dates, constants and copies of the target.
            ``reading_`` says how a file was read and what was left out.
        max_memory : int or str, optional
            What reading a file may take, in bytes or as ``"512MB"``. Counts take as much as they need.
        """
        self._check_settings()
        refuse_sparse(self, X)
        source = self._source(
            X, y, sample_weight, target, columns, exclude, encoding, once=True, separator=separator,
            missing=missing, max_memory=memory_in_bytes(max_memory), quick=True,
        )  # fmt: skip
        require_y(self, source)
        return self._learn(source, self._fit, keep)

    def _fit(self, source: Source) -> None:
        """Fit the model to a source that was examined."""
        rows = self._rows_for_choices(source)
        elsewhere = backend_of(source) is not None
        labelled, unlabelled = parted(self, source) if self.semi_supervised else (source, None)
        rows = labelled if self.semi_supervised else rows
        with numbering(self, source) if self.semi_supervised else nullcontext(), self._holding(rows):
            fitted = self._new_fitted(
                Variable("y" if source.target is None else source.target, "categorical")
            )
            kept: list[EncodedTable] | None = None if unlabelled is None else []
            fitted.absorb(labelled, kept, read_here=not elsewhere)
            fitted.check_classes()
            self._hold_more(rows, fitted)
            if kept is not None and unlabelled is not None:
                self._held = {**self._held, "completion": complete(self, fitted, kept, unlabelled)}
            if self.calibration is not None:
                self._calibrate(rows, fitted)
            self._note_sample(rows)
            known = source.y is not None or elsewhere
            labels = source.y if known else dtype_of_target(source.data, source.target)
            self._adopt(fitted, label_source(labels) if self.semi_supervised else labels)
        self.reading_ = source.reading

    def partial_fit(
        self,
        X: RowSource,
        y: LabelsLike | None = None,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        target: Name | None = None,
    ) -> Self:
        """Update the model with more rows.

        Without ``classes``, a class not seen before is added to the model. With ``classes`` (needed only at
        the first call), any other label is an error. After a semi-supervised ``fit``, the expected counts of
        its unlabelled rows stay fixed, and rows without a label are an error here.
        """
        if self._lazy is not None:
            raise UsageError(
                "A lazy model counts its source itself. Add the rows to the source, then call refresh()."
            )
        refuse_sparse(self, X)
        source = replace(self._source_like(X, y, sample_weight, target), quick=True)
        if self.semi_supervised:
            source = all_labelled(self, source)
        require_y(self, source)
        if self._waiting is not None or self._stream is not None:
            count_waiting(self)
        fitted = self._fitted
        if fitted is None:
            self._check_settings()
            return self._learn(source, lambda used: self._add_first(used, classes), keep=())
        check_announced(classes, fitted)
        self._learn(source, fitted.absorb)
        self._renew()
        return self

    def _add_first(self, source: Source, classes: LabelsLike | None) -> None:
        """Begin a model with the first of several sources."""
        rows = self._rows_for_choices(source)
        with self._holding(rows):
            fitted = self._new_fitted(announced(classes, "y" if source.target is None else source.target))
            fitted.absorb(source)
            self._hold_more(rows, fitted)
            self._calibrate(rows, fitted)
            self._note_sample(rows)
            self._adopt(fitted, classes if classes is not None else source.y)
        self.reading_ = source.reading

    def relearn(
        self,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        **source: Any,
    ) -> Self:
        """Fit again on these rows, including everything that ``partial_fit`` keeps (cut points, structure,
        weights).

        The same as ``fit``. Use it when the choices made at the first fit are out of date.
        """
        return self.fit(X, y, sample_weight, **source)

    def forget(
        self,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        target: Name | None = None,
    ) -> Self:
        """Remove training rows: the result is the model fitted to the remaining rows.

        If some count would become negative, the rows cannot have been training rows. That is an error, and
        the model is unchanged. (Sums do not remember rows, so a wrong row goes unnoticed if all its counts
        are large enough.)
        """
        fitted = self._require("forget")
        fitted.forget(self._source_like(X, y, sample_weight, target))
        self._renew()
        return self

    def learn_one(self, row: Mapping[Any, Any], y: Label, sample_weight: float = 1) -> None:
        """Add one row of a stream. It is counted before the next question, together with others.

        The first question comes after the rows that choose what ``partial_fit`` holds: ask late, or fit first.

        Parameters
        ----------
        row : mapping from column to value
            A column that it does not name is missing; in a block of counts it is 0. A new key adds an attribute,
            which is missing in all rows before. Where parents are held (KDB), it depends on the class alone.
            LogLinearBayes, AutoBayes and models with views raise a :class:`~bayeskit.errors.ColumnError`.
        y : label
        sample_weight : float, default=1

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes()
        >>> model.learn_one({"colour": "green"}, "unripe")
        >>> model.learn_one({"colour": "yellow", "weight": 1.2}, "ripe")
        >>> model.predict_one({"colour": "yellow"})
        'ripe'
        """
        if self._lazy is not None:
            raise UsageError(
                "A lazy model counts its source itself. Add the rows to the source, then call refresh()."
            )
        learn_one(self, row, y, sample_weight)

    def forget_one(self, row: Mapping[Any, Any], y: Label, sample_weight: float = 1) -> None:
        """Remove one row that was learned, as ``forget`` does. For windows see
        :class:`bayeskit.classifiers.SlidingWindow`."""
        take_away(self, [(row, y, sample_weight)])

    def predict_one(self, row: Mapping[Any, Any]) -> Any:
        """Return the most probable class of one row of a stream. Keys that the model does not know are ignored."""
        return predict_one(self, row)

    def predict_proba_one(self, row: Mapping[Any, Any]) -> dict[Any, float]:
        """Return {class: P(c | x)} of one row of a stream. Keys that the model does not know are ignored."""
        return predict_proba_one(self, row)

    def to_river(self) -> Any:
        """Return this model as a classifier of River (``pip install bayeskit[river]``). It learns in a copy."""
        from bayeskit._classifiers.river_adapter import river_classifier

        try:
            adapter = river_classifier()
        except ImportError as error:
            raise UsageError(
                "River is not installed ({error}). Install it: pip install bayeskit[river].", error=error
            ) from error
        return adapter(self)

    def fade(self, factor: float) -> Self:
        """Multiply the weight of all training rows so far by a factor, so that newer rows count for more."""
        self._require("fade").fade(factor)
        return self

    def merge(self, other: Self) -> Self:
        """Add the training rows of another model with the same parameters."""
        fitted, its_fitted = self._alike(other)
        fitted.merge(its_fitted)
        self._renew()
        return self

    def _subtract(self, other: Self) -> Self:
        """Take the training rows of another model away: the inverse of ``merge``."""
        fitted, its_fitted = self._alike(other)
        fitted.subtract(its_fitted)
        self._renew()
        return self

    def _alike(self, other: Self) -> tuple[FittedState, FittedState]:
        """Return what both have counted, or say why these are no sums over the same things."""
        fitted = self._require("merge")
        check_same_settings(self, other)
        its_fitted = other._require("merge")
        other_names = fitted.named and its_fitted.named and fitted.names != its_fitted.names
        if other_names or self.n_features_in_ != other.n_features_in_:
            raise Incompatible(
                "The two models were learned from different columns: {mine} and {its}. Fit both to the same ones: a "
                "column that is constant in one file is left out there, unless keep= names it.",
                mine=_some(fitted.names),
                its=_some(its_fitted.names),
            )
        mine, its = ({k: v for k, v in m.held_.items() if k not in self._not_choices} for m in (self, other))
        for key in {**mine, **its}:
            if mine.get(key) != its.get(key):
                raise Incompatible(
                    "The two models hold different {key}, chosen from different rows: "
                    "{mine} and {its}. Fit one, and let the other take over what it "
                    "holds (cut_points=, structure=, …), or learn from the rows of both.",
                    key=key.replace("_", " "),
                    mine=_short(mine.get(key)),
                    its=_short(its.get(key)),
                )
        return fitted, its_fitted

    def __add__(self, other: Self) -> Self:
        return self._copy().merge(other)

    def lazy(
        self,
        source: RowSource,
        target: str | LabelsLike,
        *,
        sample_weight: WeightsLike | None = None,
        columns: Sequence[Name] | None = None,
        exclude: Sequence[Name] | None = None,
        encoding: str | None = None,
        separator: str | None = None,
        missing: MarksLike | None = None,
        keep: Sequence[Name] = (),
        refresh: Refresh | None = None,
        max_memory: int = 2**26,
    ) -> Self:
        """Predict from a source directly: nothing is counted until a prediction needs it.

        What must be chosen from rows (cut points, a structure, a calibration) is chosen now and kept.

        Parameters
        ----------
        source : frame, array, :class:`bayeskit.Batches`, path, or URL of a table in a database
            ``"duckdb:///shop.db?table=orders"``, ``"sqlite:///…"`` or ``"postgresql://user@host/base?table=…"``
            (``pip install bayeskit[sql]``). The database counts, all that a prediction needs in one statement.
        target : column name, or the labels themselves
        sample_weight, columns, exclude, encoding, separator, missing, keep
            As in ``fit``.
        refresh : "manual", "always", "version" or seconds, optional
            When to discard cached counts: when ``refresh()`` is called, before every prediction, when the source
            has changed (files, DuckDB and SQLite), or after this many seconds. By default "always" for a
            database, "manual" for anything else.
        max_memory : int
            The memory limit for cached counts, in bytes.
        """
        self._check_settings()
        if self.semi_supervised:
            raise UsageError(
                "A lazy model counts only what a question needs, and unlabelled rows are gone over many times. Use "
                "fit, or semi_supervised=False."
            )
        given: Any = source
        if names_database(source):
            given = DatabaseTable(source)
        if refresh is None:
            refresh = "manual" if given is source else "always"
        refuse_sparse(self, given)
        y, column = (None, target) if isinstance(target, str) else (target, None)
        opened = self._source(
            given, y, sample_weight, column, columns, exclude, encoding, separator=separator, missing=missing
        )
        opened.need_many_passes("A lazy model")
        opened = self._examined(opened, keep)
        rows = self._rows_for_choices(opened)
        variable = Variable("y" if column is None else column, "categorical")
        with self._holding(rows):
            if self.calibration is not None or self._chooses_by_counts:
                judged = self._new_fitted(variable)
                judged.absorb(opened)
                self._hold_more(rows, judged)
                self._calibrate(rows, judged)
            self._note_sample(rows)
        fitted = self._new_fitted(variable)
        for name in ("_fitted", "_waiting", "_stream", "feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        self._lazy = LazyState(opened, fitted, refresh, max_memory)
        self.reading_ = opened.reading
        self._class_dtype = None if y is None else np.asarray(y).dtype
        return self

    def refresh(self) -> Self:
        """Discard the cached counts of a lazy model."""
        if self._lazy is None:
            raise UsageError("Only a lazy model can be refreshed; this one was fitted.")
        self._lazy.drop()
        return self

    def save(self, path: PathLike) -> None:
        """Write the model to one file, which contains data and no code. Read it with :func:`bayeskit.load`."""
        from bayeskit._classifiers.model_files import save_model

        save_model(self, path)

    def _rows_for_choices(self, source: Source) -> Source:
        """Return what choices are made from: the source itself, or a sample of one on a cluster.

        A source of which no rows can be read is returned, too; what must be chosen from rows is then refused.
        """
        rows = rows_for_choices(source)
        if rows is not None:
            return rows
        for choice in self._row_choices():
            raise NeedsRows(choice.setting, source.data, choice.way_out)
        return source

    def _note_sample(self, rows: Source) -> None:
        """Hold how many rows choices were made from, where these were not all."""
        if rows.sample_note is not None:
            self._held = {**self._held, "chosen_from": rows.sample_note}

    @contextmanager
    def _holding(self, source: Source) -> Iterator[None]:
        """Hold what these rows choose; what was held before comes back if learning from them fails."""
        before = self._held
        method = self.calibration
        if method is not None:
            source.need_many_passes(f"{type(self).__name__}(calibration={method!r})")
        try:
            self._held = {}
            self._held = self._choose(source)
            yield
        except BaseException:
            self._held = before
            raise

    def _hold_more(self, source: Source, fitted: FittedState) -> None:
        """Hold what rows and counts choose together."""
        if self._chooses_by_counts:
            self._held = {**self._held, **self._choose_by_counts(source, fitted)}
            fitted.specify()

    def _count(self, source: Source, spec: Callable[[Schema], ModelSpec]) -> FittedState:
        """Count a source for another spec than the classifier's own, to choose from."""
        target = Variable(source.target if source.target is not None else "y", "categorical")
        trial = FittedState(
            self._reading(), spec, who=type(self).__name__, target=target, warns=False, n_jobs=self.n_jobs
        )
        trial.absorb(source)
        return trial

    def _calibrate(self, source: Source, fitted: FittedState) -> None:
        """Hold the calibration of posteriors, fitted to the leave-one-out predictions of the rows just counted."""
        method = self.calibration
        if method is not None:
            self._held = {**self._held, "calibration": calibrate(fitted, source, method).plain()}

    # -- answers -------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: TableLike) -> Floats:
        """Return log P(c, x) of each row, without normalisation: shape (n, K)."""
        return self._joint(X)[0]

    def predict_log_proba(self, X: TableLike) -> Floats:
        """Return log P(c | x) of each row: shape (n, K)."""
        if cluster_of(X) is not None:
            lazily: Floats = self._cluster_answer(X, "predict_log_proba")
            return lazily
        joint, model = self._joint(X)
        warn_of_impossible(log_normalise(joint, model.log_prior))
        return self._calibrated(joint, model.schema)

    def _write(self, X: RowSource, sink: PathLike, max_memory: int | str | None) -> Written:
        from bayeskit._classifiers.row_sink import write_predictions

        return write_predictions(
            self, X, sink, threads=thread_count(self.n_jobs), max_memory=memory_in_bytes(max_memory)
        )

    def predict_proba(
        self, X: Any, *, sink: PathLike | None = None, max_memory: int | str | None = None
    ) -> Any:
        """Return P(c | x) of each row: shape (n, K); rows are finite and sum to one. ``sink``: as in ``predict``.

        For a DataFrame of Dask or Spark the answer is lazy: columns ``p_<class>``, computed on its workers.
        """
        if sink is not None:
            return self._write(X, sink, max_memory)
        if cluster_of(X) is not None:
            return self._cluster_answer(X, "predict_proba")
        joint, model = self._joint(X)
        return self._posterior(joint, model.log_prior, model.schema)

    def predict(self, X: Any, *, sink: PathLike | None = None, max_memory: int | str | None = None) -> Any:
        """Return the most probable class of each row. Ties go to the first class.

        For a DataFrame of Dask or Spark the answer is lazy: a Series of Dask with the same index and divisions, or the
        Spark DataFrame with a column ``prediction``.

        Parameters
        ----------
        X : table; with ``sink``, any source that ``fit`` takes
        sink : path, optional
            Write the answers to this file (.csv or .parquet) instead: ``prediction``, then ``p_<class>`` of each class,
            in the order of the rows. Rows are read in batches. A file that exists is replaced when all is written.
        max_memory : int or str, optional
            With ``sink``: what reading files may take, in bytes or as ``"512MB"``.

        Returns
        -------
        array of shape (n,), or with ``sink`` a value with ``rows`` and ``path``
        """
        if sink is not None:
            return self._write(X, sink, max_memory)
        if cluster_of(X) is not None:
            return self._cluster_answer(X, "predict")
        joint, model = self._joint(X)
        return self._labels(model.schema)[self._chosen(joint, model.log_prior, model.schema)]

    def log_evidence(self, X: TableLike) -> Floats:
        """Return log P(x) = log Σ_c P(c, x) of each row: how likely the row itself is."""
        joint, model = self._joint(X)
        if not model.is_distribution:
            raise UsageError(
                "{kind} scores classes without a distribution of rows: it has no P(x).",
                kind=type(self).__name__,
            )
        best = np.maximum(joint.max(axis=1), -1e308)
        with np.errstate(divide="ignore"):
            evidence = best + np.log(np.exp(joint - best[:, None]).sum(axis=1))
        if any(conditional.supports("log_excess") for conditional in model.conditionals):
            evidence -= self._log_excess(X, model)
        return np.asarray(evidence)

    def leave_one_out(
        self,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        target: Name | None = None,
    ) -> Floats:
        """Return the leave-one-out posteriors P(c | x) of training rows: shape (n, K).

        Each row is predicted by the model fitted to all other rows. The result equals n fits, each without
        one row (its whole weight), with schema, cut points, structure, back-off constants and calibration
        kept. But it takes one pass over the rows, not n fits. (Kernel densities and covariances are
        re-estimated for each row.)

        Parameters
        ----------
        X, y, sample_weight, target
            As in ``fit``: all training rows, or some of them. Rows that were not training rows are an error
            if some count would become negative.
        """
        return np.exp(self._left_out(self._source_like(X, y, sample_weight, target))[0])

    def loo_score(
        self,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        criterion: str = "log-loss",
        target: Name | None = None,
    ) -> float:
        """Return the mean leave-one-out loss, weighted by the row weights. Lower is better.

        Parameters
        ----------
        X, y, sample_weight, target
            As in ``fit``.
        criterion : {"log-loss", "error", "rmse", "brier"}, default="log-loss"
            With p the posterior of the true class: the mean of −log p; the share of wrong predictions; the
            root of the mean of (1 − p)²; or the mean squared distance of all posteriors from 0 and 1.
        """
        return mean_loss(*self._left_out(self._source_like(X, y, sample_weight, target)), criterion)

    def sample(
        self, n_samples: int, random_state: Seed = None, given_class: Label | None = None
    ) -> tuple[Any, Any]:
        """Sample rows from the model: (X, y). X is a frame if the model was fitted to one.

        A numeric attribute that the model has cut into intervals is drawn as the label of its interval.
        AnDE(n=2), WeightedNB and AutoBayes define no distribution of rows and raise a UsageError.

        Parameters
        ----------
        n_samples : int
        random_state : int or numpy Generator, optional
        given_class : label, optional
            Draw all rows from this class.
        """
        from bayeskit._classifiers.sample_rows import sample_rows

        model = self._model
        named = "feature_names_in_" in self.__dict__
        rows, codes = sample_rows(model, named, n_samples, generator_of(random_state), given_class)
        return rows, self._labels(model.schema)[codes]

    def explain(
        self,
        row: RowLike,
        *,
        lang: str = "en",
        loss: LossLike = None,
        reject: float | None = None,
        actions: Sequence[Label] | None = None,
    ) -> Explanation:
        """Explain the prediction of one row: the prior, and each attribute's factor with the counts behind
        it.

        If attributes have parents, a factor is P(x | c, parents). For AODE, the explanation shows the
        posterior and the share of each super-parent. Any other model is explained by leaving out one value at
        a time. The posterior shown is the one before ``calibration``; the calibrated posterior follows below
        it.

        Parameters
        ----------
        row : mapping from column to value, list, or a table of one row
        lang : "en" or "zh"
        loss, reject, actions
            As in :func:`bayeskit.decision.decide`. The risk of each action is then shown as well.

        Returns
        -------
        Explanation
            Print it or show it in a notebook. It also has ``to_html``, ``to_latex``, ``to_json`` and
            ``to_dict``.
        """
        from bayeskit._classifiers.explain_rows import explained

        page = explained(self, self._open_row(row), lang)
        plain = loss is None and reject is None and actions is None
        return page if plain else page.with_loss(loss, reject, actions)

    def to_json(self, indent: int | None = None) -> str:
        """Return the fitted model as JSON: its columns, states and tables, and how they are put together.

        The format is described in the guide ("A model leaves Python"). It answers as ``predict_proba`` does.

        Parameters
        ----------
        indent : int, optional
            Spaces for each level; everything stands on one line by default.

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit([["a"], ["b"], ["a"]], ["yes", "no", "yes"])
        >>> model.to_json()[:46]
        '{"format": "bayeskit-formula", "version": 1, "'
        """
        from bayeskit._export.json_tables import json_of

        return json_of(self._scorer("to_json"), indent)

    def to_sql(
        self,
        dialect: str = "duckdb",
        table: str | Sequence[str] = "t",
        key: str | Sequence[str] | None = None,
    ) -> str | SqlScript:
        """Return SQL that predicts the rows of a table: the key, ``prediction``, and ``p_<class>`` of each class.

        Missing values are NULL (or NaN), and unseen values are treated as in Python, as are cut points, class
        weights and ``calibration``. A cell of a block (BernoulliNB, MultinomialNB) that is NULL counts as 0.
        Numbers are held to ±1e100.

        Parameters
        ----------
        dialect : str, default="duckdb"
            "duckdb", "sqlite" (3.35 or later, with its mathematical functions) or "postgres"; any other dialect
            of sqlglot is written, but not tested.
        table : str or list of str
            The table to predict; several names for one in a schema: ``["main", "t"]``.
        key : str or list of str, optional
            Columns of the table to return with each prediction. Without a key, rows come in the order in which
            the database reads the table.

        Returns
        -------
        str or SqlScript
            One SELECT for naive Bayes, SPODE and TAN. For AODE, AnDE and KDB a script: ``tables`` are statements to
            run once, and ``select`` joins the tables that they make.

        Examples
        --------
        >>> import duckdb
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit({"sky": ["red", "blue", "red"]}, ["yes", "no", "yes"])
        >>> select = model.to_sql(table="days", key="day")
        >>> with duckdb.connect() as base:
        ...     _ = base.execute("CREATE TABLE days AS SELECT 1 AS day, 'red' AS sky")
        ...     base.execute(select).fetchall()[0][:2]  # then P(no) and P(yes)
        (1, 'yes')
        """
        from bayeskit._export.sql import sql_of

        return sql_of(self._scorer("to_sql"), dialect, table, key)

    def to_onnx(self) -> Any:
        """Return the fitted model as an ``onnx.ModelProto`` of standard operators on doubles.

        Each column is an input of shape (n, 1): text, or doubles for numbers and truth values. Missing is NaN in a
        column of numbers and "" in a column of text; the model's metadata say so. Unseen values, cut points, class
        weights and ``calibration`` are treated as in Python. The outputs are ``output_label`` of shape (n,) and
        ``output_probability`` of shape (n, K). Write it with ``onnx.save(model.to_onnx(), path)``.

        A row with missing values takes memory for all joint states of its missing parents (KDB), and AODE and AnDE
        for all super-parents: pass large tables in batches.
        """
        from bayeskit._export.onnx_model import onnx_of

        return onnx_of(self._scorer("to_onnx"))

    def _scorer(self, verb: str) -> Scorer:
        from bayeskit._export.scorer import scorer_of

        fitted = self._reader(verb)
        assert fitted.spec is not None
        model = self._model
        return scorer_of(
            type(self).__name__,
            model,
            self._labels(model.schema).tolist(),
            fitted.names,
            fitted.spec.unseen,
            from_held(self._held),
        )

    def _left_out(self, source: Source) -> tuple[Floats, NDArray[np.intp], Floats]:
        """log P(c | x), the class and the weight of rows, each left out of what was counted."""
        require_y(self, source)
        fitted = self._reader("leave_one_out")
        statistics, spec = self.statistics_, fitted.spec
        assert spec is not None
        pieces: list[tuple[Floats, NDArray[np.intp], Floats]] = []
        for rows in source:
            if rows.table.block is not None:
                refuse_sparse(self, source.data)
            encoded = encode_learned(fitted, statistics.schema, rows)
            scores = left_out_joint(statistics, spec, encoded, n_jobs=fitted.n_jobs)
            weights = np.ones(encoded.n_rows) if encoded.weights is None else encoded.weights
            assert encoded.target is not None
            posterior = self._calibrated(log_posterior(*scores), statistics.schema)
            pieces.append((posterior, encoded.target.astype(np.intp), weights))
        if not pieces:
            raise DataError("The source gave no batch, so there is no row to leave out.")
        parts = [np.concatenate(arrays) for arrays in zip(*pieces, strict=True)]
        return parts[0], parts[1], parts[2]

    def _log_excess(self, X: TableLike, model: Model) -> Floats:
        fitted = self._reader("log_evidence")
        assert fitted.spec is not None
        encoded = fitted.encode(self._open(X), model.schema, fitted.spec.unseen)
        return np.concatenate([model.log_excess(chunk) for chunk in encoded.chunks()])

    def _cluster_answer(self, X: TableLike, verb: str) -> Any:
        from bayeskit._classifiers.cluster_answers import cluster_answer

        return cluster_answer(self, X, verb)

    def _joint(self, X: TableLike) -> tuple[Floats, Model]:
        table = self._open(X)
        if self._lazy is not None:
            return self._lazy.joint(table)
        if self._waiting is not None or self._stream is not None:
            count_waiting(self)
        if self._fitted is None:
            raise not_fitted(self)
        if table.block is not None:
            refuse_sparse(self, X)
        return self._fitted.joint(table)

    def _posterior(self, joint: Floats, log_prior: Floats, schema: Schema) -> Floats:
        """Return P(c | x) for log P(c, x), which is overwritten: shape (n, K)."""
        if "calibration" in self._held:
            warn_of_impossible(log_normalise(joint, log_prior))
            return np.exp(self._calibrated(joint, schema))
        warn_of_impossible(normalise(joint, log_prior))
        return joint

    def _chosen(self, joint: Floats, log_prior: Floats, schema: Schema) -> NDArray[np.intp]:
        """Return the codes of the most probable classes for log P(c, x), which may be overwritten."""
        codes = np.empty(len(joint), dtype=np.intp)
        if "calibration" in self._held:
            warn_of_impossible(log_normalise(joint, log_prior))
            choose(self._calibrated(joint, schema), log_prior, codes)
        else:
            warn_of_impossible(choose(joint, log_prior, codes))
        return codes

    def _calibrated(self, log_share: Floats, schema: Schema) -> Floats:
        calibration = from_held(self._held)
        return (
            log_share if calibration is None else calibration.log_posterior(log_share, schema.target.states)
        )

    def _arithmetic(self, table: Table, lang: str) -> Explanation:
        """Return the page of one row, before calibration."""
        from bayeskit._classifiers.explain_rows import arithmetic

        return arithmetic(self, table, lang)

    def _contribution_logs(self, table: Table) -> tuple[tuple[Name, ...], Floats]:
        from bayeskit._classifiers.explain_rows import contribution_logs

        return contribution_logs(self, table)

    def _questions(
        self, row: RowLike, costs: Mapping[Any, float] | None, loss: LossLike, lang: str
    ) -> Questions:
        from bayeskit._classifiers.explain_rows import questions

        return questions(self, row, costs, loss, lang)

    def _strangeness(self, table: Table, n_samples: int, random_state: Seed) -> Novelty:
        from bayeskit._classifiers.explain_rows import novelty_of

        return novelty_of(
            self._model, self._reader("novelty"), table, n_samples, random_state, type(self).__name__
        )

    def _posterior_draws(self, table: Table, draws: Draws) -> Iterator[tuple[Any, Floats]]:
        from bayeskit._classifiers.intervals import posterior_draws

        return posterior_draws(self, table, draws)

    def _nomogram(
        self, label: Label | None, against: Label | None, row: RowLike | None, most: int, lang: str
    ) -> Nomogram:
        from bayeskit._classifiers.picture_data import nomogram_of

        return nomogram_of(self, label, against, row, most, lang)

    def _class_profile(self, attributes: Sequence[Name] | None, most: int, lang: str) -> ClassProfile:
        from bayeskit._classifiers.picture_data import class_profile_of

        return class_profile_of(self, attributes, most, lang)

    def _regions(self, view: RegionSettings) -> Regions:
        from bayeskit._classifiers.picture_data import counted_regions

        return counted_regions(self, view)

    # -- state ---------------------------------------------------------------------------------

    @property
    def schema_(self) -> Schema:
        """The attributes and the class, with their states."""
        return self._require("schema_").schema if self._lazy is None else self._lazy.schema()

    @property
    def held_(self) -> dict[str, Any]:
        """What ``fit`` chose from rows. Later batches change counts only."""
        self._reader("held_")
        return dict(self._held)

    @property
    def statistics_(self) -> Statistics:
        """The raw counts and sums, without smoothing."""
        return self._require("statistics_").statistics if self._lazy is None else self._lazy.statistics()

    @property
    def _model(self) -> Model:
        return self._require("predict").model() if self._lazy is None else self._lazy.full_model()

    def _reader(self, verb: str) -> FittedState:
        """Return what knows how rows are read, counted here or lazily."""
        return self._require(verb) if self._lazy is None else self._lazy.fitted

    def _require(self, verb: str) -> FittedState:
        """Return what was counted, or raise an error that says why there is nothing."""
        if self._lazy is not None:
            raise UsageError(
                "A lazy model has nothing to {verb}: change its source, then call refresh().", verb=verb
            )
        if self._waiting is not None or self._stream is not None:
            count_waiting(self)
        if self._fitted is None:
            raise not_fitted(self)
        return self._fitted

    def _new_fitted(self, target: Variable) -> FittedState:
        return FittedState(
            self._reading(),
            self._spec,
            who=type(self).__name__,
            target=target,
            threshold=self._threshold,
            n_jobs=self.n_jobs,
            wants_hints=self._wants_hints,
        )

    def _adopt(self, fitted: FittedState, y: LabelsLike | None) -> None:
        for name in ("_lazy", "_waiting", "_stream"):
            self.__dict__.pop(name, None)
        self._fitted = fitted
        dtype = getattr(y, "dtype", None)
        self._class_dtype = dtype if isinstance(dtype, np.dtype) else plain_dtype(y)
        self._renew()

    def _renew(self) -> None:
        """Set scikit-learn's attributes that describe the columns."""
        fitted = self._require("fit")
        assert fitted.tally is not None
        schema, names = fitted.tally.statistics.schema, fitted.names
        self.n_features_in_ = schema.n_columns
        if fitted.named and all(isinstance(n, str) for n in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _copy(self) -> Self:
        new: Self = clone(self)
        state = copy(self._require("copy"))
        state.tally = copy(state.tally)
        for name, value in self.__dict__.items():
            if name not in new.__dict__ and name not in ("_waiting", "_stream"):
                new.__dict__[name] = value
        new._fitted = state
        return new

    def _without_rows(self) -> Self:
        """Return a copy that reads rows as this one does and holds what it holds, and has counted none."""
        new = self._copy()
        fitted = new._require("copy")
        fitted.complete(Statistics.zero(fitted.schema, fitted.statistics.plan))
        return new

    def _card(self) -> str:
        from bayeskit._classifiers.notebook import card

        return card(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__ or "_lazy" in self.__dict__ or self._waiting is not None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"


def _some(names: tuple[Name, ...]) -> Joined:
    return listed(map(repr, names), 6)
