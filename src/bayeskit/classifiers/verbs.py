"""The verbs of learning: fit, partial_fit, forget, fade, merge, lazy, save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from bayeskit.classifiers.doors import (
    announced,
    check_announced,
    dtype_of_target,
    same,
)
from bayeskit.classifiers.semi_supervision import SemiSupervision
from bayeskit.counting.backend import backend_of
from bayeskit.data.encoded import Encoded
from bayeskit.data.source import Source
from bayeskit.errors import Incompatible, NeedsRows, UsageError
from bayeskit.learning.calibration import calibrate, check_method
from bayeskit.learning.fitted import Fitted
from bayeskit.learning.lazy import Lazy, Refresh
from bayeskit.schema import Name, Variable


class Learning(SemiSupervision):
    """Every way to change what a classifier has learned. Each is all or nothing and returns the classifier."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: Name | None = None,
        columns: Sequence[Name] | None = None,
        exclude: Sequence[Name] | None = None,
        encoding: str | None = None,
    ) -> Self:
        """Learn from all rows of a source, forgetting what was learned before.

        Parameters
        ----------
        X : array, frame, sparse matrix, iterator of batches, :class:`bayeskit.Batches`, path, or DuckDB relation
            A batch is (X, y), (X, y, weights), or rows that hold the target column. A relation is counted by DuckDB
            where it is, without reading rows: nothing may have to be chosen from rows.
        y : array of shape (n,), optional
            The class of each row; or give ``target``. With ``semi_supervised=True`` some may be missing: None, NaN, or
            −1 among whole numbers.
        sample_weight : array of shape (n,), number or column name, optional
            A row of weight 0 is absent: it makes no class, no state and no floor.
        target : column name, optional
            The column of X that holds the class.
        columns, exclude : column names, optional
            The attributes to use, or to leave out.
        encoding : str, optional
            Of a text file; found by itself for UTF-8, UTF-16 and GB18030.
        """
        self._check_settings()
        self._refuse_sparse(X)
        source = Source(X, y, sample_weight, target, columns, exclude, encoding, once=True)
        self._say_y_is_needed(source)
        elsewhere = self._counted_elsewhere(source)
        labelled, unlabelled = self._parted(source)
        with self._numbering(source), self._holding(labelled):
            fitted = self._new_fitted(Variable("y" if target is None else target, "categorical"))
            kept: list[Encoded] | None = None if unlabelled is None else []
            fitted.absorb(labelled, kept)
            fitted.check_classes()
            if kept is not None and unlabelled is not None:
                self._complete(fitted, kept, unlabelled)
            self._calibrate(labelled, fitted)
            labels = y if y is not None or elsewhere else dtype_of_target(X, target)
            self._adopt(fitted, self._label_source(labels))
        return self

    def _counted_elsewhere(self, source: Source) -> bool:
        """Tell whether a source is counted where it is; what must be chosen from rows is then refused."""
        if backend_of(source) is None:
            return False
        for choice in self._row_choices():
            raise NeedsRows(choice.setting, source.data, choice.way_out)
        return True

    @contextmanager
    def _holding(self, source: Source) -> Iterator[None]:
        """Hold what these rows choose; what was held before comes back if learning from them fails."""
        before = self._held
        method = getattr(self, "calibration", None)
        check_method(method)
        if method is not None:
            source.need_many_passes(f"{type(self).__name__}(calibration={method!r})")
        try:
            self._held = {}
            self._held = self._choose(source)
            yield
        except BaseException:
            self._held = before
            raise

    def _calibrate(self, source: Source, fitted: Fitted) -> None:
        """Hold how posteriors are to be corrected, judged by the rows just counted, each left out."""
        method = getattr(self, "calibration", None)
        if method is not None:
            self._held = {**self._held, "calibration": calibrate(fitted, source, method).plain()}

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        target: Name | None = None,
    ) -> Self:
        """Add rows to what was learned before.

        Without ``classes`` a class never seen before enlarges the model; with ``classes`` (needed only
        at the first call) any other label is refused. After a semi-supervised ``fit`` the expected counts of its
        unlabelled rows stay as they are; rows without a label are refused here.
        """
        if self._lazy_state() is not None:
            raise UsageError(
                "A lazy model counts its source itself. Add the rows to the source, then call refresh()."
            )
        self._refuse_sparse(X)
        source = self._all_labelled(Source(X, y, sample_weight, target))
        self._say_y_is_needed(source)
        fitted = self._fitted_or_none()
        if fitted is None:
            self._check_settings()
            self._counted_elsewhere(source)
            with self._holding(source):
                fitted = self._new_fitted(announced(classes, "y" if target is None else target))
                fitted.absorb(source)
                self._calibrate(source, fitted)
                self._adopt(fitted, classes if classes is not None else y)
        else:
            check_announced(classes, fitted)
            fitted.absorb(source)
            self._renew()
        return self

    def relearn(self, X: Any, y: Any = None, sample_weight: Any = None, **source: Any) -> Self:
        """Choose anew, from these rows, what is held (cut points, structure, weights), and learn from them.

        The same as ``fit``: what later batches do not change is decided again.
        """
        return self.fit(X, y, sample_weight, **source)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: Name | None = None) -> Self:
        """Take rows away that were learned before: the model is then that of the other rows.

        Where some cell would hold less than nothing the rows cannot have been counted: that is refused,
        and nothing is changed. (Sums do not remember rows, so a wrong row all of whose cells hold enough
        is not noticed.)
        """
        fitted = self._require("forget")
        fitted.forget(Source(X, y, sample_weight, target))
        self._renew()
        return self

    def fade(self, factor: float) -> Self:
        """Multiply the weight of everything learned so far by a factor: what comes next counts for more."""
        self._require("fade").fade(factor)
        return self

    def merge(self, other: Self) -> Self:
        """Add what another model of the same parameters has learned."""
        fitted = self._require("merge")
        if type(other) is not type(self):
            raise Incompatible(f"A {type(self).__name__} cannot take in a {type(other).__name__}.")
        mine, its = self.get_params(deep=False), other.get_params(deep=False)
        for name in {**mine, **its}:
            if name != "n_jobs" and not same(mine.get(name), its.get(name)):
                raise Incompatible(
                    f"The two models were made with different {name}: {mine.get(name)!r} and {its.get(name)!r}."
                )
        its_fitted = other._require("merge")
        other_names = fitted.named and its_fitted.named and fitted.names != its_fitted.names
        if other_names or self.n_features_in_ != other.n_features_in_:
            raise Incompatible(
                "The two models were learned from different columns: "
                f"{_some(fitted.names)} and {_some(its_fitted.names)}."
            )
        mine, its = ({k: v for k, v in m.held_.items() if k not in self._told} for m in (self, other))
        for key in {**mine, **its}:
            if mine.get(key) != its.get(key):
                raise Incompatible(
                    f"The two models hold different {key.replace('_', ' ')}, chosen from different rows: "
                    f"{_short(mine.get(key))} and {_short(its.get(key))}. Fit one, and let the other take over what it "
                    "holds (cut_points=, structure=, …), or learn from the rows of both."
                )
        fitted.merge(its_fitted)
        self._renew()
        return self

    def __add__(self, other: Self) -> Self:
        return self._copy().merge(other)

    def lazy(
        self,
        source: Any,
        target: Any,
        *,
        sample_weight: Any = None,
        columns: Sequence[Name] | None = None,
        exclude: Sequence[Name] | None = None,
        encoding: str | None = None,
        refresh: Refresh = "manual",
        cache_bytes: int = 2**26,
    ) -> Self:
        """Answer from a source directly: nothing is counted until a prediction asks for it.

        What must be chosen from rows (cut points, a structure, a calibration) is chosen now, and held.

        Parameters
        ----------
        source : frame, array, :class:`bayeskit.Batches` or path
        target : column name, or the labels themselves
        sample_weight, columns, exclude, encoding
            As in ``fit``.
        refresh : "manual", "always" or seconds
            When to drop the counts remembered: at ``refresh()``, before every prediction, or after so
            many seconds.
        cache_bytes : int
            How much of the counts to remember.
        """
        self._check_settings()
        if self.semi_supervised:
            raise UsageError(
                "A lazy model counts only what a question needs, and unlabelled rows are gone over many times. Use "
                "fit, or semi_supervised=False."
            )
        self._refuse_sparse(source)
        named = isinstance(target, str)
        y, column = (None, target) if named else (target, None)
        opened = Source(source, y, sample_weight, column, columns, exclude, encoding)
        opened.need_many_passes("A lazy model")
        self._counted_elsewhere(opened)
        variable = Variable(target if named else "y", "categorical")
        with self._holding(opened):
            if getattr(self, "calibration", None) is not None:
                judged = self._new_fitted(variable)
                judged.absorb(opened)
                self._calibrate(opened, judged)
        fitted = self._new_fitted(variable)
        for name in ("_fitted", "feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        self._lazy = Lazy(opened, fitted, refresh, cache_bytes)
        self._class_dtype = None if named else getattr(np.asarray(target), "dtype", None)
        return self

    def refresh(self) -> Self:
        """Drop the counts that a lazy model remembers."""
        lazy = self._lazy_state()
        if lazy is None:
            raise UsageError("Only a lazy model can be refreshed; this one was fitted.")
        lazy.drop()
        return self

    def save(self, path: Any) -> None:
        """Write the model to one file: data, never code. Read it with :func:`bayeskit.load`."""
        from bayeskit.classifiers.saving import save_model

        save_model(self, path)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"


def _some(names: tuple[Name, ...]) -> str:
    return ", ".join(map(repr, names[:6])) + (", …" if len(names) > 6 else "")
