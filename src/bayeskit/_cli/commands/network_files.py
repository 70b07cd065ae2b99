"""network show, sample, convert: what a network file holds, rows drawn from it, the same in another format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.completion import formats_read, formats_written
from bayeskit._cli.options import Common, FileUse, Given, MaybeOutput, NetworkFile, Spreadsheet
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork

WORDS = WordList(
    {
        "title": "{name}: {nodes} nodes, {arcs} arcs, {parameters} free parameters",
        "field": "{name}: {nodes} variables, {factors} factors",
        "network": "network",
        "node": "node",
        "states": "states",
        "parents": "parents",
        "continuous": "continuous",
        "drawn": "Drawn to {path}.",
    }
)
# The maximum number of states of a node to list.
MOST_STATES = 6


def show(
    net: NetworkFile,
    common: Common,
    svg: Annotated[
        str | None,
        typer.Option("--svg", metavar="FILE", help="Draw the network with probabilities as bars."),
        FileUse.written,
    ] = None,
    given: Given = None,
) -> None:
    "Show the nodes of a network, or draw it."
    from bayeskit._cli.output import print_json
    from bayeskit._cli.typed_values import open_network, read_given
    from bayeskit.errors import UsageError

    network = open_network(net)
    directed = hasattr(network, "arcs")
    if given and svg is None:
        raise UsageError("--given changes the bars of a picture. Add --svg FILE to draw it.")
    if svg is not None:
        if not directed:
            raise UsageError("{net!r} is a Markov network, which is not drawn. Leave --svg out.", net=net)
        _draw(network, read_given(network, given), svg)
    found = described(network)
    if common.as_json:
        print_json(found)
    else:
        _print(found, svg, common)


def _draw(network: BayesianNetwork, evidence: dict[Any, Any], path: str) -> None:
    from bayeskit._cli.output import opened_text

    picture = str(network.plot(evidence))
    with opened_text(path) as stream:
        stream.write(picture + "\n")


def described(network: Any) -> dict[str, Any]:
    """Return the content as plain values."""
    from bayeskit._cli.saved_models import variables_of
    from bayeskit._visible import plain

    directed = hasattr(network, "arcs")
    nodes = []
    for name, variable in variables_of(network).items():
        states = plain(variable.states) if variable.kind == "categorical" else None
        parents = [str(parent) for parent in network.parents(variable.name)] if directed else []
        nodes.append({"name": name, "states": states, **({"parents": parents} if directed else {})})
    sizes: dict[str, Any] = {"name": network.name, "directed": directed, "nodes": nodes}
    if directed:
        return sizes | {"arcs": len(network.arcs), "parameters": network.n_parameters}
    return sizes | {"factors": [[str(name) for name in factor.names] for factor in network.factors]}


def _print(found: dict[str, Any], svg: str | None, common: Common) -> None:
    from bayeskit._cli.output import console, table
    from bayeskit._cli.output import show as say

    name = found["name"] or common.say(WORDS["network"])
    if found["directed"]:
        sizes = {"arcs": found["arcs"], "parameters": f"{found['parameters']:,}"}
        say(common.say(WORDS["title"], name=name, nodes=len(found["nodes"]), **sizes))
    else:
        say(common.say(WORDS["field"], name=name, nodes=len(found["nodes"]), factors=len(found["factors"])))
    rows = []
    for node in found["nodes"]:
        states = node["states"]
        more = ["…"] if states is not None and len(states) > MOST_STATES else []
        text = (
            common.say(WORDS["continuous"])
            if states is None
            else common.listed([*states[:MOST_STATES], *more])
        )
        rows.append((node["name"], text, common.listed(node.get("parents", []))))
    console().print(table([common.say(WORDS[key]) for key in ("node", "states", "parents")], rows, 3))
    if svg is not None:
        say(common.say(WORDS["drawn"], path=svg))


SAMPLE_WORDS = WordList(
    {
        "written": "{n:,} rows written to {path}.",
    }
)


def sample(
    net: NetworkFile,
    common: Common,
    n: Annotated[int, typer.Option("-n", "--rows", min=1, help="The number of rows to sample.")] = 10,
    random_state: Annotated[
        int, typer.Option("--random-state", min=0, help="Random seed; the same seed gives the same rows.")
    ] = 0,
    given: Given = None,
    output: MaybeOutput = None,
    spreadsheet: Spreadsheet = False,
) -> None:
    "Sample rows from a network, optionally given evidence."
    from bayeskit._cli.output import RowWriter, form_of, opened_text, print_json, show
    from bayeskit._cli.saved_models import variables_of
    from bayeskit._cli.typed_values import open_network, read_given

    form = form_of(output, common.as_json, spreadsheet)
    network = open_network(net)
    # Draw codes instead of rows, which would be a pandas frame: importing pandas takes longer than drawing.
    drawn = network.sample(n, random_state, read_given(network, given), as_codes=True)
    columns: list[list[Any]] = []
    for j, variable in enumerate(variables_of(network).values()):
        cells = drawn[:, j].tolist()
        is_state = variable.kind == "categorical"
        columns.append([variable.states[int(code)] for code in cells] if is_state else cells)
    with opened_text(output) as stream:
        writer = RowWriter(stream, list(variables_of(network)), form, spreadsheet)
        writer.write(zip(*columns, strict=True))
        writer.close()
    if output in (None, "-"):
        return
    if common.as_json:
        print_json({"rows": n, "written": output})
    else:
        show(common.say(SAMPLE_WORDS["written"], n=n, path=output))


CONVERT_WORDS = WordList(
    {
        "written": "{nodes} nodes written to {path}.",
    }
)


def convert(
    net: NetworkFile,
    output: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Ends in .bif, .xml, .net, .xdsl, .uai or .json."),
        FileUse.written,
    ],
    common: Common,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            autocompletion=formats_read,
            help="The format of NET, if its name does not determine it.",
        ),
    ] = None,
    wanted: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            autocompletion=formats_written,
            help="bif, xmlbif, net, xdsl, uai or json.",
        ),
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Divide each row of a table by its sum, whatever the sum is.")
    ] = False,
) -> None:
    "Convert a network to another format. Content that the format cannot store is an error."
    from bayeskit._cli.output import print_json, replaced, show
    from bayeskit._cli.typed_values import open_network

    network = open_network(net, source, normalize)
    with replaced(output) as temporary:
        network.write(temporary, wanted)
    if common.as_json:
        print_json({"nodes": len(network), "written": output})
    else:
        show(common.say(CONVERT_WORDS["written"], nodes=len(network), path=output))
