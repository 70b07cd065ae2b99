"""Rows drawn from models whose attributes depend on each other have the model's frequencies."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm

from bayeskit import AODE, KDB, SPODE, TAN, AnDE, NaiveBayes
from bayeskit._classifiers.labelled_tables import table_with_parents
from bayeskit.classifiers import DependentTable, LabelledTable
from bayeskit.errors import ColumnError, NotSupported, SettingError, UsageError
from refusals import refuses

N = 20_000


def letters(n: int = 90, seed: int = 0, holes: float = 0.0) -> tuple[dict[str, Any], Any]:
    """Three attributes of 3, 2 and 3 states that depend on each other; two classes."""
    rng = np.random.default_rng(seed)
    k = (np.arange(n) % 3 == 0).astype(int)
    a = (k + rng.integers(0, 2, n)) % 3
    b = (a + (rng.random(n) < 0.3)) % 2
    c = (a + b + (rng.random(n) < 0.2)) % 3
    names = np.array(["x", "y", "z"], dtype=object)
    columns = {"a": names[a], "b": names[b], "c": names[c]}
    for column in columns.values():
        column[rng.random(n) < holes] = None
    return columns, np.array(["no", "yes"])[k]


def joint_of(model: Any, states: dict[str, tuple[Any, ...]]) -> dict[tuple[Any, ...], float]:
    """P(class, row) of every row there can be, from predictions alone."""
    rows = list(itertools.product(*states.values()))
    table = {name: np.array([row[j] for row in rows], dtype=object) for j, name in enumerate(states)}
    joint = np.exp(model.predict_joint_log_proba(table))
    share = joint / joint.sum()
    return {(y, *row): share[i, k] for i, row in enumerate(rows) for k, y in enumerate(model.classes_)}


def check_frequencies(expected: dict[tuple[Any, ...], float], drawn: list[tuple[Any, ...]]) -> None:
    """Pearson's statistic of the cells stays below the value that one draw in a million exceeds."""
    seen = dict.fromkeys(expected, 0)
    for row in drawn:
        seen[row] += 1
    share = np.array(list(expected.values()))
    assert share.sum() == pytest.approx(1.0)
    counts, wanted = np.array(list(seen.values())), share * len(drawn)
    assert not counts[share == 0].any()
    often = wanted >= 5
    statistic = (((counts - wanted) ** 2)[often] / wanted[often]).sum()
    rest = abs(counts[~often].sum() - wanted[~often].sum())
    assert statistic < chi2.isf(1e-6, often.sum() - 1)
    assert rest <= 6 * np.sqrt(wanted[~often].sum()) + 6


def tuples_of(X: Any, y: Any) -> list[tuple[Any, ...]]:
    return [(label, *row) for label, row in zip(y, X.itertuples(index=False, name=None), strict=True)]


STATES = {"a": ("x", "y", "z"), "b": ("x", "y"), "c": ("x", "y", "z")}
MODELS = [
    TAN(),
    TAN(structure={"a": "c", "b": "c"}, smoothing=0.5),
    TAN(smoothing="witten-bell", criterion="bic"),
    SPODE(super_parent="b"),
    SPODE(super_parent="a", smoothing="mle", class_prior=[0.9, 0.1]),
    KDB(k=2),
    AODE(),
    AODE(weights="mutual-information", smoothing="m-estimate"),
    AnDE(n=1),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_frequencies_are_the_models_probabilities(model: Any) -> None:
    columns, y = letters()
    model.fit(columns, y)
    X, labels = model.sample(N, random_state=7)
    assert list(X.columns) == list("abc")
    check_frequencies(joint_of(model, STATES), tuples_of(X, labels))


@pytest.mark.parametrize("model", [TAN(), AODE(), KDB(k=1)], ids=repr)
def test_one_class_alone(model: Any) -> None:
    columns, y = letters()
    model.fit(columns, y)
    X, labels = model.sample(N, random_state=3, given_class="yes")
    assert set(labels) == {"yes"}
    joint = {key: p for key, p in joint_of(model, STATES).items() if key[0] == "yes"}
    total = sum(joint.values())
    check_frequencies({key: p / total for key, p in joint.items()}, tuples_of(X, labels))


def test_seeds_repeat_and_settings_are_checked() -> None:
    columns, y = letters()
    for model in (TAN().fit(columns, y), AODE().fit(columns, y)):
        first, again, other = (model.sample(50, random_state=s) for s in (1, np.random.default_rng(1), 2))
        assert first[0].equals(again[0]) and (first[1] == again[1]).all()
        assert not first[0].equals(other[0])
        assert len(model.sample(0, random_state=0)[0]) == 0
        with refuses(SettingError, "n_samples", -1):
            model.sample(-1)


def test_missing_as_a_state_is_drawn_as_none() -> None:
    columns, y = letters(holes=0.25)
    states = {name: (*values, None) for name, values in STATES.items()}
    for model in (TAN(missing="state"), AODE(missing="state")):
        model.fit(columns, y)
        X, labels = model.sample(N, random_state=5)
        rows = [tuple(None if v != v else v for v in row) for row in tuples_of(X, labels)]
        check_frequencies(joint_of(model, states), rows)


def test_a_value_too_rare_for_a_super_parent_is_drawn_as_a_child() -> None:
    columns, y = letters()
    columns["a"] = columns["a"].copy()
    columns["a"][:2] = "rare"
    X, _ = AODE(min_count=3).fit(columns, y).sample(N, random_state=0)
    assert 0 < (X["a"] == "rare").mean() < 0.1
    alone = AODE(min_count=1e6).fit(columns, y)
    X, labels = alone.sample(N, random_state=0)
    states = {**STATES, "a": ("x", "y", "z", "rare")}
    check_frequencies(joint_of(alone, states), tuples_of(X, labels))


def numbers(n: int = 120) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(4)
    k, a = np.arange(n) % 2, rng.integers(0, 2, n)
    columns = {
        "a": np.array(["u", "v"], dtype=object)[a],
        "length": rng.normal(1e4 + 10.0 * a + 3.0 * k, 1.0 + k),
        "same": np.full(n, 2.5),
    }
    return columns, k


@pytest.mark.parametrize("make", [TAN, KDB, AODE], ids=lambda m: m.__name__)
def test_numbers_come_from_the_gaussian_of_class_and_parent(make: Any) -> None:
    columns, y = numbers()
    model = make(numeric="gaussian").fit(columns, y)
    X, labels = model.sample(N, random_state=2)
    assert (X["same"] == 2.5).all()
    conditional = model._model.conditionals[-1]
    gaussian = conditional.numeric if make is AODE else conditional.cell_gaussian
    for code, state in enumerate(("u", "v")):
        for k in (0, 1):
            values = X["length"][(X["a"] == state) & (labels == k)].to_numpy()
            unit = 2.0 ** gaussian.exponent[0]
            mean = (gaussian.mean[code, k, 0] + gaussian.mean_low[code, k, 0]) * unit
            cell = columns["length"][(columns["a"] == state) & (y == k)]
            assert mean == pytest.approx(cell.mean(), abs=0.5)
            assert kstest(values, norm(mean, gaussian.deviation[code, k, 0] * unit).cdf).pvalue > 1e-6


def test_absent_numbers_are_drawn_where_missing_is_a_state() -> None:
    columns, y = numbers()
    columns["length"] = np.where((np.arange(120) % 4 == 0), np.nan, columns["length"])
    for model in (TAN(numeric="gaussian", missing="state"), AODE(numeric="gaussian", missing="state")):
        X, labels = model.fit(columns, y).sample(N, random_state=1)
        assert X["length"].isna()[labels == 0].mean() == pytest.approx(31 / 62, abs=0.02)
        assert X["length"].isna()[labels == 1].mean() == pytest.approx(1 / 62, abs=0.01)


def test_cut_attributes_are_drawn_as_their_intervals() -> None:
    columns, y = numbers()
    model = TAN(cut_points={"length": [1e4 + 5]}).fit(columns, y)
    X, labels = model.sample(N, random_state=0)
    low, high = model.schema_["length"].states
    assert set(X["length"]) == {low, high}
    above = (columns["length"][y == 1] > 1e4 + 5).mean()
    assert (X["length"][labels == 1] == high).mean() == pytest.approx(above, abs=0.03)


def test_models_without_such_a_distribution_say_who_has_one() -> None:
    columns, y = letters()
    with refuses(NotSupported, "TwoParents", "SPODE", "TAN", "KDB", "AODE"):
        AnDE(n=2).fit(columns, y).sample(3)


@pytest.mark.parametrize(
    "model", [TAN(), SPODE(super_parent="c", smoothing=0.5), KDB(k=2), TAN(missing="state")], ids=repr
)
def test_tables_hold_probabilities_and_counts(model: Any) -> None:
    columns, y = letters(holes=0.1)
    model.fit(columns, y)
    for name, parents in model.structure_.items():
        table = table_with_parents(model._model, model.statistics_, name)
        assert isinstance(table, DependentTable)
        assert table.parents == parents
        frame = table.to_frame()
        for key in itertools.product(model.classes_.tolist(), *(STATES[p] for p in parents), STATES[name]):
            there = y == key[0]
            for column, value in zip((*parents, name), key[1:], strict=True):
                there = there & (columns[column] == value)
            axes = (table.classes, *table.parent_states, table.states)
            place = tuple(axis.index(part) for axis, part in zip(axes, key, strict=True))
            assert table.counts[place] == there.sum()
            row = {**dict.fromkeys(columns), **dict(zip((*parents, name), key[1:], strict=True))}
            if model.missing == "ignore":
                attribute = next(a for a in model.explain(row).attributes if a.name == name)
                assert table[key] == pytest.approx(attribute.factors[place[0]].probability, rel=1e-12)
            assert frame.loc[key[:-1] if parents else key[0], key[-1]].item() == table[key]
        if model.missing == "ignore":
            assert table.probabilities.sum(axis=-1) == pytest.approx(1.0)
    with refuses(ColumnError, "a", "('no', 'mauve')"):
        table_with_parents(model._model, model.statistics_, "a")["no", "mauve"]


def test_tables_that_are_not_there() -> None:
    columns, y = letters()
    average = AODE().fit(columns, y)
    with refuses(UsageError, "a", "NaiveBayes", "SPODE"):
        table_with_parents(average._model, average.statistics_, "a")
    tree = TAN().fit(columns, y)
    with refuses(ColumnError, "d", "a", "b", "c"):
        table_with_parents(tree._model, tree.statistics_, "d")
    assert isinstance(table_with_parents(tree._model, tree.statistics_, "y"), LabelledTable)
    naive = NaiveBayes().fit(columns, y)
    same = table_with_parents(naive._model, naive.statistics_, "a")
    assert (same.probabilities == naive.table("a").probabilities).all()
    rng = np.random.default_rng(0)
    wide = {name: rng.integers(0, 200, 400).astype(str).astype(object) for name in "pqr"}
    big = KDB(structure={"r": ("p", "q")}).fit(wide, rng.integers(0, 2, 400))
    with refuses(UsageError, "r", 1_000_000, "explain"):
        table_with_parents(big._model, big.statistics_, "r")
