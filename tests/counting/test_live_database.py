"""Lazy models over tables of live databases: equal to a fresh fit, whatever other connections write meanwhile."""

from __future__ import annotations

import copy
import os
import pickle
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest

from bayeskit import AODE, KDB, TAN, BernoulliNB, CategoricalNB, GaussianNB, NaiveBayes
from bayeskit._data.database_url import DatabaseTable, parse_url
from bayeskit.errors import (
    CannotCount,
    ColumnError,
    DataError,
    DataTypeError,
    NeedsRows,
    SettingError,
    UsageError,
    WeightError,
)
from postgres_server import running
from refusals import refuses

# Names with quotes, keywords, blanks, per cent signs, Chinese.
NAMES = {"sky": 'se"lect', "wind": "order by", "size": "100%", "n": "from", "m": "密度", "y": "group"}
TYPES = {
    "sky": "TEXT",
    "wind": "TEXT",
    "size": "INTEGER",
    "n": "DOUBLE PRECISION",
    "m": "DOUBLE PRECISION",
    "y": "TEXT",
}
TABLE = 'or"ders; --'


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes", "maybe'"], n)
    sky = np.where(
        rng.random(n) < 0.1, None, np.where(y == "no", "red", rng.choice(["red", "blue", "灰"], n))
    )
    found = pd.DataFrame({"sky": sky, "wind": rng.choice(["a", "A", "'"], n)})
    found["size"] = rng.integers(0, 4, n)
    found["n"] = np.where(rng.random(n) < 0.1, np.nan, 1e6 + rng.standard_normal(n) + (y == "yes"))
    found["m"] = rng.standard_normal(n) * (1 + (y == "no"))
    found["y"] = y
    return found.rename(columns=NAMES)


def rows_of(found):
    return [
        tuple(None if v is None or v != v else v for v in row) for row in found.astype(object).values.tolist()
    ]


class Sqlite:
    engine = "sqlite"

    def __init__(self, folder):
        self.path = folder / "shop.db"
        self.run(
            f"CREATE TABLE {quoted(TABLE)} ({', '.join(f'{quoted(NAMES[k])} {t}' for k, t in TYPES.items())})"
        )

    def url(self, table=TABLE):
        from urllib.parse import quote

        return f"{self.engine}:///{self.path}?table={quote(table)}"

    def run(self, *statement):
        with sqlite3.connect(self.path) as base:
            base.execute(*statement)
        base.close()

    def insert(self, found, table=TABLE):
        marks = ", ".join(["?"] * found.shape[1])
        with sqlite3.connect(self.path) as base:
            base.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", rows_of(found))
        base.close()


class DuckDB(Sqlite):
    engine = "duckdb"

    def run(self, *statement):
        with duckdb.connect(str(self.path)) as base:
            base.execute(*statement)

    def insert(self, found, table=TABLE):
        with duckdb.connect(str(self.path)) as base:
            marks = ", ".join(["?"] * found.shape[1])
            base.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", rows_of(found))


class Postgres(Sqlite):
    engine = "postgres"

    def __init__(self, server):
        self.port = server.port
        self.run(f"DROP TABLE IF EXISTS {quoted(TABLE)}")
        columns = ", ".join(f"{quoted(NAMES[k])} {t}" for k, t in TYPES.items())
        self.run(f"CREATE TABLE {quoted(TABLE)} ({columns})")

    def url(self, table=TABLE):
        from urllib.parse import quote

        return f"postgresql://tests@127.0.0.1:{self.port}/postgres?table={quote(table)}"

    def run(self, *statement):
        import psycopg

        with psycopg.connect(f"postgresql://tests@127.0.0.1:{self.port}/postgres") as base:
            base.execute(*statement)

    def insert(self, found, table=TABLE):
        import psycopg

        marks = ", ".join(["%s"] * found.shape[1])
        with (
            psycopg.connect(f"postgresql://tests@127.0.0.1:{self.port}/postgres") as base,
            base.cursor() as cursor,
        ):
            cursor.executemany(
                f"INSERT INTO {quoted(table).replace('%', '%%')} VALUES ({marks})", rows_of(found)
            )


@pytest.fixture(scope="session")
def server():
    pytest.importorskip("psycopg", reason='PostgreSQL needs psycopg: pip install "bayeskit[sql]"')
    with running() as started:
        yield started


@pytest.fixture(params=["sqlite", "duckdb", pytest.param("postgres", marks=pytest.mark.postgres)])
def base(request, tmp_path):
    if request.param == "postgres":
        return Postgres(request.getfixturevalue("server"))
    return {"sqlite": Sqlite, "duckdb": DuckDB}[request.param](tmp_path)


MODELS = {
    "nb": (NaiveBayes, None),
    "gaussian": (GaussianNB, ["n", "m"]),
    "categorical": (lambda: NaiveBayes(categorical_features=[NAMES["sky"], "100%"]), ["sky", "size", "m"]),
    "codes": (CategoricalNB, ["size"]),
    "tan": (TAN, ["sky", "wind"]),
    "tan-gaussian": (lambda: TAN(numeric="gaussian"), None),
    "aode": (AODE, ["sky", "wind"]),
    "aode-gaussian": (lambda: AODE(numeric="gaussian"), ["sky", "wind", "n"]),
    "kdb": (lambda: KDB(k=1), ["sky", "wind"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_predictions_follow_what_others_write(base, name):
    make, wanted = MODELS[name]
    columns = None if wanted is None else [NAMES[k] for k in wanted]
    first, more = frame(60), frame(30, 1)
    more[NAMES["y"]] = "new class"
    more[NAMES["sky"]] = "new sky"
    base.insert(first)
    lazy = make().lazy(base.url(), NAMES["y"], columns=columns)
    asked = frame(20, 2).drop(columns=NAMES["y"])
    asked = asked if columns is None else asked[columns]
    # Each prediction equals a fit to the rows of that moment: the second has a new class and a new state.
    for held in (first, pd.concat([first, more])):
        X = held.drop(columns=NAMES["y"])
        fresh = make().fit(X if columns is None else X[columns], held[NAMES["y"]])
        assert lazy.classes_.tolist() == fresh.classes_.tolist()
        np.testing.assert_allclose(lazy.predict_proba(asked), fresh.predict_proba(asked), atol=1e-9)
        assert lazy.predict(asked).tolist() == fresh.predict(asked).tolist()
        if held is first:
            base.insert(more)


def test_only_what_is_needed_is_asked_in_one_statement(base, monkeypatch):
    base.insert(frame(50))
    asked = []
    before = DatabaseTable.run
    monkeypatch.setattr(DatabaseTable, "run", lambda self, sql: asked.append(sql) or before(self, sql))
    lazy = NaiveBayes().lazy(base.url(), NAMES["y"])
    row = frame(1, 3).drop(columns=NAMES["y"]).astype({NAMES["size"]: float})
    row.loc[:, [NAMES["n"], NAMES["m"], NAMES["size"]]] = np.nan
    lazy.predict_proba(row)
    assert len(asked) == 1 and quoted(NAMES["sky"]) in asked[0] and quoted(NAMES["m"]) not in asked[0]
    lazy.predict_proba(row)
    assert len(asked) == 2 and lazy._lazy.passes == 2  # nothing is cached


def test_many_pairs_are_one_statement(base):
    n = 34  # 561 pairs: more than SQLite joins at once
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({f"c{j}": rng.choice(["u", "v"], 20) for j in range(n)}).assign(
        y=rng.choice(["p", "q"], 20)
    )
    base.run("DROP TABLE IF EXISTS wide")
    base.run(f"CREATE TABLE wide ({', '.join(f'{c} TEXT' for c in wide)})")
    base.insert(wide, "wide")
    X = wide.drop(columns="y")
    lazy = AODE().lazy(base.url("wide"), "y")
    np.testing.assert_allclose(lazy.predict_proba(X), AODE().fit(X, wide["y"]).predict_proba(X), atol=1e-9)


def test_kept_while_the_version_holds(base):
    held, more = frame(40), frame(40, 5)
    base.insert(held)
    if base.engine == "postgres":
        with refuses(SettingError, "version"):
            NaiveBayes().lazy(base.url(), NAMES["y"], refresh="version")
        return
    lazy = NaiveBayes().lazy(base.url(), NAMES["y"], refresh="version")
    asked = frame(5, 2).drop(columns=NAMES["y"])
    for _ in range(3):
        lazy.predict_proba(asked)
    assert lazy._lazy.passes == 1
    base.insert(more)
    both = pd.concat([held, more])
    fresh = NaiveBayes().fit(both.drop(columns=NAMES["y"]), both[NAMES["y"]])
    np.testing.assert_allclose(lazy.predict_proba(asked), fresh.predict_proba(asked), atol=1e-9)
    assert lazy._lazy.passes == 2


def test_manual_waits_for_refresh(base):
    held, more = frame(40), frame(40, 5)
    base.insert(held)
    lazy = TAN(numeric="gaussian").lazy(base.url(), NAMES["y"], refresh="manual")
    asked = frame(5, 2).drop(columns=NAMES["y"])
    before = lazy.predict_proba(asked)
    base.insert(more)
    assert np.array_equal(lazy.predict_proba(asked), before)
    assert not np.allclose(lazy.refresh().predict_proba(asked), before)


def test_the_version_of_files_and_of_what_has_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\nu,p\nv,q\n")
    lazy = NaiveBayes().lazy(path, "y", refresh="version")
    before = lazy.predict_proba({"a": ["u"]})
    path.write_text("a,y\nu,p\nv,q\nu,p\nu,p\n")
    assert lazy.predict_proba({"a": ["u"]})[0, 0] > before[0, 0]
    with refuses(SettingError, "version", "DataFrame"):
        NaiveBayes().lazy(pd.DataFrame({"a": ["u"], "y": ["p"]}), "y", refresh="version")
    with refuses(SettingError, "often"):
        NaiveBayes().lazy(path, "y", refresh="often")


def test_weights_are_a_column(base):
    held = frame(40)
    held["w"] = np.arange(40) % 3
    base.run("DROP TABLE IF EXISTS weighed")
    columns = [*(f"{quoted(NAMES[k])} {t}" for k, t in TYPES.items()), "w INTEGER"]
    base.run(f"CREATE TABLE weighed ({', '.join(columns)})")
    base.insert(held, "weighed")
    asked = frame(9, 2).drop(columns=NAMES["y"])
    lazy = NaiveBayes().lazy(base.url("weighed"), NAMES["y"], sample_weight="w")
    fresh = NaiveBayes().fit(held.drop(columns=[NAMES["y"], "w"]), held[NAMES["y"]], held["w"])
    np.testing.assert_allclose(lazy.predict_proba(asked), fresh.predict_proba(asked), atol=1e-9)
    base.run("UPDATE weighed SET w = -1 WHERE w = 2")
    with refuses(WeightError, "w", -1):
        lazy.predict_proba(asked)
    base.run("UPDATE weighed SET w = NULL WHERE w = -1")
    with refuses(WeightError, "w", int((np.arange(40) % 3 == 2).sum())):
        lazy.predict_proba(asked)


def test_what_is_not_there(base):
    base.insert(frame(20))
    asked = frame(3, 2).drop(columns=NAMES["y"])
    with refuses(DataError, "nowhere"):
        NaiveBayes().lazy(base.url("nowhere"), "y").predict(asked)
    with refuses(ColumnError, "klass"):
        NaiveBayes().lazy(base.url(), "klass").predict(asked)
    with refuses(ColumnError, "never"):
        NaiveBayes().lazy(base.url(), NAMES["y"], columns=["never"]).predict(asked)
    lazy = NaiveBayes().lazy(base.url(), NAMES["y"])
    kept = NaiveBayes().lazy(base.url(), NAMES["y"], refresh="manual")
    for model in (lazy, kept):
        model.predict(asked[[NAMES["m"]]].assign(**{c: None for c in asked if c != NAMES["m"]})[list(asked)])
    base.run(f"ALTER TABLE {quoted(TABLE)} DROP COLUMN {quoted(NAMES['sky'])}")
    for model in (lazy, kept):
        with refuses((ColumnError, DataError), NAMES["sky"]):
            model.predict(asked)
    lazy.predict(asked.drop(columns=NAMES["sky"]))  # the model has one column fewer now
    base.run(f"DROP TABLE {quoted(TABLE)}")
    with refuses(DataError, TABLE):
        lazy.predict(asked)


def test_rows_that_cannot_be_counted(base):
    asked = frame(3, 2).drop(columns=NAMES["y"])
    lazy = NaiveBayes().lazy(base.url(), NAMES["y"])
    with refuses(DataError, 0):
        lazy.predict(asked)
    base.insert(frame(20))
    base.run(f"UPDATE {quoted(TABLE)} SET {quoted(NAMES['y'])} = NULL WHERE {quoted(NAMES['wind'])} = 'a'")
    with refuses(DataError, NAMES["y"]):
        lazy.predict(asked)
    if base.engine == "sqlite":
        base.run(f"DELETE FROM {quoted(TABLE)} WHERE {quoted(NAMES['y'])} IS NULL")
        base.run(f"UPDATE {quoted(TABLE)} SET {quoted(NAMES['m'])} = 'many'")
        with refuses(ColumnError, NAMES["m"]):
            lazy.predict(asked)


def test_what_needs_rows_is_refused(base):
    base.insert(frame(20))
    for make in (lambda: NaiveBayes(calibration="temperature"), lambda: TAN(numeric="mdl")):
        with refuses(NeedsRows):
            make().lazy(base.url(), NAMES["y"])
    for make in (lambda: BernoulliNB(), lambda: NaiveBayes(numeric="kernel")):
        with refuses(CannotCount):
            make().lazy(base.url(), NAMES["y"], columns=[NAMES["m"]]).predict(frame(3)[[NAMES["m"]]])
    with refuses(DataTypeError, "target"):
        NaiveBayes().lazy(base.url(), ["a"] * 20).predict(frame(3))
    with refuses(DataTypeError, "sample_weight"):
        NaiveBayes().lazy(base.url(), NAMES["y"], sample_weight=np.ones(20)).predict(frame(3))


def test_a_lazy_model_of_a_database_can_be_copied_and_pickled(base):
    base.insert(frame(30))
    asked = frame(4, 2).drop(columns=NAMES["y"])
    lazy = NaiveBayes().lazy(base.url(), NAMES["y"])
    right = lazy.predict_proba(asked)
    for other in (pickle.loads(pickle.dumps(lazy)), copy.deepcopy(lazy)):
        assert np.array_equal(other.predict_proba(asked), right)
    assert lazy.explain(dict(asked.iloc[0])).prediction == lazy.predict(asked)[0]


def test_a_database_locked_by_another_program(tmp_path):
    shop = Sqlite(tmp_path)
    shop.insert(frame(10))
    lazy = NaiveBayes().lazy(shop.url(), NAMES["y"])
    asked = frame(3, 2).drop(columns=NAMES["y"])
    lazy.predict(asked)
    lazy._lazy.source.data._held.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(shop.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with refuses(DataError, "locked"):
        lazy.predict(asked)
    other.execute("COMMIT")
    other.close()
    lazy.predict(asked)


def test_a_duckdb_that_another_program_writes(tmp_path):
    shop = DuckDB(tmp_path)
    shop.insert(frame(10))
    lazy = NaiveBayes().lazy(shop.url(), NAMES["y"])
    asked = frame(3, 2).drop(columns=NAMES["y"])
    code = f"import duckdb; b = duckdb.connect({str(shop.path)!r}); print('open', flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as other:
        assert other.stdout.readline() == "open\n"
        with refuses(DataError, "lock"):
            lazy.predict(asked)
        other.communicate("\n")
    lazy.predict(asked)
    with duckdb.connect(str(shop.path)):  # open to write in this program: both share it
        lazy.predict(asked)


def test_types_of_columns(tmp_path):
    shop = DuckDB(tmp_path)
    shop.run(
        "CREATE TABLE t AS SELECT (i % 2 = 0) AS flag, i::DECIMAL(9, 2) AS price, DATE '2026-01-01' AS day, "
        "i % 3 AS y, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END::ENUM ('b', 'a', 'never') AS e FROM range(12) r(i)"
    )
    with refuses(ColumnError, "day"):
        NaiveBayes().lazy(shop.url("t"), "y").predict({"flag": [True]})
    lazy = NaiveBayes().lazy(shop.url("t"), "y", exclude=["day"])
    assert lazy.classes_.tolist() == [0, 1, 2]
    schema = lazy.schema_
    assert schema["flag"].states == (False, True) and schema["price"].kind == "numeric"
    assert schema["e"].states == ("b", "a", "never")
    lite = Sqlite(tmp_path / "..")
    lite.path = tmp_path / "untyped.db"
    lite.run("CREATE TABLE t (a, b, y)")
    lite.run("INSERT INTO t VALUES (NULL, 'u', 1), (2.5, 'v', 0), (1, 'u', 1)")
    schema = NaiveBayes().lazy(lite.url("t"), "y").schema_
    assert schema["a"].kind == "numeric" and schema["b"].states == ("u", "v")


def test_urls():
    found = parse_url("postgresql://me:secret@host:5433/shop?schema=s&table=a%20b&sslmode=require")
    assert (found.engine, found.table, found.schema) == ("postgres", "a b", "s")
    assert (
        found.place == "postgresql://me:secret@host:5433/shop?sslmode=require" and "secret" not in found.shown
    )
    found = parse_url("postgresql://me@host/shop?table=t&password=secret&sslpassword=secret")
    assert "password=secret" in found.place and "secret" not in found.shown
    assert parse_url("duckdb:///shop.db?table=t").shown == "duckdb:///shop.db?table=t"
    for wrong in (
        "duckdb:///shop.db",
        "sqlite://shop.db?table=t",
        "duckdb:///?table=t",
        "duckdb:///a?table=t&x=1",
    ):
        with refuses(SettingError):
            parse_url(wrong)
    with refuses(DataError, os.path.join("no", "shop.db")):
        NaiveBayes().lazy("duckdb:///no/shop.db?table=t", "y").predict([["a"]])


def test_psycopg_is_asked_for_where_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with refuses(UsageError, "bayeskit[sql]"):
        NaiveBayes().lazy("postgresql://nobody@127.0.0.1:1/x?table=t", "y").predict([["a"]])


def test_a_query_of_duckdb_is_a_live_table(tmp_path):
    path = tmp_path / "shop.db"
    with duckdb.connect(str(path)) as base:
        base.execute("CREATE TABLE t AS SELECT i % 3 AS a, i % 2 AS y FROM range(60) s(i)")
    url = f"duckdb:///{path}?query=SELECT%20a,%20y%20FROM%20t%20WHERE%20a%20%3C%202;"
    model = NaiveBayes(categorical_features=["a"]).lazy(url, "y")
    assert model.predict_proba({"a": [0]}).sum() == pytest.approx(1.0)
    assert model.schema_["a"].states == (0, 1)
    # After three slashes, a path from the root is found, too, if it is none from here.
    assert parse_url(f"duckdb://{path}?table=t").place == str(path)
