"""The answers of a classifier: posteriors, classes, evidence, explanations, samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from bayeskit.classifiers.doors import (
    warn_of_impossible,
)
from bayeskit.classifiers.state import State
from bayeskit.data.encode import match_columns
from bayeskit.data.table import open_table
from bayeskit.errors import UsageError
from bayeskit.estimation.kernels.posterior import choose, log_normalise, normalise
from bayeskit.estimation.multinomial import Multinomial, log_coefficient
from bayeskit.learning.naive import Model
from bayeskit.report import Explanation, explain, one_row

Floats = NDArray[np.float64]


class Answers(State):
    """Everything a fitted or lazy classifier can be asked."""

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(c, x) of each row, without normalisation: shape (n, K)."""
        return self._joint(X)[0]

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(c | x) of each row: shape (n, K)."""
        joint, model = self._joint(X)
        warn_of_impossible(log_normalise(joint, model.log_prior))
        return joint

    def predict_proba(self, X: Any) -> Floats:
        """Return P(c | x) of each row: shape (n, K); rows are finite and sum to one."""
        joint, model = self._joint(X)
        warn_of_impossible(normalise(joint, model.log_prior))
        return joint

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; of equals the first."""
        joint, model = self._joint(X)
        codes = np.empty(len(joint), dtype=np.intp)
        warn_of_impossible(choose(joint, model.log_prior, codes))
        return self._labels(model.schema)[codes]

    def log_evidence(self, X: Any) -> Floats:
        """Return log P(x) = log Σ_c P(c, x) of each row: how likely the row itself is."""
        joint, model = self._joint(X)
        if not model.adds_prior:
            raise UsageError(
                f"{type(self).__name__} scores classes without a distribution of rows: it has no P(x)."
            )
        best = np.maximum(joint.max(axis=1), -1e308)
        with np.errstate(divide="ignore"):
            evidence = best + np.log(np.exp(joint - best[:, None]).sum(axis=1))
        if isinstance(model.conditionals[0] if model.conditionals else None, Multinomial):
            # The same for every class, so predictions leave it out; P(x) does not.
            evidence += log_coefficient(open_table(X).as_block())
        return np.asarray(evidence)

    def explain(self, row: Any, *, lang: str = "en") -> Explanation:
        """Take the prediction of one row apart: the prior, each attribute's factor with the counts behind it.

        Parameters
        ----------
        row : mapping from column to value, list, or a table of one row
        lang : "en" or "zh"
        """
        lazy = self._lazy_state()
        fitted = lazy.fitted if lazy is not None else self._require("explain")
        model, statistics = self._model, self.statistics_
        table = match_columns(one_row(row), model.schema, fitted.names if fitted.named else None, fitted.who)
        assert fitted.recipe is not None
        return explain(
            model,
            statistics,
            fitted.recipe,
            table,
            self._labels(model.schema).tolist(),
            threshold=fitted.threshold,
            lang=lang,
        )

    def sample(self, n: int, seed: Any = None, given_class: Any = None) -> tuple[Any, Any]:
        """Draw rows from the model: (X, y), as a frame where the model was learned from one.

        Parameters
        ----------
        n : int
        seed : int or numpy Generator, optional
        given_class : label, optional
            Draw all rows from this class.
        """
        from bayeskit.classifiers.sampling import sample_rows

        model = self._model
        named = "feature_names_in_" in self.__dict__
        rows, codes = sample_rows(model, named, n, np.random.default_rng(seed), given_class)
        return rows, self._labels(model.schema)[codes]

    def _joint(self, X: Any) -> tuple[Floats, Model]:
        fitted = self._fitted_or_none()
        if fitted is not None:
            table = open_table(X)
            if table.block is not None:
                self._refuse_sparse(X)
            return fitted.joint(table)
        lazy = self._lazy_state()
        if lazy is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )
        return lazy.joint(open_table(X))
