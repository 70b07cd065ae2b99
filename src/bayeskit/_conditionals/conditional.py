"""The interface of conditional distributions, the factors of a model.

Every operation is a method here. Callers use the methods and never check the type of a conditional.
``supports("sample_into")`` returns whether a method is available; calling one that is not raises
``NotSupported``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.encoded import Chunk
from bayeskit._messages import Message
from bayeskit.errors import InfiniteValue, NotSupported
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._conditionals.categorical import TableConditional
    from bayeskit._conditionals.cell_gaussian import ChildGaussians
    from bayeskit._conditionals.complement import WordScore
    from bayeskit._conditionals.covariance import GaussianClasses
    from bayeskit._conditionals.density import Formula
    from bayeskit._conditionals.family_tries import FamilyTries
    from bayeskit._conditionals.log_linear import LogLinearScore
    from bayeskit._conditionals.one_parent import OneParent
    from bayeskit._conditionals.posterior_draws import Draws
    from bayeskit._conditionals.scoring import Score
    from bayeskit._counting.running_sums import RunningSums
    from bayeskit._fitting.graph_factors import GraphFactors
    from bayeskit._fitting.stack import StackedPosterior
    from bayeskit._statistics.moments import Moments
    from bayeskit._statistics.statistics import Statistics

Codes = NDArray[np.intp]


@dataclass(eq=False)
class DrawnRows:
    """Rows that are being sampled, one conditional after the other.

    Attributes
    ----------
    classes : int array of shape (n,)
    codes, values : arrays of shape (n, categorical attributes) and (n, numeric attributes)
    absent : list of (columns, mask)
        Numeric cells that become missing when all are drawn.
    block : array of shape (n, width), or None
    """

    classes: Codes
    codes: Codes
    values: Floats
    absent: list[tuple[Codes, NDArray[np.bool_]]] = field(default_factory=list)
    block: Any = None

    def finished(self) -> Floats:
        """Return the numbers, with NaN for missing."""
        for columns, missing in self.absent:
            self.values[:, columns] = np.where(missing, np.nan, self.values[:, columns])
        return self.values


class DrawRule(NamedTuple):
    """The settings for drawing tables from their posteriors.

    For each categorical attribute, ``above_mode`` is 1 if its estimate is a posterior mode (else 0), and ``by_rows``
    is true if its back-off constants were chosen from rows. ``class_above_mode`` is the former for the class.
    """

    who: str
    above_mode: Floats
    by_rows: NDArray[np.bool_]
    class_above_mode: float


class ParameterPosterior(Protocol):
    """The posterior distribution of the parameters of a conditional."""

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        """Add log P(these attributes | class) under each draw of the parameters to ``out`` of shape (n, draws, K)."""
        ...


class Nodes(Protocol):
    """The nodes of a network under construction, to which conditionals add attributes by index."""

    def add_normal(self, column: int, mean: Floats, deviation: Floats) -> None:
        """Add a numeric attribute that is normal in each class: arrays of shape (K,)."""
        ...

    def add_tables(self, tables: DiscreteConditional) -> None:
        """Add categorical attributes with their parents."""
        ...

    def add_children(self, children: ChildGaussians) -> None:
        """Add numeric attributes that are normal given the class and a categorical attribute."""
        ...

    def add_missingness(self, column: int, table: Floats) -> None:
        """Add whether a numeric attribute is missing: P(present), P(missing) in each class, shape (K, 2)."""
        ...

    def add_words(self, tables: Floats) -> None:
        """Add the columns of a block: P(absent), P(present) of each in each class, shape (V, K, 2)."""
        ...

    def add_graph(self, graph: GraphFactors) -> None:
        """Add attributes with any parents. The class may be one of their children."""
        ...

    def refusal(self, conditional: Conditional, what: str, way_out: str) -> NotSupported:
        """Return the error that names the attributes, their unsupported property, and a way out."""
        ...


class Workings(Protocol):
    """The explanation of one row under construction, to which conditionals add factors by attribute index.

    If a conditional is more than one formula per attribute, it is passed as a whole, and the report reads it.
    """

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        ...

    def add_density(self, column: int, family: str, logs: Floats, formulas: Sequence[Formula]) -> None:
        """Add the factor of a numeric attribute: its logarithm and its formula in each class."""
        ...

    def add_presence(self, column: int, missing: bool, logs: Floats) -> None:
        """Add the probability that a numeric attribute is present, or missing."""
        ...

    def add_tables(self, tables: TableConditional) -> None:
        """Add categorical attributes, each given the class."""
        ...

    def add_pairs(self, pairs: OneParent) -> None:
        """Add categorical attributes, each given the class and one other."""
        ...

    def add_families(self, families: FamilyTries) -> None:
        """Add categorical attributes, each given the class and several others."""
        ...

    def add_children(self, children: ChildGaussians) -> None:
        """Add numeric attributes, each given the class and a categorical one."""
        ...

    def add_graph(self, graph: GraphFactors) -> None:
        """Add attributes with any parents. The class may be one of their children."""
        ...

    def add_together(self, joint: GaussianClasses) -> None:
        """Add numeric attributes that share one joint factor."""
        ...

    def add_average(self, average: Any) -> None:
        """Add attributes whose factors, which include P(c), are averaged over super-parents."""
        ...

    def raise_columns(self, power: float) -> None:
        """Raise the factors of all columns other than the text to this power."""
        ...

    def add_words(self, score: WordScore) -> None:
        """Add the words of a text, and the bias of each class."""
        ...

    def add_log_linear(self, score: LogLinearScore) -> None:
        """Add sets of attributes with their weights, and the bias of each class."""
        ...

    def add_stack(self, stack: StackedPosterior) -> None:
        """Add models with their weights, instead of attributes."""
        ...


class RowFactor(Protocol):
    """Factors of single rows that follow sums to which rows are added."""

    def refresh(self) -> bool:
        """Estimate them from the sums as they are now; False where only the whole estimate can."""
        ...

    def add(self, codes: NDArray[Any], values: Floats, out: Floats) -> bool:
        """Add log P(these attributes | class) of one row to ``out`` of shape (K,).

        False where only ``add_log_prob`` can; ``out`` is then of no use.
        """
        ...


class WeightedTerms(Protocol):
    """log P(x_i | c) of every attribute, in the layout of the loop that chooses weights."""

    places: NDArray[np.uintp]
    log_table: Floats
    mean: Floats
    low: Floats
    inverse: Floats
    norm: Floats
    missing: Floats


class Conditional(ABC):
    """The conditional distribution of some attributes given the class, ready for look-up.

    Conditionals are immutable and thread-safe. A model of mixed attributes adds their log-probabilities.
    """

    # Whether each attribute has its own factor, independent of the other attributes.
    is_separate: ClassVar[bool] = False
    # Whether its explanation consists of attributes. Otherwise contributions are found by leaving out values.
    explains_attributes: ClassVar[bool] = True
    # Whether it has one table for each categorical attribute: see DiscreteConditional.
    has_tables: ClassVar[bool] = False

    # Whether P(c) must be added. An average over models (AODE) already includes it.
    adds_prior: ClassVar[bool] = True

    @property
    def is_distribution(self) -> bool:
        """Whether P(x | c) is defined. Some conditionals only score classes."""
        return True

    @classmethod
    def supports(cls, ability: str) -> bool:
        """Whether a method of this interface is implemented."""
        return getattr(cls, ability) is not getattr(Conditional, ability)

    @abstractmethod
    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        """Add log P(these attributes | class) of every row to ``out`` of shape (n, K), C order.

        A missing value adds nothing. NaN is never added; −inf means "impossible".
        """

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed.

        If this is not implemented, leave-one-out re-estimates the model for each row, which is slow but
        equal.
        """
        raise self._refusal("leave a row out by a look-up")

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        """Sample the attributes of rows whose classes and parent attributes are already drawn."""
        raise NotSupported(
            "No rows can be sampled from a model of {kind}: it has no distribution that can be sampled one "
            "attribute at a time. NaiveBayes, SPODE, TAN, KDB and AODE have one.",
            kind=type(self).__name__,
        )

    def sample_all(self, n: int, rng: np.random.Generator, given: int | None) -> DrawnRows | None:
        """Sample classes (all of one class if given) together with the attributes.

        For conditionals that include P(c). None if this is impossible in this model; then ``in_its_place`` is
        used.
        """
        raise self._refusal("draw classes")

    def in_its_place(self) -> tuple[Conditional, ...]:
        """Return the conditionals to use where this one is not available."""
        return (self,)

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        """Return the posterior of the parameters, for credible intervals."""
        raise NotSupported(
            "{who} is not a product of tables and densities that have posteriors", who=rule.who
        )

    def add_nodes(self, nodes: Nodes) -> None:
        """Add the attributes to a network, each with its distribution given its parents."""
        way_out = "NaiveBayes, SPODE, TAN and KDB are networks."
        raise nodes.refusal(self, type(self).__name__, way_out)

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        """Add the log-probability of each attribute by itself to ``out`` of shape (n, places, K).

        ``categorical`` and ``numeric`` give the position of each attribute. Attributes that depend on each
        other are taken one after the other.
        """
        raise self._refusal("be taken apart by attributes")

    def least(self, column: int) -> float:
        """Return the minimum value that a numeric attribute can have according to this conditional."""
        return -np.inf

    def log_excess(self, chunk: Chunk) -> Floats:
        """Return the amount by which the added value exceeds log P(x | c), equal for all classes: shape (n,)."""
        return np.zeros(chunk.n_rows)

    def explain(self, chunk: Chunk, page: Workings) -> None:
        """Explain the factors of one row. If not implemented, a row is explained by leaving out values."""
        raise self._refusal("be written down as factors")

    def log_prior(self, mean: Floats, alpha: float) -> float:
        """Return the log prior that smoothing adds to the objective of EM, up to a constant: Σ a log θ.

        ``mean`` are the means of the numeric attributes over all rows, used as imaginary rows. ``alpha`` is
        the imaginary count of a cell whose counts are not stored.
        """
        return 0.0

    def with_attribute_weights(self, discrete: Floats, numeric: Floats) -> Conditional:
        """Return the conditional with the factor of each attribute raised to its weight."""
        raise self._refusal("have weights of attributes")

    def put_terms(self, terms: WeightedTerms) -> None:
        """Write log P(x_i | c) in the layout of the kernel that learns weights."""
        raise self._refusal("have weights of attributes")

    def following(self, sums: RunningSums) -> RowFactor:
        """Return the same factors, estimated anew from sums whenever rows were added to these."""
        raise self._refusal("follow the sums of a stream")

    def score(self) -> Score:
        """Return the value of ``add_log_prob`` as a formula for SQL, ONNX and JSON.

        Terms that are the same for all classes may be omitted, because posteriors do not depend on them.
        """
        raise no_formula(type(self).__name__)

    def _refusal(self, what: str) -> NotSupported:
        return NotSupported("{kind} cannot {what}.", kind=type(self).__name__, what=what)


class DiscreteConditional(Conditional):
    """Categorical attributes with one table each, given the class and other categorical attributes."""

    has_tables: ClassVar[bool] = True
    # Whether attributes may have parents other than the class.
    takes_parents: ClassVar[bool] = True

    @abstractmethod
    def sample(self, classes: Codes, rng: np.random.Generator) -> Codes:
        """Draw codes of shape (n, d), parents before children."""

    @abstractmethod
    def members(self) -> list[int]:
        """Return the indices of the attributes that have a table."""

    @abstractmethod
    def parents_of(self, j: int) -> list[int]:
        """Return the parents of an attribute other than the class, in the model's order."""

    @abstractmethod
    def codes_of(self, j: int) -> tuple[int, ...]:
        """Return the codes of an attribute that have a probability: its states, and missing and unseen if modelled."""

    @abstractmethod
    def table_of(self, j: int, parents: Sequence[int], codes: Sequence[Sequence[int]]) -> Floats:
        """Return P(x_j | c, parents) of these codes of the parents and of the child: axes parents, child, class.

        ``parents`` are the first of its parents; the others are treated as missing.
        """

    @abstractmethod
    def counts_of(self, statistics: Statistics, j: int) -> Floats:
        """Return the counts behind the table of an attribute, states only: axes parents, child, class."""

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.codes = self.sample(rows.classes, rng)

    def add_nodes(self, nodes: Nodes) -> None:
        nodes.add_tables(self)


class LatentTables(Protocol):
    """The tables of EM's loops over rows, classes last; see :mod:`bayeskit._fitting.mixtures.latent_problem`."""

    @property
    def kinds(self) -> NDArray[np.uint8]: ...
    @property
    def table(self) -> Floats: ...
    @property
    def centre(self) -> Floats: ...
    @property
    def low(self) -> Floats: ...
    @property
    def scale(self) -> Floats: ...
    @property
    def norm(self) -> Floats: ...
    @property
    def absent(self) -> Floats: ...


class Profiles(Protocol):
    """A description of hidden classes, to which conditionals add attributes by index."""

    def add_table(self, column: int, values: Floats) -> None:
        """Add a categorical attribute: P(state) in each class, shape (K, states)."""
        ...

    def add_numbers(self, column: int, family: str, rows: tuple[str, ...], values: Floats) -> None:
        """Add a numeric attribute: the names of its values, and the values in each class, shape (K, rows)."""
        ...

    def add_missing(self, kind: Literal["categorical", "numeric"], column: int, share: Floats) -> None:
        """Add the share of rows in which an attribute is missing, if missing is a state: shape (K,)."""
        ...


class Component(Conditional):
    """A conditional that supports a hidden class: EM estimates its parameters.

    ``parameters`` names the fields of the parameters. The first one is used to order components of equal weight.
    ``class_axis`` is their class axis. ``saved`` names the fields that a file stores in addition to the sums.
    """

    parameters: ClassVar[tuple[str, ...]]
    class_axis: ClassVar[int] = 0

    @property
    def saved(self) -> tuple[str, ...]:
        """The fields that a file stores because EM may have changed them. The rest follows from the sums."""
        return self.parameters

    def moved(self, **fields: Any) -> Self:
        """Return the conditional with other parameters, which were not estimated from its counts."""
        more = {"counted": None} if hasattr(self, "counted") else {}
        return replace(self, **fields, **more)  # type: ignore[type-var]

    def permuted(self, order: Codes) -> Self:
        """Return the conditional with its classes in another order."""
        fields = {name: np.take(getattr(self, name), order, axis=self.class_axis) for name in self.parameters}
        return self.moved(**fields)

    def by_class(self) -> list[Floats]:
        """Return the parameters with classes on the last axis, in units in which rounding errors are small."""
        return [np.moveaxis(getattr(self, name), self.class_axis, -1) for name in self.parameters]

    def order_keys(self) -> Floats | None:
        """Return the keys that order classes of equal weight, with classes on the last axis."""
        return np.asarray(np.moveaxis(getattr(self, self.parameters[0]), self.class_axis, -1))

    @abstractmethod
    def describe(self, page: Profiles) -> None:
        """Describe the attributes in each class."""

    @abstractmethod
    def n_free(self) -> int:
        """Return the number of free parameters in each class."""

    def flat(self, pooled: Moments | None) -> list[Floats]:
        """Return the parameters in an unconstrained form, by default their logarithms."""
        with np.errstate(divide="ignore"):
            return [np.log(getattr(self, name)) for name in self.parameters]

    def unflat(self, take: Callable[[tuple[int, ...]], Floats], pooled: Moments | None) -> Self:
        """Return the conditional that a vector represents; ``take(shape)`` returns its next numbers."""
        return self.moved(**{name: np.exp(take(getattr(self, name).shape)) for name in self.parameters})

    def raised(self, floor: float, pooled: Moments | None) -> Self:
        """Return the conditional with variances of at least this fraction of the attribute's variance over all rows."""
        return self

    def with_floor(self, floor: float) -> Self:
        """Return the conditional with this fraction as the lower bound in later steps. Its parameters respect it."""
        return self

    def on_floor(self, pooled: Moments) -> list[tuple[int, int]]:
        """Return the (class, column) pairs whose variance equals its floor."""
        return []

    def is_sound(self) -> bool:
        """Whether parameters from a file are valid."""
        return True

    def write_tables(self, tables: LatentTables, exponent: NDArray[np.int64]) -> bool:
        """Write the tables of EM's loops, for values stored as x·2^−exponent. Return False if that is impossible."""
        return False


def no_formula(what: str | Message) -> NotSupported:
    """Return the error for a model that cannot be written as a formula in SQL, ONNX or JSON."""
    return NotSupported(
        "{what} cannot be written as SQL, ONNX or JSON: it is not a formula of look-ups and simple densities. "
        "NaiveBayes, SPODE, TAN, KDB, AODE and AnDE with tables, normal, Student or Poisson densities can be. Any "
        'model answers other programs through "bayeskit serve", and files through predict(source, '
        'sink="answers.csv").',
        what=what,
    )


def refuse_infinite(chunk: Chunk) -> None:
    """Raise an error for infinite values, for conditionals that cut numbers. The model adds the column's name."""
    infinite = np.argwhere(np.isinf(chunk.values))
    if len(infinite):
        row, column = (int(place) for place in infinite[0])
        raise InfiniteValue(column, row, float(chunk.values[row, column]))
