"""A joint distribution on paper: tables of fractions multiplied row by row, and sums of them.

Only ``network`` and the checks at the end know bayeskit: they hold it against the fractions.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from bayeskit import BayesianNetwork


class Page:
    """Tables as a book prints them: name → (parents, {their states: the numbers of a row})."""

    def __init__(self, states, tables):
        self.states, self.tables = states, tables
        self.rows = {}  # the joint distribution: states of all nodes → product of one number from each table
        for row in product(*(states[name] for name in tables)):
            at = dict(zip(tables, row, strict=True))
            cells = (
                numbers[tuple(at[p] for p in parents)][states[name].index(at[name])]
                for name, (parents, numbers) in tables.items()
            )
            self.rows[row] = math.prod(map(Fraction, cells))
        assert sum(self.rows.values()) == 1

    def margin(self, *names):
        """P(names): states → fraction."""
        places = [list(self.tables).index(name) for name in names]
        found = Counter()
        for row, share in self.rows.items():
            found[tuple(row[i] for i in places)] += share
        return found

    def p(self, event, given=()):
        """P(event | given), both {node: state}."""
        given = dict(given)
        together = {**given, **event}
        above = self.margin(*together)[tuple(together.values())]
        return above / self.margin(*given)[tuple(given.values())]

    def independent(self, a, b, given=()):
        """P(a, b, e)·P(e) = P(a, e)·P(b, e) in every cell, exactly."""
        both, one = self.margin(a, b, *given), self.margin(a, *given)
        other, alone = self.margin(b, *given), self.margin(*given)
        return all(
            share * alone[e] == one[(x, *e)] * other[(y, *e)]
            for (x, y, *e), share in both.items()
            for e in [tuple(e)]
        )

    def network(self):
        """The same tables, given to bayeskit as nested mappings."""
        made = BayesianNetwork(
            {name: list(above) for name, (above, _) in self.tables.items()}, states=self.states
        )
        for name, (above, numbers) in self.tables.items():
            cells = {k: [float(Fraction(v)) for v in row] for k, row in numbers.items()}
            made.set_cpt(name, cells if above else cells[()])
        return made


def page(states, **tables):
    """One list of states for all nodes; a number is the second state's, given the parents' states in order."""
    made = {}
    for name, (parents, numbers) in tables.items():
        rows = product(*(states for _ in parents))
        made[name] = (
            parents,
            {row: (1 - Fraction(x), Fraction(x)) for row, x in zip(rows, numbers, strict=True)},
        )
    return Page(dict.fromkeys(tables, states), made)


def check(network, made, targets=None, given=()):
    """Every single posterior of the network equals the page's fraction."""
    found = network.posteriors(dict(given))
    for name in targets or made.tables:
        exact = [
            float(made.p({name: s}, given)) if name not in dict(given) else float(s == dict(given)[name])
            for s in network.states(name)
        ]
        np.testing.assert_allclose(found[name], exact, rtol=0, atol=1e-14)
    log_p = math.log(made.margin(*dict(given))[tuple(dict(given).values())])
    assert network.log_probability(dict(given)) == pytest.approx(log_p, abs=1e-14)


def check_joint(network, made):
    names = list(made.tables)
    joint = network.query([*names])
    for row, share in made.rows.items():
        assert joint[row] == pytest.approx(float(share), rel=1e-13, abs=1e-16)
