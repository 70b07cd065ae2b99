"""Fits a Gaussian mixture by EM, from several starts and for several candidate models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bayeskit._data.source import as_weights
from bayeskit._fitting.em import EmResult
from bayeskit._fitting.mixtures.components import COVARIANCE_TYPES, Components, all_equal
from bayeskit._fitting.mixtures.gaussian_problem import GaussianProblem
from bayeskit._fitting.mixtures.gaussian_starts import STARTS, start
from bayeskit._messages import Joined
from bayeskit._mixtures.component_choice import Candidate, candidate, choose, read_components
from bayeskit._mixtures.gaussian_answers import GaussianAnswers, n_parameters
from bayeskit._mixtures.mixture_em import (
    MixtureEmSettings,
    keep_climb,
    random_state_of,
    read_settings,
    real,
    run_climb,
    truth,
    warn_of_climb,
    warn_of_collapse,
    warn_of_equals,
    warn_of_ridge,
)
from bayeskit._mixtures.numeric_rows import NumericColumns, refuse_empty
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats, WeightsLike

INITS = ("weights_init", "means_init", "precisions_init")
Found = tuple[EmResult[Components], list[float]]


class GaussianFitting(GaussianAnswers):
    """Checks the settings, runs EM from every start, chooses between candidates, and stores the result."""

    n_components: Any
    covariance_type: Any
    reg_covar: float
    init_params: str
    weights_init: Any
    means_init: Any
    precisions_init: Any
    warm_start: bool
    hard: bool

    def _checked(self) -> MixtureEmSettings:
        settings = read_settings(self)
        real("reg_covar", self.reg_covar, 0.0)
        truth("warm_start", self.warm_start)
        if self.init_params not in STARTS:
            raise SettingError(
                "init_params is {init_params!r}; choose from {names}.",
                init_params=self.init_params,
                names=Joined(map(repr, STARTS)),
            )
        self._types()
        read_components(self.n_components, 1)
        return settings

    def _types(self) -> tuple[str, ...]:
        given = self.covariance_type
        several = isinstance(given, (list, tuple, np.ndarray)) and len(given) > 0
        types = tuple(dict.fromkeys(given)) if several else (given,)
        for kind in types:
            if not (isinstance(kind, str) and kind in COVARIANCE_TYPES):
                allowed = Joined(map(repr, COVARIANCE_TYPES))
                raise SettingError(
                    "covariance_type is {kind!r}; choose from {allowed}, or give several of them.",
                    kind=kind,
                    allowed=allowed,
                )
        return types

    def _fit(
        self,
        settings: MixtureEmSettings,
        values: Floats,
        columns: NumericColumns,
        sample_weight: WeightsLike | None,
    ) -> None:
        values, weights = with_weight(values, as_weights(sample_weight, len(values)))
        if len(values) < 2:
            raise DataError(
                "Found array with {n} sample(s) (shape={shape}) that have a weight, while a minimum "
                "of 2 is required by {kind}.",
                n=len(values),
                shape=values.shape,
                kind=type(self).__name__,
            )
        refuse_empty(values, columns)
        total = float(len(values) if weights is None else weights.sum())
        numbers, criterion = read_components(self.n_components, len(values))
        types = self._types()
        if max(numbers) > len(values):
            raise DataError(
                "Expected n_samples >= n_components but got n_components = {numbers}, n_samples = "
                "{n}. Ask for fewer components, or give more rows.",
                numbers=max(numbers),
                n=len(values),
            )

        def found(k: int, kind: str, left: float | None) -> tuple[Found, Candidate]:
            within = replace(settings, time_limit=left)
            climb, reached = self._climb(within, values, weights, total, k, kind)
            return (climb, reached), self._judged(climb, values, weights, total, k, kind)

        if criterion is None and len(types) == 1:
            climb, reached = self._climb(settings, values, weights, total, numbers[0], types[0])
            self.__dict__.pop("choice_", None)
        else:
            self._refuse_fixed()
            (climb, reached), self.choice_ = choose(
                found, numbers, types, criterion or "bic", settings.time_limit
            )
        keep_climb(self, climb, reached, total)
        self._keep(climb.parameters)
        self._keep_columns(columns)
        self.rows_seen_ = total
        warn_of_climb(climb, settings, total, stacklevel=4)
        if self.collapsed_:
            constant = [
                name for name, c in zip(columns.labels, values.T, strict=True) if np.nanmin(c) == np.nanmax(c)
            ]
            warn_of_collapse(self.collapsed_, constant, stacklevel=4)
        warn_of_ridge(climb.parameters, float(self.reg_covar), columns.labels, stacklevel=4)
        if all_equal(climb.parameters) and not self.collapsed_:
            warn_of_equals("means_init", stacklevel=4)

    def _climb(
        self,
        settings: MixtureEmSettings,
        values: Floats,
        weights: Floats | None,
        total: float,
        k: int,
        kind: str,
    ) -> Found:
        problem = self._problem(values, weights, kind)
        given = {name: getattr(self, name) for name in INITS}
        makers: list[Callable[[], Components]]
        if self.warm_start and self.__sklearn_is_fitted__():
            makers = [partial(self._last, k, values.shape[1], kind)]
        else:
            # Where the whole start is given, all starts would be the same one.
            n_starts = 1 if all(part is not None for part in given.values()) else settings.n_init
            seeds = random_state_of(self.random_state)
            makers = [lambda: start(problem, k, self.init_params, _generator(seeds), **given)] * n_starts
        climb, reached = run_climb(problem, makers, settings, total)
        if climb.fell:  # what is best may be the step before a collapse
            collapsed = problem.collapsed(climb.parameters)
            climb = replace(climb, parameters=replace(climb.parameters, collapsed=collapsed))
        return climb, reached

    def _judged(
        self,
        climb: EmResult[Components],
        values: Floats,
        weights: Floats | None,
        total: float,
        k: int,
        kind: str,
    ) -> Candidate:
        value = climb.value
        if self.hard:  # what hard EM climbs is no likelihood of the rows
            soft = self._problem(values, weights, kind)
            soft.hard = False
            value = soft.expect(climb.parameters)[1]
        free, collapsed = n_parameters(k, values.shape[1], kind), bool(climb.parameters.collapsed)
        return candidate(k, kind, value, free, total, climb.converged, climb.stopped, collapsed)

    def _problem(self, values: Floats, weights: Floats | None, kind: str) -> GaussianProblem:
        return GaussianProblem(
            values,
            weights,
            covariance_type=kind,
            reg_covar=float(self.reg_covar),
            hard=bool(self.hard),
            n_jobs=self.n_jobs,
        )

    def _last(self, k: int, width: int, kind: str) -> Components:
        """Where the last fit ended."""
        last = self._components()
        if last.means.shape != (k, width) or last.covariance_type != kind:
            raise SettingError(
                "warm_start=True goes on from {length} components over {length2} columns, "
                "{covariance_type!r} covariances, and now {k} over {width} with {kind!r} are asked for. "
                "Set warm_start=False.",
                length=last.means.shape[0],
                length2=last.means.shape[1],
                covariance_type=last.covariance_type,
                k=k,
                width=width,
                kind=kind,
            )
        return last

    def _refuse_fixed(self) -> None:
        fixed = [name for name in INITS if getattr(self, name) is not None]
        for name in fixed + ["warm_start"] * self.warm_start:
            raise SettingError(
                "{name} fixes the components, and n_components={n_components!r} with "
                "covariance_type={covariance_type!r} asks to choose. Leave one of them out.",
                name=name,
                n_components=self.n_components,
                covariance_type=self.covariance_type,
            )

    def _keep_columns(self, columns: NumericColumns) -> None:
        self._columns = columns
        self.n_features_in_ = columns.width
        self.__dict__.pop("feature_names_in_", None)
        if columns.names is not None and all(isinstance(name, str) for name in columns.names):
            self.feature_names_in_ = np.array(columns.names, dtype=object)

    def _keep(self, found: Components) -> None:
        self.weights_, self.means_, self.covariances_ = found.weights, found.means, found.covariances
        self.precisions_, self.precisions_cholesky_ = found.precisions, found.precisions_cholesky
        self.covariance_type_, self.collapsed_ = found.covariance_type, found.collapsed
        self.n_components_ = len(found.weights)


def _generator(seeds: np.random.RandomState) -> np.random.Generator:
    """Draw the generator of one start."""
    return np.random.default_rng(seeds.randint(2**32, size=4, dtype=np.uint32))


def with_weight(values: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """Leave out rows of weight zero, so that they cannot become a start or a component."""
    if weights is None or weights.all():
        return values, weights
    there = weights > 0.0
    return np.ascontiguousarray(values[there]), weights[there]
