"""Messages are templates and values: they travel, speak the language chosen, and the catalogue keeps up with them."""

from __future__ import annotations

import ast
import errno
import os
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeskit
import bayeskit.mixtures  # it has a warning of its own
from bayeskit import _messages, errors
from bayeskit._messages import COMMAND_LINE, Joined, Message, Term, catalogue, entries_of, fields_of, speaking
from bayeskit._visible import visible_lines
from bayeskit.errors import DataError, ModelFormatError, SettingError, SuspectResult, set_language
from cli_run import help_texts
from refusals import refuses

CJK = re.compile("[\u4e00-\u9fff]")
CHINESE = re.compile("[\u4e00-\u9fff、。，：；（）]")  # with its signs
SOURCE = Path(bayeskit.__file__).parent
# Words of the system, of Python's codecs and of Typer, which are looked up as they come.
FOREIGN = {os.strerror(code) for code in errno.errorcode} | {
    "Missing command.",
    "Show this message and exit.",
    "Install completion for the current shell.",
    "Show completion for the current shell, to copy it or customize the installation.",
    "required",
    "default",
    "env var",
    "invalid start byte",
    "invalid continuation byte",
    "unexpected end of data",
    "illegal multibyte sequence",
    "incomplete multibyte sequence",
}


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


@cache
def texts() -> frozenset[str]:
    nodes = (node for tree in trees().values() for node in ast.walk(tree))
    found = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return frozenset(found | set(help_texts()))  # a help is a docstring, paragraph by paragraph


def kinds() -> dict[str, type[Exception]]:
    """Every error and warning of the library, by name."""
    found = [*errors._Shown.__subclasses__()]
    for kind in found:
        found += [each for each in kind.__subclasses__() if each not in found]
    return {kind.__name__: kind for kind in found if kind.__module__.startswith("bayeskit")}


def test_every_entry_is_a_text_of_the_source() -> None:
    """A message that is written anew must be translated anew."""
    for folder in _messages.LANGUAGES.values():
        assert {template for _, template in catalogue(folder)} - texts() - FOREIGN == set()


@pytest.mark.parametrize("template", sorted({template for _, template in catalogue("zh_CN")}))
def test_both_sides_of_an_entry_have_the_same_fields(template: str) -> None:
    for context in (None, COMMAND_LINE):
        told = catalogue("zh_CN").get((context, template))
        if told is None:
            continue
        if "{" in template:
            # A field that begins with _ is English grammar.
            needed = {field for field in fields_of(template) if not field[0].startswith("_")}
            assert needed <= set(fields_of(told)) <= set(fields_of(template)), told
        assert set(re.findall("--[a-z-]+", template)) <= set(re.findall("--[a-z-]+", told))
        if context is None:  # flags are for the command line
            assert set(re.findall("--[a-z-]+", told)) <= set(re.findall("--[a-z-]+", template)), told


# A name, a formula or a field stays as it is in every language.
_SAME = re.compile(r"({\w+[^}]*}|[A-Z]*[a-z]?\b|Brier|[^\w{}])*")
# Where Chinese is data: names and states of tables, titles of books, what columns may be called, where a line breaks.
_CHINESE = {
    "_cli/demos/stories.py",
    "_cli/textbook_check.py",
    "_data/suspect_columns.py",
    "datasets/_dataset.py",
    "_networks/examples.py",
    "_networks/guided_stories.py",
    *(
        f"_report/textbook/{page}.py"
        for page in (
            "melon_pages",
            "fraction_pages",
            "joint_pages",
            "lesson",
            "table_pages",
            "dependence_pages",
            "estimate_pages",
            "network_pages",
            "sheet",
        )
    ),
    "_report/charts/axis.py",
}


def told_texts() -> Iterator[tuple[str, str]]:
    """Texts that are told in a language that is an argument, with the file that each stands in."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="WordList"), args=[ast.Dict(values=values)]):
                    found = values
                case ast.Call(func=ast.Name(id="say" | "FamilyWords"), args=values):
                    found = [v.value if isinstance(v, ast.Starred) else v for v in values]
                case ast.Call(func=ast.Name(id="text_in"), args=[_, text]):
                    found = [text]
                case ast.keyword(arg="stake" | "why_left_out" | "title", value=text):
                    found = [text] if path.name in ("stories.py", "dataset.py") else []
                case _:
                    continue
            parts = [e for v in found for e in (v.elts if isinstance(v, ast.Tuple) else [v])]
            for text in (text for part in parts for text in templates_in(part)):
                yield path.relative_to(SOURCE).as_posix(), text


def test_every_text_of_reports_and_commands_has_an_entry() -> None:
    known = {template for _, template in catalogue("zh_CN")}
    found = {text for _, text in told_texts()}
    assert len(found) > 500
    assert sorted(text for text in found - known if not _SAME.fullmatch(text)) == []


def test_chinese_stands_in_the_catalogue() -> None:
    """Not in the source, where it is not data; docstrings show what is printed."""
    found: dict[str, list[str]] = {}
    for path, tree in trees().items():
        shown = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and CHINESE.search(text) and id(node) not in shown:
                found.setdefault(path.relative_to(SOURCE).as_posix(), []).append(text)
    assert set(found) == _CHINESE, {file: found.get(file) for file in set(found) ^ _CHINESE}


def test_words_are_read_in_the_language_of_a_report() -> None:
    words = _messages.WordList({"a": "posterior", "b": "no such text {n}"})
    assert dict(words) == {"a": "posterior", "b": "no such text {n}"} and len(words) == 2
    assert words.of("zh")["a"] == "后验概率" == _messages.text_in("zh", "posterior")
    assert words.of("zh")["b"] == "no such text {n}"
    with speaking("zh"):  # a report has a language of its own
        assert words.of("en")["a"] == "posterior"
        assert Message("There are none.").in_language("en") == "There are none."
    assert CJK.search(Message("There are none.").in_language("zh"))


@pytest.mark.parametrize("template", sorted({template for _, template in catalogue("en")}))
def test_the_command_line_loses_no_value_of_a_message(template: str) -> None:
    told = catalogue("en")[COMMAND_LINE, template]
    assert {field[0] for field in fields_of(told)} == {field[0] for field in fields_of(template)}
    assert told != template and not re.search(r"\b(drop|keep|target|exclude|separator)=", told)
    with speaking("zh", COMMAND_LINE):
        chinese = _messages.text_in("zh", template)
    assert chinese == template or not re.search(r"\b(drop|keep|target|exclude|separator)=", chinese)


@pytest.mark.parametrize(("folder", "contexts"), [("zh_CN", {None, COMMAND_LINE}), ("en", {COMMAND_LINE})])
def test_an_entry_stands_once(folder: str, contexts: set[str | None]) -> None:
    path = SOURCE / f"locale/{folder}/LC_MESSAGES/bayeskit.po"
    keys = [key for key, _ in entries_of(path.read_text("utf-8"))]
    assert len(keys) == len(set(keys)) > (400 if None in contexts else 50)
    assert {context for context, _ in keys} == contexts


def test_every_message_has_the_values_of_its_template() -> None:
    made = {*kinds(), "Message"} - {"ModelFormatError", "NeedsRows", "TooLarge"}
    wrong = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[text, *_], keywords=words) if name in made:
                    for template in templates_in(text):
                        given = {word.arg for word in words}
                        if given and None not in given and {f[0] for f in fields_of(template)} - given:
                            wrong.append((path.name, node.lineno, template))
    assert not wrong


def templates_in(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from templates_in(node.body)
        yield from templates_in(node.orelse)


# Makers of errors that add a path, a line or a row; errors whose words are Python's own.
MAKERS = {"error", "refusal", "refused", "as_message"}


def test_every_message_has_an_entry() -> None:
    """A message without an entry comes in English, whatever language was asked for."""
    known = {template for _, template in catalogue("zh_CN")}
    made = {*kinds(), "Message"} | MAKERS
    found = {
        (path.name, template)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args
        if (node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")) in made
        for template in templates_in(node.args[0])
        if " " in template and has_letters(template)
    }
    assert len(found) > 1500
    assert sorted((file, text) for file, text in found if text not in known) == []


def has_letters(template: str) -> bool:
    return re.search("[A-Za-z]{2}", re.sub(r"\{[^}]*\}", "", template)) is not None


def test_no_message_is_a_finished_sentence() -> None:
    """What is put into a sentence by an f-string cannot be translated."""
    made = {*kinds(), "Message"} | MAKERS
    found = [
        (path.name, node.lineno)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")) in made
        and any(
            isinstance(part, ast.JoinedStr) and has_words(part)
            for each in node.args
            for part in ast.walk(each)
        )
    ]
    assert not found


def words_in(node: ast.expr) -> Iterator[str]:
    """Yield what a value may be in English: a phrase, or one word of several choices."""
    match node:
        case ast.Constant(value=str(text)) if re.search("[a-z] +[a-z]", text) and not text.startswith("{"):
            yield text
        case ast.JoinedStr() if has_words(node):
            yield ast.unparse(node)
        case ast.IfExp(body=one, orelse=other):
            yield from (word for each in (one, other) for word in [*words_in(each), *lone_words_in(each)])
        case ast.BoolOp(values=several):
            yield from (word for each in several for word in [*words_in(each), *lone_words_in(each)])


def lone_words_in(node: ast.expr) -> Iterator[str]:
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch("[a-z]{3,}", node.value)
    ):
        yield node.value


def test_no_value_of_a_message_is_english() -> None:
    """A value is shown as it is; words that belong to the sentence are a Message, so that they are translated."""
    made = {*kinds(), "Message"} - {
        "ModelFormatError",
        "NeedsRows",
        "TooLarge",
    }  # these translate their words
    found = [
        (path.name, node.lineno, word)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in made
        for keyword in node.keywords
        if keyword.arg is not None and not keyword.arg.startswith("_")
        for word in words_in(keyword.value)
        if word != "aside"  # an attribute of a model
    ]
    assert not found


def test_names_in_chinese_quotes_stand_without_spaces() -> None:
    names = Joined(["'a'", "'b'", "c", "'d'"], " or ")
    assert names.render(_messages.translator("zh")) == "“a”或“b”或 c 或“d”"
    assert Joined(["'a'", "'b'"], " → ").render(_messages.translator("zh")) == "“a” → “b”"


def test_a_warning_names_the_users_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,x,y\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(40)))
    for learn in (bayeskit.NaiveBayes().fit, bayeskit.NaiveBayes().lazy, bayeskit.compare):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            more = {"baselines": False, "models": ["nb"]} if learn is bayeskit.compare else {}
            learn(str(tmp_path / "t.csv"), target="y", **more)
        assert {note.filename for note in told} <= {__file__}, [str(note) for note in told]


def has_words(text: ast.JoinedStr) -> bool:
    return any(
        isinstance(part, ast.Constant) and re.search("[a-z]{2,} ", str(part.value)) for part in text.values
    )


MADE: dict[str, tuple[Any, ...]] = {
    "InfiniteValue": ("a", 3, float("inf")),
    "BlockValue": ("b", "a", 3, -1.0),
    "CyclicGraph": (["a", "b", "a"],),
    "TooLarge": (2**40, 2**30, ["a", "b"], 1e12),
    "UnorderedDecisions": (["a", "b"],),
    "ImpossibleEvidence": ({"a": 1},),
    "NotIdentifiable": (["x"], ["y"], ["x", "y"], ["y"], ["u"]),
    "NeedsRows": ("numeric=", [], "Give cut points."),
}


@pytest.mark.parametrize("name", sorted(kinds()))
def test_every_error_travels(name: str) -> None:
    kind = kinds()[name]
    error = (
        kind(*MADE[name])
        if name in MADE
        else kind(Message("There is no node {name!r}. {hint}", name="x", hint=""))
    )
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and vars(again) == vars(error)
    for language in ("en", "zh"):
        with speaking(language):
            assert str(again) == str(error) and repr(again) == repr(error)


def test_an_error_is_a_template_and_values() -> None:
    cells = [1, 2]
    error = DataError("{name!r} holds {share:.3g} and {cells}; {{x}}", name="a", share=1 / 3, cells=cells)
    cells.append(3)  # what changes afterwards was not meant
    assert str(error) == "'a' holds 0.333 and [1, 2]; {x}"
    assert error.template.startswith("{name!r}") and error.values["share"] == 1 / 3
    assert str(DataError("braces {stay}")) == "braces {stay}"
    assert str(pickle.loads(pickle.dumps(DataError("{f}", f=lambda: 0)))).startswith("<function")
    assert repr(DataError("a")) == "DataError('a')"


def test_a_part_without_translation_leaves_the_whole_in_english() -> None:
    with speaking("zh"):
        strange = Message("Nobody has given this hint before.")
        known = Message("There are {names}.", names=Joined(["'a'", "'b'"]))
        template = "There is no node {name!r}. {hint}"
        assert str(Message(template, name="x", hint=known)) == "没有结点“x”。现有：“a”、“b”。"
        assert str(Message(template, name="x", hint=strange)) == f"There is no node 'x'. {strange.template}"
        assert str(Term("Nobody has said this")) == "Nobody has said this"
        assert str(DataError("{error} {n}", error=DataError("x {y}", y=1), n=2)) == "x 1 2"


def test_the_place_in_a_file() -> None:
    for place, en, zh in [
        ({"path": "a"}, "a: ", "a："),
        ({"path": "a", "line": 3}, "a, line 3: ", "a，第 3 行："),
        ({"path": "a", "line": 3, "column": 7}, "a, line 3, column 7: ", "a，第 3 行，第 7 列："),
        ({"line": 3}, "line 3: ", "第 3 行："),
        ({"column": 7}, "column 7: ", "第 7 列："),
        ({}, "", ""),
    ]:
        error = ModelFormatError(Message("there is no {block} {name!r}.", block="node", name="x"), **place)  # type: ignore[arg-type]
        assert str(error) == f"{en}there is no node 'x'."
        with speaking("zh"):
            assert str(error).startswith(zh) and CJK.search(str(error))


def test_names_may_hold_any_sign() -> None:
    message = Message("There is no node {name!r}. {hint}", name="{x}, y", hint="")
    assert "'{x}, y'" in str(message)
    with speaking("zh"):
        assert "“{x}, y”" in str(message)


def test_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    error = errors.CyclicGraph(["a", "b", "a"])
    assert not CJK.search(str(error))
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setenv("LANGUAGE", "zh_CN")
    assert not CJK.search(str(error))  # the system's language is nobody's choice
    monkeypatch.setenv("BAYESKIT_LANG", "zh")
    assert CJK.search(str(error))
    try:
        bayeskit.set_language("en")
        assert not CJK.search(str(error))
        bayeskit.set_language("zh")
        monkeypatch.delenv("BAYESKIT_LANG")
        assert CJK.search(str(error)) and _messages.language() == "zh"
        with refuses(SettingError, "fr", "en", "zh"):
            set_language("fr")
    finally:
        bayeskit.set_language(None)
    monkeypatch.setenv("BAYESKIT_LANG", "fr")
    assert not CJK.search(str(error))


def test_english_never_reads_a_catalogue() -> None:
    script = (
        "import bayeskit.errors as e, bayeskit._messages as m, sys; str(e.CyclicGraph('aba'));"
        "assert not m.catalogue.cache_info().currsize and 'numpy' not in sys.modules"
    )
    environment = {k: v for k, v in os.environ.items() if k != "BAYESKIT_LANG"}
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, env=environment)


def test_flags_are_put_into_both_languages() -> None:
    error = errors.InfiniteValue("a", 3, float("inf"))
    assert "row 3 (the first is 0)" in str(error) and error.row == 3
    with speaking("en", COMMAND_LINE):
        assert "row 4." in str(error) and str(pickle.loads(pickle.dumps(error))) == str(error)
    with speaking("zh", COMMAND_LINE):
        assert "第 4 行" in str(error)


def test_a_warning_is_told_in_the_language_too() -> None:
    why = Message("The time limit passed")
    note = SuspectResult("{why}: this is the best network found so far.", why=why)
    with speaking("zh"), pytest.warns(SuspectResult) as caught:
        warnings.warn(note, stacklevel=1)
    with speaking("zh"):
        assert CJK.search(str(caught[0].message))


@given(
    st.dictionaries(
        st.sampled_from(["a", "b"]), st.text() | st.integers() | st.none(), min_size=2, max_size=2
    )
)
def test_a_message_is_str_format(values: dict[str, Any]) -> None:
    template = "{a!r} and {b} in {{braces}}"
    assert str(Message(template, **values)) == visible_lines(template.format(**values))
    assert pickle.loads(pickle.dumps(Message(template, **values))) == Message(template, **values)


def test_a_long_value_is_cut() -> None:
    """A server would send back, and write into its log, as many megabytes as it was sent."""
    cell = "x" * 1_000_000
    told = Message("{a!r}, {b}, {c}", a=cell, b=Joined([cell, "y"]), c=[cell])
    assert len(str(told)) < 7_000 and "…, y" in str(told)


def test_entries_of_a_file() -> None:
    header = '# c\nmsgid ""\nmsgstr ""\n"H: x\\n"\n\n'
    text = 'msgctxt "k"\nmsgid "a \\"q\\" "\n"b"\nmsgstr "甲"\n\nmsgid "c"\nmsgstr ""\n'
    assert list(entries_of(header + text)) == [(("k", 'a "q" b'), "甲")]
