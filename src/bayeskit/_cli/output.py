"""Prints results to standard output, and progress and notes to standard error."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from bayeskit._display_table import terminal_width
from bayeskit._messages import Message
from bayeskit._visible import json_text, visible_lines

# Wide enough for a page of fractions, and the same in a pipe and a file. A terminal has its own width, up to the most.
WIDTH, WIDEST = 100, 120


def note(text: str | Message) -> None:
    """Print a note that is no result, on standard error."""
    typer.echo(visible_lines(text), err=True)


def console() -> Any:
    """Return a Rich console on standard output; characters it cannot encode are replaced, texts have nothing hidden."""
    from rich.console import Console

    class Screen(Console):
        def print(self, *objects: object, **how: Any) -> None:
            super().print(*(visible_lines(o) if isinstance(o, str) else o for o in objects), **how)

    _replace_unencodable()
    width = terminal_width()
    return Screen(
        width=WIDTH if width is None else min(width, WIDEST), highlight=False, markup=False, emoji=False
    )


def print_json(value: object) -> None:
    """Print a value as JSON, with Chinese characters if the output can encode them."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    typer.echo(json_text(value, 2, ascii_only=not utf8))


@contextmanager
def noting_compilation(text: str) -> Iterator[None]:
    """Print a note once if kernels are being compiled; with a warm cache there is none."""
    from bayeskit._numba import telling_of_compiling

    unsaid = [text]

    def tell() -> None:
        if unsaid:
            note(unsaid.pop())

    with telling_of_compiling(tell):
        yield


@contextmanager
def noting_warnings() -> Iterator[None]:
    """Turn the warnings raised inside into notes, each printed once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        note(text)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: int) -> Any:
    """Make a table for a Rich console; the columns from ``right`` on hold numbers."""
    from bayeskit._display_table import DisplayTable, as_rich

    return as_rich(DisplayTable("", tuple(headers), tuple(map(tuple, rows)), right=right))


def show(text: str) -> None:
    """Print a line of the result; characters that standard output cannot encode are replaced."""
    _replace_unencodable()
    typer.echo(visible_lines(text))


def _replace_unencodable() -> None:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
