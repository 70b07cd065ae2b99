"""Every Python block of the documentation runs, and says what it says it does."""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("README*.md"), *ROOT.glob("docs/**/*.md")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: str) -> list[tuple[int, str]]:
    """Return (line, code) of every fenced block of Python."""
    found, start, lines = [], None, page.splitlines()
    for i, line in enumerate(lines):
        if start is None and line.strip() in ("```python", "```pycon"):
            start = i + 1
        elif start is not None and line.strip() == "```":
            found.append((start, "\n".join(lines[start:i]) + "\n"))
            start = None
    assert start is None, f"the block that begins in line {start} is not closed"
    return found


def run(page: str, name: str) -> list[str]:
    """Run the blocks from top to bottom, as a reader would type them, and return what went wrong."""
    wrong: list[str] = []
    names: dict[str, object] = {"__name__": "__page__"}
    for line, code in blocks(page):
        if ">>>" not in code:
            exec(compile("\n" * line + code, name, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, name, name, line)
        doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(test, out=wrong.append, clear_globs=False)
        names = test.globs
    return wrong


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
def test_page(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = run(path.read_text(encoding="utf-8"), path.name)
    assert not wrong, "".join(wrong)


def test_a_wrong_page_is_noticed():
    page = "text\n```python\n>>> x + 1\n3\n```\n```\nnot python\n```\n"
    assert blocks(page) == [(2, ">>> x + 1\n3\n")]
    assert run("```python\nx = 2\n```\n" + page, "page") == []
    assert "Expected" in "".join(run("```python\nx = 1\n```\n" + page, "page"))


def test_the_pages_come_in_two_languages():
    """What is in Chinese is in English too, under the same name; README.zh-CN.md stands beside README.md."""
    english = {p.relative_to(ROOT / "docs") for p in PAGES if p.is_relative_to(ROOT / "docs")}
    chinese = {p.relative_to("zh-CN") for p in english if p.parts[0] == "zh-CN"}
    assert chinese <= english
    assert not english or {Path("textbook.md"), Path("coin.md")} <= chinese


def test_the_picture_is_the_one_that_its_script_draws():
    folder = ROOT / "docs" / "pictures"
    if not folder.is_dir():
        pytest.skip("the documentation is not part of this copy")
    drawn = runpy.run_path(str(folder / "make_coin.py"))["picture"]()
    assert drawn == (folder / "coin.svg").read_text(encoding="utf-8")


def test_structures_are_what_their_script_draws() -> None:
    folder = ROOT / "docs" / "pictures"
    script = runpy.run_path(str(folder / "make_structures.py"))
    assert script["PICTURES"]
    for name in script["PICTURES"]:
        assert script["picture"](name) == (folder / f"{name}.svg").read_text(encoding="utf-8")
