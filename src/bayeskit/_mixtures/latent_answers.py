"""Methods of a fitted latent class model: components, likelihoods, criteria, profiles, samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import NotFittedError

from bayeskit._classifiers.input_checks import warn_of_impossible
from bayeskit._classifiers.notebook import html_repr, mimebundle
from bayeskit._classifiers.sample_rows import sample_rows
from bayeskit._data.source import as_weights
from bayeskit._data.table import open_dense
from bayeskit._fitting.mixtures.latent_fit import LatentFit
from bayeskit._fitting.mixtures.latent_model import n_parameters
from bayeskit._mixtures.component_choice import Candidate, candidate
from bayeskit._mixtures.mixture_em import whole
from bayeskit._random_state import generator_of
from bayeskit._report.mixtures.class_profiles import ClassProfiles, class_profiles
from bayeskit._schema import Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit.typing import Floats, Seed, TableLike, WeightsLike


class LatentAnswers(DensityMixin, BaseEstimator):
    """Methods that use only the components. Missing cells and unseen values are ignored."""

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

    n_jobs: int | None
    _fitted: LatentFit

    def predict(self, X: TableLike) -> NDArray[np.int64]:
        """Return the most probable component of each row. Ties go to the first."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)

    def predict_proba(self, X: TableLike) -> Floats:
        """Return P(k | x) of each row: shape (n, components); rows are finite and sum to one.

        A row that is impossible under every component gets the weights of the components, with a warning.
        """
        share, impossible = self._state().shares(open_dense(X, type(self).__name__), self.n_jobs)
        warn_of_impossible(impossible)
        return share

    def score_samples(self, X: TableLike) -> Floats:
        """Return log P(x) of each row: 0 if every cell is missing, −inf if the row is impossible."""
        joint = self._state().joint(open_dense(X, type(self).__name__), self.n_jobs)
        return np.asarray(logsumexp(joint, axis=1))

    def score(self, X: TableLike, y: object = None, sample_weight: WeightsLike | None = None) -> float:
        """Return the mean of log P(x) over the rows."""
        found, weights = self._weighed(X, sample_weight)
        return float(_total(found, weights) / weights.sum())

    def bic(self, X: TableLike, sample_weight: WeightsLike | None = None) -> float:
        """Return the BIC on these rows, −2 log L + p log n. Lower is better."""
        return self._criteria(X, sample_weight).bic

    def aic(self, X: TableLike, sample_weight: WeightsLike | None = None) -> float:
        """Return the AIC on these rows, −2 log L + 2 p. Lower is better."""
        return self._criteria(X, sample_weight).aic

    def entropy(self, X: TableLike, sample_weight: WeightsLike | None = None) -> float:
        r"""Return how well the components are separated on these rows, from 0 (not at all) to 1 (completely).

        .. math:: R^2 = 1 + \frac{\sum_i w_i \sum_k r_{ik} \log r_{ik}}{\log K \sum_i w_i}

        with r the posteriors. This is the relative entropy that programs for latent class analysis report. It
        is 1 for a single component.
        """
        share = self.predict_proba(X)
        weights = as_weights(sample_weight, len(share))
        lost = xlogy(share, share).sum(axis=1)
        if share.shape[1] == 1:
            return 1.0
        return float(1.0 + np.average(lost, weights=weights) / np.log(share.shape[1]))

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> tuple[Any, NDArray[np.int64]]:
        """Sample rows, and return the component of each. The rows are a frame if the model was fitted to one.

        Parameters
        ----------
        n_samples : int
        random_state : int or numpy Generator, optional
        """
        n = whole("n_samples", n_samples, 1)
        state = self._state()
        rng = generator_of(random_state)
        rows, components = sample_rows(state.model, state.names is not None, n, rng, None)
        return rows, components.astype(np.int64)

    @property
    def weights_(self) -> Floats:
        """P(k), the weight of each component. After ``fit``, the largest comes first."""
        return np.asarray(np.exp(self._state().model.log_prior))

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return len(self._state().model.log_prior)

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters."""
        return n_parameters(self._state().model)

    @property
    def profiles_(self) -> ClassProfiles:
        """Every attribute in every component: its distribution, its mean and standard deviation, or its rate."""
        return class_profiles(self._state().model)

    @property
    def schema_(self) -> Schema:
        """The attributes with their states, and the latent class."""
        return self._state().model.schema

    @property
    def statistics_(self) -> Statistics:
        """The statistics of naive Bayes, with every row split between the components."""
        return self._state().statistics

    def _state(self) -> LatentFit:
        if "_fitted" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )
        return self._fitted

    def _weighed(self, X: TableLike, sample_weight: WeightsLike | None) -> tuple[Floats, Floats]:
        found = self.score_samples(X)
        weights = as_weights(sample_weight, len(found))
        return found, np.ones(len(found)) if weights is None else weights

    def _criteria(self, X: TableLike, sample_weight: WeightsLike | None) -> Candidate:
        found, weights = self._weighed(X, sample_weight)
        total = float(weights.sum())
        return candidate(self.n_components_, "", _total(found, weights), self.n_parameters_, total, True)

    def _card(self) -> str:
        shown: str = self.profiles_._repr_html_()
        return shown

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _total(found: Floats, weights: Floats) -> float:
    """Σ w log P(x): a row without weight counts for nothing, also where it is impossible."""
    there = weights > 0.0
    return float(weights[there] @ found[there])
