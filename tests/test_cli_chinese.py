"""What goes wrong is told in Chinese under ``--lang zh``, and the tables of sentences keep up with the library."""

from __future__ import annotations

import ast
import errno
import importlib
import os
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import bayeskit
from bayeskit.cli import chinese
from bayeskit.cli.chinese import Template
from bayeskit.cli.door import one_line
from bayeskit.cli.language import in_flags
from bayeskit.networks.examples import wet_grass
from cli_run import done, refused, write_table

CJK = re.compile("[\u4e00-\u9fff]")
SOURCE = Path(bayeskit.__file__).parent
# The one message of DuckDB that whoever reads CSV files will meet.
DUCKDB = ("CSV Error on Line", "| Original Line", "| Expected Number of Columns", "Found")

# A mistake of every ordinary kind, in every command.
MISTAKES = """
fit meln.csv --target y -o out
fit empty.csv --target y -o out
fit header.csv --target y -o out
fit rubbish.csv --target y -o out
fit latin.csv --target y -o out
fit wide.csv --target y -o out
fit ragged.csv --target b -o out
fit folder --target y -o out
fit melon.csv --target 好 -o out
fit one.csv --target y -o out
fit gap.csv --target y -o out
fit melon.csv --target 好瓜 --sep ';;' -o out
fit melon.csv --target 好瓜 --encoding foo -o out
fit melon.csv --target 好瓜 --numeric 色泽 -o out
fit melon.csv --target 好瓜 --model xx -o out
fit melon.csv --target 好瓜 --param kk=1 -o out
fit melon.csv --target 好瓜 --alpha -1 -o out
fit melon.csv --target 好瓜 --param numeric=foo -o out
fit melon.csv --target 好瓜 -o folder
fit melon.csv --target 好瓜 -o none/out
compare melon.csv --target 好瓜 --models nb,xx
compare melon.csv --target 好瓜 --drop 色泽 --keep 色泽
compare fractions.csv --target y
compare melon.csv --target 好瓜 --loss loss.csv
predict m.bayes strange.csv
predict m.bayes melon.csv --loss loss.csv
predict m.bayes melon.csv --target x
predict grass.bif melon.csv
predict damaged.bayes melon.csv
predict cut.bayes melon.csv
explain m.bayes melon.csv --row 99
explain m.bayes --set 色彩=青绿
explain m.bayes --set 密度=abc
explain m.bayes
explain m.bayes --set 色泽=青绿 --cost 触感=1
update m.bayes strange.csv
forget m.bayes strangers.csv
merge m.bayes two.bayes -o out
merge m.bayes few.bayes -o out
inspect m.bayse
inspect grass.bif
discretize melon.csv
discretize melon.csv --method width --bins 0
network query gras.bif
network query grass.bif rian
network query grass.bif rain --given wet=maybe
network query grass.bif rain --given wte=yes
network query grass.bif rain --given wet=yes --given rain=no --given sprinkler=no
network query wrong.bif
network query cut.bif
network query m.csv
network independent grass.bif rain rain
network mpe grass.bif --given x=y
network explain grass.bif rain --given rain=yes
network show grass.bif --given wet=yes
network sample grass.bif -n -3
network sample grass.bif -o folder
network convert grass.bif out.foo
network learn melon.csv -o out.foo
network learn melon.csv -o out.bif
network learn melon.csv -o out.bif --method foo
network learn huge.csv -o out.json
network learn melon.csv -o out.json --discretize 色泽=3
network learn melon.csv -o out.json --required 色泽,触感 --required 触感,色泽
fit melon.csv --target 好瓜 -o melon.csv
predict m.bayes melon.csv -o ./m.bayes
compare melon.csv --target 好瓜 --report out --save out
predict m.bayes melon.csv --spreadsheet --json
bayes --prior a=2 --likelihood a=1
bayes --prior a=1 --likelihood b=1
textbook xx
textbook --check --hide
demo pear
doctor extra
fit x
fit x --targt y
fitt
network quer
compare x --target y --folds a
compare x --target y --folds 1
explain m --format pdf
warmup --json=1
""".strip().splitlines()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    write_table(folder / "melon.csv", "melon3")
    (folder / "folder").mkdir()
    for name, content in {
        "empty.csv": b"",
        "header.csv": b"a,b\n",
        "rubbish.csv": bytes(range(256)),
        "latin.csv": b"a,y\n\xff\xfe,1\n",
        "wide.csv": b",".join(b"c%d" % i for i in range(5000)) + b"\n" + b",".join([b"1"] * 5000) + b"\n",
        "ragged.csv": b"a,b\n1,2\n1,2,3\n",
        "one.csv": b"a,y\n1,c\n2,c\n",
        "gap.csv": b"a,y\n1,x\n2,\n3,y\n",
        "strange.csv": "色彩,好瓜\n青绿,是\n".encode(),
        "fractions.csv": b"a,y\n" + b"".join(b"%d,%d.5\n" % (i % 3, i) for i in range(300)),
        "huge.csv": b"a,b\n1.5,x\n1e200,y\n2.5,x\n",
        "loss.csv": "action,是,没\na,0,1\n".encode(),
        "m.csv": b"neither this\nnor that\n",
    }.items():
        (folder / name).write_bytes(content)
    lines = (folder / "melon.csv").read_text("utf-8").splitlines()
    (folder / "strangers.csv").write_text("\n".join([lines[0], *[lines[1]] * 9]), "utf-8")
    fit = ("fit", folder / "melon.csv", "--target", "好瓜", "-o")
    done(*fit, folder / "m.bayes")
    done(*fit, folder / "two.bayes", "--alpha", "2")
    done(*fit, folder / "few.bayes", "--drop", "色泽")
    saved = (folder / "m.bayes").read_bytes()
    (folder / "cut.bayes").write_bytes(saved[:900])
    (folder / "damaged.bayes").write_bytes(saved[:-3] + bytes([saved[-3] ^ 1]) + saved[-2:])
    wet_grass().write(folder / "grass.bif")
    network = (folder / "grass.bif").read_text("utf-8")
    (folder / "wrong.bif").write_text(network.replace("0.8", "0.9", 1), "utf-8")
    (folder / "cut.bif").write_text(network[:300], "utf-8")
    return folder


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was said in English, and what was made of it."""
    pairs: list[tuple[str, str]] = []
    translate = chinese.in_chinese
    monkeypatch.setattr(chinese, "in_chinese", lambda m: pairs.append((m, translate(m))) or pairs[-1][1])
    return pairs


def values_of(text: str) -> set[str]:
    """What must not be lost: what is quoted, flags, numbers."""
    quoted = re.findall(r"'([^']*)'|\"([^\"]*)\"", text)
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", " ", text)
    return {a or b for a, b in quoted if a or b} | set(re.findall(r"--[a-z-]+|(?<![\w.])\d[\d,.]*\b", bare))


@pytest.mark.parametrize("command", MISTAKES)
def test_mistakes_are_told_in_chinese(
    command: str, place: Path, told: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    line = refused(*shlex.split(command), "--lang=zh").rstrip("\n")
    [(english, said)] = told
    assert line == said and CJK.search(said), english
    lost = {value for value in values_of(english) if value not in said}
    assert not lost, (english, said)
    # No English sentence is left: names and flags stand alone.
    assert not re.search(r"\b(is|are|has|have|the|not|there|of)\b", re.sub(r"'[^']*'", "", said)), said


def test_notes_are_told_in_chinese(place: Path, told: list[tuple[str, str]]) -> None:
    (place / "noted.csv").write_text(
        "id,,价格,y\n" + "".join(f'a{i},{i},"{i},5",{"mn"[i % 2]}\n' for i in range(12)), "utf-8"
    )
    done("fit", place / "noted.csv", "--target", "y", "-o", place / "noted.bayes", "--lang", "zh")
    done("explain", place / "m.bayes", "--set", "色泽=青", "--lang", "zh")
    assert len(told) >= 5
    for english, said in told:
        assert CJK.search(said), english
        assert {value for value in values_of(english) if value not in said} == set()


@pytest.mark.parametrize(
    "code", [errno.ENOENT, errno.EACCES, errno.ENOSPC, errno.EROFS, errno.EISDIR, errno.EIO]
)
def test_what_the_system_refuses(code: int) -> None:
    said = chinese.in_chinese(one_line(OSError(code, os.strerror(code), "out.csv")))
    assert said.startswith("'out.csv'：") and not re.search("[a-z]{4}", said.removeprefix("'out.csv'"))
    assert CJK.search(chinese.in_chinese(one_line(MemoryError())))


def test_the_language_is_that_of_the_option_else_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not CJK.search(refused("textbook", "xx"))
    monkeypatch.setenv("BAYESKIT_LANG", "zh")
    assert CJK.search(refused("textbook", "xx"))
    assert not CJK.search(refused("textbook", "xx", "--lang", "en"))
    assert "先验" in done("bayes", "--prior", "a=1", "--likelihood", "a=1")
    monkeypatch.setenv("BAYESKIT_LANG", "fr")
    assert "BAYESKIT_LANG" in refused("doctor") and "'zh'" in refused("doctor")


@pytest.mark.parametrize("words", [(), ("network",)])
def test_a_name_alone_asks_what_there_is(words: tuple[str, ...]) -> None:
    help_lines = done(*words).splitlines()
    assert help_lines == done(*words, "--help").splitlines() and len(help_lines) > 10


def test_english_never_loads_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chinese, "in_chinese", None)
    assert "'em'" in refused("textbook", "emm")


def test_what_has_no_chinese_form_stays_whole() -> None:
    message = "'a.csv' has no column 'b'. Nobody has given this hint before."
    assert chinese.in_chinese(message) == message
    assert (
        chinese.in_chinese("a.bif, line 3: nobody has said this.") == "a.bif, line 3: nobody has said this."
    )


def test_names_may_hold_any_sign() -> None:
    assert chinese.in_chinese("'a. b' has no column 'x, y'. Did you mean 'x or y' or 'it, too'?") == (
        "'a. b' 没有 'x, y' 这一列。是不是 'x or y' 或 'it, too'？"
    )


BEFORE = re.compile(r"""(?:^|[\0'",.;:?!()\n|]) ?['"]?$""")
AFTER = re.compile(r"""['"]?[ ,]*(?:$|[\0'",.;:?!()\n\[{<])""")


@cache
def texts_of_files() -> list[str]:
    """The texts in each source file as the command line tells them; \0 stands for what is put in."""
    found = []
    for path in SOURCE.rglob("*.py"):
        if "chinese" not in path.parts:
            nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
            texts = [_text(node) for node in nodes if isinstance(node, ast.JoinedStr)]
            texts += [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
            found.append(in_flags("\n".join(texts)))
    return found


def _text(node: ast.JoinedStr) -> str:
    parts: list[str] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        else:
            parts.append("'\0'" if getattr(value, "conversion", -1) == ord("r") else "\0")
    return "".join(parts)


def templates() -> list[Any]:
    subjects = ("hints", *chinese.SUBJECTS, *chinese.CONTENTS)
    found = []
    for subject in subjects:
        pairs = importlib.import_module(f"bayeskit.cli.chinese.{subject}").MESSAGES.items()
        found += [pytest.param(subject, Template(*pair), id=f"{subject}: {pair[0][:40]}") for pair in pairs]
    return found


def clauses(template: Template) -> list[str]:
    parts = [part for piece in template.pieces for part in re.split(r"(?<=[.;:?]) |[()]", piece)]
    return [part.strip(" .:;,?'\"") for part in parts if len(part.strip(" .:;,?'\"")) > 2]


def is_in(clause: str, text: str) -> bool:
    """Whether a text has a clause, whole: before and after it is a blank, a sign or nothing."""
    at = text.find(clause)
    while at >= 0:
        end = at + len(clause)
        if BEFORE.search(text[max(0, at - 3) : at]) and AFTER.match(text[end : end + 3]):
            return True
        at = text.find(clause, end)
    return False


def test_every_template_is_a_message_of_the_library() -> None:
    """A message that is written anew must be written anew in Chinese, too."""
    stale = []
    for case in templates():
        subject, template = case.values
        if subject == "usage":  # these are Typer's
            continue
        wanted = [clause for clause in clauses(template) if not _is_the_systems(clause)]
        if not any(all(is_in(clause, text) for clause in wanted) for text in texts_of_files()):
            stale.append(template.english)
    assert not stale


def _is_the_systems(clause: str) -> bool:
    return clause in {os.strerror(code) for code in errno.errorcode} or clause in DUCKDB


def test_both_sides_of_a_template_name_the_same_things() -> None:
    for case in templates():
        subject, template = case.values
        blanks = set(re.findall(r"\{(\w+)\}", template.chinese))
        assert blanks == {name for name in template.blanks if not name.startswith("_")}, template.english
        assert set(re.findall("--[a-z-]+", template.english)) <= set(
            re.findall("--[a-z-]+", template.chinese)
        )
        assert CJK.search(template.chinese) or subject == "hints"
