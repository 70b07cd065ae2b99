"""Hidden Markov models: sequences whose steps depend on a hidden state that changes over time."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._blas import one_blas_thread
from bayeskit._data.columns import is_missing
from bayeskit._data.encode import code_column
from bayeskit._data.sequences import Sequences, SequencesLike, open_sequences
from bayeskit._data.table import Table
from bayeskit._fitting.mixtures.hidden_states import (
    SMALLEST_VARIANCE,
    CodeEmission,
    Emission,
    HiddenCounts,
    HiddenParameters,
    HiddenProblem,
    NormalEmission,
    known_counts,
    overall,
    pooled,
    random_start,
)
from bayeskit._messages import Joined, listed
from bayeskit._mixtures.hidden_answers import HiddenAnswers, one_column
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
from bayeskit.errors import DataError, SettingError, SuspectResult, UsageError
from bayeskit.priors import Lidstone, as_prior
from bayeskit.typing import Floats, PathLike, Seed

_EMISSIONS = ("auto", "categorical", "gaussian")
# A state with a smaller share of the steps is as good as never visited.
_NEVER = 1e-9


class HiddenMarkov(HiddenAnswers):
    r"""A hidden Markov model: what is observed at each step depends on a state that is not.

    .. math:: P(x, z) = \pi_{z_0}\, b_{z_0}(x_0) \prod_{t > 0} a_{z_{t-1} z_t}\, b_{z_t}(x_t)

    Sequences are given in one of three ways: a list with one sequence in each item (a list, an array or a frame); all
    rows together with ``lengths=``, as in hmmlearn; or a frame with a column ``sequence=`` that tells them apart.
    Missing observations (None, NaN) are summed out.

    Parameters
    ----------
    n_states : int
        The number of hidden states.
    emission : {"auto", "categorical", "gaussian"}
        One column of categories (strings, integers, booleans), or columns of numbers that are independent and normal
        in each state. ``"auto"`` takes numbers with fractions, and several columns, for the latter.
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

    def __init__(
        self,
        n_states: int = 2,
        *,
        emission: str = "auto",
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
        kind = before.emission.kind if self.emission == "auto" else self.emission
        if (before.n_states, before.emission.kind) != (self.n_states, kind):
            raise SettingError(
                "start has {k} states that emit {kind}, and this model is to have {k2} that emit {kind2}.",
                k=before.n_states,
                kind=before.emission.kind,
                k2=self.n_states,
                kind2=kind,
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
            if self.emission == "gaussian":
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
        if self._emits_numbers(given.table, before):
            values, columns = read_numbers(
                given.table, type(self).__name__, before._columns if before else None
            )
            refuse_empty(values, columns)
            return values, None, columns
        table = one_column(given.table)
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

    def _emits_numbers(self, table: Table, before: HiddenMarkov | None) -> bool:
        if before is not None:
            return before._variable is None
        if self.emission != "auto" or self.categories is not None:
            return self.emission == "gaussian"
        places = range(len(table.names))
        if table.block is not None or any(table.kind(j) != "numeric" for j in places):
            return False
        return len(places) > 1 or any(np.any(np.abs(np.modf(table.numbers(j))[0]) > 0.0) for j in places)

    def save(self, path: PathLike) -> None:
        """Write the model to one file, which contains data and no code. Read it with :func:`bayeskit.load`."""
        from bayeskit._mixtures.mixture_files import save_hidden

        save_hidden(self, path)


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
        codes = np.array([*(variable.codes[state] for state in before._variable.states), variable.size])
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
