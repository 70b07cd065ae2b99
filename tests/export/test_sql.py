"""SQL answers as Python does: in DuckDB, SQLite and PostgreSQL, on rows with holes and unseen values."""

import sqlite3
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest

from bayeskit import AODE, KDB, TAN, CountForest, NaiveBayes
from bayeskit.errors import NotSupported, SettingError, UsageError
from exported_models import JOINED, MODELS, PLAIN, case, plain_posteriors
from postgres_server import running
from refusals import refuses

pytest.importorskip("sqlglot", reason='to_sql needs sqlglot: pip install "bayeskit[sql]"')

# What stands for all in the long form: each kind of score, and each way of sums.
LONG = (
    "nb-state-smooth",
    "nb-isotonic",
    "gaussian",
    "tan",
    "tan-gaussian",
    "aode",
    "a2de",
    "kdb",
    "kdb-wide",
)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def parts(sql):
    return ((), sql) if isinstance(sql, str) else (sql.tables, sql.select)


def in_duckdb(sql, X, table="t"):
    with duckdb.connect() as base:
        base.register("rows", X)
        base.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM rows")
        tables, select = parts(sql)
        for statement in tables:
            base.execute(statement)
        return base.execute(select).df()


def in_sqlite(sql, X, table="t"):
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, X.columns))})")
    rows = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    base.executemany(f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * X.shape[1])})", rows)
    tables, select = parts(sql)
    for statement in tables:
        base.execute(statement)
    found = base.execute(select)
    return pd.DataFrame(found.fetchall(), columns=[column[0] for column in found.description])


ENGINES = {"duckdb": in_duckdb, "sqlite": in_sqlite}


def check(found, classes, posterior, prediction, key="the id"):
    found = found.sort_values(key)
    names = [f"p_{label}" for label in classes]
    assert list(found.columns) == [key, "prediction", *names]
    np.testing.assert_allclose(found[names].to_numpy(float), posterior, rtol=0, atol=1e-9)
    top = np.sort(posterior, axis=1)
    clear = (top[:, -1] - top[:, -2] > 1e-9) if posterior.shape[1] > 1 else np.ones(len(top), bool)
    assert (found["prediction"].to_numpy()[clear] == prediction[clear]).all()


def compare(name, engine, n):
    model, X, posterior, prediction = case(name, n)
    sql = model.to_sql(engine, "t", "the id")
    found = ENGINES[engine](sql, X.assign(**{"the id": np.arange(n)}))
    check(found, model.classes_, posterior, prediction)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
def test_sql_answers_as_python_does(name, engine):
    compare(name, engine, 1_000)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", LONG)
def test_sql_answers_as_python_does_on_many_rows(name, engine):
    compare(name, engine, 100_000)


@pytest.fixture(scope="module")
def server():
    with running() as started:
        yield started


def compare_postgres(server, name, n):
    model, X, posterior, prediction = case(name, n)
    server.put(X.assign(**{"the id": np.arange(n)}))
    found = server.answers(*parts(model.to_sql("postgres", "t", "the id")))
    if prediction.dtype == bool:
        found["prediction"] = found["prediction"] == "t"
    check(found, model.classes_, posterior, prediction)


@pytest.mark.postgres
@pytest.mark.parametrize("name", MODELS)
def test_postgresql_answers_as_python_does(server, name):
    compare_postgres(server, name, 1_000)


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", LONG)
def test_postgresql_answers_as_python_does_on_many_rows(server, name):
    compare_postgres(server, name, 100_000)


@pytest.mark.parametrize("name", ["nb", "tan", "spode", "categorical", "bernoulli"])
def test_one_select_is_enough_for_trees(name):
    assert name in PLAIN and isinstance(case(name, 1_000)[0].to_sql(), str)


@pytest.mark.parametrize("name", JOINED)
def test_averages_and_several_parents_are_a_script(name):
    script = case(name, 1_000)[0].to_sql()
    assert all(statement.split()[0] in ("DROP", "CREATE", "INSERT") for statement in script.tables)
    assert script.select.startswith("WITH") and str(script).count(";\n") == len(script.tables) + 1


def small(labels, **options):
    X = pd.DataFrame({"sky": ["red", "blue", "red", "grey"], "n": [1.0, 2.0, 4.0, 3.0]})
    return NaiveBayes(**options).fit(X, labels), X


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "labels",
    [[1, 0, 1, 0], [1.0, -2.0, 1.0, -2.0], [True, False, True, False], ["a'b", '"', "a'b", '"'], ["one"] * 4],
    ids=["whole", "floats", "truth", "quotes", "one class"],
)
def test_classes_of_any_kind(labels, engine):
    model, X = small(labels)
    found = ENGINES[engine](model.to_sql(engine, "t", "the id"), X.assign(**{"the id": range(4)}))
    if isinstance(labels[0], bool):
        found["prediction"] = found["prediction"].astype(bool)
    check(found, model.classes_, model.predict_proba(X), model.predict(X))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cls", [NaiveBayes, AODE])
def test_states_that_are_numbers_and_truth_values(cls, engine):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"whole": rng.integers(-2, 3, 200), "yes": rng.random(200) < 0.5})
    y = (X["whole"] > 0) ^ X["yes"]
    model = cls(categorical_features="all").fit(X, y)
    new = pd.DataFrame({"whole": rng.integers(-3, 4, 99), "yes": rng.random(99) < 0.5})
    found = ENGINES[engine](model.to_sql(engine, "t", "the id"), new.assign(**{"the id": range(99)}))
    found["prediction"] = found["prediction"].astype(bool)
    check(found, model.classes_, *plain_posteriors(model, new))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["nb", "aode", "kdb"])
def test_a_key_of_several_columns_and_a_strange_table(name, engine):
    model, X, posterior, _ = case(name, 1_000)
    # Keys need not be unique; without ORDER BY, rows come as the database reads them.
    keyed = X.assign(**{"order": np.arange(1_000) % 7, 'a "b"': "same"})
    found = ENGINES[engine](model.to_sql(engine, 'sel"ect', ["order", 'a "b"']), keyed, 'sel"ect')
    assert list(found.columns[:3]) == ["order", 'a "b"', "prediction"] and len(found) == 1_000
    kept = found.sort_values("order", kind="stable").filter(regex="^p_").to_numpy(float)
    expected = posterior[np.argsort(np.arange(1_000) % 7, kind="stable")]
    np.testing.assert_allclose(kept, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["nb", "tan", "aode", "kdb"])
def test_without_a_key_rows_keep_their_order(name):
    model, X, posterior, _ = case(name, 1_000)
    found = in_duckdb(model.to_sql(), X)
    assert list(found.columns) == ["prediction", *(f"p_{label}" for label in model.classes_)]
    np.testing.assert_allclose(found.filter(regex="^p_").to_numpy(float), posterior, rtol=0, atol=1e-9)


def test_a_table_in_a_schema():
    model, X = small([0, 1, 0, 1])
    with duckdb.connect() as base:
        base.register("rows", X)
        base.execute('CREATE SCHEMA "my schema"; CREATE TABLE "my schema".t AS SELECT * FROM rows')
        assert len(base.execute(model.to_sql(table=["my schema", "t"])).fetchall()) == 4


def test_a_name_that_the_result_has_already_is_no_key():
    model, _ = small(["a", "b", "a", "b"])
    for key in ("prediction", "p_a", ["n", "n"]):
        with refuses(SettingError, key if isinstance(key, str) else "n"):
            model.to_sql(key=key)


@pytest.mark.parametrize(
    ("setting", "value"), [("dialect", "dbase"), ("dialect", 3), ("table", 7), ("table", ""), ("key", 1)]
)
def test_settings_that_mean_nothing_are_refused(setting, value):
    with pytest.raises(SettingError, match=f"{setting}.*{value}"):
        small([0, 1, 0, 1])[0].to_sql(**{setting: value})


def test_what_sql_cannot_do_is_refused():
    X = pd.DataFrame({"sky": ["red", "blue"] * 10, "n": np.arange(20.0)})
    y = [0, 1] * 10
    with pytest.raises(NotSupported, match="unseen"):
        NaiveBayes(unseen="error").fit(X, y).to_sql()
    with pytest.raises(NotSupported, match="'kernel'"):
        NaiveBayes(numeric="kernel").fit(X, y).to_sql()
    with pytest.raises(NotSupported, match="'negative-binomial'"):
        NaiveBayes(numeric="negative-binomial").fit(X, y).to_sql()
    with pytest.raises(NotSupported, match="subsumption"):
        AODE(subsumption=10).fit(X, y).to_sql()
    with pytest.raises(NotSupported, match="CountForest"):
        CountForest().fit(X, y).to_sql()
    mixed = pd.DataFrame({"any": pd.Series([1, "a"] * 10, dtype=object)})
    with pytest.raises(NotSupported, match=r"any.*'a'.*str"):
        NaiveBayes().fit(mixed, y).to_sql()


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with refuses(UsageError, "sqlglot", '"bayeskit[sql]"'):
        small([0, 1, 0, 1])[0].to_sql()


@pytest.mark.parametrize("engine", ENGINES)
def test_many_columns_stay_within_the_depth_of_expressions(engine):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (60, 1_200)).astype(str), columns=[f"c{j}" for j in range(1_200)])
    model = NaiveBayes().fit(X, rng.integers(0, 2, 60))
    found = ENGINES[engine](model.to_sql(engine, "t", "the id"), X.assign(**{"the id": range(60)}))
    check(found, model.classes_, model.predict_proba(X), model.predict(X))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cls", [TAN, KDB])
def test_a_long_chain_of_attributes(cls, engine):
    rng = np.random.default_rng(0)
    codes = np.zeros((400, 40), int)
    for j in range(1, 40):
        codes[:, j] = np.where(rng.random(400) < 0.8, codes[:, j - 1], rng.integers(0, 3, 400))
    X = pd.DataFrame(codes.astype(str), columns=[f"c{j}" for j in range(40)])
    model = cls().fit(X, rng.integers(0, 2, 400))
    new = X.astype(object).mask(rng.random(X.shape) < 0.1, None)
    found = ENGINES[engine](model.to_sql(engine, "t", "the id"), new.assign(**{"the id": range(400)}))
    check(found, model.classes_, *plain_posteriors(model, new))


def test_more_columns_than_the_database_has_are_refused():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (21, 2_600)).astype(str)).rename(columns=str)
    with pytest.raises(NotSupported, match=r"2[56]\d\d.*sqlite.*2000"):
        NaiveBayes().fit(X, np.arange(21) % 2).to_sql("sqlite")


def test_nan_is_missing_and_infinity_is_held():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    model = NaiveBayes().fit(X, rng.integers(0, 2, 50))
    with duckdb.connect() as base:
        base.execute("CREATE TABLE t AS SELECT CAST('NaN' AS DOUBLE) AS x, 1.0 AS y")
        base.execute("INSERT INTO t VALUES (CAST('Infinity' AS DOUBLE), NULL)")
        found = base.execute(model.to_sql()).df().filter(regex="^p_").to_numpy(float)
    expected = model.predict_proba(pd.DataFrame({"x": [np.nan, 1e100], "y": [1.0, np.nan]}))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dialect", ["mysql", "snowflake", "bigquery", "spark"])
def test_other_dialects_are_sql_that_parses(dialect):
    import sqlglot

    for name in ("nb", "tan"):
        assert sqlglot.parse_one(case(name, 1_000)[0].to_sql(dialect), dialect=dialect) is not None
