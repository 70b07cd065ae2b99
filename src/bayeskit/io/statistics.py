"""Statistics ↔ one file: the schema and the plan as plain values, every part as arrays."""

from __future__ import annotations

import math
from dataclasses import fields
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.regression_families import LARGEST
from bayeskit.errors import DataError, ModelFormatError
from bayeskit.io.labels import from_plain, to_plain
from bayeskit.io.saved import Arrays, Saved, as_path, naming, read_saved, write_saved
from bayeskit.schema import Kind, Name, Schema, Variable
from bayeskit.statistics import Pattern, Plan, Statistics
from bayeskit.statistics.statistics import PARTS, REMEMBERED
from bayeskit.statistics.term import PatternKind
from bayeskit.typing import PathLike

_COLUMNS: dict[PatternKind, Kind] = {
    "tables": "categorical",
    "moments": "numeric",
    "totals": "block",
    "scatter": "numeric",
    "grids": "numeric",
    "pairs": "categorical",
    "families": "categorical",
    "cell_moments": "numeric",
    "triples": "categorical",
    "regressions": "numeric",
}
# Patterns whose attributes are families: a child, of the kind above, and its parents.
_OF_FAMILIES: dict[PatternKind, tuple[Kind, ...]] = {
    "families": ("categorical",),
    "regressions": ("categorical", "numeric"),
}
_SIMPLE_FIELDS: dict[str, Any] = {
    field.name: getattr(Variable("", "categorical"), field.name)
    for field in fields(Variable)
    if field.init and field.name not in ("name", "states", "cuts")
}
# The most codes that a coded column may have, twice over.
_MOST_STATES = 2**25
_WEIGHTS = (
    *("tables/margin", "tables/counts", "moments/weight", "totals/sums", "totals/rows"),
    *("scatter/weight", "grids/counts", "cell_moments/weight", "families/margin", "families/counts"),
    *("pairs/margin", "pairs/counts", "triples/margin", "triples/counts", "regressions/weight"),
)
# Weights of one fit add up to 1e100 at most; room is left for as many fits as anybody could make.
_LARGEST_WEIGHT = 1e120
# Sums of squares are added up over columns, and must stay numbers.
_LARGEST_SUM = 1e300
# What a double has lost is far below its last digit.
_MOST_LOST = 1e-12
# Rounding may leave a cell a little below zero when rows are forgotten.
_DUST = 1e-6
# The binary exponents of doubles lie between −1,074 and 1,024; grids go 40 finer.
_LARGEST_EXPONENT = 1_200
# As many as were found; every other length follows from the schema.
_FREE = (
    *("grids/ids", "grids/counts", "families/keys", "families/counts"),
    *("regressions/keys", "regressions/pivot", "regressions/weight", "regressions/weight_low"),
    *("regressions/first", "regressions/first_low", "regressions/second", "regressions/second_low"),
)
# What the schema and the plan say already, so nothing else will do.
_FIXED = (
    *("pairs/offsets", "triples/offsets", "triples/parents"),
    *("families/members", "families/bounds", "families/radices"),
    *("regressions/members", "regressions/bounds", "regressions/radices"),
    *("regressions/columns", "regressions/column_bounds"),
)
# Before the names of the arrays of what was taken away.
_GONE = "gone/"
_EXPONENTS = ("moments/exponent", "cell_moments/exponent", "grids/exponents", "grids/largest")


def save_statistics(statistics: Statistics, path: PathLike) -> None:
    """Write statistics to a file, whole or not at all.

    >>> import os, tempfile
    >>> schema = Schema((), Variable("好瓜", "categorical", ("是", "否"), n_declared=2))
    >>> statistics = Statistics.zero(schema, Plan.naive(schema))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_statistics(statistics, os.path.join(folder, "西瓜.counts"))
    ...     load_statistics(os.path.join(folder, "西瓜.counts")).class_counts
    array([0., 0.])
    """
    place = as_path(path)
    content, arrays = pack_statistics(statistics)
    write_saved(Saved("statistics", content, arrays), place)


def load_statistics(path: PathLike) -> Statistics:
    """Read statistics that :func:`save_statistics` wrote."""
    place = as_path(path)
    with naming(place):
        saved = read_saved(place, "statistics")
        return unpack_statistics(saved.content, saved.arrays)


def pack_statistics(statistics: Statistics) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the plain values and the arrays; statistics that could not be read back are refused."""
    schema, plan = statistics.schema, statistics.plan
    content = {
        "attributes": [pack_variable(v) for v in schema.attributes],
        "target": pack_variable(schema.target),
        "plan": [[p.kind, [to_plain(name, "a column name") for name in p.attributes]] for p in plan.patterns],
    }
    arrays = {
        f"{p.kind}/{name}": a for p in plan.patterns for name, a in statistics.parts[p.kind].arrays().items()
    }
    arrays |= {
        f"{_GONE}{kind}/{name}": a
        for kind, part in statistics.gone.items()
        for name, a in part.arrays().items()
    }
    flaw = _flaw_of_arrays(schema, plan, arrays)
    if flaw:
        raise DataError(
            f"These statistics cannot be saved: {flaw}. Statistics counted from rows have no such flaw."
        )
    return content, arrays


def unpack_statistics(content: dict[str, Any], arrays: Arrays) -> Statistics:
    """Return the statistics, after checking that values and arrays fit each other."""
    for key in ("attributes", "target", "plan"):
        if key not in content:
            raise ModelFormatError(f"it does not tell its {key}. Save it again.")
    most = min(max((len(a) for a in arrays.values() if a.ndim), default=0), _MOST_STATES)
    attributes = tuple(unpack_variable(plain, most) for plain in content["attributes"])
    target = unpack_variable(content["target"], most)
    if target.kind != "categorical":
        raise ModelFormatError(f"its class {target.name!r} is {target.kind}, not categorical.")
    schema = Schema(attributes, target)
    plan = Plan(tuple(_unpack_pattern(plain, schema) for plain in content["plan"]))
    if len({p.kind for p in plan.patterns}) < len(plan.patterns):
        raise ModelFormatError("its plan names a pattern twice.")
    flaw = _flaw_of_arrays(schema, plan, arrays)
    if flaw:
        raise ModelFormatError(
            f"{flaw}. It was not written by bayeskit, or by a version with a fault: save it again."
        )
    held, remembered = _apart(arrays)
    parts, gone = (
        {p.kind: PARTS[p.kind].from_arrays(_part_arrays(p.kind, some)) for p in these.patterns}
        for these, some in ((plan, held), (_plan_of(remembered, plan), remembered))
    )
    return Statistics(schema, plan, parts, gone)


# -- schema and plan -------------------------------------------------------------------------------


def pack_variable(variable: Variable) -> dict[str, Any]:
    """Return a variable as plain values."""
    n, states = variable.size, variable.states
    # The codes of a coded column may be millions; (False, True) are equal to (0, 1) and yet no such codes.
    coded = (
        n > 16 and states[-1] == n - 1 and states == tuple(range(n)) and all(type(s) is int for s in states)
    )
    return {
        "name": to_plain(variable.name, "a column name"),
        "states": n if coded else [to_plain(state, f"a state of {variable.name!r}") for state in states],
        **{field: getattr(variable, field) for field in _SIMPLE_FIELDS},
        **({} if variable.cuts is None else {"cuts": list(variable.cuts)}),
    }


def unpack_variable(plain: dict[str, Any], most: int) -> Variable:
    """Return the variable; one whose states are told as a number has ``most`` of them at most."""
    name, states, simple = from_plain(plain["name"]), plain["states"], dict(plain)
    del simple["name"], simple["states"]
    cuts = _unpack_cuts(name, simple.pop("cuts", None))
    if type(states) is int:
        if not 0 <= states <= most:
            raise ModelFormatError(f"{name!r} has {states} states, more than there are counts.")
        states = range(states)
    variable = Variable(name=name, states=tuple(from_plain(state) for state in states), cuts=cuts, **simple)
    for field, default in _SIMPLE_FIELDS.items():
        if type(getattr(variable, field)) is not type(default):
            raise ModelFormatError(f"{name!r} has {getattr(variable, field)!r} for {field}.")
    if variable.kind not in get_args(Kind):
        raise ModelFormatError(
            f"{name!r} is of the kind {variable.kind!r}, which this version does not know."
        )
    if not 0 <= variable.n_declared <= variable.size:
        raise ModelFormatError(f"{name!r} has {variable.n_declared} declared states of {variable.size}.")
    if len(variable.codes) < variable.size:
        raise ModelFormatError(f"{name!r} has a state twice.")
    if variable.width < 1 or (variable.size and variable.kind != "categorical"):
        raise ModelFormatError(
            f"{name!r} is {variable.kind} with {variable.size} states and width {variable.width}."
        )
    if variable.dense and variable.states != tuple(range(variable.size)):
        raise ModelFormatError(f"{name!r} is coded by {variable.listing()}; codes are 0, 1, 2, …")
    if cuts is not None and len(cuts) + 1 != variable.size:
        raise ModelFormatError(f"{name!r} has {len(cuts)} cut points and {variable.size} intervals.")
    return variable


def _unpack_cuts(name: Name, cuts: Any) -> tuple[float, ...] | None:
    """Read the cut points of a column: finite numbers that ascend."""
    if cuts is None:
        return None
    numbers = isinstance(cuts, list) and all(type(cut) is float and np.isfinite(cut) for cut in cuts)
    if not numbers or any(a >= b for a, b in pairwise(cuts)):
        raise ModelFormatError(
            f"{name!r} is cut at {cuts!r}; cut points are finite numbers in ascending order."
        )
    return tuple(cuts)


def _unpack_pattern(plain: Any, schema: Schema) -> Pattern:
    kind, names = plain
    if kind not in PARTS:
        raise ModelFormatError(f"its plan asks for {kind!r}, which this version does not know.")
    attributes = tuple(from_plain(name) for name in names)
    columns = tuple(v.name for v in schema.attributes if v.kind == _COLUMNS[kind])
    if kind in _OF_FAMILIES:
        children, parents = _members_of(attributes)
        above = {v.name for v in schema.attributes if v.kind in _OF_FAMILIES[kind]}
        strange = [name for name in children if name not in columns]
        strange += [name for name in parents if name not in above]
    else:
        strange = [name for name in attributes if name not in columns]
    partial = kind in ("tables", "cell_moments", "pairs") and attributes != columns
    if strange or len(set(attributes)) < len(attributes) or partial:
        raise ModelFormatError(
            f"its plan asks for {kind} of {list(attributes)!r}; the schema has {list(columns)!r}."
        )
    return Pattern(kind, attributes)


def _members_of(families: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """Return the children of families, and all their parents."""
    for family in families:
        if type(family) is not tuple or not family or len(set(family)) < len(family):
            raise ModelFormatError(
                f"its plan asks for the family {family!r}, which is not a child and parents."
            )
    return [family[0] for family in families], [name for family in families for name in family[1:]]


# -- arrays ----------------------------------------------------------------------------------------


def _part_arrays(kind: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    prefix = f"{kind}/"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _apart(arrays: Arrays) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return the arrays of what is held, and those of rows that are gone under the names of the former."""
    gone = {name.removeprefix(_GONE): array for name, array in arrays.items() if name.startswith(_GONE)}
    return {name: array for name, array in arrays.items() if not name.startswith(_GONE)}, gone


def _plan_of(arrays: Arrays, plan: Plan) -> Plan:
    """Return the patterns of a plan that are remembered of rows that are gone, and that these arrays are of."""
    there = {name.partition("/")[0] for name in arrays} & REMEMBERED
    return Plan(tuple(p for p in plan.patterns if p.kind in there))


def _flaw_of_arrays(schema: Schema, plan: Plan, arrays: Arrays) -> str | None:
    """Say which array, of what is held or of rows that are gone, does not fit."""
    held, gone = _apart(arrays)
    flaw = _flaw_of_parts(schema, plan, held)
    if flaw or not gone:
        return flaw
    flaw = _flaw_of_parts(schema, _plan_of(gone, plan), gone)
    return None if flaw is None else f"of the rows that were forgotten, {flaw}"


def _flaw_of_parts(schema: Schema, plan: Plan, arrays: Arrays) -> str | None:
    """Say which array is missing, superfluous or not of the shape and dtype that the schema asks for."""
    wanted: dict[str, NDArray[Any]] = {}
    for pattern in plan.patterns:
        try:
            zero = PARTS[pattern.kind].zero(schema, pattern.attributes).arrays()
        except (MemoryError, OverflowError, ValueError):
            return f"its schema is too large for {pattern.kind}"
        wanted |= {f"{pattern.kind}/{name}": array for name, array in zero.items()}
    if wanted.keys() != arrays.keys():
        return f"its arrays are {sorted(arrays)} where its plan needs {sorted(wanted)}"
    for name, zeros in wanted.items():
        array = arrays[name]
        shape = (len(array), *zeros.shape[1:]) if name in _FREE and array.ndim else zeros.shape
        if array.shape != shape or array.dtype != zeros.dtype:
            return (
                f"its array {name} has shape {array.shape} and dtype {array.dtype}; its schema "
                f"({schema.n_classes} classes) needs {shape} and {zeros.dtype}"
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return f"its array {name} holds NaN or infinity"
        if name in _FIXED and (array != zeros).any():
            return f"its array {name} does not fit its schema and plan"
        if name in _WEIGHTS and array.min(initial=0.0) < -_DUST * array.max(initial=1.0):
            return f"its array {name} holds negative counts"
        if name in _WEIGHTS and name != "totals/sums" and array.max(initial=0.0) > _LARGEST_WEIGHT:
            return f"its array {name} holds more than any rows weigh"
        if name.startswith(("scatter/", "regressions/")) and np.abs(array).max(initial=0.0) > _LARGEST_SUM:
            return f"its array {name} holds sums that no covariance can be made of"
        if name.endswith("_low") and array.shape != arrays[name[:-4]].shape:
            return f"its array {name} is no remainder of {name[:-4]}"
        if name.endswith("_low") and (abs(array) > _MOST_LOST * abs(arrays[name[:-4]])).any():
            return f"its array {name} is no remainder of {name[:-4]}"
        if name in _EXPONENTS and (
            array.max(initial=0) > _LARGEST_EXPONENT or array.min(initial=0) < -_LARGEST_EXPONENT
        ):
            return f"its array {name} holds exponents that no number has"
    return (
        _flaw_of_grids(_part_arrays("grids", arrays))
        or _flaw_of_families(_part_arrays("families", arrays), schema.n_classes)
        or _flaw_of_regressions(_part_arrays("regressions", arrays))
        or _flaw_of_pairs(_part_arrays("pairs", arrays), arrays.get("tables/counts"))
    )


def _flaw_of_pairs(arrays: dict[str, NDArray[Any]], tables: NDArray[Any] | None) -> str | None:
    """A pair is the same either way round, and an attribute has one state at a time."""
    if not arrays:
        return None
    counts, offsets = arrays["counts"], arrays["offsets"]
    g = np.arange(len(counts))
    # Tables are kept in two doubles, pairs in one.
    if tables is not None and not np.allclose(counts[g, g], tables, rtol=1e-6, atol=1e-6):
        return "its arrays pairs/counts and tables/counts count an attribute differently"
    for begin, end in pairwise(offsets.tolist()):
        if not np.array_equal(counts[begin:end], counts[:, begin:end].transpose(1, 0, 2)):
            return "its array pairs/counts is not symmetric"
        own = counts[begin:end, begin:end].copy()
        own[np.arange(end - begin), np.arange(end - begin)] = 0.0
        if own.any():
            return "its array pairs/counts gives an attribute two states at once"
    return None


def _flaw_of_grids(arrays: dict[str, NDArray[Any]]) -> str | None:
    if not arrays:
        return None
    offsets, ids = arrays["offsets"], arrays["ids"]
    whole = (
        offsets[0] == 0 and offsets[-1] == len(ids) == len(arrays["counts"]) and (np.diff(offsets) >= 0).all()
    )
    if not whole:
        return "its array grids/offsets does not fit the cells of its grids"
    rising = np.diff(ids) > 0
    rising[offsets[(offsets > 0) & (offsets < len(ids))] - 1] = True  # from one attribute to the next
    return None if rising.all() else "its array grids/ids is not in ascending order"


def _flaw_of_families(arrays: dict[str, NDArray[Any]], n_classes: int) -> str | None:
    if not arrays:
        return None
    if arrays["counts"].min(initial=0.0) < 0.0:
        return "its array families/counts holds negative counts"
    return _flaw_of_cells("families", arrays, len(arrays["counts"]), n_classes)


def _flaw_of_cells(kind: str, arrays: dict[str, NDArray[Any]], n_cells: int, times: int = 1) -> str | None:
    """Check the keys of sparse cells; ``times`` is how many there are for each product of the radices."""
    starts, keys, bounds = (arrays[name] for name in ("starts", "keys", "bounds"))
    if starts[0] != 0 or starts[-1] != len(keys) or len(keys) != n_cells or (np.diff(starts) < 0).any():
        return f"its array {kind}/starts does not fit the cells of its families"
    for f, (begin, end) in enumerate(pairwise(starts)):
        own = keys[begin:end]
        n_keys = math.prod(int(r) for r in arrays["radices"][bounds[f] : bounds[f + 1]]) * times
        if (np.diff(own) <= 0).any():
            return f"its array {kind}/keys is not in ascending order"
        if len(own) and not (own[0] >= 0 and int(own[-1]) < n_keys):
            return f"its array {kind}/keys holds cells that its schema does not have"
    return None


def _flaw_of_regressions(arrays: dict[str, NDArray[Any]]) -> str | None:
    """As many sums as there are cells, and squares that some numbers can have."""
    if not arrays:
        return None
    weight, second = arrays["weight"], arrays["second"]
    flaw = _flaw_of_cells("regressions", arrays, len(weight))
    if flaw:
        return flaw
    if not (weight > 0.0).all():
        return "its array regressions/weight holds cells without weight"
    n, m = np.diff(arrays["starts"]), np.diff(arrays["column_bounds"])
    for name, size in (("pivot", n @ m), ("first", n @ m), ("second", n @ (m * m))):
        if len(arrays[name]) != size:
            return f"its array regressions/{name} does not fit the cells of its families"
    if np.abs(arrays["pivot"]).max(initial=0.0) > LARGEST:
        return "its array regressions/pivot holds numbers whose squares cannot be summed"
    begin = 0
    for cells, width in zip(n.tolist(), m.tolist()):
        square = second[begin : begin + cells * width * width].reshape(cells, width, width)
        own = np.diagonal(square, axis1=1, axis2=2)
        if own.min(initial=0.0) < 0.0:
            return "its array regressions/second holds negative squares"
        # Sums that changed their pivot are symmetric but for rounding.
        largest = np.sqrt(own[:, :, None] * own[:, None, :])
        if (np.abs(square - square.transpose(0, 2, 1)) > _DUST * largest).any():
            return "its array regressions/second is not symmetric"
        begin += cells * width * width
    return None
