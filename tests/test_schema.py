"""Variables, their states in canonical order, and schemas that grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._schema import LARGEST_BYTE_TABLE, LARGEST_CODE, label_order
from bayeskit.errors import ColumnError, DataError, Incompatible, UnseenState
from bayeskit.statistics import Schema, Variable
from refusals import refuses

LABELS = st.one_of(
    st.integers(-3, 3), st.sampled_from(["a", "b", "c", "é", "乌黑"]), st.sampled_from([(1,), (2, 1)])
)
Y = Variable("y", "categorical", ("no", "yes"))


def variable(states=(), n_declared=0, **more):
    return Variable("x", "categorical", tuple(states), n_declared, **more)


@given(st.lists(LABELS, unique=True))
def test_labels_of_any_kind_have_one_order(labels):
    wanted, turned = list(labels), list(labels[::-1])
    wanted.sort(key=label_order)
    turned.sort(key=label_order)
    assert wanted == turned
    kinds = [0 if isinstance(v, int) else 1 if isinstance(v, str) else 2 for v in wanted]
    assert kinds == sorted(kinds)


@given(st.lists(LABELS), st.lists(LABELS), st.lists(LABELS, unique=True, max_size=3))
def test_states_do_not_depend_on_the_order_they_came_in(first, second, declared):
    start = variable(declared, len(declared))
    grown = start.grown(first).grown(second)
    assert grown == start.grown([*second, *first])
    assert grown.states[: len(declared)] == tuple(declared)
    assert set(grown.states) == {*declared, *first, *second}
    rest = list(grown.states[len(declared) :])
    assert rest == sorted(rest, key=label_order)
    assert grown.grown(first) is grown


@given(st.lists(LABELS, max_size=5), st.lists(LABELS, max_size=5), st.lists(LABELS, max_size=5))
def test_union_is_a_set_union(a, b, c):
    one, two, three = (variable().grown(labels) for labels in (a, b, c))
    assert one.union(two) == two.union(one)
    assert one.union(two).union(three) == one.union(two.union(three))
    assert one.union(one) is one
    assert one.union(variable()) == one


def test_a_state_declared_later_moves_to_the_front():
    grown = variable().grown(["c", "a", "b"]).grown([], declared=["b"])
    assert (grown.states, grown.n_declared) == (("b", "a", "c"), 1)
    assert variable().grown(["c", "b"]).union(variable(("b",), 1)) == variable(("b", "c"), 1)


def test_codes_and_their_listing():
    long = variable(tuple(range(12)))
    assert (long.code_of(3), long.size) == (3, 12)
    assert str(long.listing()) == "0, 1, 2, 3, 4, 5, 6, 7, … 4 more"
    for strange in (12, "3", ["unhashable"]):
        with refuses(UnseenState, "x", repr(strange), "0, 1, 2, 3, 4, 5, 6, 7, … 4"):
            long.code_of(strange)


@pytest.mark.parametrize(
    ("states", "first"),
    [
        ((), None),
        ((0, 1, 2), 0),
        ((-2, -1), -2),
        ((5,), 5),
        ((0, 2), None),
        ((1, 0), None),
        (("a",), None),
        ((0.0, 1.0), None),
        ((True,), None),
        ((False, True), None),
    ],
)
def test_a_run_of_whole_numbers(states, first):
    assert variable(states).first_of_run == first


@pytest.mark.parametrize("labels", [["mauve"], ["red", "mauve"]])
def test_closed_states_are_all_there_are(labels):
    closed = variable(("red", "green"), 2, closed=True)
    assert closed.grown(["green", "red"]) is closed
    with refuses(UnseenState, "x", "mauve", "red, green"):
        closed.grown(labels)
    with refuses(UnseenState, "blue"):
        closed.grown([], declared=["blue"])


def test_only_undeclared_states_leave():
    held = variable(("b", "a", "c"), 1)
    assert held.without_unused(np.array([False, False, True])).states == ("b", "c")
    assert held.without_unused(np.array([False, True, True])) is held
    assert held.without_unused(np.array([False, False, False])) == variable(("b",), 1)


def test_dense_codes_have_every_state_up_to_the_largest():
    codes = variable((0, 1), 2, dense=True)
    grown = codes.grown([4])
    assert (grown.states, grown.n_declared) == ((0, 1, 2, 3, 4), 2)
    assert grown.grown([3]) is grown
    assert grown.union(codes) == codes.union(grown) == grown
    # States leave from the end only, down to the last with a row or the declared ones.
    assert grown.without_unused(np.array([False, True, False, True, False])).states == (0, 1, 2, 3)
    assert grown.without_unused(np.zeros(5, bool)).states == (0, 1)
    assert codes.grown([0, 1]) == codes
    with refuses(DataError, "x", -1):
        codes.grown([-1, 2])
    with refuses(DataError, "x", LARGEST_CODE):
        codes.grown([LARGEST_CODE])
    assert codes.grown([LARGEST_CODE - 1]).size == LARGEST_CODE


def test_variables_of_another_kind_or_name_do_not_unite():
    with refuses(Incompatible, "x", "categorical", "numeric"):
        variable().union(Variable("x", "numeric"))
    with refuses(Incompatible, "x", "z"):
        variable().union(Variable("z", "categorical"))
    with pytest.raises(Incompatible):
        Variable("t", "block", width=2).union(Variable("t", "block", width=3))


def mixed():
    return Schema(
        (
            variable(("a", "b")),
            Variable("n", "numeric"),
            Variable("z", "categorical", ("p",)),
            Variable("m", "numeric"),
        ),
        Y,
    )


def test_a_schema_lays_tables_one_after_the_other():
    schema = mixed()
    assert [v.name for v in schema.categorical] == ["x", "z"]
    assert schema.numeric_index == {"n": 0, "m": 1}
    assert schema.offsets.tolist() == [0, 3, 5]
    assert schema.offsets.dtype == np.uintp
    assert (schema.n_classes, schema.block) == (2, None)
    assert schema["m"] is schema.attributes[3]
    assert schema["y"] is schema.target
    with refuses(ColumnError, "q"):
        schema["q"]
    text = Variable("text", "block", width=9)
    assert Schema((text,), Y).block is text
    assert Schema((Variable("n", "numeric"),), Y).offsets.tolist() == [0]


def test_two_columns_of_one_name():
    with refuses(ColumnError, "n"):
        Schema((Variable("m", "numeric"), Variable("n", "numeric"), Variable("n", "numeric")), Y)


@pytest.mark.parametrize(
    ("size", "dtype"), [(1, np.uint8), (LARGEST_BYTE_TABLE, np.uint8), (LARGEST_BYTE_TABLE + 1, np.uint32)]
)
def test_codes_fit_a_byte_with_their_two_spare_cells(size, dtype):
    schema = Schema((variable(range(size)), Variable("z", "categorical", (0,))), Y)
    assert schema.code_dtype is dtype
    assert size + 1 <= np.iinfo(schema.code_dtype).max


def test_with_variables_gives_the_same_object_where_nothing_differs():
    schema = mixed()
    assert schema.with_variables(schema.attributes) is schema
    other = schema.with_variables(schema.attributes, Y.grown(["maybe"]))
    assert other.target.states == ("maybe", "no", "yes")
    assert other.attributes == schema.attributes


def test_restricted_keeps_the_order():
    assert [v.name for v in mixed().restricted(["m", "x"]).attributes] == ["x", "m"]
    assert mixed().restricted([]).attributes == ()


def test_union_of_schemas():
    schema = mixed()
    other = Schema((variable(("c",)), *schema.attributes[1:]), Y.grown(["maybe"]))
    both = schema.union(other)
    assert both == other.union(schema)
    assert both["x"].states == ("a", "b", "c")
    assert both.target.states == ("maybe", "no", "yes")
    assert schema.union(schema) is schema
    with refuses(Incompatible, "columns"):
        schema.union(schema.restricted(["x"]))
