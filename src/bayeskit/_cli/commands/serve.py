"""serve: answer requests for predictions over HTTP."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.options import Common, Loss, ModelFile
from bayeskit._messages import WordList
from bayeskit.errors import SettingError, UsageError

if TYPE_CHECKING:
    from bayeskit.typing import LossLike

WORDS = WordList(
    {
        "token": "Token: {token}",
        "given": "The token is taken from the environment variable {variable}.",
        "stop": "Press Ctrl-C to stop.",
        "stopped": "Stopped.",
    }
)
TOKEN = "BAYESKIT_TOKEN"
SHORTEST_TOKEN = 16


def serve(
    model: ModelFile,
    common: Common,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 selects a free one.")
    ] = 8000,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Allow access from other machines, at the address of --host."),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A host name that clients use for this server."),
    ] = None,
    loss: Loss = None,
    reject: Annotated[
        float | None,
        typer.Option("--reject", metavar="COST", help="The cost of rejecting a row instead of deciding."),
    ] = None,
    threads: Annotated[
        int, typer.Option("--threads", min=1, help="Maximum number of simultaneous requests.")
    ] = 4,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1, help="Maximum size of a request body, in bytes.")
    ] = 4_000_000,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", min=0.1, help="Time limit in seconds for receiving a request, and for answering it."
        ),
    ] = 30.0,
) -> None:
    """Serve predictions over HTTP until Ctrl-C.

    POST /predict, /predict_proba, /explain and /decide accept a row as a JSON object, or a list of rows. GET
    /health describes the model in use, and /schema the whole interface (OpenAPI). A newer model file is loaded
    automatically. If it is damaged, the previous model stays in use, and /health says so.

    Every request needs the header "Authorization: Bearer TOKEN". The token is random and printed once, or taken
    from the environment variable BAYESKIT_TOKEN. Needs pip install "bayeskit[web]".
    """
    from bayeskit._cli.output import print_json, show
    from bayeskit._cli.saved_models import open_classifier
    from bayeskit._cli.start import stay_running
    from bayeskit._cli.table_rows import read_losses
    from bayeskit._messages import speaking
    from bayeskit._web.application import LOOPBACK_NAMES, Access, Application, Limits
    from bayeskit._web.served_model import ModelFile as WatchedFile
    from bayeskit._web.server import address_of, is_loopback, listening, need_packages
    from bayeskit._web.server import serve as run

    need_packages("serve")

    if not is_loopback(host) and not allow_remote:
        raise UsageError(
            "--host {host} lets other machines connect, without encryption. Add --allow-remote if that is intended.",
            host=host,
        )
    token, given = _token()

    def load() -> tuple[Any, LossLike]:
        found = open_classifier(model)
        return found, None if loss is None else read_losses(loss, found.classes_.tolist())

    watched = WatchedFile(load, _stamp_of(model), reject)
    hosts = LOOPBACK_NAMES | {host.lower()} | {name.lower() for name in allow_host or ()}
    application = Application(
        watched,
        Access(token, hosts, any_address=allow_remote),
        Limits(max_body, timeout, threads),
        lang=common.lang.value,
    )
    opened = listening(host, port)
    address = address_of(opened)

    def ready() -> None:
        stay_running()
        if common.as_json:
            print_json({"address": address, "token": None if given else token})
            return
        show(address)
        show(common.say(WORDS["given"], variable=TOKEN) if given else common.say(WORDS["token"], token=token))
        show(common.say(WORDS["stop"]))

    with opened, warnings.catch_warnings(), speaking(common.lang.value):
        # Warnings about rows would be kept for as long as the server runs.
        warnings.simplefilter("ignore")
        run(application, opened, ready)
    if not common.as_json:
        show(common.say(WORDS["stopped"]))


def _token() -> tuple[str, bool]:
    """Return the token, and whether it is the user's own."""
    import secrets

    token = os.environ.get(TOKEN, "")
    if not token:
        return secrets.token_urlsafe(24), False
    if len(token) < SHORTEST_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
        raise SettingError(
            "{variable} must have at least {n} characters: letters, digits and signs, without blanks.",
            variable=TOKEN,
            n=SHORTEST_TOKEN,
        )
    return token, True


def _stamp_of(path: str) -> Callable[[], object]:
    """Return a stamp of a file, or of the files of a store, that differs after every change."""

    def of(place: str) -> tuple[int, int, int]:
        found = os.stat(place)
        return found.st_ino, found.st_mtime_ns, found.st_size

    def stamp() -> object:
        if not os.path.isdir(path):
            return of(path)
        return sorted((entry.name, *of(entry.path)) for entry in os.scandir(path))

    return stamp
