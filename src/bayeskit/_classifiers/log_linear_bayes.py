"""A log-linear composite of counts: naive Bayes, and what pairs and triples add, each with a weight of its own."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import taken_over
from bayeskit._classifiers.semi_naive import SemiNaive, check_whole
from bayeskit._conditionals.log_linear import LogLinearScore
from bayeskit._data.encode import Unseen
from bayeskit._data.encoded import Chunk
from bayeskit._data.source import Source
from bayeskit._fitting.choose_interactions import (
    MANY_ATTRIBUTES,
    MOST_ATTRIBUTES,
    Choice,
    choose_interactions,
)
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.leave_one_out import encode_learned
from bayeskit._fitting.log_linear import FEW_TO_JUDGE, form_of, left_out_twice, log_out_of_fold
from bayeskit._fitting.model import ModelForm, ModelSpec, RowChoice, estimate
from bayeskit._fitting.naive import Sampling
from bayeskit._io.trial import held_choice
from bayeskit._random_state import generator_of, seed_of
from bayeskit._schema import Label, Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import SettingError, SuspectResult
from bayeskit.priors import Laplace
from bayeskit.typing import (
    CategoricalFeatures,
    ClassPriorLike,
    ClassWeight,
    Floats,
    LabelsLike,
    RowSource,
    Seed,
    TableLike,
    WeightsLike,
)


class LogLinearBayes(SemiNaive):
    r"""A weighted sum of logarithms of counts: of single attributes, of pairs, and of triples.

    .. math:: P(y \mid x) \propto P(y)\, e^{b_y} \prod_i p_i^{u_i}
              \prod_{ij} \Bigl(\frac{p_{ij}}{p_i p_j}\Bigr)^{w_{ij}}
              \prod_{ijk} \Bigl(\frac{p_{ijk}}{q_{ijk}}\Bigr)^{w_{ijk}}, \qquad
              q_{ijk} = \frac{p_{ij} p_{ik} p_{jk}}{p_i p_j p_k}

    where all p are given y. Naive Bayes is u = 1 and w = 0, WeightedNB is w = 0, TAN has w = 1 on a tree. Numeric
    attributes are cut at random quantiles in many ways (*views*), and the logarithms are averaged over them. The
    weights are not negative, and minimise the log-loss of rows that are left out of the counts. λ says how strongly
    they are shrunk towards each other. It is chosen by approximate leave-one-out: the largest λ within one standard
    error of the best.

    Counts are sums: ``partial_fit``, ``forget`` and ``merge`` change them exactly. A sample of rows is kept beside them
    (the rows with the lowest hash values, so that samples can be merged, too). The weights are chosen again from counts
    and sample at the first prediction after a change. Cut points, pairs and triples are kept.

    Parameters
    ----------
    views : int, default=16
        Ways to cut the numeric attributes.
    max_pairs, max_triples : int, default=300 and 100
        The maximum numbers of pairs and triples. Those that depend most on each other within the classes are used, and
        triples only if they lower the loss by more than one standard error.
    imaginary_rows : three numbers, default=(2, 20, 20)
        The weight of the prior of a single attribute (uniform), of a pair (independent) and of a triple (no dependence
        beyond that of its pairs).
    penalty : float, optional
        λ, instead of choosing it.
    interactions : mapping, optional
        ``held_["interactions"]`` of another model, to use its cut points, pairs and triples. Models with the same
        interactions can be merged.
    class_prior, class_weight, categorical_features, states, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`, but ``unseen="smooth"`` is an error: no table has a cell for unseen values.
    missing : "ignore" or "state"
        Leave out the terms of a missing value, or treat missing as a state, if the training rows have it.
    calibration : as in :class:`~bayeskit.TAN`
    random_state : int, numpy Generator or None, default=0
        Draws the cut points.
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.AutoBayes`: by self-training.

    Attributes
    ----------
    weights_ : dict from the names of a term to its weight
    biases_ : dict from class to b
    penalty_ : float
    losses_ : dict from λ to the approximate leave-one-out log-loss
    views_ : tuple of mappings from attribute to cut points
    notes_ : list of what was left out to keep the model small

    References
    ----------
    N. Zaidi, J. Cerquides, M. Carman and G. Webb, "Alleviating naive Bayes attribute independence assumption by
    attribute weighting", JMLR 14, 2013. K. Rahnama Rad and A. Maleki, "A scalable estimate of the out-of-sample
    prediction error via approximate leave-one-out cross-validation", JRSS B 82, 2020.

    Examples
    --------
    >>> from bayeskit import LogLinearBayes
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]]
    >>> LogLinearBayes().fit(X, ["go", "go", "stay", "stay"]).predict([["rain", None]]).tolist()
    ['stay']
    """

    _base_prior = Laplace()
    _holds = frozenset({"interactions"})
    _takes_over = frozenset({"interactions"})
    smoothing = None
    alpha = None
    # Numbers stay numbers in the codes; the tables cut them, each in its own way.
    numeric = "gaussian"
    cut_points = None
    # Its terms are averaged over views, not its answers.
    _averages_views = False
    _is_tempered = False

    views: int
    max_pairs: int
    max_triples: int
    imaginary_rows: Sequence[float]
    penalty: float | None
    interactions: Mapping[str, Any] | None
    random_state: Seed

    def __init__(
        self,
        *,
        views: int = 16,
        max_pairs: int = 300,
        max_triples: int = 100,
        imaginary_rows: Sequence[float] = (2.0, 20.0, 20.0),
        penalty: float | None = None,
        interactions: Mapping[str, Any] | None = None,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        states: Mapping[Any, Collection[Label]] | None = None,
        missing: str = "ignore",
        unseen: Unseen = "ignore",
        calibration: str | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.views = views
        self.max_pairs = max_pairs
        self.max_triples = max_triples
        self.imaginary_rows = imaginary_rows
        self.penalty = penalty
        self.interactions = interactions
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.states = states
        self.missing = missing
        self.unseen = unseen
        self.calibration = calibration
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    # -- what was found ------------------------------------------------------------------------

    @property
    def weights_(self) -> dict[tuple[Name, ...], float]:
        """The weight of each term, by the names of its attributes; those of weight 0 too."""
        return dict(zip(self._score.names, self._score.chosen.terms.tolist(), strict=True))

    @property
    def biases_(self) -> dict[Label, float]:
        """What is added to log P(c) of each class."""
        return dict(zip(self.classes_.tolist(), self._score.chosen.bias.tolist(), strict=True))

    @property
    def penalty_(self) -> float:
        """λ: how strongly the weights are shrunk to the common weight of their kind."""
        return self._score.chosen.penalty

    @property
    def losses_(self) -> dict[float, float]:
        """The log-loss of rows left out of counts and, approximately, of the weights, for each λ that was tried."""
        return dict(self._score.chosen.losses)

    @property
    def views_(self) -> tuple[dict[Name, tuple[float, ...]], ...]:
        """The cut points of each view."""
        return tuple(dict(view) for view in self.held_["interactions"]["views"])

    @property
    def notes_(self) -> list[str]:
        """What was left out to keep the model small."""
        choice, schema = Choice(**self.held_["interactions"]), self.schema_
        found = []
        n = len(choice.attributes)
        if len(schema.attributes) > MANY_ATTRIBUTES and n < len(schema.attributes):
            found.append(f"{n} of {len(schema.attributes)} attributes, those that tell most of the class")
        if len(choice.pairs) < n * (n - 1) // 2:
            found.append(f"{len(choice.pairs)} of {n * (n - 1) // 2} pairs")
        sample: Any = self.statistics_.parts["row_sample"]
        if not sample.is_whole:
            found.append(f"weights from {len(sample.weight)} distinct rows")
        return found

    @property
    def _score(self) -> LogLinearScore:
        found = self._model.conditionals[0]
        assert isinstance(found, LogLinearScore)
        return found

    # -- honest answers about rows that were learned -------------------------------------------

    def approximate_leave_one_out(
        self,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        target: Name | None = None,
    ) -> Floats:
        """Return P(c | x) of rows that were learned, each left out of the counts and of the weights: shape (n, K).

        ``leave_one_out`` removes a row from the counts exactly and keeps the weights. Here the weights change, too, by
        one Newton step, which equals a refit to first order. Cut points, pairs and triples are kept, so the result is
        too optimistic on a few hundred rows; that of ``out_of_fold`` is not.

        Parameters
        ----------
        X, y, sample_weight, target
            As in ``leave_one_out``.
        """
        fitted = self._reader("approximate_leave_one_out")
        statistics, spec = self.statistics_, fitted.spec
        assert spec is not None
        pieces = []
        for rows in self._source_like(X, y, sample_weight, target):
            encoded = encode_learned(fitted, statistics.schema, rows)
            for chunk in encoded.chunks():
                found = left_out_twice(statistics, spec, self._score, chunk)
                pieces.append(self._calibrated(found, statistics.schema))
        return np.exp(np.concatenate(pieces))

    def out_of_fold(
        self,
        X: TableLike,
        y: LabelsLike,
        sample_weight: WeightsLike | None = None,
        *,
        folds: int = 5,
    ) -> Floats:
        """Return P(c | x) of each row by a model that was fitted, cut points and all, to the other folds: shape (n, K).

        The classifier itself is left as it is. A class that a fold's model has not seen gets the probability 0 there.

        Parameters
        ----------
        X, y, sample_weight
            Rows in memory, as in ``fit``.
        folds : int, default=5
            Fewer if the largest class has fewer rows.
        """
        from sklearn.base import clone
        from sklearn.model_selection import StratifiedKFold
        from sklearn.utils import _safe_indexing

        labels = np.asarray(y)
        classes, codes = np.unique(labels, return_inverse=True)
        n_folds = max(2, min(int(folds), int(np.bincount(codes).max(initial=2))))
        out = np.zeros((len(labels), len(classes)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of classes smaller than the folds
            cut = list(
                StratifiedKFold(n_folds, shuffle=True, random_state=seed_of(self.random_state) % 2**32).split(
                    codes, codes
                )
            )
        weights = None if sample_weight is None else np.asarray(sample_weight)
        for learn, judge in cut:
            model = clone(self).fit(
                _safe_indexing(X, learn), labels[learn], None if weights is None else weights[learn]
            )
            places = np.searchsorted(classes, model.classes_)
            out[np.ix_(judge, places)] = model.predict_proba(_safe_indexing(X, judge))
        return out

    # -- hooks ---------------------------------------------------------------------------------

    def _honest_log_posteriors(
        self, statistics: Statistics, spec: ModelSpec, rows: Chunk, some: NDArray[np.intp]
    ) -> Floats:
        # Where rows are few, the choice of pairs tells more of them than their own counts do.
        if statistics.total < FEW_TO_JUDGE:
            found = log_out_of_fold(rows, statistics.schema, spec, self._chosen_form, self._is_over)
            if found is not None:
                return found[some]
            warnings.warn(
                SuspectResult(
                    "The time limit ended before {n:g} rows were cross-validated. Weights and loo_score_ come from "
                    "approximate leave-one-out, which is optimistic. Allow more time, or use effort='fast'.",
                    n=statistics.total,
                ),
                stacklevel=6,
            )
        part = rows.take(some)
        part = replace(part, weights=np.minimum(part.row_weights, 1.0))
        (score,) = estimate(statistics, spec).conditionals
        assert isinstance(score, LogLinearScore)
        return left_out_twice(statistics, spec, score, part)

    def _chosen_form(self, statistics: Statistics) -> ModelForm:
        """Return the form that a sample of rows chooses."""
        choice = self._choice(statistics) if self.interactions is None else Choice(**self.interactions)
        return self._form_of(choice, statistics.schema)

    def _choice(self, statistics: Statistics) -> Choice:
        seed = seed_of(self.random_state)
        return choose_interactions(
            statistics, self.views, self.max_pairs, self.max_triples, self.missing, seed
        )

    def _row_choices(self) -> list[RowChoice]:
        chosen = RowChoice(f"views={self.views!r}", "Use AODE with cut_points=, which only counts.")
        return [chosen, *super()._row_choices()]

    def _choose_more(self, source: Source) -> dict[str, Any]:
        trial = self._trial(source, lambda schema: Sampling())
        if self.interactions is not None:
            held = {"interactions": self.interactions}
            found = taken_over("interactions", held, trial.schema, 'held_["interactions"]')
            return {"interactions": dict(found["interactions"])}
        choice = self._choice(trial.statistics)
        if len(choice.attributes) == MOST_ATTRIBUTES < len(trial.schema.attributes):
            warnings.warn(
                SuspectResult(
                    "LogLinearBayes uses the {n} of {n_attributes} attributes that are most informative about the "
                    "class. Choose others with columns=, or use NaiveBayes.",
                    n=len(choice.attributes),
                    n_attributes=len(trial.schema.attributes),
                ),
                stacklevel=5,
            )
        return {"interactions": choice._asdict()}

    def _form(self, schema: Schema) -> ModelForm:
        return self._form_of(Choice(**self._held["interactions"]), schema)

    def _form_of(self, choice: Choice, schema: Schema) -> ModelForm:
        c1, c2, c3 = map(float, self.imaginary_rows)
        penalty = None if self.penalty is None else float(self.penalty)
        return form_of(choice, schema, (c1, c2, c3), penalty)

    def _adopt(self, fitted: FittedState, y: LabelsLike | None) -> None:
        # Numbers are parts of pairs here: numeric attributes alone are nothing to warn of.
        CountClassifier._adopt(self, fitted, y)
        fitted.model()  # the weights are chosen in fit, not at the first prediction

    def _check_numeric(self) -> None:
        """There is one way to read numbers."""

    def _check_settings(self) -> None:
        super()._check_settings()
        for name, least in (("views", 1), ("max_pairs", 0), ("max_triples", 0)):
            check_whole(name, getattr(self, name), least)
        generator_of(self.random_state)
        if self.unseen == "smooth":
            raise SettingError(
                'unseen is {unseen!r}; a value never seen has no cell here. Use "ignore" or "error".',
                unseen=self.unseen,
            )
        rows = self.imaginary_rows
        if not (isinstance(rows, Sequence) and len(rows) == 3 and all(_is_positive(row) for row in rows)):
            raise SettingError("imaginary_rows is {rows!r}; give three numbers above 0.", rows=rows)
        if self.penalty is not None and not _is_positive(self.penalty):
            raise SettingError(
                "penalty is {penalty!r}; give a number above 0, or None.", penalty=self.penalty
            )


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return is_number and bool(np.isfinite(value)) and value > 0


@held_choice("interactions")
def _is_choice(value: object, schema: Schema) -> bool:
    if not isinstance(value, Mapping) or set(value) != set(Choice._fields):
        return False
    return Choice(**value).fits(schema)
