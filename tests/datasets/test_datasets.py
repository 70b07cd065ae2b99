"""The bundled tables: shapes, types, famous counts, and the doors to them."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from bayeskit import datasets
from bayeskit.datasets._dataset import REGISTRY, as_array
from bayeskit.errors import DataError, UsageError
from refusals import refuses
from work import steps

# name: rows, numeric and categorical attributes, how often each class occurs
SHAPES = {
    "melon8": (8, 1, 2, {"是": 4, "否": 4}),
    "melon2": (17, 0, 6, {"是": 8, "否": 9}),
    "melon2-missing": (17, 0, 6, {"是": 8, "否": 9}),
    "melon3": (17, 2, 6, {"是": 8, "否": 9}),
    "lihang": (15, 1, 1, {1: 9, -1: 6}),
    "iris": (150, 4, 0, {"Iris-setosa": 50, "Iris-versicolor": 50, "Iris-virginica": 50}),
    "height-weight": (114, 2, 0, {0: 57, 1: 57}),
    "mushroom": (8124, 0, 22, {"e": 4208, "p": 3916}),
    "adult": (48842, 6, 8, {"<=50K": 37155, ">50K": 11687}),
    "credit": (690, 6, 9, {"+": 307, "-": 383}),
    "sms": (5574, 0, 1, {"ham": 4827, "spam": 747}),
    "docstrings": (1320, 0, 1, dict.fromkeys(("NumPy", "SciPy", "pandas", "scikit-learn"), 330)),
}


def test_every_table_is_listed_once():
    assert set(datasets.dataset_names()) == set(SHAPES) == set(REGISTRY)


@pytest.mark.parametrize("name", SHAPES)
def test_shape_types_and_classes(name):
    rows, numeric, categorical, classes = SHAPES[name]
    data = datasets.load_dataset(name)
    assert len(data) == len(data.index) == rows
    assert {len(column) for column in data.columns.values()} == {rows}
    kinds = Counter(data.columns[attribute].dtype.kind for attribute in data.attributes)
    assert kinds["i"] + kinds["f"] == numeric
    assert kinds["O"] == categorical == len(data.attributes) - numeric
    assert Counter(data.y.tolist()) == classes
    assert data.y is data.columns[data.target]
    assert data.target not in data.attributes
    for attribute, states in data.states.items():
        assert set(data.columns[attribute].tolist()) <= set(states)
    assert all((data.title, data.source, data.licence))
    assert (
        repr(data)
        == f"Dataset({name!r}: {rows:,} rows, {numeric + categorical} attributes -> {data.target!r})"
    )


def test_melon8_is_the_table_of_the_exercise():
    data = datasets.load_dataset("melon8")
    assert list(data.columns) == ["色泽", "纹理", "密度", "标签"]
    rows = list(zip(*(column.tolist() for column in data.columns.values()), strict=True))
    assert rows[1] == ("浅白", "清晰", 0.3, "是")
    assert rows[7] == ("浅白", "清晰", 0.3, "否")
    # Mean density of the good: (0.5 + 0.3 + 0.4 + 0.5) / 4; of the others: (0.6 + 0.4 + 0.6 + 0.3) / 4.
    good = data.y == "是"
    assert data.columns["密度"][good].mean() == pytest.approx(0.425)
    assert data.columns["密度"][~good].mean() == pytest.approx(0.475)
    assert data.states == {"纹理": ("清晰", "稍糊", "模糊")}
    assert "稍糊" not in data.columns["纹理"].tolist()


def test_melon3_has_the_moments_that_the_book_prints():
    """Zhou, section 7.3: density of the good 0.574 and 0.129, of the others 0.496 and 0.195."""
    data = datasets.load_dataset("melon3")
    good = data.y == "是"
    density, sugar = data.columns["密度"], data.columns["含糖率"]
    for values, mean, deviation in [
        (density[good], 0.574, 0.129),
        (density[~good], 0.496, 0.195),
        (sugar[good], 0.279, 0.101),
        (sugar[~good], 0.154, 0.108),
    ]:
        assert values.mean() == pytest.approx(mean, abs=6e-4)
        assert values.std(ddof=1) == pytest.approx(deviation, abs=6e-4)


def test_the_melons_agree_with_each_other_but_for_the_blanks():
    two, blank, three = (datasets.load_dataset(name) for name in ("melon2", "melon2-missing", "melon3"))
    holes = 0
    for name in two.columns:
        assert two.columns[name].tolist() == three.columns[name].tolist()
        for cell, other in zip(blank.columns[name], two.columns[name], strict=True):
            assert cell in (other, None)
            holes += cell is None
    assert holes == 13
    assert "" not in [cell for column in blank.columns.values() for cell in column]
    for data in (two, blank, three):
        assert data.index.tolist() == list(range(1, 18))
        assert "编号" not in data.columns


def test_lihang_gives_the_posterior_of_the_book():
    """Example 4.1: x = (2, S) has P(1) P(2|1) P(S|1) = 1/45 and P(-1) P(2|-1) P(S|-1) = 1/15."""
    data = datasets.load_dataset("lihang")
    joint = {}
    for label in (1, -1):
        of = data.y == label
        first, second = data.columns["x1"][of] == 2, data.columns["x2"][of] == "S"
        joint[label] = of.mean() * first.mean() * second.mean()
    assert joint[1] == pytest.approx(1 / 45)
    assert joint[-1] == pytest.approx(1 / 15)


def test_missing_values_of_the_real_tables():
    mushroom = datasets.load_dataset("mushroom")
    holes = {name: sum(cell is None for cell in column) for name, column in mushroom.columns.items()}
    assert {name: count for name, count in holes.items() if count} == {"stalk-root": 2480}
    adult = datasets.load_dataset("adult")
    holes = {name: sum(cell is None for cell in column) for name, column in adult.columns.items()}
    assert {name: n for name, n in holes.items() if n} == {
        "workclass": 2799,
        "occupation": 2809,
        "native-country": 857,
    }
    assert adult.columns["age"].dtype == np.int64


def test_credit_has_the_holes_that_its_card_tells_of():
    """crx.names: 37 cases have one or more missing values; A1 12, A2 12, A4 6, A5 6, A6 9, A7 9, A14 13."""
    credit = datasets.load_dataset("credit")
    missing = {
        name: [cell is None or cell != cell for cell in column] for name, column in credit.columns.items()
    }
    counts = {"A1": 12, "A2": 12, "A4": 6, "A5": 6, "A6": 9, "A7": 9, "A14": 13}
    assert {name: sum(holes) for name, holes in missing.items() if any(holes)} == counts
    assert sum(map(any, zip(*missing.values(), strict=True))) == 37


def test_texts_are_what_their_cards_say():
    sms, docstrings = datasets.load_dataset("sms"), datasets.load_dataset("docstrings")
    assert len(sms) - len(set(sms.columns["text"])) == 414
    assert len(set(docstrings.columns["text"])) == len(docstrings)
    assert set(Counter(docstrings.y[:800].tolist()).values()) == {200}
    texts = "\n".join(docstrings.columns["text"])
    assert not re.search(r"\w@\w+\.\w", texts)  # addresses of people
    assert not re.search(r"(?i)\b(numpy|pandas|scikit|sklearn|scipy)\b", texts)  # the answers
    notices = files("bayeskit.datasets").joinpath("tables/LICENSES.txt").read_text("utf-8")
    assert all(name in notices for name in set(docstrings.y.tolist()))


def test_iris_is_the_uci_version():
    sklearn_datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_dataset("iris")
    ours = np.column_stack([data.columns[name] for name in data.attributes])
    differing = np.unique(np.argwhere(ours != sklearn_datasets.load_iris().data)[:, 0])
    assert differing.tolist() == [34, 37]


def test_frames():
    pandas = pytest.importorskip("pandas")
    data = datasets.load_dataset("melon2-missing")
    assert isinstance(data.frame, pandas.DataFrame)
    assert list(data.frame.columns) == [*data.attributes, "好瓜"]
    assert list(data.X.columns) == list(data.attributes)
    assert data.X.index.name == "编号"
    assert data.X.index.tolist() == list(range(1, 18))
    assert data.X["色泽"].isna().sum() == 3
    assert datasets.load_dataset("iris").X.shape == (150, 4)


@pytest.mark.parametrize(("absent", "module"), [(("pandas",), "polars"), (("pandas", "polars"), "pyarrow")])
def test_frames_of_the_other_libraries(monkeypatch, absent, module):
    pytest.importorskip(module)
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    data = datasets.load_dataset("melon3")
    frame = data.X
    assert type(frame).__module__.split(".")[0] == module
    assert tuple(getattr(frame, "column_names", None) or frame.columns) == data.attributes


def test_no_frame_library(monkeypatch):
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    data = datasets.load_dataset("melon3")
    assert data.columns["密度"][0] == 0.697
    with refuses(UsageError, "pandas, polars, pyarrow", "pip install"):
        _ = data.X


def test_no_such_table():
    with refuses(DataError, "melon", "melon3", "melon8, melon2"):
        datasets.load_dataset("melon")
    with refuses(DataError, "zzzzzz", "melon8"):
        datasets.load_dataset("zzzzzz")
    with refuses(DataError, "../registry", "melon8"):
        datasets.load_dataset("../registry")


def test_each_load_is_fresh():
    first = datasets.load_dataset("iris")
    first.columns["sepallength"][:] = 0
    assert datasets.load_dataset("iris").columns["sepallength"].min() == 4.3
    with pytest.raises(AttributeError):
        first.target = "other"


@pytest.mark.parametrize(
    ("cells", "dtype", "values"),
    [
        (["1", "-2"], "int64", [1, -2]),
        (["1", "2.5"], "float64", [1.0, 2.5]),
        (["", ""], "object", [None, None]),
        (["", "x"], "object", [None, "x"]),
        (["1", "x"], "object", ["1", "x"]),
    ],
)
def test_kinds_of_cells(cells, dtype, values):
    array = as_array(cells)
    assert array.dtype == dtype
    assert array.tolist() == values


@pytest.mark.parametrize("name", ["iris", "mushroom"])
def test_loading_is_quick(name):
    """Six to twelve steps a cell were counted."""
    table = datasets.load_dataset(name)
    n_cells = len(table.y) * (1 + len(table.columns))
    assert steps(lambda: datasets.load_dataset(name)) < 5_000 + 20 * n_cells


def test_loading_needs_no_frame_library():
    heavy = ["pandas", "polars", "pyarrow", "duckdb", "narwhals", "sklearn", "numba"]
    code = (
        "import sys; from bayeskit import datasets; datasets.load_dataset('melon3'); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_heights_and_weights_are_those_that_were_drawn():
    """The simulation itself. Sums of uniform numbers are the same in every Python; with this seed, as in the tables of
    measured people that such examples use, one in five is not told by two components."""
    rng = random.Random(16)

    def normal() -> float:
        return sum(rng.random() for _ in range(12)) - 6.0

    lines = ["Sex,Height(cm),Weight(kg)"]
    for sex, height, spread, weight, slope, rest in (
        (0, 160, 4.5, 54, 0.45, 5.6),
        (1, 170.5, 6.0, 64.5, 0.6, 7.0),
    ):
        rows = []
        for _ in range(57):
            drawn = height + spread * normal()
            rows.append((round(drawn), round(weight + slope * (drawn - height) + rest * normal())))
        lines += [f"{sex},{tall},{heavy}" for tall, heavy in sorted(rows)]
    table = files("bayeskit.datasets").joinpath("tables/height-weight.csv")
    assert table.read_text("utf-8").splitlines() == lines
