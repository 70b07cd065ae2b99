"""Sources of rows: memory, batches, files; target, weights and columns parted from the attributes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayeskit import AODE, KDB, TAN, Batches, NaiveBayes, learn_network
from bayeskit._data.source import Source
from bayeskit.errors import (
    ColumnError,
    DataError,
    DataTypeError,
    InfiniteValue,
    OneShotSource,
    WeightError,
)
from refusals import refuses

COLUMNS = {"a": ["p", "q", "p"], "b": [1.5, 2.0, 3.0], "w": [1, 2, 3], "y": ["u", "v", "u"]}


def csv_at(folder):
    path = folder / "rows.csv"
    path.write_text(
        "a,b,w,y\n" + "".join(f"{a},{b},{w},{y}\n" for a, b, w, y in zip(*COLUMNS.values(), strict=True))
    )
    return path


def read(source):
    """All rows of a source as (names, cells by column, labels, weights)."""
    names, cells, labels, weights = None, {}, [], []
    for rows in source:
        table = rows.table
        assert names in (None, table.names)
        names = table.names
        for j, name in enumerate(names):
            coded = table.factorize(j)
            cells.setdefault(name, []).extend(coded.labels[code] for code in np.asarray(coded.codes).tolist())
        labels += [] if rows.y is None else list(np.asarray(rows.y).tolist())
        weights += [] if rows.weights is None else np.asarray(rows.weights).tolist()
    return names, cells, labels, weights


KINDS = {
    "mapping": lambda folder: COLUMNS,
    "pandas": lambda folder: pd.DataFrame(COLUMNS),
    "polars": lambda folder: pl.DataFrame(COLUMNS),
    "batches": lambda folder: Batches(lambda: (pd.DataFrame(COLUMNS)[i : i + 1] for i in range(3))),
    "iterator": lambda folder: (pd.DataFrame(COLUMNS)[i : i + 2] for i in (0, 2)),
    "path": csv_at,
    "str": lambda folder: str(csv_at(folder)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({}, ("a", "b", "w")),
        ({"weights": "w"}, ("a", "b")),
        ({"columns": ["b", "a"]}, ("b", "a")),
        ({"columns": ["b"], "weights": "w"}, ("b",)),
        ({"exclude": ["b"]}, ("a", "w")),
        ({"exclude": ["b"], "weights": "w"}, ("a",)),
        ({"columns": ["a", "b"], "exclude": ["a"]}, ("b",)),
    ],
    ids=str,
)
def test_columns_by_name_from_every_source(kind, more, names, tmp_path):
    got, cells, labels, weights = read(Source(KINDS[kind](tmp_path), target="y", **more))
    assert got == names
    assert cells == {name: COLUMNS[name] for name in names}
    assert labels == COLUMNS["y"]
    assert weights == ([1, 2, 3] if "weights" in more else [])


def test_labels_and_weights_beside_the_rows():
    rows = [["p", 1.5], ["q", 2.0]]
    got = read(Source(rows, ["u", "v"], [1.0, 2.0]))
    assert got == (("x0", "x1"), {"x0": ["p", "q"], "x1": [1.5, 2]}, ["u", "v"], [1.0, 2.0])
    batches = Batches(lambda: iter([(rows[:1], ["u"], [1.0]), (rows[1:], ["v"], [2.0])]))
    assert read(Source(batches)) == got
    assert read(Source(batches)) == got


def test_the_target_of_an_array_by_its_name():
    names, cells, labels, _ = read(Source(np.array([[1, 0], [2, 1]]), target="x1"))
    assert (names, cells, labels) == (("x0",), {"x0": [1, 2]}, [0, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_which_sources_can_be_read_again(kind, tmp_path):
    source = Source(KINDS[kind](tmp_path), target="y")
    assert source.one_shot is (kind == "iterator")
    assert source.in_memory is (kind in ("mapping", "pandas", "polars"))
    if kind == "iterator":
        with refuses(OneShotSource, "generator", "Batches"):
            source.need_many_passes("It")
    else:
        source.need_many_passes("It")
        assert read(source) == read(source)


@pytest.mark.parametrize(
    ("source", "error", "says"),
    [
        (
            lambda: Source(COLUMNS, target="z"),
            ColumnError,
            ["target", "z", "a", "b", "w", "y"],
        ),
        (lambda: Source(COLUMNS, weights="z", target="y"), ColumnError, ["sample_weight", "z"]),
        (lambda: Source(COLUMNS, target="y", columns=["q"]), ColumnError, ["columns", "q"]),
        (lambda: Source(COLUMNS, target="y", exclude=["q"]), ColumnError, ["columns", "q"]),
        (lambda: Source(COLUMNS, target="y", columns=["y"]), ColumnError, ["columns=", "exclude="]),
        (lambda: Source(COLUMNS, ["u"] * 3, target="y"), DataTypeError, ["y", "target="]),
        (lambda: Source(iter([]), ["u"]), DataTypeError, ["(X, y)"]),
        (lambda: Source(iter([[[1.0]]])), DataTypeError, ["list", "(X, y)"]),
        (lambda: Source("no/such/file.csv", target="y"), (DataError, OSError), ["no/such/file.csv"]),
        (lambda: Source(iter([([[1.0]], ["u"])]), target="x0"), DataTypeError, ["y", "target="]),
    ],
)
def test_what_cannot_be_read(source, error, says):
    with refuses(error, *says):
        list(source())


def test_a_file_must_say_its_class(tmp_path):
    with refuses(DataError, "rows.csv", 'target="..."'):
        list(Source(csv_at(tmp_path)))


def test_a_file_without_the_column_named(tmp_path):
    for more in ({"target": "z"}, {"target": "y", "columns": ["q"]}, {"target": "y", "exclude": ["q"]}):
        with refuses(ColumnError, "q" if "q" in str(more) else "z", "a", "b", "w"):
            list(Source(csv_at(tmp_path), **more))


def test_batches_open_their_source_for_every_pass():
    opened = []

    def make():
        opened.append(1)
        return iter([([[1.0]], ["u"])])

    source = Source(Batches(make))
    assert not opened
    assert read(source) == read(source)
    assert len(opened) == 2
    with refuses(DataTypeError, "Batches", "list"):
        Batches([1, 2])


# -- weights are judged over the whole source ----------------------------------------------------


def weighed_batches(idle):
    """Rows in four batches, of which those in ``idle`` weigh nothing; and the rows that weigh something, alone."""
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 80)
    frame = pd.DataFrame(
        {"s": rng.choice(list("pq"), 80), "x": rng.normal(np.where(y == "a", 0.0, 2.0), 1.0)}
    )
    w = rng.integers(1, 4, 80).astype(float)
    for k in idle:
        w[20 * k : 20 * k + 20] = 0.0
    parts = [slice(a, a + 20) for a in range(0, 80, 20)]
    return Batches(lambda: [(frame[p], y[p], w[p]) for p in parts]), (frame[w > 0], y[w > 0], w[w > 0])


@pytest.mark.parametrize("idle", [(0,), (2,), (3,), (0, 1, 3)])
@pytest.mark.parametrize(
    "make",
    [
        NaiveBayes,
        lambda: NaiveBayes(families="auto"),
        TAN,
        KDB,
        AODE,
        lambda: TAN(calibration="temperature"),
    ],
)
def test_a_batch_without_weight_is_absent(make, idle):
    source, rest = weighed_batches(idle)
    found, wanted = make().fit(source), make().fit(*rest)
    np.testing.assert_allclose(found.predict_proba(rest[0]), wanted.predict_proba(rest[0]), rtol=1e-10)


@pytest.mark.parametrize("idle", [(0,), (2,), (0, 1, 3)])
@pytest.mark.parametrize("make", [NaiveBayes, TAN, AODE])
def test_a_batch_without_weight_is_absent_to_lazy_models_too(make, idle):
    source, rest = weighed_batches(idle)
    named = Batches(lambda: [x.assign(y=y, w=w) for x, y, w in source])
    found = make().lazy(named, "y", sample_weight="w")
    np.testing.assert_allclose(
        found.predict_proba(rest[0]), make().fit(*rest).predict_proba(rest[0]), rtol=1e-10
    )


def test_a_source_without_weight_is_refused():
    source, _ = weighed_batches((0, 1, 2, 3))
    for learn in (NaiveBayes().fit, NaiveBayes().partial_fit, KDB().fit, TAN().fit):
        with pytest.raises(WeightError):
            learn(source)
    model = NaiveBayes().fit(*weighed_batches(())[1])
    for learn in (model.forget, model.partial_fit):
        with pytest.raises(WeightError):
            learn(source)
    with pytest.raises(WeightError):
        NaiveBayes().fit([["a"], ["b"]], ["u", "v"], [0.0, 0.0])


def test_weights_too_far_from_one_are_judged_together():
    """A batch may weigh next to nothing beside the others; all of them together may not."""
    rows, y = [["a"], ["b"]], ["u", "v"]
    tiny = Batches(lambda: [(rows, y, [1e-150, 1e-150]), (rows, y, [1.0, 2.0])])
    assert NaiveBayes().fit(tiny).statistics_.total == 3.0
    with pytest.raises(WeightError, match="1e-150"):
        NaiveBayes().fit(Batches(lambda: [(rows, y, [1e-150, 0.0]), (rows, y, [0.0, 0.0])]))


def test_weights_that_are_text_are_refused_as_weights(tmp_path):
    frame = pd.DataFrame({"s": ["p", "q"], "y": ["u", "v"], "w": ["1", "many"]})
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    for data in (frame, pl.from_pandas(frame), Batches(lambda: [frame]), path):
        with pytest.raises(WeightError, match="'w'"):
            NaiveBayes().fit(data, target="y", sample_weight="w")
        with pytest.raises(WeightError, match="'w'"):
            learn_network(data, sample_weight="w")


@pytest.mark.parametrize(
    ("cells", "error"),
    [(["p", np.inf, "u"], InfiniteValue), (["p", 1.5, None], DataError), (["p", -1.0, "u"], DataError)],
)
def test_rows_are_numbered_over_all_batches(cells, error):
    def batches():
        for last in (["q", 2.0, "v"], ["q", 2.0, "v"], cells):
            yield pd.DataFrame([["p", 1.0, "u"], ["q", 2.0, "v"], last], columns=["a", "b", "y"])

    model = NaiveBayes(families={"b": "poisson"})
    with refuses(error, "row 8"):
        model.fit(Batches(batches), target="y").leave_one_out(Batches(batches), target="y")
