"""Plans: which terms a pattern stands for."""

from __future__ import annotations

import pytest

from bayeskit.statistics import Pattern, Plan, Schema, Term, Variable

MIXED = Schema(
    (
        Variable("a", "categorical"),
        Variable("u", "numeric"),
        Variable("b", "categorical"),
        Variable("v", "numeric"),
    ),
    Variable("y", "categorical"),
)


@pytest.mark.parametrize(
    ("pattern", "terms"),
    [
        (Pattern("tables", ()), [Term(("y",))]),
        (Pattern("tables", ("a", "b")), [Term(("y",)), Term(("y", "a")), Term(("y", "b"))]),
        (Pattern("moments", ("u", "v")), [Term(("y",), ("u",), 2), Term(("y",), ("v",), 2)]),
        (Pattern("totals", ("text",)), [Term(("y",), ("text",), 1)]),
        (Pattern("scatter", ("u", "v")), [Term(("y",), ("u", "v"), 4)]),
        (Pattern("grids", ("u", "v")), [Term(("y",), ("u",), 0), Term(("y",), ("v",), 0)]),
        (
            Pattern("pairs", ("a", "b")),
            [Term(("y",)), Term(("y", "a")), Term(("y", "b")), Term(("y", "a", "b"))],
        ),
        (Pattern("triples", ("b", "a")), [Term(("y",)), Term(("y", "a", "b"))]),
        (Pattern("families", (("a",), ("b", "a"))), [Term(("y",)), Term(("y", "a")), Term(("y", "b", "a"))]),
        (Pattern("cell_moments", ("v",)), [Term(("y", "a"), ("v",), 2), Term(("y", "b"), ("v",), 2)]),
    ],
    ids=lambda value: value.kind if isinstance(value, Pattern) else "",
)
def test_the_terms_of_a_pattern(pattern, terms):
    assert list(pattern.terms(MIXED)) == terms
    assert Plan((pattern, pattern)).terms(MIXED) == tuple(terms)


def test_naive_bayes_asks_for_every_attribute_with_the_class():
    assert Plan.naive(MIXED).patterns == (Pattern("tables", ("a", "b")), Pattern("moments", ("u", "v")))
    more = Plan.naive(MIXED, scatter=("u", "v"), grids=("v",)).patterns
    assert more[2:] == (Pattern("scatter", ("u", "v")), Pattern("grids", ("v",)))


@pytest.mark.parametrize(
    ("attributes", "kinds"),
    [
        ((Variable("a", "categorical"),), ["tables"]),
        ((Variable("u", "numeric"),), ["tables", "moments"]),
        ((Variable("text", "block", width=3),), ["tables", "totals"]),
        ((), ["tables"]),
    ],
)
def test_a_plan_has_the_patterns_its_schema_needs(attributes, kinds):
    plan = Plan.naive(Schema(attributes, Variable("y", "categorical")))
    assert [p.kind for p in plan.patterns] == kinds


def test_plans_are_values():
    assert Plan.naive(MIXED) == Plan.naive(MIXED)
    assert hash(Plan.naive(MIXED)) == hash(Plan.naive(MIXED))
    assert Plan.naive(MIXED) != Plan.naive(MIXED, grids=("u",))
