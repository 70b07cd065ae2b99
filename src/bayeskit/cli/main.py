"""The command line. Nothing but Typer is imported until a command runs, so that ``--help`` is quick."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from bayeskit.version import __version__

app = typer.Typer(
    name="bayeskit",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Lang(StrEnum):
    """The language of what is printed."""

    en = "en"
    zh = "zh"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayeskit {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Bayesian classification, from naive Bayes to Bayesian networks."""


@app.command()
def demo(
    name: Annotated[str, typer.Argument(help="A bundled table: adult, mushroom, iris, melon, …")] = "adult",
    lang: Annotated[Lang, typer.Option("--lang", help="The language of the page.")] = Lang.en,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Train on a bundled table: compare models, explain a row, decide under a loss."""
    from bayeskit.cli.demo import run
    from bayeskit.cli.output import print_json
    from bayeskit.cli.show import print_demo
    from bayeskit.cli.stories import known_names, table_name

    table = table_name(name)
    if table is None:
        typer.echo(f"There is no table {name!r}. There are: {', '.join(known_names())}.", err=True)
        raise typer.Exit(2)
    result = run(table, lang.value)
    if as_json:
        print_json(result.to_dict())
    else:
        print_demo(result)


if __name__ == "__main__":
    app(prog_name="bayeskit")
