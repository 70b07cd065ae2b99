"""How a classifier learns from a source: it is screened, what rows choose is chosen and held, and then it is counted.

``fit`` and ``partial_fit`` are these functions; ``lazy`` and ``refresh`` become methods. Learning is all or nothing: if
it fails, the model is as it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bayeskit._classifiers.input_checks import announced, dtype_of_target, refuse_sparse
from bayeskit._counting.backend import backend_of
from bayeskit._counting.backend_protocol import Backend
from bayeskit._data.database_url import DatabaseTable, names_database
from bayeskit._data.encoded import EncodedTable
from bayeskit._data.file_options import MarksLike
from bayeskit._data.formats import Unsure
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source
from bayeskit._fitting.calibration import calibrate
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.lazy_state import LazyState, Refresh
from bayeskit._fitting.model import ModelSpec
from bayeskit._schema import Name, Schema
from bayeskit.errors import BayeskitError, NeedsRows, UsageError
from bayeskit.typing import LabelsLike, RowSource, WeightsLike

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier

Classifier = TypeVar("Classifier", bound="CountClassifier")


def learn(
    model: CountClassifier,
    source: Source,
    learn_from: Callable[[Source], None],
    keep: Sequence[Name] | None = None,
) -> None:
    """Learn from a source; with ``keep``, a file is screened first, and only the columns to use are read.

    A file that was read quickly, and is not as its first rows promise, is read again with care: that says what is
    wrong, if anything is.
    """
    keep = (keep,) if isinstance(keep, str) else keep
    while True:
        # What is found is told as a warning to whoever called the verb, so many calls above.
        used = source.examined(keep, model._reads_texts) if keep is not None and source.in_files else source
        try:
            if used.in_files:
                used.refuse_measurements()
            learn_from(used)
        except (BayeskitError, Unsure):
            if used.sure or not source.options.quick:
                raise
        else:
            return
        source = source.surveyed()


def fit_source(model: CountClassifier, source: Source) -> None:
    """Fit a model to a source, discarding any earlier fit."""
    if model.semi_supervised:  # EM and self-training are imported for those who use them
        from bayeskit._classifiers.semi_supervision import complete, label_source, numbering, parted
    backend = backend_of(source)
    target = source.class_variable
    rows = _rows_for_choices(model, source, backend)
    labelled, unlabelled = parted(model, source) if model.semi_supervised else (source, None)
    rows = labelled if model.semi_supervised else rows
    with numbering(model, source) if model.semi_supervised else nullcontext(), holding(model, rows):
        fitted = model._new_fitted(target)
        kept: list[EncodedTable] | None = None if unlabelled is None else []
        fitted.absorb(labelled, kept, read_here=backend is None)
        fitted.check_classes()
        _hold_by_counts(model, rows, fitted)
        if kept is not None and unlabelled is not None:
            model._held = {**model._held, "completion": complete(model, fitted, kept, unlabelled)}
        _hold_calibration(model, rows, fitted)
        _hold_sample_note(model, rows)
        known = source.y is not None or backend is not None
        labels = source.y if known else dtype_of_target(source.data, source.target)
        model._adopt(fitted, label_source(labels) if model.semi_supervised else labels)
    model.reading_ = source.reading
    model._learned = source.learned_now()


def fit_first(model: CountClassifier, source: Source, classes: LabelsLike | None) -> None:
    """Begin a model with the first of several sources."""
    rows = _rows_for_choices(model, source, backend_of(source))
    with holding(model, rows):
        fitted = model._new_fitted(announced(classes, source.class_name))
        fitted.absorb(source)
        _hold_by_counts(model, rows, fitted)
        _hold_calibration(model, rows, fitted)
        _hold_sample_note(model, rows)
        model._adopt(fitted, classes if classes is not None else source.y)
    model.reading_ = source.reading
    model._learned = source.learned_now()


def follow_source(model: CountClassifier, source: Source, refresh: Refresh, max_memory: int) -> None:
    """Make a model lazy: what rows choose is chosen now, and everything else is counted when it is asked for."""
    rows = _rows_for_choices(model, source, backend_of(source))
    target = source.class_variable
    with holding(model, rows):
        if model.calibration is not None or model._chooses_by_counts:
            judged = model._new_fitted(target)
            judged.absorb(source)
            _hold_by_counts(model, rows, judged)
            _hold_calibration(model, rows, judged)
        _hold_sample_note(model, rows)
    fitted = model._new_fitted(target)
    fitted.aside = source.aside
    for name in ("_fitted", "_waiting", "_stream", "feature_names_in_", "n_features_in_"):
        model.__dict__.pop(name, None)
    model._lazy = LazyState(source, fitted, refresh, max_memory)
    model.reading_ = source.reading
    model._learned = source.learned_now()
    model._class_dtype = None if source.y is None else np.asarray(source.y).dtype


def lazy(
    self: Classifier,
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
) -> Classifier:
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
            "A lazy model counts only what a prediction needs, but learning from unlabelled rows needs many "
            "passes. Use fit, or semi_supervised=False."
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
    learn(self, opened, partial(follow_source, self, refresh=refresh, max_memory=max_memory), keep)
    return self


def refresh(self: Classifier) -> Classifier:
    """Discard the cached counts of a lazy model."""
    if self._lazy is None:
        raise UsageError("Only a lazy model can be refreshed; this one was fitted.")
    self._lazy.drop()
    return self


def count_for(
    model: CountClassifier,
    source: Source,
    spec: Callable[[Schema], ModelSpec],
    reading: Reading | None = None,
) -> FittedState:
    """Count a source for another spec than the model's, to choose from; read as the model reads it, or otherwise."""
    trial = FittedState(
        model._reading() if reading is None else reading,
        spec,
        who=type(model).__name__,
        target=source.class_variable,
        warns=False,
        n_jobs=model.n_jobs,
    )
    trial.absorb(source)
    return trial


def _rows_for_choices(model: CountClassifier, source: Source, backend: Backend | None) -> Source:
    """Return what choices are made from: the source itself, or a sample of one on a cluster.

    A source of which no rows can be read is returned, too; what must be chosen from rows is then refused.
    """
    rows = source if backend is None else backend.sample(source)
    if rows is not None:
        return rows
    for choice in model._row_choices():
        raise NeedsRows(choice.setting, source.passed, choice.way_out)
    return source


@contextmanager
def holding(model: CountClassifier, source: Source) -> Iterator[None]:
    """Hold what these rows choose; what was held before comes back if learning from them fails."""
    before = model._held
    method = model.calibration
    if method is not None:
        source.need_many_passes(f"{type(model).__name__}(calibration={method!r})")
    try:
        model._held = {}
        model._held = model._choose(source)
        yield
    except BaseException:
        model._held = before
        raise


def _hold_by_counts(model: CountClassifier, source: Source, fitted: FittedState) -> None:
    """Hold what rows and counts choose together."""
    if model._chooses_by_counts:
        model._held = {**model._held, **model._choose_by_counts(source, fitted)}
        fitted.specify()


def _hold_calibration(model: CountClassifier, source: Source, fitted: FittedState) -> None:
    """Hold the calibration of posteriors, fitted to the leave-one-out predictions of the rows just counted."""
    method = model.calibration
    if method is not None:
        model._held = {**model._held, "calibration": calibrate(fitted, source, method).plain()}


def _hold_sample_note(model: CountClassifier, rows: Source) -> None:
    """Hold how many rows choices were made from, where these were not all."""
    if rows.in_partitions and rows.sample_note is not None:
        model._held = {**model._held, "chosen_from": rows.sample_note}
