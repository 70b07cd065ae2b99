"""Saves and loads statistics: the schema and the plan as plain values, every part as arrays."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bayeskit._io.plain_values import from_plain, to_plain
from bayeskit._io.saved import Arrays, SavedContent, as_path, naming, read_saved, write_saved
from bayeskit._messages import Message, as_message
from bayeskit._schema import Kind, Name, Schema, Variable
from bayeskit._statistics.part import DUST, Part
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import PARTS, Pattern, Plan
from bayeskit._words import Splitting, Vocabulary
from bayeskit.errors import DataError, ModelFormatError
from bayeskit.typing import PathLike

_SIMPLE_FIELDS: dict[str, Any] = {
    field.name: getattr(Variable("", "categorical"), field.name)
    for field in fields(Variable)
    if field.init and field.name not in ("name", "states", "cuts", "vocabulary")
}
# Twice the maximum number of codes of a coded column.
_MOST_STATES = 2**25
# The weights of one fit sum to at most 1e100; this leaves room for any number of fits.
_LARGEST_WEIGHT = 1e120
# Sums of squares are added over columns, and must stay finite.
_LARGEST_SUM = 1e300
# The low part of a double-double is far below the last digit of the high part.
_MOST_LOST = 1e-12
# The binary exponents of doubles are between −1,074 and 1,024; grids are 40 finer.
_LARGEST_EXPONENT = 1_200
# The prefix of the array names of removed rows.
_GONE = "gone/"


def save_statistics(statistics: Statistics, path: PathLike) -> None:
    """Write statistics to a file, completely or not at all.

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
    write_saved(SavedContent("statistics", content, arrays), place)


def load_statistics(path: PathLike) -> Statistics:
    """Load statistics written by :func:`save_statistics`."""
    place = as_path(path)
    with naming(place):
        saved = read_saved(place, "statistics")
        return unpack_statistics(saved.content, saved.arrays)


def pack_statistics(statistics: Statistics) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the plain values and the arrays; statistics that could not be read back are an error."""
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
            "These statistics cannot be saved: {flaw}. Statistics counted from rows never have this flaw.",
            flaw=flaw,
        )
    return content, arrays


def unpack_statistics(content: dict[str, Any], arrays: Arrays) -> Statistics:
    """Return the statistics, after checking that values and arrays are consistent."""
    for key in ("attributes", "target", "plan"):
        if key not in content:
            raise ModelFormatError(Message("it does not contain its {key}. Save it again.", key=key))
    most = min(max((len(a) for a in arrays.values() if a.ndim), default=0), _MOST_STATES)
    attributes = tuple(unpack_variable(plain, most) for plain in content["attributes"])
    target = unpack_variable(content["target"], most)
    if target.kind != "categorical":
        raise ModelFormatError(
            Message("its class {name!r} is {kind}, not categorical.", name=target.name, kind=target.kind)
        )
    schema = Schema(attributes, target)
    plan = Plan(tuple(_unpack_pattern(plain, schema) for plain in content["plan"]))
    if len({p.kind for p in plan.patterns}) < len(plan.patterns):
        raise ModelFormatError("its plan contains a pattern twice.")
    flaw = _flaw_of_arrays(schema, plan, arrays)
    if flaw:
        raise ModelFormatError(
            Message(
                "{flaw}. It was not written by bayeskit, or by a version with a bug: save it again.",
                flaw=flaw,
            )
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
    # A coded column may have millions of codes; (False, True) equal (0, 1) but are not such codes.
    coded = (
        n > 16 and states[-1] == n - 1 and states == tuple(range(n)) and all(type(s) is int for s in states)
    )
    return {
        "name": to_plain(variable.name, "a column name"),
        "states": n if coded else [to_plain(state, f"a state of {variable.name!r}") for state in states],
        **{field: getattr(variable, field) for field in _SIMPLE_FIELDS},
        **({} if variable.cuts is None else {"cuts": list(variable.cuts)}),
        **({} if variable.vocabulary is None else {"vocabulary": _pack_vocabulary(variable.vocabulary)}),
    }


def unpack_variable(plain: dict[str, Any], most: int) -> Variable:
    """Return the variable; if its states are given as a number, there may be at most ``most``."""
    name, states, simple = from_plain(plain["name"]), plain["states"], dict(plain)
    del simple["name"], simple["states"]
    cuts = _unpack_cuts(name, simple.pop("cuts", None))
    vocabulary = _unpack_vocabulary(name, simple.pop("vocabulary", None))
    if type(states) is int:
        if not 0 <= states <= most:
            raise ModelFormatError(
                Message("{name!r} has {states} states, more than there are counts.", name=name, states=states)
            )
        states = range(states)
    known = tuple(from_plain(state) for state in states)
    variable = Variable(name=name, states=known, cuts=cuts, vocabulary=vocabulary, **simple)
    for field, default in _SIMPLE_FIELDS.items():
        if type(getattr(variable, field)) is not type(default):
            raise ModelFormatError(
                Message(
                    "{name!r} has the value {value!r} for {field}.",
                    name=name,
                    value=getattr(variable, field),
                    field=field,
                )
            )
    if variable.kind not in get_args(Kind):
        raise ModelFormatError(
            Message(
                "{name!r} is of the kind {kind!r}, which this version does not know.",
                name=name,
                kind=variable.kind,
            )
        )
    if not 0 <= variable.n_declared <= variable.size:
        raise ModelFormatError(
            Message(
                "{name!r} has {n_declared} declared states of {size}.",
                name=name,
                n_declared=variable.n_declared,
                size=variable.size,
            )
        )
    if len(variable.codes) < variable.size:
        raise ModelFormatError(Message("{name!r} has a state twice.", name=name))
    if variable.width < 1 or (variable.size and variable.kind != "categorical"):
        raise ModelFormatError(
            Message(
                "{name!r} is {kind} with {size} states and width {width}.",
                name=name,
                kind=variable.kind,
                size=variable.size,
                width=variable.width,
            )
        )
    if variable.dense and variable.states != tuple(range(variable.size)):
        raise ModelFormatError(
            Message(
                "{name!r} has the codes {states}; codes are 0, 1, 2, …", name=name, states=variable.listing()
            )
        )
    if cuts is not None and len(cuts) + 1 != variable.size:
        raise ModelFormatError(
            Message(
                "{name!r} has {n} cut points and {size} intervals.",
                name=name,
                n=len(cuts),
                size=variable.size,
            )
        )
    if vocabulary is not None and (variable.kind != "block" or len(vocabulary.words) != variable.width):
        raise ModelFormatError(
            Message(
                "{name!r} has {n} words and width {width}.",
                name=name,
                n=len(vocabulary.words),
                width=variable.width,
            )
        )
    return variable


def _pack_vocabulary(vocabulary: Vocabulary) -> dict[str, Any]:
    splitting = vocabulary.splitting
    return {
        "words": list(vocabulary.words),
        "places": list(vocabulary.places),
        "analyzer": splitting.analyzer,
        "ngram_range": list(splitting.ngram_range),
        "lowercase": splitting.lowercase,
        "stop_words": sorted(splitting.stop_words),
        "weighting": vocabulary.weighting,
        "idf": None if vocabulary.idf is None else list(vocabulary.idf),
    }


def _unpack_vocabulary(name: Name, plain: Any) -> Vocabulary | None:
    """Read the words of a block of texts."""
    if plain is None:
        return None
    try:
        splitting = Splitting(
            plain["analyzer"], tuple(plain["ngram_range"]), plain["lowercase"], frozenset(plain["stop_words"])
        )
        words, places, idf = tuple(plain["words"]), tuple(plain["places"]), plain["idf"]
        found = Vocabulary(words, places, splitting, plain["weighting"], None if idf is None else tuple(idf))
        if found.is_sound:
            return found
    except (AttributeError, LookupError, TypeError, ValueError):
        pass
    raise ModelFormatError(Message("the vocabulary of {name!r} is empty. Save the model again.", name=name))


def _unpack_cuts(name: Name, cuts: Any) -> tuple[float, ...] | None:
    """Read the cut points of a column: finite ascending numbers."""
    if cuts is None:
        return None
    numbers = isinstance(cuts, list) and all(type(cut) is float and np.isfinite(cut) for cut in cuts)
    if not numbers or any(a >= b for a, b in pairwise(cuts)):
        raise ModelFormatError(
            Message(
                "{name!r} is cut at {cuts!r}; cut points are finite numbers in ascending order.",
                name=name,
                cuts=cuts,
            )
        )
    return tuple(cuts)


def _unpack_pattern(plain: Any, schema: Schema) -> Pattern:
    kind, names = plain
    if kind not in PARTS:
        raise ModelFormatError(
            Message("its plan contains {kind!r}, which this version does not know.", kind=kind)
        )
    attributes = tuple(from_plain(name) for name in names)
    if not PARTS[kind].is_pattern(schema, attributes):
        raise ModelFormatError(
            Message(
                "its plan contains {kind} of {attributes!r}; the schema has {columns!r}.",
                kind=kind,
                attributes=list(attributes),
                columns=list(PARTS[kind].columns_of(schema)),
            )
        )
    return Pattern(kind, attributes)


# -- arrays ----------------------------------------------------------------------------------------


def _part_arrays(kind: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    prefix = f"{kind}/"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _apart(arrays: Arrays) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return the arrays of the current rows, and those of removed rows under the same names."""
    gone = {name.removeprefix(_GONE): array for name, array in arrays.items() if name.startswith(_GONE)}
    return {name: array for name, array in arrays.items() if not name.startswith(_GONE)}, gone


def _plan_of(arrays: Arrays, plan: Plan) -> Plan:
    """Return the patterns of a plan that are stored for removed rows and that have these arrays."""
    there = {name.partition("/")[0] for name in arrays}
    return Plan(tuple(p for p in plan.patterns if p.kind in there and PARTS[p.kind].remembered))


def _flaw_of_arrays(schema: Schema, plan: Plan, arrays: Arrays) -> Message | None:
    """Return which array, of current or removed rows, is inconsistent."""
    held, gone = _apart(arrays)
    flaw = _flaw_of_parts(schema, plan, held)
    if flaw or not gone:
        return flaw
    flaw = _flaw_of_parts(schema, _plan_of(gone, plan), gone)
    return None if flaw is None else Message("of the rows that were forgotten, {flaw}", flaw=flaw)


def _flaw_of_parts(schema: Schema, plan: Plan, arrays: Arrays) -> Message | None:
    """Return which array is missing, superfluous or has the wrong shape or dtype for the schema."""
    wanted: dict[str, NDArray[Any]] = {}
    for pattern in plan.patterns:
        try:
            zero = PARTS[pattern.kind].zero(schema, pattern.attributes).arrays()
        except (MemoryError, OverflowError, ValueError):
            return Message("its schema is too large for {kind}", kind=pattern.kind)
        wanted |= {f"{pattern.kind}/{name}": array for name, array in zero.items()}
    if wanted.keys() != arrays.keys():
        return Message(
            "its arrays are {found} where its plan needs {wanted}",
            found=str(sorted(arrays)),
            wanted=str(sorted(wanted)),
        )
    apart = {p.kind: _part_arrays(p.kind, arrays) for p in plan.patterns}
    for kind, own in apart.items():
        for name, zeros in _part_arrays(kind, wanted).items():
            flaw = _flaw_of_array(PARTS[kind], name, own, zeros)
            if flaw:
                return Message("its array {kind}/{name} {flaw}", kind=kind, name=name, flaw=as_message(flaw))
    flaws = (PARTS[kind].flaw(own, schema, arrays) for kind, own in apart.items())
    return next((as_message(flaw) for flaw in flaws if flaw), None)


def _flaw_of_array(part: type[Part], name: str, arrays: Arrays, zeros: NDArray[Any]) -> str | Message | None:
    """Return what is impossible in one array of a part; ``zeros`` is the array without rows."""
    array = arrays[name]
    shape = (len(array), *zeros.shape[1:]) if name in part.free_arrays and array.ndim else zeros.shape
    if array.shape != shape or array.dtype != zeros.dtype:
        return Message(
            "has shape {shape} and dtype {dtype}; its schema and plan need {shape2} and {dtype2}",
            shape=array.shape,
            dtype=array.dtype,
            shape2=shape,
            dtype2=zeros.dtype,
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return "holds NaN or infinity"
    if name in part.fixed_arrays and (array != zeros).any():
        return "does not fit its schema and plan"
    if name in part.weight_arrays:
        if array.min(initial=0.0) < -DUST * array.max(initial=1.0):
            return "holds negative counts"
        if array.max(initial=0.0) > _LARGEST_WEIGHT:
            return "holds more than any rows weigh"
    if part.is_squared and np.abs(array).max(initial=0.0) > _LARGEST_SUM:
        return "holds sums that no covariance can be made of"
    if name.endswith("_low"):
        whole = arrays[name[:-4]]
        if array.shape != whole.shape or (abs(array) > _MOST_LOST * abs(whole)).any():
            return Message("is no remainder of {kind}/{name}", kind=part.kind, name=name[:-4])
    if name in part.exponent_arrays and np.abs(array).max(initial=0) > _LARGEST_EXPONENT:
        return "holds exponents that no number has"
    return None
