"""What a test asks of a refusal: its class, and the values that its message names. Never its sentences.

A message may be reworded or translated at any time. What has to stay is what its reader needs: the column, the
row, the value, the setting, the file, the way out. ``test_refusals.py`` holds all tests to this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import pytest

# Names that are also words of any sentence count only where they are quoted: 'a' is a column, a is an article.
_CONNECTING = re.compile(
    "a|an|and|as|at|by|for|has|i|if|in|is|it|no|not|of|on|one|or|so|the|to", re.IGNORECASE
)
# What a value or a pattern holds beside words: what is quoted, assigned or an identifier, and signs of patterns.
_NO_WORDS = re.compile(r"'[^']*'|\"[^\"]*\"|\\\w|\w+=|\w*_\w*|(?<!\w)\.|\.(?!\w)|[*+?^$|()\[\]\\]")


@contextmanager
def refuses(error: type[BaseException] | tuple[type[BaseException], ...], *values: object) -> Iterator[Any]:
    """Expect an error of this class that names all these values, and give what ``pytest.raises`` gives."""
    __tracebackhide__ = True
    _check_asked(error, values)
    with pytest.raises(error) as caught:
        yield caught
    lacking = unnamed(str(caught.value), *values)
    assert not lacking, f"{type(caught.value).__name__} does not name {lacking}: {caught.value}"


@contextmanager
def warns_of(warning: type[Warning] | tuple[type[Warning], ...], *values: object) -> Iterator[Any]:
    """Expect a warning of this class that names all these values, and give what ``pytest.warns`` gives."""
    __tracebackhide__ = True
    _check_asked(warning, values)
    with pytest.warns(warning) as caught:
        yield caught
    said = [str(each.message) for each in caught if issubclass(each.category, warning)]
    assert any(not unnamed(text, *values) for text in said), f"None of these names all of {values}: {said}"


def unnamed(message: str, *values: object) -> list[object]:
    """Tell which of the values a message does not name.

    A value stands in it as a whole word, as ``str`` or ``repr`` write it: 1 is not in 10, in 1.5 or in -1, and
    1000 is in "1,000 rows".
    """
    for value in values:
        if is_sentence(str(value)):
            raise ValueError(
                f"{value!r} is a sentence, which may be reworded. Ask for the values that it names."
            )
    return [value for value in values if not any(_stands(form, message) for form in _forms(value))]


def is_sentence(text: str) -> bool:
    """Tell whether a text, or a pattern, holds three words in a row, as hardly a value does."""
    return re.search(r"\b[a-z]+( +[a-z]+){2}\b", _NO_WORDS.sub(" ", text)) is not None


def _check_asked(kind: Any, values: tuple[object, ...]) -> None:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not values and {BaseException, Exception, Warning} & {*kinds}:
        raise ValueError(
            f"Any error is a {kinds[0].__name__}. Name a narrower class, or a value of the message."
        )


def _forms(value: Any) -> set[str]:
    if isinstance(value, type):
        return {value.__name__}
    if isinstance(value, bool) or value is None:
        return {repr(value)}
    if isinstance(value, Real):
        return {str(value), f"{value:,}"} | ({f"{value:g}"} if isinstance(value, float) else set())
    text = str(value)
    return {repr(text)} if _CONNECTING.fullmatch(text) else {text, repr(text)}


def _stands(form: str, message: str) -> bool:
    before = r"(?<!\w)(?<!\d[.,])" if re.match(r"\w", form) else ""
    before += "(?<!-)" if form[:1].isdigit() else ""
    after = r"(?!\w)(?![.,]\d)" if re.search(r"\w$", form) else ""
    return re.search(before + re.escape(form) + after, message) is not None
