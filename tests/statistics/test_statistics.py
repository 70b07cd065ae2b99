"""The algebra of statistics under growing schemas: laws over random designs, and the worked cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from bayeskit import NaiveBayes
from bayeskit.errors import Incompatible, NotCounted
from bayeskit.statistics import Embedding, Plan, Schema, Statistics, Variable
from reference import is_gap, ordered
from refusals import refuses

EXAMPLES = settings(max_examples=60)
ONE = laws.Design(("categorical", "numeric"), ((), ()))


def rows(*triples):
    return [((cell, 0.5 * i), label, weight) for i, (cell, label, weight) in enumerate(triples)]


@EXAMPLES
@given(laws.batches(3))
def test_merge_is_associative_and_commutative(case):
    design, *parts = case
    laws.check_merge(*map(design.count, parts))


@EXAMPLES
@given(laws.batches(1))
def test_zero_is_the_identity(case):
    design, part = case
    laws.check_zero(design.count(part), Statistics.zero(design.schema, design.plan))


@EXAMPLES
@given(laws.batches(2))
def test_subtract_undoes_merge(case):
    design, *parts = case
    laws.check_subtract(*map(design.count, parts))


@EXAMPLES
@given(laws.batches(2), st.sampled_from([0.1, 0.5, 3.0, 1 / 3]))
def test_scale_distributes(case, factor):
    design, *parts = case
    laws.check_scale(*map(design.count, parts), factor)


@EXAMPLES
@given(laws.batches(2), st.lists(st.sampled_from([0.7, 0.9, 1 / 3, 0.5]), min_size=1, max_size=6))
def test_rows_leave_with_the_weights_that_scaling_gave_them(case, factors):
    design, *parts = case
    laws.check_faded(design.count, *parts, factors)


@EXAMPLES
@given(laws.batches(1), st.lists(st.integers(0, 30), max_size=3))
def test_any_split_of_the_rows_is_the_whole(case, cuts):
    design, part = case
    laws.check_split(design.count, part, cuts)


@EXAMPLES
@given(laws.batches(1), st.sets(st.sampled_from(["aa", "b", "f"])), st.sets(st.sampled_from(["maybe", "no"])))
def test_embed_then_prune_is_where_we_were(case, states, classes):
    design, part = case
    bare = design.schema
    attributes = (v.grown(states) if v.kind == "categorical" else v for v in bare.attributes)
    laws.check_embed(design.count(part), bare.with_variables(attributes, bare.target.grown(classes)))


@EXAMPLES
@given(laws.batches(2))
def test_the_state_space_is_that_of_the_rows_with_weight(case):
    design, kept, gone = case
    left = (design.count([*kept, *gone]) - design.count(gone)).pruned()
    states, classes = laws.space(left)
    alive = [row for row in kept if row[2] > 0]
    for j, (kind, declared) in enumerate(zip(design.kinds, design.declared, strict=True)):
        seen = {cells[j] for cells, _, _ in alive if not is_gap(cells[j])}
        wanted = (
            (*declared, *(v for v in ordered(seen) if v not in declared)) if kind == "categorical" else ()
        )
        assert states[f"x{j}"] == wanted
    seen = {label for _, label, _ in alive}
    assert classes == (*design.classes, *(v for v in ordered(seen) if v not in design.classes))


@EXAMPLES
@given(laws.batches(1))
def test_counts_are_those_of_the_slow_twin(case):
    design, part = case
    statistics = design.count(part)
    classes = statistics.schema.target.states
    for c, label in enumerate(classes):
        mine = [row for row in part if row[1] == label]
        assert statistics.class_counts[c] == pytest.approx(sum(w for _, _, w in mine), rel=1e-12)
        for j, variable in enumerate(statistics.schema.attributes):
            if variable.kind == "categorical":
                for v, state in enumerate(variable.states):
                    wanted = sum(w for cells, _, w in mine if cells[j] == state)
                    assert statistics.table(variable.name)[v, c] == pytest.approx(wanted, rel=1e-12)
            else:
                place = statistics.schema.numeric_index[variable.name]
                wanted = sum(w for cells, _, w in mine if not is_gap(cells[j]))
                assert statistics.moments.weight[c, place] == pytest.approx(wanted, rel=1e-12)
    assert statistics.total == pytest.approx(sum(w for _, _, w in part), rel=1e-12)


@EXAMPLES
@given(laws.batches(2))
def test_operands_are_left_as_they_were(case):
    design, *parts = case
    one, two = map(design.count, parts)
    before = {kind: {n: a.copy() for n, a in part.arrays().items()} for kind, part in one.parts.items()}
    for result in (one + two, one * 0.5, (one + two) - one, one.pruned()):
        assert isinstance(result, Statistics)
    for kind, arrays in before.items():
        for name, array in arrays.items():
            np.testing.assert_array_equal(one.parts[kind].arrays()[name], array)


@pytest.mark.parametrize(
    ("held", "gone"),
    [
        (rows(("a", "no", 1.0)), rows(("b", "no", 1.0))),
        (rows(("a", "no", 1.0)), rows(("a", "yes", 1.0))),
        (rows(("a", "no", 1.0)), rows(("a", "no", 2.0))),
        (rows(("a", "no", 0.3)), rows(("a", "no", 0.3001))),
        (rows(("a", "no", 1e10), ("b", "yes", 1e10)), rows(("c", "no", 1.0))),
        (rows(("a", "no", 1e10), ("b", "yes", 1e10)), rows(("b", "no", 1.0))),
        (rows(("a", "no", 1.0)), rows((None, "no", 1.0))),
    ],
    ids=[
        "state",
        "class",
        "weight",
        "fraction",
        "new state of heavy rows",
        "cell of heavy rows",
        "missing cell",
    ],
)
def test_rows_that_were_never_counted_are_refused(held, gone):
    with refuses(NotCounted):
        ONE.count(held) - ONE.count(gone)


def test_a_value_that_was_never_there_is_refused_also_in_the_spare_cell():
    held, gone = ONE.count([(("a", 1.0), "no", 2.0)]), ONE.count([(("a", float("nan")), "no", 1.0)])
    left = held - gone  # nothing was counted of the numeric cell, so nothing is taken from it
    assert left.moments.weight.tolist() == [[2.0]]
    with pytest.raises(NotCounted):
        gone - held


@pytest.mark.parametrize(
    "weights", [(1e6, 0.1), (1e8, 1e-3), (0.1, 1e6), (1e12, 0.7, 3e5), (2.0**40, 0.25, 3.0)]
)
def test_weights_of_any_size_leave_nothing_behind(weights):
    triples = [("a", "no", w) for w in weights]
    total = ONE.count(rows(*triples, ("b", "yes", 1.0)))
    for row in rows(*triples):
        total = (total - ONE.count([row])).pruned()
    assert laws.space(total) == ({"x0": ("b",), "x1": ()}, ("yes",))
    assert (total.tables.counts >= 0).all()


def test_what_was_taken_away_is_remembered_only_where_it_may_have_left_an_error():
    total, one = ONE.count(rows(("a", "no", 1.0), ("b", "yes", 2.25))), ONE.count(rows(("a", "no", 1.0)))
    assert not (total - one).gone  # whole numbers and short fractions are taken away without rounding
    assert not ((total * 0.5) - (one * 0.5)).gone
    left = total * 0.7 - one * 0.7
    assert set(left.gone) == {"tables", "moments"}
    assert left.gone["tables"].margin.tolist() == [0.0, 0.0]  # the class is empty: nothing is in doubt
    thirds = ONE.count(rows(("a", "no", 1 / 3), ("b", "no", 0.1)))
    left = thirds - ONE.count(rows(("a", "no", 1 / 3)))
    assert set(left.gone) == {
        "tables"
    }  # two doubles hold sums of any weights; sums in one double are in doubt
    assert (left + total).gone["tables"].margin.tolist() == [1 / 3, 0.0]
    assert (left * 0.5).gone["tables"].margin.tolist() == [1 / 6]
    assert not (left - left).gone


def test_a_remainder_is_nothing_below_a_share_of_what_was_taken():
    for share, stays in ((2.0**-47, True), (2.0**-49, False)):
        total = ONE.count(rows(("a", "no", 0.7), ("b", "yes", 1.0)))
        left = (total - ONE.count(rows(("a", "no", 0.7 * (1.0 - share))))).pruned()
        assert laws.space(left)[1] == (("no", "yes") if stays else ("yes",))


def test_declared_states_and_classes_stay():
    design = laws.Design(("categorical",), (("稍糊",),), ("z", "no"))
    statistics = design.count([(("a",), "yes", 1.0)])
    left = (statistics - statistics).pruned()
    assert laws.space(left) == ({"x0": ("稍糊",)}, ("z", "no"))
    assert left.class_counts.tolist() == [0.0, 0.0]


def test_one_factor_for_each_class():
    statistics = ONE.count(rows(("a", "no", 2.0), ("b", "yes", 3.0)))
    scaled = statistics.scale(np.array([2.0, 0.5]))
    assert scaled.class_counts.tolist() == [4.0, 1.5]
    assert scaled.table("x0").tolist() == [[4.0, 0.0], [0.0, 1.5]]
    assert scaled.moments.weight.ravel().tolist() == [4.0, 1.5]


def test_other_plans_and_columns_do_not_mix():
    one = ONE.count(rows(("a", "no", 1.0)))
    other = laws.Design(("categorical", "numeric"), ((), ()), together=True).count(rows(("a", "no", 1.0)))
    with refuses(Incompatible, "statistics", "plans"):
        one + other
    with pytest.raises(Incompatible):
        one + laws.Design(("categorical",), ((),)).count([(("a",), "no", 1.0)])


def test_nothing_to_prune_is_the_same_object():
    statistics = ONE.count(rows(("a", "no", 2.0), ("b", "yes", 3.0)))
    assert statistics.pruned() is statistics
    assert statistics.embed(statistics.schema) is statistics
    declared = laws.Design(("categorical",), (("z",),)).count([(("a",), "no", 1.0)])
    assert declared.pruned() is declared


def test_an_embedding_knows_where_everything_goes():
    y = Variable("y", "categorical", ("p", "q"))
    x = Variable("x", "categorical", ("b", "d"))
    same = Variable("z", "categorical", ("k",))
    old = Schema((x, same), y)
    new = Schema(
        (Variable("x", "categorical", ("a", "b", "c")), same), Variable("y", "categorical", ("q", "r"))
    )
    embedding = Embedding(old, new)
    assert embedding.classes.tolist() == [-1, 0]
    assert embedding.rows.tolist() == [1, -1, 3, 4, 5]
    assert embedding.move_classes(np.array([[1.0, 2.0]]), axis=1).tolist() == [[2.0, 0.0]]
    none = Schema((Variable("n", "numeric"),), y)
    assert Embedding(none, none).rows.tolist() == []


def test_zero_is_a_real_object():
    zero = Statistics.zero(ONE.schema, Plan.naive(ONE.schema))
    assert (zero.total, zero.class_counts.shape, zero.table("x0").shape) == (0.0, (0,), (0, 0))


def test_taking_away_whole_rows_keeps_the_low_parts():
    """Sums of 0.1 and 0.2 have digits beyond a double, which rows of weight one do not touch."""
    model = NaiveBayes().partial_fit([["u"]] * 3, [0, 1, 0], sample_weight=[0.1, 0.2, 0.2])
    for _ in range(9):
        model.partial_fit([["u"]], [0], sample_weight=[0.1])
    model.partial_fit([["u"], ["v"]], [0, 1]).forget([["u"], ["v"]], [0, 1])
    tables = model.statistics_.parts["tables"]
    assert tables.counts_low is not None and tables.margin_low.any()
    model.forget([["u"]] * 3, [0, 1, 0], [0.1, 0.2, 0.2])
    for _ in range(8):
        model.forget([["u"]], [0], [0.1])
    left = model.statistics_.parts["tables"]
    assert left.margin.tolist() == [0.1] and left.margin_low.tolist() == [0.0]


def test_the_table_of_counts_says_what_is_not_shown_and_no_more():
    html = NaiveBayes().fit([["u"], ["v"]], [0, 1]).statistics_._repr_html_()
    assert "more" not in html and "not shown" not in html
    html = NaiveBayes().fit([["u"]] * 300, range(300)).statistics_._repr_html_()
    assert "more classes" in html and "not shown" in html
