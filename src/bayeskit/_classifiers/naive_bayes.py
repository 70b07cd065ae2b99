"""Naive Bayes over mixed attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from bayeskit._classifiers.base_classifier import is_network
from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.labelled_tables import LabelledTable, labelled_table
from bayeskit._conditionals.density import family_names, why_hinted
from bayeskit._data.encode import Unseen
from bayeskit._data.encoded import Chunk
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source
from bayeskit._fitting.choose_cuts import check_cut_points, choose_cut_points
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.model import ModelSpec, RowChoice
from bayeskit._fitting.naive import compare_families
from bayeskit._schema import Kind, Label, Name, Schema
from bayeskit.errors import ColumnError, SettingError, UsageError
from bayeskit.priors import SmoothingLike, as_smoothing
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight, LabelsLike, RowSource

_KIND: dict[str, Kind] = {"table": "categorical", "bernoulli": "categorical"}


@dataclass(frozen=True)
class FamilyChoice:
    """The family of one attribute.

    Attributes
    ----------
    family : str
    why : str
    suggestion : str or None
        Another family that may fit better. It is never used automatically.
    """

    family: str
    why: str
    suggestion: str | None = None


def kinds_of_families(families: Mapping[Name, str] | None) -> dict[Name, Kind]:
    """Return the kind of column that each named family needs."""
    return {name: _KIND.get(family, "numeric") for name, family in (families or {}).items()}


def check_bernoulli(schema: Schema, families: Mapping[Name, str]) -> None:
    """Raise an error for more than two states if the family is Bernoulli."""
    for variable in schema.categorical:
        name, size = variable.name, variable.size
        if families.get(name) == "bernoulli" and size > 2:
            states = ", ".join(map(repr, variable.states[:5])) + (", …" if size > 5 else "")
            raise ColumnError(
                "families[{name!r}] is 'bernoulli', which needs two states, and the column has {size}: "
                "{states}. Choose 'table', or leave the family out.",
                name=name,
                size=size,
                states=states,
            )


def explain_families(
    schema: Schema, spec: ModelSpec, chosen: Mapping[Name, str], hints: Mapping[Name, str], auto: bool = False
) -> dict[Name, FamilyChoice]:
    """Return the family of every attribute and the reason for it."""
    choices: dict[Name, FamilyChoice] = {}
    for variable in schema.attributes:
        name = variable.name
        if name in chosen:
            why = "least leave-one-out log-loss" if auto else "asked for in families="
            choices[name] = FamilyChoice(chosen[name], why)
        elif variable.cuts is not None:
            choices[name] = FamilyChoice("table", f"cut into {variable.size} intervals")
        elif variable.kind == "categorical":
            choices[name] = FamilyChoice("table", f"categorical, {variable.size} states")
        elif variable.kind == "block":
            choices[name] = FamilyChoice(spec.block_family, f"a block of {variable.width} columns")
        else:
            hint = hints.get(name)
            hint = None if hint == spec.family(name) else hint
            why = "numeric" + (f"; but {why_hinted(hint)}" if hint else "")
            choices[name] = FamilyChoice(spec.family(name), why, hint)
    return choices


_MISSING = ("ignore", "state")
_UNSEEN = ("ignore", "smooth", "error")


class NaiveBayes(CountClassifier):
    r"""Naive Bayes for mixed tables: strings, numbers, counts, missing and unseen values in one model.

    .. math:: h(x) = \arg\max_c P(c) \prod_i P(x_i \mid c)

    Parameters
    ----------
    smoothing : number, name, prior or mapping, default=1.0
        What is added to the counts of tables. A number is added to every cell: 1 is Laplace's rule, 0 maximum
        likelihood. "mle", "laplace", … name a prior of :mod:`bayeskit.priors`. A mapping maps attribute names
        or kinds to any of these. A numeric prior (``NormalInverseGamma``) does not affect tables.
    class_prior : array or mapping, optional
        P(c), instead of estimating it.
    class_weight : None, "balanced" or mapping
    variance : {"mle", "unbiased"}, default="mle"
        Divide by n or by n − 1.
    numeric : {"gaussian", "student", "kernel", "poisson", "negative-binomial", "mdl"}, default="gaussian"
        The family of numeric attributes. "mdl" cuts them into intervals where the classes differ, as in TAN and
        AODE; ``fit`` chooses the cut points, and later batches keep them (``held_``).
    cut_points : mapping from attribute to ascending numbers, optional
        With ``numeric="mdl"``: cut points for some attributes, instead of choosing them.
    families : mapping from attribute to family, or "auto", optional
        A family of ``numeric``, or "bernoulli" or "table"; these attributes are not cut. With "auto", ``fit``
        chooses for each numeric attribute the family with the lowest leave-one-out log-loss. Later batches keep
        the choice (``held_``).
    categorical_features : "from_dtype", "all", list or mask, default="from_dtype"
    states : mapping from attribute to list of states, optional
        Declared states keep their order, and are included in smoothing even if no row has them.
    missing : {"ignore", "state"}, default="ignore"
        Ignore missing cells, or treat missing as a state of its own.
    unseen : {"ignore", "smooth", "error"}, default="ignore"
        How prediction treats a value that no training row has.
    n_jobs : int, optional
    calibration : None, "temperature" or "isotonic"
        Calibrate the posteriors on leave-one-out predictions of the training rows. At most 100,000 evenly
        spaced rows are used, or 2,000 if each row needs a re-estimate (kernel densities,
        ``class_weight="balanced"``). ``fit`` chooses the calibration, and later batches keep it (``held_``).
    semi_supervised : bool, default=False
        Also learn from unlabelled rows, whose label is None, NaN or NA, or −1 if the labels are integers. EM
        maximises :math:`\sum_L \log P(c, x) + \lambda \sum_U \log P(x)`, starting from the model of the
        labelled rows. Choices that need rows (families, cut points, structure, calibration) use the labelled
        rows only.
    unlabelled_weight : float from 0 to 1, or "loo", default=1.0
        λ: the weight of an unlabelled row relative to a labelled one. 0 ignores unlabelled rows. "loo"
        chooses among λ = 0, 0.01, 0.03, 0.1, 0.3 and 1 the one with the lowest leave-one-out log-loss on the
        labelled rows. This is an approximation, because the expected counts of unlabelled rows are kept
        fixed. λ = 0 is included because EM can hurt.
    missing_label : label, optional
        The value that means a missing label, instead of −1.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> X = [["青绿", 0.697], ["乌黑", 0.774], ["青绿", 0.243], ["浅白", 0.245]]
    >>> NaiveBayes().fit(X, ["好", "好", "坏", "坏"]).predict([["乌黑", None]]).tolist()
    ['好']
    """

    network_ = is_network

    _wants_hints = True

    def __init__(
        self,
        *,
        smoothing: SmoothingLike = 1.0,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        variance: str = "mle",
        numeric: str = "gaussian",
        cut_points: Mapping[Any, ArrayLike] | None = None,
        families: Mapping[Any, str] | Literal["auto"] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        states: Mapping[Any, Collection[Label]] | None = None,
        missing: str = "ignore",
        unseen: Unseen = "ignore",
        n_jobs: int | None = None,
        calibration: str | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.variance = variance
        self.numeric = numeric
        self.cut_points = cut_points
        self.families = families
        self.categorical_features = categorical_features
        self.states = states
        self.missing = missing
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.calibration = calibration
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    def _row_choices(self) -> list[RowChoice]:
        chosen = [RowChoice('families="auto"', "Name the families.")] if self.families == "auto" else []
        return chosen + super()._row_choices()

    def _choose(self, source: Source) -> dict[str, Any]:
        if self.numeric == "mdl":
            source.need_many_passes('NaiveBayes(numeric="mdl")')
            cuts = choose_cut_points(source, self._reading(), dict(self.cut_points or {}))
            return {"cut_points": {n: cut for n, cut in cuts.items() if n not in self._chosen_by_user}}
        if self.families != "auto":
            return {}
        source.need_many_passes('NaiveBayes(families="auto")')
        return {"families": self._choose_families(source)}

    def _choose_families(self, source: Source) -> dict[Name, str]:
        trial = FittedState(
            self._reading(),
            # Kernel densities need grids in addition to moments, so every family can be estimated from the counts.
            lambda schema: replace(self._spec(schema), numeric="kernel"),
            who=type(self).__name__,
            target=source.class_variable,
            warns=False,
        )
        trial.absorb(source)
        schema = trial.schema
        if not schema.numeric:
            return {}

        def chunks() -> Iterator[Chunk]:
            for rows in source:
                yield from trial.encode(rows.table, schema, "ignore", rows).chunks()

        assert trial.spec is not None
        compared = compare_families(chunks, schema, trial.statistics, trial.spec.alpha)
        return {name: candidates.best for name, candidates in compared.items()}

    def lazy(self, source: RowSource, target: str | LabelsLike, **options: Any) -> Self:
        if self.families == "auto":
            raise UsageError(
                'families="auto" chooses from rows during fit, but a lazy model counts nothing before the first '
                "prediction."
            )
        return super().lazy(source, target, **options)

    lazy.__doc__ = CountClassifier.lazy.__doc__

    @property
    def _named_families(self) -> dict[Name, str]:
        """The families given by the user, or chosen by "auto"."""
        if self.families == "auto":
            return dict(self._held.get("families", {}))
        return dict(self.families or {})

    def table(self, name: Name) -> LabelledTable:
        """Return P(x = v | c) and the counts behind it, as a labelled table: classes × states."""
        return labelled_table(self._model, self.statistics_, name)

    @property
    def cut_points_(self) -> dict[Name, tuple[float, ...]]:
        """The cut points of each numeric attribute, which is cut into intervals (a, b]; empty if none is cut."""
        return dict(self.held_.get("cut_points", {}))

    @property
    def families_(self) -> dict[Name, FamilyChoice]:
        """The family of each attribute, why it was chosen, and which other family might fit."""
        fitted = self._require("families_")
        assert fitted.spec is not None
        return explain_families(
            fitted.schema, fitted.spec, self._named_families, fitted.hints, self.families == "auto"
        )

    @property
    def _chosen_by_user(self) -> dict[Name, str]:
        return {} if self.families == "auto" else dict(self.families or {})

    def _reading(self) -> Reading:
        binary = frozenset(n for n, f in self._chosen_by_user.items() if f == "bernoulli")
        kinds = kinds_of_families(self._chosen_by_user)
        cuts = self._held.get("cut_points", {})
        return Reading(self.categorical_features, self.states or {}, kinds, binary, cuts=cuts)

    def _spec(self, schema: Schema) -> ModelSpec:
        named = {n: f for n, f in self._named_families.items() if f in family_names()}
        smoothing = as_smoothing(self.smoothing)
        smoothing.check(schema)
        with_prior = smoothing.with_numeric_prior(schema) if self.numeric == "gaussian" else []
        families = {**dict.fromkeys(with_prior, "student"), **named}
        return ModelSpec(
            smoothing=smoothing,
            class_smoothing=smoothing.by_name.get(schema.target.name, smoothing.default),
            class_prior=self.class_prior,
            class_weight=self.class_weight,
            unbiased=self.variance == "unbiased",
            families=families,
            numeric="gaussian" if self.numeric == "mdl" else self.numeric,
            # The pseudo-count per cell for families other than tables.
            block_alpha=float(getattr(smoothing.default, "alpha", 1.0)),
            missing=self.missing,
            unseen=self.unseen,
        )

    def _adopt(self, fitted: FittedState, y: LabelsLike | None) -> None:
        if "bernoulli" in self._chosen_by_user.values():
            check_bernoulli(fitted.schema, self._chosen_by_user)
        super()._adopt(fitted, y)

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("variance", self.variance, ("mle", "unbiased"))
        one_of("missing", self.missing, _MISSING)
        one_of("unseen", self.unseen, _UNSEEN)
        as_smoothing(self.smoothing)
        one_of("numeric", self.numeric, (*family_names(), "mdl"))
        if self.cut_points is not None:
            check_cut_points(self.cut_points, self.numeric)
        if self.numeric == "mdl" and self.families == "auto":
            raise SettingError(
                'families="auto" chooses among densities, and numeric="mdl" cuts numbers into intervals. '
                "Use one of them."
            )
        for name in self.cut_points or ():
            if name in self._chosen_by_user:
                raise SettingError(
                    "{name!r} is named in families= and in cut_points=. Leave it out of one of them.",
                    name=name,
                )
        if isinstance(self.families, str) and self.families != "auto":
            raise SettingError(
                'families is {families!r}; use "auto" or a mapping from attribute to family.',
                families=self.families,
            )
        for name, family in self._chosen_by_user.items():
            one_of(f"families[{name!r}]", family, (*family_names(), "bernoulli", "table"))
