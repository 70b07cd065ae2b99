"""Shell completion: names that a command knows, columns of its table, nodes of its network.

A shell waits while these run, so each imports as little as possible. The shell shows whatever they print, so they
offer nothing if a file cannot be read. Names that need quotes are not offered: shells insert them as words of the
line, and zsh parses them as part of a program.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from itertools import islice

import typer

Offer = Callable[[str], list[str]]

_WORD = re.compile(r"[\w.+%@][\w.+%@-]*")
_ZSH_AT_ONCE = '\nif [[ $funcstack[1] == _%(prog_name)s ]]; then\n  %(complete_func)s "$@"\nfi\n'
_FISH_ONCE = """
function %(complete_func)s
    set -lx _TYPER_COMPLETE_ARGS (commandline -cp)
    set -l found (env %(autocomplete_var)s=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args %(prog_name)s)
    if test -n "$found"
        printf '%%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end

complete --command %(prog_name)s --no-files --arguments "(%(complete_func)s)"
"""
# The maximum length of the first line of a table. A longer line is not a header.
_LONGEST = 1 << 18
# A larger network file takes too long to read while the user waits.
_LARGEST = 1 << 20

# Bundled networks: functions of `_networks/examples.py`.
EXAMPLES = ("asia", "wet_grass", "melon", "seven")
DIAGRAMS = ("oil_wildcatter", "medical_test")


def is_example(path: str) -> bool:
    """Return whether a name means a bundled network; a file of that name takes precedence."""
    return path in EXAMPLES and not os.path.exists(path)


def is_example_diagram(path: str) -> bool:
    """Return whether a name means a bundled influence diagram; a file of that name takes precedence."""
    return path in DIAGRAMS and not os.path.exists(path)


def mend_scripts() -> None:
    """Fix Typer's scripts for shells. If a newer Typer stores them elsewhere, they stay unchanged."""
    with suppress(ImportError):
        mend(getattr(import_module("typer._completion_shared"), "_completion_scripts", {}))


def mend(scripts: dict[str, str]) -> None:
    """Let zsh answer also the first TAB of a session, and fish answer in half the time.

    zsh runs a file of completions when they are first asked for; Typer's only says then which function to call from
    the next time on. In fish Typer's asks twice: whether there is an answer, and for it. Scripts that do not do so are
    left alone.
    """
    if scripts.get("zsh", "").endswith("\ncompdef %(complete_func)s %(prog_name)s\n"):
        scripts["zsh"] += _ZSH_AT_ONCE
    if "_TYPER_COMPLETE_FISH_ACTION=is-args" in scripts.get("fish", ""):
        scripts["fish"] = _FISH_ONCE


def models(incomplete: str) -> list[str]:
    """Offer the models of ``fit``.

    Examples
    --------
    >>> models("a")
    ['aode', 'a2de', 'auto']
    """
    from bayeskit._comparison.candidates import MODELS

    return _beginning(incomplete, MODELS)


def model_lists(incomplete: str) -> list[str]:
    """Offer one more model for the list of ``compare``, none that is in it already.

    Examples
    --------
    >>> model_lists("tan,t"), model_lists("tan,k")
    (['tan,trees', 'tan,text'], ['tan,kernel', 'tan,kdb'])
    """
    from bayeskit._comparison.candidates import OURS

    before, comma, begun = incomplete.rpartition(",")
    taken = before.split(",")
    return [f"{before}{comma}{name}" for name in _beginning(begun, OURS) if name not in taken]


def demos(incomplete: str) -> list[str]:
    """Offer the demonstrations and the bundled tables."""
    from bayeskit._cli.demos import NAMES
    from bayeskit._cli.demos.stories import known_names

    return _beginning(incomplete, dict.fromkeys((*NAMES, *known_names())))


def textbook_pages(incomplete: str) -> list[str]:
    """Offer the pages of ``textbook``.

    Examples
    --------
    >>> textbook_pages("mel")
    ['melon8', 'melon3', 'melonnet']
    """
    from bayeskit._report.textbook.pages import PAGES

    return _beginning(incomplete, PAGES)


def criteria(incomplete: str) -> list[str]:
    """Offer the criteria of ``network learn``."""
    from bayeskit._structure.search_protocol import NAMES

    return _beginning(incomplete, NAMES)


def formats_read(incomplete: str) -> list[str]:
    """Offer the formats of networks that can be read."""
    from bayeskit._io.networks.registry import FORMATS

    return _beginning(incomplete, FORMATS)


def formats_written(incomplete: str) -> list[str]:
    """Offer the formats of networks that can be written."""
    from bayeskit._io.networks.registry import FORMATS

    return _beginning(incomplete, (name for name, form in FORMATS.items() if form.write is not None))


def words(*names: str) -> Offer:
    """Offer one of a few words.

    Examples
    --------
    >>> words("tabu", "ges")("t")
    ['tabu']
    """
    return lambda incomplete: _beginning(incomplete, names)


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the columns of the table that the line names, where it is a text file."""
    return _beginning(incomplete, header(_argument(ctx, "data"), ctx.params.get("sep")))


def nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the nodes of the network that the line names."""
    return _beginning(incomplete, _nodes(_argument(ctx, "net")))


def header(path: str, sep: str | None = None) -> list[str]:
    """Return the cells of the first line of a table; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            line = file.readline(_LONGEST)
    except OSError:
        return []
    if b"\0" in line or not line.endswith(b"\n"):
        return []
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = line.decode("gb18030", "replace")
    mark = {"tab": "\t", "\\t": "\t"}.get(sep or "", sep) or max(",;\t|", key=text.count)
    return next(csv.reader([text.rstrip("\r\n")], delimiter=mark), []) if len(mark) == 1 else []


def _argument(ctx: typer.Context, name: str) -> str:
    """Return the value of an argument on the line; an empty text means none.

    A line that ends in an option without its value is not read to its end, and leaves the arguments as they stood.
    """
    found = ctx.params.get(name)
    if found is None and ctx.args:
        names = [each.name for each in ctx.command.params if each.param_type_name == "argument"]
        # A line that is still being typed may lack arguments.
        found = dict(zip(names, ctx.args, strict=False)).get(name)
    return str(found or "")


def _nodes(path: str) -> list[str]:
    import os

    try:
        if os.path.getsize(path) > _LARGEST:
            return []
        import warnings

        from bayeskit._io.networks.diagram_files import read_diagram
        from bayeskit._io.networks.registry import read_model
        from bayeskit.errors import ModelFormatError

        with warnings.catch_warnings(action="ignore"):  # the command itself shows them
            try:
                found = read_model(path)
            except ModelFormatError:  # perhaps it has decisions
                found = read_diagram(path).network
    except Exception:  # whatever is wrong with the file, the command reports it
        return []
    variables = [node.variable for node in found.nodes] if hasattr(found, "nodes") else found.variables
    return [str(variable.name) for variable in variables]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    fitting = (name for name in names if name.startswith(incomplete) and _WORD.fullmatch(name))
    return list(islice(fitting, 500))
