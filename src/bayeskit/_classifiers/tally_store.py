"""A model in a directory that counts each batch exactly once and survives a crash at any moment."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Generic, Self

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import check_same_settings
from bayeskit._classifiers.model_files import pack_settings
from bayeskit._classifiers.store_files import (
    LOCK,
    MANIFEST,
    BatchId,
    Change,
    Classifier,
    Replay,
    StoreFiles,
    StoreManifest,
    checked_id,
)
from bayeskit._io.replacing import DiskFiles
from bayeskit._io.saved import as_path
from bayeskit._messages import listed
from bayeskit._report.summary_page import Summary
from bayeskit._schema import Name
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError, DataTypeError, Incompatible, UsageError
from bayeskit.typing import LabelsLike, PathLike, RowSource, WeightsLike


class TallyStore(Generic[Classifier]):
    """A directory with a model that learns in batches and survives crashes.

    Each change of the sums has an id and is counted exactly once, even if the process is killed. If you do not know
    whether a call succeeded, repeat it with the same id: nothing is counted twice. When a method returns, its change
    is on disk and survives a power failure. Readers never wait, and they only see complete changes.

    Parameters
    ----------
    path : str or path
        A directory. If it does not exist and a model is given, it is created.
    model : classifier, optional
        The model to start with, fitted or not: any classifier with ``partial_fit``. For an existing store it is
        optional, but if given it must have the same parameters. It is required if its class is your own.

    Notes
    -----
    The first method that writes locks the store for this object until :meth:`close` or the end of the process. A
    second writer gets a :class:`~bayeskit.errors.UsageError`.

    If the model makes choices from rows (cut points, a structure), it makes them from the first batch and keeps them,
    as in ``partial_fit``. To choose from more rows, start with a fitted model.

    Examples
    --------
    >>> import os, tempfile
    >>> from bayeskit import NaiveBayes, TallyStore
    >>> folder = tempfile.TemporaryDirectory()
    >>> with TallyStore(os.path.join(folder.name, "melons"), NaiveBayes()) as store:
    ...     store.append("monday", [["青绿"], ["乌黑"]], ["坏", "好"])
    ...     store.append("tuesday", [["乌黑"]], ["好"])
    ...     store.append("tuesday", [["乌黑"]], ["好"])
    True
    True
    False
    >>> TallyStore(os.path.join(folder.name, "melons")).model().statistics_.total
    3.0
    >>> folder.cleanup()
    """

    def __init__(self, path: PathLike, model: Classifier | None = None) -> None:
        self.path = as_path(path)
        self._store: StoreFiles[Classifier] = StoreFiles(self.path, DiskFiles())
        self._lock: int | None = None
        self._process = 0
        self._ready = False  # whether self._replay matches the disk
        self._replay: Replay[Classifier] | None = None
        self._mutex = threading.RLock()
        self._store.template = self._open(model)

    # -- changes: atomic, and counted once -------------------------------------------------------

    def append(
        self,
        batch_id: BatchId,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        target: Name | None = None,
        classes: LabelsLike | None = None,
    ) -> bool:
        """Add the rows of a batch, unless a batch with this id was added before.

        Parameters
        ----------
        batch_id : str or int
            An id of your choice, such as a file name or an offset in a log. A batch must always have the same id.
        X, y, sample_weight, target, classes
            As in ``partial_fit``.

        Returns
        -------
        bool
            True if the batch was added, False if it was added before. In both cases it is now on disk.
        """

        from sklearn.base import clone

        def counted(model: Classifier | None) -> Classifier:
            empty: Classifier = clone(self._store.template) if model is None else model._without_rows()
            return empty.partial_fit(X, y, classes, sample_weight, target=target)

        return self._change("append", batch_id, counted)

    def forget(
        self,
        batch_id: BatchId,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        target: Name | None = None,
    ) -> bool:
        """Remove rows that were added before, unless a removal with this id was made before.

        Parameters
        ----------
        batch_id : str or int
            The id of this removal. It must differ from the id of the batch that added the rows.
        X, y, sample_weight, target
            As in ``forget`` of a classifier. Rows that cannot have been added raise a
            :class:`~bayeskit.errors.NotCounted`, and nothing changes.

        Returns
        -------
        bool
            True if the rows were removed, False if they were removed before.
        """

        def counted(model: Classifier | None) -> Classifier:
            if model is None:
                raise self._empty()
            return model._without_rows().partial_fit(X, y, sample_weight=sample_weight, target=target)

        return self._change("forget", batch_id, counted)

    def merge(self, other: TallyStore[Classifier] | Classifier, batch_id: BatchId | None = None) -> bool:
        """Add all rows of another store, or of a fitted model.

        Parameters
        ----------
        other : TallyStore or fitted classifier
            With the same parameters and the same held choices, as in ``merge`` of a classifier.
        batch_id : str or int
            Required for a model. A store has the ids of its own changes.

        Returns
        -------
        bool
            True if the rows were added, False if they were added before. If only some changes of a store were added
            before, an :class:`~bayeskit.errors.Incompatible` is raised.
        """
        if not isinstance(other, TallyStore):
            if batch_id is None:
                raise UsageError(
                    "A model has no id of its own, so it could be added twice. Pass merge(model, batch_id=...)."
                )
            self._check_classifier(other)
            other._require("merge")
            return self._change("merge", batch_id, lambda _: other._copy())
        if batch_id is not None:
            raise UsageError(
                "A store is merged under the ids of its own changes. Leave batch_id={batch_id!r} out.",
                batch_id=batch_id,
            )
        with other._mutex:
            its = other._current()
            brought, model = dict(its.changes), other._known_model(its)
        with self._mutex, self._writing() as replay:
            known = [each for each in brought if each in replay.changes]
            if len(known) == len(brought):
                return False
            if known:
                raise Incompatible(
                    "{path!r} and {other!r} both hold the changes {ids}, which would be counted twice. Merge stores "
                    "that have no change in common.",
                    path=str(self.path),
                    other=str(other.path),
                    ids=listed(map(repr, known), 6),
                )
            self._write(replay, Change("merge", brought, model))
            return True

    def compact(self) -> None:
        """Write all changes so far into one snapshot, and remove their files.

        Opening a store reads its snapshot and every later change, so compact it after some hundreds of changes.
        Predictions stay identical bit for bit, and all ids are kept.
        """
        with self._mutex, self._writing() as replay:
            if replay.number > replay.absorbed and replay.model is not None:
                self._ready = False  # if this fails, the state on disk is unknown
                self._store.put_snapshot(replay.number, replay.model)
                settings = pack_settings(self._store.template)
                self._store.put_manifest(
                    StoreManifest(replay.store, settings, replay.number, True, replay.changes)
                )
                replay.absorbed, self._ready = replay.number, True
                self._store.sweep(replay.absorbed)

    def close(self) -> None:
        """Release the lock, so that others can write. Reading still works, and writing locks the store again."""
        with self._mutex:
            handle, self._lock, self._ready = self._lock, None, False
            if handle is not None:
                self._store.files.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- results -------------------------------------------------------------------------------

    def model(self) -> Classifier:
        """Return a copy of the model of all changes that are in the store now."""
        with self._mutex:
            known: Classifier = self._known_model(self._current())._copy()
        return known

    def statistics(self) -> Statistics:
        """Return the raw counts and sums of all changes that are in the store now."""
        with self._mutex:
            return self._known_model(self._current()).statistics_

    def summary(self, *, lang: str = "en") -> Summary:
        """Return a page about the model of all batches; see :meth:`NaiveBayes.summary`."""
        return self.model().summary(lang=lang)

    @property
    def batch_ids(self) -> tuple[BatchId, ...]:
        """The ids of all changes, in the order in which they were made.

        If the store was created with a fitted model, the id of that model's rows begins with "start".
        """
        with self._mutex:
            return tuple(self._current().changes)

    def __repr__(self) -> str:
        return f"TallyStore({str(self.path)!r}, {type(self._store.template).__name__})"

    # -- opening -------------------------------------------------------------------------------

    def _open(self, model: Classifier | None) -> Classifier:
        """Return the unfitted classifier of the store. Create the store if it does not exist."""
        self._check_classifier(model)
        data = self._store.manifest_bytes()
        if data is None:
            if model is None:
                raise DataError(
                    "There is no store at {path!r}. Check the path, or pass a model to create one: "
                    "TallyStore(path, NaiveBayes()).",
                    path=str(self.path),
                )
            from sklearn.base import clone

            self._create(model)
            unfitted: Classifier = clone(model)
            return unfitted
        template: Classifier = self._store.read_template(self._store.parsed_manifest(data), model)
        if model is not None:
            check_same_settings(template, model)
        return template

    def _check_classifier(self, model: object) -> None:
        if model is not None and not isinstance(model, CountClassifier):
            raise DataTypeError(
                "A store keeps a classifier with partial_fit, not {kind}. Pass NaiveBayes(), TAN() or another of "
                "their kind.",
                kind=type(model).__name__,
            )

    def _create(self, model: Classifier) -> None:
        self._store.files.make_directory(self.path)
        self._acquire()
        try:
            if self._store.manifest_bytes() is not None:
                raise UsageError(
                    "{path!r} was created by another process just now. Open it again.", path=str(self.path)
                )
            strange = self._store.strangers()
            if strange:
                raise DataError(
                    "{path!r} is a directory with other files ({names}), not a store. Give a directory that is "
                    "empty or does not exist.",
                    path=str(self.path),
                    names=listed(map(repr, strange), 4),
                )
            settings, fitted = pack_settings(model), model.__sklearn_is_fitted__()
            self._store.files.sync_directory(self.path.absolute().parent)
            if fitted:
                self._store.put_snapshot(0, model)
            store = secrets.token_hex(8)
            # The rows of a fitted model are a change with an id, so that merging this store twice counts them once.
            changes: dict[BatchId, str] = {f"start {store}": "append"} if fitted else {}
            self._store.put_manifest(StoreManifest(store, settings, 0, fitted, changes))
        except BaseException:
            self.close()
            raise

    # -- writing -------------------------------------------------------------------------------

    def _change(
        self, verb: str, batch_id: BatchId, counted: Callable[[Classifier | None], Classifier]
    ) -> bool:
        """Count rows and write them as one change, unless its id is known."""
        known_id = checked_id(batch_id)
        with self._mutex, self._writing() as replay:
            before = replay.changes.get(known_id)
            if before == verb:
                return False
            if before is not None:
                raise UsageError(
                    "{batch_id!r} is the id of another change in {path!r}, made by {before}. Give this one an id of "
                    "its own.",
                    batch_id=known_id,
                    path=str(self.path),
                    before=before,
                )
            self._write(replay, Change(verb, {known_id: verb}, counted(replay.model)))
            return True

    def _write(self, replay: Replay[Classifier], change: Change[Classifier]) -> None:
        # Check that the change can be added before anything is written.
        check_same_settings(self._store.template, change.rows)
        model = replay.after(change)
        data = self._store.packed(replay, change)
        self._ready = False  # if this fails, the state on disk is unknown
        self._store.put_segment(replay.number + 1, data)
        replay.step(change, model)
        self._ready = True

    @contextmanager
    def _writing(self) -> Iterator[Replay[Classifier]]:
        """Hold the lock, and yield the state on disk."""
        if self._lock is not None and self._process != os.getpid():
            raise UsageError(
                "{path!r} was opened for writing before this process was forked. Open it again here, after it was "
                "closed there.",
                path=str(self.path),
            )
        held = self._lock is not None
        if not held:
            self._acquire()
        try:
            if not self._ready:
                # A file may have been renamed just before a crash. Sync first, so that every id reported as known
                # survives a power failure.
                self._store.files.sync_directory(self.path)
                self._store.sweep(self._refreshed().absorbed)
                self._ready = True
        except BaseException:
            if not held:
                self.close()
            raise
        assert self._replay is not None
        yield self._replay

    def _acquire(self) -> None:
        try:
            self._lock = self._store.files.lock(self.path / LOCK)
        except BlockingIOError:
            raise UsageError(
                "{path!r} has a writer already. Wait until it is closed, or its process has ended. Reading works "
                "meanwhile.",
                path=str(self.path),
            ) from None
        self._process = os.getpid()

    # -- reading -------------------------------------------------------------------------------

    def _current(self) -> Replay[Classifier]:
        """Return the current sums: those of this writer, or else those on disk."""
        if self._ready and self._lock is not None and self._process == os.getpid():
            assert self._replay is not None
            return self._replay
        return self._refreshed()

    def _refreshed(self) -> Replay[Classifier]:
        self._replay = self._store.read(self._replay)
        return self._replay

    def _known_model(self, replay: Replay[Classifier]) -> Classifier:
        if replay.model is None:
            raise self._empty()
        return replay.model

    def _empty(self) -> UsageError:
        return UsageError("{path!r} holds no rows yet. Append a first batch.", path=str(self.path))


def is_store(path: PathLike) -> bool:
    """Whether a path is the directory of a store."""
    return (as_path(path) / MANIFEST).is_file()
