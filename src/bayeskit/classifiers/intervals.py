"""How far a posterior can be trusted: credible intervals from the counts behind it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.answers import Answers
from bayeskit.classifiers.state import State
from bayeskit.data.table import Table, open_table
from bayeskit.errors import SettingError

if TYPE_CHECKING:
    from bayeskit.estimation.posterior_draws import Draws
    from bayeskit.report.posterior_interval import PosteriorInterval

Floats = NDArray[np.float64]


class HasIntervals(State):
    """Intervals on P(c | x), from draws that are the classifier's own."""

    if TYPE_CHECKING:

        def predict_proba(self, X: Any) -> Floats: ...

    def predict_interval(
        self, X: Any, level: float = 0.9, *, draws: int = 1000, seed: int = 0
    ) -> PosteriorInterval:
        r"""Return credible intervals of P(c | x) of each row: 0.9 from 3 rows is not 0.9 from 3,000.

        The tables of a model are known only as well as its counts tell. Their posterior is Dirichlet(n + a), a being
        the imaginary counts of the smoothing; that of a normal is normal-inverse-gamma, that of a rate gamma. All of
        them are drawn many times, each time the row is classified, and the interval is what a share ``level`` of the
        answers lies in, as much below as above. The structure of a model, its cut points and its calibration are taken
        as they are; so are the expected counts of unlabelled rows. Constants of back-off that TAN and kDB chose by the
        same rows are no prior: one imaginary row for each state stands in their place, distributed as the table with a
        parent less.

        In a BayesNetClassifier the table of each node is Dirichlet, the regression of a continuous one has the
        posterior of the reference prior; its arcs are taken as they are.

        Under ``alpha=0`` a value never seen with a class stays impossible in every draw. A Gaussian attribute has one
        imaginary row with the variance within classes; family "student" has its own prior.

        Parameters
        ----------
        X : array, frame or sparse matrix
            The rows, as in ``predict_proba``.
        level : float, default=0.9
            The probability that P(c | x) lies in its interval, between 0 and 1.
        draws : int, default=1000
        seed : int, default=0
            The same seed gives the same intervals, whatever other rows are asked with a row.

        Returns
        -------
        PosteriorInterval
            With ``posterior``, ``lower``, ``upper`` and ``median`` of shape (n, K).

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> for times in (1, 300):
        ...     model = NaiveBayes().fit([["a"]] * 10 * times, (["yes"] * 9 + ["no"]) * times)
        ...     found = model.predict_interval([["a"]])
        ...     print(found.posterior[0, 1].round(2), found.lower[0, 1].round(2), found.upper[0, 1].round(2))
        0.83 0.63 0.97
        0.9 0.89 0.91
        """
        from bayeskit.estimation.posterior_draws import Draws
        from bayeskit.report.posterior_interval import PosteriorInterval

        level, draws, seed = _checked(level, draws, seed)
        posterior = self.predict_proba(X)  # refuses what cannot be predicted
        tail = 0.5 * (1.0 - level)
        found = np.empty((3, *posterior.shape))
        for rows, shares in self._posterior_draws(open_table(X), Draws(seed, draws)):
            found[:, rows] = _quantiles(shares, (tail, 0.5, 1.0 - tail))
        labels = tuple(self.classes_.tolist())
        return PosteriorInterval(labels, level, posterior, found[0], found[2], found[1], draws)

    @abstractmethod
    def _posterior_draws(self, table: Table, draws: Draws) -> Iterator[tuple[Any, Floats]]:
        """Yield the places of some rows, and P(c | x) of each under every draw: shape (rows, draws, K)."""


class Intervals(HasIntervals, Answers):
    """The draws of a classifier of counts."""

    def _posterior_draws(self, table: Table, draws: Draws) -> Iterator[tuple[Any, Floats]]:
        from bayeskit.learning.credible import blocks_of, drawn_of

        lazy = self._lazy_state()
        fitted = lazy.fitted if lazy is not None else self._require("predict_interval")
        assert fitted.recipe is not None
        drawn = drawn_of(self.statistics_, fitted.recipe, type(self).__name__)
        encoded = fitted.encode(table, drawn.schema, fitted.recipe.unseen)
        for start, stop in blocks_of(encoded, draws.n):
            logs = drawn.log_posteriors(encoded.chunk(start, stop), draws)
            n, _, k = logs.shape
            shares = np.exp(self._calibrated(logs.reshape(-1, k), drawn.schema)).reshape(n, draws.n, k)
            yield slice(start, stop), shares


def _quantiles(shares: Floats, at: tuple[float, float, float]) -> Floats:
    """Return quantiles over the draws, shape (3, n, K); of two classes one is the other's mirrored."""
    if shares.shape[2] != 2:
        return np.asarray(np.quantile(shares, at, axis=1))
    first = np.quantile(np.ascontiguousarray(shares[:, :, 0]), at, axis=1)
    return np.stack([first, 1.0 - first[::-1]], axis=2)


def _checked(level: Any, draws: Any, seed: Any) -> tuple[float, int, int]:
    number = isinstance(level, (int, float, np.integer, np.floating)) and not isinstance(level, bool)
    if not number or not 0.0 < float(level) < 1.0:
        raise SettingError(f"level is {level!r}; give a probability between 0 and 1, such as 0.9.")
    for name, value, least in (("draws", draws, 10), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise SettingError(f"{name} is {value!r}; give a whole number of at least {least}.")
    return float(level), int(draws), int(seed)
