"""The scikit-learn face shared by all classifiers that are estimated from counts."""

from __future__ import annotations

from bayeskit.classifiers.answers import Answers
from bayeskit.classifiers.verbs import Learning


class CountClassifier(Learning, Answers):
    """Fit, update, forget, merge and predict, for any classifier that says how it reads and estimates.

    A subclass stores its parameters and gives ``_reading()`` and ``_recipe(schema)``.
    """
