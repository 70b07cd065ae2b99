"""What a classifier carries: how it reads, what it has counted, what it can tell of that."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

from bayeskit.classifiers.doors import (
    plain_dtype,
)
from bayeskit.classifiers.notebook import Notebook
from bayeskit.data.columns import objects
from bayeskit.data.reading import Reading
from bayeskit.data.source import Source
from bayeskit.errors import DataError, DataTypeError, UsageError
from bayeskit.learning.calibration import check_method
from bayeskit.learning.fitted import Fitted
from bayeskit.learning.lazy import Lazy
from bayeskit.learning.model import Model
from bayeskit.learning.recipe import Recipe, RowChoice
from bayeskit.schema import Schema, Variable
from bayeskit.statistics import Statistics

Floats = NDArray[np.float64]


class State(Notebook, ClassifierMixin, BaseEstimator):
    """The hooks a classifier fills in, and the state that its verbs and answers share."""

    _threshold: float | None = None
    _accepts_sparse = True
    _held: Mapping[str, Any] = {}
    # What ``_choose`` always chooses: a saved model that does not hold it is none.
    _holds: frozenset[str] = frozenset()
    _wants_hints = False

    def _reading(self) -> Reading:
        return Reading()

    def _recipe(self, schema: Schema) -> Recipe:
        return Recipe()

    # What is held to be told, not to be used: models that differ in it alone can be merged.
    _told = frozenset({"losses", "scores", "completion"})

    def _choose(self, source: Source) -> dict[str, Any]:
        """Choose from rows what no statistic decides; it is then held."""
        return {}

    def _row_choices(self) -> list[RowChoice]:
        """Say which choices these settings leave to rows; counts alone cannot make them."""
        method = getattr(self, "calibration", None)
        if method is None:
            return []
        return [RowChoice(f"calibration={method!r}", "Leave calibration out.")]

    def _check_settings(self) -> None:
        """Refuse parameters that mean nothing, before any row is looked at."""
        check_method(getattr(self, "calibration", None))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of ``predict_proba``."""
        return self._labels(self.schema_)

    @property
    def schema_(self) -> Schema:
        """The attributes and the class, with their states."""
        lazy = self._lazy_state()
        return lazy.schema() if lazy is not None else self._require("schema_").schema

    @property
    def held_(self) -> dict[str, Any]:
        """What needed rows to be chosen: ``fit`` chose it, and later batches change counts only."""
        if self._lazy_state() is None:
            self._require("held_")
        return dict(self._held)

    @property
    def statistics_(self) -> Statistics:
        """The raw counts and sums; no smoothing is in them."""
        lazy = self._lazy_state()
        return lazy.statistics() if lazy is not None else self._require("statistics_").statistics

    @property
    def _model(self) -> Model:
        lazy = self._lazy_state()
        return lazy.full_model() if lazy is not None else self._require("predict").model()

    def _labels(self, schema: Schema) -> NDArray[Any]:
        states = schema.target.states
        dtype = self.__dict__.get("_class_dtype")
        if any(isinstance(state, tuple) for state in states):
            return objects(states)  # NumPy would take each for a row
        if dtype is None:
            dtype = np.asarray(list(states)).dtype
            if len({type(s) for s in states}) > 1:
                dtype = np.dtype(object)
        if dtype.kind in "US":
            dtype = None
        elif dtype.kind not in "iufb":
            return objects(states)
        return np.array(states, dtype=dtype)

    def _new_fitted(self, target: Variable) -> Fitted:
        return Fitted(
            self._reading(),
            self._recipe,
            who=type(self).__name__,
            target=target,
            threshold=self._threshold,
            n_jobs=getattr(self, "n_jobs", None),
            wants_hints=self._wants_hints,
        )

    def _adopt(self, fitted: Fitted, y: Any) -> None:
        self.__dict__.pop("_lazy", None)
        self._fitted = fitted
        dtype = getattr(y, "dtype", None)
        self._class_dtype = dtype if isinstance(dtype, np.dtype) else plain_dtype(y)
        self._renew()

    def _renew(self) -> None:
        schema = self._fitted.schema
        self.n_features_in_ = len(schema.attributes) if schema.block is None else schema.block.width
        names = self._fitted.names
        if self._fitted.named and all(isinstance(n, str) for n in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _fitted_or_none(self) -> Fitted | None:
        return self.__dict__.get("_fitted")

    def _lazy_state(self) -> Lazy | None:
        return self.__dict__.get("_lazy")

    def _require(self, verb: str) -> Fitted:
        fitted = self._fitted_or_none()
        if fitted is None:
            if self._lazy_state() is not None:
                raise UsageError(
                    f"A lazy model has nothing to {verb}: change its source, then call refresh()."
                )
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )
        return fitted

    def _copy(self) -> Self:
        new: Self = clone(self)
        state = copy(self._require("copy"))
        state.tally = copy(state.tally)
        for name, value in self.__dict__.items():
            if name not in new.__dict__:
                new.__dict__[name] = value
        new._fitted = state
        return new

    def _refuse_sparse(self, X: Any) -> None:
        if not self._accepts_sparse and hasattr(X, "tocsr"):
            raise DataTypeError(
                f"Sparse data was passed for X, but {type(self).__name__} needs dense data. Use X.toarray(), or "
                "MultinomialNB for counts of words."
            )

    def _say_y_is_needed(self, source: Source) -> None:
        if source.in_memory and source.y is None and source.target is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Pass y, or name the "
                'class column with target="...".'
            )

    def _card(self) -> str:
        from bayeskit.classifiers.card import card

        return card(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__ or "_lazy" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
