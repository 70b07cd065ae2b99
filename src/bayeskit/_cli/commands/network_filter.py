"""network filter: the nodes of a dynamic network at each time step of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.completion import nodes
from bayeskit._cli.options import Common, Data, MaybeOutput, NetworkFile, Reading, Spreadsheet
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._networks.dynamic_network import DynamicNetwork

WORDS = WordList(
    {
        "step": "step",
        "probability": "Probability of the observations: {p}",
        "best": "Joint probability of these states: {p}",
        "last": "The last {shown} of {n:,} steps are shown; -o FILE writes all of them.",
        "written": "{n:,} rows written to {path}.",
    }
)
# So many steps fit a screen or two; more are for a file.
MOST_SHOWN = 200


def filter(
    net: NetworkFile,
    data: Data,
    reading: Reading,
    common: Common,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET]...",
            autocompletion=nodes,
            help="Nodes to ask for; none: all that are not observed.",
        ),
    ] = None,
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Use the whole table for every step, not only what came before.")
    ] = False,
    path: Annotated[
        bool, typer.Option("--path", help="Find the most probable states of all steps together.")
    ] = False,
    output: MaybeOutput = None,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Follow a network over time: a row of DATA is a time step.

    In NET, the node rain[t-1] is rain one step before, and its table is that of the first step.
    """
    from bayeskit._cli.output import form_of, print_json
    from bayeskit._cli.table_rows import opened
    from bayeskit.errors import UsageError

    if smooth and path:
        raise UsageError("--smooth and --path are two questions. Ask one at a time.")
    form = form_of(output, common.as_json, spreadsheet)
    network = _open(net)
    with opened(data, reading) as rows:
        columns = {name: cells for name, cells in rows.columns().items() if name in network.nodes}
    asked = _targets(network, targets, columns)
    lines: Iterable[Sequence[Any]]
    if path:
        best: Any = network.mpe(columns)
        header, lines = [*asked], zip(*(best[name].tolist() for name in asked), strict=True)
        log, key = best.log_probability, "best"
    else:
        header = [f"{name}={state}" for name in asked for state in network.states(name)]
        lines = _smoothed(network, columns, asked) if smooth else _filtered(network, columns, asked)
        log, key = network.log_probability(columns), "probability"
    numbered = ((step, *line) for step, line in enumerate(lines, 1))
    if output not in (None, "-"):
        _write(output, [common.say(WORDS["step"]), *header], numbered, form, spreadsheet, common)
    elif common.as_json:
        steps = [dict(zip(header, line[1:], strict=True)) for line in numbered]
        print_json({"log_probability": log, "steps": steps})
    else:
        _print(header, list(numbered), log, key, common)


def _open(path: str) -> DynamicNetwork:
    from bayeskit import BayesianNetwork, DynamicNetwork
    from bayeskit._cli.typed_values import open_network
    from bayeskit._networks.slice_families import BEFORE
    from bayeskit.errors import SettingError

    network = open_network(path)
    if not isinstance(network, BayesianNetwork):
        raise SettingError("{path!r} holds a Markov network, which has no direction of time.", path=path)
    if not any(str(name).endswith(BEFORE) for name in network.nodes):
        raise SettingError(
            "{path!r} is not a network over time: no node is named …{before}. Name the node one step before "
            "rain{before} and make it a parent of rain, or ask for one row with bayeskit network query.",
            path=path,
            before=BEFORE,
        )
    return DynamicNetwork(network)


def _targets(network: DynamicNetwork, given: Sequence[str] | None, columns: dict[str, Any]) -> list[str]:
    from bayeskit._messages import Joined, did_you_mean
    from bayeskit.errors import ColumnError, SettingError

    known = [str(name) for name in network.nodes]
    if not columns:
        raise ColumnError(
            "No column is named after a node. The nodes are {names}.", names=Joined(map(repr, known[:12]))
        )
    for name in given or ():
        if name not in known:
            raise SettingError("There is no node {name!r}. {hint}", name=name, hint=did_you_mean(name, known))
    return list(given or ()) or [name for name in known if name not in columns] or known


def _filtered(network: DynamicNetwork, columns: dict[str, Any], asked: list[str]) -> Iterator[list[float]]:
    for step in network.filter(columns, asked):
        yield [p for name in asked for p in step[name].tolist()]


def _smoothed(network: DynamicNetwork, columns: dict[str, Any], asked: list[str]) -> Iterator[list[float]]:
    found = network.smooth(columns, targets=asked)
    for step in zip(*(found[name].tolist() for name in asked), strict=True):
        yield [p for probabilities in step for p in probabilities]


def _write(
    path: str | None,
    header: list[str],
    lines: Iterable[Sequence[Any]],
    form: str,
    spreadsheet: bool,
    common: Common,
) -> None:
    from bayeskit._cli.output import RowWriter, opened_text, print_json, show

    n = 0
    with opened_text(path) as stream:
        writer = RowWriter(stream, header, form, spreadsheet)
        for line in lines:
            writer.write([line])
            n += 1
        writer.close()
    if common.as_json:
        print_json({"rows": n, "written": path})
    else:
        show(common.say(WORDS["written"], n=n, path=path))


def _print(header: list[str], lines: list[Sequence[Any]], log: float, key: str, common: Common) -> None:
    from bayeskit._cli.output import console, note, show, table
    from bayeskit._report.fractions import magnitude

    if len(lines) > MOST_SHOWN:
        note(common.say(WORDS["last"], shown=MOST_SHOWN, n=len(lines)))
    cells = [
        (str(line[0]), *(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in line[1:]))
        for line in lines[-MOST_SHOWN:]
    ]
    console().print(
        table([common.say(WORDS["step"]), *header], cells, 1 if key == "probability" else len(header) + 1)
    )
    show(common.say(WORDS[key], p=magnitude(log)))
