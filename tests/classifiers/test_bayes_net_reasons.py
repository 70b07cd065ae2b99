"""What a network as a classifier tells of its answers: contributions, novelty, intervals, pictures."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta
from scipy.stats import t as student

from bayeskit import TAN, BayesNetClassifier, NaiveBayes
from bayeskit._classifiers.explain_rows import drawable_model
from bayeskit._conditionals.posterior_draws import Draws
from bayeskit._data.table import open_table
from bayeskit.errors import SettingError, UsageError
from bayeskit.priors import MAP, Dirichlet
from refusals import refuses
from test_bayes_net_classifier import SETTINGS, discrete_rows, mixed_rows
from test_predict_interval import (
    coverage,
    draw_numbers,
    draw_tree,
    numbers_posterior,
    tree_posterior,
)


def some_rows(X: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: column[rows] for name, column in X.items()}


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_contributions_add_up_to_the_log_odds(settings: dict[str, Any], missing: float) -> None:
    X, y = mixed_rows(missing=missing)
    model = BayesNetClassifier(**settings).fit(X, y)
    rows = some_rows(X, slice(0, 60))
    log_p = model.predict_log_proba(rows)
    found = model.contributions(rows, against=1)
    assert found.columns == ("(prior)", *X)
    np.testing.assert_allclose(found.values.sum(axis=1), log_p - log_p[:, [1]], atol=1e-9)
    # They are the logarithms of one product, P(c, x): that of the network, whose missing cells are summed out.
    known = {**{name: np.repeat(column, 3) for name, column in rows.items()}, "y": np.tile([0, 1, 2], 60)}
    joint = model.network_.log_prob(known).reshape(60, 3)
    np.testing.assert_allclose(found.logs.sum(axis=1), joint, atol=1e-9)
    np.testing.assert_allclose(model.predict_joint_log_proba(rows), joint, atol=1e-9)
    np.testing.assert_allclose(np.exp(found.logs[:, 0]), np.tile(model.network_.query("y").values, (60, 1)))
    outside = [1 + j for j, name in enumerate(X) if name not in model.network_.nodes]
    assert not found.logs[:, outside].any()


def parity(n: int = 600) -> tuple[dict[str, Any], Any]:
    """u → y ← v, y → a ← w: two parents of the class, a child, and another parent of that."""
    rng = np.random.default_rng(4)
    u, v, w = (rng.integers(0, 2, n) for _ in range(3))
    y = (rng.random(n) < np.array([[0.1, 0.6], [0.7, 0.95]])[u, v]).astype(int)
    a = (rng.random(n) < np.array([[0.2, 0.6], [0.9, 0.3]])[y, w]).astype(int)
    return {"a": a, "v": v, "w": w, "u": u}, y


def test_whose_factor_is_whose() -> None:
    X, y = parity()
    arcs = [("u", "y"), ("v", "y"), ("y", "a"), ("w", "a")]
    others = [pair for pair in itertools.permutations(["a", "u", "v", "w", "y"], 2) if pair not in arcs]
    settings: dict[str, Any] = {"required": arcs, "forbidden": others, "categorical_features": "all"}
    model = BayesNetClassifier("hill-climbing", **settings).fit(X, y)
    rows = some_rows(X, slice(0, 40))
    found, network = model.contributions(rows, against=0).of(1), model.network_
    assert found["w"] == pytest.approx(0.0, abs=1e-12)  # it says which row of a's table is read

    def odds(p: Any) -> float:
        return math.log(p[1] / p[0])

    tables = {name: network.cpt(name).values for name in network.nodes}
    order = [name for name in network.nodes if name in "uv"]
    for i in range(40):
        row = {name: int(column[i]) for name, column in rows.items()}
        place = tuple(slice(None) if p == "y" else row[p] for p in (*network.parents("a"), "a"))
        assert found["a"][i] == pytest.approx(odds(tables["a"][place]))
        first = {order[0]: row[order[0]]}
        given_one = odds(network.query("y", evidence=first).values)
        given_both = odds(tables["y"][tuple(row[p] for p in network.parents("y"))])
        prior = odds(network.query("y").values)
        assert found["(prior)"][i] == pytest.approx(prior)
        assert found[order[0]][i] == pytest.approx(given_one - prior)
        assert found[order[1]][i] == pytest.approx(given_both - given_one)


@pytest.mark.parametrize(
    ("mine", "theirs", "missing"),
    [
        (BayesNetClassifier("naive", smoothing="laplace"), NaiveBayes(), 0.2),
        (BayesNetClassifier("tan", smoothing="laplace"), TAN(smoothing=1.0), 0.0),
    ],
    ids=["naive", "tan"],
)
def test_networks_that_are_other_models_say_the_same(mine: Any, theirs: Any, missing: float) -> None:
    X, y = discrete_rows(missing=missing)
    rows = some_rows(X, slice(0, 50))
    a, b = (model.fit(X, y).contributions(rows) for model in (mine, theirs))
    np.testing.assert_allclose(a.values, b.values, atol=1e-9)
    np.testing.assert_allclose(mine.log_evidence(rows), theirs.log_evidence(rows), atol=1e-9)


def test_what_is_impossible_is_never_nan() -> None:
    rows = {"a": ["x", "x", "z"], "b": ["p", "q", "q"]}
    model = BayesNetClassifier("tan", smoothing="mle").fit(rows, ["no", "yes", "yes"])
    found = model.contributions({"a": ["z", None], "b": ["p", "p"]})
    assert not np.isnan(found.values).any()
    assert found.of("yes")["b"][1] == -math.inf


@pytest.mark.parametrize("settings", [{}, {"method": "tan"}, {"method": "naive", "numeric": 4}], ids=str)
def test_novelty_counts_rows_that_are_no_more_probable(settings: dict[str, Any]) -> None:
    X, y = mixed_rows(missing=0.1)
    model = BayesNetClassifier(**settings, markov_blanket=False).fit(X, y)
    network = model.network_
    rows = {
        "colour": ["red", None, "mauve", "red"],
        "shape": ["o", "x", "z", "o"],
        "size": [0.0, np.nan, 1.0, 90.0],
        "weight": [0.0, 1.0, np.nan, -90.0],
    }
    found = model.novelty(rows, n_samples=500, random_state=3)
    np.testing.assert_allclose(found.log_evidence, network.log_prob(rows), atol=1e-9)
    assert found.unseen.tolist() == [0, 0, 1, 0]
    drawn = {name: np.asarray(column) for name, column in network.sample(4000, 3).items() if name != "y"}
    holes = {**drawn, "colour": np.full(4000, None, object), "size": np.full(4000, np.nan)}
    below = (network.log_prob(holes) <= found.log_evidence[1] + 1e-9).mean()
    assert found.share[1] == pytest.approx(below, abs=0.08)
    if "numeric" not in settings:
        assert found.share[3] == 1 / 501
    alone = [network.log_prob({name: column[:1]})[0] for name, column in rows.items()]
    assert found.conflict is not None
    assert found.conflict[0] == pytest.approx(sum(alone) - found.log_evidence[0], abs=1e-9)
    with refuses(SettingError, "n_samples"):
        model.novelty(rows, n_samples=0)


TREE = {"required": [("y", "x0"), ("y", "x1"), ("y", "x2"), ("x1", "x2")]}


@pytest.mark.parametrize(
    ("draw", "posterior", "settings"),
    [
        (draw_tree, tree_posterior, {**TREE, "forbidden": [("x0", "x1"), ("x0", "x2"), ("x1", "x0"), ("x2", "x0")]}),
        (draw_numbers, numbers_posterior, {"method": "naive"}),
    ],
    ids=["tree", "gaussian"],
)  # fmt: skip
def test_nine_of_ten_intervals_hold_the_true_posterior(draw: Any, posterior: Any, settings: Any) -> None:
    def model() -> BayesNetClassifier:
        return BayesNetClassifier(**{"method": "hill-climbing", "smoothing": "laplace", **settings})

    share = coverage(np.random.default_rng(2), draw, posterior, model, n_fits=50)
    assert 0.85 <= share <= 0.95, share


def test_regressions_are_drawn_from_their_posterior() -> None:
    """The mean density over draws of mean, slope and deviation is Student's t about the line: 12 rows of one cell."""
    rng = np.random.default_rng(3)
    y, a = np.arange(24) % 2, rng.normal(2.0, 1.0, 24)
    b = (1.0 + y) * a + rng.normal(size=24)
    model = BayesNetClassifier("tan").fit({"a": a, "b": b}, y)
    assert model.held_["structure"]["b"] == ("y", "a")
    family = model._model.conditionals[0].numbers[1]
    assert model.schema_.numeric[family.child].name == "b"
    rows = np.array([[0.5, 0.0], [3.0, 9.0]])
    drawn = np.exp(family.log_draws(np.empty((2, 0), np.uint8), rows, Draws(0, 100_000))).mean(axis=1)
    lines = [np.polyfit(a[y == k], b[y == k], 1) for k in (0, 1)]
    squares = [((b - np.polyval(line, a))[y == k] ** 2).sum() for k, line in enumerate(lines)]
    for k, line in enumerate(lines):
        x = a[y == k]
        # One imaginary row has the variance within both cells; 12 rows less a slope are its degrees of freedom.
        variance = (squares[k] + sum(squares) / 24) / 11
        for i, (u, v) in enumerate([(0.5, 0.0), (3.0, 9.0)]):
            apart = 1.0 + 1.0 / 12 + (u - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
            expected = student(11, np.polyval(line, u), np.sqrt(variance * apart)).pdf(v)
            assert drawn[i, k] == pytest.approx(expected, rel=0.05)


def test_tables_are_drawn_from_their_posterior() -> None:
    """A row without values draws P(c) alone: a beta, with a row more in each cell behind the mode of a Dirichlet."""
    rows, labels = {"a": ["u", "v"] * 5}, ["yes"] * 7 + ["no"] * 3
    for prior, expected in (("laplace", beta(8, 4)), (MAP(Dirichlet(2)), beta(9, 5)), ("mle", beta(7, 3))):
        model = BayesNetClassifier("naive", smoothing=prior).fit(rows, labels)
        found = model.predict_interval({"a": [None]}, 0.8, n_samples=20_000)
        assert found.lower[0, 1] == pytest.approx(expected.ppf(0.1), abs=0.01)
        assert found.upper[0, 1] == pytest.approx(expected.ppf(0.9), abs=0.01)


def test_intervals_are_those_of_the_same_model_elsewhere() -> None:
    """Naive Bayes and TAN have their own code for this; a missing parent is summed over in both."""
    X, y = draw_tree(np.random.default_rng(5), 200)
    rows = X[:12].copy()
    rows[:3, 1] = None
    rows[3] = None
    tree = BayesNetClassifier("tan", smoothing="laplace").fit(X, y)
    structure = {n: [p for p in ps if p != "y"] for n, ps in tree.structure_.items() if n != "y"}
    pairs = [
        (BayesNetClassifier("naive", smoothing="laplace"), NaiveBayes()),
        (tree, TAN(structure=structure, smoothing=1.0)),
    ]
    for mine, theirs in pairs:
        a, b = (model.fit(X, y).predict_interval(rows, n_samples=4000) for model in (mine, theirs))
        np.testing.assert_allclose(a.posterior, b.posterior, atol=1e-9)
        for part in ("lower", "median", "upper"):
            np.testing.assert_allclose(getattr(a, part), getattr(b, part), atol=0.025)
    alone = tree.predict_interval(rows[1:2], n_samples=300)
    np.testing.assert_array_equal(tree.predict_interval(rows, n_samples=300).lower[1:2], alone.lower)


def drawn_logs(model: Any, rows: dict[str, Any], n: int = 6) -> np.ndarray:
    """log P(x, c) of rows under every draw, P(c) apart where the class has no parents: shape (rows, draws, K)."""
    fitted = model._fitted
    drawn = drawable_model(fitted.statistics, fitted.spec, "a network")
    encoded = fitted.encode(open_table(rows), drawn.schema, "ignore")
    out = np.zeros((encoded.n_rows, n, drawn.schema.n_classes))
    for posterior in drawn.posteriors:
        posterior.add(encoded.chunk(0, encoded.n_rows), Draws(0, n), out)
    return out


@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[2], SETTINGS[4], {"method": "k2"}], ids=str)
def test_missing_states_are_summed_under_every_draw(settings: dict[str, Any]) -> None:
    X, y = discrete_rows(120, missing=0.3)
    model = BayesNetClassifier(**settings).fit(X, y)
    rows = some_rows(X, slice(0, 25))
    found = drawn_logs(model, rows)
    # What is not in the graph has nothing to sum over.
    states = {name: model.schema_[name].states if name in model.structure_ else [None] for name in X}
    for i in range(25):
        row = {name: column[i] for name, column in rows.items()}
        options = [states[name] if value is None else [value] for name, value in row.items()]
        filled = {name: [] for name in X}
        for values in itertools.product(*options):
            for name, value in zip(X, values, strict=True):
                filled[name].append(value)
        np.testing.assert_allclose(
            found[i], np.logaddexp.reduce(drawn_logs(model, filled), axis=0), atol=1e-9
        )


@pytest.mark.parametrize("hole", ["size", "weight"])
@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[2], SETTINGS[4]], ids=str)
def test_missing_numbers_are_integrated_out_under_every_draw(settings: dict[str, Any], hole: str) -> None:
    X, y = mixed_rows(120, missing=0.1)
    model = BayesNetClassifier(**settings).fit(X, y)
    grid = np.linspace(-40.0, 40.0, 8001)
    for i in range(4):
        row = {name: column[i : i + 1] for name, column in X.items()}
        found = drawn_logs(model, {**row, hole: np.array([np.nan])})[0]
        logs = drawn_logs(model, {**{n: np.repeat(c, len(grid)) for n, c in row.items()}, hole: grid})
        if hole not in model.structure_:
            np.testing.assert_allclose(logs[0], found, atol=1e-9)
            continue
        best = logs.max(axis=0)
        area = np.log(np.trapezoid(np.exp(logs - best), grid, axis=0)) + best
        np.testing.assert_allclose(found, area, atol=1e-6)


def test_intervals_that_cannot_be_had() -> None:
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(6)]
    wide = {name: rng.integers(0, 9, 300).astype(str) for name in names}
    y = np.arange(300) % 2
    chain = [("y", names[0]), *itertools.pairwise(names)]
    model = BayesNetClassifier("hill-climbing", required=chain, max_parents=2, markov_blanket=False).fit(
        wide, y
    )
    row = {name: [None] for name in names} | {"x5": ["1"]}
    with refuses(UsageError, 59_049, "predict_interval", 4096):
        model.predict_interval(row)
    unlabelled = np.where(np.arange(300) < 200, y, -1)
    em = BayesNetClassifier("naive", semi_supervised=True).fit(wide, unlabelled)
    found = em.predict_interval(row)  # expected counts are counts, and taken as they are
    assert (found.lower <= found.posterior).all() and (found.posterior <= found.upper).all()


def test_pictures() -> None:
    X, y = mixed_rows()
    row = {name: column[0] for name, column in X.items()}
    mine, theirs = BayesNetClassifier("naive", smoothing="laplace").fit(X, y), NaiveBayes().fit(X, y)
    ours, its = (model.nomogram(1, against=0, row=row) for model in (mine, theirs))
    assert ours.total == pytest.approx(its.total, abs=1e-9)
    assert ours.points("colour") == pytest.approx(its.points("colour"), abs=1e-9)
    tan = BayesNetClassifier("tan").fit(X, y)
    with refuses(UsageError, "BayesNetClassifier", "nomogram"):
        tan.nomogram()
    shares = tan.class_profile()["shape"].shares
    states = tan.schema_["shape"].states
    for k in range(3):
        # One imaginary row in all, spread over three classes and three states.
        counts = np.array([(X["shape"][y == k] == state).sum() for state in states]) + 1 / 9
        assert shares[k] == pytest.approx(counts / counts.sum())
    above = {"required": [("colour", "y"), ("y", "size")], "max_parents": 1}
    single = BayesNetClassifier("hill-climbing", **above)
    single.fit({name: X[name] for name in ("colour", "size")}, y)
    assert single.structure_ == {"y": ("colour",), "colour": (), "size": ("y",)}
    chart = single.nomogram(1, against=0, row={name: row[name] for name in ("colour", "size")})
    log_p = single.predict_log_proba({name: X[name][:1] for name in ("colour", "size")})[0]
    assert chart.probability(chart.total) == pytest.approx(1 / (1 + np.exp(log_p[0] - log_p[1])))
    chart = tan.regions("size", "colour", given={"shape": "o"}, grid=5, rows=X, labels=y, lang="zh")
    cell = {"colour": [chart.y.values[1]], "shape": ["o"], "size": [chart.x.values[2]], "weight": [np.nan]}
    assert chart.posterior[1, 2] == pytest.approx(tan.predict_proba(cell)[0])
    assert chart.svg().startswith("<svg")
