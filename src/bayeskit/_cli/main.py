"""The command-line program. Only Typer is imported before a command runs, so that ``--help`` is fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from bayeskit._cli.commands.bayes import bayes
from bayeskit._cli.commands.compare import compare
from bayeskit._cli.commands.doctor import doctor, warmup
from bayeskit._cli.commands.explore import explore
from bayeskit._cli.commands.export import export
from bayeskit._cli.commands.fit import discretize, fit
from bayeskit._cli.commands.network_decisions import decide, effect
from bayeskit._cli.commands.network_files import convert, sample, show
from bayeskit._cli.commands.network_filter import filter as filter_network
from bayeskit._cli.commands.network_learn import learn
from bayeskit._cli.commands.network_queries import explain as explain_answer
from bayeskit._cli.commands.network_queries import independent, mpe, query
from bayeskit._cli.commands.predict import explain, inspect, predict
from bayeskit._cli.commands.serve import serve
from bayeskit._cli.commands.textbook import demo, textbook
from bayeskit._cli.commands.update import forget, merge, update
from bayeskit._cli.completion import mend_scripts
from bayeskit._cli.error_exits import Command, CommandGroup, Group
from bayeskit._cli.options import Lang, spread
from bayeskit._version import __version__

# In the order in which --help lists them: a new command is one line here and one file.
COMMANDS: tuple[Callable[..., None], ...] = (
    demo,
    compare,
    fit,
    predict,
    explain,
    update,
    forget,
    merge,
    inspect,
    explore,
    export,
    serve,
    discretize,
    bayes,
    textbook,
    warmup,
    doctor,
)
NETWORK_COMMANDS: tuple[Callable[..., None], ...] = (
    learn,
    query,
    explain_answer,
    independent,
    effect,
    mpe,
    decide,
    filter_network,
    show,
    sample,
    convert,
)

_CODES = (
    "Exit codes: 0 success, 1 a check failed, 2 the request cannot be carried out, 3 internal error, 130 "
    "interrupted."
)

app = typer.Typer(
    name="bayeskit",
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=_CODES,
)
network = typer.Typer(
    name="network",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
)
# Before a command, too: it is read before any argument is parsed (`in_requested_language`).
AnyLang = Annotated[Lang | None, typer.Option("--lang", help="The language of the output.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayeskit {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
    lang: AnyLang = None,
) -> None:
    """Bayesian classification, from naive Bayes to Bayesian networks."""


def network_root(lang: AnyLang = None) -> None:
    "Bayesian networks: learn, query and draw them."


app.callback()(spread(root))
network.callback()(spread(network_root))
for command in COMMANDS:
    app.command(cls=Command)(spread(command))
for command in NETWORK_COMMANDS:
    network.command(cls=Command)(spread(command))
app.add_typer(network)
mend_scripts()


if __name__ == "__main__":
    app(prog_name="bayeskit")
