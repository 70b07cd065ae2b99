"""Names that people type, and those they may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# So many names are listed where none is near.
MOST_LISTED = 8


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Say which of the names there are is nearest, or list them.

    Examples
    --------
    >>> did_you_mean("colour", ["Color", "size"]), did_you_mean("x", ["size"])
    ("Did you mean 'Color'?", "There is 'size'.")
    """
    names = {str(each): each for each in known}
    folded = {text.casefold(): text for text in names}
    near = get_close_matches(str(name).casefold(), folded, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(repr(folded[text]) for text in near)}?"
    shown = list(map(repr, names))[:MOST_LISTED]
    listing = ", ".join(shown) + (", …" if len(names) > MOST_LISTED else "")
    return f"There {'is' if len(names) == 1 else 'are'} {listing or 'none'}."
