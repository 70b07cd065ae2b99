"""A classifier as River has them. River is imported when the class is first asked for: it is an extra."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from sklearn.base import clone

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.naive_bayes import NaiveBayes
from bayeskit.errors import UsageError


def __getattr__(name: str) -> Any:
    # Pickles look the class up here, by its name.
    if name == "RiverClassifier":
        return river_classifier()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def river_classifier() -> Any:
    """Return the class whose instances are classifiers of River."""
    try:
        from river import base
    except ImportError as error:
        raise UsageError(
            "River is not installed ({error}). Install it: pip install bayeskit[river].", error=error
        ) from error

    class RiverClassifier(base.Classifier):
        """A classifier of bayeskit in pipelines and evaluations of River.

        Before the first row ``predict_one`` returns None and ``predict_proba_one`` an empty dictionary.

        Parameters
        ----------
        model
            The classifier. It is copied, with all that it has learned; a clone has learned nothing.
        """

        def __init__(self, model: CountClassifier) -> None:
            self.model = model
            fitted = model.__sklearn_is_fitted__()
            self._learner: CountClassifier = model._copy() if fitted else clone(model)

        @classmethod
        def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
            yield {"model": NaiveBayes()}

        @property
        def _multiclass(self) -> bool:
            return True

        def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
            """Return a classifier with the same parameters that has learned nothing."""
            if include_attributes:
                return super().clone(new_params, include_attributes=True)
            return type(self)(clone((new_params or {}).get("model", self.model)))

        def learn_one(self, x: dict[Any, Any], y: Any, sample_weight: float = 1) -> None:
            self._learner.learn_one(x, y, sample_weight)

        def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
            return self._learner.predict_proba_one(x) if self._learner.__sklearn_is_fitted__() else {}

        def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
            return self._learner.predict_one(x) if self._learner.__sklearn_is_fitted__() else None

    RiverClassifier.__qualname__ = RiverClassifier.__name__
    return RiverClassifier
