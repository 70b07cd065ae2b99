"""What a file says beside the model: texts by name, carried along and written back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from bayeskit.io.networks.mangling import IDENTIFIER, QUOTED, mangled, unquoted
from bayeskit.schema import first_twice

# Where the true name of a node and its true states stand, if the format could not hold them. They are the only
# properties that readers obey: each is obeyed where its node (or the network) is declared, and refused elsewhere.
TRUE_NAME = "bayeskit_name"
TRUE_STATES = "bayeskit_states"
TRUE = (TRUE_NAME, TRUE_STATES)


_PLAIN = re.compile(r"[A-Za-z0-9_.()+-](?:[A-Za-z0-9_.()+, -]*[A-Za-z0-9_.()+-])?")


def take_true(true: dict[str, str], key: str, value: str, obeyed: Collection[str]) -> str | None:
    """Keep a true name or true states, as written; return what is wrong where they cannot stand.

    >>> true = {}
    >>> take_true(true, TRUE_NAME, "wet grass", TRUE), true
    (None, {'bayeskit_name': 'wet grass'})
    >>> take_true(true, TRUE_NAME, "grass", TRUE)
    'the property bayeskit_name is given twice. Keep one of them.'
    """
    if key not in obeyed:
        return misplaced(key)
    if key in true:
        return f"the property {key} is given twice. Keep one of them."
    true[key] = value
    return None


def misplaced(key: str) -> str:
    return f"the property {key} means nothing here. Move it to where its node is declared, or take it away."


def true_states(value: str, size: int) -> list[str] | None:
    """Return the states that a property names; None where they are not ``size`` different quoted texts.

    >>> true_states('"<5" "5 or more"', 2), true_states('"<5"', 2)
    (['<5', '5 or more'], None)
    """
    states = [unquoted(text) for text in QUOTED.findall(value)]
    is_list = not QUOTED.sub("", value).strip()
    return states if is_list and len(states) == size and first_twice(states) is None else None


def wrong_states(name: object, size: int) -> str:
    return f"{TRUE_STATES} of {name!r} must give {size} different states, each in quotation marks."


def add_note(notes: dict[str, str], key: str, value: str) -> None:
    """Keep a text; a second one of the same name gets a number.

    >>> notes = {"comment": "one"}
    >>> add_note(notes, "comment", "two")
    >>> notes
    {'comment': 'one', 'comment_2': 'two'}
    """
    # Counting from the number of notes, not from two, keeps a file of nothing but notes from taking hours.
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
    """Yield every note under a name that a format can hold."""
    kept = {str(key): str(value) for key, value in notes.items() if key not in dropped}
    keys = mangled(kept, IDENTIFIER, (*reserved, *dropped), "notes")
    for key, value in kept.items():
        yield keys[key], value


def is_plain(value: str) -> bool:
    """Say whether a text may stand without quotation marks in any format.

    >>> is_plain("(827, 511)"), is_plain("a; b"), is_plain("")
    (True, False, False)
    """
    return _PLAIN.fullmatch(value) is not None
