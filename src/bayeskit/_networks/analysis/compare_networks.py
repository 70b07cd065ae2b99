"""Compares two networks in numbers (compare_networks) and side by side in a picture (plot_comparison)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayeskit._fitting.networks.network_score import score
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit._graphs.cpdag import Cpdag
from bayeskit._graphs.dag import Dag
from bayeskit._networks.analysis.distance import WithArcs, _graph
from bayeskit._report.drawing.comparison_scene import ComparisonPicture, comparison_scene
from bayeskit._report.networks.network_comparison import NetworkComparison, compare_graphs
from bayeskit.errors import DataTypeError, SettingError
from bayeskit.typing import PathLike, TableLike


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
        Compare the arcs of the two graphs instead of their equivalence classes.
    path : str or path, optional
        Also save the picture, as .svg.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> one, other = BayesianNetwork([("a", "b"), ("b", "c")]), BayesianNetwork([("a", "b"), ("c", "b")])
    >>> plot_comparison(one, other).scene.title
    'learned and true: 0 arcs in both, 0 extra, 0 missing, 2 directions differ'
    """
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
    first, second = graphs
    if not (isinstance(first, Dag) and isinstance(second, Dag)):
        raise DataTypeError(
            "Rows score a graph, and a class of graphs was given. Give networks or Dags, or no data."
        )
    names = ["loglik", "aic", "bic"]
    if read_nodes(data, states).is_discrete.all():
        names.append("bdeu")
    return {name: (score(first, data, name, states), score(second, data, name, states)) for name in names}
