"""Run a command in this process, and check what every refusal looks like."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from typer import Typer, testing
from typer.main import get_command
from typer.testing import CliRunner

from bayeskit import datasets
from bayeskit._cli.error_exits import paragraphs
from bayeskit._cli.main import app
from refusals import unnamed


@cache
def parser(app: Typer) -> Any:
    """Return the commands as Typer makes them, once: that takes longer than most commands."""
    return get_command(app)


testing._get_command = parser  # type: ignore[attr-defined]


def run(*arguments: Any, stdin: bytes | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def done(*arguments: Any, stdin: bytes | None = None) -> str:
    """Run a command that must succeed; return what it printed."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def refused(*arguments: Any, stdin: bytes | None = None, names: Iterable[object] = ()) -> str:
    """Run a command that must be refused: one line on standard error, which names these; nothing else, exit code 2."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 2, (result.exit_code, result.output)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1 and result.stderr.endswith("\n"), result.stderr
    assert "Traceback" not in result.stderr
    assert not (lacking := unnamed(result.stderr, *names)), (lacking, result.stderr)
    return str(result.stderr)


def write_table(path: Path, name: str, rows: slice = slice(None)) -> Path:
    """Write a bundled table, or some rows of it, as CSV; missing cells are empty."""
    data = datasets.load_dataset(name)
    names = [*data.attributes, data.target]
    columns = [data.columns[each] for each in data.attributes] + [data.y]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        cells = ([None if v is None or v != v else v for v in column[rows].tolist()] for column in columns)
        writer.writerows(zip(*cells, strict=True))
    return path


def help_texts() -> dict[str, str]:
    """Every paragraph of every help, with the command that has it."""
    found: dict[str, str] = {}
    commands: list[tuple[str, Any]] = [("", get_command(app))]
    for path, command in commands:
        shown = [command.help, command.epilog, *(getattr(each, "help", None) for each in command.params)]
        found |= {part: path for text in shown for part in paragraphs(text)}
        commands += [(f"{path} {name}", each) for name, each in getattr(command, "commands", {}).items()]
    return found
