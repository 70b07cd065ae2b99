"""explore: open a network in the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from bayeskit._cli.completion import EXAMPLES, columns, is_example, words
from bayeskit._cli.options import Common, Drop, FileUse, Keep, Reading
from bayeskit._messages import Joined, WordList
from bayeskit.errors import DataError, SettingError, UsageError

WORDS = WordList(
    {
        "stop": "Press Ctrl-C to stop.",
        "stopped": "Stopped.",
    }
)
MODELS = ("tan", "nb", "kdb", "spode", "net")


def explore(
    reading: Reading,
    common: Common,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            autocompletion=words(*EXAMPLES),
            help="A network, a saved model, a table with --target, or an example: asia, wet_grass, melon, seven. "
            "Without FILE, an empty network to build on.",
        ),
        FileUse.read,
    ] = None,
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
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 selects a free one.")
    ] = 0,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Allow access from other machines, at the address of --host."),
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write no file, and let nobody edit the network.")
    ] = False,
) -> None:
    """Open a network in the browser. Click a state to observe it. Ctrl-C stops the server.

    Only this machine can connect, unless --allow-remote says otherwise, and only with the printed address, which
    contains a random token. Cards can be moved; the layout is written to FILE.layout.json when you save it. Needs
    pip install "bayeskit[web]".
    """
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.start import leave_at_once, stay_running
    from bayeskit._web.explorer import open_explorer
    from bayeskit._web.layout_file import LayoutFile
    from bayeskit._web.server import is_loopback, need_packages

    if publish is None:
        need_packages("explore")  # before anything is learned
        if not is_loopback(host) and not allow_remote:
            raise UsageError(
                "--host {host} lets other machines connect, without encryption. Add --allow-remote if that is "
                "intended.",
                host=host,
            )
    # A network, or a classifier that is one.
    if source is None:
        found = _empty(target, publish)
    elif target is None:
        found = _found(source)
    else:
        found = _learned(source, target, model, reading, drop, keep, common)
    explored = found._explored(os.path.basename(source or "").partition(".")[0])
    if publish is not None:
        explored.network.publish(publish, lang=None if common.lang.value == "en" else common.lang.value)
        if common.as_json:
            print_json({"written": str(publish)})
        else:
            show(common.say("Written to {path}.", path=publish))
        return

    def tell(address: str) -> None:
        stay_running()
        if common.as_json:
            print_json({"address": address})
            return
        show(address)
        show(common.say(WORDS["stop"]))

    is_file = source is not None and os.path.exists(source)
    is_busy = open_explorer(
        explored,
        lang=common.lang.value,
        host=host,
        port=port,
        open_browser=not no_browser,
        tell=tell,
        layout=LayoutFile(source) if source is not None and is_file else None,
        command=source if source is not None and target is None and _is_network(source) else "",
        read_only=read_only,
    )
    if not common.as_json:
        show(common.say(WORDS["stopped"]))
    if is_busy:
        leave_at_once()


def _empty(target: str | None, publish: Path | None) -> Any:
    """Return a network without nodes, to be built in the browser."""
    from bayeskit._networks.bayesian_network import BayesianNetwork

    if target is not None or publish is not None:
        raise UsageError(
            "--target and --publish need a FILE. Without one, an empty network is built in the browser."
        )
    return BayesianNetwork()


def _is_network(source: str) -> bool:
    """Whether the commands of networks read the file, or know the example."""
    from bayeskit._cli.saved_models import is_classifier

    return is_example(source) or (not os.path.isdir(source) and not is_classifier(source))


def _found(source: str) -> Any:
    """Return the network or classifier of a file, or an example if there is no such file."""
    from bayeskit._cli.saved_models import is_classifier, is_network, open_classifier
    from bayeskit._cli.typed_values import open_network

    if is_example(source):
        return open_network(source)
    if not os.path.exists(source):
        raise DataError(
            "There is no file {path!r}, and no example of that name. The examples are {names}.",
            path=source,
            names=Joined(map(repr, EXAMPLES)),
        )
    if os.path.isdir(source) or is_classifier(source):  # a directory is a store, or refused
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

    if has_network_suffix(source) or is_example(source):
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
