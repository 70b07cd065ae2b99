"""What TAB offers, asked as the scripts of the shells ask it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bayeskit._cli.commands.network_learn import METHODS
from bayeskit._cli.completion import header, mend
from bayeskit._cli.demos import NAMES
from bayeskit._cli.main import app
from bayeskit._comparison.candidates import MODELS
from bayeskit._fitting.search.search_network import METHODS as SEARCHES
from bayeskit._io.networks.registry import FORMATS
from bayeskit._report.textbook.pages import PAGES
from bayeskit.networks import asia


def offered(line: str) -> list[str]:
    words = line.split(" ")
    asked = {
        "_BAYESKIT_COMPLETE": "complete_bash",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = CliRunner().invoke(app, [], env=asked, prog_name="bayeskit")
    assert done.exit_code == 0, done.output
    return done.stdout.split()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text('age,my col,"$(touch x)",收入,-v,a`b`\n1,2,3,4,5,6\n', encoding="utf-8")
    (tmp_path / "g.csv").write_text("色泽;好瓜\n1;2\n", encoding="gb18030")
    (tmp_path / "bad.bif").write_text("network { nonsense", encoding="utf-8")
    asia().write(tmp_path / "asia.bif")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("bayeskit fi", ["fit"]),
        ("bayeskit fit --sm", ["--smoothing"]),
        ("bayeskit fit --model ", list(MODELS)),
        ("bayeskit compare t.csv --models nb,ta", ["nb,tan"]),
        ("bayeskit textbook ", list(PAGES)),
        ("bayeskit explain m --format l", ["latex"]),
        ("bayeskit demo --lang ", ["en", "zh"]),
        ("bayeskit network learn t.csv --method ", list(METHODS)),
        ("bayeskit network learn t.csv --criterion bd", ["bdeu", "bds"]),
        ("bayeskit network convert a b --from ", list(FORMATS)),
        ("bayeskit network convert a b --to ", [n for n, f in FORMATS.items() if f.write is not None]),
        # Only names that a shell takes for one word, and no option.
        ("bayeskit fit t.csv --target ", ["age", "收入"]),
        ("bayeskit fit t.csv -o m.bayes --drop a", ["age"]),
        ("bayeskit compare g.csv --target 好", ["好瓜"]),
        ("bayeskit predict m t.csv --numeric ", ["age", "收入"]),
        ("bayeskit network query asia.bif x", ["xray"]),
        ("bayeskit network independent asia.bif xray d", ["dysp"]),
        ("bayeskit network independent asia.bif xray dysp --given l", ["lung"]),
        ("bayeskit network effect asia.bif --cause sm", ["smoke"]),
        # Nothing to offer: the shell offers files.
        ("bayeskit fit ", []),
        ("bayeskit fit --target ", []),
        ("bayeskit fit none.csv --target ", []),
        ("bayeskit fit - --target ", []),
        ("bayeskit network query bad.bif ", []),
        ("bayeskit network query none.bif ", []),
    ],
)  # fmt: skip
def test_names_are_offered(here: Path, line: str, names: list[str]) -> None:
    assert offered(line) == names
    assert not (here / "x").exists()


def test_demos_are_offered_with_the_bundled_tables() -> None:
    found = offered("bayeskit demo ")
    assert {*NAMES, "melon", "iris", "adult"} <= {*found} and len({*found}) == len(found)


def test_every_search_is_offered() -> None:
    assert {*METHODS} == {*SEARCHES, "auto", "structural-em"}


@pytest.mark.parametrize(
    ("data", "sep", "names"),
    [
        (b"a,b\r\n", None, ["a", "b"]),
        (b"\xef\xbb\xbfa\tb,c\td\n", None, ["a", "b,c", "d"]),
        (b"a,b;c\n", ";", ["a,b", "c"]),
        (b"a,b\tc\n", "tab", ["a,b", "c"]),
        (b"PAR1\0\0\n", None, []),
        (b"no line ends", None, []),
        (b"", None, []),
    ],
)
def test_the_header_of_a_table_is_read_without_the_table(
    tmp_path: Path, data: bytes, sep: str | None, names: list[str]
) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    assert header(str(tmp_path / "t.csv"), sep) == names


# As Typer has them; what stands in the function of zsh does not matter.
ZSH = "#compdef %(prog_name)s\n\n%(complete_func)s() {\n}\n\ncompdef %(complete_func)s %(prog_name)s\n"
FISH = (
    'complete --command %(prog_name)s --no-files --arguments "(env %(autocomplete_var)s=complete_fish '
    '_TYPER_COMPLETE_FISH_ACTION=get-args _TYPER_COMPLETE_ARGS=(commandline -cp) %(prog_name)s)" --condition '
    '"env %(autocomplete_var)s=complete_fish _TYPER_COMPLETE_FISH_ACTION=is-args %(prog_name)s"'
)


def mended(shell: str, script: str) -> str:
    scripts = {shell: script}
    mend(scripts)
    names = {"prog_name": "bayeskit", "complete_func": "_bayeskit_completion"}
    return scripts[shell] % {**names, "autocomplete_var": "_BAYESKIT_COMPLETE"}


def test_fish_asks_once() -> None:
    script = mended("fish", FISH)
    assert script.count("_BAYESKIT_COMPLETE=complete_fish") == 1 and "is-args" not in script
    assert r"printf '%s\n' $found" in script
    assert "__fish_complete_path" in script  # files, where there is nothing else


def test_zsh_answers_the_first_tab() -> None:
    script = mended("zsh", ZSH)
    said, called = script.index("\ncompdef _bayeskit_completion"), script.rindex('_bayeskit_completion "$@"')
    assert said < script.index("funcstack[1] == _bayeskit ") < called


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_scripts_are_left_alone(shell: str) -> None:
    assert mended(shell, "whatever it says\n") == "whatever it says\n"
