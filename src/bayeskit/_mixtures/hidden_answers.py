"""What a fitted hidden Markov model answers: paths, posteriors, likelihoods, forecasts, samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from bayeskit._classifiers.notebook import html_repr, mimebundle
from bayeskit._data.encode import code_column
from bayeskit._data.sequences import Sequences, SequencesLike, open_sequences
from bayeskit._data.table import Table
from bayeskit._display_table import DisplayTable, as_html, as_text
from bayeskit._fitting.mixtures.hidden_states import (
    CodeEmission,
    HiddenCounts,
    HiddenParameters,
    NormalEmission,
    expected_counts,
    impossible_row,
)
from bayeskit._inference.chain import Chain, Impossible
from bayeskit._mixtures.mixture_em import whole
from bayeskit._mixtures.numeric_rows import NumericColumns, read_numbers
from bayeskit._random_state import generator_of
from bayeskit._schema import Name, Variable
from bayeskit.errors import ColumnError, DataError
from bayeskit.typing import Floats, Seed


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is expected at the steps after a sequence.

    Attributes
    ----------
    states : array of shape (steps, K)
        P(state) at each step.
    observations : array of shape (steps, categories), or None
        P(category) at each step, in the order of ``categories_``.
    means, variances : arrays of shape (steps, columns), or None
        Of numbers: the mean and the variance of the mixture over states.
    """

    states: Floats
    observations: Floats | None = None
    means: Floats | None = None
    variances: Floats | None = None


class HiddenAnswers(BaseEstimator):
    """Methods that use only the parameters of a hidden Markov model. Missing observations are summed out."""

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

    unseen: str
    history_: Floats
    starts_: Floats
    states_: NDArray[Any]
    counts_: HiddenCounts | None
    converged_: bool
    n_iter_: int
    fell_: bool
    _parameters: HiddenParameters
    _variable: Variable | None
    _columns: NumericColumns | None

    def _rows(self, given: Sequences) -> NDArray[Any]:
        """Return the codes or numbers of sequences for a fitted model."""
        self._fitted()
        if self._variable is None:
            return read_numbers(given.table, type(self).__name__, self._columns)[0]
        unseen: Any = self.unseen
        return np.asarray(code_column(one_column(given.table), 0, self._variable, unseen)[1][:], np.int64)

    def _chain(
        self, X: SequencesLike, lengths: ArrayLike | None, sequence: Name | None
    ) -> tuple[Sequences, NDArray[Any], Chain]:
        parameters = self._fitted()
        given = open_sequences(X, lengths, sequence, type(self).__name__)
        rows = self._rows(given)
        return given, rows, parameters.chain(rows, given.fresh)

    # -- answers -------------------------------------------------------------------------------

    def predict(
        self, X: SequencesLike, lengths: ArrayLike | None = None, *, sequence: Name | None = None
    ) -> Any:
        """Return the most probable path of states (Viterbi): of the paths as a whole, not of each step.

        Of equally probable paths, the one whose last states come first is returned. A list of sequences gives a list
        of arrays, rows give one array.
        """
        return self.decode(X, lengths, sequence=sequence)[1]

    def decode(
        self, X: SequencesLike, lengths: ArrayLike | None = None, *, sequence: Name | None = None
    ) -> tuple[float, Any]:
        """Return log P(path, observations) of the most probable paths of all sequences, and the paths."""
        given, _, chain = self._chain(X, lengths, sequence)
        try:
            path, value = chain.best_path()
        except Impossible as impossible:
            raise impossible_row(impossible.row, given.fresh) from None
        return value, given.answers(self.states_[path])

    def predict_proba(
        self, X: SequencesLike, lengths: ArrayLike | None = None, *, sequence: Name | None = None
    ) -> Any:
        """Return P(state | whole sequence) of each step (smoothing): shape (steps, K)."""
        given, _, chain = self._chain(X, lengths, sequence)
        found = np.empty((chain.n_rows, chain.n_states))
        try:
            for part in chain.backward():
                found[part.block.begin : part.block.end] = part.gamma
        except Impossible as impossible:
            raise impossible_row(impossible.row, given.fresh) from None
        return given.answers(found)

    def score(
        self, X: SequencesLike, lengths: ArrayLike | None = None, *, sequence: Name | None = None
    ) -> float:
        """Return log P(observations), the sum over all sequences; −inf if one is impossible."""
        return self._chain(X, lengths, sequence)[2].log_probability()

    def filter(self, X: SequencesLike | Iterator[Any]) -> Iterator[Floats]:
        """Yield P(state | observations so far) after each step of one sequence.

        The memory does not grow with the sequence. From an iterator, observations are taken one by one, and each is
        answered before the next is taken: categories, or rows of numbers.

        Examples
        --------
        >>> from bayeskit import HiddenMarkov
        >>> coin = HiddenMarkov.of([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], emissionprob=[[0.9, 0.1], [0.2, 0.8]])
        >>> [p.round(3).tolist() for p in coin.filter(iter([0, 0, 1]))]
        [[0.818, 0.182], [0.933, 0.067], [0.407, 0.593]]
        """
        parameters = self._fitted()
        if isinstance(X, Iterator):
            return self._filter_live(parameters, X)
        given, _, chain = self._chain(X, None, None)
        if len(given.lengths) != 1:
            raise DataError(
                "filter follows one sequence, and {n} were given. Call it for each.", n=len(given.lengths)
            )
        return _rows_of(chain, given.fresh)

    def _filter_live(self, parameters: HiddenParameters, observations: Iterable[Any]) -> Iterator[Floats]:
        carry, fresh = None, np.ones(1, np.uint8)
        for step, observation in enumerate(observations):
            rows = self._rows(open_sequences([_one_row(observation)], None, None, type(self).__name__))
            try:
                (block,) = parameters.chain(rows, fresh).forward(carry)
            except Impossible:
                raise impossible_row(step, np.eye(1, step + 1, dtype=np.uint8)[0]) from None
            carry, fresh = block.after, np.zeros(1, np.uint8)
            yield block.filtered[0]

    def forecast(self, X: SequencesLike | None = None, steps: int = 1) -> Forecast:
        """Return what is expected at the steps after one sequence; without a sequence, at the first steps.

        Examples
        --------
        >>> from bayeskit import HiddenMarkov
        >>> coin = HiddenMarkov.of([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], emissionprob=[[0.9, 0.1], [0.2, 0.8]])
        >>> coin.forecast([0, 0, 1], steps=2).observations.round(4).tolist()
        [[0.4981, 0.5019], [0.5084, 0.4916]]
        """
        parameters, n = self._fitted(), whole("steps", steps, 1)
        here = parameters.start
        if X is not None:
            *_, last = self.filter(X)
            here = last @ parameters.transition
        states = np.empty((n, parameters.n_states))
        for step in range(n):
            states[step] = here
            here = here @ parameters.transition
        emission = parameters.emission
        if isinstance(emission, CodeEmission):
            return Forecast(states, observations=states @ emission.table)
        means = states @ emission.means
        away = emission.means[None] - means[:, None]
        variances = np.einsum("tk,tkj->tj", states, emission.variances[None] + away * away)
        return Forecast(states, means=means, variances=variances)

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw one sequence of so many steps. Return its observations and its states."""
        parameters, n = self._fitted(), whole("n_samples", n_samples, 1)
        rng = generator_of(random_state)
        limits = np.cumsum(parameters.transition, axis=1)
        limits[:, -1] = np.inf
        draws, states = rng.random(n), np.empty(n, np.int64)
        first = np.cumsum(parameters.start)
        first[-1] = np.inf
        state = int(np.searchsorted(first, draws[0], "right"))
        for step in range(n):
            if step:
                state = int(np.searchsorted(limits[state], draws[step], "right"))
            states[step] = state
        observed = parameters.emission.draw(states, rng)
        if self._variable is not None:
            observed = self.categories_[observed]
        return observed, self.states_[states]

    def bic(
        self, X: SequencesLike, lengths: ArrayLike | None = None, *, sequence: Name | None = None
    ) -> float:
        """Return the BIC on these sequences, −2 log L + p log n with n steps. Lower is better."""
        given, _, chain = self._chain(X, lengths, sequence)
        return float(-2.0 * chain.log_probability() + self.n_parameters_ * np.log(len(given.fresh)))

    def aic(
        self, X: SequencesLike, lengths: ArrayLike | None = None, *, sequence: Name | None = None
    ) -> float:
        """Return the AIC on these sequences, −2 log L + 2 p. Lower is better."""
        return -2.0 * self.score(X, lengths, sequence=sequence) + 2.0 * self.n_parameters_

    def expected_counts(
        self, X: SequencesLike, lengths: ArrayLike | None = None, *, sequence: Name | None = None
    ) -> HiddenCounts:
        """Return the expected counts of sequences under this model. Those of parts can be merged exactly."""
        given, rows, _ = self._chain(X, lengths, sequence)
        return expected_counts(self._parameters, rows, given.fresh)

    # -- the fitted model ----------------------------------------------------------------------

    @property
    def startprob_(self) -> Floats:
        """P(first state)."""
        return self._fitted().start

    @property
    def transmat_(self) -> Floats:
        """P(next state | state), the next state on the last axis."""
        return self._fitted().transition

    @property
    def emissionprob_(self) -> Floats:
        """P(category | state), in the order of ``categories_``."""
        emission = self._fitted().emission
        if not isinstance(emission, CodeEmission):
            raise AttributeError("This model emits numbers: it has means_ and variances_.")
        return emission.table

    @property
    def means_(self) -> Floats:
        """The mean of each column in each state."""
        return self._normal().means

    @property
    def variances_(self) -> Floats:
        """The variance of each column in each state."""
        return self._normal().variances

    @property
    def categories_(self) -> NDArray[Any]:
        """The categories, in the order of the columns of ``emissionprob_``."""
        self._fitted()
        if self._variable is None:
            raise AttributeError("This model emits numbers: it has means_ and variances_.")
        states = self._variable.states
        alike = len({type(s) for s in states}) == 1
        return np.array(states) if alike else np.fromiter(states, object)

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters."""
        return self._fitted().n_parameters

    def _normal(self) -> NormalEmission:
        emission = self._fitted().emission
        if not isinstance(emission, NormalEmission):
            raise AttributeError("This model emits categories: it has emissionprob_.")
        return emission

    def _counts(self) -> HiddenCounts:
        assert self.counts_ is not None
        return self.counts_

    def _is_known(self) -> bool:
        return self.counts_ is not None and len(self.history_) == 0

    def _keep(
        self,
        parameters: HiddenParameters,
        variable: Variable | None,
        columns: NumericColumns | None,
        states: NDArray[Any],
        counts: HiddenCounts | None,
    ) -> None:
        self._parameters, self._variable, self._columns, self.states_ = parameters, variable, columns, states
        self.counts_ = counts
        self.n_features_in_ = 1 if columns is None else columns.width

    def _record(self) -> None:
        """Set what EM would have set."""
        self.history_, self.starts_ = np.zeros(0), np.zeros(0)
        self.converged_, self.n_iter_, self.fell_ = True, 0, False

    def _fitted(self) -> HiddenParameters:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )
        return self._parameters

    def __sklearn_is_fitted__(self) -> bool:
        return "_parameters" in self.__dict__

    def _page(self) -> DisplayTable:
        parameters, names = self._fitted(), [str(label) for label in self.states_.tolist()]
        emission = parameters.emission
        if isinstance(emission, CodeEmission):
            columns = [str(label) for label in self.categories_.tolist()]
            cells = [[f"{p:.4f}" for p in row] for row in emission.table]
        else:
            assert self._columns is not None
            columns = [str(label) for label in self._columns.labels]
            spread = np.sqrt(emission.variances)
            cells = [
                [f"{m:.4g} ± {s:.3g}".replace("-", "−") for m, s in zip(*pair, strict=True)]
                for pair in zip(emission.means, spread, strict=True)
            ]
        rows = tuple(
            (name, f"{parameters.start[k]:.4f}", *(f"{p:.4f}" for p in parameters.transition[k]), *cells[k])
            for k, name in enumerate(names)
        )
        header = ("state", "start", *(f"→ {name}" for name in names), *columns)
        return DisplayTable(f"HiddenMarkov: {len(names)} states", header, rows)

    def _card(self) -> str:
        return as_html(self._page())

    def table(self) -> str:
        """Return the parameters as a table: start, transitions and emissions of each state."""
        return as_text(self._page())


def _rows_of(chain: Chain, fresh: NDArray[np.uint8]) -> Iterator[Floats]:
    try:
        for block in chain.forward():
            yield from block.filtered
    except Impossible as impossible:
        raise impossible_row(impossible.row, fresh) from None


def _one_row(observation: Any) -> Any:
    """Return one observation as a sequence of one step."""
    if isinstance(observation, (list, tuple, np.ndarray)) and np.ndim(observation) == 1:
        return np.asarray(observation, dtype=object if None in list(observation) else None)[None]
    return [observation]


def one_column(table: Table) -> Table:
    if table.shape[1] != 1:
        raise ColumnError(
            "There are {n} columns, and emission='categorical' observes one. Choose one, join them into one, or use "
            "DynamicNetwork, which observes several nodes.",
            n=table.shape[1],
        )
    return table
