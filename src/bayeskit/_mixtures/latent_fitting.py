"""A latent class model fitted by EM, and what the fitted model returns: likelihoods, profiles, samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, xlogy
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import NotFittedError

from bayeskit._classifiers.answer_rows import sample_rows
from bayeskit._classifiers.input_checks import warn_of_impossible
from bayeskit._classifiers.naive_bayes import check_bernoulli, kinds_of_families
from bayeskit._classifiers.notebook import html_repr, mimebundle
from bayeskit._conditionals.density import family_names, family_of
from bayeskit._data.class_labels import as_weights
from bayeskit._data.encode import encode
from bayeskit._data.reading import Reading
from bayeskit._data.source import thread_count
from bayeskit._data.table import Table, open_dense
from bayeskit._display_table import as_html
from bayeskit._fitting.em import EmResult
from bayeskit._fitting.mixtures.latent_fit import LatentFit, check_shares, random_starts, shares_start
from bayeskit._fitting.mixtures.latent_model import (
    all_equal,
    by_weight,
    hidden_class,
    latent_rows,
    n_parameters,
    permuted,
)
from bayeskit._fitting.mixtures.latent_problem import LatentProblem
from bayeskit._fitting.model import Model, ModelSpec
from bayeskit._messages import Joined, Message
from bayeskit._mixtures.component_choice import Candidate, candidate, choose, read_components
from bayeskit._mixtures.mixture_em import (
    MixtureEmSettings,
    mixture_summary,
    random_state_of,
    real,
    run_mixture_em,
    store_em_result,
    truth,
    warn_not_converged,
    warn_of_equals,
    whole,
)
from bayeskit._random_state import generator_of
from bayeskit._report.mixture_report import ClassProfiles, class_profiles
from bayeskit._report.summary_page import Summary
from bayeskit._schema import Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError, SettingError, SuspectResult
from bayeskit.priors import Lidstone, Smoothing, as_prior
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
        scores, weights = self._scores_and_weights(X, sample_weight)
        return float(_total(scores, weights) / weights.sum())

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

    def summary(self, *, lang: str = "en") -> Summary:
        """Return a page about the mixture: its data, parameters, how EM ended, components and warnings.

        Parameters
        ----------
        lang : "en" or "zh"
        """
        found = self.profiles_
        return mixture_summary(self, found._page(lang), found.weights.tolist(), lang)

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

    def _scores_and_weights(self, X: TableLike, sample_weight: WeightsLike | None) -> tuple[Floats, Floats]:
        scores = self.score_samples(X)
        weights = as_weights(sample_weight, len(scores))
        return scores, np.ones(len(scores)) if weights is None else weights

    def _criteria(self, X: TableLike, sample_weight: WeightsLike | None) -> Candidate:
        scores, weights = self._scores_and_weights(X, sample_weight)
        total = float(weights.sum())
        return candidate(self.n_components_, "", _total(scores, weights), self.n_parameters_, total, True)

    def _card(self) -> str:
        return as_html(self.profiles_._page())

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _total(scores: Floats, weights: Floats) -> float:
    """Σ w log P(x), where a row of weight 0 adds nothing, even if it is impossible."""
    there = weights > 0.0
    return float(weights[there] @ scores[there])


_EmOutcome = tuple[LatentProblem, EmResult[Model], list[float]]


class LatentFitting(LatentAnswers):
    """Checks the settings, runs EM from every start, chooses between candidates, and stores the result."""

    n_components: Any
    families: Mapping[Any, str] | None
    states: Mapping[Any, Any] | None
    categorical_features: Any
    missing: str
    smoothing: float | str | Lidstone
    variance_floor: float
    hard: bool
    tol: float
    max_iter: int
    n_init: int
    accelerate: bool
    time_limit: float | None
    random_state: Any
    progress: bool

    def _checked(self) -> MixtureEmSettings:
        thread_count(self.n_jobs)
        self._prior()
        if real("variance_floor", self.variance_floor, 1e-9) > 1.0:
            raise SettingError(
                "variance_floor is {variance_floor!r}; give a fraction from 1e-9 to 1.",
                variance_floor=self.variance_floor,
            )
        if self.missing not in ("ignore", "state"):
            raise SettingError("missing is {missing!r}; choose from 'ignore', 'state'.", missing=self.missing)
        if not isinstance(self.families or {}, Mapping):
            raise SettingError(
                "families is {families!r}; give a mapping from attribute to family.", families=self.families
            )
        for name, family in (self.families or {}).items():
            families = (*hidden_families(), "bernoulli", "table")
            if family not in families:
                allowed = Joined(map(repr, families))
                raise SettingError(
                    "families[{name!r}] is {family!r}; choose from {allowed}.",
                    name=name,
                    family=family,
                    allowed=allowed,
                )
        read_components(self.n_components, 1)
        limit = self.time_limit
        hard = truth("hard", self.hard)
        return MixtureEmSettings(
            tol=real("tol", self.tol, 0.0),
            max_iter=whole("max_iter", self.max_iter, 0),
            n_init=whole("n_init", self.n_init, 1),
            time_limit=None if limit is None else real("time_limit", limit, 0.0),
            # Hard EM jumps between assignments of the rows, so there is nothing to extrapolate.
            accelerate=truth("accelerate", self.accelerate) and not hard,
            verbose=0,
            verbose_interval=1,
            progress=truth("progress", self.progress),
        )

    def _reading(self) -> Reading:
        families = self.families or {}
        binary = frozenset(name for name, family in families.items() if family == "bernoulli")
        return Reading(self.categorical_features, self.states or {}, kinds_of_families(families), binary)

    def _prior(self) -> Lidstone:
        """Return the smoothing of every cell. Only for this prior is the objective of EM known."""
        prior = as_prior(self.smoothing)
        if not isinstance(prior, Lidstone):
            raise SettingError(
                "smoothing is {smoothing!r}; LatentClass adds one number to every cell. Give a number, such as 1, or "
                "Lidstone(1).",
                smoothing=self.smoothing,
            )
        return prior

    def _spec(self) -> ModelSpec:
        prior = self._prior()
        families = {n: f for n, f in (self.families or {}).items() if f in hidden_families()}
        return ModelSpec(
            smoothing=Smoothing(prior, {}), class_smoothing=prior, families=families, missing=self.missing
        )

    def _seed(self) -> int:
        return int(random_state_of(self.random_state).randint(2**31 - 1))

    def _fit(
        self,
        settings: MixtureEmSettings,
        table: Table,
        sample_weight: WeightsLike | None,
        start: ArrayLike | LatentAnswers | None,
    ) -> None:
        schema, spec = self._reading().schema_of(table, hidden_class(1)), self._spec()
        weights = as_weights(sample_weight, table.n_rows)
        rows = latent_rows(replace(encode(table, schema, "grow"), weights=weights), spec, self.n_jobs)
        check_bernoulli(rows.schema, self.families or {})
        there = int((rows.owner >= 0).sum())
        numbers, criterion = read_components(self.n_components, there)
        if max(numbers) > there:
            raise DataError(
                "Expected n_samples >= n_components but got n_components = {numbers}, n_samples = {there}. "
                "Ask for fewer components, or give more rows (those of weight 0 do not count).",
                numbers=max(numbers),
                there=there,
            )
        seed = self._seed()

        def run_candidate(k: int, kind: str, left: float | None) -> tuple[_EmOutcome, Candidate]:
            problem = LatentProblem(
                rows, spec, k, hard=bool(self.hard), floor=float(self.variance_floor), n_jobs=self.n_jobs
            )
            starts = self._starts(problem, settings.n_init, seed, start, table)
            result, reached = run_mixture_em(problem, starts, replace(settings, time_limit=left), rows.total)
            likelihood = problem.log_likelihood(result.parameters)
            free = n_parameters(result.parameters)
            flat = not problem.sound(result.parameters)
            tried = candidate(k, kind, likelihood, free, rows.total, result.converged, result.stopped, flat)
            return (problem, result, reached), tried

        choice: dict[str, Any] = {}
        if criterion is None:
            (problem, result, reached), _ = run_candidate(numbers[0], "", settings.time_limit)
        else:
            if start is not None:
                raise SettingError(
                    "start fixes the components, but n_components={n_components!r} requests a choice. Leave one of "
                    "them out.",
                    n_components=self.n_components,
                )
            (problem, result, reached), choice["choice_"] = choose(
                run_candidate, numbers, ("",), criterion, settings.time_limit
            )
        model = permuted(result.parameters, by_weight(result.parameters))
        statistics, _ = problem.expect(model)
        names = table.names if table.named else None
        self._fitted = LatentFit(model, statistics, spec, names, float(self.variance_floor))
        self.__dict__.pop("choice_", None)
        self.__dict__.update(choice)
        store_em_result(self, result, reached, rows.total)
        self._name_columns(table)
        if settings.tol > 0.0 or result.stopped:  # otherwise all steps were requested and made
            warn_not_converged(result, settings, rows.total, stacklevel=4)
        _warn_of_components(problem, model, statistics)

    def _starts(
        self, problem: LatentProblem, n: int, seed: int, start: ArrayLike | LatentAnswers | None, table: Table
    ) -> list[Callable[[], Model]]:
        k = problem.n_components
        if k == 1:
            return [lambda: problem.whole]
        if start is None:
            return random_starts(problem, n, seed)
        share: object = start
        if isinstance(start, LatentAnswers):
            share, _ = start._state().shares(table, self.n_jobs)
        return [partial(shares_start, problem, check_shares(share, table.n_rows, k))]

    def _name_columns(self, table: Table) -> None:
        self.n_features_in_ = table.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if table.named and all(isinstance(name, str) for name in table.names):
            self.feature_names_in_ = np.array(table.names, dtype=object)


def hidden_families() -> tuple[str, ...]:
    """Return the numeric families that a latent class can have."""
    return tuple(name for name in family_names() if family_of(name).can_be_hidden)


def _warn_of_components(problem: LatentProblem, model: Model, statistics: Statistics) -> None:
    """Warn of components without rows, of variances at their floor, and of equal components."""
    empty = np.flatnonzero(statistics.class_counts < problem.rows.nothing)
    said = [Message("components {ids} hold no row", ids=str(empty.tolist()))] if len(empty) else []
    said += [
        Message("{name!r} has no spread in component {k}", name=model.schema.numeric[column].name, k=k)
        for k, column in problem.flat_cells(model, statistics)
    ]
    if said:
        more = Message(", and {n} more", n=len(said) - 4) if len(said) > 4 else ""
        warnings.warn(
            SuspectResult(
                "Some components are degenerate: {names}{more}. Without spread, the variance is at its floor, "
                "and the likelihood means little. Raise variance_floor (such as 1e-3), use fewer components, or "
                "try other starts (n_init, random_state).",
                names=Joined(said[:4], "; "),
                more=more,
            ),
            stacklevel=4,
        )
    elif problem.n_components > 1 and all_equal(model):
        warn_of_equals("start", stacklevel=5)
