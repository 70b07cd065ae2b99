"""Every Python block of the documentation runs, and says what it says it does."""

from __future__ import annotations

import doctest
import importlib
import pydoc
import re
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


DOCS = ROOT / "docs"
with_docs = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of this copy")
NOTES = "notes"  # decisions of design, for those who change the code: in English only
PAIRS = sorted(
    path.relative_to(DOCS)
    for path in DOCS.glob("**/*.md")
    if path.relative_to(DOCS).parts[0] not in (NOTES, "zh-CN", "_build")
)


@with_docs
def test_the_pages_come_in_two_languages():
    """Every page has its twin under the same name; README.zh-CN.md stands beside README.md."""
    chinese = sorted(path.relative_to(DOCS / "zh-CN") for path in DOCS.glob("zh-CN/**/*.md"))
    assert chinese == PAIRS
    assert all((ROOT / name).exists() for name in ("README.md", "README.zh-CN.md"))


def headings(page: str) -> list[int]:
    """Return the depths of the headings outside fenced blocks."""
    text = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    return [len(marks) for marks in re.findall(r"^(#+) ", text, flags=re.MULTILINE)]


def falls_behind(english: str, chinese: str) -> bool:
    """Whether the Chinese page lacks a section or a block of Python that the English one has; it may have more."""
    rest = iter(headings(chinese))
    sections = all(depth in rest for depth in headings(english))
    return not sections or len(blocks(chinese)) < len(blocks(english))


@pytest.mark.parametrize("name", PAIRS, ids=Path.as_posix)
def test_no_chinese_page_falls_behind(name):
    english, chinese = ((folder / name).read_text(encoding="utf-8") for folder in (DOCS, DOCS / "zh-CN"))
    assert not falls_behind(english, chinese)


def test_a_page_that_falls_behind_is_noticed():
    page = "# A\n## B\n```python\n# no heading\n```\n"
    assert headings(page) == [1, 2]
    assert not falls_behind(page, "# 甲\n## 乙\n## 丙\n```python\n```\n")
    assert falls_behind(page, "# 甲\n```python\n```\n")
    assert falls_behind(page, "# 甲\n## 乙\n")


@with_docs
def test_chinese_links_stay_chinese():
    """A link from a Chinese page leads to the Chinese twin, but from the first page and the reference."""
    astray = []
    for page in [ROOT / "README.zh-CN.md", *DOCS.glob("zh-CN/**/*.md")]:
        if page.relative_to(ROOT).as_posix() in ("docs/zh-CN/index.md", "docs/zh-CN/guide/api.md"):
            continue
        for link in re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if target in {(DOCS / name).resolve() for name in PAIRS}:
                astray.append(f"{page.name}: {link}")
    assert not astray


def defined_in(module: str) -> list[str]:
    """Return the public names that a module defines itself: what a bare ``:members:`` describes."""
    found = vars(importlib.import_module(module)).items()
    return [name for name, x in found if name[0] != "_" and getattr(x, "__module__", None) == module]


@with_docs
def test_the_chinese_reference_names_all_that_the_english_one_describes():
    english, chinese = (
        (DOCS / name).read_text(encoding="utf-8") for name in ("guide/api.md", "zh-CN/guide/api.md")
    )
    described = set(re.findall(r"^\.\. auto\w+:: (\S+)", english, flags=re.MULTILINE))
    for module, members in re.findall(r"automodule:: (\S+)\n   :members:(.*)", english):
        names = [name.strip() for name in members.split(",") if name.strip()]
        described |= {f"{module}.{name}" for name in names or defined_in(module)}
    named = re.findall(r"\{py:obj\}`~([\w.]+)`", chinese)
    assert len(described) > 100
    assert described <= set(named)
    assert len(named) == len(set(named))
    assert all(pydoc.locate(name) is not None for name in named)


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
    assert script["weights_picture"]() == (folder / "auto_bayes.svg").read_text(encoding="utf-8")
