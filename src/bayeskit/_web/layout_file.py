"""The layout of a network, kept in a file beside it. It is written only if the user saves."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bayeskit._io.replacing import replace_file
from bayeskit._messages import Message
from bayeskit._visible import json_text
from bayeskit.errors import DataError, DataTypeError

SUFFIX = ".layout.json"
FORMAT = "bayeskit-layout"
DIRECTIONS = ("auto", "down", "right")
# No drawing is larger; nobody moves a card there by hand.
FARTHEST = 1e6
LONGEST_FILE = 16_000_000


class LayoutFile:
    """The file in which the places of cards and pills are kept, by the names of their nodes.

    Parameters
    ----------
    beside : path of the network or the model

    Examples
    --------
    >>> import tempfile
    >>> kept = LayoutFile(Path(tempfile.mkdtemp()) / "asia.bif")
    >>> kept.read(["smoke", "lung"]) is None
    True
    >>> kept.write(["smoke", "lung"], "down", [[1, 40, 80]], [])
    >>> kept.path.name, kept.read(["lung", "smoke"])["cards"]
    ('asia.bif.layout.json', [[0, 40.0, 80.0]])
    """

    def __init__(self, beside: str | Path) -> None:
        self.path = Path(f"{beside}{SUFFIX}")

    def read(self, names: Sequence[str]) -> dict[str, Any] | None:
        """Return the layout by the numbers of the nodes; None if there is no file. Nodes that are gone are left out."""
        try:
            if self.path.stat().st_size > LONGEST_FILE:
                raise self._damaged(Message("it is longer than {most} bytes", most=LONGEST_FILE))
            content = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise self._damaged(Message("it is no layout of bayeskit"))
        if content.get("direction") not in DIRECTIONS:
            raise self._damaged(Message("it names no direction"))
        found: dict[str, Any] = {"direction": content["direction"]}
        numbers = {name: node for node, name in enumerate(names)}
        for kind in ("cards", "pills"):
            places = content.get(kind)
            if not isinstance(places, dict) or not all(map(_is_place, places.values())):
                raise self._damaged(Message("{kind!r} are no places of nodes", kind=kind))
            found[kind] = [[numbers[name], *place] for name, place in places.items() if name in numbers]
        return found

    def write(self, names: Sequence[str], direction: Any, cards: Any, pills: Any) -> None:
        """Keep a layout; a place is a list of a node, x and y."""
        if direction not in DIRECTIONS:
            raise DataError("{direction!r} is no direction. Send auto, down or right.", direction=direction)
        content: dict[str, Any] = {"format": FORMAT, "version": 1, "direction": direction}
        for kind, places in (("cards", cards), ("pills", pills)):
            if not isinstance(places, list) or not all(
                isinstance(place, list)
                and len(place) == 3
                and type(place[0]) is int
                and 0 <= place[0] < len(names)
                and _is_place(place[1:])
                for place in places
            ):
                raise DataTypeError("{kind} are a list such as [[0, 40, 80]]: a node, x and y.", kind=kind)
            content[kind] = {names[node]: [float(x), float(y)] for node, x, y in places}
        replace_file(self.path, (json_text(content) + "\n").encode())

    def _damaged(self, reason: Message | str) -> DataError:
        return DataError(
            "The layout file {path!r} cannot be read: {reason}. Delete it; the nodes are then laid out anew.",
            path=str(self.path),
            reason=reason,
        )


def _is_place(place: Any) -> bool:
    return (
        isinstance(place, list)
        and len(place) == 2
        and all(type(at) in (int, float) and math.isfinite(at) and abs(at) <= FARTHEST for at in place)
    )
