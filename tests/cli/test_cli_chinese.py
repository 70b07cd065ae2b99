"""What goes wrong is told in Chinese under ``--lang zh``, and nothing that a message names is lost on the way."""

from __future__ import annotations

import errno
import os
import re
import shlex
from html import unescape
from pathlib import Path

import pytest

from bayeskit._cli.error_exits import one_line
from bayeskit._display_table import display_width
from bayeskit._messages import COMMAND_LINE, catalogue, speaking
from bayeskit._report.textbook.pages import PAGES
from bayeskit.networks import wet_grass
from cli_run import done, help_texts, refused, run, write_table

CJK = re.compile("[\u4e00-\u9fff]")

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
fit melon.csv --target 好瓜 --smoothing -1 -o out
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
network effect grass.bif --cause rain --outcome joe --adjust wet
network effect grass.bif --cause rain --outcome wet --hidden rain
network effect grass.bif --cause rain --outcome wet --do wet
network mpe grass.bif --given x=y
network decide grass.bif
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
    done(*fit, folder / "two.bayes", "--smoothing", "2")
    done(*fit, folder / "few.bayes", "--drop", "色泽")
    saved = (folder / "m.bayes").read_bytes()
    (folder / "cut.bayes").write_bytes(saved[:900])
    (folder / "damaged.bayes").write_bytes(saved[:-3] + bytes([saved[-3] ^ 1]) + saved[-2:])
    wet_grass().write(folder / "grass.bif")
    network = (folder / "grass.bif").read_text("utf-8")
    (folder / "wrong.bif").write_text(network.replace("0.8", "0.9", 1), "utf-8")
    (folder / "cut.bif").write_text(network[:300], "utf-8")
    return folder


def values_of(text: str) -> set[str]:
    """What must not be lost: what is quoted, flags, numbers."""
    quoted = re.findall(r"'([^']*)'|\"([^\"]*)\"|“([^”]*)”", text)
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|“[^”]*”", " ", text)
    return {"".join(each) for each in quoted if any(each)} | set(
        re.findall(r"--[a-z-]+|(?<![\w.])\d[\d,.]*\b", bare)
    )


@pytest.mark.parametrize("command", MISTAKES)
def test_mistakes_are_told_in_chinese(command: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    english = refused(*shlex.split(command), "--lang=en").rstrip("\n")
    said = refused(*shlex.split(command), "--lang=zh").rstrip("\n")
    check(english, said)
    # No English sentence is left: names and flags stand alone.
    assert not re.search(r"\b(is|are|has|have|the|not|there|of)\b", re.sub(r"'[^']*'|“[^”]*”", "", said)), (
        said
    )


def check(english: str, said: str) -> None:
    assert CJK.search(said) and not CJK.search(re.sub(r"'[^']*'|\([^)]*\)", "", english)), (english, said)
    assert not values_of(english) - values_of(said), (english, said)


def test_notes_are_told_in_chinese(place: Path) -> None:
    (place / "noted.csv").write_text(
        "id,,价格,y\n" + "".join(f'a{i},{i},"{i},5",{"mn"[i % 2]}\n' for i in range(12)), "utf-8"
    )
    fit = ("fit", place / "noted.csv", "--target", "y", "-o", place / "noted.bayes", "--lang")
    explain = ("explain", place / "m.bayes", "--set", "色泽=青", "--lang")
    n = 0
    for command in (fit, explain):
        english, said = (run(*command, lang).stderr.splitlines() for lang in ("en", "zh"))
        assert len(english) == len(said)
        for lines in zip(english, said, strict=True):
            check(*lines)
            n += 1
    assert n >= 5


@pytest.mark.parametrize(
    "code", [errno.ENOENT, errno.EACCES, errno.ENOSPC, errno.EROFS, errno.EISDIR, errno.EIO]
)
def test_what_the_system_refuses(code: int) -> None:
    with speaking("zh", COMMAND_LINE):
        said = one_line(OSError(code, os.strerror(code), "out.csv"))
        assert CJK.search(one_line(MemoryError()))
    assert said.startswith("“out.csv”：") and not re.search("[a-z]{4}", said.removeprefix("“out.csv”"))


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


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("fit x", ["'--target'", "'bayeskit fit --help'"]),
        ("fit", ["'DATA'"]),
        ("fit x --targt y", ["'--targt'", "'--target'"]),
        ("fit x --target", ["'--target'"]),
        ("fit x -z", ["'-z'"]),
        ("fitt", ["'fitt'", "'fit'", "'bayeskit --help'"]),
        ("xyzzy", ["'xyzzy'"]),
        ("network quer", ["'quer'", "'query'", "'bayeskit network --help'"]),
        ("doctor more again", ["more", "again"]),
        ("compare x --target y --folds a", ["'--folds'", "'a'", "2", "100"]),
        ("compare x --target y --folds 1", ["'--folds'", "'1'", "2", "100"]),
        ("network sample x -n -3", ["'--rows'", "'-3'", "1"]),
        ("predict m x --reject many", ["'--reject'", "'many'"]),
        ("explain m --format pdf", ["'--format'", "'pdf'", "'text'", "'html'", "'latex'", "'json'"]),
        ("warmup --json=1", ["'--json'", "'bayeskit warmup --help'"]),
        ("--", ["'bayeskit --help'"]),
    ],
)
def test_what_was_typed_wrongly_is_named(command: str, names: list[str]) -> None:
    """Whatever release of Typer reads it: its sentences differ, what its errors hold does not."""
    told = {}
    for lang in ("en", "zh"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BAYESKIT_LANG", lang)
            # Chinese has quotes of its own.
            wanted = names if lang == "en" else [re.sub("'(.*)'", r"“\1”", name) for name in names]
            told[lang] = refused(*shlex.split(command), names=wanted)
    assert CJK.search(told["zh"]) and not CJK.search(told["en"])


def test_every_text_of_the_help_has_an_entry() -> None:
    known = {template for _, template in catalogue("zh_CN")}
    assert len(help_texts()) > 140
    assert {text: path for text, path in help_texts().items() if text not in known} == {}


@pytest.mark.parametrize("path", sorted(set(help_texts().values())))
def test_the_help_is_chinese_too(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = done(*path.split(), "--help", "--lang", "zh")
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", said)
    assert not re.search(r"\b(is|are|has|have|the|not|there|of)\b", bare), said
    assert said.count("\n") > 8 and all(display_width(line) <= 80 for line in said.splitlines())
    # What can be typed is the same in both.
    listed = [
        text.partition(title)[2]
        for text, title in ((done(*path.split(), "--help"), "Options:"), (said, "选项："))
    ]
    english, chinese = (re.findall(r"^  (-\S+(?:, --\S+)?)", each, flags=re.MULTILINE) for each in listed)
    assert english == chinese and "--help" in english


def test_the_language_may_be_named_before_the_command_and_as_a_locale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = ("bayes", "--prior", "a=1", "--likelihood", "a=1")
    assert "先验" in done("--lang", "zh", *arguments)
    assert "选项：" in done("--lang=zh", "network", "--help") and "选项：" in done(
        "network", "--lang", "zh", "--help"
    )
    refused("--lang", "fr", *arguments, names=["'--lang'", "'fr'", "'zh'"])
    monkeypatch.setenv("BAYESKIT_LANG", "zh_CN")
    assert "先验" in done(*arguments) and "选项：" in done("--help")
    assert "先验" not in done("--lang", "en", *arguments)
    assert os.environ["BAYESKIT_LANG"] == "zh_CN"


# What a person reads of a page, its formulas and its code left out: those keep the signs of mathematics.
UNREAD = re.compile(r"<(style|script|math|code|pre)\b.*?</\1>|<[^>]*>", re.DOTALL)
FORMULA = re.compile(r"[A-Za-zΣΠ∏_]+\d?\([^()]*(?:\([^()]*\)[^()]*)*\)")
WORDS = "\u3000-\u303f\u4e00-\u9fff\uff00-\uffef“”"
# A comma, semicolon or colon of another script between Chinese words, numbers beside them or not; a bracket at one.
FOREIGN = re.compile(
    rf"[{WORDS}] ?[,;][ \n]|[,;] ?[{WORDS}]|[{WORDS}]: |(?<=[\u4e00-\u9fff]) ?\((?![^()]*[[,/+−])[^()]+\)"
)


def check_signs(text: str) -> None:
    for line in FORMULA.sub("f", unescape(UNREAD.sub("\n", text))).splitlines():
        found = FOREIGN.search(line)
        assert found is None, line[max(found.start() - 30, 0) : found.end() + 30]


def test_chinese_pages_have_chinese_signs(place: Path) -> None:
    melon = place / "melon.csv"
    for page in PAGES:
        for form in ([], ["--html"], ["--hide"]):
            check_signs(done("textbook", page, "--lang", "zh", *form))
    for page in ("nb", "laplace", "risk"):
        own = ("textbook", page, "--table", melon, "--target", "好瓜", "--row", "3")
        check_signs(done(*own, "--lang", "zh"))


@pytest.mark.parametrize("model", ["nb", "kdb", "aode", "trees", "loglinear"])
def test_chinese_results_have_chinese_signs(model: str, place: Path) -> None:
    melon, saved = place / "melon.csv", place / f"{model}.signs"
    fit = done("fit", melon, "--target", "好瓜", "--model", model, "-o", saved, "--lang", "zh")
    check_signs(fit)
    for command in (
        ("explain", saved, melon, "--row", "3"),
        ("explain", saved, melon, "--row", "3", "--format", "html"),
        ("explain", saved, "--set", "色泽=青绿", "--set", "纹理=清晰", "--ask"),
        ("inspect", saved, "--data", melon),
    ):
        shown = run(*command, "--lang", "zh")
        check_signs(shown.stdout + shown.stderr)


def test_a_chinese_report_has_chinese_signs(place: Path) -> None:
    report = place / "signs.html"
    compare = ("compare", place / "melon.csv", "--target", "好瓜", "--models", "nb,auto", "--folds", "2")
    shown = run(*compare, "--no-baselines", "--report", report, "--lang", "zh")
    check_signs(shown.stdout + shown.stderr + report.read_text("utf-8"))


def test_chinese_answers_of_networks_have_chinese_signs(place: Path) -> None:
    melon, saved = place / "melon.csv", place / "signs.json"
    given = ("--given", "纹理=清晰", "--given", "触感=硬滑")
    for command in (
        ("learn", melon, "--discretize", "3", "-o", saved),
        ("query", saved, "好瓜", *given),
        ("explain", saved, "好瓜", *given),
        ("mpe", saved, *given),
        (
            "effect",
            saved,
            "--cause",
            "纹理",
            "--outcome",
            "好瓜",
            "--given",
            "触感=硬滑",
            "--given",
            "脐部=凹陷",
        ),
        ("independent", saved, "色泽", "触感", "--given", "好瓜", "--given", "纹理"),
    ):
        shown = run("network", *command, "--lang", "zh")
        assert shown.exit_code == 0, shown.stderr
        check_signs(shown.stdout + shown.stderr)
