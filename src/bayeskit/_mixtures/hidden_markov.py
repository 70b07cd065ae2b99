"""Hidden Markov models: sequences whose steps depend on a hidden state that changes over time."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from bayeskit._blas import one_blas_thread
from bayeskit._classifiers.notebook import html_repr, mimebundle
from bayeskit._data.columns import is_missing
from bayeskit._data.encode import code_column
from bayeskit._data.sequences import Sequences, SequencesLike, open_sequences
from bayeskit._data.table import Table
from bayeskit._display_table import DisplayTable, as_html, as_text
from bayeskit._fitting.mixtures.hidden_states import (
    SMALLEST_VARIANCE,
    CodeEmission,
    Emission,
    HiddenCounts,
    HiddenParameters,
    HiddenProblem,
    NormalEmission,
    expected_counts,
    impossible_row,
    known_counts,
    overall,
    pooled,
    random_start,
)
from bayeskit._inference.chain import Chain, Impossible
from bayeskit._messages import Joined, listed
from bayeskit._mixtures.mixture_em import (
    MixtureEmSettings,
    real,
    run_mixture_em,
    store_em_result,
    truth,
    warn_not_converged,
    whole,
)
from bayeskit._mixtures.numeric_rows import NumericColumns, read_numbers, refuse_empty
from bayeskit._random_state import generator_of
from bayeskit._schema import Label, Name, Variable, first_twice, sorted_labels
from bayeskit.errors import ColumnError, DataError, SettingError, SuspectResult, UsageError
from bayeskit.priors import Lidstone, as_prior
from bayeskit.typing import Floats, PathLike, Seed

_EMISSIONS = ("categorical", "gaussian")
# A state with a smaller share of the steps is as good as never visited.
_NEVER = 1e-9


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


class HiddenMarkov(BaseEstimator):
    r"""A hidden Markov model: what is observed at each step depends on a state that is not.

    .. math:: P(x, z) = \pi_{z_0}\, b_{z_0}(x_0) \prod_{t > 0} a_{z_{t-1} z_t}\, b_{z_t}(x_t)

    Sequences are given in one of three ways: a list with one sequence in each item (a list, an array or a frame); all
    rows together with ``lengths=``, as in hmmlearn; or a frame with a column ``sequence=`` that tells them apart.
    Missing observations (None, NaN) are summed out.

    Parameters
    ----------
    n_states : int
        The number of hidden states.
    emission : {"categorical", "gaussian"}
        One column of categories (strings, integers, booleans), or columns of numbers that are independent and normal
        in each state.
    categories : list, optional
        Declared categories keep their order, and are included in smoothing even if no sequence has them.
    unseen : {"error", "ignore"}
        What to do with a category that the training sequences do not have: ``"ignore"`` treats it as missing.
    smoothing : number, "mle", "laplace" or Lidstone, default=0.0
        The imaginary count of each cell of all tables. Above 0 EM maximises the posterior.
    variance_floor : float, default=1e-6
        The minimum variance in a state, as a share of the column's variance over all steps.
    tol : float
        EM stops when a step of it gains less than this per time step.
    max_iter : int
    n_init : int
        The number of starts. EM makes a few steps from each and continues from the best.
    accelerate : bool
        Extrapolate from every two steps of EM (SQUAREM).
    time_limit : float, optional
        The limit in seconds for all starts together.
    random_state : int, numpy Generator, RandomState or None
    progress : bool
        Show a progress bar.

    Attributes
    ----------
    startprob_ : array of shape (K,)
        P(first state).
    transmat_ : array of shape (K, K)
        P(next state | state).
    emissionprob_ : array of shape (K, categories)
        P(category | state), in the order of ``categories_``.
    means_, variances_ : arrays of shape (K, columns)
        Of numbers in each state.
    states_ : array of shape (K,)
        The labels of the states: 0, 1, …, or those of ``states=``.
    counts_ : HiddenCounts
        The counts behind the parameters: expected counts after EM, raw counts if the states were known.
    history_ : array of shape (``n_iter_`` + 1,)
        The objective of EM at the start and after every step: the log-likelihood, plus the log prior if ``smoothing``
        is above 0. It cannot decrease.
    starts_, converged_, n_iter_, fell_
        As in :class:`LatentClass`.

    Notes
    -----
    Time is linear in the number of steps. Filtering needs constant memory, and smoothing memory for the square root of
    the number of steps, besides the answer. Probabilities do not underflow, however long a sequence is.

    Examples
    --------
    Balls are drawn from boxes, and nobody sees which box (Li, *Statistical Learning Methods*, example 10.2).

    >>> model = HiddenMarkov.of(
    ...     [0.2, 0.4, 0.4],
    ...     [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]],
    ...     emissionprob=[[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]],
    ...     categories=["red", "white"],
    ...     states=[1, 2, 3],
    ... )
    >>> drawn = ["red", "white", "red"]
    >>> round(float(np.exp(model.score(drawn))), 6), model.predict(drawn).tolist()
    (0.130218, [3, 3, 3])

    References
    ----------
    Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition.
    """

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

    _parameters: HiddenParameters
    _variable: Variable | None
    _columns: NumericColumns | None
    states_: NDArray[Any]
    counts_: HiddenCounts | None
    converged_: bool

    def __init__(
        self,
        n_states: int = 2,
        *,
        emission: str = "categorical",
        categories: Sequence[Label] | None = None,
        unseen: str = "error",
        smoothing: float | str | Lidstone = 0.0,
        variance_floor: float = 1e-6,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 10,
        accelerate: bool = False,
        time_limit: float | None = None,
        random_state: Seed = 0,
        progress: bool = False,
    ) -> None:
        self.n_states = n_states
        self.emission = emission
        self.categories = categories
        self.unseen = unseen
        self.smoothing = smoothing
        self.variance_floor = variance_floor
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.accelerate = accelerate
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress

    @classmethod
    def of(
        cls,
        startprob: ArrayLike,
        transmat: ArrayLike,
        *,
        emissionprob: ArrayLike | None = None,
        categories: Sequence[Label] | None = None,
        means: ArrayLike | None = None,
        variances: ArrayLike | None = None,
        states: Sequence[Label] | None = None,
    ) -> Self:
        """Return a model with given parameters.

        Parameters
        ----------
        startprob : array of shape (K,)
        transmat : array of shape (K, K)
        emissionprob : array of shape (K, categories)
        categories : list, by default 0, 1, …
        means, variances : arrays of shape (K, columns), instead of ``emissionprob``
        states : labels of the states, by default 0, 1, …
        """
        start = _distribution("startprob", startprob, 1)
        k = len(start)
        transition = _distribution("transmat", transmat, 2, k)
        if (emissionprob is None) == (means is None) or (means is None) != (variances is None):
            raise SettingError("Give emissionprob=, or means= and variances= together.")
        emission: Emission
        variable, columns = None, None
        if emissionprob is not None:
            table = _distribution("emissionprob", emissionprob, 2, k)
            labels = range(table.shape[1]) if categories is None else categories
            variable = _declared(labels)
            if variable.size != table.shape[1]:
                raise SettingError(
                    "emissionprob has {n} columns, and there are {m} categories.",
                    n=table.shape[1],
                    m=variable.size,
                )
            emission = CodeEmission(table)
        else:
            mean, variance = _numbers("means", means, k), _numbers("variances", variances, k)
            if mean.shape != variance.shape or not (variance >= SMALLEST_VARIANCE).all():
                raise SettingError(
                    "variances has the shape {shape}; give a number above 0 for each of means, which has {other}.",
                    shape=variance.shape,
                    other=mean.shape,
                )
            emission, columns = NormalEmission(mean, variance), NumericColumns(mean.shape[1], None)
        model = cls(k, emission=emission.kind, categories=categories)
        names = np.arange(k) if states is None else np.array(states)
        if names.shape != (k,) or first_twice(names.tolist()) is not None:
            raise SettingError("states is {states!r}; give {k} different labels.", states=states, k=k)
        model._keep(HiddenParameters(start, transition, emission), variable, columns, names, None)
        model._record()
        return model

    # -- learning ------------------------------------------------------------------------------

    @one_blas_thread
    def fit(
        self,
        X: SequencesLike,
        lengths: ArrayLike | None = None,
        *,
        states: ArrayLike | Sequence[Any] | Name | None = None,
        sequence: Name | None = None,
        start: HiddenMarkov | None = None,
    ) -> Self:
        """Fit the model to sequences: by EM, or by counting if the states are known.

        Parameters
        ----------
        X : list of sequences, or rows
        lengths : list of int, optional
            How many rows each sequence has.
        states : labels of all steps, optional
            The known states, shaped as the sequences are; or the name of the column that holds them. The number of
            different labels must be ``n_states``.
        sequence : name of a column, optional
            It tells the sequences apart.
        start : fitted HiddenMarkov, optional
            A model to continue from, instead of random starts. Its states keep their numbers.
        """
        settings = self._checked()
        name = states if isinstance(states, str) else None
        given = open_sequences(X, lengths, sequence, type(self).__name__, name)
        if states is not None:
            if start is not None:
                raise SettingError("start= is for EM; with states= there is nothing to begin with.")
            self._fit_known(given, given.labels if name is not None else _flat_labels(states, given), None)
        elif start is not None:
            self._continue(given, start, settings)
        else:
            self._fit_hidden(given, settings)
        return self

    def partial_fit(
        self,
        X: SequencesLike,
        lengths: ArrayLike | None = None,
        *,
        states: ArrayLike | Sequence[Any] | Name | None = None,
        sequence: Name | None = None,
    ) -> Self:
        """Add sequences whose states are known. The result is that of fitting all of them together.

        Sequences without states cannot be added: their expected counts depend on the final parameters.
        """
        self._checked()
        if states is None:
            raise UsageError(
                "Sequences without states cannot be added to a model: how each was split between the states changes "
                "with every step of EM. Fit all sequences together, or pass states=."
            )
        if self.__sklearn_is_fitted__() and not self._is_known():
            raise UsageError(
                "This model holds expected counts, to which raw counts cannot be added. Fit all sequences with "
                "states= instead."
            )
        name = states if isinstance(states, str) else None
        given = open_sequences(X, lengths, sequence, type(self).__name__, name)
        labels = given.labels if name is not None else _flat_labels(states, given)
        self._fit_known(given, labels, self if self.__sklearn_is_fitted__() else None)
        return self

    def forget(self, X: SequencesLike, lengths: ArrayLike | None = None) -> NoReturn:
        """Not supported: how a sequence was split between the states depends on all others."""
        raise UsageError(
            "A hidden Markov model cannot forget sequences: each was split between the states under parameters that "
            "have changed since, so what it added is not known. Fit again without them."
        )

    def _fit_hidden(self, given: Sequences, settings: MixtureEmSettings) -> None:
        rows, variable, columns = self._training_rows(given, None)
        k, n = self.n_states, _observed(rows, variable)
        if k > n:
            raise SettingError(
                "n_states is {k}, and there are {n} observed steps. Ask for fewer states, or pass more sequences.",
                k=k,
                n=n,
            )
        rng = generator_of(self.random_state)
        like = _any_emission(rows, variable)
        problem = self._problem(rows, given.fresh, like)
        starts = [lambda: random_start(rows, k, like, rng)] * (settings.n_init if k > 1 else 1)
        self._run(problem, starts, settings, variable, columns, by_size=True)

    def _continue(self, given: Sequences, start: HiddenMarkov, settings: MixtureEmSettings) -> None:
        if not isinstance(start, HiddenMarkov) or not start.__sklearn_is_fitted__():
            raise SettingError("start is {start!r}; give a fitted HiddenMarkov.", start=start)
        before = start._parameters
        if (before.n_states, before.emission.kind) != (self.n_states, self.emission):
            raise SettingError(
                "start has {k} states that emit {kind}, and this model is to have {k2} that emit {kind2}.",
                k=before.n_states,
                kind=before.emission.kind,
                k2=self.n_states,
                kind2=self.emission,
            )
        rows = start._rows(given)
        problem = self._problem(rows, given.fresh, before.emission)
        self._run(
            problem,
            [lambda: before],
            settings,
            start._variable,
            start._columns,
            by_size=False,
            names=start.states_,
        )

    def _run(
        self,
        problem: HiddenProblem,
        starts: Sequence[Any],
        settings: MixtureEmSettings,
        variable: Variable | None,
        columns: NumericColumns | None,
        *,
        by_size: bool,
        names: NDArray[Any] | None = None,
    ) -> None:
        total = float(len(problem.fresh))
        result, reached = run_mixture_em(problem, starts, settings, total)
        found = result.parameters
        counts = problem.counts_at(found)
        if by_size:
            order = np.argsort(-counts.occupancy, kind="stable")
            found, counts = found.permuted(order), counts.permuted(order)
        self._keep(found, variable, columns, np.arange(self.n_states) if names is None else names, counts)
        store_em_result(self, result, reached, total)
        warn_not_converged(result, settings, total, stacklevel=5)
        never = np.flatnonzero(counts.occupancy < _NEVER * total)
        if len(never):
            warnings.warn(
                SuspectResult(
                    "State{_s} {which} {_is} never visited: what {_it} emits and where {_it} leads is not known. "
                    "Ask for fewer states, more starts (n_init) or another random_state.",
                    which=listed(map(str, never.tolist()), 12),
                    _s="" if len(never) == 1 else "s",
                    _is="is" if len(never) == 1 else "are",
                    _it="it" if len(never) == 1 else "each",
                ),
                stacklevel=4,
            )

    def _fit_known(self, given: Sequences, labels: NDArray[Any] | None, before: HiddenMarkov | None) -> None:
        assert labels is not None
        if any(map(is_missing, labels.tolist())):
            row = next(i for i, label in enumerate(labels.tolist()) if is_missing(label))
            raise DataError(
                "The state of step {row} is missing. With states=, every step needs its own; leave states= out to "
                "find them by EM.",
                row=row,
            )
        known = before.states_.tolist() if before is not None else []
        names = sorted_labels({*known, *labels.tolist()})
        if before is None and len(names) != self.n_states:
            raise SettingError(
                "n_states is {k}, and states has {n} different labels ({names}). Make them equal.",
                k=self.n_states,
                n=len(names),
                names=listed(map(repr, names), 8),
            )
        rows, variable, columns = self._training_rows(given, before)
        place = {name: code for code, name in enumerate(names)}
        codes = np.array([place[label] for label in labels.tolist()], np.int64)
        k = len(names)
        if variable is not None:
            like: Emission = CodeEmission(np.full((k, variable.size), 1.0 / variable.size))
        else:
            held = None if before is None else before._counts().pivot
            pivot = overall(rows)[0] if held is None else held[0]
            like = NormalEmission(np.tile(pivot, (k, 1)), np.ones((k, len(pivot))))
        counts = known_counts(codes, k, rows, given.fresh, like)
        if before is not None:
            counts = _embedded(before, names, variable, like).merge(counts)
        every = pooled(counts) if variable is None else None
        found = replace(self._problem(rows, given.fresh, like), every=every).maximise(counts)
        self.n_states = k
        self._keep(found, variable, columns, np.array(names), counts)
        self._record()

    def _problem(self, rows: NDArray[Any], fresh: NDArray[np.uint8], like: Emission) -> HiddenProblem:
        every = overall(rows) if isinstance(like, NormalEmission) else None
        return HiddenProblem(rows, fresh, like, self._imaginary(), every, float(self.variance_floor))

    def _imaginary(self) -> float:
        prior = as_prior(self.smoothing)
        if not isinstance(prior, Lidstone):
            raise SettingError(
                "smoothing is {smoothing!r}; give a number, 'mle', 'laplace' or Lidstone.",
                smoothing=self.smoothing,
            )
        return float(prior.alpha)

    def _checked(self) -> MixtureEmSettings:
        """Check the parameters."""
        whole("n_states", self.n_states, 1)
        for name, allowed in (("emission", _EMISSIONS), ("unseen", ("error", "ignore"))):
            if getattr(self, name) not in allowed:
                raise SettingError(
                    "{name} is {value!r}; choose from {names}.",
                    name=name,
                    value=getattr(self, name),
                    names=Joined(map(repr, allowed)),
                )
        if self.categories is not None:
            if self.emission != "categorical":
                raise SettingError("categories= is for emission='categorical'; this model emits numbers.")
            _declared(self.categories)
        real("variance_floor", self.variance_floor, 0.0)
        self._imaginary()
        generator_of(self.random_state)
        limit = self.time_limit
        return MixtureEmSettings(
            tol=real("tol", self.tol, 0.0),
            max_iter=whole("max_iter", self.max_iter, 0),
            n_init=whole("n_init", self.n_init, 1),
            time_limit=None if limit is None else real("time_limit", limit, 0.0),
            accelerate=truth("accelerate", self.accelerate),
            verbose=0,
            verbose_interval=10,
            progress=truth("progress", self.progress),
        )

    # -- rows ----------------------------------------------------------------------------------

    def _training_rows(
        self, given: Sequences, before: HiddenMarkov | None
    ) -> tuple[NDArray[Any], Variable | None, NumericColumns | None]:
        """Return codes or numbers, and what their column or columns are."""
        if self.emission == "gaussian":
            values, columns = read_numbers(
                given.table, type(self).__name__, before._columns if before else None
            )
            refuse_empty(values, columns)
            return values, None, columns
        table = _one_column(given.table)
        declared = _declared(() if self.categories is None else self.categories)
        known = declared.named(table.names[0]) if before is None else before._variable
        assert known is not None
        variable, column = code_column(table, 0, known, "grow")
        codes = np.asarray(column[:], np.int64)
        seen = np.bincount(codes, minlength=variable.size + 1)[: variable.size] > 0
        if not seen.any() and before is None:
            raise DataError(
                "Every observation is missing, so there is nothing to learn from. Pass observed steps."
            )
        # Integers are coded as a run, with those in between that no step has.
        stays = seen | (np.arange(variable.size) < variable.n_declared)
        stays |= np.array([state in known.codes for state in variable.states])
        if not stays.all():
            place = np.append(np.cumsum(stays) - 1, stays.sum())
            codes = place[codes]
            states = tuple(s for s, stay in zip(variable.states, stays, strict=True) if stay)
            variable = replace(variable, states=states)
        return codes, variable, None

    def _rows(self, given: Sequences) -> NDArray[Any]:
        """Return the codes or numbers of sequences for a fitted model."""
        self._fitted()
        if self._variable is None:
            return read_numbers(given.table, type(self).__name__, self._columns)[0]
        unseen: Any = self.unseen
        return np.asarray(code_column(_one_column(given.table), 0, self._variable, unseen)[1][:], np.int64)

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
        >>> coin = HiddenMarkov.of([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], emissionprob=[[0.9, 0.1], [0.2, 0.8]])
        >>> [p.round(3).tolist() for p in coin.filter(iter([0, 0, 1]))]
        [[0.818, 0.182], [0.933, 0.067], [0.407, 0.593]]
        """
        parameters = self._fitted()
        if hasattr(X, "__next__"):
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
                raise impossible_row(step, np.arange(step + 1) == 0) from None  # type: ignore[arg-type]
            carry, fresh = block.after, np.zeros(1, np.uint8)
            yield block.filtered[0]

    def forecast(self, X: SequencesLike | None = None, steps: int = 1) -> Forecast:
        """Return what is expected at the steps after one sequence; without a sequence, at the first steps.

        Examples
        --------
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

    def save(self, path: PathLike) -> None:
        """Write the model to one file, which contains data and no code. Read it with :func:`bayeskit.load`."""
        from bayeskit._mixtures.mixture_files import save_hidden

        save_hidden(self, path)

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


def _one_column(table: Table) -> Table:
    if table.shape[1] != 1:
        raise ColumnError(
            "There are {n} columns, and emission='categorical' observes one. Choose one, join them into one, or use "
            "DynamicNetwork, which observes several nodes.",
            n=table.shape[1],
        )
    return table


def _declared(labels: Iterable[Any]) -> Variable:
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise SettingError("categories is {labels!r}; give a list of them.", labels=labels)
    states = tuple(s.item() if isinstance(s, np.generic) else s for s in labels)
    twice = first_twice(states)
    if twice is not None or any(map(is_missing, states)):
        raise SettingError(
            "categories holds {label!r} twice, or as a mark of missing. Give each once, and no None or NaN.",
            label=twice,
        )
    return Variable("x0", "categorical", states, len(states), closed=bool(states))


def _observed(rows: NDArray[Any], variable: Variable | None) -> int:
    """Return the number of steps with an observation."""
    if variable is not None:
        return int((rows < variable.size).sum())
    return int((~np.isnan(rows)).any(axis=1).sum())


def _any_emission(rows: NDArray[Any], variable: Variable | None) -> Emission:
    if variable is not None:
        return CodeEmission(np.full((1, variable.size), 1.0 / variable.size))
    mean, variance = overall(rows)
    return NormalEmission(mean[None], variance[None])


def _flat_labels(states: Any, given: Sequences) -> NDArray[Any]:
    """Return the labels of all steps, from a list for each sequence or one for all."""
    parts = list(states) if given.in_list else [states]
    lengths = given.lengths.tolist() if given.in_list else [len(given.fresh)]
    sizes = [len(part) if hasattr(part, "__len__") else -1 for part in parts]
    if sizes != lengths:
        raise DataError(
            "states has {sizes} labels, and the sequences have {lengths} steps. Give one label for each step.",
            sizes=listed(map(str, sizes), 8),
            lengths=listed(map(str, lengths), 8),
        )
    flat = [
        x.item() if isinstance(x, np.generic) else x
        for part in parts
        for x in np.asarray(part, object).tolist()
    ]
    found = np.fromiter(flat, object)
    return found if given.order is None else found[given.order]


def _embedded(
    before: HiddenMarkov, names: Sequence[Any], variable: Variable | None, like: Emission
) -> HiddenCounts:
    """Return earlier counts among more states and categories."""
    old, k = before._counts(), len(names)
    place = np.array([names.index(label) for label in before.states_.tolist()])
    starts, transitions, emissions = np.zeros(k), np.zeros((k, k)), like.zero()
    starts[place] = old.starts
    transitions[np.ix_(place, place)] = old.transitions
    if variable is not None:
        assert before._variable is not None
        codes = [*(variable.codes[state] for state in before._variable.states), variable.size]
        emissions[0][np.ix_(codes, place)] = old.emissions[0]
    else:
        for new, part in zip(emissions, old.emissions, strict=True):
            new[place] = part
    pivot = like.means if isinstance(like, NormalEmission) else None
    return HiddenCounts(starts, transitions, emissions, pivot)


def _numbers(name: str, given: Any, k: int) -> Floats:
    try:
        array = np.array(given, np.float64)
    except (TypeError, ValueError):
        array = np.full(0, np.nan)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != k or not np.isfinite(array).all():
        raise SettingError(
            "{name} is {given!r}; give a finite number for each of {k} states.", name=name, given=given, k=k
        )
    return np.ascontiguousarray(array)


def _distribution(name: str, given: Any, ndim: int, k: int | None = None) -> Floats:
    try:
        array = np.array(given, np.float64)
    except (TypeError, ValueError):
        array = np.full((), np.nan)
    square = name != "transmat" or array.shape == (k, k)
    sound = array.ndim == ndim and array.size > 0 and square and (k is None or len(array) == k)
    if not (sound and (array >= 0.0).all() and (np.abs(array.sum(axis=-1) - 1.0) < 1e-9).all()):
        raise SettingError(
            "{name} is {given!r}; give probabilities that sum to 1, one row for each state.",
            name=name,
            given=given,
        )
    return np.ascontiguousarray(array / array.sum(axis=-1, keepdims=True))
