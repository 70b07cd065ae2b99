"""Scores whose tables are joined: averages over contexts, and sums over missing attributes.

Each score is a few queries in addition to the main ones. They read the codes and numbers of each row by its row
number, and add K columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from bayeskit._conditionals.scoring import Average, Family, Marginal, Normals
from bayeskit._export.scorer import LOG_ZERO
from bayeskit._export.sql_text import Sql, made
from bayeskit._export.sql_writer import Side, SqlWriter, TableOfLogs
from bayeskit.typing import Floats

# The maximum number of tables joined in one query. SQLite allows 64.
_JOINED = 30
# The code of a missing value that is summed over.
_SUMMED = -1
# A logarithm of the number of joint states that is above every limit.
_TOO_MANY = 1e6


def _add_table(
    writer: SqlWriter,
    what: str,
    keys: Sequence[str],
    numbers: Sequence[str],
    rows: Sequence[tuple[float, ...]],
) -> str:
    """Add a table whose name contains a digest of its content, and return the name."""
    digest = sha256(repr((keys, numbers, rows)).encode()).hexdigest()[:16]
    name = writer.dialect.identifier(f"bayeskit_{what}_{digest}")
    writer.tables.append(TableOfLogs(name, tuple(keys), tuple(numbers), rows))
    return name


def _classes(writer: SqlWriter, letter: str) -> list[str]:
    return [f"{letter}{c}" for c in range(writer.scorer.n_classes)]


# -- averages ----------------------------------------------------------------------------------


def add_average(writer: SqlWriter, score: Average) -> list[Sql]:
    """Return the log of a sum over the contexts that hold in a row."""
    codes = [writer.code(j) for j in range(len(score.offsets) - 1)]
    values = [] if score.normals is None else [writer.value(int(m)) for m in score.normals.columns]
    row = writer.row
    stage = writer.stages.free(max(part.stage for part in (row, *codes, *values)))
    origin, own = f"q{stage - 1}", writer.stages.name()
    names = {part: f"{own}_{part}" for part in ("cells", "held", "terms", "sums", "best", "total")}
    numbers = _classes(writer, "d")
    logs = _add_table(writer, "logs", ("context", "cell"), numbers, _log_rows(score))
    contexts = _add_table(
        writer, "contexts", [f"cell{i}" for i in range(score.order)] + ["context"], (),
        [(*cells, u) for u, cells in enumerate(score.contexts.tolist())],
    )  # fmt: skip
    cells = " UNION ALL ".join(
        f"SELECT {row.text} AS r, {code.text} + {int(start)} AS cell FROM {origin}"
        for code, start in zip(codes, score.offsets[:-1], strict=True)
    )
    first, second = (
        f"{names['cells']} a",
        f" JOIN {names['cells']} b ON b.r = a.r" if score.order == 2 else "",
    )
    meet = "k.cell0 = a.cell" + (" AND k.cell1 = b.cell" if second else "")
    held = f"SELECT a.r, k.context FROM {first}{second} JOIN {contexts} k ON {meet}"
    listed = ", ".join(f"l.{number} AS {number}" for number in numbers)
    terms = (
        f"SELECT h.r, h.context, {listed} FROM {names['held']} h LEFT JOIN {names['cells']} a ON a.r = h.r "
        f"LEFT JOIN {logs} l ON l.context = h.context AND l.cell = a.cell"
    )
    queries = [(names["cells"], cells, True), (names["held"], held, True)]
    if score.normals is not None:
        terms += f" UNION ALL {_normal_terms(writer, score.normals, values, origin, names['held'])}"
    queries.append((names["terms"], terms, False))
    summed = ", ".join(f"SUM({number}) AS {number}" for number in numbers)
    sums = f"SELECT r, context, {summed} FROM {names['terms']} GROUP BY r, context"
    queries.append((names["sums"], sums, False))
    reads = frozenset().union(*(part.uses for part in (row, *codes, *values)))
    found = _log_sums(writer, names, queries, reads, stage, has_all=False)
    otherwise = score.otherwise.write(writer)
    return [writer.dialect.if_null(a, b, a) for a, b in zip(found, otherwise, strict=True)]


def _log_rows(score: Average) -> list[tuple[float, ...]]:
    """Return the cells that are not zero, and those of the contexts themselves."""
    speaks = (score.logs != 0.0).any(axis=2)
    speaks[np.arange(len(speaks)), score.contexts[:, 0]] = True
    places = np.argwhere(speaks)
    logs = np.maximum(score.logs[speaks], LOG_ZERO)
    return [(*place, *row) for place, row in zip(places.tolist(), logs.tolist(), strict=True)]


def _normal_terms(writer: SqlWriter, normals: Normals, values: list[Sql], origin: str, held: str) -> str:
    """Return the query of the log-densities of numbers, in each context that holds."""
    letters = {"norm": "dn", "mean": "dm", "low": "dl", "scale": "ds"}
    columns = [name for letter in letters.values() for name in _classes(writer, letter)]
    n, m = normals.norm.shape[:2]
    parts = [getattr(normals, part).reshape(n * m, -1) for part in letters]
    cells = np.column_stack([np.repeat(np.arange(n), m), np.tile(np.arange(m), n)]).tolist()
    rows = [(*cell, *row) for cell, row in zip(cells, np.hstack(parts).tolist(), strict=True)]
    table = _add_table(writer, "normals", ("context", "place"), columns, rows)
    each = " UNION ALL ".join(
        f"SELECT {writer.row.text} AS r, {i} AS place, {x.text} AS x FROM {origin} WHERE {x.text} IS NOT NULL"
        for i, x in enumerate(values)
    )
    terms = []
    for c in range(writer.scorer.n_classes):
        z = f"((v.x - n.dm{c} - n.dl{c}) * n.ds{c})"
        terms.append(f"n.dn{c} - {z} * {z} AS d{c}")
    return (
        f"SELECT h.r, h.context, {', '.join(terms)} FROM {held} h JOIN ({each}) v ON v.r = h.r "
        f"JOIN {table} n ON n.context = h.context AND n.place = v.place"
    )


def _log_sums(
    writer: SqlWriter,
    names: dict[str, str],
    queries: list[tuple[str, str, bool]],
    reads: frozenset[str],
    stage: int,
    *,
    has_all: bool,
) -> list[Sql]:
    """Add log Σ exp of the rows of ``sums`` with the same row number to a stage; NULL if there are none."""
    words, sums, best, total = writer.dialect, names["sums"], names["best"], names["total"]
    # Use a window instead of a join with the maxima: SQLite assumes that these are few, and would scan all per row.
    top = ", ".join(f"d{c}, MAX(d{c}) OVER (PARTITION BY r) AS m{c}" for c in range(writer.scorer.n_classes))
    queries.append((best, f"SELECT r, {top} FROM {sums}", False))
    provides = [writer.stages.name() for _ in range(writer.scorer.n_classes)]
    logs = []
    for c, name in enumerate(provides):
        shares = words.exp(Sql(f"(d{c} - m{c})")).text
        logs.append(f"MAX(m{c}) + {words.function('ln', Sql(f'SUM({shares})')).text} AS {name}")
    queries.append((total, f"SELECT r, {', '.join(logs)} FROM {best} GROUP BY r", False))
    before = f"q{stage - 1}"
    # If each row has a sum, the sums come first, for the same reason.
    both = f"{total} LEFT JOIN {before}" if has_all else f"{before} LEFT JOIN {total}"
    tables = f"{both} ON {total}.r = {writer.row.text}"
    return writer.stages.add(stage, Side(queries, reads, tables, tuple(provides)))


# -- sums over what is missing -----------------------------------------------------------------


class _Rows(NamedTuple):
    """A query over the rows of a stage, which may be repeated: its name and its columns.

    ``number`` is the row number, and ``codes`` are the codes of each attribute.
    """

    origin: str
    number: str
    codes: dict[int, str]

    def next(self, query: str) -> _Rows:
        return _Rows(query, "r", {j: f"c{j}" for j in self.codes})


def add_expansion(writer: SqlWriter, score: Marginal) -> list[Sql]:
    """Return the log of a sum over the joint states of the missing attributes that are needed.

    A row is repeated for each joint state, and each copy looks up every family.
    """
    summed = _summed_codes(writer, score)
    flags = {
        j: writer.stages.bind(made(f"CASE WHEN {code.text} = {_SUMMED} THEN {j} END", code))
        for j, code in summed.items()
    }
    members = sorted({j for family in score.families for j in (*family.parents, family.child)})
    codes = {j: summed.get(j) or writer.code(j) for j in members}
    parts = (writer.row, *codes.values(), *flags.values())
    stage, own = writer.stages.free(max(part.stage for part in parts)), writer.stages.name()
    names = {part: f"{own}_{part}" for part in ("sums", "best", "total")}
    queries: list[tuple[str, str, bool]] = []
    rows = _Rows(f"q{stage - 1}", writer.row.text, {j: code.text for j, code in codes.items()})
    if flags:
        rows = _add_states(writer, score, {j: flag.text for j, flag in flags.items()}, rows, own, queries)
    _add_families(writer, score, rows, own, queries)
    reads = frozenset[str]().union(*(part.uses for part in parts))
    return _log_sums(writer, names, queries, reads, stage, has_all=True)


def _add_states(
    writer: SqlWriter, score: Marginal, flags: dict[int, str], rows: _Rows, own: str,
    queries: list[tuple[str, str, bool]],
) -> _Rows:  # fmt: skip
    """Add queries with a row for each state of the attributes to sum over; ``flags`` are NULL for other attributes."""
    cells = [(j, code) for j in flags for code in score.values[j]]
    states = _add_table(writer, "states", ("place", "code"), (), cells)
    places = list(flags)
    for start in range(0, len(places), _JOINED):
        some, query = places[start : start + _JOINED], f"{own}_x{start}"
        columns = [f"{rows.number} AS r", *(flags[j] for j in places[start + _JOINED :])]
        columns += [
            f"COALESCE(t{j}.code, {text}) AS c{j}" if j in some else f"{text} AS c{j}"
            for j, text in rows.codes.items()
        ]
        joins = "".join(f" LEFT JOIN {states} t{j} ON t{j}.place = {flags[j]}" for j in some)
        queries.append((query, f"SELECT {', '.join(columns)} FROM {rows.origin}{joins}", False))
        rows = rows.next(query)
    return rows


def _add_families(
    writer: SqlWriter, score: Marginal, rows: _Rows, own: str, queries: list[tuple[str, str, bool]]
) -> None:
    """Add queries that look up every family and sum the logarithms."""
    words, families, numbers = writer.dialect, score.families, _classes(writer, "d")
    cells = [row for f, family in enumerate(families) for row in _family_rows(f, family)]
    table = _add_table(writer, "families", ("family", "cell"), numbers, cells)
    zero = words.number(0.0).text
    so_far = [zero] * len(numbers)
    for start in range(0, len(families), _JOINED):
        some = range(start, min(start + _JOINED, len(families)))
        last = some.stop == len(families)
        query = f"{own}_sums" if last else f"{own}_f{start}"
        columns = [f"{rows.number} AS r", *([] if last else [f"{c} AS c{j}" for j, c in rows.codes.items()])]
        for name, before in zip(numbers, so_far, strict=True):
            logs = [Sql(before), *(Sql(f"COALESCE(f{f}.{name}, {zero})") for f in some)]
            columns.append(f"{words.total(logs).text} AS {name}")
        joins = "".join(
            f" LEFT JOIN {table} f{f} ON f{f}.family = {f} AND f{f}.cell = {_cell(families[f], rows.codes)}"
            for f in some
        )
        queries.append((query, f"SELECT {', '.join(columns)} FROM {rows.origin}{joins}", False))
        rows, so_far = rows.next(query), [f"{query}.{name}" for name in numbers]


def _summed_codes(writer: SqlWriter, score: Marginal) -> dict[int, Sql]:
    """Return the codes of attributes with children, or −1 if they are missing and must be summed over."""
    bind, needed = writer.stages.bind, dict[int, Sql]()
    # Children before parents, then attributes that are not a child.
    for j in (*(family.child for family in score.families), *score.children):
        _bind_needed(writer, score, j, needed)
    if not needed:
        return {}
    logs = []
    for j, flag in needed.items():
        n = len(score.values[j])
        size = math.log(n) if n else _TOO_MANY
        logs.append(writer.dialect.product([flag, writer.dialect.number(size)]))
    most = _TOO_MANY / 2 if score.most is None else math.log(score.most) + 1e-9
    states = writer.dialect.total(logs)
    fits = bind(
        made(f"CASE WHEN {states.text} <= {writer.dialect.number(most).text} THEN 1 ELSE 0 END", states)
    )
    found = {}
    for j, flag in needed.items():
        code = writer.code(j)
        text = f"CASE WHEN {flag.text} = 1 AND {fits.text} = 1 THEN {_SUMMED} ELSE {code.text} END"
        found[j] = bind(made(text, flag, fits, code))
    return found


def _bind_needed(writer: SqlWriter, score: Marginal, j: int, needed: dict[int, Sql]) -> None:
    """Bind a column for whether an attribute is missing and has a child that is present or needed."""
    if j in needed or j not in score.values or j not in score.children:
        return
    parts, uses = [], [writer.code(j)]
    for family in score.children[j]:
        child = family.child
        if child not in score.values:
            parts.append("1 = 1")  # it is never missing
            continue
        code = writer.code(child)
        parts.append(f"{code.text} <> {score.sizes[child]}")
        uses.append(code)
        if child in needed:
            parts.append(f"{needed[child].text} = 1")
            uses.append(needed[child])
    guard = f"{writer.code(j).text} = {score.sizes[j]} AND ({' OR '.join(parts)})"
    needed[j] = writer.stages.bind(made(f"CASE WHEN {guard} THEN 1 ELSE 0 END", *uses))


def _cell(family: Family, codes: dict[int, str]) -> str:
    """Return the index of a cell in the table of a family, by Horner's rule."""
    text = codes[(*family.parents, family.child)[0]]
    for j, size in zip((*family.parents, family.child)[1:], family.table.shape[1:-1], strict=True):
        text = f"({text}) * {size} + {codes[j]}"
    return text


def _family_rows(f: int, family: Family) -> list[tuple[float, ...]]:
    flat: Floats = np.maximum(family.table.reshape(-1, family.table.shape[-1]), LOG_ZERO)
    speaks = np.flatnonzero((flat != 0.0).any(axis=1))
    return [(f, cell, *row) for cell, row in zip(speaks.tolist(), flat[speaks].tolist(), strict=True)]
