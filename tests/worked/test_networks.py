"""Bayesian networks worked by hand: wet grass, chain rules, melons, the three basic structures, the chest clinic.

Everything expected is a fraction, summed over all rows of the joint distribution in ``joint.py``, whose sums know
nothing of bayeskit. Wet grass: Barber 2012, ch. 3. Seven nodes: Bishop 2006, fig. 8.2. Melons: Zhou 2016, fig. 7.2.
Chest clinic: Lauritzen and Spiegelhalter 1988, whose posteriors Netica's tutorial prints in percent.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, permutations, product

import pytest
from joint import Page, check, check_joint, page

from bayeskit import BayesianNetwork
from bayeskit._networks import examples

YES_NO, NO_YES, BITS = ("yes", "no"), ("no", "yes"), (0, 1)

# Wet grass: rain, sprinkler, Joe's lawn, our lawn

GRASS = page(
    NO_YES,
    rain=((), ["0.2"]),
    sprinkler=((), ["0.1"]),
    joe=(("rain",), ["0.2", 1]),
    wet=(("rain", "sprinkler"), [0, "0.9", 1, 1]),
)
WET, BOTH = {"wet": "yes"}, {"wet": "yes", "joe": "yes"}


@pytest.mark.parametrize(
    ("given", "rain", "sprinkler", "p"),
    [
        ({}, Fraction(1, 5), Fraction(1, 10), 1),
        (WET, Fraction(25, 34), Fraction(23, 68), Fraction(34, 125)),
        (BOTH, Fraction(125, 134), Fraction(43, 268), Fraction(134, 625)),
    ],
)
def test_wet_grass(given, rain, sprinkler, p):
    """P(B=1) = 0.072 + 0.18 + 0.02; with Joe's lawn the first of these is a fifth of that."""
    assert GRASS.p({"rain": "yes"}, given) == rain
    assert GRASS.p({"sprinkler": "yes"}, given) == sprinkler
    assert GRASS.margin(*given)[tuple(given.values())] == p
    for network in (examples.wet_grass(), GRASS.network()):
        check(network, GRASS, given=given)
        for name, exact in (("rain", rain), ("sprinkler", sprinkler)):
            found = network.query(name, evidence=given)["yes"]
            assert Fraction(found).limit_denominator(1000) == exact


def test_wet_grass_prints_the_decimals_of_the_book():
    network = examples.wet_grass()
    after = [round(network.query(name, evidence=BOTH)["yes"], 4) for name in ("sprinkler", "rain")]
    assert after == [0.1604, 0.9328]


def test_explaining_away():
    """Joe's lawn says nothing of the sprinkler while ours is unseen; once it is seen, it lowers the sprinkler."""
    network = examples.wet_grass()
    assert GRASS.p({"sprinkler": "yes"}, {"joe": "yes"}) == Fraction(1, 10)
    assert network.query("sprinkler", evidence={"joe": "yes"})["yes"] == pytest.approx(0.1, abs=1e-15)
    assert GRASS.p({"sprinkler": "yes"}, BOTH) < GRASS.p({"sprinkler": "yes"}, WET)
    assert network.independent("joe", "sprinkler")
    assert not network.independent("joe", "sprinkler", given="wet")


def test_most_probable_explanations_of_wet_grass():
    network = examples.wet_grass()
    agreeing = {row: share for row, share in GRASS.rows.items() if row[2:] == ("yes", "yes")}
    best = max(agreeing, key=agreeing.__getitem__)
    found = network.mpe(BOTH)
    assert (tuple(found.values()), agreeing[best]) == (best, Fraction(9, 50))
    assert found.log_probability == pytest.approx(math.log(0.18), abs=1e-14)
    some = network.map(["sprinkler"], WET)
    assert some["sprinkler"] == "no"
    assert some.log_probability == pytest.approx(math.log(0.18), abs=1e-14)


def test_to_make_the_lawn_wet_says_nothing_of_rain():
    done = examples.wet_grass().do(WET)
    assert done.query("joe")["yes"] == pytest.approx(0.8 * 0.2 + 0.2, abs=1e-15)
    assert examples.wet_grass().query("joe", evidence=WET)["yes"] == pytest.approx(
        float(Fraction(67, 85)), abs=1e-15
    )
    assert GRASS.p({"joe": "yes"}, WET) == Fraction(67, 85)


# The product rule: any distribution, in any order


def shares(n):
    """A distribution over the 2ⁿ rows of n bits without any independence in it."""
    weights = {row: 3 + 7 * i * i % 101 + i for i, row in enumerate(product(BITS, repeat=n))}
    total = sum(weights.values())
    return {row: Fraction(w, total) for row, w in weights.items()}


def chain_rule(names, order, joint):
    """P(x)·P(y | x)·P(z | x, y)…: each table read off the joint distribution."""

    def p(cells):
        return sum(s for row, s in joint.items() if all(row[names.index(k)] == v for k, v in cells.items()))

    tables = {}
    for i, name in enumerate(order):
        above = order[:i]
        numbers = {}
        for row in product(BITS, repeat=i):
            at = dict(zip(above, row, strict=True))
            numbers[row] = tuple(p({**at, name: s}) / p(at) for s in BITS)
        tables[name] = (above, numbers)
    return Page(dict.fromkeys(names, BITS), tables)


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_three_nodes_hold_any_distribution(order):
    """P(a) P(b|a) P(c|a,b), and the five other orders, are one distribution: 7 parameters, nothing claimed."""
    joint = shares(3)
    made = chain_rule("abc", order, joint)
    network = made.network()
    assert network.n_parameters == 1 + 2 + 4 == 2**3 - 1
    found = network.query(["a", "b", "c"])
    for row, share in joint.items():
        assert found[row] == pytest.approx(float(share), rel=1e-13)
    for a, b in combinations("abc", 2):
        assert not any(network.independent(a, b, given) for given in ((), [*set("abc") - {a, b}]))


def test_the_fully_connected_five():
    """P(x1) P(x2|x1) … P(x5|x1, …, x4): 10 arcs, 1 + 2 + 4 + 8 + 16 = 31 parameters, no independence at all."""
    names = [f"x{i}" for i in range(1, 6)]
    joint = shares(5)
    made = chain_rule(names, names, joint)
    network = made.network()
    assert len(network.arcs) == 10
    assert network.n_parameters == sum(2**i for i in range(5)) == 2**5 - 1
    assert made.rows == joint
    check_joint(network, made)
    for a, b in combinations(names, 2):
        rest = [name for name in names if name not in (a, b)]
        for given in (some for k in range(4) for some in combinations(rest, k)):
            assert not network.independent(a, b, given)
            assert not made.independent(a, b, given)


# Seven nodes


def primes(n):
    """Numbers between 0 and 1 that no accident makes agree."""
    found = [k for k in range(2, 400) if all(k % d for d in range(2, k))]
    return [Fraction(p % 29 + 1, 31) + Fraction(1, p + 1000) for p in found[:n]]


def seven():
    """The book gives the graph; any tables do, if no accident makes rows of them agree."""
    first, numbers = ("x1", "x2", "x3"), iter(primes(25))
    parents = {"x1": (), "x2": (), "x3": (), "x4": first, "x5": first, "x6": ("x4",), "x7": ("x4", "x5")}
    return page(
        BITS,
        **{name: (above, [next(numbers) for _ in range(2 ** len(above))]) for name, above in parents.items()},
    )


def test_seven_nodes_have_25_parameters():
    network = examples.seven()
    assert network.n_parameters == 1 + 1 + 1 + 8 + 8 + 2 + 4 == 25
    every = {f"x{j}": [f"x{i}" for i in range(1, j)] for j in range(1, 8)}
    assert BayesianNetwork(every, states=BITS).n_parameters == 2**7 - 1 == 127
    assert {name: network.parents(name) for name in network.nodes} == {
        k: v[0] for k, v in seven().tables.items()
    }


def test_independence_in_seven_nodes():
    """The graph says what the fractions say, for each of 21 pairs given each of 32 sets of others."""
    made = seven()
    network = made.network()
    check_joint(network, made)
    for a, b in combinations(made.tables, 2):
        rest = [name for name in made.tables if name not in (a, b)]
        for given in (some for k in range(6) for some in combinations(rest, k)):
            assert network.independent(a, b, given) == made.independent(a, b, given), (a, b, given)


def test_what_the_book_says_of_seven_nodes():
    made, network = seven(), examples.seven()
    three = made.margin("x1", "x2", "x3")
    for row, share in three.items():
        assert share == math.prod(made.p({name: s}) for name, s in zip(("x1", "x2", "x3"), row, strict=True))
    assert network.independent("x1", ["x2", "x3"])
    assert network.independent("x6", "x7", given="x4")
    assert not network.independent("x6", "x7")
    for x4, x6, x7 in product(BITS, repeat=3):
        given = {"x4": x4}
        assert made.p({"x6": x6, "x7": x7}, given) == made.p({"x6": x6}, given) * made.p({"x7": x7}, given)


# The melon network

MELON = Page(
    {
        "好瓜": ("是", "否"),
        "甜度": ("高", "低"),
        "敲声": ("浊响", "沉闷"),
        "色泽": ("青绿", "乌黑"),
        "根蒂": ("硬挺", "蜷缩"),
    },
    {
        "好瓜": ((), {(): ("0.5", "0.5")}),
        "甜度": ((), {(): ("0.6", "0.4")}),
        "敲声": (("好瓜",), {("是",): ("0.75", "0.25"), ("否",): ("0.4", "0.6")}),
        "色泽": (
            ("好瓜", "甜度"),
            {
                ("是", "高"): ("0.3", "0.7"),
                ("是", "低"): ("0.5", "0.5"),
                ("否", "高"): ("0.6", "0.4"),
                ("否", "低"): ("0.8", "0.2"),
            },
        ),
        "根蒂": (("甜度",), {("高",): ("0.1", "0.9"), ("低",): ("0.7", "0.3")}),
    },
)


def test_the_melon_network():
    """P(x1) P(x2) P(x3|x1) P(x4|x1,x2) P(x5|x2): 10 numbers in the place of 31, and the book's table of 根蒂."""
    network = examples.melon()
    assert network.n_parameters == 1 + 1 + 2 + 4 + 2 == 10
    assert network.arcs == [("好瓜", "敲声"), ("好瓜", "色泽"), ("甜度", "色泽"), ("甜度", "根蒂")]
    table = network.cpt("根蒂")
    assert [table[s, t] for s in ("高", "低") for t in ("硬挺", "蜷缩")] == [0.1, 0.9, 0.7, 0.3]
    check_joint(network, MELON)
    check(network, MELON, given={"根蒂": "蜷缩", "色泽": "青绿"})
    # 0.6 · 0.9 / (0.6 · 0.9 + 0.4 · 0.3)
    assert MELON.p({"甜度": "高"}, {"根蒂": "蜷缩"}) == Fraction(9, 11)
    assert network.query("甜度", evidence={"根蒂": "蜷缩"})["高"] == pytest.approx(9 / 11, abs=1e-15)


def test_independence_in_the_melon_network():
    """The book: x3 ⊥ x4 | x1 and x4 ⊥ x5 | x2; the parents 好瓜 and 甜度 of 色泽 are independent until it is seen."""
    network = examples.melon()
    for a, b, given, expected in [
        ("敲声", "色泽", ["好瓜"], True),
        ("敲声", "色泽", [], False),
        ("色泽", "根蒂", ["甜度"], True),
        ("色泽", "根蒂", [], False),
        ("好瓜", "甜度", [], True),
        ("好瓜", "甜度", ["色泽"], False),
        ("敲声", "根蒂", ["色泽"], False),
        ("敲声", "根蒂", ["色泽", "好瓜"], True),
    ]:
        assert network.independent(a, b, given) == expected == MELON.independent(a, b, given)


# The three basic structures

FORK = page(BITS, c=((), ["0.4"]), a=(("c",), ["0.2", "0.7"]), b=(("c",), ["0.1", "0.8"]))
CHAIN = page(BITS, a=((), ["0.3"]), c=(("a",), ["0.2", "0.7"]), b=(("c",), ["0.1", "0.8"]))
COLLIDER = page(
    BITS,
    a=((), ["0.3"]),
    b=((), ["0.6"]),
    c=(("a", "b"), ["0.1", "0.5", "0.4", "0.9"]),
    d=(("c",), ["0.2", "0.7"]),
)


@pytest.mark.parametrize(
    ("made", "given", "independent", "kind"),
    [
        (FORK, (), False, "tail-to-tail"),
        (FORK, ("c",), True, "tail-to-tail"),
        (CHAIN, (), False, "head-to-tail"),
        (CHAIN, ("c",), True, "head-to-tail"),
        (COLLIDER, (), True, "head-to-head"),
        (COLLIDER, ("c",), False, "head-to-head"),
        (COLLIDER, ("d",), False, "head-to-head"),
    ],
)
def test_three_structures(made, given, independent, kind):
    network = made.network()
    check_joint(network, made)
    assert made.independent("a", "b", given) == independent
    assert network.independent("a", "b", given) == independent
    for row in product(BITS, repeat=len(given)):
        found = network.mutual_information("a", "b", dict(zip(given, row, strict=True)))
        assert (found < 1e-12) == independent
    why = network.why_independent("a", "b", given)
    (path,) = why.paths
    assert (path.blocked, path.turns[0].kind, path.turns[0].blocks) == (independent, kind, independent)


def test_three_structures_derived():
    """The steps of the derivations, each an equation between fractions."""
    for a, b, c in product(BITS, repeat=3):
        both, at_c = {"a": a, "b": b}, {"c": c}
        # common parent: P(a, b | c) = P(c)·P(a | c)·P(b | c)/P(c)
        p = FORK.p
        assert p({**both, **at_c}) / p(at_c) == p({"a": a}, at_c) * p({"b": b}, at_c)
        # chain: P(a)·P(c | a) = P(c)·P(a | c), so that P(a, b | c) = P(a | c)·P(b | c)
        p = CHAIN.p
        assert p({"a": a}) * p(at_c, {"a": a}) == p(at_c) * p({"a": a}, at_c)
        assert p({"b": b}, {"a": a, **at_c}) == p({"b": b}, at_c)
        assert p(both, at_c) == p({"a": a}, at_c) * p({"b": b}, at_c)
        # common child: P(a, b) = Σ_c P(a)·P(b)·P(c | a, b) = P(a)·P(b)
        p = COLLIDER.p
        assert (
            sum(p({"a": a}) * p({"b": b}) * p({"c": k}, both) for k in BITS)
            == p({"a": a}) * p({"b": b})
            == p(both)
        )
    # In numbers. Fork: 0.6·0.2·0.1 + 0.4·0.7·0.8 against 0.4·0.38. Collider: c = 1 speaks for a, until b explains it.
    assert FORK.p({"a": 1, "b": 1}) == Fraction(59, 250)
    assert FORK.p({"a": 1}) * FORK.p({"b": 1}) == Fraction(19, 125)
    assert COLLIDER.p({"a": 1}, {"c": 1}) == Fraction(15, 32)
    assert COLLIDER.p({"a": 1}, {"c": 1, "b": 1}) == Fraction(27, 62) < Fraction(15, 32)


# The chest clinic

CLINIC = page(
    YES_NO,
    asia=((), ["0.99"]),
    tub=(("asia",), ["0.95", "0.99"]),
    smoke=((), ["0.5"]),
    lung=(("smoke",), ["0.9", "0.99"]),
    bronc=(("smoke",), ["0.4", "0.7"]),
    either=(("lung", "tub"), [0, 0, 0, 1]),
    xray=(("either",), ["0.02", "0.95"]),
    dysp=(("bronc", "either"), ["0.1", "0.2", "0.3", "0.9"]),
)
ABNORMAL, FROM_ASIA = {"xray": "yes"}, {"xray": "yes", "asia": "yes"}


@pytest.mark.parametrize(
    ("given", "lung", "percent"),
    [
        ({}, Fraction(11, 200), 5.5),
        (ABNORMAL, Fraction(192500, 393893), 48.9),
        (FROM_ASIA, Fraction(3080, 8291), 37.1),
    ],
)
def test_chest_clinic(given, lung, percent):
    """Lung cancer: 5.5 % → 48.9 % with an abnormal X-ray → 37.1 % once a visit to Asia speaks for tuberculosis."""
    assert CLINIC.p({"lung": "yes"}, given) == lung
    network = examples.asia()
    assert {name: network.parents(name) for name in network.nodes} == {
        k: v[0] for k, v in CLINIC.tables.items()
    }
    check(network, CLINIC, given=given)
    found = network.query("lung", evidence=given)["yes"]
    assert found == pytest.approx(float(lung), abs=1e-15)
    assert round(100 * found, 1) == percent


def test_tuberculosis_explains_the_x_ray_away():
    network = examples.asia()
    for given in (ABNORMAL, FROM_ASIA):
        exact = CLINIC.p({"tub": "yes"}, given)
        assert network.query("tub", evidence=given)["yes"] == pytest.approx(float(exact), abs=1e-15)
    assert CLINIC.p({"tub": "yes"}, FROM_ASIA) > 3 * CLINIC.p({"tub": "yes"}, ABNORMAL)
    assert network.independent("asia", "lung")
    assert not network.independent("asia", "lung", given="xray")
