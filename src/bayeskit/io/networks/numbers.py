"""Numbers in text: plain decimals only, and where a word stands for messages."""

from __future__ import annotations

import re

from bayeskit.errors import ModelFormatError
from bayeskit.io.networks.raw import place_in
from bayeskit.io.networks.tokens import is_number, shown

# Python's own float() also takes nan, inf, 1_000 and the digits of other scripts.
_DECIMALS = re.compile(r"[0-9eE+\-.\s]*", re.ASCII)
_WORD = re.compile(r"\S+")
_COMMENT = re.compile(r"#[^\n]*+")


def decimals(words: list[str]) -> list[float] | str:
    """Return the numbers that the words are, or the first word that is none.

    >>> decimals(["0.5", "1e-3"]), decimals(["0.5", "nan"])
    ([0.5, 0.001], 'nan')
    """
    try:
        if _DECIMALS.fullmatch(" ".join(words)):
            return [float(word) for word in words]
    except ValueError:
        pass
    return next(word for word in words if not is_number(word))


class Words:
    """The words of a text one after the other; the place of each is found only when a message needs it.

    ``#`` begins a comment that goes on to the end of its line.

    >>> words = Words("2 3 # sizes\\n0.5")
    >>> words.whole("a size"), words.whole("a size"), words.numbers(1, "a table")
    (2, 3, [0.5])
    """

    def __init__(self, text: str, path: object = None) -> None:
        # A comment keeps its place, so that lines and columns stay true.
        self.text = _COMMENT.sub(lambda found: " " * len(found.group()), text)
        self.path = path
        self.words = self.text.split()
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.words) - self.at

    def take(self, count: int, what: str) -> list[str]:
        """Return the next words; ``what`` says in errors what was to stand there."""
        if count > self.left:
            raise self.refusal(
                f"the file ends where {what} should stand ({count} more words are needed). It may be cut.",
                len(self.words) - 1,
            )
        self.at += count
        return self.words[self.at - count : self.at]

    def whole(self, what: str) -> int:
        return self.wholes(1, what)[0]

    def wholes(self, count: int, what: str) -> list[int]:
        """Return the next whole numbers, none negative."""
        found = self.take(count, what)
        for place, word in enumerate(found, self.at - count):
            # Nothing here counts beyond 10^15, and int() is slow on thousands of digits.
            if not (word.isascii() and word.isdigit() and len(word) <= 15):
                raise self.refusal(f"{shown(word)} stands where {what} should: a whole number.", place)
        return [int(word) for word in found]

    def numbers(self, count: int, what: str) -> list[float]:
        start = self.at
        found = decimals(self.take(count, what))
        if isinstance(found, str):
            place = self.words.index(found, start)
            raise self.refusal(f"{shown(found)} stands where {what} should: a number.", place)
        return found

    def end(self) -> None:
        """Refuse words that are left over, and a last number that may have been cut."""
        if self.left:
            raise self.refusal(f"{shown(self.words[self.at])} stands after the end of the model.", self.at)
        if self.text == self.text.rstrip():
            raise self.refusal(
                "nothing stands after the last number, so nobody can tell whether it was cut. If the file is whole, "
                "add a line end.",
                len(self.words) - 1,
            )

    def refusal(self, what: str, place: int | None = None) -> ModelFormatError:
        """Return an error at a word, counted from 0; by default at the one read last."""
        wanted = max(self.at - 1, 0) if place is None else place
        start = 0
        for count, found in enumerate(_WORD.finditer(self.text)):
            start = found.start()
            if count == wanted:
                break
        line, column = place_in(self.text, start)
        return ModelFormatError(what, path=self.path, line=line, column=column)
