"""network learn: learn a network from the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.completion import criteria, words
from bayeskit._cli.options import Common, Data, Drop, Keep, Output, Reading
from bayeskit._messages import WordList

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork

WORDS = WordList(
    {
        "learned": "{nodes} nodes and {arcs} arcs learned from {n:,} rows; the tables have {parameters:,} "
        "parameters.",
        "directed": "Direction determined by the rows: {arcs}",
        "undirected": "Direction not determined by the rows: {edges}",
        "written": "Written to {path}.",
    }
)
METHODS = (
    "auto", "hill-climbing", "tabu", "ges", "order", "exact", "k2", "chow-liu", "pc", "mmhc", "structural-em"
)  # fmt: skip
_METHODS = f"{', '.join(METHODS[:-1])} or {METHODS[-1]} (missing cells)"


def learn(
    data: Data,
    output: Output,
    reading: Reading,
    common: Common,
    method: Annotated[
        str, typer.Option("--method", autocompletion=words(*METHODS), help=f"{_METHODS}.")
    ] = "auto",
    criterion: Annotated[
        str, typer.Option("--criterion", autocompletion=criteria, help="bic, aic, loglik, bdeu, bds or k2.")
    ] = "bic",
    ess: Annotated[float, typer.Option("--ess", help="The equivalent sample size of bdeu and bds.")] = 1.0,
    discretize: Annotated[
        list[str] | None,
        typer.Option(
            "--discretize", metavar="[COL=]N", help="Cut numbers into N intervals, in COL or in all columns."
        ),
    ] = None,
    required: Annotated[
        list[str] | None,
        typer.Option("--required", metavar="PARENT,CHILD", help="An arc that the network must have."),
    ] = None,
    forbidden: Annotated[
        list[str] | None,
        typer.Option("--forbidden", metavar="PARENT,CHILD", help="An arc that the network must not have."),
    ] = None,
    significance: Annotated[
        float | None,
        typer.Option("--significance", help="The significance level of the tests of pc and mmhc."),
    ] = None,
    max_parents: Annotated[
        int | None, typer.Option("--max-parents", help="Maximum number of parents of a node.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="Time limit; the best network so far is kept."),
    ] = None,
    random_state: Annotated[int, typer.Option("--random-state", help="Random seed.")] = 0,
    drop: Drop = None,
    keep: Keep = None,
) -> None:
    """Learn a Bayesian network from a table: its arcs, then its tables.

    FILE ends in .bif, .xml, .net, .xdsl, .uai or .json (only .json stores everything exactly). Ctrl-C stops the
    search and keeps the best network so far.
    """
    from bayeskit import learn_network
    from bayeskit._cli.output import replaced
    from bayeskit._cli.saved_models import need_network_suffix
    from bayeskit._cli.table_rows import opened, screened

    need_network_suffix(output)
    with replaced(output) as temporary, opened(data, reading) as rows:
        rows, read_as = screened(rows, None, drop, keep)
        cuts = _cuts(discretize, rows.names)
        settings: dict[str, Any] = {
            "required": [_arc(text, rows.names) for text in required or ()],
            "forbidden": [_arc(text, rows.names) for text in forbidden or ()],
            "max_parents": max_parents,
            "time_limit": time_limit,
        }
        if significance is not None:
            settings["significance"] = significance
        columns = rows.columns()
        settings["discretize"] = _measured(columns, cuts) if isinstance(cuts, int) else cuts
        _refuse_numbers(columns, settings["discretize"] or {}, output)
        network = learn_network(columns, method, criterion, ess=ess, random_state=random_state, **settings)
        network._become(replace(network._network, reading=read_as))
        network.write(temporary)
    _print_result(network, len(next(iter(columns.values()))), output, common)


def _print_result(network: BayesianNetwork, n: int, path: str, common: Common) -> None:
    from bayeskit._cli.output import print_json, show

    if common.as_json:
        print_json(
            {"nodes": list(network.nodes), "arcs": [list(arc) for arc in network.arcs], "rows": n}
            | {"parameters": network.n_parameters, "written": path}
        )
        return
    sizes = {"nodes": len(network), "arcs": len(network.arcs), "parameters": network.n_parameters}
    show(common.say(WORDS["learned"], n=n, **sizes))
    found = network.cpdag()
    if found.directed:
        show(common.say(WORDS["directed"], arcs=common.listed(f"{a} → {b}" for a, b in found.directed)))
    if found.undirected:
        show(common.say(WORDS["undirected"], edges=common.listed(f"{a} — {b}" for a, b in found.undirected)))
    show(common.say(WORDS["written"], path=path))


def _arc(text: str, names: tuple[str, ...]) -> tuple[str, str]:
    """Read ``PARENT,CHILD``; a name may hold a comma itself."""
    from bayeskit._messages import did_you_mean
    from bayeskit.errors import SettingError

    places = [i for i, sign in enumerate(text) if sign == ","]
    for i in places:
        if text[:i] in names and text[i + 1 :] in names:
            return text[:i], text[i + 1 :]
    if not places:
        raise SettingError("{text!r} is not an arc. Give PARENT,CHILD.", text=text)
    parent, _, child = text.partition(",")
    strange = parent if parent not in names else child
    raise SettingError(
        "{text!r}: there is no column {strange!r}. {hint}",
        text=text,
        strange=strange,
        hint=did_you_mean(strange, names),
    )


def _measured(columns: dict[str, Any], n: int) -> dict[str, int]:
    """Cut every column of numbers into n intervals, except columns of few whole numbers, which are states."""
    whole, others = _numbers(columns)
    return dict.fromkeys([name for name in columns if name in whole or name in others], n)


def _numbers(columns: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the columns with too many whole numbers to be states, and the columns of other numbers."""
    from bayeskit._fitting.search.node_columns import MOST_INTEGERS

    kinds = {name: column.dtype.kind for name, column in columns.items()}
    whole = [name for name, kind in kinds.items() if kind == "i" and len(set(columns[name])) > MOST_INTEGERS]
    return whole, [name for name, kind in kinds.items() if kind == "f"]


def _refuse_numbers(columns: dict[str, Any], cuts: Mapping[str, int], path: str) -> None:
    """Raise an error that names all columns that cannot be nodes as they are, before anything is learned."""
    import numpy as np

    from bayeskit._messages import Joined
    from bayeskit.errors import ColumnError

    whole, others = ([name for name in names if name not in cuts] for names in _numbers(columns))
    if any(np.isinf(columns[name]).any() for name in others):
        return  # The rows are read again, and the row is named.
    if others and not path.endswith(".json"):
        names = [name for name in columns if name in whole or name in others]
        raise ColumnError(
            "There are numbers in {names}, and the nodes of {path!r} have states. Cut them all with --discretize 5, or "
            "one with --discretize {first!r}=5; or write a file that ends in .json, which holds numbers.",
            names=Joined(map(repr, names)),
            path=path,
            first=names[0],
        )
    if whole:
        raise ColumnError(
            "{names} hold whole numbers with many values. Cut them all with --discretize 5, or one with --discretize "
            "{first!r}=5; or read one as states with --categorical {first!r}, as a measurement with --numeric "
            "{first!r}.",
            names=Joined(map(repr, whole)),
            first=whole[0],
        )


def _cuts(given: list[str] | None, names: tuple[str, ...]) -> Any:
    """Read ``N``, or ``COL=N`` for some columns."""
    from bayeskit._cli.typed_values import split
    from bayeskit.errors import SettingError

    found: dict[str, int] = {}
    for text in given or ():
        if text.isdigit() and len(given or ()) == 1:
            return int(text)
        name, _, number = split(text, names, "--discretize")
        if not number.isdigit():
            raise SettingError(
                "--discretize {text!r}: {number!r} is not a number of intervals.", text=text, number=number
            )
        found[name] = int(number)
    return found or None
