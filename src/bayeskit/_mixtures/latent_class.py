"""Latent class analysis: naive Bayes with an unobserved class, for mixed tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._data.class_labels import as_weights
from bayeskit._data.table import open_dense
from bayeskit._mixtures.latent_fitting import LatentFitting
from bayeskit._mixtures.mixture_em import step_size
from bayeskit.errors import UsageError
from bayeskit.priors import Lidstone
from bayeskit.typing import CategoricalFeatures, PathLike, Seed, TableLike, WeightsLike


class LatentClass(LatentFitting):
    r"""A latent class model of categorical, boolean, numeric and count attributes, with missing cells.

    .. math:: P(x) = \sum_k P(k) \prod_i P(x_i \mid k)

    Each component is a class of naive Bayes. EM alternates between splitting every row between the components
    and estimating naive Bayes from the split rows, until convergence. A missing cell has no factor and is not
    counted; nothing is imputed. Components are numbered by weight, the largest first.

    Parameters
    ----------
    n_components : int, "bic", "aic", or several int
        "bic" and "aic" try 1 to 9 components and keep the best by that criterion. Of several numbers, the
        best by BIC is kept.
    families : mapping from attribute to "gaussian", "poisson", "negative-binomial", "bernoulli" or "table", optional
        By default, strings, categories and booleans are tables, and numbers are Gaussian.
    states : mapping from attribute to list of states, optional
        Declared states keep their order, and are included in smoothing even if no row has them.
    categorical_features : "from_dtype", "all", list or mask, default="from_dtype"
        Integer columns that are codes of categories.
    missing : {"ignore", "state"}, default="ignore"
        Ignore missing cells, or treat missing as a state of its own.
    smoothing : number, "mle", "laplace" or Lidstone, default=0.0
        The imaginary count of each cell of every table, and of each component weight. 0 is maximum
        likelihood; above 0 EM maximises the posterior. Rates get the same number of imaginary rows at the
        overall rate. Gaussians have a variance floor instead.
    variance_floor : float, default=1e-9
        The minimum variance in a component, as a share of the attribute's variance over all rows. Without a
        floor the likelihood is unbounded, because a component may collapse onto one row. About 1e-3 prevents
        this in small data sets.
    hard : bool
        Assign every row to its most probable component instead of splitting it between components.
    tol : float
        EM stops when a step gains less than this per row.
    max_iter : int
    n_init : int
        The number of starts. EM makes a few steps from each and continues from the best.
    accelerate : bool
        Extrapolate from every two steps (SQUAREM); soft EM only.
    time_limit : float, optional
        The limit in seconds for all starts and candidates together.
    random_state : int, numpy Generator, RandomState or None
    n_jobs : int, optional
        The number of threads. The result does not depend on it.
    progress : bool
        Show a progress bar.

    Attributes
    ----------
    weights_ : array of shape (K,)
    profiles_ : ClassProfiles
        Every attribute in every component.
    n_components_, n_parameters_ : int
    history_ : array of shape (``n_iter_`` + 1,)
        The objective at the start and after every step, a total over rows: the log-likelihood, plus the log
        prior if ``smoothing`` is above 0. With ``hard``, it is the joint log-likelihood of rows and
        components. It cannot decrease.
    lower_bound_, lower_bounds_, converged_, n_iter_
        As in scikit-learn's mixtures: bounds are means over rows, before each step.
    starts_ : array
        The value that each start reached.
    choice_ : ComponentChoice
        All candidates; only if there was something to choose.
    schema_, statistics_
        The attributes with their states; the statistics of naive Bayes, with every row split between
        components.

    Notes
    -----
    EM finds a local optimum, which depends on the start. Compare ``starts_``. Equal rows are merged, so the
    result depends neither on the order of the rows nor on whether a row appears twice or has weight 2.

    Examples
    --------
    >>> rows = [["red", "sweet"], ["red", "sweet"], ["green", "sour"], ["green", "sour"], ["green", None]]
    >>> found = LatentClass(2).fit(rows)
    >>> found.predict(rows).tolist(), found.weights_.round(3).tolist()
    ([1, 1, 0, 0, 0], [0.6, 0.4])
    >>> found.profiles_["x1"].values.round(3).tolist()  # of each component: P(sour), P(sweet)
    [[1.0, 0.0], [0.0, 1.0]]

    References
    ----------
    Lazarsfeld, Henry (1968), Latent structure analysis. Goodman (1974), Exploratory latent structure analysis using
    both identifiable and unidentifiable models.
    """

    def __init__(
        self,
        n_components: int | str | Sequence[int] = 2,
        *,
        families: Mapping[Any, str] | None = None,
        states: Mapping[Any, Any] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        missing: str = "ignore",
        smoothing: float | str | Lidstone = 0.0,
        variance_floor: float = 1e-9,
        hard: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 10,
        accelerate: bool = True,
        time_limit: float | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components = n_components
        self.families = families
        self.states = states
        self.categorical_features = categorical_features
        self.missing = missing
        self.smoothing = smoothing
        self.variance_floor = variance_floor
        self.hard = hard
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.accelerate = accelerate
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(
        self,
        X: TableLike,
        y: object = None,
        sample_weight: WeightsLike | None = None,
        *,
        start: ArrayLike | LatentClass | None = None,
    ) -> Self:
        """Fit the model to rows.

        Parameters
        ----------
        X : array, frame or mapping of columns, n rows
        y : ignored
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts as two rows. A row of weight 0 is ignored.
        start : array of shape (n, components), or a fitted LatentClass, optional
            The initial share of each component in each row, or a model to continue from. Random by default.
        """
        self._fit(self._checked(), open_dense(X, type(self).__name__), sample_weight, start)
        return self

    def fit_predict(
        self, X: TableLike, y: object = None, sample_weight: WeightsLike | None = None
    ) -> NDArray[np.int64]:
        """Fit the model to rows, and return the most probable component of each row."""
        return self.fit(X, y, sample_weight).predict(X)

    def partial_fit(self, X: TableLike, y: object = None, sample_weight: WeightsLike | None = None) -> Self:
        """Update the model with a batch by one step of online EM. The first batch is fitted as in ``fit``.

        Steps become smaller with every batch. New states are added.
        The likelihood may decrease. Components keep their numbers, and the history stays that of the first
        batch.
        """
        settings, table = self._checked(), open_dense(X, type(self).__name__)
        if not self.__sklearn_is_fitted__():
            self._fit(settings, table, sample_weight, None)
            return self
        weights = as_weights(sample_weight, table.n_rows)
        batch = float(table.n_rows if weights is None else weights.sum())
        share = step_size(self._fitted.statistics.total, batch)
        self._fitted = self._fitted.moved(table, weights, share, self.n_jobs)
        return self

    def forget(self, X: TableLike, y: object = None, sample_weight: WeightsLike | None = None) -> NoReturn:
        """Not supported: the parameters have changed since a row was added, so its contribution is unknown."""
        raise UsageError(
            "A model of hidden classes cannot forget rows: each was divided among the components under "
            "parameters that have changed since, so its contribution is unknown. Fit again without them."
        )

    def save(self, path: PathLike) -> None:
        """Write the model to one file, which contains data and no code. Read it with :func:`bayeskit.load`."""
        from bayeskit._mixtures.mixture_files import save_latent

        save_latent(self, path)
