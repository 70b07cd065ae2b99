"""What a file says beside the model: texts by name, carried along and written back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from bayeskit.io.networks.mangling import IDENTIFIER, mangled

# Where the true name of a node and its true states stand, if the format could not hold them.
TRUE_NAME = "bayeskit_name"
TRUE_STATES = "bayeskit_states"

_PLAIN = re.compile(r"[A-Za-z0-9_.()+-](?:[A-Za-z0-9_.()+, -]*[A-Za-z0-9_.()+-])?")


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
    dropped: Collection[str] = (TRUE_NAME, TRUE_STATES),
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
