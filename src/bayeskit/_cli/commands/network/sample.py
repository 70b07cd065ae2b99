"""network sample: sample rows from a network."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit._cli.options import Common, Given, MaybeOutput, NetworkFile, Spreadsheet
from bayeskit._messages import WordList

WORDS = WordList(
    {
        "written": "{n:,} rows written to {path}.",
    }
)


def sample(
    net: NetworkFile,
    common: Common,
    n: Annotated[int, typer.Option("-n", "--rows", min=1, help="How many rows to draw.")] = 10,
    random_state: Annotated[
        int, typer.Option("--random-state", min=0, help="The same number draws the same rows.")
    ] = 0,
    given: Given = None,
    output: MaybeOutput = None,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Draw rows from a network, with or without something observed."""
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.row_writing import RowWriter, form_of, opened_text
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
        show(common.say(WORDS["written"], n=n, path=output))
