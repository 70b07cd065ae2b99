"""Gaussian mixtures compatible with scikit-learn's, with missing cells, weights and model choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._blas import one_blas_thread
from bayeskit._data.class_labels import as_weights
from bayeskit._mixtures.gaussian_fitting import GaussianFitting, with_weight
from bayeskit._mixtures.mixture_em import mix_in, sums_of, warn_of_collapse
from bayeskit._mixtures.numeric_rows import read_numbers
from bayeskit.errors import UsageError
from bayeskit.typing import PathLike, Seed, TableLike, WeightsLike


class GaussianMixture(GaussianFitting):
    r"""A Gaussian mixture: each row comes from one of several Gaussians, and which one is unknown.

    .. math:: p(x) = \sum_k w_k\, N(x;\, \mu_k, \Sigma_k)

    Constructor, methods and fitted attributes are those of :class:`sklearn.mixture.GaussianMixture`. From the
    same start both make the same steps. New features are:

    - missing cells (NaN), which are integrated out and not imputed;
    - ``sample_weight``;
    - a choice between several numbers of components and covariance types;
    - hard EM, acceleration and online learning.

    Parameters
    ----------
    n_components : int, "bic", "aic", or several int
        "bic" and "aic" try 1 to 9 components and keep the best by that criterion. Of several numbers, the
        best by BIC is kept.
    covariance_type : "full", "tied", "diag", "spherical", or several of them
    tol : float
        EM stops when a step gains less than this per row.
    reg_covar : float
        Added to every variance. If it is above 0, the likelihood may decrease; the best parameters are kept.
    max_iter : int
    n_init : int
        The number of starts. EM makes a few steps from each and continues from the best.
    init_params : "kmeans", "k-means++", "random" or "random_from_data"
    weights_init, means_init, precisions_init : array, optional
        Initial values, or some of them.
    random_state : int, numpy Generator, RandomState or None
    warm_start : bool
        Continue from the last fit.
    verbose, verbose_interval : int
    hard : bool
        Assign every row to its most probable component instead of splitting it between components.
        ``history_`` is then the joint log-likelihood of rows and components.
    accelerate : bool
        Extrapolate from every two steps (SQUAREM).
    time_limit : float, optional
        The limit in seconds for all starts and candidates together.
    n_jobs : int, optional
        The number of threads. The result does not depend on it.
    progress : bool
        Show a progress bar.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : array
        As in scikit-learn.
    converged_, n_iter_, lower_bound_, lower_bounds_
        As in scikit-learn: bounds are means over rows, before each step.
    history_ : array of shape (``n_iter_`` + 1,)
        The log-likelihood of all rows at the start and after every step. It cannot decrease if ``reg_covar``
        is 0.
    fell_ : bool
        Whether it decreased by more than rounding.
    starts_ : array of shape (n_init,)
        The value that each start reached.
    collapsed_ : tuple of int
        Components without rows, or without spread in some direction.
    n_components_ : int
    covariance_type_ : str
    choice_ : ComponentChoice
        All candidates; only if there was something to choose.

    Notes
    -----
    EM finds a local optimum, which depends on the start. Use several starts (``n_init``), and compare
    ``starts_``.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1, 2], [2, 4], [0, 0], [1, np.nan], [10, 2], [12, 4], [11, 1], [np.nan, np.nan]])
    >>> found = GaussianMixture(2, random_state=0).fit(rows)
    >>> sorted(found.means_[:, 0].round(2).tolist())
    [1.0, 11.0]
    >>> (found.predict([[0.5, np.nan]]) == found.predict(rows[:1])).all()
    np.True_

    References
    ----------
    Dempster, Laird, Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm. Ghahramani, Jordan
    (1994), Supervised learning from incomplete data via an EM approach.
    """

    def __init__(
        self,
        n_components: int | str | Sequence[int] = 1,
        *,
        covariance_type: str | Sequence[str] = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: ArrayLike | None = None,
        means_init: ArrayLike | None = None,
        precisions_init: ArrayLike | None = None,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        hard: bool = False,
        accelerate: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.hard = hard
        self.accelerate = accelerate
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: TableLike, y: object = None, sample_weight: WeightsLike | None = None) -> Self:
        """Fit the mixture to rows.

        Parameters
        ----------
        X : array, frame or mapping of columns, n rows
            Numbers, with NaN for missing. A row of only NaN has no effect.
        y : ignored
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts as two rows. A row of weight 0 is ignored.
        """
        settings = self._checked()
        values, columns = read_numbers(X, type(self).__name__)
        with one_blas_thread:
            self._fit(settings, values, columns, sample_weight)
        return self

    def fit_predict(
        self, X: TableLike, y: object = None, sample_weight: WeightsLike | None = None
    ) -> NDArray[np.int64]:
        """Fit the mixture to rows, and return the most probable component of each row."""
        return self.fit(X, y, sample_weight).predict(X)

    def partial_fit(self, X: TableLike, y: object = None, sample_weight: WeightsLike | None = None) -> Self:
        """Update the mixture with a batch by one step of online EM. The first batch is fitted as in ``fit``.

        Steps become smaller with every batch. The likelihood may
        decrease. The history, the bounds and the choice stay those of ``fit`` or of the first batch.
        """
        self._checked()
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight)
        values, _ = read_numbers(X, type(self).__name__, self._columns)
        values, weights = with_weight(values, as_weights(sample_weight, len(values)))
        weight = float(len(values) if weights is None else weights.sum())
        before = self._components()
        problem = self._problem(values, weights, self.covariance_type_)
        sums, _ = problem.expect(before)
        model = sums_of(before, self.rows_seen_, float(self.reg_covar))
        self._keep(problem.maximise(mix_in(model, self.rows_seen_, sums, weight)))
        self.rows_seen_ += weight
        warn_of_collapse(self.collapsed_, stacklevel=3)
        return self

    def forget(self, X: TableLike, y: object = None, sample_weight: WeightsLike | None = None) -> NoReturn:
        """Not supported: the parameters have changed since a row was added, so its contribution is unknown."""
        raise UsageError(
            "A mixture cannot forget rows: each was divided among the components under parameters that have "
            "changed since, so its contribution is unknown. Fit again without them."
        )

    def save(self, path: PathLike) -> None:
        """Write the mixture to one file, which contains data and no code. Read it with :func:`bayeskit.load`."""
        from bayeskit._mixtures.mixture_files import save_gaussian

        save_gaussian(self, path)
