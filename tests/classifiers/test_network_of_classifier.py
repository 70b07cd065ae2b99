"""``model.network_``: the network says of every row what the classifier says."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import bayeskit._classifiers.as_network as network_module
from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    AutoBayes,
    BayesianNetwork,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    SelectiveKDB,
    WeightedNB,
    read_network,
)
from bayeskit._data.reading import interval_labels
from bayeskit.datasets import load_dataset
from bayeskit.errors import NotSupported, SuspectResult, UsageError
from bayeskit.networks import LinearGaussian
from bayeskit.priors import Laplace, MEstimate, WittenBell
from refusals import refuses

STRUCTURED = [
    SPODE(),
    SPODE(numeric="gaussian"),
    TAN(),
    TAN(smoothing=1.0),
    TAN(numeric="gaussian", criterion="bic"),
    KDB(),
    KDB(k=3, smoothing="laplace"),
    KDB(numeric="gaussian"),
    SelectiveKDB(),
]
PLAIN = [
    NaiveBayes(),
    NaiveBayes(smoothing=0.5, variance="unbiased", class_weight="balanced"),
    NaiveBayes(unseen="smooth"),
    TAN(unseen="smooth"),
    KDB(k=1, unseen="smooth", class_weight="balanced"),
    *STRUCTURED,
]


def fitted(model, columns, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspectResult)
        return model.fit(columns, y, **more)


def as_states(model, network, columns):
    """Return rows with the states of the network in them: intervals instead of numbers, missing and unseen by name."""
    columns = dict(columns)
    for name, cuts in getattr(model, "cut_points_", {}).items():
        labels = np.array([*interval_labels(np.array(cuts)), None], object)
        numbers = np.asarray(columns[name], float)
        codes = np.searchsorted(cuts, numbers, side="left")
        columns[name] = labels[np.where(np.isnan(numbers), -1, codes)]
    for name in set(columns) & set(network.nodes):
        if not isinstance(network.distribution(name), LinearGaussian):
            known = {state: state for state in network.states(name)}
            none = known.get("(missing)")
            known[None] = none  # what was never learned is missing too, unless it has a share of its own
            columns[name] = [
                known.get(v, known.get("(unseen)", none)) for v in np.asarray(columns[name]).tolist()
            ]
    return columns


def check(model, columns, tolerance=1e-12, states=None):
    """Compare posteriors, P(x) and P(c, x) of all rows; return the network."""
    network = model.network_
    target = network.nodes[0]
    assert network.states(target) == tuple(model.classes_.tolist())
    states = as_states(model, network, columns) if states is None else states
    wanted = model.predict_proba(columns)
    np.testing.assert_allclose(network.predict_proba(states, target), wanted, rtol=0, atol=tolerance)
    joint = model.predict_joint_log_proba(columns)
    np.testing.assert_allclose(
        network.log_prob(states), model.log_evidence(columns), rtol=1e-11, atol=tolerance
    )
    for c, label in enumerate(network.states(target)):
        with_class = {**states, target: np.array([label] * len(joint), object)}
        np.testing.assert_allclose(network.log_prob(with_class), joint[:, c], rtol=1e-11, atol=tolerance)
    return network


@cache
def rows_of(name, most=300):
    """Return the columns of at most 1,000 rows, their classes, and the rows without holes."""
    data = load_dataset(name)
    step = -(-len(data) // 1000)
    columns = {a: data.columns[a][::step] for a in data.attributes}
    whole = np.array(
        [all(v is not None and v == v for v in row) for row in zip(*columns.values(), strict=True)]
    )
    return columns, data.y[::step], {a: c[whole][:most] for a, c in columns.items()}


@pytest.mark.parametrize("name", ["melon3", "melon2-missing", "iris", "mushroom", "adult"])
@pytest.mark.parametrize("model", PLAIN, ids=str)
def test_rows_without_holes_are_judged_alike(name, model):
    columns, y, whole = rows_of(name)
    fitted(model, columns, y)
    gaussian = any(
        isinstance(model.network_.distribution(x), LinearGaussian)
        for x in columns
        if x in model.network_.nodes
    )
    check(model, whole, 1e-9 if gaussian else 1e-12)


def random_table(rng, n=40, holes=0.2):
    """Return columns of text with holes and classes; z depends on a, b on both."""
    y = rng.integers(0, 3, n)
    a = (y + rng.integers(0, 2, n)) % 3
    z = np.where(rng.random(n) < 0.7, a, rng.integers(0, 4, n))
    b = np.where(rng.random(n) < 0.6, (a + z) % 2, y % 2)
    columns = {k: np.array([f"{k}{i}" for i in v], object) for k, v in {"a": a, "z": z, "b": b}.items()}
    for column in columns.values():
        column[rng.random(n) < holes] = None
    return columns, y


HOLES = [
    NaiveBayes(),
    NaiveBayes(smoothing=0.1, unseen="smooth"),
    NaiveBayes(smoothing=MEstimate(2.0)),
    SPODE(super_parent="z"),
    TAN(),
    TAN(unseen="smooth", smoothing=WittenBell()),
    TAN(smoothing=Laplace(), structure={"b": ["a"], "z": ["a"]}),
    KDB(),
    KDB(unseen="smooth", structure={"b": ["z", "a"], "z": ["a"]}),
    KDB(smoothing=0.5, k=1),
]


@pytest.mark.parametrize("model", HOLES, ids=str)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_holes_are_summed_over_alike(model, seed):
    rng = np.random.default_rng(seed)
    columns, y = random_table(rng)
    rows, _ = random_table(rng, 20, 0.4)
    check(fitted(model, columns, y), rows)


@pytest.mark.parametrize("model", [NaiveBayes(missing="state"), SPODE(missing="state"), TAN(missing="state"),
                                   TAN(missing="state", unseen="smooth"), KDB(missing="state")], ids=str)  # fmt: skip
@given(seed=st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_missing_is_a_state_of_its_own(model, seed):
    rng = np.random.default_rng(seed)
    columns, y = random_table(rng)
    columns["b"] = np.where(columns["b"] == None, "b0", columns["b"])  # noqa: E711
    fitted(model, columns, y)
    rows, _ = random_table(rng, 20, 0.4)
    rows["b"] = np.where(rows["b"] == None, "b1", rows["b"])  # noqa: E711
    network = check(model, rows)
    assert "(missing)" in network.states("a") and "(missing)" not in network.states("b")


@pytest.mark.parametrize(
    "model", [NaiveBayes(unseen="smooth"), TAN(unseen="smooth"), KDB(unseen="smooth")], ids=str
)
def test_a_value_never_learned_is_a_state_where_it_has_a_share(model):
    columns, y = random_table(np.random.default_rng(5), holes=0)
    fitted(model, columns, y)
    rows = {"a": ["a0", "new", "a2"], "z": ["new", "new", "z1"], "b": ["b0", "b1", "new"]}
    assert check(model, rows).states("b") == ("b0", "b1", "(unseen)")


@given(
    seed=st.integers(0, 2**32),
    model=st.sampled_from([GaussianNB(), NaiveBayes(), NaiveBayes(variance="unbiased")]),
)
@settings(max_examples=30, deadline=None)
def test_gaussians_with_holes(seed, model):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 60)
    columns = {f"x{j}": rng.normal(y * j, 1 + j, 60) * 10.0 ** rng.integers(-5, 6) for j in range(3)}
    for column in columns.values():
        column[rng.random(60) < 0.2] = np.nan
    network = check(fitted(model, columns, y), columns, 1e-9)
    assert all(isinstance(network.distribution(x), LinearGaussian) for x in columns)
    assert network.parents("x0") == ("y",)


def test_a_missing_number_as_a_state_is_a_node_beside_it():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 80)
    x = np.where(rng.random(80) < 0.2 + 0.3 * y, np.nan, rng.normal(y))
    columns = {"x": x, "u": rng.normal(size=80), "d": np.array(["p", "q"])[rng.integers(0, 2, 80)]}
    for model in (NaiveBayes(missing="state"), TAN(numeric="gaussian", missing="state")):
        fitted(model, columns, y)
        network = check(model, columns, 1e-12, {**columns, "x is missing": np.isnan(x)})
        assert network.nodes == ("y", "x", "u", "d", "x is missing")  # u was never missing
        assert network.states("x is missing") == (False, True)


def test_codes_and_words():
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 4, (50, 3)), rng.choice(["p", "q", "r"], 50)
    model = fitted(CategoricalNB(min_categories=5), X, y)
    assert check(model, {f"x{j}": X[:, j] for j in range(3)}).states("x1") == (0, 1, 2, 3, 4)
    words = X > 1
    for alpha in (1.0, [0.5, 2.0, 1e-6]):
        model = fitted(BernoulliNB(alpha=alpha), words, y)
        network = model.network_
        assert network.nodes == ("y", "x0", "x1", "x2") and network.states("x2") == (0, 1)
        given_words = {f"x{j}": words[:, j].astype(int) for j in range(3)}
        np.testing.assert_allclose(
            network.predict_proba(given_words, "y"), model.predict_proba(words), atol=1e-12
        )
    named = {"y": words[:, 0], "class": words[:, 1]}
    assert fitted(BernoulliNB(), {k: v.astype(int) for k, v in named.items()}, y).network_.nodes == (
        "class_", "y", "class")  # fmt: skip


def test_tables_are_those_of_the_model_with_the_class_first():
    columns, y = random_table(np.random.default_rng(1), 200)
    for model in (TAN(), KDB(), SPODE(), SelectiveKDB()):
        network = fitted(model, columns, y).network_
        for name in network.nodes[1:]:
            table = model.table(name)
            assert network.parents(name) == ("y", *model.structure_[name])
            np.testing.assert_array_equal(network.cpt(name).values, table.probabilities)
            assert network.cpt(name).states == (tuple(model.classes_), *table.parent_states, table.states)
    network = fitted(NaiveBayes(), columns, y).network_
    assert set(network.arcs) == {("y", name) for name in columns}
    assert network.cpt("a")[1, "a0"] == pytest.approx(
        NaiveBayes().fit(columns, y).table("a")[1, "a0"], rel=1e-15
    )


def test_the_book_by_hand():
    """Li Hang, example 4.1: P(y = −1) P(2 | −1) P(S | −1) = 1/15 under maximum likelihood."""
    data = load_dataset("lihang")
    columns = {a: np.asarray(data.columns[a], object) for a in data.attributes}
    network = fitted(NaiveBayes(smoothing=0, categorical_features="all"), columns, data.y).network_
    assert np.exp(network.log_probability({"y": -1, "x1": 2, "x2": "S"})) == pytest.approx(1 / 15, rel=1e-14)
    assert np.exp(network.log_probability({"y": 1, "x1": 2, "x2": "S"})) == pytest.approx(1 / 45, rel=1e-14)
    assert network.query("y", evidence={"x1": 2, "x2": "S"})[-1] == pytest.approx(3 / 4, rel=1e-14)


def test_rows_that_no_class_allows_get_the_prior():
    columns = {"a": ["p", "p", "q", "q"], "b": ["u", "u", "v", "v"]}
    model = NaiveBayes(smoothing=0).fit(columns, [0, 0, 1, 1])
    rows = {"a": ["p"], "b": ["v"]}
    with pytest.warns(SuspectResult):
        wanted = model.predict_proba(rows)
    with pytest.warns(SuspectResult):
        np.testing.assert_array_equal(model.network_.predict_proba(rows, "y"), wanted)


def test_what_tells_nothing_is_no_node():
    columns, y = random_table(np.random.default_rng(4), holes=0)
    columns |= {"none": np.full(40, None), "same": np.ones(40), "x": np.random.default_rng(4).normal(y)}
    for model in (
        NaiveBayes(),
        TAN(numeric="gaussian"),
        KDB(numeric="gaussian"),
        NaiveBayes(unseen="smooth"),
    ):
        network = check(fitted(model, columns, y), columns)
        assert network.nodes == ("y", "a", "z", "b", "x")
    empty_parent = KDB(structure={"b": ["a", "none", "z"]}, categorical_features=["a", "z", "b", "none"])
    network = check(fitted(empty_parent, columns, y), columns)
    assert network.parents("b") == ("y", "a")
    nothing = fitted(SelectiveKDB(), {"r": np.random.default_rng(4).choice(list("ab"), 40)}, y)
    assert nothing.network_.nodes[0] == "y"


def test_names_that_are_taken():
    columns = {"y": ["(missing)", "b", None, "b"], "class": ["u", "u", "v", "v"]}
    network = NaiveBayes(missing="state").fit(columns, [0, 0, 1, 1]).network_
    assert network.nodes == ("class_", "y", "class")
    assert network.states("y") == ("(missing)", "b", "((missing))")
    with_target = {"a": ["p", "q"], "好瓜": ["是", "否"]}
    assert NaiveBayes().fit(with_target, target="好瓜").network_.nodes == ("好瓜", "a")


def test_a_network_is_a_value_of_its_own(tmp_path):
    columns, y = random_table(np.random.default_rng(6))
    model = fitted(TAN(), columns, y)
    network = model.network_
    assert isinstance(network, BayesianNetwork) and network.name == "TAN" and network == model.network_
    network.rename({"a": "renamed"})
    assert "a" in model.network_.nodes
    model.network_.write(tmp_path / "tan.json")
    assert read_network(tmp_path / "tan.json") == model.network_
    before = model.network_
    model.partial_fit(columns, y)
    assert model.network_ != before  # twice as many rows, so less smoothing
    lazy = NaiveBayes().lazy(columns, y)
    assert lazy.network_ == fitted(NaiveBayes(), columns, y).network_


def test_calibration_is_no_part_of_it():
    columns, y = random_table(np.random.default_rng(7))
    plain = fitted(NaiveBayes(), columns, y)
    assert fitted(NaiveBayes(calibration="temperature"), columns, y).network_ == plain.network_


X = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]])
Y = [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NaiveBayes(numeric="kernel"), ["x0", "x1", "kernel"]),
        (NaiveBayes(numeric="student"), ["x0", "x1", "Student"]),
        (NaiveBayes(families={"x1": "poisson"}), ["x1", "Poisson"]),
    ],
)
def test_what_is_no_table_and_no_gaussian_is_refused_by_name(model, message):
    with refuses(NotSupported, *message):
        fitted(model, X, Y).network_  # noqa: B018


def test_a_block_of_counts_is_refused():
    from scipy.sparse import csr_array

    with refuses(NotSupported, "multinomial", "BernoulliNB"):
        NaiveBayes().fit(csr_array(X), Y).network_  # noqa: B018


@pytest.mark.parametrize(
    "model", [AODE(), AnDE(), AutoBayes(), WeightedNB(), ComplementNB(), MultinomialNB()], ids=str
)
def test_what_is_not_one_graph_has_no_network(model):
    assert not hasattr(fitted(model, X, Y), "network_")


def test_before_fit_there_is_none():
    with pytest.raises(NotFittedError):
        NaiveBayes().network_  # noqa: B018


def test_tables_too_large_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(network_module, "MOST_CELLS", 100)
    columns, y = random_table(np.random.default_rng(8))
    model = fitted(KDB(structure={"b": ["z", "a"], "z": ["a"]}), columns, y)
    with refuses(UsageError, "b", "y", "z", "a", 72):
        model.network_  # noqa: B018


def test_numbers_beyond_the_range_of_a_variance_are_refused():
    model = fitted(GaussianNB(), X * 1e-200, Y)
    with refuses(UsageError, "variance", "x0"):
        model.network_  # noqa: B018


@pytest.mark.parametrize("model", [TAN(), KDB()], ids=str)
def test_a_node_of_intervals_is_told_numbers(model):
    iris = load_dataset("iris")
    check(model.fit(iris.X, iris.y), iris.X, states=iris.X)
