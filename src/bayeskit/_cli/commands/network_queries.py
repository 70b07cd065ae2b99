"""network query, mpe, explain, independent: posteriors, the most probable states, their working, and d-separation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.completion import nodes
from bayeskit._cli.options import Common, Given, Loss, MaybeOutput, NetworkFile
from bayeskit._cli.output import Ask, Cost, Form, FormOption
from bayeskit._messages import WordList
from bayeskit._visible import plain

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.markov_network import MarkovNetwork

WORDS = WordList(
    {
        "given": "given {evidence}: probability {p}",
        "given_density": "given {evidence}: log density {p}",
        "state": "state",
        "probability": "probability",
        "normal": "mean {mean}, standard deviation {sd}",
    }
)


def query(
    net: NetworkFile,
    common: Common,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET]...", autocompletion=nodes, help="The nodes to query; by default all."
        ),
    ] = None,
    given: Given = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            "--do",
            metavar="NODE=STATE",
            help="A node to set, regardless of its parents: a state, or a distribution such as yes:0.3,no:0.7.",
        ),
    ] = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="Query the joint distribution of the targets.")
    ] = False,
) -> None:
    "Compute the exact probabilities of nodes given the evidence, after interventions."
    from bayeskit._cli.output import print_json
    from bayeskit._cli.saved_models import variables_of
    from bayeskit._cli.typed_values import named, open_network, read_do, read_given
    from bayeskit._networks.markov_network import MarkovNetwork
    from bayeskit.errors import UsageError

    network = open_network(net)
    evidence, actions = read_given(network, given), read_do(network, do)
    if actions:
        if isinstance(network, MarkovNetwork):
            raise UsageError(
                "{net!r} is a Markov network: it has no arrows to follow. Give a Bayesian network.", net=net
            )
        network = network.do(actions)
    observed = {str(name) for name in (*evidence, *actions)}
    queried = [named(network, t) for t in targets or [n for n in variables_of(network) if n not in observed]]
    if joint and not targets:
        raise UsageError("--joint: name the nodes to ask for together.")
    groups = [queried] if joint else [[name] for name in queried]
    log = network.log_probability(evidence) if evidence else 0.0
    found = answers_of(network, groups, evidence)
    if common.as_json:
        acted = {"do": list(do)} if do else {}
        print_json({"given": list(given or ()), **acted, "log_probability": log, "answers": found})
    else:
        known = [*(f"do({text})" for text in do or ()), *(given or ())]
        _print(found, known, log, _has_numbers(network, evidence), common)


def _has_numbers(network: BayesianNetwork | MarkovNetwork, evidence: dict[Any, Any]) -> bool:
    from bayeskit._cli.saved_models import variables_of

    return any(variables_of(network)[str(name)].kind == "numeric" for name in evidence)


def _print(
    found: list[dict[str, Any]], given: list[str] | None, log: float, dense: bool, common: Common
) -> None:
    from bayeskit._cli.output import console, show, table
    from bayeskit._report.fractions import magnitude

    if given:
        key, p = ("given_density", f"{log:.4g}") if dense else ("given", magnitude(log))
        show(common.say(WORDS[key], evidence=common.listed(given), p=p))
    screen = console()
    probability = common.say(WORDS["probability"])
    for answer in found:
        if "mean" in answer:
            text = common.say(WORDS["normal"], mean=f"{answer['mean']:.4g}", sd=f"{answer['sd']:.4g}")
            show(f"{answer['nodes'][0]}: {text}")
            continue
        rows = [(*map(str, cell["states"]), f"{cell['probability']:.4f}") for cell in answer["cells"]]
        screen.print(table([*map(str, answer["nodes"]), probability], rows, len(answer["nodes"])))


MPE_WORDS = WordList(
    {
        "node": "node",
        "state": "most probable",
        "observed": "observed",
        "probability": "Joint probability of these states: {p}",
    }
)


def mpe(net: NetworkFile, common: Common, given: Given = None) -> None:
    "Find the most probable joint state of all nodes, given the evidence."
    from bayeskit._cli.output import console, print_json, show, table
    from bayeskit._cli.typed_values import open_network, read_given
    from bayeskit._report.fractions import magnitude
    from bayeskit._visible import plain

    network = open_network(net)
    evidence = read_given(network, given)
    best = network.mpe(evidence)
    if common.as_json:
        states = {str(name): plain(state) for name, state in best.items()}
        print_json({"given": list(given or ()), "states": states, "log_probability": best.log_probability})
        return
    mark = common.say(MPE_WORDS["observed"])
    rows = [(str(name), str(state), mark if name in evidence else "") for name, state in best.items()]
    console().print(table([common.say(MPE_WORDS["node"]), common.say(MPE_WORDS["state"]), ""], rows, 3))
    show(common.say(MPE_WORDS["probability"], p=magnitude(best.log_probability)))


def answers_of(
    network: BayesianNetwork | MarkovNetwork, groups: Sequence[Sequence[Any]], evidence: Mapping[Any, Any]
) -> list[dict[str, Any]]:
    """Return P(group | evidence) for each group of nodes.

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> found = answers_of(wet_grass(), [["rain"]], {"wet": "yes"})
    >>> found[0]["cells"][1]["states"], round(found[0]["cells"][1]["probability"], 4)
    (['yes'], 0.7353)
    """
    found = []
    for group in groups:
        answer = network.query(list(group), evidence=dict(evidence))
        nodes = [plain(name) for name in group]
        if hasattr(answer, "states"):
            cells = zip(product(*answer.states), answer.values.ravel().tolist(), strict=True)
            content: dict[str, Any] = {
                "cells": [{"states": plain(list(states)), "probability": p} for states, p in cells]
            }
        elif len(group) == 1:
            content = {"mean": float(answer.mean), "sd": float(answer.sd)}
            content["weights"] = answer.weights.tolist()
            content["means"], content["variances"] = answer.means.tolist(), answer.variances.tolist()
        else:
            content = {"mean": plain(answer.mean.tolist()), "covariance": plain(answer.variance.tolist())}
        found.append({"nodes": nodes, **content})
    return found


def explain(
    net: NetworkFile,
    target: Annotated[str, typer.Argument(metavar="TARGET", autocompletion=nodes, help="The node to query.")],
    common: Common,
    given: Given = None,
    ask: Ask = False,
    cost: Cost = None,
    loss: Loss = None,
    form: FormOption = Form.text,
    output: MaybeOutput = None,
) -> None:
    """Show how the probabilities of a node are computed.

    The factors involved, each summation in turn, and the normalisation, in exact fractions.

    --ask ranks the nodes worth observing instead: by information in bits or, with --loss, by the risk saved.
    """
    from bayeskit._cli.output import read_prices, refuse_strays, write_page
    from bayeskit._cli.saved_models import variables_of
    from bayeskit._cli.table_rows import read_losses
    from bayeskit._cli.typed_values import named, open_network, read_given
    from bayeskit.errors import UsageError

    form = Form.json if common.as_json else form
    refuse_strays(ask, form, cost)
    if loss is not None and not ask:
        raise UsageError("--loss is for --ask only. Add --ask, or leave it out.")
    network = open_network(net)
    name, evidence, lang = named(network, target), read_given(network, given), common.lang.value
    if not ask:
        page = network.explain(name, evidence, lang=lang)
        write_page(page, f"P({name})", form, output)
        return
    variables = variables_of(network)
    prices = {variables[node].name: price for node, price in read_prices(cost, variables).items()}
    costs = None if loss is None else read_losses(loss, variables[target].states)
    questions = network.ask_next(name, evidence, costs=prices, loss=costs, lang=lang)
    write_page(questions, questions.page().title, form, output)


def independent(
    net: NetworkFile,
    a: Annotated[str, typer.Argument(metavar="A", autocompletion=nodes)],
    b: Annotated[str, typer.Argument(metavar="B", autocompletion=nodes)],
    common: Common,
    given: Annotated[
        list[str] | None,
        typer.Option("--given", metavar="NODE", autocompletion=nodes, help="An observed node."),
    ] = None,
) -> None:
    """Check whether A and B are independent given observed nodes.

    The output lists every path between them and what blocks it.
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
