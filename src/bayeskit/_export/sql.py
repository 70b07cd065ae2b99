"""A model as SQL: one SELECT, or a script of tables and a SELECT that joins them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bayeskit._conditionals.scoring import Score, Writer
from bayeskit._export.scorer import IMPOSSIBLE, Scorer, kind_of
from bayeskit._export.sql_text import Dialect, Sql, literal, made
from bayeskit._export.sql_writer import SOURCE, OddsWriter, SqlWriter, Stages
from bayeskit._fitting.calibration import Curve
from bayeskit._schema import first_twice
from bayeskit.errors import NotSupported, SettingError

PREDICTION = "prediction"
# The maximum number of columns of one query: SQLite allows 2,000, PostgreSQL 1,664.
_MOST_COLUMNS = {"sqlite": 2_000, "postgres": 1_600}
# The number of rows of one INSERT.
_INSERTED = 1_000


class SqlScript(NamedTuple):
    """SQL for a model whose tables are joined.

    Attributes
    ----------
    tables : tuple of str
        Statements that create and fill the tables of the model. Run them once. The names of the tables contain a
        digest of their content, so that two models do not share them.
    select : str
        The SELECT that predicts.

    ``str(script)`` is all of it, with semicolons.
    """

    tables: tuple[str, ...]
    select: str

    def __str__(self) -> str:
        return "".join(f"{statement};\n" for statement in (*self.tables, self.select))


def sql_of(scorer: Scorer, dialect: object, table: object, key: object) -> str | SqlScript:
    """Return the SQL that predicts the rows of a table: its key, the prediction, the posterior of each class."""
    scorer.need_no_error("SQL")
    words = Dialect(dialect)
    names, keys = _names("table", table), () if key is None else _names("key", key)
    answers = [f"p_{label}" for label in scorer.target.states]
    _check_keys(keys, [PREDICTION, *answers])
    writer = SqlWriter(scorer, words)
    kept = [
        writer.stages.bind(Sql(f"{SOURCE}.{words.identifier(name)}"), f"k{i}") for i, name in enumerate(keys)
    ]
    prediction, posterior = _Answer(writer, _scores(writer, scorer.score)).columns()
    outputs = [*zip(kept, keys, strict=True), (prediction, PREDICTION), *zip(posterior, answers, strict=True)]
    row = writer.row if writer.tables else None
    source = f"{'.'.join(map(words.identifier, names))} AS {SOURCE}"
    select = _assemble(writer.stages, words, source, outputs, row)
    return _script(writer, select) if writer.tables else select


def _names(what: str, given: object) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) and name for name in names):
        raise SettingError("{what} is {given!r}; give a name, or a list of names.", what=what, given=given)
    return tuple(names)


def _check_keys(keys: tuple[str, ...], answers: list[str]) -> None:
    twice = first_twice((*keys, *answers))
    if twice is not None:
        raise SettingError(
            "Two columns of the result would be called {name!r}. Leave it out of key, or rename it in a view.",
            name=twice,
        )


def _scores(writer: SqlWriter, score: Score) -> list[Sql]:
    """Return the score of each class. If nothing is impossible, it is relative to the first class, which has 0."""
    if score.is_possible and writer.scorer.n_classes > 1:
        return [writer.dialect.number(0.0), *score.write(_typed(OddsWriter(writer)))]
    return score.write(_typed(writer))


def _typed(writer: Writer[list[Sql]]) -> Writer[list[Sql]]:
    return writer


class _Answer:
    """Turns scores into posteriors and the most probable class, and implements the calibrations."""

    def __init__(self, writer: SqlWriter, scores: list[Sql]) -> None:
        self.writer, self.words, self.stages = writer, writer.dialect, writer.stages
        self.scores = [score if score.value is not None else self.stages.bind(score) for score in scores]
        self.best = self.stages.bind(self.words.greatest(self.scores))
        if not writer.scorer.score.is_possible:
            self._mend_impossible()

    def _mend_impossible(self) -> None:
        """Use the prior for rows in which every class is impossible."""
        limit = self.words.number(IMPOSSIBLE).text
        guard = f"{self.best.text} < {limit}"
        prior = [
            self.words.number(float(x)) for x in self.writer.scorer.log_zero(self.writer.scorer.log_prior)
        ]
        self.scores = [
            self.stages.bind(made(f"CASE WHEN {guard} THEN {p.text} ELSE {s.text} END", self.best, s))
            for p, s in zip(prior, self.scores, strict=True)
        ]
        self.best = self.stages.bind(self.words.greatest(self.scores))

    def columns(self) -> tuple[Sql, list[Sql]]:
        """Return the prediction and the posteriors."""
        scorer = self.writer.scorer
        if scorer.calibration is None:
            return self.temper(1.0)
        return scorer.calibration.write(self, scorer.target.states)

    def temper(self, t: float) -> tuple[Sql, list[Sql]]:
        return self._chosen(self.scores, self.best), self._posterior(t)

    def _posterior(self, t: float) -> list[Sql]:
        divided = [self.words.difference(score, self.best) for score in self.scores]
        if t != 1.0:
            divided = [made(f"({d.text} / {self.words.number(t).text})", d) for d in divided]
        return self._normalised([self.stages.bind(self.words.exp(d)) for d in divided])

    def _normalised(self, shares: list[Sql]) -> list[Sql]:
        total = self.stages.bind(self.words.total(shares))
        return [made(f"{share.text} / {total.text}", share, total) for share in shares]

    def bend(self, curves: Sequence[Curve | None], least: float) -> tuple[Sql, list[Sql]]:
        plain = [self.stages.bind(p) for p in self._posterior(1.0)]
        bent = [p if curve is None else self._bent(p, curve) for p, curve in zip(plain, curves, strict=True)]
        held = []
        for p in (self.stages.bind(p) for p in bent):
            low, high = self.words.number(least).text, self.words.number(1.0 - least).text
            text = (
                f"CASE WHEN {p.text} < {low} THEN {low} WHEN {p.text} > {high} THEN {high} ELSE {p.text} END"
            )
            held.append(self.stages.bind(made(text, p)))
        best = self.stages.bind(self.words.greatest(held))
        return self._chosen(held, best), self._normalised(held)

    def _bent(self, p: Sql, curve: Curve) -> Sql:
        """Return a piecewise linear curve, constant at both ends."""
        at, share = curve
        arms = [f"WHEN {p.text} <= {self.words.number(at[0]).text} THEN {self.words.number(share[0]).text}"]
        for x, y, end, to in zip(at, share, at[1:], share[1:], strict=False):
            line = self.words.number(y).text
            if to != y:
                slope = self.words.number((to - y) / (end - x)).text
                line = f"{slope} * ({p.text} - {self.words.number(x).text}) + {line}"
            arms.append(f"WHEN {p.text} <= {self.words.number(end).text} THEN {line}")
        return made(f"CASE {' '.join(arms)} ELSE {self.words.number(share[-1]).text} END", p)

    def _chosen(self, scores: list[Sql], best: Sql) -> Sql:
        """Return the first class with the best score."""
        target = self.writer.scorer.target
        kind = kind_of(target, "SQL")
        labels = [self.words.label(label, kind) for label in target.states]
        arms = " ".join(
            f"WHEN {score.text} >= {best.text} THEN {label}"
            for score, label in zip(scores[:-1], labels, strict=False)
        )
        return made(f"CASE {arms} ELSE {labels[-1]} END" if arms else labels[-1], best, *scores)


def _assemble(
    stages: Stages, words: Dialect, source: str, outputs: list[tuple[Sql, str]], row: Sql | None
) -> str:
    """Combine the queries. Each selects only the columns that are still needed."""
    n = max([1, len(stages.columns), *(sql.stage for sql, _ in outputs), *(s + 1 for s in stages.sides)])
    columns = [dict(stages.columns[s]) if s < len(stages.columns) else {} for s in range(n)]
    kept = _kept(
        stages, columns, frozenset().union(*(sql.uses for sql, _ in outputs), row.uses if row else ())
    )
    parts = []
    for s in range(n):
        side, origin = stages.sides.get(s), source if s == 0 else f"q{s - 1}"
        if side is not None:
            parts += [words.cte(name, query, shared=shared) for name, query, shared in side.queries]
            origin = side.tables
        carried = sorted(kept[s] - columns[s].keys())
        made_here = [f"{sql.text} AS {name}" for name, sql in columns[s].items() if name in kept[s]]
        _check_width(len(carried) + len(made_here), words)
        query = f"SELECT {', '.join([*carried, *made_here]) or '1 AS nothing'} FROM {origin}"
        parts.append(words.cte(f"q{s}", query, shared=s + 1 in stages.sides))
    last = ", ".join(f"{sql.text} AS {words.identifier(name)}" for sql, name in outputs)
    order = "" if row is None else f" ORDER BY {row.text}"
    return f"WITH {', '.join(parts)} SELECT {last} FROM q{n - 1}{order}"


def _kept(stages: Stages, columns: list[dict[str, Sql]], last: frozenset[str]) -> list[frozenset[str]]:
    """Return the columns that each query must select for the queries after it."""
    kept, needed = [], last
    for s in range(len(columns) - 1, -1, -1):
        if s + 1 in stages.sides:
            needed |= stages.sides[s + 1].reads
        kept.append(needed)
        provided = stages.sides[s].provides if s in stages.sides else ()
        uses = [sql.uses for name, sql in columns[s].items() if name in needed]
        needed = (needed - columns[s].keys()).union(*uses).difference(provided)
    return kept[::-1]


def _check_width(n: int, words: Dialect) -> None:
    most = _MOST_COLUMNS.get(words.name, n)
    if n > most:
        raise NotSupported(
            "The SELECT needs {n} columns at a time, and {dialect} allows {most}. Use another database, or fit with "
            "fewer columns.",
            n=n,
            dialect=words.name,
            most=most,
        )


def _script(writer: SqlWriter, select: str) -> SqlScript:
    """Return the script with the statements that create the tables."""
    words, statements = writer.dialect, []
    for table in writer.tables:
        typed = [f"{name} {words.integer} NOT NULL" for name in table.keys]
        typed += [f"{name} {words.double} NOT NULL" for name in table.numbers]
        key = f"PRIMARY KEY ({', '.join(table.keys)})"
        statements.append(f"DROP TABLE IF EXISTS {table.name}")
        statements.append(f"CREATE TABLE {table.name} ({', '.join([*typed, key])})")
        n = len(table.keys)
        for start in range(0, len(table.rows), _INSERTED):
            rows = table.rows[start : start + _INSERTED]
            values = ", ".join(f"({', '.join([*map(str, r[:n]), *map(literal, r[n:])])})" for r in rows)
            names = ", ".join((*table.keys, *table.numbers))
            statements.append(f"INSERT INTO {table.name} ({names}) VALUES {values}")
        if words.name == "postgres":
            # Otherwise it assumes that a table of unknown size is large, and compiles the query for seconds.
            statements.append(f"ANALYZE {table.name}")
    return SqlScript(tuple(statements), select)
