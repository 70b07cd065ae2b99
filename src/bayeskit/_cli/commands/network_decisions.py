"""network decide: the best decisions of an influence diagram; network effect: the effect of an intervention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.completion import is_example_diagram, nodes
from bayeskit._cli.options import Common, FileUse, Given, NetworkFile, Reading
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._networks.analysis.causal_sets import CausalSet
    from bayeskit._networks.analysis.decision_sensitivity import DecisionSensitivity
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.decisions import Choice, InformationValues, Solution
    from bayeskit._networks.influence_diagram import InfluenceDiagram


DECIDE_WORDS = WordList(
    {
        "total": "Expected utility: {utility}",
        "given": "given {evidence}: probability {p}",
        "large": "The strategy depends on too many observations for a tree.",
    }
)
DiagramFile = Annotated[
    str,
    typer.Argument(
        metavar="NET",
        help="An influence diagram: .xdsl of GeNIe, .bifxml of pyAgrum, oil_wildcatter or medical_test.",
    ),
    FileUse.read,
]


def decide(
    net: DiagramFile,
    common: Common,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given", "--evidence", metavar="NODE=STATE", help="What was observed or decided so far."
        ),
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Also tell what observing each other node is worth.")
    ] = False,
    flip: Annotated[
        str | None,
        typer.Option(
            "--flip",
            metavar="NODE",
            autocompletion=nodes,
            help="Also tell how far each probability of NODE may change before the decisions do.",
        ),
    ] = None,
) -> None:
    """Find the best decisions of an influence diagram, exactly.

    Prints the strategy as a tree and the table of each decision, over the observations that matter.
    """
    from bayeskit._cli.output import print_json
    from bayeskit._cli.typed_values import named, read_given

    diagram = _open_diagram(net)
    network = diagram._chance_network
    evidence = read_given(network, given)
    solution = diagram.solve(evidence)
    choice = _choice(diagram, solution, evidence)
    values = diagram.value_of_information(evidence=evidence) if ask else None
    flips = None if flip is None else diagram.sensitivities(named(network, flip), evidence).rows
    if common.as_json:
        print_json(_plain(solution, choice, values, flips))
    else:
        _print(solution, choice, values, flips, list(given or ()), common)


def _open_diagram(path: str) -> InfluenceDiagram:
    """Read a diagram, or return a bundled one by its name."""
    from bayeskit._cli.saved_models import existing
    from bayeskit._networks import examples
    from bayeskit._networks.influence_diagram import read_influence_diagram

    if is_example_diagram(path):
        bundled: InfluenceDiagram = getattr(examples, path)()
        return bundled
    existing(path)
    return read_influence_diagram(path)


def _choice(diagram: InfluenceDiagram, solution: Solution, evidence: dict[Any, Any]) -> Choice | None:
    """Return the decision to make now, if it does not depend on an observation still to come."""
    first = next(iter(solution.policies.values()), None)
    return diagram.decide(evidence) if first is not None and first.possible.sum() == 1 else None


def _print(
    solution: Solution,
    choice: Choice | None,
    values: InformationValues | None,
    flips: tuple[DecisionSensitivity, ...] | None,
    given: list[str],
    common: Common,
) -> None:
    from bayeskit._cli.output import console, show
    from bayeskit._display_table import as_rich
    from bayeskit._networks.analysis.decision_sensitivity import flips_page
    from bayeskit._networks.strategy_tree import number

    lang, screen = common.lang.value, console()
    if given:
        show(
            common.say(DECIDE_WORDS["given"], evidence=common.listed(given), p=f"{solution.probability:.4g}")
        )
    show(common.say(DECIDE_WORDS["total"], utility=number(solution.expected_utility)))
    show("")
    show(solution.tree().text(lang) if solution.has_tree else common.say(DECIDE_WORDS["large"]))
    show("")
    pages = [choice.page(lang)] if choice is not None else []
    pages += [policy.page(lang) for policy in solution.policies.values() if policy.given]
    pages += [values.page(lang)] if values is not None else []
    pages += [flips_page(flips, lang)] if flips is not None else []
    for page in pages:
        screen.print(as_rich(page))


def _plain(
    solution: Solution,
    choice: Choice | None,
    values: InformationValues | None,
    flips: tuple[DecisionSensitivity, ...] | None,
) -> dict[str, Any]:
    """Return everything as plain values."""
    from bayeskit._visible import plain

    found: dict[str, Any] = {
        "given": {str(name): plain(state) for name, state in solution.evidence.items()},
        "probability": solution.probability,
        "expected_utility": solution.expected_utility,
        "policies": [
            {
                "decision": str(policy.decision),
                "observed": list(map(str, policy.given)),
                "rows": policy.rows(),
            }
            for policy in solution.policies.values()
        ],
    }
    if choice is not None:
        found["choice"] = {
            "decision": str(choice.decision),
            "state": plain(choice.state),
            "utilities": {str(state): utility for state, utility in choice.utilities.items()},
        }
    if values is not None:
        found["information"] = [
            {"node": str(row.nodes[0]), "before": str(row.before), "value": row.value} for row in values
        ]
    if flips is not None:
        found["flips"] = [
            {
                "node": str(row.node),
                "given": {str(name): plain(state) for name, state in row.given.items()},
                "state": plain(row.state),
                "value": row.value,
                "interval": list(row.interval),
                "below": list(map(str, row.below)),
                "above": list(map(str, row.above)),
            }
            for row in flips
        ]
    return found


EFFECT_WORDS = WordList(
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
        show(common.say(EFFECT_WORDS["no_sets"]))
    texts = []
    for every in found.values():
        texts += [each.text(common.lang.value) for each in every[:MOST_SETS]]
        if len(every) > MOST_SETS:
            texts.append(common.say(EFFECT_WORDS["more"], n=MOST_SETS))
    if texts:
        show("\n\n".join(texts))
