"""Nodes with more causes than any table holds: everything that does not need the table works, and never makes it."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import bayeskit._inference.exact as exact
import bayeskit._inference.potentials as potentials
from bayeskit import BayesianNetwork, read_network
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit.errors import BayeskitError, ImpossibleEvidence, SettingError, TooLarge
from bayeskit.networks import Deterministic, NoisyMax, Table
from refusals import refuses

NO_YES = ["no", "yes"]
WIDTHS = [27, 60, 500]


def clinic(n, leak=0.05, strength=0.6, continuous=False):
    """``smoke`` → ``cough`` beside n causes of ``fever``, one of them below ``smoke``; ``bed`` below ``fever``."""
    causes = [f"c{i}" for i in range(n)]
    parents = {"smoke": [], "cough": ["smoke"], "c0": ["smoke"], **{c: [] for c in causes[1:]}}
    parents |= {"fever": causes, "bed": ["fever"]}
    states = dict.fromkeys(parents, NO_YES)
    if continuous:
        parents["pulse"], states["pulse"] = ["smoke"], float
    network = BayesianNetwork(parents, states=states)
    network.set_cpt("smoke", [0.7, 0.3])
    network.set_cpt("cough", [[0.9, 0.1], [0.25, 0.75]])
    network.set_cpt("c0", [[0.95, 0.05], [0.5, 0.5]])
    network.set_cpt("bed", [[0.9, 0.1], [0.2, 0.8]])
    for c in causes[1:]:
        network.set_cpt(c, [1 - 2 / n, 2 / n])
    network.set_noisy_or("fever", dict.fromkeys(causes, strength), leak)
    if continuous:
        network.set_gaussian("pulse", {"no": (60.0, 25.0), "yes": (70.0, 25.0)})
    return network


def sickness(n):
    """A noisy-MAX of n causes of three states."""
    causes = [f"c{i}" for i in range(n)]
    states = {**{c: ["none", "some", "much"] for c in causes}, "fever": ["none", "mild", "high"]}
    network = BayesianNetwork({**{c: [] for c in causes}, "fever": causes}, states=states)
    for c in causes:
        network.set_cpt(c, [0.9, 0.07, 0.03])
    effect = {"some": [0.7, 0.25, 0.05], "much": [0.3, 0.4, 0.3]}
    network.set_noisy_max("fever", dict.fromkeys(causes, effect), [0.95, 0.04, 0.01])
    return network


@pytest.fixture
def no_table(monkeypatch):
    """A table of more cells than this is never made, not even in passing."""

    def guarded(make):
        def method(self, *args):
            made = make(self, *args)
            if made.size > 2**20:
                raise AssertionError(f"{made.size} cells of a wide node were made")
            return made

        return method

    monkeypatch.setattr(NoisyMax, "table", _refused)
    monkeypatch.setattr(NoisyMax, "log_at", guarded(NoisyMax.log_at))


def _refused(self):
    raise AssertionError("the table of a wide node was asked for")


# --- the rule and its table say the same -----------------------------------------------------------------------------


def random_rows(rng, n, size, zeros=0.25):
    rows = rng.dirichlet(np.ones(size), n)
    dropped = rng.random(rows.shape) < zeros
    rows = np.where(dropped & ~dropped.all(axis=1, keepdims=True), 0.0, rows)
    return rows / rows.sum(axis=1, keepdims=True)


def random_rule(rng, sizes, size):
    if rng.random() < 0.25:
        return Deterministic(rng.integers(0, size, tuple(sizes)), size)
    causes = tuple(random_rows(rng, n, size) for n in sizes)
    return NoisyMax(causes, random_rows(rng, 1, size)[0], bool(rng.integers(2)))


def same_as_cells(rule, codes):
    """Check everything that a rule says without its table against the table."""
    table = rule.table()
    place = tuple(slice(None) if code < 0 else code for code in codes)
    assert np.exp(rule.log_at(codes)) == pytest.approx(table[place], abs=1e-12)
    assert rule.is_positive(codes) == bool((table[place] > 0.0).all())
    rows = np.array(list(np.ndindex(*table.shape)), np.int64)
    assert np.exp(rule.log_prob(rows)) == pytest.approx(table.ravel(), abs=1e-12)
    every = np.exp(rule.log_rows(rows[:, :-1]))
    assert every[np.arange(len(rows)), rows[:, -1]] == pytest.approx(table.ravel(), abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_a_rule_agrees_with_its_table(seed):
    rng = np.random.default_rng(seed)
    sizes, size = rng.integers(1, 4, int(rng.integers(0, 5))).tolist(), int(rng.integers(1, 5))
    rule = random_rule(rng, sizes, size)
    codes = [int(rng.integers(-1, n)) for n in (*sizes, size)]
    same_as_cells(rule, codes)
    same_as_cells(Table(rule.table()), codes)


def random_rules(rng, n=7):
    """A network most nodes of which are rules."""
    sizes = rng.integers(1, 4, n).tolist()
    nodes = []
    for k in range(n):
        above = rng.choice(k, min(k, int(rng.integers(0, 4))), replace=False).tolist() if k else []
        parents = [sizes[p] for p in above]
        if above and rng.random() < 0.7:
            given = random_rule(rng, parents, sizes[k])
        else:
            given = Table(rng.dirichlet(np.ones(sizes[k]), parents))
        nodes.append(Node(discrete(f"x{k}", range(sizes[k])), tuple(f"x{p}" for p in above), given))
    return BayesianNetwork._of(Network(tuple(nodes)))


def answers(network, rng):
    """Return what many questions are answered with; the error's class where one is refused."""
    names = list(network.nodes)
    target, other, *seen = rng.permutation(names).tolist()
    evidence = {name: rng.choice(network.states(name)).item() for name in seen[: int(rng.integers(0, 4))]}
    soft = {other: rng.random(len(network.states(other))).tolist()}
    rows = np.column_stack([rng.integers(0, len(network.states(name)), 12) for name in names])
    holes = np.where(rng.random(rows.shape) < 0.3, -1, rows)
    asked = [
        lambda: network.query(target, evidence=evidence).values,
        lambda: network.query([target, other], evidence=evidence).values,
        lambda: network.query(target, evidence=evidence, soft=soft).values,
        lambda: np.concatenate(list(network.posteriors(evidence).values())),
        lambda: network.log_probability(evidence),
        lambda: network.mpe(evidence).log_probability,
        lambda: network.map([target, other], evidence).log_probability,
        lambda: network.entropy(evidence=evidence),
        lambda: network.log_prob(rows),
        lambda: network.log_prob(holes),
        lambda: network.predict_proba(rows, target, impossible="error"),
        lambda: network.predict_proba(holes, target, impossible="error"),
        lambda: network.sample(50, random_state=1, as_codes=True),
        lambda: network.sample(50, random_state=1, evidence=evidence, as_codes=True),
        lambda: (
            network.approximate(
                target, evidence=evidence, soft=soft, method="likelihood weighting", n_samples=200
            ).values
        ),
        lambda: network.approximate(target, evidence=evidence, method="rejection", n_samples=200).values,
        lambda: network.approximate(target, evidence=evidence, method="gibbs", n_samples=200).values,
        lambda: network.approximate(target, evidence=evidence, method="loopy").values,
        lambda: [float(p) for p in network.explain(target, evidence).exact_posterior],
    ]
    found = []
    for ask in asked:
        try:
            found.append(np.asarray(ask(), np.float64))
        except (BayeskitError, ValueError) as error:
            found.append(type(error))
    return found


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
@pytest.mark.parametrize("small_tree", [exact.SMALL_TREE, 0.0])
@pytest.mark.parametrize("seed", range(25))
def test_every_question_has_the_answer_of_the_tables(seed, small_tree, monkeypatch):
    """Nothing laid out, and everything laid out; with one tree for all questions, and with a tree for each."""
    monkeypatch.setattr(exact, "SMALL_TREE", small_tree)
    network = random_rules(np.random.default_rng(seed))
    expected = answers(network.copy(), np.random.default_rng(1000 + seed))
    monkeypatch.setattr(potentials, "LARGEST_LAID_OUT", 0)
    for one, other in zip(expected, answers(network, np.random.default_rng(1000 + seed)), strict=True):
        if isinstance(one, type):
            assert one is other
        else:
            assert other == pytest.approx(one, abs=1e-9)


def test_a_rule_of_seventeen_parents_has_no_table_either(monkeypatch):
    """A function of many parents, each cell of which is a row of zeros and a one."""
    n = 17
    names = [f"x{i}" for i in range(n)]
    network = BayesianNetwork({**{x: [] for x in names}, "odd": names}, states=[0, 1])
    for x in names:
        network.set_cpt(x, [0.75, 0.25])
    network.set_deterministic("odd", lambda *states: sum(states) % 2)
    monkeypatch.setattr(Deterministic, "table", _refused)
    assert network.query("x3").values == pytest.approx([0.75, 0.25])
    seen = dict.fromkeys(names[1:], 1) | {"odd": 1}
    assert network.query("x0", evidence=seen).values == pytest.approx([0, 1])
    assert network.query("odd")[1] == pytest.approx((1 - 0.5**n) / 2)
    drawn = network.sample(500, random_state=0, as_codes=True)
    assert (drawn[:, :n].sum(axis=1) % 2 == drawn[:, n]).all()
    assert np.isfinite(network.log_prob(drawn)).all()


@dataclass(frozen=True)
class Majority:
    """One where more than half of the parents are one, else zero, but for a small error: a kind of its own."""

    n: int
    error: float = 0.125

    @property
    def n_numbers(self):
        return 1

    def table(self):
        raise AssertionError("too many cells")

    def log_rows(self, parents):
        ones = parents.sum(axis=1) * 2 > self.n
        p = np.where(ones, 1 - self.error, self.error)
        return np.log(np.column_stack([1 - p, p]))

    def log_prob(self, codes):
        return self.log_rows(codes[:, :-1])[np.arange(len(codes)), codes[:, -1]]

    def log_at(self, codes):
        free = [k for k, code in enumerate(codes[:-1]) if code < 0]
        rows = np.tile(np.maximum(codes[:-1], 0), (2 ** len(free), 1))
        rows[:, free] = np.array(list(np.ndindex(*[2] * len(free)))).reshape(len(rows), len(free))
        logs = self.log_rows(rows).reshape([2] * len(free) + [2])
        return logs if codes[-1] < 0 else np.array(logs[..., codes[-1]])

    def is_positive(self, codes):
        return True


def test_another_kind_of_rule_needs_no_change_elsewhere():
    n = 61
    voters = [Node(discrete(f"v{i}", (0, 1)), (), Table([0.5, 0.5])) for i in range(n)]
    vote = Node(discrete("vote", (0, 1)), tuple(v.name for v in voters), Majority(n))
    network = BayesianNetwork._of(Network((*voters, vote)))
    assert network.query("v0").values == pytest.approx([0.5, 0.5])
    assert network.query("vote", evidence={f"v{i}": 1 for i in range(n)})[1] == pytest.approx(0.875)
    split = {f"v{i}": i % 2 for i in range(1, n)}
    assert network.query("v0", evidence={**split, "vote": 1})[1] == pytest.approx(0.875)
    found = network.approximate("vote", method="likelihood weighting", n_samples=4_000)
    assert abs(found[1] - 0.5) < 5 * found.standard_error[1]
    with pytest.raises(TooLarge):
        network.query("vote")


# --- wide ones ------------------------------------------------------------------------------------------------------


def absent(network, *but):
    """Return every node in its first state, but for some."""
    return {name: network.states(name)[0] for name in network.nodes if name not in but}


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.usefixtures("no_table")
def test_questions_that_do_not_need_it(n):
    network = clinic(n)
    assert network.query("smoke").values == pytest.approx([0.7, 0.3])
    smoke = np.array([0.7 * 0.1, 0.3 * 0.75])
    assert network.query("smoke", evidence={"cough": "yes"}).values == pytest.approx(smoke / smoke.sum())
    assert network.query(["cough", "c1"]).values.sum() == pytest.approx(1)
    # Separated by what is observed: whatever the fever says of its causes, smoke is known.
    seen = {"fever": "yes", "smoke": "yes"}
    assert network.query("cough", evidence=seen).values == pytest.approx([0.25, 0.75])
    assert network.query("bed", evidence={"fever": "yes"}).values == pytest.approx([0.2, 0.8])
    assert network.log_probability({"cough": "yes"}) == pytest.approx(math.log(smoke.sum()))
    assert network.map(["cough"], {"smoke": "yes"})["cough"] == "yes"
    assert network.mutual_information("smoke", "cough") > 0
    assert [row.name for row in network.ask_next("smoke", candidates=["cough", "c1"])] == ["cough", "c1"]


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.usefixtures("no_table")
def test_without_a_leak_too(n):
    """A fever without a cause is impossible; that some cause can bring it about is found out without the table."""
    network = clinic(n, leak=0.0)
    seen = {"fever": "yes", "smoke": "yes"}
    assert network.query("cough", evidence=seen).values == pytest.approx([0.25, 0.75])
    with pytest.raises(ImpossibleEvidence) as refused:
        network.query("smoke", evidence={**absent(network, "smoke", "fever"), "fever": "yes"})
    assert refused.value.evidence["fever"] == "yes"


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.usefixtures("no_table")
def test_the_slice_of_what_is_observed(n):
    """Observed causes become part of the leak; a few free ones make a small table."""
    network = clinic(n)
    none = absent(network, "fever", "bed")
    assert network.query("fever", evidence=none)["yes"] == pytest.approx(0.05)
    two = {**none, "c1": "yes", "c2": "yes"}
    assert network.query("fever", evidence=two)["no"] == pytest.approx(0.95 * 0.4**2)
    seen = {**absent(network, "c1", "c2", "bed"), "fever": "yes"}
    prior = np.outer([1 - 2 / n, 2 / n], [1 - 2 / n, 2 / n])
    fever = 1 - 0.95 * 0.4 ** np.array([[0, 1], [1, 2]])
    expected = prior * fever / (prior * fever).sum()
    assert network.query(["c1", "c2"], evidence=seen).values == pytest.approx(expected)
    assert network.posteriors(seen)["c1"] == pytest.approx(expected.sum(axis=1))
    assert network.posteriors(two)["fever"] == pytest.approx([0.152, 0.848])
    assert network.mpe(seen)["c1"] == "no"
    best = np.unravel_index(expected.argmax(), (2, 2))
    assert network.map(["c1", "c2"], seen)["c1"] == NO_YES[best[0]]
    total = (prior * fever).sum() * 0.7 * 0.9 * 0.95 * (1 - 2 / n) ** (n - 3)
    assert network.log_probability(seen) == pytest.approx(math.log(total))


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.usefixtures("no_table")
def test_rows(n):
    network = clinic(n)
    rows = {name: ["no", "no", "yes"] for name in network.nodes}
    rows["fever"], rows["bed"] = ["no", "yes", "no"], ["no", "no", "no"]
    shared = 0.7 * 0.9 * 0.95 * (1 - 2 / n) ** (n - 1)
    every = 0.3 * 0.75 * 0.5
    expected = [
        math.log(shared * 0.95 * 0.9),
        math.log(shared * 0.05 * 0.2),
        # 0.4**500 is no number, its logarithm is
        math.log(every * 0.95 * 0.9) + (n - 1) * math.log(2 / n) + n * math.log(0.4),
    ]
    assert network.log_prob(rows) == pytest.approx(expected, rel=1e-12)
    assert network.log_likelihood(rows) == pytest.approx(sum(expected))
    holes = {name: column for name, column in rows.items() if name != "cough"}
    assert network.log_prob(holes)[:2] == pytest.approx(np.array(expected)[:2] - math.log(0.9))
    fever = network.predict_proba({**rows, "bed": [None] * 3}, "fever")
    assert fever[:2] == pytest.approx(np.array([[0.95, 0.05]] * 2))
    assert fever[2] == pytest.approx([0, 1], abs=1e-9)
    cause = np.array([1 - 2 / n, 2 / n]) * [0.05, 1 - 0.95 * 0.4]
    assert network.predict_proba(rows, "c1")[1] == pytest.approx(cause / cause.sum())
    assert network.predict_proba({"smoke": ["yes"]}, "cough") == pytest.approx(np.array([[0.25, 0.75]]))
    assert network.predict(rows, "smoke").tolist() == ["no", "no", "yes"]


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.usefixtures("no_table")
def test_rows_drawn(n):
    network = clinic(n)
    drawn = network.sample(20_000, random_state=1, as_codes=True)
    fever = network.nodes.index("fever")
    causes = [k for k, name in enumerate(network.nodes) if name in network.parents("fever")]
    missing = 0.95 * 0.4 ** drawn[:, causes].sum(axis=1)
    error = math.sqrt((missing * (1 - missing)).mean() / len(drawn))
    assert abs((drawn[:, fever] == 0).mean() - missing.mean()) < 5 * error
    assert np.array_equal(network.sample(100, random_state=1, as_codes=True), drawn[:100])
    known = network.sample(5_000, random_state=2, evidence={"smoke": "yes"}, as_codes=True)
    assert (known[:, network.nodes.index("smoke")] == 1).all()
    assert known[:, network.nodes.index("c0")].mean() == pytest.approx(0.5, abs=0.05)
    # All but two causes are known: the rest is a small table, and exact.
    seen = {**absent(network, "c1", "c2", "bed", "fever"), "fever": "yes"}
    pairs = network.sample(20_000, random_state=3, evidence=seen, as_codes=True)
    expected = network.query("c1", evidence=seen)["yes"]
    assert abs(pairs[:, network.nodes.index("c1")].mean() - expected) < 5 * math.sqrt(
        expected * (1 - expected) / 20_000
    )


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("method", ["likelihood weighting", "rejection"])
@pytest.mark.usefixtures("no_table")
def test_estimates(n, method):
    """Evidence below the wide node: P(c1 | bed) by hand, since all causes but c0 are alike."""
    network = clinic(n)
    found = network.approximate("c1", evidence={"bed": "yes"}, method=method, n_samples=50_000)
    free = 0.95 * (1 - 2 / n * 0.6) ** (n - 2) * (1 - 0.6 * (0.7 * 0.05 + 0.3 * 0.5))
    cause = np.array([1 - 2 / n, 2 / n])
    missing = free * np.array([1, 0.4])
    expected = cause * (0.1 * missing + 0.8 * (1 - missing))
    expected /= expected.sum()
    assert (np.abs(found.values - expected) < 5 * found.standard_error).all()
    assert found.standard_error.max() < 0.02
    soft = network.approximate("fever", soft={"fever": [0.0, 1.0]}, method=method)
    assert soft.values == pytest.approx([0, 1])


@pytest.mark.parametrize("n", [27, 60])
@pytest.mark.usefixtures("no_table")
def test_methods_that_need_the_table_say_so_only_where_they_do(n):
    network = clinic(n)
    for method in ("gibbs", "loopy"):
        assert network.approximate("smoke", evidence={"cough": "yes"}, method=method)["yes"] == pytest.approx(
            0.7627, abs=0.05
        )
        seen = {**absent(network, "c1", "c2", "bed"), "fever": "yes"}
        found = network.approximate("c1", evidence=seen, method=method, n_samples=4_000)
        assert found["yes"] == pytest.approx(network.query("c1", evidence=seen)["yes"], abs=0.05)
        with refuses(TooLarge, 'method="likelihood weighting"') as refused:
            network.approximate("c1", evidence={"bed": "yes"}, method=method)
        assert refused.value.cells == 2 ** (n + 1) and refused.value.largest[-1] == "fever"


def no_effect(n, smoke=None):
    """Return P(fever = no) by hand, given smoke or not; all causes but c0 are alike."""
    c0 = {None: 0.7 * 0.05 + 0.3 * 0.5, "no": 0.05, "yes": 0.5}[smoke]
    return 0.95 * (1 - 2 / n * 0.6) ** (n - 1) * (1 - 0.6 * c0)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.usefixtures("no_table")
def test_questions_about_a_wide_node_are_answered_exactly(n):
    network = clinic(n)
    no = no_effect(n)
    assert network.query("fever").values == pytest.approx([no, 1 - no], rel=1e-12)
    assert network.entropy("fever") == pytest.approx(-no * math.log(no) - (1 - no) * math.log(1 - no))
    assert network.log_probability({"fever": "yes"}) == pytest.approx(math.log(1 - no), rel=1e-12)
    assert network.log_prob({"fever": ["yes", "no"]}) == pytest.approx(np.log([1 - no, no]), rel=1e-12)
    cause, other = np.array([1 - 2 / n, 2 / n]), no / (1 - 2 / n * 0.6) * np.array([1, 0.4])
    bed = cause * (0.1 * other + 0.8 * (1 - other))
    assert network.query("c1", evidence={"bed": "yes"}).values == pytest.approx(bed / bed.sum(), rel=1e-12)
    assert network.predict_proba({"bed": ["yes"]}, "c1")[0] == pytest.approx(bed / bed.sum(), rel=1e-12)
    assert network.posteriors({"bed": "yes"})["c1"] == pytest.approx(bed / bed.sum(), rel=1e-12)
    assert network.map(["c1"], {"bed": "yes"})["c1"] == "no"
    smoke = np.array([0.7 * (1 - no_effect(n, "no")), 0.3 * (1 - no_effect(n, "yes"))])
    assert network.query("smoke", evidence={"fever": "yes"}).values == pytest.approx(smoke / smoke.sum())
    drawn = network.sample(4_000, random_state=0, evidence={"fever": "yes"}, as_codes=True)
    assert drawn.shape == (4_000, n + 4) and (drawn[:, network.nodes.index("fever")] == 1).all()
    expected = smoke[1] / smoke.sum()
    assert drawn[:, 0].mean() == pytest.approx(expected, abs=5 * math.sqrt(expected / 4_000))


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.usefixtures("no_table")
def test_what_needs_the_table_is_refused_with_a_way_out_that_works(n):
    """The states of all nodes at once: hidden variables may be summed out, but not maximised over."""
    network = clinic(n)
    for evidence in ({}, {"fever": "yes"}):
        with refuses(TooLarge, "approximate") as refused:
            network.mpe(evidence)
        assert refused.value.cells >= 2**n and "c1" in refused.value.largest
    assert network.mpe({"fever": "no"})["c1"] == "no"
    assert network.approximate("fever")["yes"] > 0
    with refuses(TooLarge, "distribution('fever')"):
        network.cpt("fever")


def test_an_effect_that_would_underflow():
    """200 certain causes, each of which leaves the effect out once in a hundred times: 1e-400 is no number."""
    network = clinic(200, strength=0.99)
    seen = {f"c{i}": "yes" for i in range(200)}
    log_seen = network.log_probability(seen)
    assert network.log_probability({**seen, "fever": "no"}) == pytest.approx(
        log_seen + math.log(0.95) + 200 * math.log(0.01), rel=1e-12
    )
    few = {f"c{i}": "yes" for i in range(190)}
    assert np.isfinite(network.log_probability({**few, "fever": "no"}))
    assert network.query("c195", evidence={**few, "fever": "no"})["yes"] == pytest.approx(
        0.01 * 0.01 / (0.01 * 0.01 + 0.99), rel=1e-9
    )


# --- two layers: diseases and findings --------------------------------------------------------------------------------


def two_layers(rng, n_diseases, n_findings, most, zeros=0.1):
    """Diseases without parents; findings that are the noisy-OR, or the noisy-MAX, of up to ``most`` of them."""
    nodes = [Node(discrete(f"d{i}", (0, 1)), (), Table(rng.dirichlet([1, 9]))) for i in range(n_diseases)]
    for j in range(n_findings):
        size = int(rng.integers(2, 4))
        above = rng.choice(n_diseases, int(rng.integers(1, most + 1)), replace=False).tolist()
        causes = tuple(random_rows(rng, 2, size, zeros) for _ in above)
        rule = NoisyMax(causes, rng.dirichlet([20, *[1] * (size - 1)]), bool(rng.integers(2)))
        nodes.append(Node(discrete(f"f{j}", range(size)), tuple(f"d{i}" for i in above), rule))
    return Network(tuple(nodes))


@pytest.mark.parametrize("laid_out", [potentials.LARGEST_LAID_OUT, 0])
@pytest.mark.parametrize("seed", range(20))
def test_two_layers_against_enumeration(seed, laid_out, monkeypatch):
    rng = np.random.default_rng(seed)
    value = two_layers(rng, 8, 6, 6)
    rows = np.array(list(np.ndindex(*[2] * 8)), np.int64)
    codes = {f"f{j}": int(rng.integers(0, value[f"f{j}"].variable.size)) for j in range(5)}
    weights = np.zeros(len(rows))
    for i in range(8):
        weights += value[f"d{i}"].distribution.log_prob(rows[:, [i]])
    for name, code in codes.items():
        above = [int(parent[1:]) for parent in value[name].parents]
        weights += value[name].distribution.log_prob(
            np.column_stack([rows[:, above], np.full(len(rows), code)])
        )
    weights = np.exp(weights)
    monkeypatch.setattr(exact, "SMALL_TREE", 0.0)
    monkeypatch.setattr(exact, "LARGEST_CACHED", 0.0)
    monkeypatch.setattr(potentials, "LARGEST_LAID_OUT", laid_out)
    for most_hidden in (4096, 0):
        monkeypatch.setattr(exact, "MOST_HIDDEN", most_hidden)
        network = BayesianNetwork._of(value)
        if not weights.sum():
            with pytest.raises(ImpossibleEvidence):
                network.query("d0", evidence=codes)
            continue
        assert network.log_probability(codes) == pytest.approx(math.log(weights.sum()), abs=1e-12)
        found = network.posteriors(codes)
        for i in range(8):
            expected = np.bincount(rows[:, i], weights, 2) / weights.sum()
            assert network.query(f"d{i}", evidence=codes).values == pytest.approx(expected, abs=1e-12)
            assert found[f"d{i}"] == pytest.approx(expected, abs=1e-12)
        free = value["f5"]
        above = [int(parent[1:]) for parent in free.parents]
        expected = weights @ np.exp(free.distribution.log_rows(rows[:, above])) / weights.sum()
        assert found["f5"] == pytest.approx(expected, abs=1e-12)


def test_many_diseases_and_many_findings():
    """A finding with few positive ones is exact, whatever is absent; too many are refused with the number."""
    rng = np.random.default_rng(0)
    value = two_layers(rng, 80, 250, 40, zeros=0.0)
    network = BayesianNetwork._of(value)
    ends = {node.name: (0, node.variable.size - 1) for node in value.nodes}
    rising = {name: value[name].distribution.rising for name in ends if name[0] == "f"}
    none = {f"f{j}": ends[f"f{j}"][0 if rising[f"f{j}"] else 1] for j in range(200)}
    negative = network.log_probability(none)
    by_hand = 0.0
    for i in range(80):
        chances = value[f"d{i}"].distribution.values.copy()
        for name, code in none.items():
            if f"d{i}" in value[name].parents:
                chances *= value[name].distribution.causes[value[name].parents.index(f"d{i}")][:, code]
        by_hand += math.log(chances.sum())
    by_hand += sum(math.log(value[name].distribution.leak[code]) for name, code in none.items())
    assert negative == pytest.approx(by_hand, rel=1e-12)
    strong = {f"f{j}": ends[f"f{j}"][1 if rising[f"f{j}"] else 0] for j in range(200, 250)}
    some = dict(list(strong.items())[:5])
    assert network.query("d0", evidence={**none, **some}).values.sum() == pytest.approx(1)
    with refuses(TooLarge, len(strong), "approximate") as refused:
        network.query("d0", evidence={**none, **strong})
    assert refused.value.cells > 2**27


def counted(*states):
    return min(sum(states), 3)


@pytest.mark.usefixtures("no_table")
def test_functions_are_automata(monkeypatch):
    """A parity, a count and a threshold of 18 parents: what is left to be said fits into few states."""
    names = [f"x{i}" for i in range(18)]
    network = BayesianNetwork({**{x: [] for x in names}, "odd": names, "count": names}, states=[0, 1])
    network.remove_node("count")
    network.add_node("count", range(4), names)
    for x in names:
        network.set_cpt(x, [0.75, 0.25])
    network.set_deterministic("odd", lambda *states: sum(states) % 2)
    network.set_deterministic("count", counted)
    monkeypatch.setattr(Deterministic, "table", _refused)
    assert network.query("odd")[1] == pytest.approx((1 - 0.5**18) / 2, abs=1e-15)
    expected = [math.comb(18, k) * 0.25**k * 0.75 ** (18 - k) for k in range(3)]
    assert network.query("count").values == pytest.approx([*expected, 1 - sum(expected)], abs=1e-12)
    assert network.query("odd", evidence={"count": 2})[0] == pytest.approx(1)
    assert network.query("count", evidence={"odd": 0})[1] == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.usefixtures("no_table")
def test_changes_copies_files_and_pages(n, tmp_path):
    network = clinic(n)
    assert network.do({"fever": "yes"}).query("bed").values == pytest.approx([0.2, 0.8])
    assert network.do({"c1": "yes"}).query("cough").values == pytest.approx(network.query("cough").values)
    assert network.do({"c1": "yes"}).sample(10, random_state=0)["c1"].eq("yes").all()
    assert network.copy() == network and pickle.loads(pickle.dumps(network)) == network
    assert not network.independent("c1", "c2", ["fever"]) and network.independent("c1", "c2")
    assert network.n_parameters == 2 + n + (n + 1) + 2 + 2
    assert "fever" in network._repr_html_() or "nodes" in network._repr_html_()
    assert repr(network).startswith("BayesianNetwork")
    for suffix in ("json", "xdsl"):
        network.write(tmp_path / f"wide.{suffix}")
        assert read_network(tmp_path / f"wide.{suffix}") == network
    with refuses(SettingError, "fever", ".json"):
        network.write(tmp_path / "wide.bif")


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.usefixtures("no_table")
def test_explanations_of_what_a_page_can_show(n):
    network = clinic(n)
    page = network.explain("smoke", evidence={"cough": "yes"})
    assert float(page.exact_posterior[1]) == pytest.approx(0.225 / 0.295)
    fever = network.explain("fever", evidence=absent(network, "fever", "bed"))
    assert float(fever.exact_posterior[1]) == pytest.approx(0.05)
    with refuses(SettingError, "fever", "query"):
        network.explain("fever")


@pytest.mark.parametrize("n", [27, 60])
@pytest.mark.usefixtures("no_table")
def test_a_wide_node_beside_continuous_ones(n):
    network = clinic(n, continuous=True)
    weights = np.array([0.7, 0.3]) * np.exp(-0.5 * (np.array([68 - 60, 68 - 70]) / 5.0) ** 2)
    weights /= weights.sum()
    assert network.query("smoke", evidence={"pulse": 68.0}).values == pytest.approx(weights)
    assert network.query("cough", evidence={"fever": "yes", "smoke": "yes"}).values == pytest.approx(
        [0.25, 0.75]
    )
    far = network.query("smoke", evidence={"pulse": 1e5}).values
    assert far == pytest.approx([0, 1])
    assert network.query("pulse").mean == pytest.approx(63.0)
    row = {name: ["no"] for name in network.nodes} | {"pulse": [60.0]}
    density = -0.5 * math.log(2 * math.pi * 25)
    discrete = clinic(n).log_prob({name: ["no"] for name in clinic(n).nodes})
    assert network.log_prob(row) == pytest.approx(discrete + density)
    assert network.predict_proba(row, "fever")[0] == pytest.approx(
        np.array([0.95 * 0.9, 0.05 * 0.2]) / (0.95 * 0.9 + 0.05 * 0.2)
    )
    drawn = network.sample(2_000, random_state=0, evidence={"pulse": 68.0})
    assert (drawn["smoke"] == "yes").mean() == pytest.approx(weights[1], abs=0.06)
    found = network.approximate("smoke", evidence={"pulse": 68.0, "bed": "no"}, method="likelihood weighting")
    assert found.standard_error.max() < 0.05
    weights = weights * [1 - no_effect(n, "no"), 1 - no_effect(n, "yes")]
    assert network.query("fever", evidence={"pulse": 68.0})["yes"] == pytest.approx(weights.sum())


@pytest.mark.parametrize("n", [20, 60])
@pytest.mark.usefixtures("no_table")
def test_a_wide_noisy_max(n):
    network = sickness(n)
    seen = {f"c{i}": "none" for i in range(n)} | {"c1": "much"}
    below = np.cumsum([0.95, 0.04, 0.01]) * np.cumsum([0.3, 0.4, 0.3])
    assert network.query("fever", evidence=seen).values == pytest.approx(np.diff(below, prepend=0.0))
    assert network.query("c1").values == pytest.approx([0.9, 0.07, 0.03])
    found = network.approximate("fever", method="likelihood weighting", n_samples=40_000)
    cause = np.cumsum(
        0.9 * np.eye(3)[0] + 0.07 * np.array([0.7, 0.25, 0.05]) + 0.03 * np.array([0.3, 0.4, 0.3])
    )
    expected = np.diff(np.cumsum([0.95, 0.04, 0.01]) * cause**n, prepend=0.0)
    assert (np.abs(found.values - expected) < 5 * found.standard_error).all()
