"""Draws networks as pictures and notebook pages: the network methods ``plot`` and ``page``.

Boxes are arranged in layers, with an arrow from each parent to each child.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from bayeskit._graphs.network import Network
from bayeskit._networks.arguments import choice, switch
from bayeskit._networks.evidence import Given, Not, Reader
from bayeskit._report.drawing.network_scene import network_html, network_scene
from bayeskit._report.picture import Picture
from bayeskit._schema import Name, state_code
from bayeskit.errors import SuspectResult, TooLarge, UsageError
from bayeskit.typing import PathLike


class DrawableNetwork(Protocol):
    """The interface of a network that a picture needs."""

    _network: Network

    @property
    def n_parameters(self) -> int: ...

    def posteriors(self, evidence: Given = None, *, soft: Given = None) -> dict[Name, Any]: ...


def plot(
    self: DrawableNetwork,
    evidence: Given = None,
    *,
    soft: Given = None,
    bars: bool = True,
    direction: Literal["down", "right"] = "down",
    path: PathLike | None = None,
) -> Picture:
    """Draw the network. Notebooks show the picture.

    Parameters
    ----------
    evidence : {node: state or Not(state)}, optional
        Observed nodes are marked, and the bars of the others show their posteriors.
    soft : {node: likelihoods}, optional
        Soft evidence, as ``posteriors`` takes it.
    bars : bool
        Draw the probability of each state as a bar. A network without tables has no bars.
    direction : "down" or "right"
        The direction of the arcs.
    path : str or path, optional
        Also save the picture: .svg, or .png and .pdf if matplotlib is installed.

    Returns
    -------
    Picture
        ``str(picture)`` is the SVG, ``picture.save(path)`` writes it.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> states = {"rain": ["no", "yes"], "wet": ["no", "yes"]}
    >>> network = BayesianNetwork({"rain": [], "wet": ["rain"]}, states=states)
    >>> network.plot(bars=False)
    <Picture: Bayesian network, 2 nodes, 1 arc, 80 × 140 pixels>
    """
    choice(direction, "direction", ("down", "right"))
    findings = _findings(self._network, evidence, soft)
    beliefs = _beliefs(self, evidence, soft) if switch(bars, "bars") else None
    picture = Picture(network_scene(self._network, beliefs, findings, direction))
    if path is not None:
        picture.save(path)
    return picture


def page(self: DrawableNetwork) -> str:
    try:
        n_parameters: int | None = self.n_parameters
    except UsageError:  # states not known yet
        n_parameters = None
    return network_html(self._network, n_parameters)


def _beliefs(drawn: DrawableNetwork, evidence: Given, soft: Given) -> Mapping[Any, Any] | None:
    """Return the beliefs to draw in the boxes; None if there is nothing to draw."""
    try:
        drawn._network.require_distributions()
    except UsageError:
        if evidence or soft:
            raise  # the evidence cannot be ignored
        return None
    try:
        return drawn.posteriors(evidence, soft=soft)
    except TooLarge as error:
        warnings.warn(
            SuspectResult(
                "The network is drawn without bars (bars=False silences this warning). {error}",
                error=error,
            ),
            stacklevel=3,
        )
        return None


def _findings(network: Network, evidence: Given, soft: Given) -> dict[Name, str]:
    """Summarise what is known about each node: "= yes", "≠ red", "likelihood"."""
    Reader([node.variable for node in network.nodes]).read_mixed(evidence, soft)  # rejects invalid evidence
    found = dict.fromkeys(soft or {}, "~ likelihood")
    for name, value in (evidence or {}).items():
        node = network[name]
        if isinstance(value, Not):
            codes = [state_code(name, node.variable.states, state) for state in value.states]
            found[name] = "≠ " + ", ".join(str(node.variable.states[code]) for code in codes)
        elif node.is_discrete:
            found[name] = f"= {node.variable.states[state_code(name, node.variable.states, value)]}"
        else:
            found[name] = f"= {value}"
    return found
