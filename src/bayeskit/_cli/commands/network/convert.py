"""network convert: convert a network from one file format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from bayeskit._cli.completion import formats_read, formats_written
from bayeskit._cli.options import Common, FileUse, NetworkFile
from bayeskit._messages import WordList

WORDS = WordList(
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
            help="The format of NET, where its name does not tell.",
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
        bool, typer.Option("--normalize", help="Divide rows of tables by their sums, whatever these are.")
    ] = False,
) -> None:
    """Write a network in another format; what the format cannot hold is refused."""
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.row_writing import replaced
    from bayeskit._cli.typed_values import open_network

    network = open_network(net, source, normalize)
    with replaced(output) as temporary:
        network.write(temporary, wanted)
    if common.as_json:
        print_json({"nodes": len(network), "written": output})
    else:
        show(common.say(WORDS["written"], nodes=len(network), path=output))
