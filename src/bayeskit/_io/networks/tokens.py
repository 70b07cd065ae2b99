"""Splits text into tokens; positions are computed only for error messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from bayeskit._io.networks.mangling import QUOTED, unquoted
from bayeskit._io.networks.raw import place_in
from bayeskit._messages import Message, as_message
from bayeskit.errors import ModelFormatError

_NUMBERS = re.compile(r"[0-9eE+\-. ]*")
_CUT_SHORT = "the file ends too early: it was cut short. Copy it again from the original."


def pattern(skipped: str, signs: str, *, extra: str = "", comment: str = "") -> re.Pattern[str]:
    """Return the pattern of one token of a format.

    Parameters
    ----------
    skipped : alternatives to skip: blanks, comments
    signs : the characters that are tokens on their own
    extra : alternatives tried before all others, each followed by a bar
    comment : the character that starts a comment, if it also ends a word

    Every character belongs to a token or is skipped, so no part of a text can be overlooked: an unterminated
    quotation or comment is a token of its own, up to the end. The end is the empty token. Nothing is scanned
    twice (possessive repetition), so the time is linear in the text.
    """
    signs, comment = re.escape(signs), re.escape(comment)
    # A slash starts a comment in some formats and occurs in names (Asy/Patch) in others.
    word = rf'(?:[^\s,{signs}{comment}"/]++|/(?![/*]))++'
    return re.compile(
        rf'(?:{skipped})*+({extra}"(?:[^"\\]++|\\.)*+"?+|[{signs}]|{word}|/\*.*+|[/,]|\Z)', re.DOTALL
    )


class Tokens:
    """The tokens of a text and the current position.

    Examples
    --------
    >>> tokens = Tokens("node wet ;", pattern(r"\\s", ";"), "grass.net")
    >>> tokens.take(), tokens.name(), tokens.peek()
    ('node', 'wet', ';')
    >>> tokens.expect("{", "after the name of a node")
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: grass.net, line 1, column 10: there is ';' where '{' must stand, after the \
name of a node.
    """

    def __init__(self, text: str, pattern: re.Pattern[str], path: object = None) -> None:
        self.text, self.pattern, self.path = text, pattern, path
        self.words: list[str] = pattern.findall(text)
        while self.words and not self.words[-1]:
            self.words.pop()
        if self.words:
            last = len(self.words) - 1
            if self.words[last].startswith("/*"):
                raise self.error(
                    "a comment begins here and has no end: the file was cut short, or */ is missing.", last
                )
            if self.words[last].startswith('"') and not QUOTED.fullmatch(self.words[last]):
                raise self.error(
                    "a quotation begins here and has no end: the file was cut short, or a quotation mark is missing.",
                    last,
                )
        self.words.append("")
        self.at = 0

    def place(self, index: int | None = None) -> tuple[int, int]:
        """Return the line and column of a token, by default the next one."""
        index = self.at if index is None else index
        match = next(islice(self.pattern.finditer(self.text), index, None), None)
        return place_in(self.text, len(self.text) if match is None else match.start(1))

    def error(self, what: str | Message, index: int | None = None) -> ModelFormatError:
        line, column = self.place(index)
        return ModelFormatError(what, path=self.path, line=line, column=column)

    def cut_short(self) -> ModelFormatError:
        return self.error(_CUT_SHORT, len(self.words) - 1)

    def peek(self) -> str:
        return self.words[self.at]

    def take(self) -> str:
        word = self.words[self.at]
        if not word:
            raise self.cut_short()
        self.at += 1
        return word

    def expect(self, word: str, where: str | Message) -> None:
        found = self.words[self.at]
        if found != word:
            if not found:
                raise self.cut_short()
            raise self.error(
                Message(
                    "there is {found} where {word!r} must stand, {where}.",
                    found=shown(found),
                    word=word,
                    where=as_message(where),
                )
            )
        self.at += 1

    def skip(self, word: str) -> bool:
        """Skip a word if it is the next one."""
        found = self.words[self.at] == word
        self.at += found
        return found

    def name(self, what: str | Message = "a name") -> str:
        """Take a word, or a quoted text without its quotation marks."""
        word = self.take()
        if word[0] == '"':
            return unquoted(word)
        if len(word) == 1 and not word.isalnum() and word in "{}()[];|=:":
            raise self.error(
                Message("there is {word!r} where {what} must stand.", word=word, what=as_message(what)),
                self.at - 1,
            )
        return word

    def find(self, word: str) -> int:
        """Return the next position of a word; it must exist."""
        try:
            return self.words.index(word, self.at)
        except ValueError:
            raise self.cut_short() from None

    def numbers(self, places: Sequence[int]) -> list[float]:
        """Read the tokens at these positions as numbers."""
        words = [self.words[place] for place in places]
        if _NUMBERS.fullmatch(" ".join(words)):
            try:
                return list(map(float, words))
            except ValueError:
                pass
        place = next(place for place, word in zip(places, words, strict=True) if not is_number(word))
        raise self.error(
            Message("there is {words} where a number must stand.", words=shown(self.words[place])), place
        )


def is_number(word: str) -> bool:
    """Whether a word is a number as files write them: no underscores, no nan.

    >>> [is_number(word) for word in ("0.5", "1e-3", "-.5", "1_0", "nan", "٣")]
    [True, True, True, False, False, False]
    """
    if not word or not _NUMBERS.fullmatch(word):
        return False
    try:
        float(word)
    except ValueError:
        return False
    return True


def shown(word: str) -> str:
    return repr(word if len(word) <= 60 else f"{word[:60]}…")


# Python's own float() also accepts nan, inf, 1_000 and the digits of other scripts.
_DECIMALS = re.compile(r"[0-9eE+\-.\s]*", re.ASCII)
_WORD = re.compile(r"\S+")
_COMMENT = re.compile(r"#[^\n]*+")


def decimals(words: list[str]) -> list[float] | str:
    """Return the words as numbers, or the first word that is not a number.

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
    """The words of a text one after the other; positions are computed only for messages.

    ``#`` starts a comment up to the end of its line.

    >>> words = Words("2 3 # sizes\\n0.5")
    >>> words.whole("a size"), words.whole("a size"), words.numbers(1, "a table")
    (2, 3, [0.5])
    """

    def __init__(self, text: str, path: object = None) -> None:
        # Comments are replaced by blanks, so that lines and columns stay correct.
        self.text = _COMMENT.sub(lambda found: " " * len(found.group()), text)
        self.path = path
        self.words = self.text.split()
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.words) - self.at

    def take(self, count: int, what: str | Message) -> list[str]:
        """Return the next words; ``what`` says in errors what was expected."""
        if count > self.left:
            raise self.refusal(
                Message(
                    "the file ends where {what} should stand ({count} more words are needed). It may be cut.",
                    what=as_message(what),
                    count=count,
                ),
                len(self.words) - 1,
            )
        self.at += count
        return self.words[self.at - count : self.at]

    def whole(self, what: str | Message) -> int:
        return self.wholes(1, what)[0]

    def wholes(self, count: int, what: str | Message) -> list[int]:
        """Return the next integers, none negative."""
        found = self.take(count, what)
        for place, word in enumerate(found, self.at - count):
            # No count here exceeds 10^15, and int() is slow on thousands of digits.
            if not (word.isascii() and word.isdigit() and len(word) <= 15):
                raise self.refusal(
                    Message(
                        "{word} stands where {what} should: a whole number.",
                        word=shown(word),
                        what=as_message(what),
                    ),
                    place,
                )
        return [int(word) for word in found]

    def numbers(self, count: int, what: str | Message) -> list[float]:
        start = self.at
        found = decimals(self.take(count, what))
        if isinstance(found, str):
            place = self.words.index(found, start)
            raise self.refusal(
                Message(
                    "{found} stands where {what} should: a number.", found=shown(found), what=as_message(what)
                ),
                place,
            )
        return found

    def end(self) -> None:
        """Raise an error for left-over words, and for a last number that may have been cut off."""
        if self.left:
            raise self.refusal(
                Message("{words} occurs after the end of the model.", words=shown(self.words[self.at])),
                self.at,
            )
        if self.text == self.text.rstrip():
            raise self.refusal(
                "nothing follows the last number, so the file may have been cut short. If it is complete, add a "
                "line end.",
                len(self.words) - 1,
            )

    def refusal(self, what: str | Message, place: int | None = None) -> ModelFormatError:
        """Return an error at a word, counted from 0; by default, at the last word read."""
        wanted = max(self.at - 1, 0) if place is None else place
        start = 0
        for count, found in enumerate(_WORD.finditer(self.text)):
            start = found.start()
            if count == wanted:
                break
        line, column = place_in(self.text, start)
        return ModelFormatError(what, path=self.path, line=line, column=column)
