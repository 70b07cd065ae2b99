"""Every Python block of the documentation runs, and says what it says it does."""

from __future__ import annotations

import doctest
import importlib
import pydoc
import re
import runpy
from pathlib import Path

import pytest

from bayeskit._messages import catalogue

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
    script = runpy.run_path(str(folder / "make_coin.py"))
    for lang, ending in script["LANGUAGES"].items():
        drawn = (folder / f"coin{ending}.svg").read_text(encoding="utf-8")
        assert script["picture"](lang) == drawn


def test_structures_are_what_their_script_draws() -> None:
    folder = ROOT / "docs" / "pictures"
    script = runpy.run_path(str(folder / "make_structures.py"))
    assert script["PICTURES"]
    for lang, ending in script["LANGUAGES"].items():
        drawn = {name: script["picture"](name, lang) for name in script["PICTURES"]}
        for name, picture in {**drawn, "auto_bayes": script["weights_picture"](lang)}.items():
            assert picture == (folder / f"{name}{ending}.svg").read_text(encoding="utf-8"), name


FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![$\\\w])\$([^$\n]+?)\$(?![$\w])", flags=re.DOTALL)


@pytest.fixture
def page_build(monkeypatch):
    """What the pages add to Sphinx."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install 'bayeskit[docs]'")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module("page_build")


@with_docs
def test_every_formula_is_drawn_without_a_network(page_build):
    found = 0
    for page in DOCS.glob("**/*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for block, inline in FORMULA.findall(re.sub(r"`[^`\n]*`", "", text)):
            assert page_build.mathml(block or inline).startswith("<math"), (page, block or inline)
            found += 1
    assert found > 100
    assert "https://" not in (DOCS / "conf.py").read_text("utf-8")


@with_docs
def test_printed_tables_keep_their_lines(page_build):
    from docutils import nodes
    from docutils.utils import new_document

    blocks = {
        ">>> print(model)\n   value  no\nx  a  1/2\n\n": ["printed"],
        ">>> call(a)      # two\narray([1, 2])\n": [],
        "  no  prompt": [],
    }
    document = new_document("page")
    document += [nodes.literal_block(code, code) for code in blocks]
    page_build.PrintedTables(document).apply()
    found = list(document.findall(nodes.literal_block))
    assert [node["classes"] for node in found] == list(blocks.values())
    assert [node.astext() for node in found] == [code.rstrip("\n") for code in blocks]
    assert all(node.rawsource == node.astext() for node in found)  # or Sphinx does not colour it


def test_chinese_pages_are_searched_by_pairs_of_characters(page_build):
    search = page_build.ChineseSearch({})
    words = search.split("用 EM 估计朴素贝叶斯")
    assert {"EM", "估计", "朴素", "素贝", "贝叶", "叶斯", "熵"} - set(words) == {"熵"}
    assert all(search.word_filter(word) for word in ("朴素", "熵", "EM")) and not search.word_filter("x")


HAN, LATIN, WIDE = "[\u3400-\u9fff]", "[A-Za-z0-9]", "[，。；：、（）“”]"
# Between Chinese and Latin letters, digits, code or a formula there is a space; next to wide punctuation there is none.
UNSPACED = re.compile(
    f"{HAN}(?:{LATIN}|[`$]|\\[{LATIN})|(?:{LATIN}|[`$]|{LATIN}]\\(x\\)){HAN}"
    f"|{WIDE} (?:{LATIN}|{HAN})|(?:{LATIN}|{HAN}) {WIDE}"
)


def badly_spaced(text: str) -> list[str]:
    """Return the places of a Chinese text that break the rule; what is inside code, links and formulas is not read."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for inside, kept in (
        (r"`[^`\n]*`", "` `"),
        (r"\]\([^)]*\)", "](x)"),
        (r"\$[^$]*\$", "$ $"),
        (r"\{[^}]*\}", "\0"),
    ):
        text = re.sub(inside, kept, text)
    return [text[max(0, found.start() - 9) : found.end() + 9] for found in UNSPACED.finditer(text)]


@with_docs
def test_chinese_and_latin_are_spaced_by_one_rule():
    assert not badly_spaced("用 EM 估计 `fit` 的参数 $x$ 与“a”，共 3 个（见 [EM](a.md) 一页）。")
    assert len(badly_spaced("用EM 估计，`fit` 的参数， 与结果 “a”")) == 3
    pages = [ROOT / "README.zh-CN.md", *DOCS.glob("zh-CN/**/*.md")]
    found = {page.name: badly_spaced(page.read_text("utf-8")) for page in pages}
    assert {name: places for name, places in found.items() if places} == {}
    entries = catalogue("zh_CN").values()
    assert [place for text in entries for place in badly_spaced(text)] == []
