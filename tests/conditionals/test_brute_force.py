"""Tiny tables with holes and weights: P(c, x) of the semi-naive family is the product formula, summed over all
values that are missing.

The slow side is ``worked/sheet.py``: fractions, one row at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sheet import UNSEEN, Sheet, add, bdeu, m_estimate

import bayeskit
from bayeskit.errors import SuspectResult
from bayeskit.priors import BDeu, Lidstone, MEstimate

NAMES = ("a", "b", "c")
STATES = {"a": ("p", "q"), "b": ("p", "q", "r"), "c": ("p", "q", "r")}
PRIORS = {
    "mle": (Lidstone(0.0), add(0)),
    "laplace": (Lidstone(1.0), add(1)),
    "half": (Lidstone(0.5), add(Fraction(1, 2))),
    "m-estimate": (MEstimate(2), m_estimate(2)),
    "bdeu": (BDeu(3), bdeu(3)),
}
STRUCTURES: dict[str, list[dict[str, list[str]]]] = {
    "TAN": [
        {"a": [], "b": ["a"], "c": ["b"]},
        {"a": ["c"], "b": ["c"], "c": []},
        {"a": ["b"], "b": [], "c": []},
        {"a": [], "b": [], "c": []},
    ],
    "SPODE": [{"a": [], "b": ["a"], "c": ["a"]}, {"a": ["c"], "b": ["c"], "c": []}],
    "KDB": [
        {"a": [], "b": ["a"], "c": ["b", "a"]},
        {"a": ["b", "c"], "b": [], "c": ["b"]},
        {"a": ["b"], "b": [], "c": []},
    ],
}
SMOOTHED = [name for name in PRIORS if name != "mle"]


@dataclass(frozen=True)
class Problem:
    """A table that was learned, and rows to be asked for."""

    sheet: Sheet
    queries: tuple[dict[str, Any], ...]

    def fit(self, model: str, **options: Any) -> Any:
        return getattr(bayeskit, model)(**options).fit(
            objects(self.sheet.rows), self.sheet.y, sample_weight=[float(w) for w in self.sheet.weights]
        )


def objects(rows: Any) -> dict[str, Any]:
    """Columns of objects, so that a column of None alone is no column of numbers."""
    columns = {}
    for name in NAMES:
        columns[name] = np.empty(len(rows), dtype=object)
        columns[name][:] = [row[name] for row in rows]
    return columns


@st.composite
def problems(draw: Any, holes: bool = True, unseen: bool = False, at_least: int = 1) -> Problem:
    def cells(name: str, *others: Any) -> Any:
        return st.sampled_from([*STATES[name], *([None] if holes else []), *others])

    n = draw(st.integers(at_least, 9))
    columns = {name: draw(st.lists(cells(name), min_size=n, max_size=n)) for name in NAMES}
    assume(all(set(column) != {None} for column in columns.values()))
    y = draw(st.lists(st.sampled_from(["no", "so", "yes"]), min_size=n, max_size=n))
    weight = st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2)])
    sheet = Sheet(columns, y, draw(st.lists(weight, min_size=n, max_size=n)))
    others = {name: [UNSEEN] if unseen else [] for name in NAMES}
    known = {name: [*sheet.states[name], *([None] if holes else []), *others[name]] for name in NAMES}
    query = st.fixed_dictionaries({name: st.sampled_from(known[name]) for name in NAMES})
    return Problem(sheet, tuple(draw(st.lists(query, min_size=1, max_size=4))))


def check(model: Any, sheet: Sheet, queries: Any, expected: Any) -> None:
    assert model.classes_.tolist() == list(sheet.classes)
    exact = np.array([[float(expected(query, c)) for c in sheet.classes] for query in queries])
    found = model.predict_joint_log_proba(objects(queries))
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found, np.log(exact), rtol=0, atol=1e-12)


def check_left_out(model: Any, problem: Problem, expected: Any) -> None:
    """Every row's posterior is that of the sheet on which it is crossed out."""
    sheet = problem.sheet
    found = model.leave_one_out(objects(sheet.rows), sheet.y, sample_weight=[float(w) for w in sheet.weights])
    for i, row in enumerate(sheet.rows):
        rest = sheet.without(i)
        exact = np.array([float(expected(rest, row, c)) for c in sheet.classes])
        np.testing.assert_allclose(found[i], exact / exact.sum(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", STRUCTURES)
@settings(max_examples=70)
@given(problem=problems(), prior=st.sampled_from(sorted(PRIORS)), data=st.data())
def test_given_structures(model, problem, prior, data):
    structure = data.draw(st.sampled_from(STRUCTURES[model]))
    smoothing, imaginary = PRIORS[prior]
    sheet = problem.sheet
    fitted = problem.fit(model, structure=structure, smoothing=smoothing)
    check(fitted, sheet, problem.queries, lambda query, c: sheet.network(structure, query, c, imaginary))


@settings(max_examples=100)
@given(problem=problems(), prior=st.sampled_from(sorted(PRIORS)), min_count=st.sampled_from([1, 2.5]))
def test_aode(problem, prior, min_count):
    """Naive Bayes answers where no value is eligible, not where the eligible ones find every class impossible."""
    smoothing, imaginary = PRIORS[prior]
    sheet = problem.sheet
    fitted = problem.fit("AODE", min_count=min_count, smoothing=smoothing)
    check(fitted, sheet, problem.queries, lambda query, c: sheet.averaged(query, c, imaginary, min_count))


@pytest.mark.parametrize("n", [0, 1, 2])
@settings(max_examples=60)
@given(problem=problems(at_least=4), prior=st.sampled_from(SMOOTHED), min_count=st.sampled_from([1, 2.5]))
def test_several_super_parents(n, problem, prior, min_count):
    """A row without a pair of super-parents has single ones, and without these it is naive Bayes's."""
    smoothing, imaginary = PRIORS[prior]
    sheet = problem.sheet
    fitted = problem.fit("AnDE", n=n, min_count=min_count, smoothing=smoothing)
    found = fitted.predict_proba(objects(problem.queries))
    for query, posterior in zip(problem.queries, found, strict=True):
        joint = [sheet.averaged(query, c, imaginary, min_count, n) for c in sheet.classes]
        exact = [float(share / sum(joint)) for share in joint]
        np.testing.assert_allclose(posterior, exact, rtol=0, atol=1e-12)


@settings(max_examples=40)
@given(problem=problems())
def test_the_learned_tree(problem):
    """Of the three trees on three attributes none is heavier; and what was learned is what answers."""
    sheet = problem.sheet
    fitted = problem.fit("TAN", smoothing="laplace")
    weights = {pair: sheet.information(*pair) for pair in combinations(NAMES, 2)}
    for parent, child, information in fitted.arcs_:
        assert information == pytest.approx(weights[min(parent, child), max(parent, child)], abs=1e-12)
    assert len({frozenset(arc[:2]) for arc in fitted.arcs_}) == len(fitted.arcs_) == 2
    heaviest = sum(weights.values()) - min(weights.values())
    assert sum(arc[2] for arc in fitted.arcs_) == pytest.approx(heaviest, abs=1e-12)
    structure = {name: list(fitted.structure_.get(name, ())) for name in NAMES}
    assert not structure["a"]  # the root is the first attribute
    check(fitted, sheet, problem.queries, lambda query, c: sheet.network(structure, query, c, add(1)))


@pytest.mark.parametrize("k", [0, 1, 2])
@settings(max_examples=20, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(problem=problems(at_least=7))
def test_the_learned_parents(k, problem):
    """By I(x; y), then each one's k of largest I(x; parent | y)."""
    sheet = problem.sheet
    about_class = [sheet.class_information(name) for name in NAMES]
    # Ties that rounding decides are no one's right.
    assume(all(abs(u - v) > 1e-9 for u, v in combinations(about_class, 2)))
    about_pairs = [sheet.information(*pair) for pair in combinations(NAMES, 2)]
    assume(all(abs(u - v) > 1e-9 for u, v in combinations(about_pairs, 2)))
    fitted = problem.fit("KDB", k=k, smoothing="laplace")
    structure = sheet.kdb(k)
    assert {name: tuple(parents) for name, parents in fitted.structure_.items() if parents} == {
        name: parents for name, parents in structure.items() if parents
    }
    check(fitted, sheet, problem.queries, lambda query, c: sheet.network(structure, query, c, add(1)))


@pytest.mark.parametrize("model", STRUCTURES)
@settings(max_examples=30)
@given(problem=problems(holes=False, unseen=True), data=st.data())
def test_unseen_is_one_state_more(model, problem, data):
    structure = data.draw(st.sampled_from(STRUCTURES[model]))
    sheet = problem.sheet.with_one_state_more()
    fitted = problem.fit(model, structure=structure, smoothing="laplace", unseen="smooth")
    check(fitted, sheet, problem.queries, lambda query, c: sheet.network(structure, query, c, add(1)))
    ignored = problem.fit(model, structure=structure, smoothing="laplace")
    left_out = [{k: None if v == UNSEEN else v for k, v in query.items()} for query in problem.queries]
    np.testing.assert_array_equal(
        ignored.predict_joint_log_proba(objects(problem.queries)),
        ignored.predict_joint_log_proba(objects(left_out)),
    )


@settings(max_examples=30)
@given(problem=problems(holes=False, unseen=True))
def test_unseen_in_aode(problem):
    sheet = problem.sheet.with_one_state_more()
    fitted = problem.fit("AODE", unseen="smooth")
    check(fitted, sheet, problem.queries, lambda query, c: sheet.averaged(query, c, add(1)))


@pytest.mark.parametrize("model", [*STRUCTURES, "AODE"])
@settings(max_examples=30)
@given(problem=problems(), data=st.data())
def test_missing_as_a_state(model, problem, data):
    """Missing as a state is a state named anything; where no row lacks it, a hole is a hole."""

    def named(rows: Any) -> list[dict[str, Any]]:
        return [{k: "hole" if v is None else v for k, v in row.items()} for row in rows]

    sheet = problem.sheet
    several = STRUCTURES.get(model)
    arcs = {"structure": data.draw(st.sampled_from(several))} if several else {}
    fitted = problem.fit(model, smoothing=Lidstone(0.5), missing="state", **arcs)
    columns = {name: [row[name] for row in named(sheet.rows)] for name in NAMES}
    other = Problem(Sheet(columns, sheet.y, sheet.weights), ()).fit(model, smoothing=Lidstone(0.5), **arcs)
    np.testing.assert_allclose(
        fitted.predict_joint_log_proba(objects(problem.queries)),
        other.predict_joint_log_proba(objects(named(problem.queries))),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("model", STRUCTURES)
@settings(max_examples=25)
@given(problem=problems(at_least=2), prior=st.sampled_from(SMOOTHED), data=st.data())
def test_leave_one_out(model, problem, prior, data):
    structure = data.draw(st.sampled_from(STRUCTURES[model]))
    smoothing, imaginary = PRIORS[prior]
    fitted = problem.fit(model, structure=structure, smoothing=smoothing)
    check_left_out(fitted, problem, lambda sheet, row, c: sheet.network(structure, row, c, imaginary))


@pytest.mark.parametrize("n", [1, 2])
@settings(max_examples=30)
@given(problem=problems(at_least=2), prior=st.sampled_from(SMOOTHED), min_count=st.sampled_from([1, 2.5]))
def test_leave_one_out_of_averages(n, problem, prior, min_count):
    """A super-parent's value may fall below the threshold with the row."""
    smoothing, imaginary = PRIORS[prior]
    fitted = problem.fit("AnDE", n=n, min_count=min_count, smoothing=smoothing)
    check_left_out(fitted, problem, lambda sheet, row, c: sheet.averaged(row, c, imaginary, min_count, n))


def test_leave_one_out_can_be_told_from_the_fit():
    """Else the two tests above would hold for a model that leaves nothing out."""
    sheet = Sheet({"a": ["p", "q", "q"], "b": ["p", "q", "r"], "c": ["p", "q", "q"]}, ["no", "yes", "yes"])
    problem = Problem(Sheet(sheet.columns, sheet.y, [Fraction(1)] * 3), ())
    fitted = problem.fit("AODE")
    found = fitted.leave_one_out(objects(sheet.rows), sheet.y)
    assert np.abs(found - fitted.predict_proba(objects(sheet.rows))).max() > 0.1


@pytest.mark.parametrize("model", ["TAN", "SPODE", "KDB", "AODE"])
def test_where_every_class_is_impossible(model):
    """Relative frequencies may leave nothing; then the answer is P(c), with a warning, and never NaN."""
    sheet = Sheet({"a": ["p", "q", "q"], "b": ["p", "q", "q"], "c": ["p", "q", "p"]}, ["no", "yes", "yes"])
    problem = Problem(Sheet(sheet.columns, sheet.y, [Fraction(1)] * 3), ())
    options = {"SPODE": {"super_parent": "a"}, "KDB": {"k": 1}}.get(model, {})
    fitted = problem.fit(model, smoothing="mle", **options)
    query = [{"a": "p", "b": "q", "c": "q"}]
    with pytest.warns(SuspectResult):
        found = fitted.predict_proba(objects(query))
    np.testing.assert_allclose(found, [[1 / 3, 2 / 3]], rtol=1e-12)
