"""The schema of a table: variables with their kinds and states."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit._display_table import DisplayTable, notebook_html
from bayeskit._messages import Joined, Message, listed
from bayeskit._visible import shorter
from bayeskit._words import Vocabulary
from bayeskit.errors import ColumnError, DataError, Incompatible, UnseenState

Kind = Literal["categorical", "numeric", "block"]
Name = Hashable
Label = Hashable

# Codes fit a byte while the states, the spare cell for "missing" and the one for "unseen" do.
LARGEST_BYTE_TABLE = 254

# The name of a class whose labels came without one.
UNNAMED = "y"

# The number of attributes of a schema that a notebook shows.
MOST_SHOWN = 60

# The maximum nesting of a name, and the maximum bits of an integer in it.
DEEPEST_NAME, LONGEST_NUMBER = 8, 2**12

# A column of codes 0, 1, 2, … may not need a larger table than this, whatever it contains.
LARGEST_CODE = 2**20


def label_order(label: object) -> tuple[int, Any]:
    """Return a key that sorts any labels, even of types that Python cannot compare.

    Numbers come first, then strings, then the rest by the name of their type.

    >>> sorted(["b", 2, "a", 1], key=label_order)
    [1, 2, 'a', 'b']
    """
    if isinstance(label, (bool, int, float)):
        return (0, label)
    if isinstance(label, str):
        return (1, label)
    return (2, (type(label).__name__, str(label)))


def first_twice(names: Iterable[Name]) -> Name | None:
    """Return the first duplicate name; None if all differ.

    >>> first_twice(["a", "b", "a"])
    'a'
    """
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def column_name(name: object) -> Name:
    """Return the name of a column as stored, or raise an error if it could not be restored after saving.

    Text of a subclass (a member of an enumeration, text of NumPy) is kept as plain text.

    >>> column_name(("色泽", 1))
    ('色泽', 1)
    """
    if type(name) is str:
        return name
    if isinstance(name, str):
        return str.__str__(name)
    if name is not None and can_be_saved(name):
        found: Name = name
        return found
    try:
        shown = repr(name)
    except Exception:  # an integer with thousands of digits, or any other object
        shown = f"by a {type(name).__name__}"
    raise ColumnError(
        "A column is named {shown}, which a saved model cannot restore. Rename it; frame.columns = "
        "frame.columns.map(str) turns all names into text.",
        shown=shown,
    )


def can_be_saved(name: Any, depth: int = 0) -> bool:
    """Return whether saving restores a name, equal and of the same type (see ``_io/plain_values.py``)."""
    kind = type(name)
    if kind in (tuple, frozenset):
        return depth < DEEPEST_NAME and all(can_be_saved(part, depth + 1) for part in name)
    if kind is int:
        return int(name).bit_length() <= LONGEST_NUMBER
    if kind is Decimal:
        return not Decimal.is_nan(name)
    if kind is dt.datetime:
        zone = name.tzinfo
        return zone is None or type(zone) is dt.timezone or getattr(zone, "key", None) is not None
    if isinstance(name, np.generic) and not isinstance(name, (np.longdouble, np.clongdouble, np.void)):
        return bool(name == name)
    return kind in (type(None), bool, str, bytes, range, dt.date, dt.timedelta) or (
        kind is float and name == name
    )


def sorted_labels(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Sort labels of any types. Labels of one type sort at Python's own speed.

    >>> sorted_labels({"b", "a"})
    ('a', 'b')
    """
    labels = list(labels)
    kinds = {type(label) for label in labels}
    plain = len(kinds) == 1 and kinds <= {int, float, str}
    return tuple(sorted(labels) if plain else sorted(labels, key=label_order))


def state_code(name: Name, states: Sequence[Label], value: object) -> int:
    """Return the position of a value among the states of a node: by equality, or else by its text.

    Parameters
    ----------
    name : the node, for the message
    states : its states, in order
    value : what was given

    Examples
    --------
    >>> state_code("rain", ("no", "yes"), "yes"), state_code("n", ("0", "1"), 1.0)
    (1, 1)
    >>> state_code("b", ("false", "true"), True)
    1
    >>> state_code("rain", ("no", "yes"), "maybe")
    Traceback (most recent call last):
    ...
    bayeskit.errors.UnseenState: 'rain' has no state 'maybe' (it has 'no', 'yes').
    """
    if isinstance(value, np.generic):
        value = value.item()
    for code, state in enumerate(states):
        if _equal(state, value):
            return code
    written = _written(value)
    found = [code for code, state in enumerate(states) if written & _written(state)]
    if len(found) == 1:
        return found[0]
    listing = listed(map(repr, states), 12)
    raise UnseenState(
        "{name!r} has no state {value!r} (it has {listing}).", name=name, value=value, listing=listing
    )


def _equal(state: object, value: object) -> bool:
    try:
        return bool(state == value)
    except (TypeError, ValueError):  # an array, or something that cannot be compared
        return False


def _written(value: object) -> set[str]:
    """Return the ways in which a value may be written in a file."""
    forms = {str(value)}
    if isinstance(value, bool):
        forms.add(str(value).lower())
    elif isinstance(value, float) and value.is_integer():
        forms.add(str(int(value)))
    return forms


@dataclass(frozen=True)
class Variable:
    """One attribute, or the class.

    Parameters
    ----------
    name : hashable
    kind : "categorical", "numeric" or "block"
        A block is many numeric columns that belong together (the words of a text).
    states : tuple
        Labels in the order of their codes: declared states in the given order, then the others sorted.
    n_declared : int
        The number of declared states, which stay even if no row has them.
    closed : bool
        Whether only declared states are allowed.
    width : int
        The number of columns of a block.
    cuts : tuple of float, optional
        The cut points of a numeric column that is read as intervals: state k is the interval (cuts[k − 1],
        cuts[k]]. The intervals are declared states, regardless of the rows.
    dense : bool
        Whether the states are all integers from 0 to the largest one seen (scikit-learn's convention for
        coded categories).
    vocabulary : Vocabulary, optional
        The words that are the columns of a block, if texts are read as one.

    Examples
    --------
    >>> Variable("纹理", "categorical", ("清晰", "模糊")).code_of("模糊")
    1
    """

    name: Name
    kind: Kind
    states: tuple[Label, ...] = ()
    n_declared: int = 0
    closed: bool = False
    width: int = 1
    dense: bool = False
    cuts: tuple[float, ...] | None = None
    vocabulary: Vocabulary | None = field(default=None, hash=False, repr=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.name) is not str:
            object.__setattr__(self, "name", column_name(self.name))
        object.__setattr__(self, "size", len(self.states))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what was derived from them is found again."""
        return {one.name: self.__dict__[one.name] for one in fields(self)}

    @cached_property
    def codes(self) -> dict[Label, int]:
        return {state: code for code, state in enumerate(self.states)}

    @cached_property
    def first_of_run(self) -> int | None:
        """The first state, if the states are consecutive integers (so that encoding is a subtraction)."""
        first = self.states[0] if self.states else None
        if type(first) is not int or self.states != tuple(range(first, first + self.size)):
            return None
        return first

    def code_of(self, label: Label) -> int:
        try:
            return self.codes[label]
        except (KeyError, TypeError):
            raise UnseenState(
                "{name!r} has no state {label!r} (it has {states}).",
                name=self.name,
                label=label,
                states=self.listing(),
            ) from None

    def listing(self, most: int = 8) -> Joined:
        more = [Message("… {n} more", n=self.size - most)] if self.size > most else []
        return Joined([*map(str, self.states[:most]), *more])

    def grown(self, labels: Iterable[Label], declared: Iterable[Label] = ()) -> Variable:
        """Return the variable with these labels among its states, in canonical order."""
        if self.dense:
            return self._with_all_codes(list(labels))
        declared_before = self.states[: self.n_declared]
        declared_now = tuple(dict.fromkeys((*declared_before, *declared)))
        known = set(declared_now)
        new = {label for label in labels if label not in known and label not in self.codes}
        if self.closed and (new or len(declared_now) > self.n_declared):
            label = next(iter(sorted(new, key=label_order)), declared_now[-1])
            raise UnseenState(
                "{name!r} has no state {label!r}: its states were declared as {states}. "
                "Add it to the declaration or leave such rows out.",
                name=self.name,
                label=label,
                states=self.listing(),
            )
        if not new and len(declared_now) == self.n_declared:
            return self
        others = {state for state in self.states[self.n_declared :] if state not in known} | new
        states = declared_now + sorted_labels(others)
        grown = replace(self, states=states, n_declared=len(declared_now))
        grown.codes  # noqa: B018  a variable grows because there are labels to code
        return grown

    def _with_all_codes(self, codes: list[Any]) -> Variable:
        largest, least = max((*codes, self.size - 1), default=-1), min(codes, default=0)
        if least < 0:
            raise DataError(
                "Negative values in data passed to CategoricalNB (input X): {name!r} contains {least}. Codes "
                "start at 0; use NaN for missing, or NaiveBayes for labels of any kind.",
                name=self.name,
                least=least,
            )
        if largest >= LARGEST_CODE:
            raise DataError(
                "{name!r} contains the code {largest}, which would need a table with as many states. Use "
                'NaiveBayes(categorical_features="all"), which counts only the states that occur.',
                name=self.name,
                largest=largest,
            )
        states = tuple(range(int(largest) + 1))
        return self if len(states) == self.size else replace(self, states=states)

    def named(self, name: Name) -> Variable:
        """Return the variable under another name."""
        return self if self.name == name else replace(self, name=name)

    def union(self, other: Variable) -> Variable:
        """Return the variable whose states are those of both."""
        if self is other or self == other:
            return self
        if self.cuts != other.cuts:
            raise Incompatible(
                "{name!r} is cut at {cuts} here and at {cuts2} there.",
                name=self.name,
                cuts=self.cuts,
                cuts2=other.cuts,
            )
        if self.vocabulary is not None and self.kind == other.kind:
            self.vocabulary.check_same(other.vocabulary)
        if (self.name, self.kind, self.width) != (other.name, other.kind, other.width):
            raise Incompatible(
                "{name!r} is {kind} here and {other_kind} there"
                if self.kind != other.kind
                else "{name!r} and {other!r} are not the same variable.",
                name=self.name,
                kind=self.kind,
                other_kind=other.kind,
                other=other.name,
            )
        if self.closed != other.closed:
            opened, sealed = (other, self) if self.closed else (self, other)
            strange = [state for state in opened.states if state not in sealed.codes]
            if strange:
                raise UnseenState(
                    "{name!r} has no state {strange!r}: on one side its states were declared as {states}. Declare "
                    "this state there too.",
                    name=self.name,
                    strange=strange[0],
                    states=sealed.listing(),
                )
            return sealed
        return self.grown(other.states, declared=other.states[: other.n_declared])

    def without_unused(self, alive: NDArray[np.bool_]) -> Variable:
        """Return the variable without undeclared states that are no longer in use."""
        if self.dense:
            last = int(np.flatnonzero(alive)[-1]) + 1 if alive.any() else 0
            return (
                self if last == self.size else replace(self, states=self.states[: max(last, self.n_declared)])
            )
        states = tuple(s for code, s in enumerate(self.states) if code < self.n_declared or alive[code])
        return self if len(states) == self.size else replace(self, states=states)


@dataclass(frozen=True)
class Schema:
    """The attributes, in column order, and the class.

    Codes of categorical attributes are in one matrix, numeric values in another. ``offsets`` holds the start
    of each categorical attribute's table when the tables are concatenated, each with one extra cell for
    missing values.
    """

    attributes: tuple[Variable, ...]
    target: Variable
    position: dict[Name, int] = field(init=False, repr=False, compare=False)
    categorical: tuple[Variable, ...] = field(init=False, repr=False, compare=False)
    numeric: tuple[Variable, ...] = field(init=False, repr=False, compare=False)
    block: Variable | None = field(init=False, repr=False, compare=False)
    n_classes: int = field(init=False, repr=False, compare=False)
    offsets: NDArray[np.uintp] = field(init=False, repr=False, compare=False)
    code_dtype: type[np.uint8] | type[np.uint32] = field(init=False, repr=False, compare=False)
    numeric_index: dict[Name, int] = field(init=False, repr=False, compare=False)
    # The vocabulary of the text columns, or None without texts.
    vocabulary: Vocabulary | None = field(init=False, repr=False, compare=False)
    # The number of columns of a table that the attributes are read from.
    n_columns: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        position: dict[Name, int] = {}
        of_kind: dict[str, list[Variable]] = {"categorical": [], "numeric": [], "block": []}
        for i, variable in enumerate(self.attributes):
            position[variable.name] = i
            of_kind[variable.kind].append(variable)
        if len(position) != len(self.attributes):
            twice = first_twice(v.name for v in self.attributes)
            raise ColumnError("Two columns are named {twice!r}. Rename one of them.", twice=twice)
        sizes = [variable.size for variable in of_kind["categorical"]]
        block = next(iter(of_kind["block"]), None)
        texts = None if block is None else block.vocabulary
        n_columns = len(self.attributes)
        if block is not None:
            n_columns = block.width if texts is None else n_columns - 1 + len(texts.places)
        found = {
            "position": position,
            "categorical": tuple(of_kind["categorical"]),
            "numeric": tuple(of_kind["numeric"]),
            "block": block,
            "vocabulary": texts,
            "n_columns": n_columns,
            "n_classes": self.target.size,
            "numeric_index": {variable.name: i for i, variable in enumerate(of_kind["numeric"])},
            "offsets": np.array([0, *accumulate(size + 1 for size in sizes)], dtype=np.uintp),
            "code_dtype": np.uint8 if max(sizes, default=0) <= LARGEST_BYTE_TABLE else np.uint32,
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def order_of(self, names: tuple[Name, ...]) -> tuple[Name, ...]:
        """Return the columns of a table in the order of the attributes. The block of texts is last."""
        if self.vocabulary is None:
            return names
        texts = self.vocabulary.places
        return (*(name for j, name in enumerate(names) if j not in texts), names[texts[0]])

    @cached_property
    def categorical_index(self) -> dict[Name, int]:
        """The place of each categorical attribute among them."""
        return {variable.name: j for j, variable in enumerate(self.categorical)}

    @cached_property
    def runs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """The first state and the number of states of each categorical attribute, if all are consecutive integers;
        otherwise None."""
        first = [v.first_of_run for v in self.categorical]
        if not first or any(f is None or abs(f) > 2**62 for f in first):
            return None
        return np.array(first, dtype=np.int64), np.array([v.size for v in self.categorical], dtype=np.int64)

    def __getitem__(self, name: Name) -> Variable:
        try:
            return self.attributes[self.position[name]]
        except KeyError:
            if name == self.target.name:
                return self.target
            raise ColumnError("There is no variable {name!r}.", name=name) from None

    def with_variables(self, attributes: Iterable[Variable], target: Variable | None = None) -> Schema:
        """Return a schema with other variables, or this one if nothing differs."""
        attributes, target = tuple(attributes), target or self.target
        if target is self.target and all(a is b for a, b in zip(attributes, self.attributes, strict=True)):
            return self
        return Schema(attributes, target)

    def restricted(self, names: Iterable[Name]) -> Schema:
        """Return the schema of these attributes only, in this schema's order."""
        wanted = set(names)
        return Schema(tuple(v for v in self.attributes if v.name in wanted), self.target)

    def union(self, other: Schema) -> Schema:
        """Return the schema with the states and classes of both."""
        if self is other:
            return self
        if [v.name for v in self.attributes] != [v.name for v in other.attributes]:
            raise Incompatible("The two have different columns and cannot be added.")
        pairs = zip(self.attributes, other.attributes, strict=True)
        mine, its = self.target, other.target
        if UNNAMED in (
            mine.name,
            its.name,
        ):  # a Series of labels has a name, and an array of the same labels none
            name = its.name if mine.name == UNNAMED else mine.name
            mine, its = mine.named(name), its.named(name)
        return self.with_variables((a.union(b) for a, b in pairs), mine.union(its))

    def _repr_html_(self) -> str:
        """Return a table for notebooks: the class, then a row for each attribute."""
        n = len(self.attributes)
        rows = tuple(_shown_row(v, v is self.target) for v in (self.target, *self.attributes[:MOST_SHOWN]))
        more = ((f"… {n - MOST_SHOWN:,} more attributes",),) if n > MOST_SHOWN else ()
        title = f"{n:,} attribute{'' if n == 1 else 's'}, {self.n_classes:,} class{'' if self.n_classes == 1 else 'es'}"
        return notebook_html(DisplayTable(title, ("", "kind", "states"), (*rows, *more)))


def _shown_row(variable: Variable, is_class: bool) -> tuple[str, str, str]:
    kind = "intervals" if variable.cuts is not None else variable.kind
    if variable.kind == "block":
        states = f"{variable.width:,} {'columns' if variable.vocabulary is None else 'words'}"
    else:
        states = str(variable.listing())
    return shorter(variable.name), "class" if is_class else kind, shorter(states, 200)
