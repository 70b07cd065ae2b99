"""The comparison of two graphs over the same nodes, such as a learned graph and the true one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bayeskit._display_table import DisplayTable
from bayeskit._graphs.cpdag import Cpdag, cpdag, shd
from bayeskit._graphs.dag import Dag
from bayeskit._schema import Name

Arc = tuple[Name, Name]
Relations = dict[frozenset[Name], Arc | None]

_NOTE = (
    "Classes of equivalent graphs: an arc is shared where both have it, with the same direction or with none."
)


@dataclass(frozen=True)
class Agreement:
    """The numbers of learned arcs, of true arcs, and of arcs in both.

    Examples
    --------
    >>> half = Agreement(found=2, expected=4, shared=1)
    >>> half.precision, half.recall, round(half.f1, 4)
    (0.5, 0.25, 0.3333)
    """

    found: int
    expected: int
    shared: int

    @property
    def precision(self) -> float:
        """The share of the learned arcs that are correct; 1 if none was learned."""
        return self.shared / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of the true arcs that were learned; 1 if there are none."""
        return self.shared / self.expected if self.expected else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, 2·shared/(found + expected); 1 if both graphs are empty."""
        both = self.found + self.expected
        return 2.0 * self.shared / both if both else 1.0


@dataclass(frozen=True)
class NetworkComparison:
    """The agreement of two graphs. Prints as a table, also in notebooks.

    Attributes
    ----------
    skeleton : Agreement on which nodes are adjacent
    arcs : Agreement on the arcs of the equivalence classes, which is all that data can identify
    dag_arcs : Agreement on the directed arcs; None if one of the two is an equivalence class
    shd : int
        The structural Hamming distance of the equivalence classes: the number of node pairs with different
        edges.
    dag_shd : int, the same for the directed graphs; None if one of the two is an equivalence class
    missing, extra, turned : pairs of nodes
        Adjacent only in the true graph, only in the learned graph, and in both but with another direction in
        the equivalence classes (or directed in one and undirected in the other).
    scores : {name: (of the learned graph, of the true one)}
        On the scale of the log-likelihood; higher is better. Empty if no rows were given.
    """

    skeleton: Agreement
    arcs: Agreement
    dag_arcs: Agreement | None
    shd: int
    dag_shd: int | None
    missing: tuple[Arc, ...]
    extra: tuple[Arc, ...]
    turned: tuple[Arc, ...]
    scores: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def score_differences(self) -> dict[str, float]:
        """The score of the learned graph minus that of the true graph; above 0 if the learned one fits
        better."""
        return {name: learned - true for name, (learned, true) in self.scores.items()}

    def __str__(self) -> str:
        from bayeskit._display_table import as_text

        return "\n\n".join(as_text(page) for page in pages_of(self))

    def _repr_html_(self) -> str:
        from bayeskit._display_table import as_html

        return "".join(as_html(page) for page in pages_of(self))


def compare_graphs(
    learned: Dag | Cpdag, truth: Dag | Cpdag, scores: Mapping[str, tuple[float, float]] | None = None
) -> NetworkComparison:
    """Compare two graphs over the same nodes.

    Examples
    --------
    >>> chain, fork = Dag.of({"b": ["a"], "c": ["b"]}, "abc"), Dag.of({"a": ["b"], "c": ["b"]}, "abc")
    >>> same = compare_graphs(chain, fork)
    >>> same.shd, same.dag_shd, same.dag_arcs.shared
    (0, 1, 1)
    """
    distance = shd(learned, truth)  # raises an error if the nodes differ
    one, other = relations(learned), relations(truth)
    dag_arcs, dag_distance = None, None
    if isinstance(learned, Dag) and isinstance(truth, Dag):
        found, true = set(learned.arcs), set(truth.arcs)
        dag_arcs = Agreement(len(found), len(true), len(found & true))
        dag_distance = shd(learned, truth, dag=True)
    both = one.keys() & other.keys()
    return NetworkComparison(
        skeleton=Agreement(len(one), len(other), len(both)),
        arcs=Agreement(len(one), len(other), sum(one[pair] == other[pair] for pair in both)),
        dag_arcs=dag_arcs,
        shd=distance,
        dag_shd=dag_distance,
        missing=tuple(arc for arc in _arcs(truth) if frozenset(arc) not in one),
        extra=tuple(arc for arc in _arcs(learned) if frozenset(arc) not in other),
        turned=tuple(
            arc for arc in _arcs(learned) if (pair := frozenset(arc)) in both and one[pair] != other[pair]
        ),
        scores=dict(scores or {}),
    )


def relations(graph: Dag | Cpdag) -> Relations:
    """Return how each pair of neighbours is related in the class of a graph: by an arc, or (None) by an edge.

    >>> list(relations(Dag.of({"b": ["a"]}, "ab")).values()), list(relations(Dag.of({"c": ["a", "b"]}, "abc")).values())
    ([None], [('a', 'c'), ('b', 'c')])
    """
    group = graph if isinstance(graph, Cpdag) else cpdag(graph)
    return {
        **{frozenset(arc): arc for arc in group.directed},
        **{frozenset(a): None for a in group.undirected},
    }


def _arcs(graph: Dag | Cpdag) -> tuple[Arc, ...]:
    return graph.arcs if isinstance(graph, Dag) else (*graph.directed, *graph.undirected)


def pages_of(comparison: NetworkComparison) -> list[DisplayTable]:
    """Return the tables to show: the arcs, then the scores if there are any."""
    lines = [("neighbours", comparison.skeleton), ("arcs of the classes", comparison.arcs)]
    if comparison.dag_arcs is not None:
        lines.append(("arcs as directed", comparison.dag_arcs))
    header = ("", "learned", "true", "shared", "precision", "recall", "F1")
    rows = tuple(
        (
            name,
            str(a.found),
            str(a.expected),
            str(a.shared),
            *(f"{x:.3f}" for x in (a.precision, a.recall, a.f1)),
        )
        for name, a in lines
    )
    blank = ("",) * 5
    totals = [("SHD of the classes", str(comparison.shd), *blank)]
    if comparison.dag_shd is not None:
        totals.append(("SHD as directed", str(comparison.dag_shd), *blank))
    kinds = [("missing", comparison.missing), ("extra", comparison.extra), ("direction", comparison.turned)]
    totals += [(f"  {kind}", str(len(arcs)), *blank) for kind, arcs in kinds]
    pages = [DisplayTable("Learned graph against the true one", header, rows, tuple(totals), (_NOTE,))]
    if comparison.scores:
        lines_of_scores = tuple(
            (name, f"{learned:,.2f}", f"{true:,.2f}", f"{learned - true:+,.2f}")
            for name, (learned, true) in comparison.scores.items()
        )
        pages.append(DisplayTable("Scores", ("", "learned", "true", "difference"), lines_of_scores, (), ()))
    return pages
