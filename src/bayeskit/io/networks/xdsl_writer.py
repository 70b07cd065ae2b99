"""A network as GeNIe XDSL text."""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.graphs.distributions import Deterministic, NoisyMax, Table
from bayeskit.graphs.network import Network, Node, discrete
from bayeskit.io.networks.flat_table import lines_of, table_of
from bayeskit.io.networks.mangling import mangled, quoted
from bayeskit.io.networks.notes import TRUE_NAME, TRUE_STATES
from bayeskit.io.networks.xdsl_notes import POSITION
from bayeskit.io.networks.xml import PLAIN, escaped
from bayeskit.schema import Name

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RECTANGLE = re.compile(r"-?\d+ -?\d+ -?\d+ -?\d+")
# GeNIe's own looks.
_LOOKS = (
    '<interior color="e5f6f7" />',
    '<outline color="000080" />',
    '<font color="000000" name="Arial" size="8" />',
)


def xdsl_text(network: Network) -> str:
    """Return the XDSL text of a discrete network, for UTF-8.

    Parents come before their children, as GeNIe wants them. Names that are no identifiers are replaced, and kept
    in a property. A noisy-MAX node keeps its parameters; its states are written strongest first, as GeNIe wants
    them, so those of a rising one come in the opposite order, also in the tables of its children.
    """
    _require(network)
    network = _strongest_first(network)
    order = _parents_first(network)
    ids = mangled((node.name for node in order), _IDENTIFIER)
    title = " ".join(
        re.sub(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", " ", network.name).split()
    )
    id = mangled([title or "network"], _IDENTIFIER)[title or "network"]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<smile version="1.0" id="{id}" numsamples="10000" discsamples="10000">',
        "\t<nodes>",
    ]
    for node in order:
        lines += _node_lines(node, network, ids)
    lines += [
        "\t</nodes>",
        "\t<extensions>",
        f'\t\t<genie version="1.0" app="bayeskit" name="{escaped(title)}">',
    ]
    for place, node in enumerate(order):
        label = node.notes.get("label", str(node.name))
        position = node.notes.get(POSITION, "")
        if not _RECTANGLE.fullmatch(position):
            left, top = 20 + place % 8 * 130, 20 + place // 8 * 90
            position = f"{left} {top} {left + 90} {top + 50}"
        shown = label if PLAIN.fullmatch(label) else ids[node.name]
        lines += [
            f'\t\t\t<node id="{ids[node.name]}">',
            f"\t\t\t\t<name>{escaped(shown)}</name>",
            *(f"\t\t\t\t{look}" for look in _LOOKS),
            f"\t\t\t\t<position>{position}</position>",
            "\t\t\t</node>",
        ]
    return "\n".join([*lines, "\t\t</genie>", "\t</extensions>", "</smile>", ""])


def _require(network: Network) -> None:
    """Refuse what XDSL cannot hold; it keeps the parameters of noisy-MAX nodes, so these may have any parents."""
    network.require_distributions()
    if not network.nodes:
        raise SettingError("The network has no node; XDSL cannot hold an empty one.")
    for node in network.nodes:
        if not node.is_discrete:
            raise SettingError(
                f"{node.name!r} is continuous, and XDSL files here have only discrete nodes. Write the native format, "
                ".json."
            )


def _parents_first(network: Network) -> list[Node]:
    """Return the nodes, each as early as its parents allow and otherwise in their order."""
    place = network.dag.position
    missing = [len(node.parents) for node in network.nodes]
    ready = [k for k, count in enumerate(missing) if count == 0]
    found = []
    while ready:
        node = network.nodes[heapq.heappop(ready)]
        found.append(node)
        for child in network.dag.children[node.name]:
            missing[place[child]] -= 1
            if missing[place[child]] == 0:
                heapq.heappush(ready, place[child])
    return found


def _strongest_first(network: Network) -> Network:
    """Return the network with the states of every rising noisy-MAX node in the opposite order."""
    rising = {n.name for n in network.nodes if isinstance(n.distribution, NoisyMax) and n.distribution.rising}
    if not rising:
        return network
    nodes = []
    for node in network.nodes:
        variable, distribution = node.variable, node.distribution
        axes = tuple(axis for axis, parent in enumerate(node.parents) if parent in rising)
        if isinstance(distribution, NoisyMax):
            causes = [c[::-1] if k in axes else c for k, c in enumerate(distribution.causes)]
            distribution = NoisyMax(tuple(causes), distribution.leak, distribution.rising)
        elif isinstance(distribution, Deterministic):
            distribution = Deterministic(np.flip(distribution.outcome, axes), distribution.size)
        elif isinstance(distribution, Table):
            distribution = Table(np.flip(distribution.values, axes))
        if isinstance(distribution, NoisyMax) and node.name in rising:
            variable = discrete(variable.name, variable.states[::-1])
            distribution = distribution.turned()
        nodes.append(replace(node, variable=variable, distribution=distribution))
    return replace(network, nodes=tuple(nodes))


def _node_lines(node: Node, network: Network, ids: Mapping[Name, str]) -> list[str]:
    distribution = node.distribution
    states = node.variable.states
    state_ids = mangled(states, _IDENTIFIER, kind=f"states of {node.name!r}")
    tag = {NoisyMax: "noisymax", Deterministic: "deterministic"}.get(type(distribution), "cpt")
    lines = [f'\t\t<{tag} id="{ids[node.name]}">']
    lines += [f'\t\t\t<state id="{state_ids[state]}" />' for state in states]
    if node.parents:
        lines.append(f"\t\t\t<parents>{' '.join(ids[parent] for parent in node.parents)}</parents>")
    if isinstance(distribution, NoisyMax):
        lines += _noisy_lines(node, distribution)
    elif isinstance(distribution, Deterministic):
        codes = distribution.outcome.ravel().tolist()
        lines.append(_wrapped("resultingstates", " ".join(state_ids[states[code]] for code in codes)))
    else:
        lines.append(_wrapped("probabilities", " ".join(lines_of(table_of(node)))))
    if ids[node.name] != str(node.name):
        lines.append(_property(TRUE_NAME, quoted(str(node.name))))
    if any(state_ids[state] != str(state) for state in states):
        lines.append(_property(TRUE_STATES, " ".join(quoted(str(state)) for state in states)))
    for key, value in node.notes.items():
        if key not in (TRUE_NAME, TRUE_STATES, POSITION, "label") and PLAIN.fullmatch(key):
            plain = PLAIN.fullmatch(value) and not value.startswith('"')
            lines.append(_property(key, value if plain else quoted(value)))
    return [*lines, f"\t\t</{tag}>"]


def _noisy_lines(node: Node, distribution: NoisyMax) -> list[str]:
    """Return strengths and parameters: a column for each parent state, the one without effect last, then the leak."""
    strengths: list[int] = []
    columns: list[NDArray[np.float64]] = []
    for cause, parent in zip(distribution.causes, node.parents):
        idle = [s for s, row in enumerate(cause) if row[-1] == 1.0 and not row[:-1].any()]
        if not idle:
            raise SettingError(
                f"Every state of {parent!r} has an effect on {node.name!r}, and XDSL needs one that has none. "
                "Use native JSON (a path ending in .json), or replace the noisy-MAX by its table with set_cpt."
            )
        order = [s for s in range(len(cause)) if s != idle[-1]] + [idle[-1]]
        strengths += order
        columns += [cause[s] for s in order]
    columns.append(distribution.leak)
    numbers = " ".join(lines_of(np.array(columns)))
    lines = [_wrapped("strengths", " ".join(map(str, strengths)))] if node.parents else []
    return [*lines, _wrapped("parameters", numbers)]


def _wrapped(tag: str, text: str) -> str:
    return f"\t\t\t<{tag}>{text}</{tag}>"


def _property(key: str, value: str) -> str:
    return f'\t\t\t<property id="{escaped(key)}">{escaped(value)}</property>'
