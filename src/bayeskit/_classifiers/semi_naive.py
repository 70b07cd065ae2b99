"""The base classes of the semi-naive classifiers: parameters, cut points, and graphs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.base_classifier import is_network
from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.labelled_tables import DependentTable, LabelledTable, table_with_parents
from bayeskit._conditionals.linear_family import LinearFamily
from bayeskit._counting.backend import backend_of
from bayeskit._data.encode import Unseen
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source, is_live
from bayeskit._fitting.averaging import OverViews, draw_from_sample
from bayeskit._fitting.choose_cuts import Views, check_cut_points, choose_cut_points
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.model import ModelForm, ModelSpec, RowChoice, weighted_classes
from bayeskit._fitting.naive import Naive, Sampling
from bayeskit._graphs.dag import Dag
from bayeskit._messages import Joined, Message, users_line
from bayeskit._random_state import generator_of, seed_of
from bayeskit._schema import Label, Name, Schema, Variable
from bayeskit._statistics.information import (
    class_information,
    conditional_mutual_information,
    gaussian_information,
)
from bayeskit._statistics.part import cannot_widen
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.tables import Pairs
from bayeskit.errors import SettingError, SuspectResult
from bayeskit.priors import AnyPrior, MEstimate, SmoothingLike, as_smoothing, backs_off
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight, Floats, LabelsLike, Seed


class SemiNaive(CountClassifier):
    """Classifiers whose attributes may depend on each other.

    A subclass stores its parameters and implements ``_form(schema)``. If something must be chosen from rows,
    it also implements ``_choose_more(source)``.
    """

    _accepts_sparse = False
    # The prior where no smoothing is given.
    _base_prior: AnyPrior | None = None

    smoothing: SmoothingLike
    class_prior: ClassPriorLike
    class_weight: ClassWeight
    numeric: str | int | Mapping[Any, str | int]
    cut_points: Mapping[Any, ArrayLike] | None
    categorical_features: CategoricalFeatures
    states: Mapping[Any, Collection[Label]] | None
    missing: str
    unseen: Unseen
    calibration: str | None
    n_jobs: int | None
    semi_supervised: bool
    unlabelled_weight: float | str
    missing_label: Label | None
    # The number of random sets of cut points to average over, for classifiers that support it. None: one chosen set.
    views: int | None = None
    random_state: Seed = 0

    # -- fitted attributes ---------------------------------------------------------------------

    @property
    def cut_points_(self) -> dict[Name, tuple[float, ...]]:
        """The cut points of each numeric attribute, which is cut into intervals (a, b]."""
        return dict(self.held_.get("cut_points", {}))

    @property
    def views_(self) -> tuple[dict[Name, tuple[float, ...]], ...]:
        """The cut points of each view. Empty without views."""
        return tuple(dict(view) for view in self.held_.get("views", ()))

    # -- hooks ---------------------------------------------------------------------------------

    def _form(self, schema: Schema) -> ModelForm:
        """Return which attributes depend on which. By default, all depend on the class only."""
        return Naive()

    def _choose_more(self, source: Source) -> dict[str, Any]:
        """Choose from rows whatever the model needs besides cut points and counts, such as a structure."""
        return {}

    def _choose(self, source: Source) -> dict[str, Any]:
        source.need_many_passes(type(self).__name__)
        held: dict[str, Any] = {}
        if self._averages_views:
            trial = self._trial(source, lambda schema: Sampling())
            held["views"] = draw_from_sample(
                trial.statistics, int(self.views or 1), seed_of(self.random_state)
            ).cuts
        elif self.numeric != "gaussian" or self.cut_points:
            given = dict(self.cut_points or {})
            held["cut_points"] = choose_cut_points(source, self._plain_reading(), given, self.numeric)
        self._held = held
        return {**held, **self._choose_more(source)}

    def _plain_reading(self) -> Reading:
        return Reading(self.categorical_features, self.states or {})

    def _reading(self) -> Reading:
        return Reading(self.categorical_features, self.states or {}, cuts=self._held.get("cut_points", {}))

    def _spec(self, schema: Schema) -> ModelSpec:
        form = self._form(schema)
        if "views" in self._held:
            views = Views(self._held["views"])
            form = OverViews(views, (form,) * len(views))
        return self._spec_of(schema, form)

    @property
    def _averages_views(self) -> bool:
        return self.views is not None

    def _held_with(self, names: tuple[Name, ...]) -> Mapping[str, Any]:
        if "views" in self._held:  # each has cut points of its own, drawn from rows
            raise cannot_widen("views", names)
        return self._held

    def _row_choices(self) -> list[RowChoice]:
        chosen = [RowChoice(f"views={self.views!r}", "Give cut_points=, and leave views out.")]
        return (chosen if self._averages_views else []) + super()._row_choices()

    def _spec_of(self, schema: Schema, form: ModelForm) -> ModelSpec:
        smoothing = as_smoothing(self.smoothing, self._base_prior)
        smoothing.check(schema)
        default = MEstimate(1.0) if backs_off(smoothing.default) else smoothing.default
        if backs_off(smoothing.by_name.get(schema.target.name)):
            raise SettingError(
                "With this smoothing the class {name!r} would back off, but it has no parents. Give it "
                "MEstimate(1).",
                name=schema.target.name,
            )
        return ModelSpec(
            form=form,
            smoothing=smoothing,
            class_smoothing=smoothing.by_name.get(schema.target.name, default),
            class_prior=self.class_prior,
            class_weight=self.class_weight,
            missing=self.missing,
            unseen=self.unseen,
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        as_smoothing(self.smoothing, self._base_prior)
        self._check_numeric()
        self._check_views()
        one_of("missing", self.missing, ("ignore", "state"))
        one_of("unseen", self.unseen, ("ignore", "smooth", "error"))
        check_cut_points(self.cut_points)

    def _check_numeric(self) -> None:
        """Raise an error for an invalid ``numeric``."""
        one_of("numeric", self.numeric, ("mdl", "gaussian"))
        check_cut_points(self.cut_points, self.numeric)

    def _check_views(self) -> None:
        """Raise an error for an invalid number of views, and for views with another setting for numbers."""
        if not self._averages_views:
            return
        check_whole("views", self.views, 1)
        generator_of(self.random_state)
        if self.numeric != "mdl" or self.cut_points is not None:
            raise SettingError(
                "views is {views!r}, and views draw their own cut points. Leave numeric= and cut_points= out.",
                views=self.views,
            )

    def _adopt(self, fitted: FittedState, y: LabelsLike | None) -> None:
        super()._adopt(fitted, y)
        if "views" not in self._held and not fitted.schema.categorical and fitted.schema.numeric:
            warnings.warn(
                SuspectResult(
                    'With numeric="gaussian" a numeric attribute cannot be a parent, and there is no other '
                    'attribute: this {kind} is naive Bayes. Use numeric="mdl" to cut the attributes into intervals.',
                    kind=type(self).__name__,
                ),
                stacklevel=3,
            )

    # -- for choosing from rows ----------------------------------------------------------------

    def _trial(
        self, source: Source, form: Callable[[Schema], ModelForm], reading: Reading | None = None
    ) -> FittedState:
        """Count a source for a form other than the classifier's own."""
        return self._count(source, lambda schema: self._spec_of(schema, form(schema)), reading)


def check_whole(name: str, value: object, least: int) -> None:
    """Raise an error for anything but an integer of at least this size."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise SettingError(
            "{name} is {value!r}; give a whole number of at least {least}.",
            name=name,
            value=value,
            least=least,
        )


# Up to this many attributes, whether their pairs fit is not asked beforehand: that takes a pass of its own.
_FEW_ATTRIBUTES = 200


class GraphClassifier(SemiNaive):
    """The base class of classifiers whose form has a ``graph``."""

    network_ = is_network

    @property
    def structure_(self) -> dict[Name, tuple[Name, ...]]:
        """The parents, other than the class, of each attribute in the model."""
        return self._dag.as_mapping()

    @property
    def arcs_(self) -> list[ArcInformation]:
        """The arcs, each with the conditional mutual information of its ends given the class, in nats."""
        return attribute_arcs(self.structure_, self.statistics_)

    def table(self, name: Name) -> LabelledTable | DependentTable:
        """Return P(x | c, parents) and the counts behind it, as a labelled table: classes × parents × states."""
        return table_with_parents(self._model, self.statistics_, name)

    def _held_with(self, names: tuple[Name, ...]) -> Mapping[str, Any]:
        held = super()._held_with(names)
        structure = held.get("structure")
        if structure is None:  # given, or derived from the counts
            return held
        return {**held, "structure": {**structure, **dict.fromkeys(names, self._joining)}}

    @property
    def _joining(self) -> tuple[Name, ...]:
        """The parents, as they are held, of an attribute that joins later."""
        return ()

    def _first_schema(self, source: Source) -> Schema | None:
        """Return the schema of the first batch of a source, whose states are not known yet.

        None of an empty source, and of a table of a live database.
        """
        if is_live(source):
            return None
        backend = backend_of(source)
        if backend is not None:
            return backend.skeleton(source, self._reading(), source.class_variable)
        first = next(iter(source), None)
        return None if first is None else self._reading().schema_of(first.table, Variable("y", "categorical"))

    def _too_wide(self, source: Source, fits: Callable[[Schema], bool] = Pairs.fits) -> FittedState | None:
        """Return naive Bayes of a source whose counts of all pairs do not fit into memory; None if they do."""
        if (source.n_columns or _FEW_ATTRIBUTES + 1) <= _FEW_ATTRIBUTES:
            return None
        first = self._first_schema(source)
        if first is None or len(first.attributes) <= _FEW_ATTRIBUTES:
            return None
        singles = self._trial(source, lambda schema: Naive())
        return None if fits(singles.schema) else singles

    def _trial_of_arcs(
        self, source: Source, form: Callable[[Schema], ModelForm], singles: FittedState | None
    ) -> tuple[FittedState, Source, tuple[Name, ...]]:
        """Count a source to choose arcs. Return the counts, the columns counted, and the names of the others.

        ``singles`` is what :meth:`_too_wide` returns. If it is not None, arcs are chosen among the discrete attributes
        that tell most of the class, as many as fit, and all numeric ones.
        """
        if singles is None:
            return self._trial(source, form), source, ()
        schema = singles.schema
        assert singles.spec is not None
        counts = weighted_classes(singles.statistics, singles.spec).tables.counts
        kept = {*Pairs.most_telling(schema, class_information(counts, schema.offsets)), *schema.numeric_index}
        known = {v.name: v for v in schema.attributes if v.name in kept}
        warnings.warn(
            SuspectResult(
                "All pairs of {d} attributes do not fit into memory. Arcs are chosen among the {n} that tell most of "
                "the class, and kept; the others depend on the class only.",
                d=len(schema.attributes),
                n=len(known),
            ),
            stacklevel=users_line(),
        )
        among = replace(source, columns=list(known))
        trial = self._trial(among, form, Reading(None, known=known))
        return trial, among, tuple(v.name for v in schema.attributes if v.name not in known)

    @property
    def _dag(self) -> Dag:
        """Return the graph over the attributes, without the class."""
        fitted = self._reader("structure_")
        statistics = self.statistics_
        assert fitted.spec is not None
        if not statistics.schema.categorical:
            return Dag.of({}, (v.name for v in statistics.schema.attributes))
        form: Any = fitted.spec.form
        found: Dag = form.graph(weighted_classes(statistics, fitted.spec))
        return found


# Structures as users pass and read them: attribute → parents, and arcs with their mutual information.


class ArcInformation(NamedTuple):
    """An arc between two attributes, with I(x_i; x_j | y) in nats."""

    parent: Name
    child: Name
    information: float


def given_dag(structure: Mapping[Any, Any], schema: Schema, most: int | None) -> Dag:
    """Read a given structure. It must be acyclic, with discrete parents and not too many of them."""
    dag = Dag.of(structure, (v.name for v in schema.attributes))
    discrete = {v.name for v in schema.categorical}
    for node, parents in zip(dag.nodes, dag.parents, strict=True):
        if most is not None and len(parents) > most:
            raise SettingError(
                "structure gives {node!r} the parents {parents!r}; at most {most} {_is} allowed here. KDB "
                "allows more.",
                node=node,
                parents=parents,
                most=most,
                _is="is" if most == 1 else "are",
            )
        if node not in discrete and len(parents) > 1:
            raise SettingError(
                "structure gives {node!r}, which is numeric, the parents {parents!r}; a Gaussian attribute may "
                'have one discrete parent besides the class. Use numeric="mdl", or leave arcs out.',
                node=node,
                parents=parents,
            )
        strange = next((p for p in parents if p not in discrete), None)
        if strange is not None:
            raise SettingError(
                "structure makes {strange!r}, which is numeric, a parent of {node!r}. Only discrete attributes can be "
                'parents: use numeric="mdl", or leave that arc out.',
                strange=strange,
                node=node,
            )
    return dag


def check_discrete(setting: str, name: object, schema: Schema) -> None:
    """Raise an error if a name is not a discrete attribute."""
    discrete = [v.name for v in schema.categorical]
    if isinstance(name, Hashable) and name in discrete:
        return
    known = (
        Message("There are {names}.", names=Joined(map(repr, discrete[:12])))
        if discrete
        else Message("There is none.")
    )
    raise SettingError(
        "{setting} is {name!r}, which is not a discrete attribute. {known}",
        setting=setting,
        name=name,
        known=known,
    )


def attribute_arcs(
    structure: Mapping[Name, tuple[Name, ...]], statistics: Statistics
) -> list[ArcInformation]:
    """Return the arcs of a structure with the mutual information of their ends."""
    schema = statistics.schema
    number = {v.name: j for j, v in enumerate(schema.categorical)}
    shared: Any = None
    found = []
    for child, parents in structure.items():
        for parent in parents:
            if child in number:
                counts = _pair_counts(statistics, number[parent], number[child])
                value = float(conditional_mutual_information(counts))
            else:
                if shared is None:
                    cells: Any = statistics.parts["cell_moments"]
                    shared = gaussian_information(cells, statistics.moments, schema)
                value = float(np.asarray(shared)[number[parent], schema.numeric_index[child]])
            found.append(ArcInformation(parent, child, value))
    return found


def network_arcs(
    dag: Dag, target: Name, statistics: Statistics, numbers: Sequence[LinearFamily]
) -> list[ArcInformation]:
    """Return all arcs of a graph over the class and the attributes: each with I(parent; child | other parents).

    Parameters
    ----------
    dag : Dag
    target : name of the class in it
    statistics : Statistics
        They must contain the families of the graph, or all pairs if every attribute has at most one parent
        besides the class.
    numbers : the numeric attributes given their parents
    """
    lines = {statistics.schema.numeric[family.child].name: family for family in numbers}
    number = {target: -1, **{v.name: j for j, v in enumerate(statistics.schema.categorical)}}
    found = []
    for child, parents in zip(dag.nodes, dag.parents, strict=True):
        axes = () if child in lines else tuple(number[name] for name in (*parents, child))
        counts = _family_counts(statistics, axes) if axes[:-1] else None
        for place, parent in enumerate(parents):
            if counts is None:
                j = number.get(parent, statistics.schema.numeric_index.get(parent, -1))
                value = lines[child].information(j, discrete=parent in number)
            else:
                table = np.moveaxis(counts, (place, len(parents)), (0, 1))
                value = float(conditional_mutual_information(table.reshape(*table.shape[:2], -1)))
            found.append(ArcInformation(parent, child, value))
    return found


def _family_counts(statistics: Statistics, axes: Sequence[int]) -> Floats:
    """Return the count of each configuration of some attributes and the class (−1), without missing values."""
    categorical = statistics.schema.categorical
    attributes = [j for j in axes if j >= 0]
    if len(attributes) == 1:
        order, counts = attributes, statistics.table(categorical[attributes[0]].name)
    elif "pairs" in statistics.parts:
        order, counts = attributes, _pair_counts(statistics, *attributes)
    else:
        families: Any = statistics.parts["families"]
        members = [families.names_of(f) for f in range(len(families))]
        f = next(f for f, family in enumerate(members) if set(family) == set(attributes))
        order = [*members[f][1:], members[f][0]]
        dense = np.zeros(math.prod(categorical[j].size + 1 for j in order) * statistics.schema.n_classes)
        keys, weights = families.cells(f)
        dense[keys] = weights
        whole = dense.reshape(*(categorical[j].size + 1 for j in order), -1)
        counts = whole[tuple(slice(0, -1) for _ in order)]
    if -1 not in axes:
        counts = counts.sum(axis=-1)
    return np.asarray(counts).transpose([counts.ndim - 1 if j < 0 else order.index(j) for j in axes])


def _pair_counts(statistics: Statistics, parent: int, child: int) -> Any:
    """Return n(x_parent, x_child, c) over the rows where both are present."""
    pairs: Any = statistics.parts.get("pairs")
    if pairs is not None:
        return pairs.table(parent, child)
    families: Any = statistics.parts["families"]
    members = [families.names_of(f) for f in range(len(families))]
    f = next(f for f, family in enumerate(members) if family[0] == child and parent in family)
    return families.pair(f, members[f].index(parent))
