"""SQL in each dialect: names, values and functions, as sqlglot writes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bayeskit._export.scorer import LARGEST, Kind, need
from bayeskit._messages import Joined
from bayeskit._schema import Label
from bayeskit.errors import SettingError

# The dialects whose results the tests compare with Python. sqlglot supports more.
TESTED = ("duckdb", "sqlite", "postgres")
_ALIASES = {"postgresql": "postgres"}
# e⁻⁷⁰⁰ is negligible relative to 1, and PostgreSQL raises an error for smaller exponents.
_LEAST_EXPONENT = -700.0


@dataclass(frozen=True)
class Sql:
    """An SQL expression: a number for each row.

    Attributes
    ----------
    text : str
    stage : int
        The first query in which all the columns that it uses are available.
    uses : names of these columns
    value : float, optional
        The number, if it is the same in all rows.
    """

    text: str
    stage: int = 0
    uses: frozenset[str] = frozenset()
    value: float | None = None


def made(text: str, *parts: Sql) -> Sql:
    """Return an expression that is composed of others."""
    uses = frozenset[str]().union(*(part.uses for part in parts))
    return Sql(text, max((part.stage for part in parts), default=0), uses)


class Dialect:
    """The differences between databases."""

    def __init__(self, name: object) -> None:
        self._sqlglot = need("sqlglot", "sql", "to_sql")
        known = sorted(d.value for d in self._sqlglot.Dialects if d.value)
        called = _ALIASES.get(str(name).lower(), str(name).lower())
        if not isinstance(name, str) or called not in known:
            raise SettingError(
                "dialect is {name!r}; choose from {tested} (tested), or {others}.",
                name=name,
                tested=Joined(map(repr, TESTED)),
                others=Joined(repr(d) for d in known if d not in TESTED),
            )
        self.name = called
        self.double = self._sqlglot.exp.DataType.build("double").sql(dialect=called)
        self.integer = self._sqlglot.exp.DataType.build("bigint").sql(dialect=called)
        # In these, a literal such as 1e0 is a double. In others it is a decimal number and must be cast.
        self._has_doubles = called in ("duckdb", "sqlite")

    def identifier(self, name: str) -> str:
        return str(self._sqlglot.exp.to_identifier(name, quoted=True).sql(dialect=self.name))

    def text(self, value: str) -> str:
        return str(self._sqlglot.exp.Literal.string(value).sql(dialect=self.name))

    def label(self, value: Label, kind: Kind) -> str:
        """Return a state or a class as a literal."""
        if kind == "truth":
            return "TRUE" if value else "FALSE"
        if kind == "text":
            return self.text(str(value))
        return repr(value) if isinstance(value, int) else self.number(float(str(value))).text

    def number(self, value: float) -> Sql:
        """Return a double in full."""
        text = literal(value)
        if not self._has_doubles:
            text = f"CAST({text} AS {self.double})"
        elif value < 0.0:
            text = f"({text})"
        return Sql(text, value=value)

    def as_double(self, text: str) -> str:
        """Return a column as a number, or NULL if it is missing."""
        cast = f"CAST({text} AS {self.double})"
        # SQLite has no NaN. In others NaN equals itself.
        return cast if self.name == "sqlite" else f"NULLIF({cast}, CAST('NaN' AS {self.double}))"

    def held(self, text: str) -> str:
        """Return a number, clipped so that it can be squared."""
        low, high = self.number(-LARGEST).text, self.number(LARGEST).text
        return f"CASE WHEN {text} > {high} THEN {high} WHEN {text} < {low} THEN {low} ELSE {text} END"

    def greatest(self, parts: Sequence[Sql]) -> Sql:
        if len(parts) == 1:
            return parts[0]
        name = "MAX" if self.name == "sqlite" else "GREATEST"
        return made(f"{name}({', '.join(part.text for part in parts)})", *parts)

    def function(self, name: str, of: Sql) -> Sql:
        exp: Any = self._sqlglot.exp
        call = {"exp": exp.Exp, "ln": exp.Ln}[name](this=exp.Var(this=of.text))
        return made(call.sql(dialect=self.name), of)

    def exp(self, of: Sql) -> Sql:
        """Return eˣ for x ≤ 0, or 0 if it would underflow."""
        least, zero = self.number(_LEAST_EXPONENT).text, self.number(0.0).text
        return made(f"CASE WHEN {of.text} < {least} THEN {zero} ELSE {self.function('exp', of).text} END", of)

    def total(self, parts: Iterable[Sql]) -> Sql:
        """Return a sum as a balanced tree: SQLite allows a depth of 1,000."""
        found = list(parts)
        others = [part for part in found if part.value is None]
        offset = math.fsum(part.value for part in found if part.value is not None)
        if offset != 0.0 or not others:
            others.insert(0, self.number(offset))
        return others[0] if len(others) == 1 else made(_balanced([part.text for part in others]), *others)

    def product(self, parts: Iterable[Sql]) -> Sql:
        found = list(parts)
        if all(part.value is not None for part in found):
            return self.number(math.prod(part.value for part in found if part.value is not None))
        return made(f"({' * '.join(part.text for part in found)})", *found)

    def difference(self, a: Sql, b: Sql) -> Sql:
        if a.value is not None and b.value is not None:
            return self.number(a.value - b.value)
        if b.value is not None:
            return self.total([a, self.number(-b.value)])
        return made(f"({a.text} - {b.text})", a, b)

    def case(self, of: Sql, cases: Iterable[tuple[str, Sql]], otherwise: Sql) -> Sql:
        """Return a CASE expression. Cases that equal ``otherwise`` are omitted."""
        kept = [(value, then) for value, then in cases if then.text != otherwise.text]
        if not kept:
            return otherwise
        arms = " ".join(f"WHEN {value} THEN {then.text}" for value, then in kept)
        text = f"CASE {of.text} {arms} ELSE {otherwise.text} END"
        return made(text, of, otherwise, *(then for _, then in kept))

    def if_null(self, of: Sql, then: Sql, otherwise: Sql) -> Sql:
        if then.text == otherwise.text:
            return then
        text = f"CASE WHEN {of.text} IS NULL THEN {then.text} ELSE {otherwise.text} END"
        return made(text, of, then, otherwise)

    def cte(self, name: str, query: str, *, shared: bool) -> str:
        """Return a common table expression. Queries that are used twice are materialised, and none is inlined.

        SQLite and PostgreSQL would copy its expressions to every use and compute each copy. DuckDB would materialise
        rows that are used only once.
        """
        if self.name == "duckdb":
            return f"{name} AS {'' if shared else 'NOT '}MATERIALIZED ({query})"
        return f"{name} AS {'MATERIALIZED ' if self.name in TESTED else ''}({query})"


def literal(value: float) -> str:
    """Return a double with all its digits. Without an exponent, DuckDB would treat it as a decimal number.

    >>> literal(0.1), literal(-3.0), literal(1e-300)
    ('0.1e0', '-3.0e0', '1e-300')
    """
    text = repr(float(value) + 0.0)
    return text if "e" in text else f"{text}e0"


def _balanced(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    half = len(texts) // 2
    return f"({_balanced(texts[:half])} + {_balanced(texts[half:])})"
