"""The answers of a classifier: posteriors, classes, evidence, samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from bayeskit.classifiers.doors import (
    warn_of_impossible,
)
from bayeskit.classifiers.explaining import Explaining
from bayeskit.data.source import Source
from bayeskit.data.table import open_table
from bayeskit.errors import DataError, UsageError
from bayeskit.estimation.kernels.posterior import choose, log_normalise, normalise
from bayeskit.learning.leave_one_out import encode_learned, left_out_joint, log_posterior, mean_loss
from bayeskit.learning.model import Model
from bayeskit.schema import Name

Floats = NDArray[np.float64]


class Answers(Explaining):
    """Everything a fitted or lazy classifier can be asked."""

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(c, x) of each row, without normalisation: shape (n, K)."""
        return self._joint(X)[0]

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(c | x) of each row: shape (n, K)."""
        joint, model = self._joint(X)
        warn_of_impossible(log_normalise(joint, model.log_prior))
        return self._calibrated(joint, model.schema)

    def predict_proba(self, X: Any) -> Floats:
        """Return P(c | x) of each row: shape (n, K); rows are finite and sum to one."""
        joint, model = self._joint(X)
        if "calibration" in self._held:
            warn_of_impossible(log_normalise(joint, model.log_prior))
            return np.exp(self._calibrated(joint, model.schema))
        warn_of_impossible(normalise(joint, model.log_prior))
        return joint

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; of equals the first."""
        joint, model = self._joint(X)
        codes = np.empty(len(joint), dtype=np.intp)
        if "calibration" in self._held:
            warn_of_impossible(log_normalise(joint, model.log_prior))
            choose(self._calibrated(joint, model.schema), model.log_prior, codes)
        else:
            warn_of_impossible(choose(joint, model.log_prior, codes))
        return self._labels(model.schema)[codes]

    def log_evidence(self, X: Any) -> Floats:
        """Return log P(x) = log Σ_c P(c, x) of each row: how likely the row itself is."""
        joint, model = self._joint(X)
        if not model.is_distribution:
            raise UsageError(
                f"{type(self).__name__} scores classes without a distribution of rows: it has no P(x)."
            )
        best = np.maximum(joint.max(axis=1), -1e308)
        with np.errstate(divide="ignore"):
            evidence = best + np.log(np.exp(joint - best[:, None]).sum(axis=1))
        if any(conditional.supports("log_excess") for conditional in model.conditionals):
            evidence -= self._log_excess(X, model)
        return np.asarray(evidence)

    def leave_one_out(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, target: Name | None = None
    ) -> Floats:
        """Return P(c | x) of rows that were learned, each by the model of all the others: shape (n, K).

        It equals as many fits, each without one row's whole weight, with schema, cut points, structure,
        back-off constants and calibration held; but it is one pass over the rows, not n fits. (Kernel densities
        and covariances are estimated anew for each row.)

        Parameters
        ----------
        X, y, sample_weight, target
            As in ``fit``: all of the rows learned, or some. Rows that were not learned are refused where some
            count would fall below zero.
        """
        return np.exp(self._left_out(Source(X, y, sample_weight, target))[0])

    def loo_score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        scoring: str = "log-loss",
        target: Name | None = None,
    ) -> float:
        """Return the mean loss of :meth:`leave_one_out`, weighed by the rows; lower is better.

        Parameters
        ----------
        X, y, sample_weight, target
            As in ``fit``.
        scoring : {"log-loss", "error", "rmse", "brier"}, default="log-loss"
            The mean of −log p with p the posterior of the true class, of wrong choices, of (1 − p)² (its
            root), or of the squared distance of all posteriors from 0 and 1.
        """
        return mean_loss(*self._left_out(Source(X, y, sample_weight, target)), scoring)

    def sample(self, n: int, seed: Any = None, given_class: Any = None) -> tuple[Any, Any]:
        """Draw rows from the model: (X, y), as a frame where the model was learned from one.

        A numeric attribute that the model has cut into intervals is drawn as the label of its interval. AnDE(n=2),
        WeightedNB and AutoBayes have no distribution to draw rows from: a UsageError.

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

    def _left_out(self, source: Source) -> tuple[Floats, NDArray[np.intp], Floats]:
        """log P(c | x), the class and the weight of rows, each left out of what was counted."""
        self._say_y_is_needed(source)
        lazy = self._lazy_state()
        fitted = lazy.fitted if lazy is not None else self._require("leave_one_out")
        statistics, recipe = self.statistics_, fitted.recipe
        assert recipe is not None
        pieces: list[tuple[Floats, NDArray[np.intp], Floats]] = []
        for rows in source:
            if rows.table.block is not None:
                self._refuse_sparse(source.data)
            encoded = encode_learned(fitted, statistics.schema, rows)
            scores = left_out_joint(statistics, recipe, encoded, n_jobs=fitted.n_jobs)
            weights = np.ones(encoded.n_rows) if encoded.weights is None else encoded.weights
            assert encoded.target is not None
            posterior = self._calibrated(log_posterior(*scores), statistics.schema)
            pieces.append((posterior, encoded.target.astype(np.intp), weights))
        if not pieces:
            raise DataError("The source gave no batch, so there is no row to leave out.")
        parts = [np.concatenate(arrays) for arrays in zip(*pieces)]
        return parts[0], parts[1], parts[2]

    def _log_excess(self, X: Any, model: Model) -> Floats:
        lazy = self._lazy_state()
        fitted = lazy.fitted if lazy is not None else self._require("log_evidence")
        assert fitted.recipe is not None
        encoded = fitted.encode(open_table(X), model.schema, fitted.recipe.unseen)
        return np.concatenate([model.log_excess(chunk) for chunk in encoded.chunks()])

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
