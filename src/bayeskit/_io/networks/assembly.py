"""Assembles a network from the nodes of a file, or raises an error that names the file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping

from bayeskit._graphs.network import Network, Node
from bayeskit._io.networks.budget import MOST_AXES, many
from bayeskit._messages import Message
from bayeskit._schema import first_twice
from bayeskit.errors import ModelFormatError, SettingError, SourceNote

# A noisy-MAX node with few parameters can have a table of any size; a larger one is not written out in a file.
MOST_CELLS = 2**26
# In formats without an end mark, a file cut off after a table would otherwise be read as a smaller network.
DECLARED_LATE = (
    "a {kind} is declared after a table. Put every {kind} before the first table: only then can a file that was cut "
    "short be told from a whole one."
)


def assembled(
    nodes: Iterable[Node], name: str = "", notes: Mapping[str, str] | None = None, path: object = None
) -> Network:
    """Return the network of these nodes.

    Raises
    ------
    ModelFormatError
        If there are no nodes, two have the same name, a parent is missing, or the arcs have a cycle.

    Examples
    --------
    >>> assembled([], path="empty.bif")
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: empty.bif: there is no node in it. It was cut short, or is another kind of file.
    """
    nodes = tuple(nodes)
    if not nodes:
        raise ModelFormatError(
            "there is no node in it. It was cut short, or is another kind of file.", path=path
        )
    twice = first_twice(node.name for node in nodes)
    if twice is not None:
        raise ModelFormatError(
            Message("two nodes are named {twice!r}. Rename one of them.", twice=twice), path=path
        )
    try:
        return Network(nodes, name, dict(notes or {}))
    except SettingError as error:
        raise ModelFormatError(error.message, path=path) from error


def warn_of_pyagrum(format: str, path: object = None) -> None:
    """Warn that the tables of a file were read in the order in which pyAgrum writes them."""
    warnings.warn(
        SourceNote(
            "{file} was written by pyAgrum, which lets the first variable of a table "
            "vary fastest where {format} lets the last: it was read in pyAgrum's order. If its numbers have been put "
            "right since, take the comments out of it.",
            file=Message("This file") if path is None else path,
            format=format,
        ),
        stacklevel=5,
    )


def require_writable(network: Network, format: str) -> None:
    """Raise an error for a network that is incomplete, or whose tables are too large to write out."""
    network.require_distributions()
    if not network.nodes:
        raise SettingError("The network has no node; {format} cannot hold an empty one.", format=format)
    for node in network.nodes:
        shape = tuple(network[name].variable.size or 1 for name in (*node.parents, node.name))
        cells = math.prod(shape)
        if cells > MOST_CELLS or len(shape) > MOST_AXES:
            raise SettingError(
                "The table of {name!r} has {cells} cells over {n} variables, too many to be "
                "written as {format}. Write the native format, .json, which keeps the parameters it is made from.",
                name=node.name,
                cells=many(cells),
                n=len(shape),
                format=format,
            )


def require_discrete(network: Network, format: str) -> None:
    """Raise an error for what a format of tables cannot represent."""
    require_writable(network, format)
    numeric = next((node for node in network.nodes if not node.is_discrete), None)
    if numeric is not None:
        raise SettingError(
            "{name!r} is continuous, and {format} has only discrete nodes. Write the native format, .json.",
            name=numeric.name,
            format=format,
        )
