"""Max-min hill climbing: tests of independence choose who may be joined, the score chooses the arcs."""

from __future__ import annotations

from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import Graph, Search, Stop
from bayeskit.structure.search.hill_climbing import hill_climbing
from bayeskit.structure.search.mmpc import mmpc


def mmhc(
    arcs: Arcs, alpha: float = 0.05, *, max_given: int = 3, tabu: int = 0, max_worse: int = 15
) -> Search:
    """Find the neighbours of every variable by tests, then climb with arcs between neighbours only.

    It asks for tests first and for scores of families after. Required arcs are kept whatever the tests say.

    Parameters
    ----------
    arcs : Arcs
    alpha : float
        Variables are independent where the p-value is above this.
    max_given : int
        The most variables given in one test. A small number leaves more pairs to the score.
    tabu, max_worse : int
        As in :func:`~bayeskit.structure.search.hill_climbing.hill_climbing`.

    Examples
    --------
    >>> search = mmhc(Arcs.all(2))
    >>> next(search)
    [Test(a=0, b=1, given=0)]
    >>> search.send([(9.0, 1, 0.003)])[:2]  # dependent: the arcs between them are tried
    [Family(child=0, parents=0, more=None), Family(child=0, parents=0, more=(1,))]

    References
    ----------
    I. Tsamardinos, L. E. Brown, C. F. Aliferis, "The max-min hill-climbing Bayesian network structure learning
    algorithm", Machine Learning 65 (2006).
    """
    try:
        neighbours = yield from mmpc(arcs, alpha, max_given)
    except Stop:
        return Graph(arcs.required)
    return (yield from hill_climbing(arcs, tabu=tabu, max_worse=max_worse, candidates=neighbours))
