"""A name that is no node → the error that lists the nodes it may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from bayeskit.errors import SettingError
from bayeskit.schema import Name


def unknown_node(name: object, nodes: Iterable[Name], where: str = "") -> SettingError:
    """Return the error to raise; ``where`` says where the name stood.

    Examples
    --------
    >>> str(unknown_node("rian", ["rain", "wet"], "evidence names it"))
    "There is no node 'rian' (evidence names it). Did you mean 'rain'?"
    """
    known = tuple(nodes)
    written = {str(node): node for node in known}
    close = [written[text] for text in get_close_matches(str(name), list(written), n=3, cutoff=0.6)]
    place = f" ({where})" if where else ""
    if close:
        return SettingError(
            f"There is no node {name!r}{place}. Did you mean {' or '.join(map(repr, close))}?"
        )
    listing = ", ".join(map(repr, known[:12])) + (", …" if len(known) > 12 else "")
    return SettingError(f"There is no node {name!r}{place}. There are {listing or 'none'}.")
