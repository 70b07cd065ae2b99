"""Naive Bayes with a weight for each attribute (WANBIA)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.semi_naive import SemiNaive
from bayeskit._data.encode import Unseen
from bayeskit._data.encoded import Chunk
from bayeskit._data.source import Source
from bayeskit._data.table import Table
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.leave_one_out import encode_learned
from bayeskit._fitting.model import ModelForm, RowChoice
from bayeskit._fitting.naive import Naive
from bayeskit._fitting.weighting import Loss, WeightedNaive, choose_weights
from bayeskit._messages import Joined
from bayeskit._report.explanation import Explanation, weigh
from bayeskit._report.factors.arithmetic import explain
from bayeskit._schema import Label, Name, Schema
from bayeskit.errors import SettingError, UsageError
from bayeskit.priors import SmoothingLike
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight, LabelsLike, Seed


class WeightedNB(SemiNaive):
    r"""Naive Bayes with a weight for each attribute (WANBIA).

    .. math:: P(c \mid x) \propto P(c) \prod_i P(x_i \mid c)^{w_i}, \qquad 0 \le w_i \le 1

    P(c) and P(x_i | c) are those of naive Bayes. The weights maximise :math:`\prod_r P(y_r \mid x_r)` over
    the training rows, which is a convex problem. Duplicate attributes share one weight between them, and a
    redundant attribute gets weight 0.

    Parameters
    ----------
    weights : mapping from attribute to a number of at least 0, optional
        Given weights, instead of learned ones. Attributes that are not named have weight 1.
    smoothing : number, name, prior or mapping, default=Laplace()
    class_prior, class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`. A missing value is ignored, also when the weights are learned.
    numeric : {"mdl", "gaussian"}, default="mdl"
        Cut numeric attributes into intervals that separate the classes (MDL), or give each one a Gaussian per
        class.
    cut_points : mapping from attribute to ascending numbers, optional
        Known cut points of some attributes.
    calibration : None, "temperature" or "isotonic"
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`, but by self-training: weights give a model of the class given a
        row, not of rows, so EM has no likelihood to maximise. Unlabelled rows are split between the classes
        by their posteriors and counted, repeatedly, until the posteriors settle. This is not EM and has no
        guarantee. ``history_`` holds log P(y | x) of the labelled rows, which may decrease; the best step is
        kept.

    Attributes
    ----------
    weights_ : dict from attribute to weight
    held_ : the cut points and the weights, which ``fit`` chooses and later batches keep

    References
    ----------
    N. Zaidi, J. Cerquides, M. Carman and G. Webb, "Alleviating naive Bayes attribute independence assumption by
    attribute weighting", Journal of Machine Learning Research 14, 2013.

    Examples
    --------
    >>> from bayeskit import WeightedNB
    >>> X = [["sun", "sun"]] * 6 + [["rain", "rain"]] * 6  # one column twice
    >>> y = ["go"] * 4 + ["stay"] * 2 + ["go"] * 2 + ["stay"] * 4
    >>> {name: round(weight, 3) for name, weight in WeightedNB(smoothing=0).fit(X, y).weights_.items()}
    {'x0': 0.5, 'x1': 0.5}
    """

    weights: Mapping[Name, float] | None

    def __init__(
        self,
        *,
        weights: Mapping[Name, float] | None = None,
        smoothing: SmoothingLike = None,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        numeric: str = "mdl",
        cut_points: Mapping[Any, ArrayLike] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        states: Mapping[Any, Collection[Label]] | None = None,
        missing: str = "ignore",
        unseen: Unseen = "ignore",
        calibration: str | None = None,
        n_jobs: int | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.weights = weights
        self.smoothing = smoothing
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
    def weights_(self) -> dict[Name, float]:
        """The weight of each attribute, in the order of the columns."""
        weights = self.held_.get("weights", {}) if self.weights is None else self.weights
        return {v.name: float(weights.get(v.name, 1.0)) for v in self.schema_.attributes}

    def _arithmetic(self, table: Table, lang: str) -> Explanation:
        fitted = self._reader("explain")
        model, statistics = self._model, self.statistics_
        table = fitted.matched(table, model.schema)
        assert fitted.spec is not None
        weighted: Any = model.conditionals
        plain = replace(model, conditionals=tuple(c.plain for c in weighted))
        labels = self._labels(model.schema).tolist()
        return weigh(explain(plain, statistics, fitted.spec, table, labels, lang=lang), self.weights_)

    def sample(
        self, n_samples: int, random_state: Seed = None, given_class: Label | None = None
    ) -> tuple[Any, Any]:
        """Not supported: a weighted product is not a distribution of rows."""
        raise UsageError(
            "WeightedNB scores classes and has no distribution of rows, so none can be sampled. Use "
            "NaiveBayes."
        )

    def _row_choices(self) -> list[RowChoice]:
        chosen = [] if self.weights is not None else [RowChoice("weights=None", "Give the weights.")]
        return chosen + super()._row_choices()

    def _choose_more(self, source: Source) -> dict[str, Any]:
        if self.weights is not None:
            return {}
        trial = self._trial(source, lambda schema: Naive())
        assert trial.spec is not None

        def chunks() -> Iterator[Chunk]:
            for rows in source:
                yield from encode_learned(trial, trial.schema, rows).chunks()

        # Rows in memory are encoded once. Others are read again for every step, so that memory does not grow.
        held = list(chunks()) if source.in_memory else None
        loss = Loss(trial.statistics, trial.spec, chunks if held is None else lambda: held, self.n_jobs)
        return {"weights": choose_weights(loss)}

    def _form(self, schema: Schema) -> ModelForm:
        if self.weights is None:
            return WeightedNaive(dict(self._held.get("weights", {})))
        strange = next((name for name in self.weights if name not in schema.position), None)
        if strange is not None:
            known = Joined(repr(v.name) for v in schema.attributes[:12])
            raise SettingError(
                "weights names {strange!r}, which is not an attribute. There are {known}.",
                strange=strange,
                known=known,
            )
        return WeightedNaive(dict(self.weights))

    def _adopt(self, fitted: FittedState, y: LabelsLike | None) -> None:
        # Skip SemiNaive._adopt: it warns if all attributes are numeric, but here no attribute is a parent.
        CountClassifier._adopt(self, fitted, y)

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.weights is None:
            return
        if not isinstance(self.weights, Mapping):
            raise SettingError(
                "weights is {weights!r}; give a mapping from attribute to a number.", weights=self.weights
            )
        for name, weight in self.weights.items():
            number = isinstance(weight, (int, float, np.integer, np.floating)) and not isinstance(
                weight, bool
            )
            if not number or not np.isfinite(weight) or weight < 0:
                raise SettingError(
                    "The weight of {name!r} is {weight!r}; it must be a finite number of at least 0.",
                    name=name,
                    weight=weight,
                )
