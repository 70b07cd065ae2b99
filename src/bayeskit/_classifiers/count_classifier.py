"""The scikit-learn interface shared by all classifiers that are estimated from counts.

Learning is here. What a model answers is in ``answer_rows``, how it becomes lazy in ``learn_rows``, and how it leaves
its process in ``model_exports``: functions that become methods. ``streams`` learns from single rows. What a model tells
of itself is in the base class, ``base_classifier``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._classifiers import answer_rows, learn_rows, model_exports
from bayeskit._classifiers.base_classifier import BaseClassifier
from bayeskit._classifiers.input_checks import (
    check_announced,
    mergeable,
    not_fitted,
    plain_dtype,
    refuse_lazy,
    refuse_sparse,
    require_y,
)
from bayeskit._classifiers.learn_rows import count_for, fit_first, fit_source, learn
from bayeskit._classifiers.streams import (
    WaitingRows,
    count_waiting,
    learn_one,
    predict_one,
    predict_proba_one,
    take_away,
)
from bayeskit._data.encoded import Chunk
from bayeskit._data.file_options import MarksLike
from bayeskit._data.reading import Reading
from bayeskit._data.source import ModelOrigin, Source, memory_in_bytes, thread_count
from bayeskit._data.table import open_attributes
from bayeskit._fitting.calibration import check_method, from_held
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.leave_one_out import LeaveOneOut, log_posterior
from bayeskit._fitting.long_runs import never
from bayeskit._fitting.model import Model, ModelSpec, RowChoice
from bayeskit._fitting.row_stream import RowStream
from bayeskit._schema import Label, Name, Schema, Variable
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import UsageError
from bayeskit.typing import Floats, LabelsLike, RowSource, WeightsLike

if TYPE_CHECKING:
    from bayeskit._data.file_reading import FileReading


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
    _wants_hints = False
    # Whether ``_choose_by_counts`` chooses anything.
    _chooses_by_counts = False
    # Whether a stack is to choose a temperature for its answers; not where they were fitted by log-loss already.
    _is_tempered = True
    _fitted: FittedState | None = None
    # Rows of a stream that were learned and are counted before the next question: as they came, and coded.
    _waiting: WaitingRows | None = None
    _stream: RowStream | None = None
    # What was learned last, and when.
    _learned: ModelOrigin | None = None
    calibration: str | None = None
    n_jobs: int | None = None
    # Whether it learns the words of free text.
    _reads_texts = False
    reading_: FileReading | None = None
    """How the file was read that the model was fitted to; None if it was fitted to other rows."""

    # Functions over a classifier that become methods.
    predict = answer_rows.predict
    predict_proba = answer_rows.predict_proba
    predict_log_proba = answer_rows.predict_log_proba
    predict_joint_log_proba = answer_rows.predict_joint_log_proba
    log_evidence = answer_rows.log_evidence
    leave_one_out = answer_rows.leave_one_out
    loo_score = answer_rows.loo_score
    sample = answer_rows.sample
    lazy = learn_rows.lazy
    refresh = learn_rows.refresh
    save = model_exports.save
    summary = model_exports.summary
    explore = model_exports.explore
    _explored = model_exports.explored
    to_json = model_exports.to_json
    to_sql = model_exports.to_sql
    to_onnx = model_exports.to_onnx
    to_river = model_exports.to_river

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

    _open = staticmethod(open_attributes)

    def _source(self, X: RowSource, *given: Any, max_memory: int | str | None = None, **more: Any) -> Source:
        """Return the rows that a verb was given; what is in memory is opened as this classifier opens rows."""
        limits = {"threads": thread_count(self.n_jobs), "max_memory": memory_in_bytes(max_memory)}
        return Source.given(X, *given, opener=self._open, **{**limits, **more})

    def _source_like(self, *given: Any) -> Source:
        """Return rows that are added or taken away; a file is read as the one that the model has learned."""
        source = self._source(*given)
        return source if self.reading_ is None else source.with_options(reading=self.reading_)

    def _count(
        self, source: Source, spec: Callable[[Schema], ModelSpec], reading: Reading | None = None
    ) -> FittedState:
        """Count a source for another spec than the classifier's own, to choose from."""
        return count_for(self, source, spec, reading)

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
            from bayeskit._classifiers.semi_supervision import check_unlabelled

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
        progress: bool = False,
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
        progress : bool
            Show on standard error how far each pass over files or batches has come: rows, rows per second, and the
            time left. Passes of less than a second show nothing.
        """
        self._check_settings()
        refuse_sparse(self, X)
        source = self._source(
            X, y, sample_weight, target, columns, exclude, encoding, once=True, separator=separator,
            missing=missing, max_memory=max_memory, quick=True, progress=bool(progress),
        )  # fmt: skip
        require_y(self, source)
        learn(self, source, partial(fit_source, self), keep)
        return self

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
        refuse_lazy(self)
        refuse_sparse(self, X)
        source = self._source_like(X, y, sample_weight, target).with_options(quick=True)
        if self.semi_supervised:
            from bayeskit._classifiers.semi_supervision import all_labelled

            source = all_labelled(self, source)
        require_y(self, source)
        if self._waiting is not None or self._stream is not None:
            count_waiting(self)
        fitted = self._fitted
        if fitted is None:
            self._check_settings()
            learn(self, source, partial(fit_first, self, classes=classes), keep=())
            return self
        check_announced(classes, fitted)
        learn(self, source, fitted.absorb)
        self._learned = source.learned_now()
        self._renew()
        return self

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
        """Add one row of a stream. Rows are counted together, before the next prediction.

        What ``partial_fit`` keeps (cut points, a structure) is chosen from the rows before the first prediction. So
        predict late, or call ``fit`` first.

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
        refuse_lazy(self)
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

    def fade(self, factor: float) -> Self:
        """Multiply the weight of all training rows so far by a factor, so that newer rows count for more."""
        self._require("fade").fade(factor)
        return self

    def merge(self, other: Self) -> Self:
        """Add the training rows of another model with the same parameters."""
        fitted, its_fitted = mergeable(self, other)
        fitted.merge(its_fitted)
        self._renew()
        return self

    def _subtract(self, other: Self) -> Self:
        """Take the training rows of another model away: the inverse of ``merge``."""
        fitted, its_fitted = mergeable(self, other)
        fitted.subtract(its_fitted)
        self._renew()
        return self

    def __add__(self, other: Self) -> Self:
        return self._copy().merge(other)

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

    def _calibrated(self, log_share: Floats, schema: Schema) -> Floats:
        calibration = from_held(self._held)
        return (
            log_share if calibration is None else calibration.log_posterior(log_share, schema.target.states)
        )

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
        from sklearn.base import clone

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

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__ or "_lazy" in self.__dict__ or self._waiting is not None
