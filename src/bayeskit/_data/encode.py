"""Encodes tables by a schema into codes and numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit._data.class_labels import as_labels, batch_weights, encode_labels
from bayeskit._data.columns import LARGEST_SPAN, CodedColumn, factorize_codes
from bayeskit._data.encoded import CodeColumn, Columns, EncodedTable
from bayeskit._data.table import NONE_ASIDE, ColumnsAside, Table
from bayeskit._data.texts import block_of_texts, without_texts
from bayeskit._messages import Joined, Message, RowNumber
from bayeskit._numba import kernel
from bayeskit._schema import LARGEST_BYTE_TABLE, Label, Name, Schema, Variable, state_code
from bayeskit.errors import BayeskitError, ColumnError, InfiniteValue, UnseenState
from bayeskit.typing import LabelsLike, WeightsLike


@kernel
def _look_up(matrix: Any, low: Any, starts: Any, table: Any, out: Any) -> None:
    n, d = matrix.shape
    for i in range(n):
        for j in range(d):
            out[i, j] = table[starts[j] + np.uintp(matrix[i, j] - low[j])]


@kernel
def _code_runs(matrix: Any, first: Any, size: Any, other: Any, out: Any) -> int:
    n, d = matrix.shape
    strange = -1
    for i in range(n):
        for j in range(d):
            place = np.int64(matrix[i, j]) - first[j]
            if place < 0 or place >= size[j]:
                place = other[j]
                strange = i
            out[i, j] = place
    return strange


def code_runs(
    matrix: NDArray[Any],
    first: NDArray[np.int64],
    size: NDArray[np.int64],
    other: NDArray[np.int64],
    dtype: DTypeLike,
) -> tuple[NDArray[Any], int]:
    """Encode columns whose states are consecutive integers; return the codes and a row with another value, or −1."""
    if matrix.dtype != np.uint8:
        matrix = matrix.astype(np.int64, copy=False)
    out = np.empty(matrix.shape, dtype=dtype)
    return out, int(_code_runs(np.ascontiguousarray(matrix), first, size, other, out))


@kernel
def find_intervals(values: Any, cuts: Any, out: Any) -> int:
    """Write the number of cuts below each value, NaN one more than all; return a row that is infinite, or −1."""
    n_cuts = len(cuts)
    strange = -1
    for i in range(len(values)):
        x = values[i]
        if np.isnan(x):
            out[i] = n_cuts + 1
            continue
        if np.isinf(x):
            strange = i
        low, length = 0, n_cuts
        while length > 0:
            half = length >> 1
            if cuts[low + half] < x:
                low += half + 1
                length -= half + 1
            else:
                length = half
        out[i] = low
    return strange


def column_bounds(matrix: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the minimum and maximum of each column.

    NumPy reduces long rows much faster than short ones, so 64 rows are processed side by side.
    """
    n, d = matrix.shape
    whole = (n // 64) * 64
    if not matrix.flags.c_contiguous or whole == 0:
        return matrix.min(axis=0), matrix.max(axis=0)
    wide = matrix[:whole].reshape(-1, 64 * d)
    low, high = wide.min(axis=0).reshape(64, d).min(axis=0), wide.max(axis=0).reshape(64, d).max(axis=0)
    if whole < n:
        low, high = np.minimum(low, matrix[whole:].min(axis=0)), np.maximum(high, matrix[whole:].max(axis=0))
    return low, high


def look_up_codes(
    matrix: NDArray[Any], low: NDArray[Any], tables: list[NDArray[Any]], dtype: DTypeLike
) -> NDArray[Any]:
    """Replace every value v of column j by ``tables[j][v − low[j]]``."""
    starts = np.concatenate([[0], np.cumsum([len(t) for t in tables])[:-1]]).astype(np.uintp)
    out = np.empty(matrix.shape, dtype=dtype)
    flat = np.concatenate(tables).astype(dtype)
    if matrix.dtype != np.uint8:
        matrix = matrix.astype(np.int64, copy=False)
    _look_up(np.ascontiguousarray(matrix), low.astype(matrix.dtype), starts, flat, out)
    return out


# Up to this many states, counting absent ones is faster than finding them first.
MOST_PROVISIONAL = 4_096

# Up to this many states, fixed-width text is compared with each; sorting costs more.
MOST_COMPARED = 32

# What to do with a new value: add it, leave it out, keep it apart, or raise an error.
Unseen = Literal["ignore", "smooth", "error"]
Policy = Literal["grow"] | Unseen


def match_columns(
    table: Table,
    schema: Schema,
    names: tuple[Name, ...] | None,
    who: str,
    aside: ColumnsAside = NONE_ASIDE,
    learning: bool = False,
) -> Table:
    """Reorder the columns of a table as in training: by name if both have names. Columns aside are left out."""
    width = schema.n_columns
    if table.block is None and table.named and names is not None:
        if table.names == names:
            return table
        check_names(table.names, names, aside, learning)
        return table.select(names)
    if table.shape[1] != width:
        raise ColumnError(
            "X has {length} features, but {who} is expecting {width} features as input.",
            length=table.shape[1],
            who=who,
            width=width,
        )
    if table.block is not None and schema.block is None:
        raise ColumnError("A sparse matrix was passed to a model that was fitted to a dense table.")
    return table


def check_names(
    columns: tuple[Name, ...],
    names: tuple[Name, ...],
    aside: ColumnsAside = NONE_ASIDE,
    learning: bool = False,
) -> None:
    """Raise an error for columns that differ from those in training, in any order."""
    missing = [n for n in names if n not in set(columns)]
    extra = [n for n in columns if n not in set(names) and not aside.has(n, learning)]
    if missing or extra:
        said = [Message("missing: {names}", names=Joined(map(repr, missing[:5])))] if missing else []
        said += [Message("not known: {names}", names=Joined(map(repr, extra[:5])))] if extra else []
        raise ColumnError(
            "The columns are not those of the training rows ({names}). {way_out}",
            names=Joined(said, "; "),
            way_out=_way_out(bool(missing), bool(extra)),
        )


def _way_out(missing: bool, extra: bool) -> Message:
    if missing and extra:
        return Message("Rename them, or leave out extra ones.")
    if extra:
        return Message("Leave out extra ones.")
    return Message("Add each; where its values are not known, empty cells (NaN, None) are missing values.")


def encode(
    table: Table,
    schema: Schema,
    policy: Policy,
    *,
    y: LabelsLike | None = None,
    weights: WeightsLike | None = None,
    with_target: bool = False,
    threshold: float | None = None,
) -> EncodedTable:
    """Encode a table whose columns are in the order of the schema.

    With ``"grow"``, new states (and classes) extend the schema that is returned with the codes.
    """
    try:
        return _encode(table, schema, policy, y, weights, with_target, threshold)
    except BayeskitError as error:
        error.move_rows(table.first_row)
        raise


def _encode(
    table: Table,
    schema: Schema,
    policy: Policy,
    y: LabelsLike | None,
    weights: WeightsLike | None,
    with_target: bool,
    threshold: float | None,
) -> EncodedTable:
    target, target_codes, row_weights = schema.target, None, None
    if with_target:
        labels = as_labels(y, table.n_rows, in_codes=True)
        row_weights = batch_weights(weights, table.n_rows)
        target, target_codes = encode_labels(labels, target, "grow" if policy == "grow" else "error")
    if schema.vocabulary is not None:
        return _encode_texts(table, schema, policy, target, target_codes, row_weights)
    if schema.block is not None:
        block = _block_of(table)
        none = np.empty((table.n_rows, 0))
        grown = schema.with_variables(schema.attributes, target)
        return EncodedTable(
            *(grown, table.n_rows, none.astype(np.uint8), none, block, target_codes, row_weights, threshold),
            first_row=table.first_row,
        )
    attributes, codes, values = _encode_columns(table, schema, policy)
    if policy == "grow":
        schema = schema.with_variables(attributes, target)
    return EncodedTable(
        schema, table.n_rows, codes, values, None, target_codes, row_weights, first_row=table.first_row
    )


def _encode_columns(table: Table, schema: Schema, policy: Policy) -> tuple[list[Variable], Columns, Columns]:
    """Code columns, which are the attributes; return these, perhaps grown, with codes and numbers."""
    places = [j for j, v in enumerate(schema.attributes) if v.kind == "categorical"]
    variables, codes = _encode_categorical(table, schema, places, policy)
    attributes = list(schema.attributes)
    for j, variable in zip(places, variables, strict=True):
        attributes[j] = variable
    return attributes, codes, _numbers(table, schema)


def _encode_texts(
    table: Table,
    schema: Schema,
    policy: Policy,
    target: Variable,
    target_codes: NDArray[np.uint32] | None,
    weights: NDArray[np.float64] | None,
) -> EncodedTable:
    """Code texts as a block of words, and the columns beside them as always."""
    *others, texts = schema.attributes
    assert texts.vocabulary is not None
    block = block_of_texts(table, texts.vocabulary)
    rest = without_texts(table, texts.vocabulary)
    codes: Columns = np.empty((table.n_rows, 0), dtype=np.uint8)
    values: Columns = np.empty((table.n_rows, 0))
    if rest is not None:
        others, codes, values = _encode_columns(rest, Schema(tuple(others), schema.target), policy)
    if policy == "grow":
        schema = schema.with_variables((*others, texts), target)
    return EncodedTable(
        schema, table.n_rows, codes, values, block, target_codes, weights, first_row=table.first_row
    )


def _numbers(table: Table, schema: Schema) -> Columns:
    places = [j for j, v in enumerate(schema.attributes) if v.kind == "numeric"]
    if table.matrix is not None and table.matrix.dtype.kind in "iufb":
        if len(places) == len(schema.attributes):
            return table.matrix
        return table.matrix[:, places] if places else np.empty((table.n_rows, 0))
    return [table.numbers(j) for j in places]


def _block_of(table: Table) -> Any:
    block = table.as_block()
    return block if block.dtype == np.float64 or not hasattr(block, "nnz") else block.astype(np.float64)


def _encode_categorical(
    table: Table, schema: Schema, places: list[int], policy: Policy
) -> tuple[list[Variable], Columns]:
    variables = [schema.attributes[j] for j in places]
    if not places:
        return variables, np.empty((table.n_rows, 0), dtype=np.uint8)
    matrix = table.matrix
    as_integers = matrix is not None and matrix.dtype.kind in "iub" and len(places) == len(schema.attributes)
    if matrix is not None and as_integers and all(v.cuts is None for v in variables):
        if matrix.dtype.kind == "b":
            matrix = matrix.view(np.uint8) if all(v.size == 0 for v in variables) else matrix
        answer = _encode_runs(matrix, schema, policy) or _encode_integers(matrix, variables, policy)
        if answer is not None:
            return answer
    columns: list[Any] = []
    for i, j in enumerate(places):
        variables[i], column = code_column(table, j, variables[i], policy)
        columns.append(column)
    return variables, columns


def code_column(
    table: Table, j: int, variable: Variable, policy: Policy, *, as_written: bool = False
) -> tuple[Variable, CodeColumn]:
    """Encode one column of a table by the states of a variable, which is returned, extended if necessary.

    ``as_written``: the text of a state means that state (1, 1.0 and "1"; an interval by its name), as in evidence.

    >>> from bayeskit._data.table import open_table
    >>> sky = Variable("sky", "categorical", ("blue", "red"))
    >>> code_column(open_table({"sky": ["red", None]}), 0, sky, "ignore")[1][:]
    array([1, 2], dtype=uint8)
    """
    if variable.cuts is not None and not (as_written and table.kind(j) == "categorical"):
        return variable, code_intervals(table.numbers(j), variable, table.names[j])
    if variable.dense:
        return encode_column(factorize_codes(table.numbers(j), table.names[j]), variable, policy)
    known = _code_known(table, j, variable)
    if known is not None:
        return variable, known
    coded = table.factorize(j)
    if as_written:
        coded = _read_as_written(coded, variable, table.holds_floats(j))
    return encode_column(coded, variable, policy)


def _code_known(table: Table, j: int, variable: Variable) -> CodeColumn | None:
    """Encode cells that are states with one look-up each; None if one is not a state, or if this is not faster."""
    if not variable.size or table.frame is not None or table.is_coded(j):
        return None
    raw, size = table.raw(j), variable.size
    dtype = np.uint8 if size <= LARGEST_BYTE_TABLE else np.uint32
    if raw.dtype.kind == "O":
        known: dict[Any, int] = {**variable.codes, None: size}
        try:
            codes = np.fromiter(map(known.__getitem__, raw.tolist()), dtype, len(raw))
        except (KeyError, TypeError):
            return None
    elif raw.dtype.kind == "U" and size <= MOST_COMPARED:
        codes = np.full(len(raw), size, dtype)
        for code, state in enumerate(variable.states):
            if isinstance(state, str):
                codes[raw == state] = code
        if (codes == size).any():
            return None
    else:
        return None
    return CodeColumn(codes, np.arange(size + 1, dtype=dtype))


def _read_as_written(coded: CodedColumn, variable: Variable, floats: bool) -> CodedColumn:
    """Replace labels by the states with the same text.

    ``floats``: encoding turned 1.0 into the integer 1; as a float its text is "1.0" or "1".
    """
    labels = list(coded.labels)
    if not variable.states or all(label in variable.codes for label in labels):
        return coded
    for code, label in _present(coded):
        if label in variable.codes:
            continue
        value: Any = label
        try:
            meant = state_code(variable.name, variable.states, float(value) if floats else value)
        except UnseenState:
            continue
        labels[code] = variable.states[meant]
    return coded._replace(labels=labels)


def code_intervals(numbers: NDArray[Any], variable: Variable, name: Name) -> CodeColumn:
    """Encode numbers by the intervals of a variable; NaN is missing, infinity is an error."""
    assert variable.cuts is not None
    values = np.ascontiguousarray(numbers, dtype=np.float64)
    codes = np.empty(len(values), dtype=np.uint8 if variable.size <= LARGEST_BYTE_TABLE else np.uint32)
    strange = find_intervals(values, np.array(variable.cuts, dtype=np.float64), codes)
    if strange >= 0:
        raise InfiniteValue(name, strange, values[strange])
    return CodeColumn(codes, np.arange(variable.size + 1, dtype=codes.dtype))


def encode_column(coded: CodedColumn, variable: Variable, policy: Policy) -> tuple[Variable, CodeColumn]:
    """Find the table from a column's own codes to those of a variable; missing is the code after the last state."""
    labels, before = coded.labels, variable
    if policy == "grow":
        declared = labels if coded.declared and not variable.closed else ()
        # A new variable may take labels that occur in no row: without weight they are removed after counting.
        provisional = not variable.size and not variable.dense and len(labels) <= MOST_PROVISIONAL
        whole = coded.complete or provisional or all(label in variable.codes for label in labels)
        variable = variable.grown(labels if whole else _labels_present(coded), declared)
    may_be_idle = variable is not before and (variable.dense or not coded.complete)
    size = variable.size
    other = size if policy == "ignore" else size + 1
    table = np.array([*(variable.codes.get(label, other) for label in labels), size])
    if policy == "error" and (table > size).any():
        strange = np.flatnonzero(table.take(coded.codes, mode="wrap") > size)
        if len(strange):
            raise _unseen(variable, labels[int(coded.codes[strange[0]])], int(strange[0]))
    dtype = np.uint8 if size <= LARGEST_BYTE_TABLE else np.uint32
    return variable, CodeColumn(coded.codes, table.astype(dtype), may_be_idle)


def _unseen(variable: Variable, label: Label, row: int) -> UnseenState:
    return UnseenState(
        "{place}: {name!r} has no state {label!r} (it has {states}). "
        'Pass unseen="ignore" to leave such values out.',
        place=RowNumber(row, begins=True),
        name=variable.name,
        label=label,
        states=variable.listing(),
    )


def _present(coded: CodedColumn) -> list[tuple[int, Label]]:
    """The codes that occur in some row, with their labels."""
    codes = coded.codes[coded.codes >= 0]
    return [(code, coded.labels[code]) for code in np.flatnonzero(np.bincount(codes)).tolist()]


def _labels_present(coded: CodedColumn) -> list[Label]:
    return [label for _, label in _present(coded)]


def _encode_runs(
    matrix: NDArray[Any], schema: Schema, policy: Policy
) -> tuple[list[Variable], NDArray[Any]] | None:
    """Encode integers by subtraction if the schema's states are consecutive: one pass, no check first."""
    if schema.runs is None or matrix.dtype == np.uint64 or matrix.dtype.kind == "b":
        return None
    first, size = schema.runs
    codes, strange = code_runs(matrix, first, size, size + (policy == "smooth"), schema.code_dtype)
    if strange >= 0 and policy in ("grow", "error"):
        return None
    return list(schema.categorical), codes


def _encode_integers(
    matrix: NDArray[Any], variables: list[Variable], policy: Policy
) -> tuple[list[Variable], NDArray[Any]] | None:
    """Encode a matrix of integers at memory speed; None if some column's span is too wide."""
    if matrix.dtype == np.uint64:
        return None
    low, high = column_bounds(matrix)
    spans = (
        high.astype(object) - low.astype(object) + 1
        if matrix.dtype.itemsize == 8
        else high.astype(np.int64) - low + 1
    )
    if max(spans) > min(LARGEST_SPAN, 64 + 16 * len(matrix)):
        return None
    if policy == "grow" and all(v.dense for v in variables):
        grown = [
            v.grown(bounds)
            for v, bounds in zip(variables, zip(low.tolist(), high.tolist(), strict=True), strict=True)
        ]
        return _code_by_span(matrix, np.zeros_like(low), grown)
    if policy == "grow" and all(v.size == 0 and not v.closed and not v.dense for v in variables):
        # Every value of the span for now: states without weight are removed after counting.
        spans = [range(a, b + 1) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        return _code_by_span(
            matrix, low, [replace(v, states=tuple(s)) for v, s in zip(variables, spans, strict=True)]
        )
    return _code_by_table(matrix, low, high, variables, policy)


def _code_by_span(
    matrix: NDArray[Any], low: NDArray[Any], variables: list[Variable]
) -> tuple[list[Variable], NDArray[Any]]:
    """Encode by subtraction: the states of each column are consecutive integers from ``low``."""
    dtype = np.uint8 if max(v.size for v in variables) <= LARGEST_BYTE_TABLE else np.uint32
    if matrix.dtype == dtype and not low.any():
        return variables, matrix
    if matrix.dtype.itemsize == 1:
        return variables, (matrix.astype(np.int16) - low.astype(np.int16)).astype(dtype)
    return variables, look_up_codes(matrix, low, [np.arange(v.size) for v in variables], dtype)


def _code_by_table(
    matrix: NDArray[Any], low: NDArray[Any], high: NDArray[Any], variables: list[Variable], policy: Policy
) -> tuple[list[Variable], NDArray[Any]]:
    variables = list(variables)
    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    if policy in ("grow", "error"):
        for j, (a, b) in enumerate(bounds):
            if all(value in variables[j].codes for value in range(a, b + 1)):
                continue
            labels = np.unique(matrix[:, j]).tolist()
            if policy == "grow":
                variables[j] = variables[j].grown(labels)
                continue
            for label in labels:
                if label not in variables[j].codes:
                    raise _unseen(variables[j], label, int((matrix[:, j] == label).argmax()))
    unseen = 1 if policy == "smooth" else 0
    tables = []
    for variable, (a, b) in zip(variables, bounds, strict=True):
        other = variable.size + unseen
        tables.append(np.array([variable.codes.get(value, other) for value in range(a, b + 1)]))
    dtype = np.uint8 if max(v.size for v in variables) <= LARGEST_BYTE_TABLE else np.uint32
    return variables, look_up_codes(matrix, low, tables, dtype)
