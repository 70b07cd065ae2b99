"""Discrete nodes with continuous parents: against integrals, another optimiser, and refusals with a way out."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from bayeskit import BayesianNetwork, read_network
from bayeskit._fitting.networks.network_counts import PRIOR_SD, newton
from bayeskit._inference.gaussian.hybrid import Hybrid
from bayeskit.errors import (
    ImpossibleEvidence,
    ModelFormatError,
    NotSupported,
    SettingError,
    SuspectResult,
    UnseenState,
    UsageError,
)
from bayeskit.networks import Softmax, Table
from refusals import refuses, warns_of

STATES = {
    "sex": ["f", "m"],
    "income": float,
    "buys": ["no", "maybe", "yes"],
    "happy": ["n", "y"],
    "spent": float,
}
GRAPH = {
    "sex": [],
    "income": ["sex"],
    "buys": ["income", "sex"],
    "happy": ["buys"],
    "spent": ["buys", "income"],
}


def shop():
    """Return a network in which what is bought depends on a number, and other nodes on what is bought."""
    network = BayesianNetwork(GRAPH, STATES)
    network.set_cpt("sex", [0.4, 0.6])
    network.set_gaussian("income", {"f": (5, 4), "m": (6, 1)})
    network.set_softmax(
        "buys",
        {
            "f": ({"maybe": -1, "yes": -3}, {"income": {"maybe": 0.2, "yes": 0.6}}),
            "m": ({"yes": -2}, {"income": {"yes": 0.3}}),
        },
    )
    network.set_cpt("happy", [[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])
    network.set_gaussian(
        "spent",
        {"no": (0, {"income": 0.1}, 1), "maybe": (1, {"income": 0.2}, 1), "yes": (2, {"income": 0.5}, 1)},
    )
    return network


def bought(sex, income):
    """P(buys | sex, income), as it is written in the network."""
    scores = {"f": [0, -1 + 0.2 * income, -3 + 0.6 * income], "m": [0, 0, -2 + 0.3 * income]}[sex]
    return np.exp(scores) / np.exp(scores).sum()


def integral(of):
    """Sum and integrate a function of sex and income over their joint distribution."""
    income = {"f": stats.norm(5, 2), "m": stats.norm(6, 1)}
    return sum(
        share * integrate.quad(lambda x, s=s: of(s, x) * income[s].pdf(x), -15, 25, epsabs=1e-12)[0]
        for s, share in {"f": 0.4, "m": 0.6}.items()
    )


def test_exact_answers_where_the_number_is_observed():
    network = shop()
    for sex in "fm":
        found = network.query("buys", {"sex": sex, "income": 7.0})
        np.testing.assert_allclose(found.values, bought(sex, 7.0), atol=1e-14)
    prior = np.array([0.4 * stats.norm.pdf(7, 5, 2), 0.6 * stats.norm.pdf(7, 6, 1)])
    joint = prior[:, None] * [bought("f", 7.0), bought("m", 7.0)]
    seen = {"income": 7.0, "happy": "y"}
    weighted = joint * [0.2, 0.5, 0.9]
    found = network.posteriors(seen)
    np.testing.assert_allclose(found["sex"], weighted.sum(axis=1) / weighted.sum(), atol=1e-13)
    np.testing.assert_allclose(found["buys"], weighted.sum(axis=0) / weighted.sum(), atol=1e-13)
    assert network.log_probability(seen) == pytest.approx(np.log(weighted.sum()), abs=1e-12)
    assert network.mpe({"income": 7.0})["income"] == 7.0
    assert network.approximate("buys", {"income": 7.0}).method == "exact"


def test_a_number_that_is_set_is_as_good_as_observed():
    network = shop().do({"income": 7.0})
    weighted = np.array([[0.4], [0.6]]) * [bought("f", 7.0), bought("m", 7.0)] * np.array([0.2, 0.5, 0.9])
    found = network.posteriors({"happy": "y"})
    np.testing.assert_allclose(found["sex"], weighted.sum(axis=1) / weighted.sum(), atol=1e-13)
    np.testing.assert_allclose(found["buys"], weighted.sum(axis=0) / weighted.sum(), atol=1e-13)
    with refuses(ImpossibleEvidence, "income"):
        network.query("buys", {"income": 3.0})


def test_a_softmax_that_nothing_depends_on_does_not_matter():
    network = shop()
    np.testing.assert_allclose(network.query("sex").values, [0.4, 0.6])
    assert network.query("income", {"sex": "m"}).mean == pytest.approx(6)
    assert network.log_probability({"sex": "f"}) == pytest.approx(np.log(0.4))
    assert network.do({"buys": "yes"}).query("spent", {"sex": "m"}).mean == pytest.approx(2 + 0.5 * 6)


def test_estimates_equal_integrals():
    network = shop()
    wanted = np.array([integral(lambda s, x, k=k: bought(s, x)[k]) for k in range(3)])
    assert wanted.sum() == pytest.approx(1, abs=1e-9)
    found = network.approximate("buys", n_samples=40_000)
    assert found.method == "likelihood weighting"
    assert (np.abs(found.values - wanted) < 4.5 * found.standard_error).all()
    assert found.standard_error.max() < 0.003
    # Below the softmax, and above it.
    happy = np.array([0.2, 0.5, 0.9])
    p = integral(lambda s, x: bought(s, x) @ happy)
    mean = integral(lambda s, x: x * (bought(s, x) @ happy)) / p
    found = network.approximate("income", {"happy": "y"}, n_samples=40_000)
    assert abs(found.mean - mean) < 4.5 * found.standard_error and found.standard_error < 0.02
    shares = np.array([integral(lambda s, x, k=k: bought(s, x)[k]) * happy[k] for k in range(3)]) / p
    found = network.approximate("buys", {"happy": "y"}, n_samples=40_000)
    assert (np.abs(found.values - shares) < 4.5 * found.standard_error).all()
    soft = network.approximate("buys", soft={"happy": [0.0, 2.0]}, n_samples=40_000)
    np.testing.assert_array_equal(soft.values.argmax(), shares.argmax())
    assert (np.abs(soft.values - shares) < 4.5 * soft.standard_error).all()
    # A number observed below it.
    seen = {"spent": 4.0}

    def likely(s, x):
        means = [0.1 * x, 1 + 0.2 * x, 2 + 0.5 * x]
        return bought(s, x) * stats.norm.pdf(4.0, means, 1)

    shares = np.array([integral(lambda s, x, k=k: likely(s, x)[k]) for k in range(3)])
    found = network.approximate("buys", seen, n_samples=40_000)
    assert (np.abs(found.values - shares / shares.sum()) < 4.5 * found.standard_error).all()


def test_samples_and_their_densities():
    network = shop()
    rows = network.sample(20_000, random_state=3)
    np.testing.assert_array_equal(network.sample(5, random_state=3)["spent"], rows["spent"][:5])
    counts = np.array([(rows["buys"] == state).sum() for state in STATES["buys"]])
    wanted = np.array([integral(lambda s, x, k=k: bought(s, x)[k]) for k in range(3)])
    assert stats.chisquare(counts, 20_000 * wanted / wanted.sum()).pvalue > 1e-3
    few = rows.head(20)
    for row, log_p in zip(few.itertuples(), network.log_prob(few), strict=True):
        k = STATES["buys"].index(row.buys)
        income = stats.norm.logpdf(row.income, *{"f": (5, 2), "m": (6, 1)}[row.sex])
        slope, start = [(0.1, 0), (0.2, 1), (0.5, 2)][k]
        own = (
            np.log({"f": 0.4, "m": 0.6}[row.sex])
            + income
            + np.log(bought(row.sex, row.income)[k])
            + np.log(network.cpt("happy")[row.buys, row.happy])
            + stats.norm.logpdf(row.spent, start + slope * row.income, 1)
        )
        assert log_p == pytest.approx(own, abs=1e-10)
    found = network.predict_proba(few, "buys")
    assert found.shape == (20, 3) and found.sum(axis=1) == pytest.approx(np.ones(20))


def rows_of(seed, n=300, size=3, m=2):
    rng = np.random.default_rng(seed)
    z = np.column_stack([np.ones(n), rng.normal(size=(n, m))])
    y = (z @ rng.normal(size=(m + 1, size)) + rng.gumbel(size=(n, size))).argmax(axis=1)
    return z, y, rng.gamma(2, size=n)


@pytest.mark.parametrize("seed", range(4))
def test_newton_finds_what_another_optimiser_finds(seed):
    size = 2 + seed % 2
    z, y, w = rows_of(seed, size=size)

    def loss(theta):
        scores = z @ theta.reshape(size, -1).T
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        return -(w @ logs[np.arange(len(y)), y]) + 0.5 * (theta**2).sum() / PRIOR_SD**2

    def slope(theta):
        # Differences of the loss are too coarse: where they end depends on the machine.
        scores = z @ theta.reshape(size, -1).T
        p = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        return ((p - np.eye(size)[y]) * w[:, None]).T.dot(z).ravel() + theta / PRIOR_SD**2

    found = newton(z, y, w, size)
    assert optimize.check_grad(loss, slope, found.ravel()) < 1e-3
    other = optimize.minimize(
        loss, np.zeros(found.size), jac=slope, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000}
    )
    np.testing.assert_allclose(found.ravel(), other.x, atol=1e-6)
    assert loss(found.ravel()) <= other.fun + 1e-9
    # Whole weights are repeated rows, and the order of states does not matter.
    whole = np.random.default_rng(seed).integers(0, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), whole)
    same = newton(z[repeated], y[repeated], np.ones(len(repeated)), size)
    np.testing.assert_allclose(newton(z, y, whole.astype(float), size), same, atol=1e-9)
    turned = newton(z, size - 1 - y, w, size)
    np.testing.assert_allclose(turned[::-1], found, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 6, 500])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_separated_states_end_at_a_finite_curve(n, scale):
    x = scale * np.linspace(-1, 1, 2 * n)
    rows = {"x": x, "y": np.where(x < 0, "low", "high").tolist()}
    network = BayesianNetwork({"y": ["x"]}, {"x": float, "y": ["low", "high"]}).fit(rows)
    given_ = network.distribution("y")
    assert np.isfinite(given_.intercept).all() and given_.coefficients[1, 0] > 0
    sure = network.query("y", {"x": scale})["high"]
    assert 0.8 < sure <= 1 and given_.coefficients[1, 0] * x.std() < 20 * PRIOR_SD
    again = BayesianNetwork({"y": ["x"]}, {"x": float, "y": ["low", "high"]}).fit(rows)
    assert again.distribution("y") == given_  # to the bit


def test_learning_from_rows():
    truth = shop()
    rows = truth.sample(20_000, random_state=5)
    network = BayesianNetwork(GRAPH, STATES).fit(rows)
    for name in GRAPH:
        if name != "buys":
            expected = BayesianNetwork({**GRAPH, "buys": ["sex"]}, STATES).fit(rows).distribution(name)
            assert network.distribution(name) == expected
    found, wanted = network.distribution("buys"), truth.distribution("buys")
    np.testing.assert_allclose(found.intercept, wanted.intercept, atol=0.5)
    np.testing.assert_allclose(found.coefficients, wanted.coefficients, atol=0.08)
    assert network.n_rows_ == 20_000 and network.n_parameters == 1 + 4 + 8 + 3 + 9
    # Rows with a missing cell are left out of the families that need it; rows of no weight everywhere.
    with_gaps = rows.copy()
    with_gaps.loc[:99, "income"] = np.nan
    left = BayesianNetwork(GRAPH, STATES).fit(with_gaps).distribution("buys")
    whole = BayesianNetwork(GRAPH, STATES).fit(rows.iloc[100:]).distribution("buys")
    np.testing.assert_allclose(left.coefficients, whole.coefficients, atol=1e-9)
    weights = np.r_[np.zeros(100), np.ones(19_900)]
    weighted = BayesianNetwork(GRAPH, STATES).fit(rows, sample_weight=weights).distribution("buys")
    np.testing.assert_allclose(weighted.coefficients, whole.coefficients, atol=1e-9)


def test_a_configuration_without_rows_and_a_constant_number():
    states = {"a": ["p", "q"], "x": float, "y": ["n", "j"]}
    rows = {"a": ["p"] * 4, "x": [3.0] * 4, "y": ["n", "j", "j", "j"]}
    network = BayesianNetwork({"a": [], "x": [], "y": ["a", "x"]}, states).fit(rows)
    assert network.query("y", {"a": "q", "x": 1.0}).values.tolist() == [0.5, 0.5]
    assert network.query("y", {"a": "p", "x": 3.0})["j"] == pytest.approx(0.75, abs=0.01)
    assert network.distribution("y").coefficients.tolist() == [[[0.0], [0.0]], [[0.0], [0.0]]]


@given(st.integers(0, 2**31))
def test_files_and_equality(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 3).tolist()
    states = {name: [f"{name}{i}" for i in range(s)] for name, s in zip("abc", sizes, strict=True)}
    states |= {"x": float, "y": float}
    network = BayesianNetwork({"a": [], "b": [], "x": [], "y": [], "c": ["x", "a", "y", "b"]}, states)
    made = Softmax(rng.normal(size=(*sizes[:2], sizes[2])), rng.normal(size=(*sizes, 2)))
    network.set_cpt("c", made)
    again = type(network)._of(read_json(network))
    assert again == network and again.distribution("c") == made
    assert pickle.loads(pickle.dumps(network)) == network
    # States and parents in another order are the same distribution.
    order = [rng.permutation(s) for s in sizes]
    turned = {n: [states[n][k] for k in o] for n, o in zip("abc", order, strict=True)}
    other = BayesianNetwork(
        {"a": [], "b": [], "x": [], "y": [], "c": ["b", "y", "x", "a"]}, {**states, **turned}
    )
    swap = Softmax(
        made.intercept[np.ix_(*order)].transpose(1, 0, 2),
        made.coefficients[np.ix_(*order)].transpose(1, 0, 2, 3)[..., ::-1],
    )
    other.set_cpt("c", swap)
    assert other == network
    if sizes[2] > 1:
        other.set_cpt("c", Softmax(swap.intercept + np.eye(sizes[2])[0], swap.coefficients))
        assert other != network


def read_json(network):
    from bayeskit._io.networks.native_json import read_native

    return read_native(network.to_json().encode())


def test_the_first_state_is_the_reference():
    shifted = Softmax([1.0, 3.0], [[2.0], [2.5]])
    assert shifted == Softmax([0.0, 2.0], [[0.0], [0.5]]) and shifted.size == 2
    assert shifted != Softmax([0.0, 2.0], [[0.0], [0.6]])
    far = np.exp(shifted.log_rows(np.zeros((2, 0), np.int64), np.array([[1e6], [-1e6]])))
    assert far.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def logistic():
    network = BayesianNetwork({"y": ["x"], "z": []}, {"x": float, "y": ["n", "j"], "z": ["n", "j"]})
    network.set_gaussian("x", 0, variance=1)
    network.set_softmax("y", -1, {"x": 2})
    network.set_cpt("z", [0.5, 0.5])
    return network


@pytest.mark.parametrize(
    ("ask", "names"),
    [
        (lambda n: n.query("y"), ["y", "x", "approximate"]),
        (lambda n: n.posteriors(), ["y", "x", "approximate"]),
        (lambda n: n.query("x", {"y": "j"}), ["y", "x", "approximate"]),
        (lambda n: n.log_probability({"y": "j"}), ["y", "x", "approximate"]),
        (lambda n: n.mpe(), ["y", "x", "approximate"]),
        (lambda n: n.map("y"), ["y", "x", "approximate"]),
        (lambda n: n.sample(3, evidence={"y": "j"}), ["y", "x", "approximate"]),
        (lambda n: n.log_prob({"y": ["j"]}), ["y", "x", "approximate"]),
        (lambda n: n.fit({"x": [1.0], "y": ["j"], "z": ["n"]}, method="em"), ["EM", "y"]),
        (lambda n: n.partial_fit({"x": [1.0], "y": ["j"], "z": ["n"]}), ["partial_fit", "y"]),
        (lambda n: n.forget({"x": [1.0], "y": ["j"], "z": ["n"]}), ["forget", "y"]),
        (lambda n: n.merge(n), ["merge", "y"]),
    ],
)
def test_what_has_no_exact_answer_is_refused_with_the_way_out(ask, names):
    with refuses(NotSupported, *names):
        ask(logistic())


@pytest.mark.parametrize(
    ("do", "error", "names"),
    [
        (lambda n: n.set_cpt("y", [0.5, 0.5]), SettingError, ["y", "x", "set_softmax"]),
        (lambda n: n.set_deterministic("y", {}), SettingError, ["y", "x", "set_softmax"]),
        (lambda n: n.cpt("y"), SettingError, ["y", "x"]),
        (lambda n: n.set_softmax("z", 1, {}), SettingError, ["z", "set_cpt"]),
        (lambda n: n.set_softmax("x", 1, {}), SettingError, ["x", "set_gaussian"]),
        (lambda n: n.set_softmax("y", 1), SettingError, ["y"]),
        (lambda n: n.set_softmax("y", 1, {}), SettingError, ["y", "x"]),
        (lambda n: n.set_softmax("y", 1, {"z": 1}), SettingError, ["z", "x"]),
        (lambda n: n.set_softmax("y", np.nan, {"x": 1}), SettingError, ["y", "nan"]),
        (lambda n: n.set_softmax("y", "a", {"x": 1}), SettingError, ["y", "a"]),
        (lambda n: n.set_softmax("y", {"k": 1}, {"x": 1}), UnseenState, ["y", "k"]),
        (lambda n: n.set_cpt("y", Softmax([0, 1, 2], np.zeros((3, 1)))), SettingError, ["y", (3,), (2,)]),
        (lambda n: n.set_cpt("y", Softmax([0, np.inf], np.zeros((2, 1)))), SettingError, ["y", "inf"]),
        (lambda n: shop().set_softmax("buys", 1, {"income": 1}), SettingError, ["buys", "sex"]),
        (lambda n: shop().set_softmax("buys", {"f": 1, "m": 2}), SettingError, ["buys", 1]),
        (lambda n: shop().set_softmax("buys", {"f": (1, {"income": 1})}), SettingError, ["buys", 3]),
        (lambda n: n.approximate("y", method="gibbs"), SettingError, ["y", "x", "gibbs"]),
        (lambda n: n.approximate("z", method="rejection"), SettingError, ["y", "x", "rejection"]),
        (lambda n: n.write("never.net"), SettingError, ["y"]),
        (lambda n: n.write("never.bif"), SettingError, ["x"]),
        (
            lambda n: BayesianNetwork({"y": ["x"]}, {"x": float, "y": ["a"]}).distribution("y"),
            UsageError,
            ["y", "set_softmax"],
        ),
        (
            lambda n: BayesianNetwork({"y": ["x"]}, {"x": float}).set_softmax("y", 0, {"x": 1}),
            UsageError,
            ["y"],
        ),
    ],
)
def test_bad_input(do, error, names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refuses(error, *names):
        do(logistic())
    assert not list(tmp_path.iterdir())


def test_forged_files_are_refused():
    good = json.loads(logistic().to_json())
    place = next(i for i, node in enumerate(good["nodes"]) if node["name"] == "y")

    def forged(**changes):
        made = json.loads(json.dumps(good))
        made["nodes"][place]["distribution"].update(changes)
        return json.dumps(made).encode()

    from bayeskit._io.networks.native_json import read_native

    assert BayesianNetwork._of(read_native(forged())) == logistic()
    for changes in (
        {"intercepts": [[0.0]]},
        {"intercepts": [[0.0, 1.0], [0.0, 1.0]]},
        {"coefficients": [[0.0, 1.0, 2.0]]},
        {"coefficients": [["a", 1.0]]},
        {"intercepts": [[0.0, True]]},
        {"kind": "table", "rows": [[0.5, 0.5]]},
        {"kind": "linear-gaussian"},
    ):
        with refuses(ModelFormatError, "y"):
            read_native(forged(**changes))
    bare = json.loads(json.dumps(good))
    bare["nodes"][place]["parents"] = []
    with refuses(ModelFormatError, "y"):
        read_native(json.dumps(bare).encode())


def test_an_explanation_where_the_number_is_observed():
    seen = {"income": 7.0, "happy": "y"}
    page = shop().explain("buys", seen)
    np.testing.assert_allclose(
        [float(p) for p in page.exact_posterior], shop().query("buys", seen).values, atol=1e-12
    )
    with refuses(SettingError, "income"):
        shop().explain("sex", {"buys": "yes"})


def test_pages_and_pictures():
    network = shop()
    html = network._repr_html_()
    assert "log odds" in html and "0.6 · income" in html
    with warns_of(SuspectResult, "buys", "income"):
        network.plot()
    assert network.summary().to_dict()["parameters"] == 25
    assert "buys" in repr(network)


def test_a_saved_network_is_read_again(tmp_path):
    shop().write(tmp_path / "shop.json")
    assert read_network(tmp_path / "shop.json") == shop()


def test_edits_of_the_graph():
    network = logistic()
    network.add_arc("x", "z")
    with refuses(UsageError, "z", "set_softmax"):
        network.sample(2)
    network.set_softmax("z", {"n": 1}, {"x": {"n": 1}})
    np.testing.assert_allclose(network.query("z", {"x": 1.0})["n"], 1 / (1 + np.exp(-2)))
    network.remove_arc("x", "z")
    network.set_cpt("z", [0.5, 0.5])
    network.set_states("y", ["no", "yes"])
    network.rename({"y": "w"})
    assert network.query("w", {"x": 0.5})["yes"] == pytest.approx(0.5)
    assert isinstance(network.do({"w": [0.25, 0.75]}).distribution("w"), Table)


def test_rows_with_holes_share_one_engine(monkeypatch):
    """The same answers as one query a row, which builds an engine of its own; the rows build one together."""
    made = []
    begin = Hybrid.__init__
    monkeypatch.setattr(Hybrid, "__init__", lambda self, network: (made.append(1), begin(self, network))[1])
    network = shop()
    rows = network.sample(20, random_state=0)
    rows = {name: list(rows[name]) for name in ("income", "sex", "spent", "happy")}
    rows["spent"] = [None if i % 2 else x for i, x in enumerate(rows["spent"])]
    rows["sex"] = [None if i % 3 else x for i, x in enumerate(rows["sex"])]
    found, logs = network.predict_proba(rows, "buys"), network.log_prob(rows)
    assert sum(made) == 1
    for i in range(20):
        evidence = {name: cells[i] for name, cells in rows.items() if cells[i] is not None}
        alone = shop()
        np.testing.assert_allclose(found[i], alone.query("buys", evidence=evidence).values, atol=1e-14)
        assert abs(logs[i] - alone.log_probability(evidence)) < 1e-12
