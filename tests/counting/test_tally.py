"""The tally: verbs that change statistics, all or nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import laws
from bayeskit._counting import backend as tally_module
from bayeskit._counting.backend import Tally
from bayeskit.errors import BayeskitError, NotCounted, SettingError
from bayeskit.statistics import Statistics
from refusals import refuses

DESIGN = laws.Design(("categorical", "numeric"), (("z",), ()), ("no",))
ROWS = [
    (("a", 1.0), "yes", 1.0),
    (("b", 2.5), "no", 2.0),
    (("a", float("nan")), "perhaps", 0.5),
    ((None, 3.0), "no", 1.0),
]


def tally_of(design, *batches):
    tally = Tally(design.schema, design.plan)
    for rows in batches:
        if any(weight > 0 for _, _, weight in rows):
            tally.absorb(design.encoded(rows, tally.schema))
    return tally


def forget(tally, design, rows):
    if any(weight > 0 for _, _, weight in rows):
        tally.forget(design.encoded(rows, tally.schema))


@settings(max_examples=50)
@given(laws.batches(3))
def test_absorb_and_forget_leave_a_fresh_count(case):
    design, first, second, third = case
    tally = tally_of(design, first, second, third)
    laws.agree(tally.statistics, design.count([*first, *second, *third]))
    forget(tally, design, second)
    laws.agree(tally.statistics, design.count([*first, *third]))
    forget(tally, design, third)
    laws.agree(tally.statistics, design.count(first))
    forget(tally, design, first)
    laws.agree(tally.statistics, design.count([]))


@settings(max_examples=40)
@given(laws.batches(2))
def test_merge_is_absorbing_elsewhere(case):
    design, first, second = case
    tally = tally_of(design, first)
    tally.merge(tally_of(design, second).statistics)
    laws.agree(tally.statistics, design.count([*first, *second]))


@settings(max_examples=40)
@given(laws.batches(2))
def test_what_was_counted_elsewhere_is_absorbed_and_forgotten(case):
    design, first, second = case
    tally = tally_of(design, first)
    counted = design.count(second)
    elsewhere = Statistics.from_cell_tables(counted.schema, counted.plan, counted.cell_tables())
    tally.merge(elsewhere)
    laws.agree(tally.statistics, design.count([*first, *second]))
    tally.subtract(elsewhere)
    laws.agree(tally.statistics, design.count(first))


def test_more_than_was_counted_elsewhere_changes_nothing():
    tally = tally_of(DESIGN, ROWS)
    before = tally.statistics
    with pytest.raises(NotCounted):
        tally.subtract(DESIGN.count([(("q", 1.0), "yes", 1.0)]))
    assert tally.statistics is before


def test_fade_multiplies_every_weight():
    tally = tally_of(DESIGN, ROWS)
    tally.fade(0.25)
    laws.agree(tally.statistics, DESIGN.count([(cells, label, 0.25 * w) for cells, label, w in ROWS]))
    tally.fade(1)
    assert tally.statistics.total == pytest.approx(4.5 * 0.25)


@pytest.mark.parametrize("factor", [0.0, -0.5, 1.5, float("nan"), float("inf")])
def test_fade_takes_a_share(factor):
    tally = tally_of(DESIGN, ROWS)
    before = tally.statistics
    with refuses(SettingError, "fade", factor):
        tally.fade(factor)
    assert tally.statistics is before


@pytest.mark.parametrize(
    "strange",
    [
        [(("q", 1.0), "yes", 1.0)],
        [(("a", 1.0), "nobody", 1.0)],
        [(("a", 1.0), "yes", 1.5)],
        [ROWS[1], (("a", 1.0), "no", 1.0)],
        [((None, 1.0), "yes", 1.0)],
    ],
    ids=["state", "class", "weight", "one of two", "gap"],
)
def test_what_was_never_absorbed_changes_nothing(strange):
    tally = tally_of(DESIGN, ROWS)
    before = tally.statistics
    with pytest.raises(NotCounted):
        tally.forget(DESIGN.encoded(strange, tally.schema))
    assert tally.statistics is before


def test_a_failing_count_changes_nothing(monkeypatch):
    tally = tally_of(DESIGN, ROWS)
    before = tally.statistics

    def fail(*arguments):
        raise MemoryError

    monkeypatch.setattr(tally_module, "count_rows", fail)
    for verb in (tally.absorb, tally.forget):
        with pytest.raises(MemoryError):
            verb(DESIGN.encoded(ROWS, tally.schema))
        assert tally.statistics is before


def test_an_infinite_value_changes_nothing():
    tally = tally_of(DESIGN, ROWS)
    before = tally.statistics
    with pytest.raises(BayeskitError):
        tally.absorb(DESIGN.encoded([(("a", np.inf), "yes", 1.0)], tally.schema))
    assert tally.statistics is before


def test_the_schema_follows_the_rows():
    tally = Tally(DESIGN.schema, DESIGN.plan)
    assert (tally.schema["x0"].states, tally.schema.target.states) == (("z",), ("no",))
    tally.absorb(DESIGN.encoded(ROWS[:1], tally.schema))
    assert (tally.schema["x0"].states, tally.schema.target.states) == (("z", "a"), ("no", "yes"))
    tally.forget(DESIGN.encoded(ROWS[:1], tally.schema))
    assert (tally.schema["x0"].states, tally.schema.target.states) == (("z",), ("no",))


def test_two_hundred_batches_one_hundred_and_ninety_nine_forgotten():
    rng = np.random.default_rng(1)
    design = laws.Design(("categorical", "numeric"), ((), ()))
    batches = [
        [
            ((rng.choice(list("abcdefgh")), float(x)), rng.choice(["u", "v"]), float(w))
            for x, w in rng.random((3, 2))
        ]
        for _ in range(200)
    ]
    tally = tally_of(design, *batches)
    for rows in batches[:120] + batches[121:]:
        forget(tally, design, rows)
    laws.agree(tally.statistics, design.count(batches[120]))
