"""What a release must agree on: one version, one set of pins, sessions that exist, files that are shipped."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import bayeskit

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = ROOT / ".github" / "workflows"


def test_the_version_stands_in_one_file():
    assert PROJECT["project"]["dynamic"] == ["version"] and "version" not in PROJECT["project"]
    source = (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).read_text("utf-8")
    assert f'__version__ = "{bayeskit.__version__}"' in source.splitlines()
    assert re.search(r"^version", (ROOT / "CITATION.cff").read_text("utf-8"), flags=re.MULTILINE) is None


def test_a_tag_must_name_the_version_and_have_a_section(monkeypatch, tmp_path):
    script = runpy.run_path(str(ROOT / ".ci" / "package"), run_name="package")
    check_tag = script["check_tag"]
    (tmp_path / "src/bayeskit").mkdir(parents=True)
    (tmp_path / "src/bayeskit/_version.py").write_text('"""x"""\n\n__version__ = "0.1.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n## [0.1.0] - 2026-12-01\n", encoding="utf-8")
    monkeypatch.setitem(check_tag.__globals__, "ROOT", tmp_path)
    check_tag("v0.1.0")
    with pytest.raises(SystemExit, match=r"v0\.2\.0"):
        check_tag("v0.2.0")
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"\[0\.1\.0\]"):
        check_tag("v0.1.0")


def test_the_wheel_is_asked_what_the_readme_says():
    script = runpy.run_path(str(ROOT / ".ci" / "package"), run_name="package")
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert {f"bayeskit {words}" for words in script["README_COMMANDS"]} <= set(lines)
    demo = [line for line in lines if line.startswith("python3 -m venv") and "demo" in line]
    assert len(demo) == 1 and demo[0].endswith("/bayeskit demo")


def test_hooks_use_the_versions_of_pyproject_and_of_the_sessions():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    pinned = [
        pin
        for line in re.findall(r"additional_dependencies: \[(.*)\]", hooks)
        for pin in re.findall(r'"(.+?)"', line)
    ]
    declared = {*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]}
    declared |= set(re.findall(r'"(codespell.+?)"\)', (ROOT / "noxfile.py").read_text("utf-8")))
    assert any(pin.startswith("ruff==") for pin in pinned)
    assert set(pinned) <= declared


def sessions() -> dict[str, list[str] | str | None]:
    """Return the sessions of noxfile.py with their Pythons; nox itself is not needed."""
    found: dict[str, list[str] | str | None] = {}

    def session(python=None, **_):
        def register(function):
            assert function.__doc__
            found[function.__name__] = python
            return function

        return register

    fake = SimpleNamespace(
        session=session, options=SimpleNamespace(), Session=object, parametrize=lambda *_: lambda f: f
    )
    before = sys.modules.get("nox")
    sys.modules["nox"] = fake  # type: ignore[assignment]
    try:
        runpy.run_path(str(ROOT / "noxfile.py"))
    finally:
        if before is None:
            del sys.modules["nox"]
        else:
            sys.modules["nox"] = before
    return found


def test_pythons_and_classifiers_agree():
    said = {
        text.rsplit(" ", 1)[1]
        for text in PROJECT["project"]["classifiers"]
        if re.search(r"Python :: 3\.\d+$", text)
    }
    tested = sessions()["tests"]
    assert said <= set(tested)
    assert PROJECT["project"]["requires-python"] == f">={tested[0]}"


@pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="a source distribution has no workflows")
def test_workflows_call_sessions_that_exist_and_pin_actions():
    known, called = sessions(), set()
    for path in sorted(WORKFLOWS.glob("*.yml")):
        text = path.read_text("utf-8")
        assert re.search(r"^permissions:", text, flags=re.MULTILINE), path.name
        for action in re.findall(r"uses: (\S+)", text):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), (path.name, action)
        for listed in re.findall(r"session: \[(.*)\]", text):
            called |= set(listed.split(", "))
        called |= set(re.findall(r'-s "?([a-z]+)', text))
        for pythons in re.findall(r"python: \[(.*)\]", text):
            assert re.findall(r'"(.+?)"', pythons) == known["tests"]
    assert called == set(known)


def test_the_sdist_names_what_exists():
    include = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [name for name in include if "*" not in name and not (ROOT / name).exists()] == []
    urls = PROJECT["project"]["urls"]
    assert all(url.startswith("https://github.com/bayeskit/bayeskit") for url in urls.values())


@pytest.mark.parametrize("page", ["docs/licences.md", "docs/zh-CN/licences.md"])
def test_the_licence_of_every_bundled_file_is_listed(page):
    text = (ROOT / page).read_text("utf-8")
    listed = {
        name
        for row in re.findall(r"^\| (`.*?) \|", text, flags=re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", row)
    }
    assert set(bayeskit.datasets.dataset_names()) <= listed
    for name in bayeskit.datasets.dataset_names():
        if (
            "no licence" in (said := bayeskit.datasets.load_dataset(name).licence).lower()
            or "not stated" in said.lower()
        ):
            assert "textbook" in said, name
    code = {
        path.suffix
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert code <= {".py", ".pyi", ".po", ".typed", ".gz", ".csv", ".txt", ".css", ".html", ".js", ""}


@pytest.mark.parametrize("page", ["docs/threat_model.md", "docs/zh-CN/threat_model.md"])
def test_every_promise_names_a_check_that_exists(page):
    text = (ROOT / page).read_text("utf-8")
    promises = [line for line in text.splitlines() if re.search(r"`(tests|campaigns)/", line)]
    assert len(promises) >= 14
    named = set(re.findall(r"`((?:tests|campaigns)/[\w/]+\.py)`", text))
    assert {name for name in named if not (ROOT / name).is_file()} == set()
    campaigns = {path.name for path in (ROOT / "campaigns").glob("*.py")} - {"campaign.py"}
    assert {name.removeprefix("campaigns/") for name in named if name.startswith("campaigns/")} == campaigns
