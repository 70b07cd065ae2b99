"""Counts in DuckDB with the terms of a plan as grouping sets; only cells are returned, never rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.backend_protocol import Backend
from bayeskit._counting.partitions import MOST_CHOSEN_FROM, Kernels, SampledFrame, SomeRows
from bayeskit._data.database_url import quoted
from bayeskit._data.frames import n_rows_of, relation_rows
from bayeskit._data.reading import Reading
from bayeskit._data.relation import Relation, python_label
from bayeskit._data.source import Source, is_in_duckdb, place_of
from bayeskit._schema import Label, Name, Schema, Variable
from bayeskit._statistics.moments import exponent_for
from bayeskit._statistics.part import CellTable
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Plan, Term
from bayeskit.errors import CannotCount, ColumnError, DataError, DataTypeError, UnseenClass, WeightError

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

# GROUPING() distinguishes the sets of at most 64 columns, and each set is a separate hash table.
_MOST_COLUMNS, _MOST_SETS = 60, 64
# Sums of integers below this are exact, in any order.
_EXACT = 2**53

_CLASS, _WEIGHT, _VALUE, _SCALE = "y", "w", "x", "s"
_PIECES, _BITS = 4, 26
_SUMS = ("pivot", "first", "first_low", "second", "second_low")
_PAIRS = list(combinations_with_replacement(range(_PIECES), 2))
# A column of labels, without conversion.
_ALONE = Variable("class", "categorical")
# The class of rows whose classes do not matter.
_ONE = Variable("class", "categorical", (0,))
Columns = tuple[str, ...]
Cell = tuple[tuple[Any, ...], tuple[Any, ...]]


class DuckDB(Backend):
    """Counts a DuckDB relation by SQL: categories, and the moments of single numeric attributes.

    Parameters
    ----------
    kernels : Kernels, optional
        What counts the other sums, such as products of numbers, from the rows of the relation, read piece by piece.
        Without it they are an error.
    """

    takes = staticmethod(is_in_duckdb)

    def __init__(self, kernels: Kernels | None = None) -> None:
        self.kernels = kernels

    def schema(self, source: Source, reading: Reading, target: Variable) -> Schema:
        rows = _Rows.of(source, target)
        schema = reading.schema_of(rows.attributes, target)
        if schema.block is not None and self.kernels is not None:
            return self.kernels.schema(_whole(source), reading, target)
        rows.check(schema)
        names = {name: v for v, name in rows.variables(schema)}
        found = {
            name: [python_label(value) for (value,), _ in cells if value is not None]
            for (name,), cells in rows.grouped(
                rows.projected(schema), [(_CLASS,), *((name,) for name in names)], ["count(*)"]
            )
        }
        grown = {v.name: rows.grown(v, found[name]) for name, v in names.items()}
        attributes = [grown.get(v.name, v) for v in schema.attributes]
        classes = found[_CLASS] if source.target is not None else target.states
        return schema.with_variables(attributes, _with_classes(target, classes))

    def count(self, source: Source, schema: Schema, plan: Plan) -> Statistics:
        try:
            terms = plan.terms(schema)
            _refuse_values(terms, schema)
        except CannotCount:
            if self.kernels is None:
                raise
            return self.kernels.count(_whole(source), schema, plan)
        Statistics.zero(schema, plan)  # raises an error for too large tables, before anything is counted
        rows = _Rows.of(source, schema.target, schema)
        rows.check(schema)
        tables: list[CellTable] = []
        for values in dict.fromkeys(term.values for term in terms):
            mine = [term for term in terms if term.values == values]
            tables += _numbers(rows, schema, mine) if values else _counts(rows, schema, mine)
        return Statistics.from_cell_tables(schema, plan, tables)

    def sample(self, source: Source) -> Source:
        """Return the source with a sample of its rows to iterate over; it is counted as before."""
        rows = _Rows.of(source, _ONE)
        return replace(source, data=SampledFrame(source.data, rows.sample))


def _whole(source: Source) -> Source:
    """Return a source that gives all rows of its relation, not a sample of them."""
    return replace(source, data=source.data.frame)


def _counts(rows: _Rows, schema: Schema, terms: list[Term]) -> Iterator[CellTable]:
    """Count terms of order 0."""
    n = "count(*)" if rows.weights is None else f"sum({_WEIGHT})"
    for term, codes, sums in _cells(rows, schema, terms, rows.projected(schema), [n]):
        yield CellTable(term, codes, np.array([weight for (weight,) in sums], np.float64))


def _numbers(rows: _Rows, schema: Schema, terms: list[Term]) -> Iterator[CellTable]:
    """Sum one numeric attribute exactly: n, Σ(x − p) and Σ(x − p)² about the mean of each cell."""
    pieces, sums = _in_pieces(rows.projected(schema, terms[0].values[0]), rows.weights is not None)
    found = list(_cells(rows, schema, terms, pieces, sums, (_SCALE,)))
    # Of nonzero numbers: the scale at which squares stay in range.
    largest = max((int(scale) for _, _, cells in found for scale, _, *h in cells if any(h)), default=0)
    exponent = int(exponent_for(np.array([_BITS * (largest + 1.0)]))[0])
    for term, codes, cells in found:
        total: dict[tuple[int, ...], tuple[int, Fraction, Fraction]] = {}
        for code, cell in zip(map(tuple, codes.tolist()), cells, strict=True):
            n, first, second = total.get(code, (0, Fraction(0), Fraction(0)))
            more_n, more_first, more_second = _exact_sums(*cell)
            total[code] = n + more_n, first + more_first, second + more_second
        moments = np.array([_moments(*sums, exponent) for sums in total.values()]).reshape(-1, 6)
        planes = {name: moments[:, k + 1] for k, name in enumerate(_SUMS)}
        planes["exponent"] = np.full(len(moments), float(exponent))
        places = np.array(list(total), np.int64).reshape(-1, len(term.cells))
        yield CellTable(term, places, moments[:, 0], planes)


def _cells(
    rows: _Rows,
    schema: Schema,
    terms: list[Term],
    base: DuckDBPyRelation,
    sums: list[str],
    apart: Columns = (),
) -> Iterator[tuple[Term, NDArray[np.int64], list[tuple[Any, ...]]]]:
    """Yield the cells of each term by their codes, with the columns that keep them ``apart`` and the sums."""
    columns = {v.name: name for v, name in rows.variables(schema)}
    # Terms with the same variables in another order have the same cells.
    by_set: dict[Columns, list[Term]] = {}
    for term in terms:
        by_set.setdefault((_CLASS, *sorted(columns[name] for name in term.cells[1:]), *apart), []).append(
            term
        )
    for some, cells in rows.grouped(base, list(by_set), sums):
        for term in by_set[some]:
            places = [some.index(columns[name]) for name in term.cells[1:]]
            variables = [schema[name] for name in term.cells[1:]]
            codes = [
                [
                    0 if rows.target is None else _code(schema.target, values[0]),
                    *(_code(v, values[place]) for v, place in zip(variables, places, strict=True)),
                ]
                for values, _ in cells
            ]
            last = len(some) - len(apart)
            yield (
                term,
                np.array(codes, np.int64).reshape(-1, len(term.cells)),
                [(*values[last:], *found) for values, found in cells],
            )


def _in_pieces(base: DuckDBPyRelation, weighted: bool) -> tuple[Any, list[str]]:
    """Split each number into integers of 26 bits, whose sums and products are exact in any order.

    A number x is expressed in units of 2^(26·s), with s such that 1 ≤ |x| < 2^26, or nearly. Four pieces then
    contain all of its 53 bits. Numbers with different s are added separately.
    """
    others = [name for name in base.columns if name != _VALUE]
    scale = f"CASE WHEN {_VALUE} = 0 THEN 0 ELSE floor(log2(abs({_VALUE})) / {_BITS}) END AS {_SCALE}"
    cut = base.project(", ".join([*others, _VALUE, scale]))
    others.append(_SCALE)
    # In two steps: a single factor may overflow.
    half = f"pow(2.0::DOUBLE, -{_BITS // 2} * {_SCALE})"
    cut = cut.project(", ".join([*others, f"{_VALUE} * {half} * {half} AS t"]))
    for k in range(_PIECES):
        cut = cut.project(
            ", ".join([*others, f"CAST(trunc(t) AS HUGEINT) AS h{k}", f"(t - trunc(t)) * {2**_BITS} AS t"])
        )
        others.append(f"h{k}")
    w = f"CAST({_WEIGHT} AS HUGEINT)" if weighted else "CAST(1 AS HUGEINT)"
    factors = [*(f"h{k}" for k in range(_PIECES)), *(f"h{j} * h{k}" for j, k in _PAIRS)]
    return cut, [f"sum({w})", *(f"sum({w} * {factor})" for factor in factors)]


def _exact_sums(scale: float, n: int, *pieces: int) -> tuple[int, Fraction, Fraction]:
    """Return n, Σx and Σx² of numbers that were split into pieces."""
    first = sum(h << _BITS * (_PIECES - 1 - k) for k, h in enumerate(pieces[:_PIECES]))
    second = sum(
        (h << _BITS * (2 * _PIECES - 2 - j - k)) * (1 if j == k else 2)
        for (j, k), h in zip(_PAIRS, pieces[_PIECES:], strict=True)
    )
    unit = Fraction(2) ** (_BITS * (int(scale) - _PIECES + 1))
    return n, first * unit, second * unit**2


def _moments(n: int, first: Fraction, second: Fraction, exponent: int) -> list[float]:
    """Return n, the pivot and both sums about it, as two doubles each. This is the only rounding."""
    unit = Fraction(2) ** -exponent
    s1, s2 = first * unit, second * unit**2
    pivot = float(s1 / n)
    p = Fraction(pivot)
    return [float(n), pivot, *_two_doubles(s1 - n * p), *_two_doubles(s2 - 2 * p * s1 + n * p * p)]


def _two_doubles(exact: Fraction) -> tuple[float, float]:
    high = float(exact)
    return high, float(exact - Fraction(high))


@dataclass(frozen=True)
class _Rows:
    """A relation, with its class and weights separated from the attributes."""

    relation: Relation
    attributes: Relation
    target: int | None
    weights: int | None

    @classmethod
    def of(cls, source: Source, classes: Variable, schema: Schema | None = None) -> _Rows:
        """Open a source with all its attributes, or those of a schema. Without a target, all rows have one class."""
        if source.y is not None:
            raise DataTypeError(
                "The class of a DuckDB relation is one of its columns: name it with target=, and leave y out."
            )
        if source.weights is not None and not isinstance(source.weights, str):
            raise DataTypeError(
                "The row weights of a DuckDB relation must be one of its columns, not a {kind}. Name it: "
                'sample_weight="...".',
                kind=type(source.weights).__name__,
            )
        if source.target is None and classes.size != 1:
            raise DataError(
                "This method requires y to be passed. The class of a DuckDB relation is one of its columns: name it "
                "with target=."
            )
        relation = Relation.of(source.data.frame)
        names = relation.names
        target = None if source.target is None else place_of(names, source.target, "target")
        weights = None if source.weights is None else place_of(names, source.weights, "sample_weight")
        taken = [names[place] for place in (target, weights) if place is not None]
        kept = source.attributes_of(names, taken)
        if schema is not None:
            wanted = tuple(v.name for v in schema.attributes)
            kept = tuple(names[place_of(names, name, "The schema")] for name in wanted)
        return cls(relation, relation.select(kept), target, weights)

    def variables(self, schema: Schema) -> list[tuple[Variable, str]]:
        """Return the categorical attributes, each with an internal name."""
        return [(v, f"a{j}") for j, v in enumerate(schema.attributes) if v.kind == "categorical"]

    def grown(self, variable: Variable, labels: list[Label]) -> Variable:
        """Return a variable with the states found; an ENUM declares its own, and intervals are already known."""
        if variable.cuts is not None:
            return variable
        place = self.attributes.names.index(variable.name)
        return variable.grown(labels, () if variable.closed else self.attributes.declared(place))

    def check(self, schema: Schema) -> None:
        """Raise an error for rows without a class, invalid weights and infinite cells, all in one pass."""
        checks = {"rows": "count(*)"}
        if self.target is not None:
            checks["unlabelled"] = f"count(*) - count({self.relation.label(self.target, _ALONE)})"
        if self.weights is not None:
            weight = self.relation.number(self.weights)
            finite = f"({weight}) IS NULL OR isinf({weight})"
            checks |= {
                "strange": f"count(CASE WHEN {finite} THEN 1 END)",
                "negative": f"count(CASE WHEN ({weight}) < 0 THEN 1 END)",
                "fractional": f"count(CASE WHEN ({weight}) <> trunc({weight}) THEN 1 END)",
                "total": f"sum(CASE WHEN {finite} THEN 0 ELSE {weight} END)",
            }
        place = {v.name: j for j, v in enumerate(schema.attributes)}
        floats = [v.name for v in schema.attributes if self.attributes.may_be_infinite(place[v.name])]
        for name in floats:
            checks[f"infinite {place[name]}"] = (
                f"count(CASE WHEN isinf({self.attributes.number(place[name])}) THEN 1 END)"
            )
        with self.relation.explained():
            (answer,) = self.relation.native.aggregate(", ".join(checks.values())).fetchall()
        found = dict(zip(checks, answer, strict=True))
        self._refuse(found)
        for name in floats:
            if found[f"infinite {place[name]}"]:
                raise ColumnError(
                    "Column {name!r} contains infinity in {found} rows. Replace it or make it missing (NULL).",
                    name=name,
                    found=found[f"infinite {place[name]}"],
                )

    def _refuse(self, found: dict[str, Any]) -> None:
        if not found["rows"]:
            shape = (0, len(self.attributes.names))
            raise DataError(
                "Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.", shape=shape
            )
        if found.get("unlabelled"):
            raise DataError(
                "The class {name!r} is NULL in {found} rows, and every training row needs a class. Leave such "
                "rows out (relation.filter).",
                name=self.relation.names[self.target or 0],
                found=found["unlabelled"],
            )
        if self.weights is None:
            return
        name = self.relation.names[self.weights]
        if found["strange"]:
            raise WeightError(
                "The weight {name!r} is missing or not finite in {found} rows. Use 0 to leave a row out.",
                name=name,
                found=found["strange"],
            )
        if found["negative"]:
            raise WeightError(
                "The weight {name!r} is negative in {found} rows; use forget to remove rows.",
                name=name,
                found=found["negative"],
            )
        if found["fractional"]:
            # DuckDB adds doubles in no fixed order, so the last digits would vary between counts.
            raise WeightError(
                "The weight {name!r} is a fraction in {found} rows, and DuckDB counts integer weights only. "
                "Multiply the weights to make them integers, or pass the rows themselves: relation.df().",
                name=name,
                found=found["fractional"],
            )
        if not found["total"]:
            raise WeightError("All row weights are zero, so there is nothing to learn from.")
        if found["total"] >= _EXACT:
            raise WeightError(
                "The weights {name!r} add up to {found:g}, and 2**53 can be counted exactly.",
                name=name,
                found=found["total"],
            )

    def sample(self) -> SomeRows:
        """Draw a sample of the rows with weight, by numbers that depend on the places of the rows alone."""
        native = self.relation.native
        cells = ", ".join(f"#{j} AS c{j}" for j in range(1, len(native.columns) + 1))
        weight = "1" if self.weights is None else self.relation.number(self.weights)
        with self.relation.explained():
            rows = native.project(f"{cells}, {weight} AS w, row_number() OVER () AS r").filter("w > 0")
            ((n,),) = rows.aggregate("count(*)").fetchall()
            if n > MOST_CHOSEN_FROM:
                # DuckDB's own sample would depend on the number of threads.
                rows = rows.order("hash(r), r").limit(MOST_CHOSEN_FROM).order("r")
            drawn = rows.project(
                ", ".join(f"c{j} AS {quoted(name)}" for j, name in enumerate(native.columns, 1))
            )
        pieces = [(np.zeros(n_rows_of(piece)), piece) for piece in relation_rows(drawn) if n]
        if not pieces:
            self.check(Schema((), _ONE))
        return SomeRows(n, tuple(pieces))

    def grouped(
        self, base: DuckDBPyRelation, sets: Sequence[Columns], sums: list[str]
    ) -> Iterator[tuple[Columns, list[Cell]]]:
        """Yield each set of columns with its cells: their values and sums. No two sets have the same columns."""
        for some in _batches(sets):
            columns = tuple(dict.fromkeys(name for each in some for name in each))
            listed, wanted = ", ".join(columns), ", ".join(f"({', '.join(each)})" for each in some)
            # GROUPING() has a bit for each column, the first one highest: it is set if the column is not in the set.
            number = {
                each: sum(1 << k for k, c in enumerate(columns[::-1]) if c not in each) for each in some
            }
            aggregates = f"grouping({listed}), {listed}, {', '.join(sums)}"
            with self.relation.explained():
                answer = base.aggregate(aggregates, f"GROUPING SETS ({wanted})").fetchall()
            cells: dict[int, list[tuple[Any, ...]]] = {}
            for cell in answer:
                cells.setdefault(cell[0], []).append(cell)
            for each in some:
                places = [columns.index(name) + 1 for name in each]
                mine = cells.get(number[each], [])
                yield each, [(tuple(cell[p] for p in places), cell[1 + len(columns) :]) for cell in mine]

    def projected(self, schema: Schema, number: Name | None = None) -> Any:
        """Return the rows with weight, with internal column names; with ``number``, those where it is present."""
        place = {v.name: j for j, v in enumerate(schema.attributes)}
        columns = [
            f"{self.attributes.label(place[v.name], v)} AS {name}" for v, name in self.variables(schema)
        ]
        # Without a class, every row has the same one.
        label = "0" if self.target is None else self.relation.label(self.target, _ALONE)
        columns.append(f"{label} AS {_CLASS}")
        kept = []
        if self.weights is not None:
            columns.append(f"{self.relation.number(self.weights)} AS {_WEIGHT}")
            kept.append(f"{_WEIGHT} > 0")
        if number is not None:
            columns.append(f"{self.attributes.number(place[number])} AS {_VALUE}")
            kept.append(f"{_VALUE} IS NOT NULL")
        with self.relation.explained():
            base = self.relation.native.project(", ".join(columns))
            return base.filter(" AND ".join(kept)) if kept else base


def _batches(sets: Sequence[Columns]) -> Iterator[list[Columns]]:
    """Split the sets so that no query has too many of them, or too many columns."""
    held: list[Columns] = []
    columns: set[str] = set()
    for each in sets:
        if held and (len(held) == _MOST_SETS or len(columns | set(each)) > _MOST_COLUMNS):
            yield held
            held, columns = [], set()
        held.append(each)
        columns |= set(each)
    if held:
        yield held


def _with_classes(target: Variable, labels: Sequence[Label]) -> Variable:
    fraction = next((label for label in labels if isinstance(label, float)), None)
    if fraction is not None:
        raise DataError(
            "Unknown label type: continuous. {name!r} contains {fraction}; a classifier needs class labels.",
            name=target.name,
            fraction=fraction,
        )
    strange = [label for label in labels if label not in target.codes] if target.closed else []
    if strange:
        raise UnseenClass(
            "{strange!r} is not one of the classes {states}.", strange=strange[0], states=target.listing()
        )
    return target.grown(labels)


def _refuse_values(terms: Sequence[Term], schema: Schema) -> None:
    """Raise an error for terms other than counts and moments of one number."""
    strange = [term for term in terms if term.values and (term.order != 2 or len(term.values) > 1)]
    if not strange:
        return
    names = list(dict.fromkeys(name for term in strange for name in term.values))
    shown = "all columns together" if schema.block is not None else ", ".join(map(repr, names[:5]))
    raise CannotCount(
        "DuckDB counts categories, and sums numbers and their squares one column at a time; {shown} "
        'needs more. Use numeric="gaussian" without a covariance, or pass the rows themselves: '
        "relation.df().",
        shown=shown,
    )


def _code(variable: Variable, value: Any) -> int:
    """Return the code of a value; missing is the code after the last state."""
    if value is None:
        return variable.size
    if variable.cuts is not None:
        return int(value)
    label = python_label(value)
    try:
        return variable.codes[label]
    except KeyError:
        raise DataError(
            "{name!r} contains {label!r}, which is none of its states ({states}). The relation has changed "
            "since its states were read: count it again.",
            name=variable.name,
            label=label,
            states=variable.listing(),
        ) from None
