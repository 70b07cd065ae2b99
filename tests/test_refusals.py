"""Refusals are asked for by class and values: what ``refusals.py`` accepts, and that every test keeps to it."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import bayeskit.errors
from bayeskit.errors import ColumnError, DataError, SettingError, SuspectColumn, SuspectResult
from refusals import is_sentence, refuses, unnamed, warns_of

OURS = {name for name in vars(bayeskit.errors) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("message", "values"),
    [
        ("alpha is -1; give a number", ["alpha", -1]),
        ("Column 'x1' holds nan in row 3", ["x1", "nan", 3]),
        ("tables of 1,198 cells, and 2.5 GiB", [1198, 2.5, "GiB"]),
        ("the shape (2, 3); exclude=['id']", ["(2, 3)", "exclude=['id']", "exclude="]),
        (
            "call refresh(), or see /tmp/t/rows.csv.",
            ["refresh()", "refresh", "rows.csv", Path("/tmp/t/rows.csv")],
        ),
        ("it is 1e+300, 0.0 and True", [1e300, 0.0, True, "1e+300"]),
        ("A list cannot be None", [list, None]),
        ("there is no 'a' and no 'no'", ["a", "no"]),
        ("7 rows of 12", [np.int64(7), np.float64(12)]),
        ('"色泽" has no state 稍糊', ["色泽", "稍糊"]),
    ],
)
def test_values_that_a_message_names(message, values):
    assert unnamed(message, *values) == []
    with refuses(SettingError, *values) as caught:
        raise SettingError(message)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("message", "value"),
    [
        ("there are 10 rows", 1),
        ("there are 1.5 rows", 1),
        ("there are 1.5 rows", 5),
        ("there are 1,198 rows", 198),
        ("alpha is -1", 1),
        ("alpha is -10", -1),
        ("max_alpha is 1", "alpha"),
        ("alphas are 1", "alpha"),
        ("a column has no name", "a"),  # an article is not the column 'a'
        ("a column has no name", "no"),
        ("True is not 1.0", False),
        ("色泽度", "色泽"),
    ],
)
def test_values_that_a_message_does_not_name(message, value):
    assert unnamed(message, value) == [value]
    with pytest.raises(AssertionError, match=re.escape(message)), refuses(DataError, value):
        raise DataError(message)


def test_the_class_is_asked_for_too():
    with pytest.raises(DataError), refuses(ColumnError, "x"):
        raise DataError("there is no 'x'")
    with pytest.raises(pytest.fail.Exception), refuses(DataError):
        pass
    with refuses((SettingError, DataError), "x"):
        raise ColumnError("there is no 'x'")


@pytest.mark.parametrize("any_error", [Exception, BaseException, (ValueError, Exception)])
def test_any_error_at_all_is_no_question(any_error):
    with pytest.raises(ValueError, match="narrower"), refuses(any_error):
        raise DataError("x")
    with refuses(any_error, "x"):
        raise DataError("there is no 'x'")


def test_a_sentence_is_no_value():
    with pytest.raises(ValueError, match="sentence"):
        unnamed("there is no such column", "is no such column")
    for value in (
        "likelihood weighting",
        "a = yes, b = mid",
        "json, bif, uai",
        "method='likelihood weighting'",
    ):
        assert unnamed(f"pass {value}", value) == []


def warn(kind: type[Warning], *texts: str) -> None:
    for text in texts:
        warnings.warn(text, kind, stacklevel=1)


def test_one_warning_names_all_the_values():
    with warns_of(SuspectResult, "x1", 3) as caught:
        warn(SuspectResult, "first", "'x1' in row 3")
    assert len(caught) == 2
    with pytest.raises(AssertionError), warns_of(SuspectResult, "x1", 3):
        warn(SuspectResult, "'x1'", "row 3")
    with pytest.raises(pytest.fail.Exception), pytest.warns(SuspectColumn), warns_of(SuspectResult, "x1"):
        warn(SuspectColumn, "'x1'")
    with pytest.raises(ValueError, match="narrower"), warns_of(Warning):
        warn(SuspectResult, "x")


def text_of(node: ast.expr) -> str | None:
    """Give what is written in a string or an f-string; None for what only a run could tell."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) or " " for part in parts)
    return None


def may_be_ours(kind: ast.expr) -> bool:
    """Tell whether an error that is asked for may be one of bayeskit's: a variable may hold any."""
    names = {each.id for each in ast.walk(kind) if isinstance(each, ast.Name)}
    names |= {each.attr for each in ast.walk(kind) if isinstance(each, ast.Attribute)}
    return any(name in OURS or name.islower() for name in names - {"bayeskit", "errors"})


def asked_by_sentence(source: str) -> list[int]:
    """List the lines that ask one of our refusals for its sentence instead of class and values."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="raises" | "warns"), args=[kind, *_], keywords=keywords):
                for word in keywords:
                    text = text_of(word.value)
                    if word.arg == "match" and may_be_ours(kind) and (text is None or is_sentence(text)):
                        lines.append(node.lineno)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[message]):
                told = re.match(r"str\(\w+(\[\d\])?\.(value|message)\)|refused\(", ast.unparse(message))
                if told and is_sentence(text_of(left) or ""):
                    lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    ("source", "amiss"),
    [
        ("pytest.raises(DataError, match='no such column')", True),
        ("pytest.raises(errors.DataError, match=r'has no .* state')", True),
        ("pytest.warns((DataError, ValueError), match=f'row {1} of the table')", True),
        ("pytest.raises(error, match='which is not a column')", True),
        ("pytest.raises(DataError, match=says)", True),
        ("pytest.raises(DataError, match='alpha')", False),
        ("pytest.raises(DataError, match=\"'no such column'\")", False),
        ("pytest.raises(ValueError, match='assignment destination is read-only')", False),
        ("refuses(DataError, 'x', 1)", False),
        ("assert 'cannot be saved' in str(caught.value)", True),
        ("assert 'there is no column' in refused('fit')", True),
        ("assert 'there is no column' in str(page)", False),
        ("assert '--lang' in refused('fit')", False),
    ],
)
def test_what_the_rule_finds(source, amiss):
    assert bool(asked_by_sentence(source)) is amiss


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_no_test_asks_for_a_sentence(path):
    if path != Path(__file__):
        assert asked_by_sentence(path.read_text("utf-8")) == [], "use refuses or warns_of of refusals.py"
