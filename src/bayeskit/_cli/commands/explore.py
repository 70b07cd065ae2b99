"""explore: open a network in the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from bayeskit._cli.completion import columns, words
from bayeskit._cli.options import Common, Drop, FileUse, Keep, Reading
from bayeskit._messages import Joined, WordList
from bayeskit.errors import DataError, SettingError, UsageError

WORDS = WordList(
    {
        "stop": "Press Ctrl-C to stop.",
        "stopped": "Stopped.",
    }
)
# Bundled networks: functions of `_networks/examples.py`.
EXAMPLES = ("asia", "wet_grass", "melon", "seven")
MODELS = ("tan", "nb", "kdb", "spode", "net")


def explore(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            autocompletion=words(*EXAMPLES),
            help="A network, a saved model, a table with --target, or an example: asia, wet_grass, melon, seven.",
        ),
        FileUse.read,
    ],
    reading: Reading,
    common: Common,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COL",
            autocompletion=columns,
            help="FILE is a table: fit a model that predicts COL.",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model", autocompletion=words(*MODELS), help="What to learn: tan, nb, kdb, spode or net."
        ),
    ] = "tan",
    drop: Drop = None,
    keep: Keep = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
    ] = False,
    publish: Annotated[
        Path | None,
        typer.Option(
            "--publish", metavar="FILE", help="Write one HTML file that needs no server, and open nothing."
        ),
        FileUse.written,
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 selects a free one.")
    ] = 0,
) -> None:
    """Open a network in the browser. Click a state to observe it. Ctrl-C stops the server.

    Only this machine can connect, and only with the printed address, which contains a random token. Needs pip
    install "bayeskit[web]".
    """
    from bayeskit._cli.output import print_json, show
    from bayeskit._web.explorer import open_explorer
    from bayeskit._web.server import need_packages

    if publish is None:
        need_packages("explore")  # before anything is learned
    # A network, or a classifier that is one.
    found = _found(source) if target is None else _learned(source, target, model, reading, drop, keep, common)
    explored = found._explored(os.path.basename(source).partition(".")[0])
    if publish is not None:
        explored.network.publish(publish, lang=None if common.lang.value == "en" else common.lang.value)
        if common.as_json:
            print_json({"written": str(publish)})
        else:
            show(common.say("Written to {path}.", path=publish))
        return

    def tell(address: str) -> None:
        if common.as_json:
            print_json({"address": address})
            return
        show(address)
        show(common.say(WORDS["stop"]))

    open_explorer(explored, lang=common.lang.value, port=port, open_browser=not no_browser, tell=tell)
    if not common.as_json:
        show(common.say(WORDS["stopped"]))


def _found(source: str) -> Any:
    """Return the network or classifier of a file, or an example if there is no such file."""
    from bayeskit._classifiers.tally_store import is_store
    from bayeskit._cli.saved_models import is_classifier, is_network, open_classifier
    from bayeskit._cli.typed_values import open_network

    if not os.path.exists(source):
        if source in EXAMPLES:
            from bayeskit._networks import examples

            return getattr(examples, source)()
        raise DataError(
            "There is no file {path!r}, and no example of that name. The examples are {names}.",
            path=source,
            names=Joined(map(repr, EXAMPLES)),
        )
    if is_store(source) or is_classifier(source):
        return open_classifier(source)
    if not is_network(source):
        raise UsageError(
            "{path!r} is no network. If it is a table, say which column to predict: --target COL.",
            path=source,
        )
    return open_network(source)


def _learned(
    source: str,
    target: str,
    model: str,
    reading: Reading,
    drop: list[str] | None,
    keep: list[str] | None,
    common: Common,
) -> Any:
    from bayeskit._cli.commands.fit import learn_rows
    from bayeskit._cli.saved_models import has_network_suffix
    from bayeskit._cli.table_rows import opened

    if has_network_suffix(source) or (source in EXAMPLES and not os.path.exists(source)):
        raise SettingError("{path!r} is a network, not a table. Leave --target out.", path=source)
    if model not in MODELS:
        raise SettingError(
            "--model {model!r} is not a single network. Choose from {names}.",
            model=model,
            names=Joined(MODELS),
        )
    with opened(source, reading, target) as rows:
        estimator, _ = learn_rows(rows, target, model, {}, reading, drop, keep, common)
    return estimator
