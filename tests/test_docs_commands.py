"""Every command on the tour and on the pages about the command line runs, and prints what the page says it prints."""

from __future__ import annotations

import doctest
import shlex
from pathlib import Path
from typing import Any

import pytest

from cli_run import run

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "docs/guide/command_line.md", ROOT / "docs/zh-CN/guide/command_line.md"]
TOURS = [ROOT / "docs/tour.md", ROOT / "docs/zh-CN/tour.md"]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# These have tests of their own, and take seconds, or ask which shell runs them.
ELSEWHERE = ("compare", "--install-completion")


def blocks(page: str) -> list[tuple[list[str], str | None]]:
    """Return the commands of every ``sh`` block, and what the ``text`` block after it says."""
    found: list[tuple[list[str], str | None]] = []
    kind, inside = "", list[str]()
    for line in page.splitlines():
        if line.startswith("```"):
            if kind == "sh":
                found.append((inside, None))
            elif kind == "text":
                found[-1] = (found[-1][0], "\n".join(inside) + "\n")
            kind, inside = ("" if kind else line[3:]), []
        elif kind:
            inside.append(line)
    return found


def result(line: str) -> Any:
    """Run one line as a shell would, as far as the pages need it."""
    if line.startswith("python -c "):
        exec(shlex.split(line)[2], {})
        return None
    if line.startswith("printf "):
        text, path = line.removeprefix("printf '").split("' > ")
        Path(path).write_text(text.replace("\\n", "\n"), "utf-8")
        return None
    words, stdin = shlex.split(line), None
    if "|" in words:
        head, n, path, pipe, *words = words
        assert (head, pipe) == ("head", "|")
        stdin = b"".join(Path(path).read_bytes().splitlines(keepends=True)[: int(n[1:])])
    assert words[0] == "bayeskit"
    return None if words[1] in ELSEWHERE else run(*words[1:], stdin=stdin)


@pytest.mark.parametrize("path", [*PAGES, *TOURS], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for commands, expected in blocks(path.read_text("utf-8")):
        done = [result(line) for line in commands]
        for each in done[:-1]:
            assert each is None or each.exit_code == 0, f"{commands}\n{each.output}"
        if done[-1] is None:
            continue
        said = done[-1].stdout if done[-1].exit_code == 0 else done[-1].stderr
        assert done[-1].exit_code == 0 or expected is not None, f"{commands[-1]}\n{done[-1].output}"
        if expected is not None and not doctest.OutputChecker().check_output(expected, said, FLAGS):
            raise AssertionError(f"{commands[-1]}\nprints\n{said}\nnot\n{expected}")


def test_both_pages_show_every_command() -> None:
    from bayeskit._cli.main import COMMANDS, NETWORK_COMMANDS

    names = {command.__name__ for command in COMMANDS}
    assert {"fit", "explain"} <= names
    for path in PAGES:
        page = path.read_text("utf-8")
        assert all(f"bayeskit {name}" in page for name in names), path
        assert all(f"bayeskit network {c.__name__}" in page for c in NETWORK_COMMANDS), path
