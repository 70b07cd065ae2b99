"""Watermelon data set 2.0 with arcs between attributes: SPODE, TAN, AODE and kDB as exact fractions.

The rows are table 4.1 of Zhou 2016 (table 4.4 with holes), the models his sec. 7.4; in eq. 7.23 the factor j = i is
left out, as in Webb, Boughton and Wang 2005. Everything expected comes from ``sheet.py``, which counts row by row.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sheet import Sheet, add, bdeu, directed, m_estimate, spanning

import bayeskit
from bayeskit.priors import BackOff, BDeu, Lidstone, MEstimate, WittenBell


def sheet(name):
    data = bayeskit.datasets.load_dataset(name)
    return Sheet(
        {attribute: data.columns[attribute].tolist() for attribute in data.attributes}, data.y.tolist()
    )


WHOLE, HOLED = sheet("melon2"), sheet("melon2-missing")
ONE = dict(zip(WHOLE.names, ["青绿", "蜷缩", "浊响", "清晰", "凹陷", "硬滑"], strict=True))
CLASSES = ("否", "是")
PRIORS = {
    "laplace": ("laplace", add(1)),
    "lidstone": (Lidstone(0.5), add(Fraction(1, 2))),
    "m-estimate": (MEstimate(1), m_estimate(1)),
    "bdeu": (BDeu(10), bdeu(10)),
}
TREE = {
    ("根蒂", "脐部"): 0.597535,
    ("纹理", "脐部"): 0.381968,
    ("根蒂", "敲声"): 0.352894,
    ("纹理", "触感"): 0.320409,
    ("色泽", "纹理"): 0.280433,
}
# kDB for k = 2: the order of I(x; y), and in it each one's two of largest I(x; parent | y).
TWO_PARENTS = {
    "纹理": (),
    "脐部": ("纹理",),
    "根蒂": ("脐部", "纹理"),
    "敲声": ("根蒂", "脐部"),
    "色泽": ("纹理", "脐部"),
    "触感": ("纹理", "脐部"),
}


def fit(name, on=WHOLE, **settings):
    return getattr(bayeskit, name)(**settings).fit({k: list(v) for k, v in on.columns.items()}, list(on.y))


def asked(queries):
    return {name: [query[name] for query in queries] for name in WHOLE.names}


def check(model, queries, expected):
    """Compare P(c, x) of some queries with fractions, and the posteriors too."""
    assert model.classes_.tolist() == list(CLASSES)
    exact = np.array([[expected(query, c) for c in CLASSES] for query in queries], dtype=object)
    found = np.exp(model.predict_joint_log_proba(asked(queries)))
    np.testing.assert_allclose(found, exact.astype(float), rtol=1e-12)
    shares = (exact / exact.sum(axis=1, keepdims=True)).astype(float)
    np.testing.assert_allclose(model.predict_proba(asked(queries)), shares, rtol=0, atol=1e-12)


def posterior(model):
    return model.predict_proba(asked([ONE]))[0, 1].item()


def with_parents(structure):
    """A structure without its roots, for comparison."""
    return {child: tuple(parents) for child, parents in structure.items() if parents}


def star(centre):
    return {name: [] if name == centre else [centre] for name in WHOLE.names}


# The sample of the book


def test_naive_bayes():
    exact = {c: WHOLE.network({}, ONE, c, add(1)) for c in CLASSES}
    assert exact == {"是": Fraction(254016, 15299845), "否": Fraction(175, 180576)}
    model = fit("NaiveBayes")
    check(model, [ONE], lambda query, c: exact[c])
    assert round(posterior(model), 6) == 0.944847


def test_aode():
    exact = {c: WHOLE.averaged(ONE, c, add(1)) for c in CLASSES}
    assert exact == {"是": Fraction(2301166979, 21126420000), "否": Fraction(626488813, 150965876250)}
    model = fit("AODE")
    check(model, [ONE], lambda query, c: exact[c])
    found = np.exp(model.predict_joint_log_proba(asked([ONE])))[0]
    assert [float(f"{v:.6g}") for v in found.tolist()] == [0.00414987, 0.108924]
    assert round(posterior(model), 6) == 0.963299


def test_aode_with_m_estimates():
    exact = {c: WHOLE.averaged(ONE, c, m_estimate(1)) for c in CLASSES}
    assert exact == {"是": Fraction(1036254515095, 5226454388736), "否": Fraction(192235271, 63489484800)}
    model = fit("AODE", smoothing=MEstimate(1))
    check(model, [ONE], lambda query, c: exact[c])
    assert round(posterior(model), 6) == 0.984959


def test_one_super_parent_of_aode():
    """色泽 alone, 是: 3 of the 8 good melons are 青绿, all three 清晰, two of them 蜷缩, 凹陷 and 硬滑, two 浊响."""
    only = [name for name in WHOLE.names if name != "色泽"]
    share = WHOLE.together({"色泽": "青绿"}, "是", add(1))
    assert share == Fraction(3 + 1, 17 + 2 * 3)
    for name, n, r in zip(only, (2, 2, 3, 2, 2), (3, 3, 3, 3, 2), strict=True):
        factor = WHOLE.given(name, ONE[name], {"色泽": "青绿"}, "是", add(1))
        assert factor == Fraction(n + 1, 3 + r)


def test_spode():
    """纹理 above all: 7 of the 8 good melons are 清晰, and 2 of the 9 bad ones."""
    yes = Fraction(9, 19) * Fraction(8, 11)
    yes *= Fraction(4, 10) * Fraction(6, 10) * Fraction(6, 10) * Fraction(6, 10) * Fraction(7, 9)
    no = Fraction(10, 19) * Fraction(3, 12)
    no *= Fraction(2, 5) * Fraction(1, 5) * Fraction(2, 5) * Fraction(1, 5) * Fraction(1, 4)
    assert (yes, no) == (Fraction(3024, 130625), Fraction(1, 4750))
    assert {c: WHOLE.network(star("纹理"), ONE, c, add(1)) for c in CLASSES} == {"是": yes, "否": no}
    model = fit("SPODE", super_parent="纹理", smoothing="laplace")
    assert with_parents(model.structure_) == {n: ("纹理",) for n in WHOLE.names if n != "纹理"}
    check(model, [ONE], lambda query, c: {"是": yes, "否": no}[c])


def test_kdb():
    """k = 1 follows 纹理 → 脐部 → 根蒂 → 敲声 and 纹理 → 色泽, 触感; k = 2 is in TWO_PARENTS."""
    order = ["纹理", "脐部", "根蒂", "敲声", "色泽", "触感"]
    information = [WHOLE.class_information(name) for name in order]
    assert information == sorted(information, reverse=True)
    one_parent = {
        "脐部": ("纹理",),
        "根蒂": ("脐部",),
        "敲声": ("根蒂",),
        "色泽": ("纹理",),
        "触感": ("纹理",),
    }
    wanted = {
        0: ({}, Fraction(175, 180576), Fraction(254016, 15299845)),
        1: (one_parent, Fraction(1, 3800), Fraction(126, 5225)),
        2: (with_parents(TWO_PARENTS), Fraction(1, 2052), Fraction(729, 29260)),
    }
    for k, (structure, no, yes) in wanted.items():
        assert with_parents(WHOLE.kdb(k)) == structure
        assert [WHOLE.network(structure, ONE, c, add(1)) for c in CLASSES] == [no, yes]
        model = fit("KDB", k=k, smoothing="laplace")
        assert with_parents(model.structure_) == structure
        check(model, [ONE], lambda query, c, no=no, yes=yes: {"否": no, "是": yes}[c])


# The tree


def test_the_tree():
    heaviest = WHOLE.heaviest_first()
    taken, refused = spanning(heaviest)
    assert taken == list(TREE)
    assert refused[0] == ("根蒂", "纹理")  # heavier than 色泽–纹理, but both ends hang on 脐部 already
    assert WHOLE.information("根蒂", "纹理") == pytest.approx(0.300421, abs=5e-7)
    found = {tuple(sorted(arc[:2])): arc[2] for arc in fit("TAN").arcs_}
    assert found.keys() == {tuple(sorted(edge)) for edge in TREE}
    for edge, information in TREE.items():
        assert found[tuple(sorted(edge))] == pytest.approx(information, abs=5e-7)
        assert found[tuple(sorted(edge))] == pytest.approx(WHOLE.information(*edge), rel=1e-12)


@pytest.mark.parametrize("root", [None, *WHOLE.names])
def test_roots(root):
    """Away from the root, the first attribute by default."""
    structure = directed(list(TREE), root or "色泽")
    model = fit("TAN", root=root, smoothing="laplace")
    assert with_parents(model.structure_) == with_parents(structure)
    assert {(parent, child) for parent, child, _ in model.arcs_} == {
        (parents[0], child) for child, parents in structure.items() if parents
    }
    check(model, WHOLE.rows, lambda query, c: WHOLE.network(structure, query, c, add(1)))


def test_what_the_root_changes():
    """Relative frequencies do not see the root; smoothed ones do."""
    wanted = {
        "色泽": (Fraction(21, 1045), Fraction(1, 3420)),
        "根蒂": (Fraction(189, 8360), Fraction(1, 3420)),
        "敲声": (Fraction(49, 2090), Fraction(1, 3192)),
        "纹理": (Fraction(126, 5225), Fraction(1, 3800)),
        "脐部": (Fraction(189, 8360), Fraction(1, 3800)),
        "触感": (Fraction(441, 19000), Fraction(14, 47025)),
    }
    plain = []
    for root, (yes, no) in wanted.items():
        found = np.exp(fit("TAN", root=root, smoothing="laplace").predict_joint_log_proba(asked([ONE])))[0]
        np.testing.assert_allclose(found, [float(no), float(yes)], rtol=1e-12)
        plain.append(
            np.exp(fit("TAN", root=root, smoothing="mle").predict_joint_log_proba(asked(WHOLE.rows)))
        )
    assert len({yes / (yes + no) for yes, no in wanted.values()}) == len(wanted)
    for other in plain[1:]:
        np.testing.assert_allclose(other, plain[0], rtol=1e-12, atol=0)
    assert plain[0][0, 1] == pytest.approx(54 / 833, rel=1e-12)  # the sample is the first row
    assert plain[0][0, 0] == 0.0


@pytest.mark.parametrize(("penalty", "left"), [("aic", {("根蒂", "脐部"), ("纹理", "触感")}), ("bic", set())])
def test_penalties(penalty, left):
    """2N·I must exceed twice (aic) or log N times (bic) the (r_i − 1)(r_j − 1)·2 parameters an arc costs."""
    n, price = 17, {"aic": 1.0, "bic": math.log(17) / 2}[penalty]
    sizes = {name: len(states) for name, states in WHOLE.states.items()}
    worth = [
        (information - price * 2 * (sizes[i] - 1) * (sizes[j] - 1) / n, i, j)
        for information, i, j in WHOLE.heaviest_first()
    ]
    taken, _ = spanning(sorted((edge for edge in worth if edge[0] > 0), reverse=True))
    assert set(taken) == left
    model = fit("TAN", criterion=penalty, smoothing="laplace")
    assert {tuple(sorted(arc[:2])) for arc in model.arcs_} == {tuple(sorted(arc)) for arc in left}
    structure = {name: tuple(model.structure_.get(name, ())) for name in WHOLE.names}
    check(model, WHOLE.rows, lambda query, c: WHOLE.network(structure, query, c, add(1)))


# Every row, under every prior, with and without holes


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("table", ["whole", "holed"])
def test_given_structures(table, prior):
    """A value that is missing is summed over, and counted nowhere that it would be needed."""
    on = WHOLE if table == "whole" else HOLED
    smoothing, imaginary = PRIORS[prior]
    tree = directed(list(TREE), "色泽")
    models = [
        (fit("TAN", on, structure={k: list(v) for k, v in tree.items()}, smoothing=smoothing), tree),
        (fit("SPODE", on, super_parent="根蒂", smoothing=smoothing), star("根蒂")),
        (fit("KDB", on, k=1, structure={k: list(v) for k, v in tree.items()}, smoothing=smoothing), tree),
        (
            fit("KDB", on, structure={k: list(v) for k, v in TWO_PARENTS.items()}, smoothing=smoothing),
            TWO_PARENTS,
        ),
    ]
    queries = [ONE, dict.fromkeys(ONE), *on.rows]
    for model, structure in models:
        check(model, queries, lambda query, c, arcs=structure: on.network(arcs, query, c, imaginary))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("min_count", [1, 5, 6, 100])
@pytest.mark.parametrize("table", ["whole", "holed"])
def test_aode_row_by_row(table, min_count, prior):
    """A missing value is neither super-parent nor child; no super-parent at all is naive Bayes."""
    on = WHOLE if table == "whole" else HOLED
    smoothing, imaginary = PRIORS[prior]
    model = fit("AODE", on, min_count=min_count, smoothing=smoothing)
    if min_count == 100:
        assert not on.super_parents(ONE, min_count)
    elif min_count > 1:
        assert 0 < len(on.super_parents(ONE, min_count)) <= 6
        assert any(
            len(on.super_parents(row, min_count)) < 6 - list(row.values()).count(None) for row in on.rows
        )
    queries = [ONE, dict.fromkeys(ONE), *on.rows]
    check(model, queries, lambda query, c: on.averaged(query, c, imaginary, min_count))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("table", ["whole", "holed"])
def test_several_super_parents(table, n, prior):
    """A prior of α a cell is α in the cells of P(c, x_i, x_j), too."""
    on = WHOLE if table == "whole" else HOLED
    smoothing, imaginary = PRIORS[prior]
    queries = [ONE, *on.rows[:4], *on.rows[-4:]]
    joint = [[on.averaged(query, c, imaginary, at_once=n) for c in CLASSES] for query in queries]
    exact = [[float(share / sum(shares)) for share in shares] for shares in joint]
    found = fit("AnDE", on, n=n, smoothing=smoothing).predict_proba(asked(queries))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)


def test_tan_with_holes():
    """The same tree as without holes, though each I is over the rows in which both ends are present."""
    taken, refused = spanning(HOLED.heaviest_first())
    assert set(taken) == set(TREE)
    assert refused[0] == ("根蒂", "纹理")
    model = fit("TAN", HOLED, smoothing="laplace")
    found = {tuple(sorted(arc[:2])): arc[2] for arc in model.arcs_}
    assert found.keys() == {tuple(sorted(edge)) for edge in taken}
    for edge in taken:
        assert found[tuple(sorted(edge))] == pytest.approx(HOLED.information(*edge), rel=1e-12)
    structure = directed(taken, "色泽")
    exact = [HOLED.network(structure, ONE, c, add(1)) for c in CLASSES]
    assert exact == [Fraction(1, 2508), Fraction(243, 14896)]
    check(model, [ONE, *HOLED.rows], lambda query, c: HOLED.network(structure, query, c, add(1)))


def test_aode_with_holes():
    exact = {c: HOLED.averaged(ONE, c, add(1)) for c in CLASSES}
    assert exact == {"是": Fraction(10168071, 114047500), "否": Fraction(39889, 14364000)}
    check(fit("AODE", HOLED), [ONE], lambda query, c: exact[c])


# Backing off


@pytest.mark.parametrize(
    ("prior", "constants"),
    [(BackOff([1, 2, 4]), (1, 2, 4)), (BackOff(0.25), (Fraction(1, 4),)), (WittenBell(), None)],
)
def test_back_off(prior, constants):
    def table(name, value, parents, label):
        return WHOLE.backed_off(name, value, parents, label, constants)

    def network(structure):
        return lambda query, c: WHOLE.network(structure, query, c, add(1), table)

    smoothing = {"y": "laplace", "categorical": prior}
    tree = directed(list(TREE), "色泽")
    check(fit("TAN", smoothing=smoothing), WHOLE.rows, network(tree))
    check(fit("SPODE", super_parent="脐部", smoothing=smoothing), WHOLE.rows, network(star("脐部")))
    check(fit("KDB", k=2, smoothing=smoothing), WHOLE.rows, network(TWO_PARENTS))
    # P(c, x_i) has nothing to back off to: one row is spread over its cells.
    check(
        fit("AODE", smoothing=smoothing),
        WHOLE.rows,
        lambda query, c: WHOLE.averaged(query, c, m_estimate(1), table=table),
    )
