"""Information, sensitivity and divergence against the whole joint table."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._networks.analysis import measures
from bayeskit._networks.discrete_adapter import DerivedCache
from bayeskit._networks.network_structure import Structure
from bayeskit.errors import (
    DataTypeError,
    ImpossibleEvidence,
    Incompatible,
    SettingError,
    UnseenState,
    UsageError,
)
from bayeskit.networks import Deterministic, Factor, LinearGaussian, Not, Table, asia
from network_twin import joint_table, margin, random_network
from refusals import refuses


class Net(Structure):
    """A network that answers by enumeration."""

    entropy, mutual_information, kl = measures.entropy, measures.mutual_information, measures.kl
    sensitivity_to_findings = measures.sensitivity_to_findings
    parameter_sensitivity = measures.parameter_sensitivity

    def __init__(self, network):
        self._network, self._cache = network, DerivedCache(network)

    _of = classmethod(lambda cls, network: cls(network))

    def joint(self, evidence=None, soft=None):
        joint = joint_table(self._network)
        for name, numbers in (soft or {}).items():
            axis = self._network.dag.position[name]
            joint = joint * np.reshape(numbers, [-1 if v == axis else 1 for v in range(joint.ndim)])
        for name, value in (evidence or {}).items():
            axis, states = self._network.dag.position[name], self._network[name].variable.states
            keep = [s not in value.states if isinstance(value, Not) else s == value for s in states]
            joint = joint * np.reshape(keep, [-1 if v == axis else 1 for v in range(joint.ndim)])
        return joint

    def query(self, targets, evidence=None, *, soft=None):
        targets = targets if isinstance(targets, list) else [targets]
        joint = self.joint(evidence, soft)
        if not joint.sum():
            raise ImpossibleEvidence(evidence)
        found = margin(joint, *(self._network.dag.position[t] for t in targets)) / joint.sum()
        return Factor(tuple(targets), [self._network[t].variable.states for t in targets], found)

    def posteriors(self, evidence=None):
        return {name: self.query(name, evidence=evidence).values for name in self.nodes}

    def log_probability(self, evidence=None, *, soft=None):
        total = self.joint(evidence, soft).sum()
        return math.log(total) if total > 0 else -math.inf

    def _family_margins(self, evidence=None, *, soft=None):
        families = ((*node.parents, node.name) for node in self._network.nodes)
        margins = [self.query([*family], evidence=evidence, soft=soft).values for family in families]
        return margins, self.log_probability(evidence, soft=soft)


def make(tables, states=("no", "yes")):
    """Return a network of {name: (parents, table)}."""
    nodes = [Node(discrete(n, states), tuple(p), Table(np.array(t, float))) for n, (p, t) in tables.items()]
    return Net(Network(tuple(nodes)))


GRASS = make(
    {
        "rain": ([], [0.8, 0.2]),
        "sprinkler": ([], [0.9, 0.1]),
        "joe": (["rain"], [[0.8, 0.2], [0, 1]]),
        "wet": (["rain", "sprinkler"], [[[1, 0], [0.1, 0.9]], [[0, 1], [0, 1]]]),
    }
)


def h(*p):
    return -sum(x * math.log(x) for x in p if x)


def random_net(seed, **more):
    rng = np.random.default_rng(seed)
    return Net(random_network(rng, **{"n_nodes": 5, "max_states": 3, "zeros": 0.2, **more})), rng


def some_evidence(net, rng, free=()):
    """Draw evidence of positive probability on up to two nodes: one state known, one excluded."""
    joint = net.joint()
    cell = np.unravel_index(rng.choice(joint.size, p=joint.ravel() / joint.sum()), joint.shape)
    names = [n for n in rng.permutation(np.array(net.nodes, object)) if n not in free][:2]
    state = {n: net._network[n].variable.states[cell[net.nodes.index(n)]] for n in names}
    evidence = {n: state[n] for n in names[:1]}
    for n in names[1:]:
        others = [s for s in net._network[n].variable.states if s != state[n]]
        evidence |= {n: Not(others[0])} if others else {}
    return evidence


def test_entropy_by_hand():
    assert GRASS.entropy("rain") == pytest.approx(h(0.2, 0.8), abs=1e-15)
    assert GRASS.entropy(["rain", "sprinkler"]) == pytest.approx(h(0.2, 0.8) + h(0.1, 0.9), abs=1e-15)
    assert GRASS.entropy("rain", evidence={"wet": "yes"}) == pytest.approx(h(25 / 34, 9 / 34), abs=1e-15)
    assert GRASS.entropy("rain", evidence={"rain": "yes"}) == 0.0
    assert GRASS.entropy(["rain", "joe"]) == GRASS.entropy(["rain", "joe"])


def test_information_by_hand():
    assert GRASS.mutual_information("rain", "sprinkler") == pytest.approx(0, abs=1e-15)
    explained = GRASS.mutual_information("rain", "sprinkler", evidence={"wet": "yes"})
    # P(rain, sprinkler | wet) = 0, 0.072, 0.18, 0.02 over 0.272: once the grass is wet they speak of each other.
    assert explained == pytest.approx(
        h(25 / 34, 9 / 34) + h(23 / 68, 45 / 68) - h(9 / 34, 45 / 68, 5 / 68), abs=1e-15
    )
    assert GRASS.mutual_information("joe", "rain") == pytest.approx(
        h(0.36, 0.64) - 0.8 * h(0.2, 0.8), abs=1e-15
    )


@pytest.mark.parametrize("seed", range(15))
def test_entropy_and_information_from_the_joint(seed):
    net, rng = random_net(seed)
    evidence = some_evidence(net, rng)
    joint = net.joint(evidence) / net.joint(evidence).sum()
    assert net.entropy(evidence=evidence) == pytest.approx(h(*joint.ravel()), abs=1e-12)
    assert net.entropy() == pytest.approx(h(*net.joint().ravel()), abs=1e-12)
    a, b, c, *_ = net.nodes
    together = h(*margin(joint, 0, 1, 2).ravel())
    assert net.entropy([c, a, b], evidence=evidence) == pytest.approx(together, abs=1e-12)
    told = net.mutual_information([a, b], c, evidence=evidence)
    assert told == pytest.approx(h(*margin(joint, 0, 1).ravel()) + h(*margin(joint, 2)) - together, abs=1e-12)
    assert told >= 0
    # The chain rule: I(a, b; c) = I(a; c) + I(b; c | a), the last a mean over the states of a.
    if not evidence:
        return
    hidden = {n: v for n, v in evidence.items() if n not in (a, b, c)}
    p = margin(net.joint(hidden), 0) / net.joint(hidden).sum()
    given_a = sum(
        w * net.mutual_information(b, c, evidence={**hidden, a: s})
        for w, s in zip(p, net._network[a].variable.states, strict=True)
        if w > 0
    )
    whole = net.mutual_information([a, b], c, evidence=hidden)
    assert whole == pytest.approx(net.mutual_information(a, c, evidence=hidden) + given_a, abs=1e-12)


@pytest.mark.parametrize("seed", range(15))
def test_findings(seed):
    net, rng = random_net(seed)
    target = net.nodes[int(rng.integers(5))]
    evidence = some_evidence(net, rng, free=[target])
    found = net.sensitivity_to_findings(target, evidence=evidence)
    known = {n for n, v in evidence.items() if np.count_nonzero(net.posteriors(evidence)[n]) == 1}
    assert {row.node for row in found} == set(net.nodes) - {target} - known
    assert found.entropy == pytest.approx(net.entropy(target, evidence=evidence), abs=1e-14)
    told = [row.mutual_information for row in found]
    assert told == sorted(told, reverse=True) or np.allclose(told, sorted(told, reverse=True), atol=1e-12)
    prior = net.posteriors(evidence)[target]
    for row in found:
        assert row.mutual_information == pytest.approx(
            net.mutual_information(target, row.node, evidence=evidence), abs=1e-12
        )
        share = row.mutual_information / found.entropy if found.entropy else 0
        assert row.share == pytest.approx(share, abs=1e-12)
        changes = {
            s: np.abs(net.query(target, evidence={**evidence, row.node: s}).values - prior).max()
            for s, p in zip(
                net._network[row.node].variable.states, net.posteriors(evidence)[row.node], strict=True
            )
            if p > 0
        }
        assert row.largest_change == pytest.approx(max(changes.values()), abs=1e-12)
        assert changes[row.state] == pytest.approx(row.largest_change, abs=1e-12)


def test_findings_to_read():
    found = GRASS.sensitivity_to_findings("rain", evidence={"wet": "yes"})
    assert [row.node for row in found] == ["sprinkler", "joe"]
    assert found[1].largest_change == pytest.approx(25 / 34, abs=1e-15) and found[1].state == "no"
    assert found[0].largest_change == pytest.approx(25 / 34 - 10 / 46, abs=1e-15) and found[0].state == "yes"
    text = str(found)
    assert text == repr(found) and text.startswith("What observing a node would tell about rain")
    assert len(found) == 2 and found[:1] == (found[0],)
    columns = found.to_dict()
    assert list(columns) == ["node", "mutual_information", "share", "largest_change", "state"]
    assert columns["node"] == ["sprinkler", "joe"]
    assert "<table>" in found._repr_html_()
    frame = pytest.importorskip("pandas") and found.to_frame()
    assert frame.shape == (2, 5)


def cells(net):
    for node in net._network.nodes:
        for place in np.ndindex(*node.distribution.table().shape):
            yield node, place


def changed(net, node, place, x):
    """Set one entry of a table; the others of its row share the rest in proportion, or equally."""
    table = np.array(node.distribution.table())
    row, k = table[place[:-1]], place[-1]
    others = [j for j in range(len(row)) if j != k]
    left = row[others].sum()
    row[others] = (1 - x) * (row[others] / left if left > 0 else 1 / len(others))
    row[k] = x
    return Net(net._network.with_node(replace(node, distribution=Table(table))))


@pytest.mark.parametrize("seed", range(1, 13))  # the network of seed 0 has one state a node
def test_a_posterior_as_a_function_of_one_number(seed):
    net, rng = random_net(seed, n_nodes=4)
    free = [cell for cell in cells(net) if cell[0].variable.size > 1]
    node, place = free[int(rng.integers(len(free)))]
    target = net.nodes[int(rng.integers(4))]
    state = net._network[target].variable.states[0]
    evidence = some_evidence(net, rng, free=[target])
    states = [net._network[p].variable.states[c] for p, c in zip(node.parents, place[:-1], strict=True)]
    parameter = (node.name, states, node.variable.states[place[-1]])
    found = net.parameter_sensitivity((target, state), evidence, parameter)
    value = float(node.distribution.table()[place])
    assert found.value == value
    assert found.posterior == pytest.approx(net.query(target, evidence=evidence)[state], abs=1e-13)
    for x in (0.0, 0.2, value, 0.7, 1.0):
        twin = changed(net, node, place, x)
        if twin.log_probability(evidence) == -math.inf:
            with refuses(SettingError, x, "evidence"):
                found.at(x)
            continue
        assert found.at(x) == pytest.approx(twin.query(target, evidence=evidence)[state], abs=1e-12)
        ratio = math.exp(twin.log_probability(evidence) - net.log_probability(evidence))
        assert found.gamma * x + found.delta == pytest.approx(ratio, rel=1e-12)
        if 0.1 < x < 0.9:
            slope = (found.at(x + 1e-5) - found.at(x - 1e-5)) / 2e-5
            assert found.derivative_at(x) == pytest.approx(slope, abs=1e-6)
    named = (node.name, dict(zip(node.parents, states, strict=True)), parameter[2])
    assert net.parameter_sensitivity((target, state), evidence, parameter=named) == found


@pytest.mark.parametrize("seed", range(6))
def test_all_numbers_of_all_tables(seed):
    net, rng = random_net(seed, n_nodes=4)
    target = net.nodes[int(rng.integers(4))]
    state = net._network[target].variable.states[-1]
    evidence = some_evidence(net, rng, free=[target])
    found = net.parameter_sensitivity((target, state), evidence)
    slopes = [abs(one.derivative) for one in found]
    assert np.allclose(slopes, sorted(slopes, reverse=True), atol=1e-12)
    by_cell = {(one.node, tuple(one.given.values()), one.state): one for one in found}
    for node, place in cells(net):
        if node.variable.size < 2:
            continue
        given = [net._network[p].variable.states[c] for p, c in zip(node.parents, place[:-1], strict=True)]
        key = (node.name, tuple(given), node.variable.states[place[-1]])
        one = net.parameter_sensitivity((target, state), evidence, (node.name, given, key[2]))
        if key in by_cell:
            assert by_cell[key] == one
        else:  # left out, because the answer cannot depend on it
            assert one.derivative == pytest.approx(0, abs=1e-12)
            assert one.at(0.5) == pytest.approx(one.posterior, abs=1e-12)


def test_a_test_and_a_disease():
    net = make({"ill": ([], [0.99, 0.01]), "test": (["ill"], [[0.9, 0.1], [0.1, 0.9]])})
    found = net.parameter_sensitivity(("ill", "yes"), {"test": "yes"}, ("ill", {}, "yes"))
    # 0.9 x/(0.9 x + 0.1 (1 − x)), at x = 0.01: 1/12; it is ½ at x = 0.1.
    assert found.posterior == pytest.approx(1 / 12, abs=1e-15)
    assert found.derivative == pytest.approx(0.09 / 0.108**2, rel=1e-13)
    assert found.above(0.5) == (pytest.approx(0.1, abs=1e-14), 1.0)
    assert found.at(0.1) == pytest.approx(0.5, abs=1e-14)
    assert found.at(0) == 0 and found.at(1) == 1
    for wrong in ("a", None, math.nan, [0.5], 1.5):
        for ask in (found.at, found.derivative_at):
            with refuses(SettingError, "x", repr(wrong)):
                ask(wrong)
    for wrong in ("a", None, math.nan):
        with refuses(SettingError, "threshold", repr(wrong)):
            found.above(wrong)
    false_alarm = net.parameter_sensitivity(("ill", "yes"), {"test": "yes"}, ("test", ["no"], "yes"))
    # 0.009/(0.009 + 0.99 x)
    assert false_alarm.above(0.5) == (0.0, pytest.approx(1 / 110, abs=1e-15))
    assert false_alarm.above(0.009 / 0.999 * 0.999) == (0.0, 1.0)
    assert false_alarm.above(1.1) is None and found.above(-0.1) == (0.0, 1.0)
    assert str(found).startswith("P(ill = yes | test = yes) = (")
    assert "with x = P(ill = yes)\nnow x = 0.01: 0.0833333" in str(found)
    assert "with x = P(test = yes | ill = no)" in str(false_alarm)
    everything = net.parameter_sensitivity(("ill", "yes"), {"test": "yes"})
    assert [one.node for one in everything] == ["ill", "ill", "test", "test", "test", "test"]
    assert everything[2].given == {"ill": "no"} and everything[4].given == {"ill": "yes"}
    with refuses(SettingError, "x", 1.5):
        found.at(1.5)
    with refuses(SettingError, "x", "nan"):
        found.derivative_at(math.nan)


def test_ranges_agree_with_values():
    net, _ = random_net(3, n_nodes=4, zeros=0.0)
    target = (net.nodes[0], net._network[net.nodes[0]].variable.states[0])
    for one in net.parameter_sensitivity(
        target, {net.nodes[1]: net._network[net.nodes[1]].variable.states[0]}
    ):
        for threshold in (0.1, one.posterior, 0.6):
            region = one.above(threshold)
            for x in np.linspace(0, 1, 11):
                gap = one.at(x) - threshold
                if abs(gap) > 1e-12:
                    assert (gap > 0) is (region is not None and region[0] <= x <= region[1])


def test_excluded_states_reach_the_parameters():
    net = make({"a": ([], [0.2, 0.3, 0.5]), "b": (["a"], np.full((3, 3), 1 / 3))}, states=("u", "v", "w"))
    found = net.parameter_sensitivity(("a", "u"), {"b": Not("w")})
    assert {one.node for one in found} == {"a", "b"}
    found = net.parameter_sensitivity(("a", "u"))
    assert {one.node for one in found} == {"a"}


@pytest.mark.parametrize("seed", range(1, 11))
def test_the_range_of_a_parameter_by_its_odds(seed):
    """Every entry, changed in the table itself; with soft evidence, in the engine and by enumeration."""
    net, rng = random_net(seed, n_nodes=4, zeros=0.3 * (seed % 2))
    engine = BayesianNetwork(net._network)
    target = net.nodes[int(rng.integers(4))]
    state = net._network[target].variable.states[0]
    evidence = some_evidence(net, rng, free=[target])
    unknown = next(n for n in net.nodes if n not in evidence and n != target)
    soft = {unknown: rng.uniform(0.1, 1, net._network[unknown].variable.size).tolist()}
    for queries in (net, engine):
        found = queries.parameter_sensitivity((target, state), evidence, soft=soft)
        by_cell = {(one.node, tuple(one.given.values()), one.state): one for one in found}
        for node, place in cells(net):
            if node.variable.size < 2:
                continue
            given = [
                net._network[p].variable.states[c] for p, c in zip(node.parents, place[:-1], strict=True)
            ]
            one = by_cell.get((node.name, tuple(given), node.variable.states[place[-1]]))
            value = float(node.distribution.table()[place])
            ends = (0.0, 1.0) if one is None else [x for x, _ in one.between(3.0)]
            if one is not None and 0 < value < 1:
                odds = [x / (1 - x) for x in (ends[0], value, ends[1])]
                assert (odds[1] / odds[0], odds[2] / odds[1]) == pytest.approx((3, 3))
            now = net.query(target, evidence=evidence, soft=soft)[state]
            for k, x in enumerate(ends):
                twin = changed(net, node, place, x)
                if twin.log_probability(evidence, soft=soft) == -math.inf:
                    continue
                after = twin.query(target, evidence=evidence, soft=soft)[state]
                assert (now if one is None else one.between(3.0)[k][1]) == pytest.approx(after, abs=1e-11)


@pytest.mark.parametrize("seed", range(1, 9))
def test_what_is_certain_can_be_left_out(seed):
    net, rng = random_net(seed, zeros=0.5)
    target = net.nodes[int(rng.integers(5))]
    evidence = some_evidence(net, rng, free=[target])
    for state in net._network[target].variable.states:
        every = net.parameter_sensitivity((target, state), evidence)
        some = net.parameter_sensitivity((target, state), evidence, certain=False)
        free = {(one.node, *one.given.items(), one.state): one for one in every if 0 < one.value < 1}
        assert len(some) == len(free)
        for one in some:
            other = free[one.node, *one.given.items(), one.state]
            numbers = [[x.alpha, x.beta, x.gamma, x.delta] for x in (one, other)]
            assert numbers[0] == pytest.approx(numbers[1], abs=1e-12)


def test_the_range_ends_in_limits():
    net = make({"ill": ([], [0.99, 0.01]), "test": (["ill"], [[1, 0], [0.1, 0.9]])})
    found = net.parameter_sensitivity(("ill", "yes"), {"test": "yes"}, ("ill", {}, "yes"))
    # Without the disease the test cannot be positive; however rare it is, a positive test proves it.
    assert found.between(None) == ((0.0, 1.0), (1.0, 1.0))
    assert found.between(2)[0] == (pytest.approx(1 / 199), pytest.approx(1.0))
    for wrong in (1, 0.5, -2, math.nan, math.inf, 10**400, "2", True):
        with refuses(SettingError, "factor", repr(wrong)):
            found.between(wrong)


def test_rules_are_no_tables():
    rule = Node(discrete("same", ("no", "yes")), ("ill",), Deterministic(np.array([0, 1]), 2))
    ill = Node(discrete("ill", ("no", "yes")), (), Table(np.array([0.7, 0.3])))
    net = Net(Network((ill, rule)))
    assert {one.node for one in net.parameter_sensitivity(("ill", "yes"), {"same": "yes"})} == {"ill"}
    one = net.parameter_sensitivity(("ill", "yes"), {"same": "yes"}, ("same", ["no"], "yes"))
    assert one.at(0.5) == pytest.approx(0.3 / (0.3 + 0.35), abs=1e-15)


def brute_kl(p, q):
    axes = [q.nodes.index(name) for name in p.nodes]
    b = q.joint().transpose(axes)
    for axis, name in enumerate(p.nodes):
        codes = q._network[name].variable.codes
        b = b.take([codes[s] for s in p._network[name].variable.states], axis=axis)
    a = p.joint()
    some = a > 0
    with np.errstate(divide="ignore"):
        return float((a[some] * np.log(a[some] / b[some])).sum())


def shuffled(net, rng):
    """Return the same network with nodes, parents and states in another order."""
    turned = {n.name: rng.permutation(n.variable.size) for n in net._network.nodes}
    made = []
    for node in net._network.nodes:
        old = (*node.parents, node.name)
        family = (*rng.permutation(np.array(node.parents, object)), node.name)
        table = node.distribution.table()[np.ix_(*(turned[n] for n in old))]
        table = table.transpose([old.index(n) for n in family])
        states = [node.variable.states[k] for k in turned[node.name]]
        made.append(Node(discrete(node.name, states), tuple(family[:-1]), Table(table)))
    return Net(Network(tuple(made[k] for k in rng.permutation(len(made)))))


@given(st.integers(0, 10**6), st.booleans())
def test_divergence_from_the_joint(seed, zeros):
    rng = np.random.default_rng(seed)
    p = Net(random_network(rng, n_nodes=4, max_states=3, zeros=0.3 if zeros else 0))
    q = Net(random_network(rng, n_nodes=4, max_states=3, zeros=0.3 if zeros else 0))
    same = {n.name: n.variable for n in p._network.nodes}
    nodes = []
    for node in q._network.nodes:  # q's graph over p's states, with tables of its own
        shape = [same[n].size for n in (*node.parents, node.name)]
        table = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
        if zeros and rng.random() < 0.3:
            table = np.where(rng.random(table.shape) < 0.2, 0, table) + 1e-300
            table /= table.sum(axis=-1, keepdims=True)
            table[table < 1e-200] = 0
        nodes.append(Node(same[node.name], node.parents, Table(table)))
    q = shuffled(Net(Network(tuple(nodes))), rng)
    wanted = brute_kl(p, q)
    assert p.kl(q) == (math.inf if math.isinf(wanted) else pytest.approx(wanted, abs=1e-11))
    assert p.kl(p) == 0.0 and p.kl(shuffled(p, rng)) < 1e-13


def test_divergence_by_hand():
    p, q = (make({"a": ([], row)}) for row in ([0.5, 0.5], [0.25, 0.75]))
    assert p.kl(q) == pytest.approx(0.5 * math.log(4 / 3), abs=1e-15)
    assert q.kl(p) == pytest.approx(0.75 * math.log(3) - math.log(2), abs=1e-15)
    never = make({"a": ([], [1, 0])})
    assert p.kl(never) == math.inf and never.kl(p) == pytest.approx(math.log(2))


def test_divergence_refuses_other_variables():
    a = make({"a": ([], [0.5, 0.5])})
    with refuses(Incompatible, "b", "network"):
        a.kl(make({"a": ([], [0.5, 0.5]), "b": ([], [0.5, 0.5])}))
    with refuses(Incompatible, "a", "no, yes", 0, 1):
        a.kl(make({"a": ([], [0.5, 0.5])}, states=(0, 1)))
    with refuses(DataTypeError, "dict", "BayesianNetwork"):
        a.kl({})
    with refuses(UsageError, "a", "set_cpt"):
        a.kl(Net(Network((Node(discrete("a", ("no", "yes"))),))))


MIXED = Net(
    Network(
        (
            GRASS._network.nodes[0],
            Node(continuous("z"), ("rain",), LinearGaussian(np.zeros(2), np.zeros((2, 0)), np.ones(2))),
        )
    )
)


@pytest.mark.parametrize(
    ("ask", "error", "says"),
    [
        (lambda: GRASS.entropy("snow"), SettingError, ["snow", "rain", "sprinkler"]),
        (lambda: MIXED.entropy("z"), SettingError, ["z", "continuous"]),
        (lambda: MIXED.entropy(), SettingError, ["z", "continuous"]),
        (lambda: MIXED.mutual_information("z", "rain"), SettingError, ["z", "continuous"]),
        (lambda: MIXED.sensitivity_to_findings("z"), SettingError, ["z", "continuous"]),
        (lambda: MIXED.kl(MIXED), SettingError, ["z", "continuous"]),
        (lambda: GRASS.mutual_information("rain", "rain"), SettingError, ["rain", "itself"]),
        (lambda: GRASS.mutual_information([], "rain"), SettingError, ["node"]),
        (lambda: GRASS.sensitivity_to_findings("rian"), SettingError, ["rian", "rain"]),
        (
            lambda: GRASS.sensitivity_to_findings("wet", {"wet": "yes"}),
            SettingError,
            ["wet", "evidence"],
        ),
        (
            lambda: GRASS.sensitivity_to_findings("wet", ["joe"]),
            SettingError,
            ["evidence", "['joe']", "{node: state}"],
        ),
        (lambda: GRASS.parameter_sensitivity("rain"), SettingError, ["target", "rain", "node, state"]),
        (lambda: GRASS.parameter_sensitivity(("rain", "maybe")), UnseenState, ["rain", "maybe", "no"]),
        (
            lambda: GRASS.parameter_sensitivity(("wet", "yes"), soft={"wet": [1, 2]}),
            SettingError,
            ["wet", "target"],
        ),
        (
            lambda: GRASS.parameter_sensitivity(("wet", "yes"), {"wet": "no"}),
            SettingError,
            ["wet", "target"],
        ),
        (
            lambda: GRASS.parameter_sensitivity(("rain", "yes"), {"joe": "no", "wet": "yes"}, ("joe", "no")),
            SettingError,
            ["parameter", "('joe', 'no')", "wet"],
        ),
        (
            lambda: GRASS.parameter_sensitivity(("rain", "yes"), None, ("wet", ["no"], "yes")),
            SettingError,
            ["wet", "rain", "sprinkler"],
        ),
        (
            lambda: GRASS.parameter_sensitivity(("rain", "yes"), None, ("rain", {"joe": "no"}, "yes")),
            SettingError,
            ["rain", "{'joe': 'no'}", "{}"],
        ),
        (
            lambda: GRASS.parameter_sensitivity(("joe", "yes"), {"rain": "yes", "wet": "no"}),
            ImpossibleEvidence,
            ["wet", "no"],
        ),
        (
            lambda: make({"a": ([], [1])}, "u").parameter_sensitivity(("a", "u"), None, ("a", {}, "u")),
            SettingError,
            ["a", "state"],
        ),
    ],
)
def test_what_is_refused(ask, error, says):
    with refuses(error, *says):
        ask()


def test_the_public_object_agrees_with_enumeration():
    """The chest clinic: an abnormal X-ray, then whether the patient has been to Asia."""
    network = asia()
    slow = Net(network._network)
    evidence = {"xray": "yes", "dysp": Not("no")}
    mine, theirs = (one.sensitivity_to_findings("lung", evidence) for one in (network, slow))
    assert [row.node for row in mine] == [row.node for row in theirs]
    for a, b in zip(mine, theirs, strict=True):
        assert a[1:4] == pytest.approx(b[1:4], abs=1e-12) and a.state == b.state
    for a, b in zip(
        *(one.parameter_sensitivity(("lung", "yes"), evidence) for one in (network, slow)), strict=True
    ):
        assert (a.node, a.given, a.state) == (b.node, b.given, b.state)
        assert a.derivative == pytest.approx(b.derivative, abs=1e-11)
    assert network.entropy(evidence=evidence) == pytest.approx(slow.entropy(evidence=evidence), abs=1e-12)
    assert network.kl(network.copy()) == 0.0
    visit = next(
        row for row in network.sensitivity_to_findings("lung", {"xray": "yes"}) if row.node == "asia"
    )
    assert visit.largest_change == pytest.approx(192500 / 393893 - 3080 / 8291, abs=1e-14)
