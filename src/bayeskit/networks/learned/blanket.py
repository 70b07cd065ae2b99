"""learn_blanket: the columns that tell all there is to tell of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayeskit.errors import SettingError
from bayeskit.learning.search.independence_tests import IndependenceTests
from bayeskit.learning.search.node_columns import read_nodes
from bayeskit.messages import Joined
from bayeskit.networks.arguments import choice, number_below
from bayeskit.schema import Name
from bayeskit.structure.criteria import as_independence_test
from bayeskit.structure.questions import answer_all, members
from bayeskit.structure.search.blanket_search import iamb
from bayeskit.typing import CutsLike, TableLike


def learn_blanket(
    data: TableLike,
    target: Name,
    *,
    method: str = "inter-iamb",
    alpha: float = 0.01,
    test: str = "g2-adf",
    states: Mapping[Any, Any] | None = None,
    discretize: CutsLike = None,
) -> tuple[Name, ...]:
    """Find the Markov blanket of a column: given these columns, no other tells anything of it.

    No network is learned: columns are added while they depend on the target given those found, and taken away
    when they do not any more. What is found is the set of attributes that a classifier needs.

    Parameters
    ----------
    data : any table in memory; rows with a missing cell are left out
    target : a column
    method : {"inter-iamb", "iamb"}
        "inter-iamb" takes away after each addition, so that tests stay small.
    alpha : the level of the tests
    test : {"g2-adf", "g2", "x2", "x2-adf", "mi-sh"}
    states, discretize : as in `learn_network`; continuous columns must be cut into intervals

    Examples
    --------
    >>> from bayeskit.networks.examples import asia
    >>> learn_blanket(asia().sample(20_000, seed=0), "smoke")
    ('lung', 'bronc')

    References
    ----------
    I. Tsamardinos, C. F. Aliferis, A. Statnikov, "Algorithms for large scale Markov blanket discovery", FLAIRS 2003.
    """
    inter = choice(method, "method", ("inter-iamb", "iamb")) == "inter-iamb"
    columns = read_nodes(data, states, discretize)
    if target not in columns.names:
        raise SettingError(
            "There is no column {target!r}. The columns are {names}.",
            target=target,
            names=Joined(map(repr, columns.names[:12])),
        )
    numeric = next((v.name for v in columns.variables if v.kind == "numeric"), None)
    if numeric is not None:
        raise SettingError(
            "{numeric!r} is continuous, and the tests are for states. Pass discretize=5.", numeric=numeric
        )
    place = columns.canonical_order()
    ordered = columns.reordered(place)
    tests = IndependenceTests(
        ordered.code_matrix(), ordered.sizes, as_independence_test(test, continuous=False).name
    )
    found = answer_all(
        iamb(len(place), ordered.names.index(target), number_below(alpha, "alpha", 1.0), inter), tests
    )
    inside = {int(place[v]) for v in members(found)}
    return tuple(name for v, name in enumerate(columns.names) if v in inside)
