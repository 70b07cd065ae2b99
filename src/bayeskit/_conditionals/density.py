"""Families of numeric attributes: their interface and their registry.

A family is a subclass of ``Density`` in its own file, with one ``register_family`` call at the end of this file or
in your own module. The library uses numeric attributes only through these methods.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import (
    Codes,
    Component,
    DrawnRows,
    DrawRule,
    Nodes,
    ParameterPosterior,
    Profiles,
    Workings,
    no_formula,
)
from bayeskit._conditionals.scoring import Score
from bayeskit._data.encoded import Chunk
from bayeskit._messages import LANGUAGES, Joined, Message, RowNumber, add_translations
from bayeskit._schema import Name
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError, NotSupported, SettingError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._statistics.grids import Grids
    from bayeskit._statistics.moments import Moments

# Above 2**53, a float cannot represent every integer.
LARGEST_COUNT = 2.0**53
# Below the smallest normal double 1/σ overflows.
SMALLEST_DEVIATION = 2.0**-1022


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """The input for estimating a family: sums of some numeric attributes, and settings.

    Attributes
    ----------
    statistics : Statistics
    columns : int array of shape (d,)
        The positions of the attributes among the numeric ones.
    alpha : float
        The weight of the prior, in imaginary rows.
    unbiased : bool
        Whether variances are divided by n − 1.
    floor_share : float, optional
        The fraction of the largest variance that is added to all variances.
    prior : optional
        A numeric prior, for a family that uses one.
    """

    statistics: Statistics
    columns: Codes
    alpha: float = 1.0
    unbiased: bool = False
    floor_share: float | None = None
    prior: Any = None

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the attributes, for messages."""
        return tuple(self.statistics.schema.numeric[j].name for j in self.columns.tolist())

    @property
    def moments(self) -> Moments:
        """n, Σx and Σx² of the attributes in each class."""
        moments = self.statistics.moments
        whole = len(self.columns) == moments.weight.shape[1]
        return moments if whole else moments.columns(self.columns)

    @property
    def grids(self) -> Grids:
        """The grids of the attributes, if ``pattern`` requests them."""
        from bayeskit._statistics.grids import Grids

        part: Any = self.statistics.parts["grids"]
        names = next(p.attributes for p in self.statistics.plan.patterns if p.kind == "grids")
        if names == self.names:
            grids: Grids = part
            return grids
        places = {name: j for j, name in enumerate(names)}
        return Grids.of([part.grid(places[name]) for name in self.names], n_classes=part.n_classes)


class Parameter(NamedTuple):
    """A parameter as shown in a formula. With a ``spread``, only significant digits are shown."""

    letter: str
    value: float
    spread: float | None = None


class Formula(NamedTuple):
    """The formula of a distribution: N(x; μ=0.5, σ²=0.1) has the symbol N and two parameters."""

    symbol: str
    parameters: tuple[Parameter, ...]


_WORDS = ("read_as", "column", "legend", "hint")


@dataclass(frozen=True)
class FamilyWords:
    """The names of a family in English.

    The catalogue of messages has the translations of the library's own families. A family from outside the library
    brings its own, as ``translations``.

    Attributes
    ----------
    read_as : str
        A description of such a column: "a Poisson count".
    column : str
        The same in a table of columns: "counts (Poisson)".
    legend : str
        A sentence that explains its formula.
    hint : str
        Why a column fits the family: "it holds …"; empty if the family is never suggested.
    translations : mapping from language to FamilyWords
        The same in other languages, ``{"zh": FamilyWords(...)}``. Without them the words stay English.
    """

    read_as: str
    column: str
    legend: str
    hint: str = ""
    translations: Mapping[str, FamilyWords] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for lang in self.translations:
            if lang not in LANGUAGES:
                raise SettingError(
                    "lang is {lang!r}; choose from {names}.", lang=lang, names=Joined(map(repr, LANGUAGES))
                )

    def add_translations(self) -> None:
        """Add the translations to those of the library, so that reports, commands and errors use them."""
        for lang, words in self.translations.items():
            pairs = ((getattr(self, name), getattr(words, name)) for name in _WORDS)
            add_translations(lang, {text: other for text, other in pairs if text and other})


class Shape(NamedTuple):
    """A summary of a column: the number of values, and their moments."""

    n: int
    is_whole: bool
    top: float
    mean: float
    variance: float
    skew: float
    tail: float


class Summary(NamedTuple):
    """A summary of the attributes in each class: names, and values of shape (K, d, names)."""

    names: tuple[str, ...]
    values: Floats


class Density(Component):
    """A family of numeric attributes, independent given the class, estimated for d of them at once.

    A subclass is a frozen dataclass with a field ``columns`` (the positions of the attributes among the
    numeric ones). It must define ``family``, ``words``, ``parameters``, ``estimate``, ``add_log_prob``,
    ``sample`` and ``formula``. The other methods have a default that is correct for any family, or raise an
    error until they are implemented.
    """

    family: ClassVar[str]
    words: ClassVar[FamilyWords]
    # The pattern to count for an attribute, in addition to its moments.
    pattern: ClassVar[Literal["moments", "grids"]] = "moments"
    # Whether its values are non-negative counts, with probabilities instead of densities.
    of_counts: ClassVar[bool] = False
    takes_prior: ClassVar[bool] = False
    # Whether it can be the distribution of a hidden class, whose sums are moments of shares of rows.
    can_be_hidden: ClassVar[bool] = True
    is_separate: ClassVar[bool] = True

    if TYPE_CHECKING:

        @property
        def columns(self) -> Any: ...

    @classmethod
    @abstractmethod
    def estimate(cls, sums: ColumnSums) -> Self:
        """Estimate the distributions of some attributes in all classes."""

    @abstractmethod
    def sample(self, classes: Codes, rng: np.random.Generator) -> Floats:
        """Sample the attributes for rows of the given classes: shape (n, d)."""

    @abstractmethod
    def formula(self, i: int, k: int) -> Formula:
        """Return the formula of the i-th attribute in class k."""

    def in_use(self) -> NDArray[np.bool_]:
        """Which attributes are factors: shape (d,). A constant attribute is not."""
        return np.ones(len(self.columns), dtype=bool)

    def score(self) -> Score:
        """Not supported, unless the family has a formula."""
        raise no_formula(Message("A density of the family {family!r}", family=self.family))

    @classmethod
    def check_values(cls, values: Floats, names: tuple[Name, ...], rows: NDArray[np.intp]) -> None:
        """Raise an error for values of shape (n, d) outside the family's range; ``rows`` are their row
        numbers."""
        if not cls.of_counts:
            return
        wrong = (values < 0.0) | (values > LARGEST_COUNT)
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise DataError(
                "{name!r} is {value:g} in {place}, which is not a count: "
                "a value of {family!r} lies between 0 and 2**53. Choose another family for it.",
                name=names[j],
                value=values[i, j],
                place=RowNumber(rows[i]),
                family=cls.family,
            )

    @classmethod
    def suits(cls, moments: Moments, whole: bool) -> bool:
        """Whether ``families="auto"`` tries it on an attribute; ``whole``: all values are non-negative integers."""
        left_out = cls.supports("add_left_out") or cls.left_out_alone is not Density.left_out_alone
        return left_out and (whole or not cls.of_counts)

    @classmethod
    def hinted(cls, shape: Shape) -> bool:
        """Whether to suggest it for a column with this shape."""
        return False

    def left_out_alone(self, x: Floats, own: Floats, target: Codes, scored: Floats) -> Floats:
        """Return the leave-one-out log p(x | own class) of the first attribute: shape (n,).

        ``scored`` are the log densities with the row included, shape (n, K). The value for the only row of a
        class does not matter.
        """
        column = int(self.columns[0])
        values = np.full((len(x), column + 1), np.nan)
        values[:, column] = x
        chunk = Chunk(len(x), np.empty((len(x), 0), np.uint8), values, target=target.astype(np.uint32))
        out = np.zeros_like(scored)
        self.add_left_out(chunk, own, out)
        return np.asarray(out[np.arange(len(x)), target])

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.values[:, self.columns] = self.sample(rows.classes, rng)

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        raise NotSupported("the family {family!r} has no posterior of its parameters", family=self.family)

    def add_nodes(self, nodes: Nodes) -> None:
        way_out = 'Use families={...: "table"}, or numeric="gaussian".'
        raise nodes.refusal(self, self.words.read_as, way_out)

    def least(self, column: int) -> float:
        return 0.0 if self.of_counts and column in self.columns else -np.inf

    def explain(self, chunk: Chunk, page: Workings) -> None:
        """Explain one attribute at a time, with all others missing."""
        used, row = self.in_use(), chunk.values[0]
        for i, column in enumerate(int(column) for column in self.columns):
            if np.isnan(row[column]) or not used[i]:
                continue
            values = np.full((1, len(row)), np.nan)
            values[0, column] = row[column]
            logs = np.zeros((1, page.n_classes))
            self.add_log_prob(Chunk(1, np.empty((1, 0), np.uint8), values), logs)
            formulas = [self.formula(i, k) for k in range(page.n_classes)]
            page.add_density(column, self.family, logs[0], formulas)

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        """Add the density of one column at a time, with all others missing."""
        for column in sorted(int(column) for column in self.columns):
            values = np.full_like(chunk.values, np.nan)
            values[:, column] = chunk.values[:, column]
            alone = np.zeros((chunk.n_rows, out.shape[2]))
            self.add_log_prob(Chunk(chunk.n_rows, chunk.codes, values), alone)
            out[:, numeric[column]] += alone

    def n_free(self) -> int:
        return len(self.parameters) * int(self.in_use().sum())

    def describe(self, page: Profiles) -> None:
        names, values = self.summary()
        for i, column in enumerate(self.columns.tolist()):
            page.add_numbers(column, self.family, names, values[:, i])

    def summary(self) -> Summary:
        """The summary of a latent class: by default, its parameters."""
        return Summary(self.parameters, np.stack([getattr(self, name) for name in self.parameters], axis=-1))

    @classmethod
    def unmoved(cls, values: Floats) -> Floats:
        """Return the part of log P(x | c) that ``write_tables`` omits because no parameter affects it: shape (n,)."""
        return np.zeros(len(values))


_HOMES: dict[str, str] = {}


def register_family(family: str, home: str) -> None:
    """Register a family by name, as in ``NaiveBayes(numeric=family)``.

    Parameters
    ----------
    family : str
    home : str
        ``"module:class"``. The module is imported when the family is first used.
    """
    if _HOMES.get(family, home) != home:
        raise SettingError(
            "The family {family!r} is registered already, as {homes!r}. Choose another name.",
            family=family,
            homes=_HOMES[family],
        )
    _HOMES[family] = home


def family_of(name: str) -> type[Density]:
    """Return the class of a family.

    >>> family_of("poisson").of_counts
    True
    """
    try:
        module, _, own = _HOMES[name].partition(":")
    except KeyError:
        raise SettingError(
            "There is no family {name!r}; choose from {names}.", name=name, names=Joined(map(repr, _HOMES))
        ) from None
    found: type[Density] = getattr(import_module(module), own)
    found.words.add_translations()
    return found


def family_names() -> tuple[str, ...]:
    """Return the names of all families, in the order in which they were registered."""
    return tuple(_HOMES)


def families() -> list[type[Density]]:
    """Return all families, in the order in which they were registered."""
    return [family_of(name) for name in _HOMES]


register_family("gaussian", "bayeskit._conditionals.gaussian:Gaussian")
register_family("student", "bayeskit._conditionals.student:Student")
register_family("kernel", "bayeskit._conditionals.kernel_density:KernelDensity")
register_family("poisson", "bayeskit._conditionals.poisson:Poisson")
register_family("negative-binomial", "bayeskit._conditionals.negative_binomial:NegativeBinomial")


def shapes_of(names: Iterable[Name], values: Floats) -> dict[Name, Shape]:
    """Summarise columns of some rows, except those that are constant or have hardly any values.

    ``values`` has the shape (n, d).
    """
    present = np.isfinite(values)
    n = present.sum(axis=0)
    x = np.where(present, values, 0.0)
    whole = (x == np.rint(x)).all(axis=0) & (x >= 0).all(axis=0)
    top = x.max(axis=0, initial=0.0)
    with np.errstate(all="ignore"):
        mean = x.sum(axis=0) / n
        deviation = np.where(present, values - mean, 0.0)
        square = deviation * deviation
        second = square.sum(axis=0) / n
        skew = (square * deviation).sum(axis=0) / n / second**1.5
        tail = (square * square).sum(axis=0) / n / second**2 - 3.0
    numbers = np.stack((top, mean, second, skew, tail), axis=1).tolist()
    every = zip(names, n.tolist(), whole.tolist(), numbers, strict=True)
    return {
        name: Shape(size, is_whole, *rest)
        for name, size, is_whole, rest in every
        if size >= 10 and rest[2] > 0
    }


def hinted_families(shapes: Mapping[Name, Shape]) -> dict[Name, str]:
    """Return a better family for numeric columns that do not look Gaussian.

    A column of zeros and ones suggests "bernoulli". Each numeric family decides by ``hinted``: small
    nonnegative integers suggest "poisson", a shape far from normal suggests "kernel". The family is never
    changed automatically.
    """
    hints: dict[Name, str] = {}
    for name, shape in shapes.items():
        if shape.is_whole and shape.top <= 1:
            hints[name] = "bernoulli"
            continue
        # Counts are recognised by their values; other families only by their shape.
        found = sorted((f for f in families() if f.hinted(shape)), key=lambda f: not f.of_counts)
        if found:
            hints[name] = found[0].family
    return hints


def why_hinted(family: str) -> str:
    """Return why a family is suggested.

    >>> why_hinted("bernoulli")
    'it holds only 0 and 1'
    """
    return "it holds only 0 and 1" if family == "bernoulli" else family_of(family).words.hint
