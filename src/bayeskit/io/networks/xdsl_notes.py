"""What an XDSL file says beside the model: true names, labels, places on the screen."""

from __future__ import annotations

from collections.abc import Sequence

from bayeskit.io.networks.mangling import QUOTED, unquoted
from bayeskit.io.networks.notes import TRUE_STATES
from bayeskit.io.networks.xml import Element

# A node's rectangle on GeNIe's screen: left, top, right, bottom.
POSITION = "xdsl_position"


def node_notes(element: Element) -> dict[str, str]:
    """Return the user properties of a node."""
    return {
        part.attributes["id"]: part.text if part.attributes["id"] == TRUE_STATES else unquoted(part.text)
        for part in element.all("property")
        if part.attributes.get("id")
    }


def true_states(truth: str | None, written: Sequence[str]) -> list[str] | None:
    """Return the states that the property names, else those written; None where the numbers differ."""
    if truth is None:
        return list(written)
    meant = [unquoted(word) for word in QUOTED.findall(truth)]
    return meant if len(meant) == len(written) else None


def extension_notes(root: Element) -> tuple[dict[str, dict[str, str]], str | None]:
    """Return label and position of every node id, and the network's name if GeNIe gave one.

    Nodes inside submodels are found as well: a submodel is a frame on the screen, nothing more.
    """
    found: dict[str, dict[str, str]] = {}
    name = None
    waiting = list(root.all("extensions"))
    while waiting:
        element = waiting.pop()
        if element.tag == "genie":
            name = element.attributes.get("name", name)
        if element.tag == "node" and "id" in element.attributes:
            notes = found.setdefault(element.attributes["id"], {})
            for tag, key in (("name", "label"), ("position", POSITION)):
                part = next(element.all(tag), None)
                if part is not None and part.text:
                    notes[key] = part.text
        else:
            waiting += element.children[::-1]
    return found, name
