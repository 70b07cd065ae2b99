"""A weighted mixture of classifiers, with weights chosen by leave-one-out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.kdb import check_depth, held_form, learned_structure
from bayeskit._classifiers.selective_kdb import choose_selection
from bayeskit._classifiers.semi_naive import SemiNaive
from bayeskit._conditionals.class_prior import class_factors
from bayeskit._data.encode import Unseen
from bayeskit._data.encoded import Chunk
from bayeskit._data.source import Source
from bayeskit._fitting.averaging import Averaging
from bayeskit._fitting.calibration import MOST_ROWS
from bayeskit._fitting.model import ModelForm, RowChoice, weighted_classes
from bayeskit._fitting.naive import Naive
from bayeskit._fitting.one_dependence import Tree
from bayeskit._fitting.pool import Member, Pool, pool_weights, votes_left_out
from bayeskit._fitting.rows_again import learned_chunks, spread
from bayeskit._messages import Joined
from bayeskit._schema import Label, Schema
from bayeskit.errors import SettingError
from bayeskit.priors import BackOff, MEstimate
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight

MEMBERS = ("nb", "tan", "aode", "kdb", "skdb")


class MemberStanding(NamedTuple):
    """The leave-one-out results of one member of the mixture."""

    name: str
    weight: float
    log_loss: float
    error: float
    rmse: float


class AutoBayes(SemiNaive):
    r"""A mixture of naive Bayes, TAN, AODE, kDB and selective kDB, weighted by leave-one-out.

    .. math:: P(c \mid x) = \sum_m w_m P_m(c \mid x)

    All members share the same counts. The weights minimise the log-loss of exact leave-one-out posteriors, so
    no validation set is needed. A temperature then calibrates the mixture.

    Parameters
    ----------
    members : sequence of names, default=("nb", "tan", "aode", "kdb", "skdb")
    k : int, default=2
        The number of parents in the k-dependence classifier.
    max_k : int, default=5
        The maximum number of parents in the selective k-dependence classifier.
    class_prior, class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`.
    numeric, cut_points
        As in :class:`~bayeskit.TAN`.
    calibration : "temperature", "isotonic" or None, default="temperature"
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`, but by self-training: a mixture of posteriors defines no
        distribution of rows, so EM has no likelihood to maximise. Unlabelled rows are split between the
        classes by their posteriors and counted, repeatedly, until the posteriors settle. This is not EM and
        has no guarantee. ``history_`` holds log P(y | x) of the labelled rows, which may decrease; the best
        step is kept.

    Attributes
    ----------
    weights_ : dict from member to its weight
    leaderboard_ : list of (name, weight, log_loss, error, rmse), the lowest log-loss first
        The leave-one-out results of each member by itself.
    held_ : cut points, structures, order of the tree, weights and temperature
        Later batches keep these and change counts only.

    Examples
    --------
    >>> from bayeskit import AutoBayes
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]]
    >>> AutoBayes().fit(X, ["go", "go", "stay", "stay"]).predict([["rain", None]]).tolist()
    ['stay']
    """

    _base_prior = MEstimate(1.0)
    _holds = frozenset({"structures", "weights", "scores"})
    smoothing = None

    members: Sequence[str]
    k: int
    max_k: int

    def __init__(
        self,
        *,
        members: Sequence[str] = MEMBERS,
        k: int = 2,
        max_k: int = 5,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        numeric: str = "mdl",
        cut_points: Mapping[Any, ArrayLike] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        states: Mapping[Any, Collection[Label]] | None = None,
        missing: str = "ignore",
        unseen: Unseen = "ignore",
        calibration: str | None = "temperature",
        n_jobs: int | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.members = members
        self.k = k
        self.max_k = max_k
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.numeric = numeric
        self.cut_points = cut_points
        self.categorical_features = categorical_features
        self.states = states
        self.missing = missing
        self.unseen = unseen
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each member."""
        return dict(self.held_["weights"])

    @property
    def leaderboard_(self) -> list[MemberStanding]:
        """The leave-one-out results of each member by itself, the best first."""
        found = [
            MemberStanding(name, self.weights_[name], *scores)
            for name, scores in self.held_["scores"].items()
        ]
        return sorted(found, key=lambda standing: standing.log_loss)

    def _row_choices(self) -> list[RowChoice]:
        chosen = RowChoice(
            f"members={tuple(self.members)!r}", "Use one of the members: NaiveBayes, TAN, AODE or KDB."
        )
        return [chosen, *super()._row_choices()]

    def _choose_more(self, source: Source) -> dict[str, Any]:
        held: dict[str, Any] = {"structures": {}}
        trial = self._trial(source, lambda schema: Tree())
        if "tan" in self.members:
            # kDB's order, by what each attribute tells of the class: so the tree does not hang on that of the columns.
            discrete = {variable.name for variable in trial.schema.categorical}
            held["order"] = tuple(name for name in learned_structure(trial, 0).nodes if name in discrete)
        if "kdb" in self.members:
            held["structures"]["kdb"] = learned_structure(trial, self.k).as_mapping()
        if "skdb" in self.members:
            assert trial.spec is not None
            trial.spec = self._member("skdb", 1.0).spec(trial.spec)
            dag, _ = choose_selection(trial, source, self.max_k, "rmse")
            held["structures"]["skdb"] = dag.as_mapping()
        self._held = {**self._held, **held}
        return {**held, **self._weigh(source)}

    def _weigh(self, source: Source) -> dict[str, Any]:
        """Count for all members, then weigh them by their posteriors of rows that are left out."""
        trial = self._trial(source, self._form)
        assert trial.spec is not None
        spec, target = trial.spec, trial.schema.target
        factors = class_factors(spec.class_weight, trial.statistics.class_counts, target)
        statistics = weighted_classes(trial.statistics, spec)
        settled = spec.form.settled(statistics, spec)
        assert isinstance(settled, Pool)
        voters = settled.voters(statistics, spec)

        def score(part: Chunk) -> tuple[Any, ...]:
            own = np.minimum(part.row_weights, 1.0)
            own = own if factors is None else own * factors[part.target]
            return (*votes_left_out(voters, part, own), part.row_weights)

        p, right, weights = spread(learned_chunks(trial, source), score, MOST_ROWS)
        share = weights / max(weights.sum(), 1e-300)
        scores = np.column_stack(
            [share @ -np.log(np.maximum(p, 1e-300)), share @ (1.0 - right), np.sqrt(share @ (1.0 - p) ** 2)]
        )
        found = pool_weights(p, weights)
        names = list(self.members)
        return {
            "weights": dict(zip(names, found.tolist(), strict=True)),
            "scores": {name: tuple(row) for name, row in zip(names, scores.tolist(), strict=True)},
        }

    def _form(self, schema: Schema) -> ModelForm:
        weights = self._held.get("weights", dict.fromkeys(self.members, 1.0 / max(len(self.members), 1)))
        return Pool(tuple(self._member(name, float(weights[name])) for name in self.members))

    def _member(self, name: str, weight: float) -> Member:
        structures = self._held.get("structures", {})
        match name:
            case "nb":
                return Member(name, Naive(), MEstimate(1.0), weight)
            case "tan":
                return Member(name, Tree(order=self._held.get("order")), BackOff(), weight)
            case "aode":
                return Member(name, Averaging(), MEstimate(1.0), weight)
            case _:
                return Member(name, held_form(structures.get(name, {})), BackOff(), weight)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_depth("k", self.k)
        check_depth("max_k", self.max_k)
        members = self.members
        if isinstance(members, str) or not isinstance(members, Sequence) or not members:
            raise SettingError(
                "members is {members!r}; give some of {names}.",
                members=members,
                names=Joined(map(repr, MEMBERS)),
            )
        strange = next((name for name in members if name not in MEMBERS), None)
        if strange is not None or len(set(members)) < len(members):
            raise SettingError(
                "members is {members!r}; give each of {names} at most once.",
                members=tuple(members),
                names=Joined(map(repr, MEMBERS)),
            )
