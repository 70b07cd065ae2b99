"""network decide: the best decisions of an influence diagram, what to observe, and where the decisions flip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.completion import is_example_diagram, nodes
from bayeskit._cli.options import Common, FileUse
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._networks.analysis.decision_sensitivity import DecisionSensitivity
    from bayeskit._networks.decisions import Choice, InformationValues, Solution
    from bayeskit._networks.influence_diagram import InfluenceDiagram

WORDS = WordList(
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
        show(common.say(WORDS["given"], evidence=common.listed(given), p=f"{solution.probability:.4g}"))
    show(common.say(WORDS["total"], utility=number(solution.expected_utility)))
    show("")
    show(solution.tree().text(lang) if solution.has_tree else common.say(WORDS["large"]))
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
