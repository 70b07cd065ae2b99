"""What an XDSL file says beside the model: true names, labels, places on the screen."""

from __future__ import annotations

from bayeskit.io.networks.mangling import unquoted
from bayeskit.io.networks.notes import TRUE, take_true
from bayeskit.io.networks.xml import Element

# A node's rectangle on GeNIe's screen: left, top, right, bottom.
POSITION = "xdsl_position"


def node_notes(element: Element) -> tuple[dict[str, str], dict[str, str]]:
    """Return the user properties of a node: notes, and its true name and states as written."""
    notes: dict[str, str] = {}
    true: dict[str, str] = {}
    for part in element.all("property"):
        key = part.attributes.get("id")
        if key in TRUE:
            wrong = take_true(true, key, part.text, TRUE)
            if wrong is not None:
                part.refuse(wrong)
        elif key:
            notes[key] = unquoted(part.text)
    return notes, true


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
