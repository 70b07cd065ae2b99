"""The transformer: what goes in comes out, cut, in the container it came in."""

from __future__ import annotations

import inspect
import pickle
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from bayeskit import Batches, CategoricalNB, Discretizer, NaiveBayes
from bayeskit._fitting import choose_cuts
from bayeskit.errors import ColumnError, DataError, InfiniteValue, SettingError
from refusals import refuses

METHODS = ("mdl", "frequency", "width", "proportional")
y = ["a"] * 4 + ["b"] * 4


def frame():
    return pd.DataFrame(
        {
            "size": [1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, np.nan],
            "colour": list("rgrgrgrg"),
            "count": [1, 2, 1, 2, 9, 8, 9, 8],
            "when": pd.date_range("2020", periods=8),
        },
        index=list("ijklmnop"),
    )


def plain():
    return frame().reset_index(drop=True)


FRAMES = [frame, lambda: pl.from_pandas(plain()), lambda: pa.Table.from_pandas(plain())]
SIZES, COUNTS = [0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1]


def column(table, name):
    return table[name].to_pylist() if isinstance(table, pa.Table) else table[name].to_list()


@pytest.mark.parametrize("method", METHODS)
def test_scikit_learn_checks(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        if "on_fail" not in inspect.signature(check_estimator).parameters:
            check_estimator(Discretizer(method))  # raises at the first failure
            return
        results = check_estimator(Discretizer(method), on_fail=None)
    assert not [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert sum(r["status"] == "passed" for r in results) > 40


@pytest.mark.parametrize("make", FRAMES)
def test_a_frame_gives_a_frame_of_its_library(make):
    given = make()
    cutter = Discretizer().fit(given, y)
    assert cutter.columns_ == ("size", "count")
    assert {name: cuts.tolist() for name, cuts in cutter.cut_points_.items()} == {
        "size": [5.0],
        "count": [5.0],
    }
    found = cutter.transform(given)
    assert type(found) is type(given)
    assert column(found, "size")[:7] == SIZES and np.isnan(column(found, "size")[7])
    assert column(found, "count") == COUNTS and type(column(found, "count")[0]) is int
    assert column(found, "colour") == column(given, "colour") and column(found, "when") == column(
        given, "when"
    )
    if isinstance(given, pd.DataFrame):
        assert (
            found.index.tolist() == given.index.tolist() and found.columns.tolist() == given.columns.tolist()
        )


@pytest.mark.parametrize("make", FRAMES)
def test_intervals_by_name(make):
    given = make()
    found = Discretizer(output="intervals").fit(given, y).transform(given)
    names = ["(-inf, 5]", "(5, inf)"]
    assert column(found, "count") == [names[c] for c in COUNTS]
    assert column(found, "size")[:7] == [names[c] for c in SIZES] and pd.isna(column(found, "size")[7])
    if isinstance(given, pd.DataFrame):
        assert found["size"].cat.ordered and found["size"].cat.categories.tolist() == names
    if isinstance(given, pl.DataFrame):
        assert found.schema["size"] == pl.Enum(names)


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("output", ["codes", "intervals"])
def test_set_output(make, output):
    given = make()
    for library, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        found = Discretizer(output=output).set_output(transform=library).fit_transform(given, y)
        assert type(found) is kind
        assert list(found.columns) == ["size", "colour", "count", "when"]
        assert column(found, "colour") == list("rgrgrgrg")
    cutter = Discretizer().set_output(transform="pandas").fit([[0.0], [1.0]], [0, 1])
    assert cutter.transform([[0.5], [0.6]])["x0"].tolist() == [0, 1]
    assert Discretizer().fit(given, y).get_feature_names_out().tolist() == ["size", "colour", "count", "when"]


@given(
    st.lists(st.floats(-9, 9).map(lambda v: round(v, 1)), min_size=2, max_size=40),
    st.sampled_from(METHODS),
    st.integers(1, 6),
)
def test_codes_count_the_cuts_below(values, method, n_bins):
    X = np.array(values)[:, None]
    cutter = Discretizer(method, n_bins=n_bins)
    codes = cutter.fit_transform(X, np.arange(len(X)) % 3)
    cuts = cutter.cut_points_["x0"]
    assert codes.dtype == np.int64
    assert codes[:, 0].tolist() == [int(sum(cut < v for cut in cuts)) for v in values]
    assert codes[:, 0].tolist() == np.searchsorted(cuts, X[:, 0]).tolist()
    if method in ("frequency", "width"):
        assert len(cuts) < n_bins
    if method != "width":
        assert len(np.unique(codes)) == len(cuts) + 1  # no interval is empty


def test_arrays_keep_whole_numbers_unless_something_is_missing():
    X = np.array([[1.0, 5.0], [2.0, 6.0], [8.0, 7.0], [9.0, 8.0]])
    cutter = Discretizer("width", n_bins=2).fit(X)
    assert cutter.transform(X).dtype == np.int64
    X[0, 0] = np.nan
    found = cutter.transform(X)
    assert found.dtype == np.float64 and np.isnan(found[0, 0]) and found[1:, 0].tolist() == [0, 1, 1]
    assert cutter.transform([[-np.inf, np.inf]]).tolist() == [[0, 1]]
    mixed = Discretizer(output="intervals").fit([["u", 1.0], ["v", 2.0]], [0, 1])
    assert mixed.transform([["u", None], ["w", 3]]).tolist() == [["u", None], ["w", "(1.5, inf)"]]


def test_float32_is_cut_as_what_it_is():
    X = np.array([[0.1], [0.2], [0.7], [0.8]], dtype=np.float32)
    cutter = Discretizer().fit(X, [0, 0, 1, 1])
    assert cutter.cut_points_["x0"][0] == (float(X[1, 0]) + float(X[2, 0])) / 2
    assert cutter.transform(X)[:, 0].tolist() == [0, 0, 1, 1]


def test_weights_count_rows():
    X, labels, weights = np.arange(6.0)[:, None], [0, 0, 1, 0, 1, 1], [3, 0, 2, 0, 1, 4]
    for method in METHODS:
        weighted = Discretizer(method).fit(X, labels, sample_weight=weights).cut_points_["x0"]
        repeated = Discretizer(method).fit(np.repeat(X, weights, axis=0), np.repeat(labels, weights))
        assert weighted.tolist() == repeated.cut_points_["x0"].tolist()


def test_only_the_columns_asked_for():
    cutter = Discretizer(columns=["size"]).fit(frame(), y)
    assert cutter.columns_ == ("size",)
    assert cutter.transform(frame())["count"].tolist() == frame()["count"].tolist()
    X = np.array([[1.0, 5.5], [2.0, 6.5], [3.0, 7.5]])
    assert Discretizer("width", columns=[0]).fit_transform(X)[:, 1].tolist() == [5.5, 6.5, 7.5]
    for wrong in (["colours"], [7]):
        with refuses(ColumnError, "columns", wrong[0], "x0", "x1"):
            Discretizer("width", columns=wrong).fit(X)


def test_columns_are_found_by_name():
    cutter = Discretizer().fit(frame(), y)
    turned = cutter.transform(frame()[["when", "count", "colour", "size"]])
    pd.testing.assert_frame_equal(turned, cutter.transform(frame()))
    with refuses(ColumnError, "size"):
        cutter.transform(frame().drop(columns="size"))
    cutter.fit([[1.0], [2.0]], [0, 1])
    assert not hasattr(cutter, "feature_names_in_") and cutter.n_features_in_ == 1
    with refuses(ColumnError, "Discretizer", 2, 1):
        cutter.transform([[1.0, 2.0]])


def test_all_missing_and_constant_columns_have_one_interval():
    X = np.array([[np.nan, 3.0], [np.nan, 3.0], [np.nan, 3.0]])
    for method in METHODS:
        cutter = Discretizer(method).fit(X, [0, 1, 0])
        assert [len(cuts) for cuts in cutter.cut_points_.values()] == [0, 0]
        assert cutter.transform([[1.0, 9.0]]).tolist() == [[0, 0]]


def test_a_classifier_that_counts_takes_the_codes():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 400)
    X = np.column_stack([rng.normal(size=400) ** 2 * (1 + 9 * labels), rng.normal(size=400)])
    counting = make_pipeline(Discretizer(), CategoricalNB()).fit(X[:200], labels[:200])
    named = make_pipeline(Discretizer(output="intervals"), NaiveBayes()).fit(X[:200], labels[:200])
    assert counting.score(X[200:], labels[200:]) > 0.7
    assert named.score(X[200:], labels[200:]) > 0.7


def test_copies():
    cutter = Discretizer("frequency", n_bins=3).fit(frame())
    pd.testing.assert_frame_equal(
        pickle.loads(pickle.dumps(cutter)).transform(frame()), cutter.transform(frame())
    )
    with pytest.raises(NotFittedError):
        clone(cutter).transform(frame())


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: Discretizer().fit([[1.0]]), DataError, ["Discretizer", 'method="frequency"']),
        (lambda: Discretizer().fit([[1.0], [2.0]], [0]), DataError, [2, 1]),
        (lambda: Discretizer("entropy").fit([[1.0]]), SettingError, ["entropy"]),
        (lambda: Discretizer("width", n_bins=0).fit([[1.0]]), SettingError, ["n_bins", 0]),
        (lambda: Discretizer("width", output="names").fit([[1.0]]), SettingError, ["names"]),
        (lambda: Discretizer("width").fit({"a": [1.0, np.inf]}), InfiniteValue, ["a", 1]),
        (lambda: Discretizer("width").fit({"a": [1.0]}).transform({"a": ["x"]}), ColumnError, ["a"]),
    ],
)
def test_what_is_refused(call, error, said):
    with refuses(error, *said):
        call()


# -- sources that are not in memory ----------------------------------------------------------------


def table_of(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {"x": rng.normal(size=n) + 2 * y, "k": rng.integers(0, 9, n), "a": rng.choice(["u", "v"], n)}
    )
    frame.loc[::7, "x"] = np.nan
    return frame.assign(w=rng.integers(0, 3, n), y=np.where(y, "yes", "no"))


def in_two_files(frame, folder):
    frame[:250].to_csv(folder / "p0.csv", index=False)
    frame[250:].to_csv(folder / "p1.csv", index=False)
    return str(folder / "p*.csv")


def on_dask(frame, folder):
    return pytest.importorskip("dask.dataframe", reason="pip install 'bayeskit[dask]'").from_pandas(
        frame, npartitions=3
    )


SOURCES = {
    "files": in_two_files,
    "batches": lambda frame, folder: Batches(lambda: [frame[:9], frame[9:]]),
    "lazy frame": lambda frame, folder: pytest.importorskip("polars").from_pandas(frame).lazy(),
    "relation": lambda frame, folder: duckdb.from_df(frame),
    "dask": on_dask,
}
every_source = pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)


@every_source
@pytest.mark.parametrize(
    ("method", "weights"), [("mdl", "w"), ("frequency", None), ("width", "w"), ("proportional", None)]
)
def test_cut_points_of_any_source_are_those_of_its_rows(make, method, weights, tmp_path):
    frame = table_of() if weights else table_of().drop(columns="w")
    found = Discretizer(method).fit(make(frame, tmp_path), sample_weight=weights, target="y")
    plain = frame.drop(columns=["y", "w"], errors="ignore")
    wanted = Discretizer(method).fit(plain, frame["y"], None if weights is None else frame["w"])
    assert found.columns_ == wanted.columns_ == ("x", "k") and found.chosen_from_ is None
    for name, cuts in wanted.cut_points_.items():
        np.testing.assert_allclose(found.cut_points_[name], cuts, rtol=1e-12)
    parts = list(found.transform(make(frame, tmp_path)))
    codes = np.concatenate([np.asarray(part["x"], dtype=float) for part in parts])
    np.testing.assert_array_equal(codes, wanted.transform(plain)["x"].to_numpy())


def test_a_sample_is_noted_and_the_range_is_that_of_all_rows(monkeypatch):
    # Every second row is kept when there are more than a hundred.
    monkeypatch.setattr(choose_cuts, "MOST_ROWS", 100)
    x = np.r_[np.arange(400.0), 1e6, 3.0]
    batches = Batches(lambda: [{"x": part} for part in np.array_split(x, 5)])
    cutter = Discretizer("width", n_bins=2).fit(batches)
    assert cutter.cut_points_["x"].tolist() == [5e5]
    assert cutter.chosen_from_ == {"rows": 51, "of": 402}
    assert abs(len(Discretizer("proportional").fit(batches).cut_points_["x"]) - 19) <= 1


def test_batches_keep_their_labels():
    batches = Batches(
        lambda: [([[1.0], [2.0], [4.0]], ["a", "a", "b"]), ([[3.0], [5.0], [6.0]], ["a", "b", "b"])]
    )
    cutter = Discretizer().fit(batches)
    assert cutter.cut_points_["x0"].tolist() == [3.5]
    assert [(X.tolist(), y) for X, y in cutter.transform(batches)] == [
        ([[0], [0], [1]], ["a", "a", "b"]),
        ([[0], [1], [1]], ["a", "b", "b"]),
    ]


@pytest.mark.parametrize(
    ("make", "error", "names"),
    [
        (lambda folder: Batches(list), DataError, [0]),
        (lambda folder: Batches(lambda: [{"x": [1.0, np.inf]}]), InfiniteValue, ["x"]),
        (lambda folder: str(folder / "none.csv"), DataError, ["none.csv"]),
    ],
    ids=["no batch", "infinity", "no file"],
)
@pytest.mark.parametrize("method", ["frequency", "width"])
def test_sources_that_cannot_be_cut(make, error, names, method, tmp_path):
    with refuses(error, *names):
        Discretizer(method).fit(make(tmp_path))


def test_the_class_of_a_file_must_be_named(tmp_path):
    path = in_two_files(table_of(), tmp_path)
    with refuses(DataError, "target="):
        Discretizer().fit(path)
    with refuses(ColumnError, "z"):
        Discretizer().fit(path, target="z")
