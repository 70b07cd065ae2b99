"""Compares two networks: whether they are equal, how far their graphs lie apart, in numbers and in a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs import dag as graphs
from bayeskit._graphs.dag import Cpdag, Dag
from bayeskit._graphs.distributions import LinearGaussian, NoisyMax, Softmax
from bayeskit._graphs.network import Network, Node
from bayeskit._schema import Label
from bayeskit.errors import DataTypeError, SettingError
from bayeskit.typing import PathLike, TableLike

if TYPE_CHECKING:
    from bayeskit._networks.network_structure import Structure
    from bayeskit._report.network_comparison import ComparisonPicture, NetworkComparison


Codes = NDArray[np.intp]


def same_network(one: Network, other: Network) -> bool:
    """Return whether two networks have the same nodes, arcs, states and numbers. Their names do not count.

    Two noisy-MAX nodes are compared cause by cause. There the order of the child's states matters, because it
    is the order of effects, as declared or reversed. All other discrete nodes are compared by their tables.

    Examples
    --------
    >>> from bayeskit._networks.building import network_of
    >>> same_network(network_of({"b": ["a"]}), network_of([("a", "b")]))
    True
    """
    if set(one.dag.nodes) != set(other.dag.nodes):
        return False
    pairs = [(node, other[node.name]) for node in one.nodes]
    for a, b in pairs:
        alike = a.is_discrete == b.is_discrete and set(a.parents) == set(b.parents)
        if not alike or set(a.variable.states) != set(b.variable.states):
            return False
    return all(_same_distribution(one, other, a, b) for a, b in pairs)


def _same_distribution(one: Network, other: Network, a: Node, b: Node) -> bool:
    if a.distribution is None or b.distribution is None:
        return a.distribution is b.distribution
    # For each axis of a's table: the matching axis of b's table, and the order of its states there.
    chosen = [p for p in a.parents if one[p].is_discrete]
    theirs = [p for p in b.parents if other[p].is_discrete]
    axes = [theirs.index(p) for p in chosen]
    codes = [_codes(one[p], other[p]) for p in chosen]
    if isinstance(a.distribution, LinearGaussian) or isinstance(b.distribution, LinearGaussian):
        if not (isinstance(a.distribution, LinearGaussian) and isinstance(b.distribution, LinearGaussian)):
            return False
        places = [p for p in b.parents if p not in theirs]
        slopes = [places.index(p) for p in a.parents if p not in chosen]
        x, y = a.distribution, b.distribution
        turned = y.coefficients.transpose([*axes, len(axes)])
        return (
            np.array_equal(x.intercept, _turned(y.intercept, axes, codes))
            and np.array_equal(x.variance, _turned(y.variance, axes, codes))
            and np.array_equal(x.coefficients, turned[np.ix_(*codes, np.array(slopes, np.intp))])
        )
    if isinstance(a.distribution, Softmax) or isinstance(b.distribution, Softmax):
        if not (isinstance(a.distribution, Softmax) and isinstance(b.distribution, Softmax)):
            return False
        places = [p for p in b.parents if p not in theirs]
        slopes = [places.index(p) for p in a.parents if p not in chosen]
        own, all_codes = [*axes, len(axes)], [*codes, _codes(a, b)]
        # A softmax is kept relative to its first state, so it is turned before it is compared.
        turned_softmax = Softmax(
            _turned(b.distribution.intercept, own, all_codes),
            b.distribution.coefficients.transpose([*own, len(own)])[
                np.ix_(*all_codes, np.array(slopes, np.intp))
            ],
        )
        return bool(
            np.allclose(a.distribution.intercept, turned_softmax.intercept, rtol=1e-12, atol=1e-12)
            and np.allclose(a.distribution.coefficients, turned_softmax.coefficients, rtol=1e-12, atol=1e-12)
        )
    if isinstance(a.distribution, NoisyMax) and isinstance(b.distribution, NoisyMax):
        mine, states = _from_none(a.distribution, a.variable.states)
        yours, other_states = _from_none(b.distribution, b.variable.states)
        return (
            states == other_states  # in another order, another state is the strongest effect
            and np.array_equal(mine.leak, yours.leak)
            and all(
                np.array_equal(x, yours.causes[k][c])
                for x, k, c in zip(mine.causes, axes, codes, strict=True)
            )
        )
    theirs_turned = _turned(b.distribution.table(), [*axes, len(axes)], [*codes, _codes(a, b)])
    return np.array_equal(a.distribution.table(), theirs_turned)


def _from_none(noisy: NoisyMax, states: tuple[Label, ...]) -> tuple[NoisyMax, tuple[Label, ...]]:
    """Return independent causes and the child's states in order of effect, starting with no effect."""
    return (noisy, states) if noisy.rising else (noisy.turned(), states[::-1])


def _codes(a: Node, b: Node) -> Codes:
    """Return the position of each state of one node in the other."""
    return np.array([b.variable.codes[state] for state in a.variable.states], np.intp)


def _turned(values: NDArray[np.float64], axes: list[int], codes: list[Codes]) -> NDArray[np.float64]:
    return np.asarray(values.transpose(axes)[np.ix_(*codes)]) if axes else values


# Anything with arcs: a network, a graph, or an equivalence class of graphs.
WithArcs: TypeAlias = "Structure | Dag | Cpdag"


def cpdag(network: WithArcs) -> Cpdag:
    """Return the CPDAG of a network: the equivalence class of graphs with the same independences.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> print(cpdag(BayesianNetwork([("a", "b"), ("b", "c")])))
    a — b, b — c
    """
    graph = _graph(network)
    return graph if isinstance(graph, Cpdag) else graphs.cpdag(graph)


def shd(a: WithArcs, b: WithArcs, dag: bool = False) -> int:
    """Return the structural Hamming distance of two networks over the same nodes.

    Each pair of nodes whose edge differs (missing, extra, reversed, undirected against directed) counts one.
    Equivalence classes are compared, as in bnlearn; with ``dag``, the graphs themselves.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> one, other = BayesianNetwork([("a", "b"), ("b", "c")]), BayesianNetwork([("b", "a"), ("b", "c")])
    >>> shd(one, other), shd(one, other, dag=True)
    (0, 1)
    """
    return graphs.shd(_graph(a), _graph(b), dag)


def _graph(network: WithArcs) -> Dag | Cpdag:
    if isinstance(network, (Dag, Cpdag)):
        return network
    value = getattr(network, "_network", None)
    if not isinstance(value, Network):
        raise DataTypeError(
            "A {kind} has no arcs. Give a BayesianNetwork, a Dag or a Cpdag.", kind=type(network).__name__
        )
    return value.dag


def compare_networks(
    learned: WithArcs,
    truth: WithArcs,
    data: TableLike | None = None,
    *,
    states: Mapping[Any, Any] | None = None,
) -> NetworkComparison:
    """Compare a learned network with the true one: adjacencies, arcs, distance and, with rows, scores.

    Parameters
    ----------
    learned, truth : BayesianNetwork, Dag or Cpdag over the same nodes
    data : table, optional
        Rows to score both graphs on, by "loglik", "aic", "bic" and, if all columns are discrete, "bdeu". Its
        columns are the nodes.
    states : {column: states}, optional
        Declared states. They count as parameters even if no row has them.

    Returns
    -------
    NetworkComparison
        Prints as a table. Its attributes include ``shd``, ``skeleton.f1``, ``arcs.precision`` and
        ``score_differences["bic"]``.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> truth = BayesianNetwork([("rain", "wet"), ("sprinkler", "wet")])
    >>> found = compare_networks(BayesianNetwork([("rain", "wet"), ("rain", "sprinkler")]), truth)
    >>> found.shd, found.skeleton.precision, found.missing, found.extra
    (3, 0.5, (('sprinkler', 'wet'),), (('rain', 'sprinkler'),))
    """
    from bayeskit._report.network_comparison import compare_graphs

    graphs = _graph(learned), _graph(truth)
    return compare_graphs(*graphs, None if data is None else _scores(graphs, data, states))


def plot_comparison(
    a: WithArcs,
    b: WithArcs,
    *,
    titles: tuple[str, str] = ("learned", "true"),
    dag: bool = False,
    path: PathLike | None = None,
) -> ComparisonPicture:
    """Draw two networks side by side, with each node in the same place and differing arcs in other colours.

    Parameters
    ----------
    a, b : BayesianNetwork or Dag over the same nodes
    titles : the heading of each
    dag : bool
        Compare the arcs of the two graphs instead of their equivalence graphs.
    path : str or path, optional
        Also save the picture, as .svg.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> one, other = BayesianNetwork([("a", "b"), ("b", "c")]), BayesianNetwork([("a", "b"), ("c", "b")])
    >>> plot_comparison(one, other).scene.title
    'learned and true: 0 arcs in both, 0 extra, 0 missing, 2 directions differ'
    """
    from bayeskit._report.network_comparison import ComparisonPicture, comparison_scene

    graphs = _graph(a), _graph(b)
    for graph in graphs:
        if not isinstance(graph, Dag):
            raise DataTypeError(
                "A class of graphs has arcs without a direction. Give networks or Dags to draw."
            )
    one, other = (str(title) for title in _two(titles))
    picture = ComparisonPicture(comparison_scene(*graphs, titles=(one, other), as_directed=bool(dag)))  # type: ignore[arg-type]
    if path is not None:
        picture.save(path)
    return picture


def _two(titles: object) -> Any:
    if isinstance(titles, str) or not hasattr(titles, "__len__") or len(titles) != 2:
        raise SettingError("titles is {titles!r}; give two, such as ('learned', 'true').", titles=titles)
    return titles


def _scores(
    graphs: tuple[Dag | Cpdag, Dag | Cpdag], data: TableLike, states: Mapping[Any, Any] | None
) -> dict[str, tuple[float, float]]:
    from bayeskit._fitting.networks.network_counts import score
    from bayeskit._fitting.search.node_columns import read_nodes

    first, second = graphs
    if not (isinstance(first, Dag) and isinstance(second, Dag)):
        raise DataTypeError(
            "Rows can score a graph, but not a class of graphs. Give networks or Dags, or no data."
        )
    names = ["loglik", "aic", "bic"]
    if read_nodes(data, states).is_discrete.all():
        names.append("bdeu")
    return {name: (score(first, data, name, states), score(second, data, name, states)) for name in names}
