"""network independent: test d-separation of two nodes, and list the paths between them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit._cli.completion import nodes
from bayeskit._cli.options import Common, NetworkFile


def independent(
    net: NetworkFile,
    a: Annotated[str, typer.Argument(metavar="A", autocompletion=nodes)],
    b: Annotated[str, typer.Argument(metavar="B", autocompletion=nodes)],
    common: Common,
    given: Annotated[
        list[str] | None,
        typer.Option("--given", metavar="NODE", autocompletion=nodes, help="A node observed."),
    ] = None,
) -> None:
    """Tell whether A and B are independent once nodes are observed.

    With the reason: every path between them, and what blocks it.
    """
    from bayeskit import BayesianNetwork
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.typed_values import named, open_network
    from bayeskit.errors import UsageError

    network = open_network(net)
    if not isinstance(network, BayesianNetwork):
        raise UsageError(
            "{net!r} is a Markov network: it has no arrows to follow. Give a Bayesian network.", net=net
        )
    observed = [named(network, name) for name in given or ()]
    found = network.why_independent(named(network, a), named(network, b), observed)
    if common.as_json:
        print_json(_plain(found))
    else:
        show(found.text(common.lang.value))


def _plain(found: Any) -> dict[str, Any]:
    paths = [
        {
            "path": str(path),
            "blocked": path.blocked,
            "turns": [
                {"node": str(t.node), "kind": t.kind, "blocks": t.blocks, "reason": t.reason}
                for t in path.turns
            ],
        }
        for path in found.paths
    ]
    names = {key: [str(name) for name in getattr(found, key)] for key in ("a", "b", "given")}
    return names | {"independent": found.independent, "complete": found.complete, "paths": paths}
