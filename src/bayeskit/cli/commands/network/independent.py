"""network independent: whether a graph makes two nodes independent, and by which paths."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit.cli.completing import nodes
from bayeskit.cli.options import Common, NetworkFile

KINDS = {"tail-to-tail": "同父（← · →）", "head-to-tail": "顺序（→ · →）", "head-to-head": "V 型（→ · ←）"}


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
    from bayeskit.cli.options import Lang
    from bayeskit.cli.output import print_json, show
    from bayeskit.cli.typed_values import named, open_network
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
        show(_chinese(found) if common.lang is Lang.zh else str(found))


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


def _chinese(found: Any) -> str:
    a, b, given = ("、".join(map(str, names)) for names in (found.a, found.b, found.given))
    verdict = "相互独立" if found.independent else "可能相关"
    lines = [f"{'已知 ' + given + ' 时' if given else '无任何观测时'}，{a} 与 {b} {verdict}。"]
    n_open = sum(not path.blocked for path in found.paths)
    if not found.paths:
        lines.append("两者之间没有路径。" if found.complete else "图太大，无法列出路径。")
    else:
        some = "" if found.complete else "（未全部列出）"
        lines.append(f"两者之间的路径{some}：{len(found.paths)} 条，其中 {n_open} 条连通。")
    for number, path in enumerate(found.paths, 1):
        lines += ["", f"{number}. {path}：{'阻断' if path.blocked else '连通'}"]
        lines += [f"   {_turn(turn)}" for turn in path.turns] or ["   两者直接相连，无法阻断。"]
    return "\n".join(lines)


def _turn(turn: Any) -> str:
    if turn.is_observed:
        why = "已观测"
    elif turn.observed_below is not None:
        why = f"未观测，但其后代 {turn.observed_below} 已观测"
    else:
        why = "本身及后代均未观测" if turn.kind == "head-to-head" else "未观测"
    return f"{turn.node}：{KINDS[turn.kind]}结构，{why}，因此{'阻断' if turn.blocks else '放行'}。"
