"""Models that are not ours, to measure ours by; all take a matrix of numbers in which categories are codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# HistGradientBoosting takes no category with more states; such a column is one of numbers to it.
MOST_STATES = 255


def majority() -> Any:
    """Return what always says the most frequent class, with the shares of the classes for probabilities."""
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


def logistic(numeric: Sequence[int], categorical: Sequence[int]) -> Any:
    """Return logistic regression: numbers standardised, missing ones the median, a column for each category."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore")
    encode = ColumnTransformer([("numbers", numbers, numeric), ("categories", categories, categorical)])
    return make_pipeline(encode, LogisticRegression(max_iter=1000))


def forest(seed: int) -> Any:
    """Return a random forest; missing numbers are the median."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(SimpleImputer(strategy="median"), RandomForestClassifier(random_state=seed))


def boosting(categorical: Sequence[int], states: Sequence[int], seed: int) -> Any:
    """Return gradient boosting over histograms; missing numbers are a side of a split.

    Parameters
    ----------
    categorical : places of the categories in the matrix
    states : how many each of them has
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    taken = [place for place, n in zip(categorical, states) if n <= MOST_STATES]
    return HistGradientBoostingClassifier(categorical_features=taken or None, random_state=seed)
