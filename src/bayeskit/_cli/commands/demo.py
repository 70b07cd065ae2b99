"""demo: demonstrations on bundled data: a table from its columns to a decision, networks, a mixture, texts."""

from __future__ import annotations

from typing import Annotated

import typer

from bayeskit._cli.completion import demos
from bayeskit._cli.options import Common
from bayeskit._messages import Joined


def demo(
    common: Common,
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=demos,
            help="melon, iris, docstrings, spam, grass, asia, mixture, or a bundled table.",
        ),
    ] = "adult",
) -> None:
    """Show what bayeskit does on bundled data.

    For a table: compare models, explain a row, decide under a loss. grass and asia query a network, mixture finds
    unlabelled groups, docstrings classifies texts, and spam leads from one word to a decision.
    """
    from bayeskit._cli.demos import NAMES, make_demo
    from bayeskit._cli.demos.stories import known_names, table_name
    from bayeskit._cli.output import print_json
    from bayeskit._messages import did_you_mean
    from bayeskit.errors import SettingError

    lang = common.lang.value
    if name in NAMES:
        from bayeskit._cli.demos.demo_pages import print_page

        found = make_demo(name, lang)
        print_json(found.to_dict()) if common.as_json else print_page(found, lang)
        return
    table = table_name(name)
    if table is None:
        known = list(dict.fromkeys((*NAMES, *known_names())))
        hint = did_you_mean(name, known)
        raise SettingError(
            "There is no table {name!r}. {hint} All are: {names}.", name=name, hint=hint, names=Joined(known)
        )
    from bayeskit._cli.demos.table_demo import print_demo, run

    result = run(table, lang)
    if common.as_json:
        print_json(result.to_dict())
    else:
        print_demo(result)
