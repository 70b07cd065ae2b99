"""network effect: the effect of setting a node on another one, from tables or from rows; the sets to adjust for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.completion import nodes
from bayeskit._cli.options import Common, FileUse, Given, NetworkFile, Reading
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._networks.analysis.causal_sets import CausalSet
    from bayeskit._networks.bayesian_network import BayesianNetwork

WORDS = WordList(
    {
        "no_sets": "There is no back-door set, no front-door set and no instrument.",
        "more": "There are more; these are the {n} smallest.",
    }
)
# The sets of each kind that --sets lists.
MOST_SETS = 10


def effect(
    net: NetworkFile,
    reading: Reading,
    common: Common,
    cause: Annotated[
        list[str], typer.Option("--cause", metavar="NODE", autocompletion=nodes, help="The node to set.")
    ],
    outcome: Annotated[
        str, typer.Option("--outcome", metavar="NODE", autocompletion=nodes, help="The node to query.")
    ],
    hidden: Annotated[
        list[str] | None,
        typer.Option("--hidden", metavar="NODE", autocompletion=nodes, help="A node that is not observed."),
    ] = None,
    adjust: Annotated[
        list[str] | None,
        typer.Option("--adjust", metavar="NODE", autocompletion=nodes, help="A node to adjust for."),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            "--do",
            metavar="NODE=STATE",
            help="A node to set and hold: a state, or a distribution such as yes:0.3,no:0.7. Or a cause's state to "
            "compare.",
        ),
    ] = None,
    given: Given = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="FILE", help="Estimate from these rows instead of the tables."),
        FileUse.read,
    ] = None,
    level: Annotated[float, typer.Option("--level", help="The probability of intervals.")] = 0.95,
    random_state: Annotated[int, typer.Option("--random-state", help="Random seed of the draws.")] = 0,
    sets: Annotated[
        bool, typer.Option("--sets", help="List the sets to adjust for, and instruments, with the reasons.")
    ] = False,
) -> None:
    """Tell what setting a node does to another one: P(outcome | do(cause)).

    From the tables of the network; with --hidden or --adjust only from what is observed, with the formula; with --data
    from rows, with intervals.
    """
    from bayeskit import BayesianNetwork
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.saved_models import variables_of
    from bayeskit._cli.table_rows import opened
    from bayeskit._cli.typed_values import named, open_network, read_given
    from bayeskit.errors import UsageError

    network = open_network(net)
    if not isinstance(network, BayesianNetwork):
        raise UsageError(
            "{net!r} is a Markov network: it has no arrows to follow. Give a Bayesian network.", net=net
        )
    causes = [named(network, name) for name in cause]
    target = named(network, outcome)
    unseen = [named(network, name) for name in hidden or ()]
    if sets:
        _show_sets(network, causes, target, unseen, common)
        return
    settings: dict[str, Any] = {
        "do": _read_do(network, do, causes),
        "evidence": read_given(network, given),
        "hidden": unseen,
        "adjust": None if adjust is None else [named(network, name) for name in adjust],
        "level": level,
        "random_state": random_state,
    }
    if data is None:
        found = network.effect(causes, target, **settings)
    else:
        with opened(data, reading) as rows:
            variables = [v for name, v in variables_of(network).items() if name in rows.names]
            columns = rows.matching(variables, "").columns()
            found = network.effect(causes, target, data=columns, **settings)
    if common.as_json:
        print_json(found.to_dict())
    else:
        show(found.text(common.lang.value))


def _read_do(network: BayesianNetwork, given: Sequence[str] | None, causes: Sequence[Any]) -> dict[Any, Any]:
    """Read ``NODE=STATE``. Several states of a cause are those to compare; a held node may have a distribution."""
    from bayeskit._cli.saved_models import variables_of
    from bayeskit._cli.typed_values import split, state_or_shares
    from bayeskit.errors import SettingError

    variables = variables_of(network)
    found: dict[Any, Any] = {}
    for text in given or ():
        name, is_so, state = split(text, variables, "--do")
        node = variables[name].name
        if not is_so:
            raise SettingError("--do {text!r}: a node is set to a state. Use =.", text=text)
        if node in causes:
            found.setdefault(node, []).append(state)
        elif node in found:
            raise SettingError("--do names {name!r} twice. Give it once.", name=name)
        else:
            found[node] = state_or_shares(variables[name], text, state)
    return found


def _show_sets(
    network: BayesianNetwork, causes: Sequence[Any], target: Any, hidden: Sequence[Any], common: Common
) -> None:
    from bayeskit._cli.output import print_json, show
    from bayeskit._visible import plain

    asked: dict[str, Any] = {"hidden": list(hidden), "most": MOST_SETS + 1}
    kinds: dict[str, Iterable[CausalSet]] = {
        "back_door": network.adjustment_sets(causes, target, **asked),
        "front_door": network.front_door_sets(causes, target, **asked),
        "instruments": network.instruments(causes[0], target, **asked) if len(causes) == 1 else (),
    }
    found = {kind: list(islice(every, MOST_SETS + 1)) for kind, every in kinds.items()}
    if common.as_json:
        print_json(
            {
                kind: [
                    {"nodes": plain(each.nodes), "given": plain(each.given), "reason": each.title}
                    for each in every[:MOST_SETS]
                ]
                for kind, every in found.items()
            }
        )
        return
    if not any(found.values()):
        show(common.say(WORDS["no_sets"]))
    texts = []
    for every in found.values():
        texts += [each.text(common.lang.value) for each in every[:MOST_SETS]]
        if len(every) > MOST_SETS:
            texts.append(common.say(WORDS["more"], n=MOST_SETS))
    if texts:
        show("\n\n".join(texts))
