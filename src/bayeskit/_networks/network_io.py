"""Files and pictures of networks: `read_network`, and the methods `write`, `to_json`, `plot` and the notebook page."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from bayeskit._graphs.dag import neighbourhood
from bayeskit._graphs.network import FactorGraph, Network, Node
from bayeskit._inference.exact import allowed
from bayeskit._io.networks.native_json import native_text
from bayeskit._io.networks.registry import read_model, write_model
from bayeskit._networks.arguments import choice, known_nodes, switch, whole_number
from bayeskit._networks.discrete_adapter import CachingNetwork
from bayeskit._networks.evidence import Given, Not, Reader
from bayeskit._report.drawing.network_scene import MOST_NODES, network_html, network_scene
from bayeskit._report.picture import Picture
from bayeskit._schema import Name, state_code
from bayeskit.errors import NotSupported, SettingError, SuspectResult, TooLarge, UsageError
from bayeskit.typing import NamesLike, PathLike

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.markov_network import MarkovNetwork


def write(self: CachingNetwork, path: PathLike, format: str | None = None) -> None:
    """Write the network to a file. If the format cannot represent it, an error is raised before writing.

    Parameters
    ----------
    path : str or path
        The suffix determines the format: ``.bif``, ``.bifxml`` or ``.xml``, ``.net``, ``.xdsl``, ``.uai``,
        ``.json`` (native: lossless). The suffix ``.gz`` compresses the file.
    format : ``"bif"``, ``"xmlbif"``, ``"net"``, ``"xdsl"``, ``"uai"`` or ``"json"``, overriding the suffix

    Numbers are read back bit for bit, and a file that is read and written again is identical. UAI has no
    names: variables and states become 0, 1, 2, …
    """
    write_model(path, self._network, format)


def to_json(self: CachingNetwork) -> str:
    """Return the network as the text of its native JSON file.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> '"kind": "bayesian"' in BayesianNetwork().to_json()
    True
    """
    return native_text(self._network)


def read_network(
    path: PathLike, format: str | None = None, normalize: bool = False, max_memory: float | None = None
) -> BayesianNetwork | MarkovNetwork:
    """Read a network from a file.

    Parameters
    ----------
    path : str or path
        BIF, XMLBIF, Hugin NET, GeNIe XDSL or DSL, DSC, UAI, libDAI ``.fg``, native or linear-Gaussian JSON,
        optionally compressed by gzip.
    format : str, optional
        ``"bif"``, ``"xmlbif"``, ``"net"``, ``"xdsl"``, ``"dsl"``, ``"dsc"``, ``"uai"``, ``"fg"``, ``"json"`` or
        ``"gaussian-json"``. By default, determined by the suffix, or by the content if several formats share
        a suffix.
    normalize : bool
        Rows that sum to one within 1e-12 are kept bit for bit. Rows within 1e-3 are divided by their sum.
        Other rows are an error unless this is True.
    max_memory : number, optional
        The memory limit for the tables of the file, in bytes. By default, 2**22 cells of 8 bytes or 64 cells
        per byte of the file, whichever is more. The limit is needed because a short file (a ``default`` row
        and many parents) can define a table of any size.

    Returns
    -------
    BayesianNetwork, or MarkovNetwork for factor graphs (``.fg``, UAI files that say MARKOV)

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "rain.uai")
    >>> with open(path, "w") as file:
    ...     _ = file.write("BAYES\\n1\\n2\\n1\\n1 0\\n\\n2\\n0.8 0.2\\n")
    >>> read_network(path).states(0)
    (0, 1)
    >>> folder.cleanup()
    """
    # The classes import this module, so it cannot import them at the top.
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.markov_network import MarkovNetwork

    most = None if max_memory is None else allowed(max_memory)
    network = read_model(path, format, switch(normalize, "normalize"), most)
    return MarkovNetwork._of(network) if isinstance(network, FactorGraph) else BayesianNetwork._of(network)


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
    around: NamesLike | None = None,
    radius: int = 2,
    path: PathLike | None = None,
) -> Picture:
    """Draw the network, or the neighbourhood of some nodes. Notebooks show the picture.

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
    around : node or list of nodes, optional
        Draw only these and the nodes near them. Without it, a network whose picture would be more than 16,384
        pixels wide or high is refused.
    radius : int
        How many arcs away from ``around``, in any direction, a node may be.
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
    >>> network.plot(around="wet", radius=0, bars=False)
    <Picture: Bayesian network, 1 node, no arc, 80 × 62 pixels>
    """
    choice(direction, "direction", ("down", "right"))
    findings = _findings(self._network, evidence, soft)
    beliefs = _beliefs(self, evidence, soft) if switch(bars, "bars") else None
    drawn, radius = self._network, whole_number(radius, "radius", 0)
    if around is not None:
        middle = known_nodes(drawn.dag, around, "around")
        drawn = _part_of(drawn, neighbourhood(drawn.dag, middle, radius))
        findings = {name: finding for name, finding in findings.items() if name in drawn.dag.position}
    picture = Picture(network_scene(drawn, beliefs, findings, direction))
    if max(picture.scene.width, picture.scene.height) > MOST_PIXELS:
        raise _too_large(self._network, picture, [*findings], around, radius)
    if path is not None:
        picture.save(path)
    return picture


# Browsers and printers give up beyond this width or height, and nobody finds a node on it.
MOST_PIXELS = 2**14


def _part_of(network: Network, names: set[Name]) -> Network:
    """Return the nodes with these names and the arcs between them, without tables."""
    nodes = [node for node in network.nodes if node.name in names]
    return Network(
        tuple(Node(node.variable, tuple(p for p in node.parents if p in names)) for node in nodes),
        network.name,
    )


def _too_large(
    network: Network, picture: Picture, known: list[Name], around: NamesLike | None, radius: int
) -> SettingError:
    """Return the refusal of a picture. It offers a neighbourhood: of an observed node, or of the one with most arcs."""
    dag = network.dag
    width, height = round(picture.scene.width), round(picture.scene.height)
    if around is not None and radius > 0:
        return SettingError(
            "The picture would be {width:,} × {height:,} pixels, and {most:,} are allowed. Pass a radius below "
            "{radius}, or bars=False for smaller boxes.",
            width=width,
            height=height,
            most=MOST_PIXELS,
            radius=radius,
        )
    near = {name: len(neighbourhood(dag, [name], 1)) for name in dag.nodes}
    nodes = sorted(known or dag.nodes, key=lambda name: -near[name])
    name = next((name for name in nodes if near[name] <= MOST_NODES), nodes[-1])
    wider = len(neighbourhood(dag, [name], 2))
    fits = wider <= MOST_NODES
    return SettingError(
        "The picture of {n:,} nodes would be {width:,} × {height:,} pixels, and {most:,} are allowed. Draw a "
        "neighbourhood: plot(around={name!r}, radius={radius}) shows {near} nodes.",
        n=len(dag.nodes),
        width=width,
        height=height,
        most=MOST_PIXELS,
        name=name,
        radius=2 if fits else 1,
        near=wider if fits else near[name],
    )


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
    except (TooLarge, NotSupported) as error:
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
