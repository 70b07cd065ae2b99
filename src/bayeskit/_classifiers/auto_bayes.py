"""A stack of classifiers of counts: the weighted product of their posteriors, weights chosen by honest answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.count_forest import CountForest
from bayeskit._classifiers.gaussian_bayes import GaussianBayes
from bayeskit._classifiers.input_checks import one_of, taken_over
from bayeskit._classifiers.log_linear_bayes import LogLinearBayes
from bayeskit._conditionals.class_prior import class_factors
from bayeskit._counting.backend import Tally
from bayeskit._data.encode import Unseen
from bayeskit._data.encoded import Chunk
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.forest import MOST_ROWS, joined
from bayeskit._fitting.grow_trees import LEAST_TREES
from bayeskit._fitting.leave_one_out import SCORINGS, learned_chunks, mean_loss
from bayeskit._fitting.log_linear import FEW_TO_JUDGE, folds_of
from bayeskit._fitting.long_runs import Deadline
from bayeskit._fitting.model import ModelSpec, RowChoice, plan_for
from bayeskit._fitting.naive import TablesOnly
from bayeskit._fitting.stack import (
    Member,
    Stack,
    cross_fitted,
    log_mix,
    stack_weights,
    temperature_of,
    tempered,
)
from bayeskit._io.trial import check_held, held_choice, is_loss, is_number
from bayeskit._messages import Joined
from bayeskit._random_state import generator_of, seed_of
from bayeskit._schema import Label, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import SettingError, SuspectResult
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight, Floats, Seed

# Numbers that the answers of one member may be, on which the weights are chosen, and their rows at most.
_MOST_ANSWERS, _MOST_JUDGED = 1_000_000, 2**14
# Folds that score the stack where rows are few: weights and temperatures of the others answer for each.
_SCORED_BY = 10


class Effort(NamedTuple):
    """How much work a fit may be.

    ``tree_rows`` is how many rows all trees together may be grown from, and ``n_trees`` how many trees there are at
    most; of few rows there are all of them. ``products`` are those of two columns, summed over all rows, up to which
    matrices are asked for by default.
    """

    views: int
    max_pairs: int
    max_triples: int
    n_trees: int
    tree_rows: int
    products: float


EFFORTS = {
    "fast": Effort(views=4, max_pairs=60, max_triples=0, n_trees=50, tree_rows=500_000, products=3e8),
    "balanced": Effort(
        views=16, max_pairs=300, max_triples=100, n_trees=100, tree_rows=2_000_000, products=4e9
    ),
    "best": Effort(
        views=32, max_pairs=300, max_triples=100, n_trees=300, tree_rows=20_000_000, products=4e10
    ),
}


class MemberSettings(NamedTuple):
    """What the members are made with: settings that all classifiers share, and what is known of the rows by now."""

    effort: Effort
    common: Mapping[str, Any]
    seed: int = 0
    n_rows: float = 1.0
    schema: Schema | None = None

    @property
    def of_tables(self) -> dict[str, Any]:
        """The settings of classifiers that read a table as AutoBayes does."""
        return {**self.common, "random_state": self.seed}

    @property
    def of_columns(self) -> dict[str, Any]:
        """The settings of Gaussian classes. All of them make the same columns, so that their sums are taken once."""
        # By the kinds that the columns have here: those with declared states are categories, whatever their type.
        known = self.schema.attributes if self.schema is not None else ()
        mask = [v.kind == "categorical" for v in known]
        shared = {key: self.common[key] for key in ("class_weight", "n_jobs") if key in self.common}
        columns = {"categorical_features": mask or "from_dtype", "missing": "indicator", "clip": 5.0}
        return {**shared, **columns, "ridge": (0.05, 0.001)}


def _log_linear(given: MemberSettings) -> CountClassifier:
    views, max_pairs, max_triples, *_ = given.effort
    return LogLinearBayes(views=views, max_pairs=max_pairs, max_triples=max_triples, **given.of_tables)


def _trees(given: MemberSettings) -> CountClassifier:
    n_trees = int(given.effort.tree_rows / min(max(given.n_rows, 1.0), MOST_ROWS))
    return CountForest(n_trees=min(max(n_trees, LEAST_TREES), given.effort.n_trees), **given.of_tables)


def _linear(given: MemberSettings) -> CountClassifier:
    return GaussianBayes("shared", imaginary_rows=(1.0, 0.0), **given.of_columns)


def _quadratic(given: MemberSettings) -> CountClassifier:
    return GaussianBayes("full", imaginary_rows=(1.0, "auto"), predictive="student", **given.of_columns)


# The members by name, the most useful first: what time does not allow is left out from the end.
MEMBERS: dict[str, Callable[[MemberSettings], CountClassifier]] = {
    "loglinear": _log_linear,
    "trees": _trees,
    "lda": _linear,
    "qda": _quadratic,
}
# Columns above which a matrix is not asked for by default.
MOST_COLUMNS = 400


def suitable(schema: Schema, n_rows: float, products: float) -> tuple[str, ...]:
    """Return the members that suit a table: matrices are for hundreds of columns, one for each class for numbers."""
    width = _width(schema)
    fits = width <= MOST_COLUMNS and width * width * max(n_rows, schema.n_classes) <= products
    matrices = _matrices_for(schema) if fits else ()
    return tuple(name for name in MEMBERS if name in matrices or name not in ("lda", "qda"))


def _width(schema: Schema) -> int:
    """Return the columns of Gaussian members: numbers, and the states of categories."""
    return len(schema.numeric) + sum(v.size for v in schema.categorical)


def _matrices_for(schema: Schema) -> tuple[str, ...]:
    """Return the Gaussian members that suit the kinds of the columns, however many there are."""
    if not _width(schema):
        return ()
    return ("lda",) if schema.categorical else ("lda", "qda")


class MemberStanding(NamedTuple):
    """How one member does by itself on training rows that it was fitted without."""

    name: str
    weight: float
    log_loss: float
    error: float
    rmse: float


class AutoBayes(CountClassifier):
    r"""A stack of models of counts: the product of their posteriors, each to the power of its weight.

    .. math:: P(c \mid x) \propto \prod_m P_m(c \mid x)^{w_m}, \qquad w_m \ge 0

    The members are

    - a log-linear model of single attributes, pairs and triples (:class:`~bayeskit.LogLinearBayes`);
    - trees as count tables (:class:`~bayeskit.CountForest`);
    - Gaussian classes with one shared covariance, where states become columns of 0 and 1
      (:class:`~bayeskit.GaussianBayes`);
    - if all columns are numbers, Gaussian classes with one covariance each.

    The weights minimise the members' log-loss on training rows. Each row is predicted by members that were fitted
    without it: out-of-bag trees, approximate leave-one-out or, below 1,500 rows, models of the other folds. So no
    validation set is needed. The product is mixed with a uniform distribution of weight 1/(n + 2), so that no class is
    ever impossible.

    Counts are sums: ``partial_fit``, ``forget``, ``merge`` and ``fade`` change those of all members exactly, and the
    weights inside LogLinearBayes follow. The weights of the members, their temperatures, trees, cut points and pairs
    are chosen by ``fit`` (or the first ``partial_fit``) and held; ``relearn`` chooses them anew.

    ``leave_one_out`` removes a row from the counts exactly, but keeps these choices, which the row has influenced. To
    judge the model, use ``loo_score_``.

    Parameters
    ----------
    effort : "fast", "balanced" or "best", default="balanced"
        About 2, 7 and 20 seconds of CPU time for 44,000 rows of 14 columns, kernels compiled.
    members : sequence of names, optional
        Some of "loglinear", "trees", "lda" and "qda". By default, those that suit the columns.
    time_limit : float, optional
        Seconds after which choosing ends. The time is checked before each member after the first, after each tree
        from the tenth on and, below 1,500 rows, before each fold. A step that has begun is completed, and all members
        are counted. Warnings say what was cut short: members that are left out (``stopped_early_``), fewer trees, or
        approximate leave-one-out instead of folds.
    choices : mapping, optional
        ``held_`` of another model, to use its trees, cut points, pairs, weights and temperatures. Models with the
        same choices can be merged.
    random_state : int, numpy Generator or None, default=0
        Draws cut points and trees. The same number gives the same model on any number of threads, unless the time limit
        has cut the fit short.
    class_prior, class_weight, categorical_features, states, n_jobs
        As in :class:`~bayeskit.NaiveBayes`.
    missing : {"state", "ignore"}, default="state"
        Treat missing as a state of its own, if the training rows have it, or leave it out.
    unseen : {"ignore", "error"}, default="ignore"
    calibration : None, "temperature" or "isotonic"
        The sum of the weights is a temperature already.
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`, but by self-training: a product of posteriors defines no
        distribution of rows, so EM has no likelihood to maximise. Unlabelled rows are split between the
        classes by their posteriors and counted, repeatedly, until the posteriors settle. This is not EM and
        has no guarantee. ``history_`` holds log P(y | x) of the labelled rows, which may decrease; the best
        step is kept.

    Attributes
    ----------
    weights_ : dict from member to its weight
    leaderboard_ : list of (name, weight, log_loss, error, rmse), the lowest log-loss first
        How each member does by itself.
    loo_score_ : float
        The log-loss of the stack on the same rows. Below 1,500 rows, weights and temperatures are fitted again
        without each tenth of the rows, so that no row is scored by weights that it has influenced.
    members_ : dict from member to the fitted classifier
    stopped_early_ : tuple of the members that the time limit left out
    notes_ : list of what was chosen from only some of the rows or columns; tables are counted from all rows
    held_ : what was chosen from rows; later batches keep it and change counts only

    References
    ----------
    D. Wolpert, "Stacked generalization", Neural Networks 5, 1992. L. Breiman, "Stacked regressions", Machine
    Learning 24, 1996. G. Hinton, "Training products of experts by minimizing contrastive divergence", Neural
    Computation 14, 2002.

    Examples
    --------
    >>> from bayeskit import AutoBayes
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]] * 3
    >>> AutoBayes().fit(X, ["go", "go", "stay", "stay"] * 3).predict([["rain", None]]).tolist()
    ['stay']
    """

    _accepts_sparse = False
    _holds = frozenset({"members", "weights", "temperatures", "scores", "loo_score", "stopped_early"})
    _takes_over = frozenset({"choices"})
    _not_choices = CountClassifier._not_choices | {"loo_score", "stopped_early"}
    _chooses_by_counts = True

    effort: str
    members: Sequence[str] | None
    time_limit: float | None
    choices: Mapping[str, Any] | None
    random_state: Seed
    class_prior: ClassPriorLike
    class_weight: ClassWeight
    categorical_features: CategoricalFeatures
    states: Mapping[Any, Collection[Label]] | None
    missing: str
    unseen: Unseen
    calibration: str | None
    n_jobs: int | None

    def __init__(
        self,
        effort: str = "balanced",
        *,
        members: Sequence[str] | None = None,
        time_limit: float | None = None,
        choices: Mapping[str, Any] | None = None,
        random_state: Seed = 0,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        states: Mapping[Any, Collection[Label]] | None = None,
        missing: str = "state",
        unseen: Unseen = "ignore",
        calibration: str | None = None,
        n_jobs: int | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.effort = effort
        self.members = members
        self.time_limit = time_limit
        self.choices = choices
        self.random_state = random_state
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.states = states
        self.missing = missing
        self.unseen = unseen
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    # -- what was found ------------------------------------------------------------------------

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each member. The sum is not 1: it is a temperature of the whole."""
        return dict(self.held_["weights"])

    @property
    def leaderboard_(self) -> list[MemberStanding]:
        """How each member does by itself on rows that it was fitted without, the best first."""
        found = [
            MemberStanding(name, self.weights_[name], *scores)
            for name, scores in self.held_["scores"].items()
        ]
        return sorted(found, key=lambda standing: standing.log_loss)

    @property
    def loo_score_(self) -> float:
        """The log-loss of the stack on training rows, each predicted by members that were fitted without it."""
        return float(self.held_["loo_score"])

    @property
    def stopped_early_(self) -> tuple[str, ...]:
        """The members that the time limit left out; empty if it did not cut the fit short."""
        found: tuple[str, ...] = self.held_["stopped_early"]
        return found

    @property
    def notes_(self) -> list[str]:
        """What was chosen from some of the rows or columns only. All tables are counted from all rows."""
        total, members = self.statistics_.total, self.members_
        found: list[str] = []
        width = _width(self.schema_)
        too_many = [name for name in _matrices_for(self.schema_) if name not in members]
        if self.members is None and too_many and not self.stopped_early_:
            found.append(
                f"no covariances ({', '.join(too_many)}): {width} columns of {total:,.0f} rows are too many"
            )
        if "trees" in members and total > MOST_ROWS:
            found.append(f"splits of trees from at most {MOST_ROWS} rows")
        for member in members.values():
            found += member.notes_ if isinstance(member, LogLinearBayes) else []
        n_judged = _most_judged(self.statistics_.schema)
        if total > n_judged:
            found.append(f"weights of members from at most {n_judged} rows")
        return found

    @property
    def members_(self) -> dict[str, CountClassifier]:
        """The members as classifiers of their own, with their counts: to predict, explain and save each.

        They share the counts of this model as they are now, and do not follow later batches.
        """
        fitted, statistics = self._reader("members_"), self.statistics_
        found = {}
        for name, member in self._made_members():
            spec = member._spec(statistics.schema)
            plan = plan_for(statistics.schema, spec)
            parts, gone = (
                {p.kind: some[p.kind] for p in plan.patterns if p.kind in some}
                for some in (statistics.parts, statistics.gone)
            )
            own = member._new_fitted(statistics.schema.target)
            own.tally, own.spec = Tally(statistics.schema, plan, self.n_jobs), spec
            own.tally.statistics = Statistics(statistics.schema, plan, parts, gone)
            own.named, own.names, own.aside = fitted.named, fitted.names, fitted.aside
            member._fitted, member._class_dtype = own, self._class_dtype
            member._renew()
            found[name] = member
        return found

    # -- hooks ---------------------------------------------------------------------------------

    def _row_choices(self) -> list[RowChoice]:
        chosen = RowChoice(f"members={self.members!r}", "Use NaiveBayes, TAN, AODE or KDB.")
        return [chosen, *super()._row_choices()]

    def _reading(self) -> Reading:
        return Reading(self.categorical_features, self.states or {})

    def _spec(self, schema: Schema) -> ModelSpec:
        held = self._held
        names = held["members"]
        weights = held.get("weights", dict.fromkeys(names, 1.0 / max(len(names), 1)))
        temperatures = held.get("temperatures", dict.fromkeys(names, 1.0))
        members = (
            Member(name, member._spec(schema), float(weights[name]), float(temperatures[name]))
            for name, member in self._made_members()
        )
        return ModelSpec(
            form=Stack(tuple(members)),
            class_prior=self.class_prior,
            class_weight=self.class_weight,
            missing=self.missing,
            unseen=self.unseen,
        )

    def _made_members(self, seed: int = 0) -> Iterator[tuple[str, CountClassifier]]:
        """Make the members, with what they hold."""
        settings = self._settings(seed=seed)
        for name, held in self._held["members"].items():
            member = MEMBERS[name](settings)
            member._held = held
            yield name, member

    def _settings(self, **known: Any) -> MemberSettings:
        common = {
            "class_weight": self.class_weight,
            "categorical_features": self.categorical_features,
            "states": self.states,
            "missing": self.missing,
            "unseen": self.unseen,
            "n_jobs": self.n_jobs,
        }
        return MemberSettings(EFFORTS[self.effort], common, **known)

    def _choose(self, source: Source) -> dict[str, Any]:
        source.need_many_passes(type(self).__name__)
        self._is_over = Deadline.after(self.time_limit)
        seen = self._count(source, lambda schema: ModelSpec(form=TablesOnly()))
        if self.choices is not None:
            some = {key: self.choices.get(key) for key in self._holds}
            return taken_over("choices", some, seen.schema, "held_")
        n_rows, schema = seen.statistics.total, seen.schema
        settings = self._settings(seed=seed_of(self.random_state), n_rows=n_rows, schema=schema)
        chosen: dict[str, dict[str, Any]] = {}
        left: list[str] = []
        for name in self.members or suitable(schema, n_rows, settings.effort.products):
            if chosen and self._is_over():
                left.append(name)
            else:
                member = MEMBERS[name](settings)
                member._is_over = self._is_over
                chosen[name] = member._choose(source)
        if left:
            warnings.warn(
                SuspectResult(
                    "time_limit is {time_limit:g} s, which ended before all members were fitted: {left} had to be "
                    "left out. Allow more time, or use effort='fast'.",
                    time_limit=float(self.time_limit or 0.0),
                    left=Joined(map(repr, left)),
                ),
                stacklevel=4,
            )
        return {"members": chosen, "stopped_early": tuple(left)}

    def _choose_by_counts(self, source: Source, fitted: FittedState) -> dict[str, Any]:
        """Weigh the members by their answers about the rows that were counted, in which a row had no say."""
        if self.choices is not None:
            return {}
        statistics, spec = fitted.statistics, fitted.spec
        assert spec is not None and isinstance(spec.form, Stack)
        rows = joined(learned_chunks(fitted, source), MOST_ROWS)
        if statistics.total < FEW_TO_JUDGE:
            rows = single_rows(rows)
        assert rows.target is not None
        n_judged = _most_judged(statistics.schema)
        some = np.arange(0, rows.n_rows, -(-rows.n_rows // n_judged))
        part = rows.take(some)
        target, weights = rows.target[some].astype(np.intp), part.row_weights
        factors = class_factors(self.class_weight, statistics.class_counts, statistics.schema.target)
        if factors is not None:
            weights = weights * factors[target]
        answers, temperatures, scores = [], {}, {}
        honest: list[Floats] = []
        made = list(self._made_members(seed_of(self.random_state)))
        is_tempered = [member._is_tempered for _, member in made]
        for (name, member), own in zip(made, spec.form.members, strict=True):
            member._is_over = self._is_over
            honest.append(member._honest_log_posteriors(statistics, own.spec, rows, some))
            # Six digits: the order of the rows must not tell in the last.
            t = temperature_of(honest[-1], target, weights) if member._is_tempered else 1.0
            temperatures[name] = round(t, 6)
            answers.append(tempered(honest[-1], temperatures[name]))
            scores[name] = tuple(mean_loss(answers[-1], target, weights, each) for each in SCORINGS[:3])
        found = stack_weights(answers, target, weights)
        joint = found.log_shares
        if statistics.total < FEW_TO_JUDGE:
            fold = folds_of(part, statistics.schema, _SCORED_BY)
            joint = cross_fitted(honest, is_tempered, target, weights, fold)
        log_mix(joint, np.full(len(joint), max(statistics.total - 1.0, 0.0)))
        return {
            "weights": dict(zip(scores, found.weights.round(6).tolist(), strict=True)),
            "temperatures": temperatures,
            "scores": scores,
            "loo_score": mean_loss(joint, target, weights, "log-loss"),
        }

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("effort", self.effort, tuple(EFFORTS))
        one_of("missing", self.missing, ("state", "ignore"))
        one_of("unseen", self.unseen, ("ignore", "error"))
        generator_of(self.random_state)
        if self.time_limit is not None and not (is_number(self.time_limit) and self.time_limit > 0.0):
            raise SettingError(
                "time_limit is {time_limit!r}; give a number of seconds above 0, or None.",
                time_limit=self.time_limit,
            )
        if self.choices is not None and not isinstance(self.choices, Mapping):
            raise SettingError(
                "choices is {choices!r}; give held_ of a fitted AutoBayes, or None.", choices=self.choices
            )
        members = self.members
        if members is None:
            return
        known = Joined(map(repr, MEMBERS))
        if isinstance(members, str) or not isinstance(members, Sequence) or not members:
            raise SettingError("members is {members!r}; give some of {names}.", members=members, names=known)
        if not all(isinstance(name, str) and name in MEMBERS for name in members) or len(set(members)) < len(
            members
        ):
            raise SettingError(
                "members is {members!r}; give each of {names} at most once.",
                members=tuple(members),
                names=known,
            )


def _most_judged(schema: Schema) -> int:
    """Return on how many rows the members are weighed, at most."""
    return max(min(_MOST_JUDGED, _MOST_ANSWERS // max(schema.n_classes, 1)), 100)


def single_rows(rows: Chunk) -> Chunk:
    """Return rows of weight w as ⌈w⌉ rows that share it: so a weight of two is the row twice."""
    copies = np.maximum(np.ceil(rows.row_weights - 1e-9), 1.0).astype(np.intp)
    if (copies == 1).all():
        return rows
    places: NDArray[np.intp] = np.repeat(np.arange(rows.n_rows), copies)
    weights: Floats = (rows.row_weights / copies)[places]
    taken = rows.take(places)
    return Chunk(taken.n_rows, taken.codes, taken.values, target=taken.target, weights=weights)


@held_choice("members")
def _are_members(value: object, schema: Schema) -> bool:
    if not isinstance(value, dict) or not value:
        return False
    for name, held in value.items():
        if name not in MEMBERS:
            return False
        check_held(held, schema, MEMBERS[name](MemberSettings(EFFORTS["fast"], {}))._holds)
    return True


@held_choice("temperatures")
def _are_temperatures(value: object, schema: Schema) -> bool:
    return isinstance(value, dict) and all(is_number(t, 1e-3) and t <= 1e3 for t in value.values())


@held_choice("loo_score")
def _is_loo_score(value: object, schema: Schema) -> bool:
    return is_loss(value)


@held_choice("stopped_early")
def _are_left_out(value: object, schema: Schema) -> bool:
    return type(value) is tuple and all(name in MEMBERS for name in value)
