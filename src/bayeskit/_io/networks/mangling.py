"""Replaces names that a format cannot represent by identifiers, and keeps extra content as notes.

The true name of a node is stored as such a note, a quoted text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from bayeskit._messages import Message
from bayeskit._schema import Name, first_twice
from bayeskit.errors import SettingError

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORD = re.compile(r"[A-Za-z0-9_]+")
QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)

# Characters that end a quoted text, a statement or a block in some format, or start a comment.
_SPECIAL = frozenset('"\\;{}/%')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})|([ntr"\\]))')


def mangled(
    names: Iterable[Name],
    allowed: re.Pattern[str] = IDENTIFIER,
    reserved: Collection[str] = (),
    kind: str = "nodes",
) -> dict[Name, str]:
    """Return a unique identifier for every name; names that are identifiers are unchanged.

    Parameters
    ----------
    names : names or states, of any type
    allowed : the pattern of an identifier; it must accept letters, digits after a letter, and ``_``
    reserved : words that must not be used
    kind : what the names are, for the message

    Examples
    --------
    >>> mangled(["wet", "Asy/Patch", "Asy Patch", "湿", "<5", "7"])
    {'wet': 'wet', 'Asy/Patch': 'Asy_Patch', 'Asy Patch': 'Asy_Patch_2', '湿': 'u6e7f', '<5': 'n_5', '7': 'n7'}
    """
    names = list(names)
    written: dict[str, Name] = {}
    for name in names:
        if str(name) in written:
            raise SettingError(
                "The {kind} {written!r} and {name!r} are written the same way, so a file could not tell "
                "them apart. Rename one of them.",
                kind=kind,
                written=written[str(name)],
                name=name,
            )
        written[str(name)] = name
    kept = {text for text in written if allowed.fullmatch(text) and text not in reserved}
    used = {*kept, *reserved}
    numbers: dict[str, int] = {}
    found: dict[Name, str] = {}
    for text, name in written.items():
        identifier = text
        if text not in kept:
            stem = identifier = _stem(text, allowed)
            while identifier in used:
                numbers[stem] = numbers.get(stem, 1) + 1
                identifier = f"{stem}_{numbers[stem]}"
            used.add(identifier)
        found[name] = identifier
    return found


def _stem(text: str, allowed: re.Pattern[str]) -> str:
    """Return an identifier that resembles a text."""
    stem = "".join(
        c if c.isascii() and (c.isalnum() or c == "_") else "_" if c.isascii() else f"u{ord(c):x}"
        for c in text
    )
    if not stem.strip("_") or not allowed.fullmatch(stem) or not text[:1].isalnum():
        stem = f"n{stem}"
    return stem


def quoted(text: str) -> str:
    """Return a text in quotation marks, on one line, without anything that could break a format.

    >>> print(quoted('a "b"; 湿'))
    "a \\u0022b\\u0022\\u003b 湿"
    """
    return '"' + "".join(c if c.isprintable() and c not in _SPECIAL else _escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unquoted(text: str) -> str:
    """Return the text inside quotation marks; without them, the text itself.

    An unknown escape is unchanged: file paths occur.

    >>> unquoted(quoted('a "b"\\\\n 湿')) == 'a "b"\\\\n 湿'
    True
    """
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    inner = text[1:-1]
    return _ESCAPE.sub(_meant, inner) if "\\" in inner else inner


def _meant(match: re.Match[str]) -> str:
    four, eight, short = match.groups()
    return _ESCAPES[short] if short else chr(int(four or eight, 16))


# The notes with the true name of a node and its true states, if the format cannot represent them. These are
# the only properties with an effect. Each is accepted where its node (or the network) is declared, and is an
# error elsewhere.
TRUE_NAME = "bayeskit_name"
TRUE_STATES = "bayeskit_states"
TRUE = (TRUE_NAME, TRUE_STATES)


_PLAIN = re.compile(r"[A-Za-z0-9_.()+-](?:[A-Za-z0-9_.()+, -]*[A-Za-z0-9_.()+-])?")


def take_true(true: dict[str, str], key: str, value: str, obeyed: Collection[str]) -> Message | None:
    """Store a true name or true states, as written; return what is wrong if they are not allowed here.

    >>> true = {}
    >>> take_true(true, TRUE_NAME, "wet grass", TRUE), true
    (None, {'bayeskit_name': 'wet grass'})
    >>> print(take_true(true, TRUE_NAME, "grass", TRUE))
    the property bayeskit_name is given twice. Keep one of them.
    """
    if key not in obeyed:
        return misplaced(key)
    if key in true:
        return Message("the property {key} is given twice. Keep one of them.", key=key)
    true[key] = value
    return None


def misplaced(key: str) -> Message:
    return Message(
        "the property {key} has no meaning here. Move it to the declaration of its node, or remove it.",
        key=key,
    )


def true_states(value: str, size: int) -> list[str] | None:
    """Return the states that a property names; None if they are not ``size`` different quoted texts.

    >>> true_states('"<5" "5 or more"', 2), true_states('"<5"', 2)
    (['<5', '5 or more'], None)
    """
    states = [unquoted(text) for text in QUOTED.findall(value)]
    is_list = not QUOTED.sub("", value).strip()
    return states if is_list and len(states) == size and first_twice(states) is None else None


def wrong_states(name: object, size: int) -> Message:
    return Message(
        "{key} of {name!r} must give {size} different states, each in quotation marks.",
        key=TRUE_STATES,
        name=name,
        size=size,
    )


def add_note(notes: dict[str, str], key: str, value: str) -> None:
    """Store a text; a second one with the same name gets a number.

    >>> notes = {"comment": "one"}
    >>> add_note(notes, "comment", "two")
    >>> notes
    {'comment': 'one', 'comment_2': 'two'}
    """
    # Counting from the number of notes, not from two: otherwise a file of notes only could take hours.
    name, number = key, len(notes)
    while name in notes:
        number += 1
        name = f"{key}_{number}"
    notes[name] = value


def written_notes(
    notes: Mapping[str, str],
    reserved: Collection[str] = (),
    dropped: Collection[str] = TRUE,
) -> Iterator[tuple[str, str]]:
    """Yield every note under a name that a format can represent."""
    kept = {str(key): str(value) for key, value in notes.items() if key not in dropped}
    keys = mangled(kept, IDENTIFIER, (*reserved, *dropped), "notes")
    for key, value in kept.items():
        yield keys[key], value


def is_plain(value: str) -> bool:
    """Whether a text needs no quotation marks in any format.

    >>> is_plain("(827, 511)"), is_plain("a; b"), is_plain("")
    (True, False, False)
    """
    return _PLAIN.fullmatch(value) is not None
