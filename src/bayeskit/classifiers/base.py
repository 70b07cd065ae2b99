"""The scikit-learn face shared by all classifiers that are estimated from counts."""

from __future__ import annotations

from bayeskit.classifiers.pictures import Pictures
from bayeskit.classifiers.verbs import Learning


class CountClassifier(Learning, Pictures):
    """Fit, update, forget, merge, predict and draw, for any classifier that says how it reads and estimates.

    A subclass stores its parameters and gives ``_reading()`` and ``_recipe(schema)``.
    """
