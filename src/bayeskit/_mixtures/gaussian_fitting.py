"""A Gaussian mixture fitted by EM, and what the fitted model returns: densities, criteria, samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from bayeskit._classifiers.notebook import html_repr, mimebundle
from bayeskit._data.class_labels import as_weights
from bayeskit._data.columns import is_missing
from bayeskit._data.frames import to_native
from bayeskit._display_table import DisplayTable, as_html, as_text, notebook_html
from bayeskit._fitting.em import EmResult
from bayeskit._fitting.mixtures.components import COVARIANCE_TYPES, Components, all_equal
from bayeskit._fitting.mixtures.gaussian_problem import GaussianProblem, log_joint, shares_of
from bayeskit._fitting.mixtures.gaussian_starts import STARTS, start
from bayeskit._messages import Joined, text_in
from bayeskit._mixtures.component_choice import Candidate, candidate, choose, listed, read_components
from bayeskit._mixtures.mixture_em import (
    MixtureEmSettings,
    mixture_summary,
    random_state_of,
    read_settings,
    real,
    run_mixture_em,
    store_em_result,
    truth,
    warn_not_converged,
    warn_of_collapse,
    warn_of_equals,
    warn_of_ridge,
    whole,
)
from bayeskit._mixtures.numeric_rows import NumericColumns, read_numbers, refuse_empty
from bayeskit._schema import Name
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats, LabelsLike, PathLike, TableLike, WeightsLike

if TYPE_CHECKING:
    from bayeskit._report.charts.chart import PlotPicture
    from bayeskit._report.summary_page import Summary

# Further columns are only in the frame.
MOST_SHOWN = 12


@dataclass(frozen=True)
class ComponentTable:
    """The weights, means and standard deviations of the components. ``frame()`` returns the numbers.

    Examples
    --------
    >>> pair = Components(np.array([0.5, 0.5]), np.array([[0.0], [9.0]]), np.array([[4.0], [1.0]]), "diag")
    >>> print("\\n".join(str(ComponentTable(pair, ("height",))).splitlines()[2:]))
    component  weight  height
    0          0.5000  0 ± 2
    1          0.5000  9 ± 1
    -----------------------------
    all        1.0000  4.5 ± 4.77
    """

    components: Components
    names: tuple[Name, ...]

    def frame(self) -> Any:
        """Return a data frame: component, weight, and two columns (mean and sd) for each of the data."""
        fitted = self.components
        spreads = np.sqrt(fitted.variances)
        columns: dict[str, Any] = {"component": np.arange(len(fitted.weights)), "weight": fitted.weights}
        for j, name in enumerate(self.names):
            columns[f"mean of {name}"] = fitted.means[:, j]
            columns[f"sd of {name}"] = spreads[:, j]
        return to_native(columns)

    def __str__(self) -> str:
        return as_text(self._page())

    def _repr_html_(self) -> str:
        return notebook_html(self._page())

    def _page(self, lang: str = "en") -> DisplayTable:
        say = partial(text_in, lang)
        fitted, names = self.components, self.names[:MOST_SHOWN]
        variances, w = fitted.variances, fitted.weights
        rows = tuple(
            (
                str(k) + (f" ({say('collapsed')})" if k in fitted.collapsed else ""),
                f"{w[k]:.4f}",
                *(_cell(fitted.means[k, j], variances[k, j]) for j in range(len(names))),
            )
            for k in range(len(w))
        )
        # Σ = Σ_k w_k (Σ_k + (μ_k − μ)(μ_k − μ)ᵀ); the table shows its diagonal.
        mean = w @ fitted.means
        variance = w @ (variances + (fitted.means - mean) ** 2)
        last = (say("all"), f"{w.sum():.4f}", *(_cell(mean[j], variance[j]) for j in range(len(names))))
        more = len(self.names) - len(names)
        left_out = say("{more} more columns are not shown; frame() has them.").format(more=more)
        notes = (left_out,) if more else ()
        many = "component" if len(rows) == 1 else "components"
        title = f"{len(rows)} Gaussian {many}, {fitted.covariance_type} covariances"
        return DisplayTable(title, (say("component"), say("weight"), *map(str, names)), rows, (last,), notes)


def _cell(mean: float, variance: float) -> str:
    return f"{mean:.4g} ± {np.sqrt(variance):.3g}".replace("-", "−")


class GaussianAnswers(DensityMixin, BaseEstimator):
    """Methods that use only ``weights_``, ``means_`` and ``covariances_``.

    Missing cells (NaN) are ignored: results are based on the cells that are present.
    """

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

    weights_: Floats
    means_: Floats
    covariances_: Floats
    covariance_type_: str
    collapsed_: tuple[int, ...]
    _columns: NumericColumns
    random_state: Any
    n_jobs: int | None

    def predict(self, X: TableLike) -> NDArray[np.int64]:
        """Return the most probable component of each row."""
        return np.asarray(self._log_joint(X).argmax(axis=1), dtype=np.int64)

    def predict_proba(self, X: TableLike) -> Floats:
        """Return the probability of each component given each row, of shape (n, components)."""
        return shares_of(self._log_joint(X))[0]

    def score_samples(self, X: TableLike) -> Floats:
        """Return the log density of each row; 0 if every cell is missing."""
        return shares_of(self._log_joint(X))[1]

    def score(self, X: TableLike, y: object = None, sample_weight: WeightsLike | None = None) -> float:
        """Return the mean log-density of the rows."""
        scores = self.score_samples(X)
        weights = as_weights(sample_weight, len(scores))
        return float(scores.mean() if weights is None else weights @ scores / weights.sum())

    def bic(self, X: TableLike, sample_weight: WeightsLike | None = None) -> float:
        """Return the BIC on these rows, −2 log L + p log n. Lower is better."""
        return float(self._criteria(X, sample_weight).bic)

    def aic(self, X: TableLike, sample_weight: WeightsLike | None = None) -> float:
        """Return the AIC on these rows, −2 log L + 2 p. Lower is better."""
        return float(self._criteria(X, sample_weight).aic)

    def sample(self, n_samples: int = 1) -> tuple[Floats, NDArray[np.int64]]:
        """Sample rows, sorted by component, and return the component of each.

        The same model and ``random_state`` give the same rows as in scikit-learn.
        """
        check_is_fitted(self)
        n = whole("n_samples", n_samples, 1)
        rng = random_state_of(self.random_state)
        counts = rng.multinomial(n, self.weights_)
        fitted, (_, d) = self._components(), self.means_.shape
        drawn = []
        for k, count in enumerate(counts.tolist()):
            if fitted.matrices:
                drawn.append(rng.multivariate_normal(fitted.means[k], fitted.full_covariances[k], count))
            else:
                drawn.append(fitted.means[k] + rng.standard_normal((count, d)) * np.sqrt(fitted.variances[k]))
        return np.vstack(drawn), np.repeat(np.arange(len(counts)), counts)

    def summary(self, *, lang: str = "en") -> Summary:
        """Return a page about the mixture: its data, parameters, how EM ended, components and warnings.

        Parameters
        ----------
        lang : "en" or "zh"
        """
        table = self.describe()
        return mixture_summary(self, table._page(lang), self.weights_.tolist(), lang)

    def describe(self) -> ComponentTable:
        """Return a table of the components: weight, mean and standard deviation in every column."""
        check_is_fitted(self)
        return ComponentTable(self._components(), self._columns.labels)

    def plot(
        self,
        X: TableLike,
        *,
        columns: Sequence[Any] | None = None,
        labels: LabelsLike | None = None,
        path: PathLike | None = None,
        lang: str = "en",
    ) -> PlotPicture:
        """Plot rows over two columns, coloured by component, with an ellipse around each component.

        Parameters
        ----------
        X : the rows
        columns : two columns, by name or position, optional
            By default, the first two.
        labels : one for each row, optional
            Known classes, shown as shapes. None and NaN mean unlabelled.
        path : str or path, optional
            Also save the picture: .svg, or .png and .pdf if matplotlib is installed.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import GaussianMixture
        >>> rows = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [2.0, 1.0]])
        >>> GaussianMixture(1).fit(rows).plot(rows)
        <Picture: 1 component over x0 and x1, 440 × 491 pixels>
        """
        from bayeskit._report.mixture_report import mixture_picture

        components, fitted = self.predict(X), self._components()
        pair = self._columns.two(columns)
        values, _ = read_numbers(X, type(self).__name__, self._columns)
        if labels is not None:
            labels = ["no label" if is_missing(label) else label for label in listed(labels, "labels")]
            if len(labels) != len(values):
                raise DataError(
                    "There are {n} rows and {n_labels} labels. Give one for each row.",
                    n=len(values),
                    n_labels=len(labels),
                )
        spread = fitted.full_covariances[:, pair][:, :, pair]
        names = (self._columns.labels[pair[0]], self._columns.labels[pair[1]])
        picture = mixture_picture(
            values[:, pair],
            components,
            fitted.weights,
            fitted.means[:, pair],
            spread,
            names,
            labels,
            lang=lang,
        )
        if path is not None:
            picture.save(path)
        return picture

    def _criteria(self, X: TableLike, sample_weight: WeightsLike | None) -> Any:
        scores = self.score_samples(X)
        weights = as_weights(sample_weight, len(scores))
        total = float(len(scores) if weights is None else weights.sum())
        value = float(scores.sum() if weights is None else weights @ scores)
        return candidate(len(self.weights_), "", value, self._n_parameters(), total, True)

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        return n_parameters(k, d, self.covariance_type_)

    def _components(self) -> Components:
        collapsed = getattr(self, "collapsed_", ())
        return Components(self.weights_, self.means_, self.covariances_, self.covariance_type_, collapsed)

    def _log_joint(self, X: TableLike) -> Floats:
        check_is_fitted(self)
        values, _ = read_numbers(X, type(self).__name__, self._columns)
        return log_joint(values, self._components(), self.n_jobs)

    def _card(self) -> str:
        return as_html(self.describe()._page())

    def __sklearn_is_fitted__(self) -> bool:
        return "means_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def n_parameters(n_components: int, n_columns: int, covariance_type: str) -> int:
    """Return the number of free parameters: weights but one, means, variances and covariances.

    >>> [n_parameters(2, 3, kind) for kind in ("full", "tied", "diag", "spherical")]
    [19, 13, 13, 9]
    """
    k, d = n_components, n_columns
    triangle = d * (d + 1) // 2
    of_covariances = {"full": k * triangle, "tied": triangle, "diag": k * d, "spherical": k}[covariance_type]
    return of_covariances + k * d + k - 1


INITS = ("weights_init", "means_init", "precisions_init")
_EmOutcome = tuple[EmResult[Components], list[float]]


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

        def run_candidate(k: int, kind: str, left: float | None) -> tuple[_EmOutcome, Candidate]:
            within = replace(settings, time_limit=left)
            result, reached = self._run_em(within, values, weights, total, k, kind)
            return (result, reached), self._judged(result, values, weights, total, k, kind)

        if criterion is None and len(types) == 1:
            result, reached = self._run_em(settings, values, weights, total, numbers[0], types[0])
            self.__dict__.pop("choice_", None)
        else:
            self._refuse_fixed()
            (result, reached), self.choice_ = choose(
                run_candidate, numbers, types, criterion or "bic", settings.time_limit
            )
        store_em_result(self, result, reached, total)
        self._keep(result.parameters)
        self._keep_columns(columns)
        self.rows_seen_ = total
        warn_not_converged(result, settings, total, stacklevel=4)
        if self.collapsed_:
            constant = [
                name for name, c in zip(columns.labels, values.T, strict=True) if np.nanmin(c) == np.nanmax(c)
            ]
            warn_of_collapse(self.collapsed_, constant, stacklevel=4)
        warn_of_ridge(result.parameters, float(self.reg_covar), columns.labels, stacklevel=4)
        if all_equal(result.parameters) and not self.collapsed_:
            warn_of_equals("means_init", stacklevel=4)

    def _run_em(
        self,
        settings: MixtureEmSettings,
        values: Floats,
        weights: Floats | None,
        total: float,
        k: int,
        kind: str,
    ) -> _EmOutcome:
        problem = self._problem(values, weights, kind)
        given = {name: getattr(self, name) for name in INITS}
        makers: list[Callable[[], Components]]
        if self.warm_start and self.__sklearn_is_fitted__():
            makers = [partial(self._last, k, values.shape[1], kind)]
        else:
            # If the start is given completely, all starts would be the same.
            n_starts = 1 if all(part is not None for part in given.values()) else settings.n_init
            seeds = random_state_of(self.random_state)
            makers = [lambda: start(problem, k, self.init_params, _generator(seeds), **given)] * n_starts
        result, reached = run_mixture_em(problem, makers, settings, total)
        if result.fell:  # the best parameters may be those before a collapse
            collapsed = problem.collapsed(result.parameters)
            result = replace(result, parameters=replace(result.parameters, collapsed=collapsed))
        return result, reached

    def _judged(
        self,
        result: EmResult[Components],
        values: Floats,
        weights: Floats | None,
        total: float,
        k: int,
        kind: str,
    ) -> Candidate:
        value = result.value
        if self.hard:  # the objective of hard EM is not a likelihood of the rows
            soft = self._problem(values, weights, kind)
            soft.hard = False
            value = soft.expect(result.parameters)[1]
        free, collapsed = n_parameters(k, values.shape[1], kind), bool(result.parameters.collapsed)
        return candidate(k, kind, value, free, total, result.converged, result.stopped, collapsed)

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
        """The components of the last fit."""
        last = self._components()
        if last.means.shape != (k, width) or last.covariance_type != kind:
            raise SettingError(
                "warm_start=True continues from {length} components over {length2} columns with "
                "{covariance_type!r} covariances, but now {k} over {width} with {kind!r} are requested. Set "
                "warm_start=False.",
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
                "{name} fixes the components, but n_components={n_components!r} with "
                "covariance_type={covariance_type!r} requests a choice. Leave one of them out.",
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

    def _keep(self, fitted: Components) -> None:
        self.weights_, self.means_, self.covariances_ = fitted.weights, fitted.means, fitted.covariances
        self.precisions_, self.precisions_cholesky_ = fitted.precisions, fitted.precisions_cholesky
        self.covariance_type_, self.collapsed_ = fitted.covariance_type, fitted.collapsed
        self.n_components_ = len(fitted.weights)


def _generator(seeds: np.random.RandomState) -> np.random.Generator:
    """Return the generator of one start."""
    return np.random.default_rng(seeds.randint(2**32, size=4, dtype=np.uint32))


def with_weight(values: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """Leave out rows of weight zero, so that they cannot become a start or a component."""
    if weights is None or weights.all():
        return values, weights
    there = weights > 0.0
    return np.ascontiguousarray(values[there]), weights[there]
