"""Fits a latent class model by EM, from several starts and for several numbers of components."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.naive_bayes import check_bernoulli, kinds_of_families
from bayeskit._conditionals.density import family_names, family_of
from bayeskit._counting.backend import thread_count
from bayeskit._data.encode import encode
from bayeskit._data.reading import Reading
from bayeskit._data.source import as_weights
from bayeskit._data.table import Table
from bayeskit._fitting.em import EmResult
from bayeskit._fitting.mixtures.latent_fit import LatentFit, check_shares, random_starts, shares_start
from bayeskit._fitting.mixtures.latent_model import all_equal, by_weight, n_parameters, permuted
from bayeskit._fitting.mixtures.latent_problem import LatentProblem
from bayeskit._fitting.mixtures.latent_rows import hidden_class, latent_rows
from bayeskit._fitting.model import Model, ModelSpec
from bayeskit._messages import Joined, Message
from bayeskit._mixtures.component_choice import Candidate, candidate, choose, read_components
from bayeskit._mixtures.latent_answers import LatentAnswers
from bayeskit._mixtures.mixture_em import (
    MixtureEmSettings,
    keep_climb,
    random_state_of,
    real,
    run_climb,
    truth,
    warn_of_climb,
    warn_of_equals,
    whole,
)
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError, SettingError, SuspectResult
from bayeskit.priors import Lidstone, Smoothing, as_prior
from bayeskit.typing import WeightsLike

Found = tuple[LatentProblem, EmResult[Model], list[float]]


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
                "variance_floor is {variance_floor!r}; give a share, from 1e-9 to 1.",
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
            # Hard EM jumps from one sharing out of the rows to the next: nothing to extrapolate.
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
        """Return what is added to every cell; the value that EM climbs is known of no other prior."""
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

        def found(k: int, kind: str, left: float | None) -> tuple[Found, Candidate]:
            problem = LatentProblem(
                rows, spec, k, hard=bool(self.hard), floor=float(self.variance_floor), n_jobs=self.n_jobs
            )
            starts = self._starts(problem, settings.n_init, seed, start, table)
            climb, reached = run_climb(problem, starts, replace(settings, time_limit=left), rows.total)
            likelihood = problem.log_likelihood(climb.parameters)
            free = n_parameters(climb.parameters)
            flat = not problem.sound(climb.parameters)
            tried = candidate(k, kind, likelihood, free, rows.total, climb.converged, climb.stopped, flat)
            return (problem, climb, reached), tried

        choice: dict[str, Any] = {}
        if criterion is None:
            (problem, climb, reached), _ = found(numbers[0], "", settings.time_limit)
        else:
            if start is not None:
                raise SettingError(
                    "start fixes the components, and n_components={n_components!r} asks to choose. "
                    "Leave one of them out.",
                    n_components=self.n_components,
                )
            (problem, climb, reached), choice["choice_"] = choose(
                found, numbers, ("",), criterion, settings.time_limit
            )
        model = permuted(climb.parameters, by_weight(climb.parameters))
        statistics, _ = problem.expect(model)
        names = table.names if table.named else None
        self._fitted = LatentFit(model, statistics, spec, names, float(self.variance_floor))
        self.__dict__.pop("choice_", None)
        self.__dict__.update(choice)
        keep_climb(self, climb, reached, rows.total)
        self._name_columns(table)
        if settings.tol > 0.0 or climb.stopped:  # else all steps were asked for, and made
            warn_of_climb(climb, settings, rows.total, stacklevel=4)
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
    """Say which components hold no row, where a variance stands on its floor, and whether all are the same."""
    empty = np.flatnonzero(statistics.class_counts < problem.rows.nothing)
    said = [f"components {empty.tolist()} hold no row"] if len(empty) else []
    said += [
        f"{model.schema.numeric[column].name!r} has no spread in component {k}"
        for k, column in problem.flat_cells(model, statistics)
    ]
    if said:
        more = Message(", and {n} more", n=len(said) - 4) if len(said) > 4 else ""
        warnings.warn(
            SuspectResult(
                "Some components are degenerate: {names}{more}. Where there is no spread the variance "
                "stands on its floor, and the likelihood says little. Raise variance_floor (1e-3, say), ask for fewer "
                "components, or try other starts (n_init, random_state).",
                names=Joined(said[:4], "; "),
                more=more,
            ),
            stacklevel=4,
        )
    elif problem.n_components > 1 and all_equal(model):
        warn_of_equals("start", stacklevel=5)
