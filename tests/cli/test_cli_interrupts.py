"""Ctrl-C at any moment: one line, exit code 130, no traceback."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import bayeskit
from bayeskit._cli.error_exits import guarded
from bayeskit._cli.output import replaced
from bayeskit._cli.start import INTERRUPTION, Press, pressed
from bayeskit._comparison.run import ComparisonRun
from cli_run import run, write_table

ROOT = Path(bayeskit.__file__).parents[2]

# What Python runs before the command: an interrupt is sent when {module} is imported, as if Ctrl-C were pressed then.
HOOK = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            press()

sys.meta_path.insert(0, Hook())
"""
PRESS = """
def press():
    os.kill(os.getpid(), signal.SIGINT)
"""
IN_A_DESTRUCTOR = """
class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))

def press():
    import time
    Dying()
    for _ in range(200):
        time.sleep(0.05)
"""
IN_SOMEBODYS_IMPORT = """
def press():
    import time
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except BaseException:
        pass
    time.sleep(5)
"""
LEAVING_HALF_A_MODULE = """
def press():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))
    except BaseException:
        raise ImportError("half a module")
"""
AT_THE_END = """
import atexit

def press():
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
"""


def started(folder: Path, hook: str, *arguments: str, module: str = "typer", **more: str) -> Any:
    """Start the command in a process of its own, with a hook."""
    (folder / "sitecustomize.py").write_text(HOOK.format(module=module) + hook, "utf-8")
    found = os.pathsep.join([str(folder), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": found, "PYTHONIOENCODING": "utf-8", **more}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        timeout=60,
        check=False,
    )


def test_the_script_that_is_installed_is_the_one_tested_here() -> None:
    script = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]["bayeskit"]
    assert script == "bayeskit._cli.start:main"


SCRIPT = ("-c", "import sys\nfrom bayeskit._cli.start import main\nsys.exit(main())", "textbook")


@pytest.mark.parametrize(
    ("command", "hook", "module"),
    [
        (SCRIPT, PRESS, "typer"),
        (("-m", "bayeskit", "textbook"), PRESS, "bayeskit._report.textbook.pages"),
        (SCRIPT, IN_A_DESTRUCTOR, "typer"),
        (SCRIPT, IN_SOMEBODYS_IMPORT, "typer"),
        (SCRIPT, LEAVING_HALF_A_MODULE, "bayeskit._report.textbook.pages"),
    ],
    ids=["first", "later", "destructor", "swallowed", "mistaken"],
)
def test_while_modules_are_imported(command: tuple[str, ...], hook: str, module: str, tmp_path: Path) -> None:
    result = started(tmp_path, hook, *command, module=module)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", INTERRUPTION + "\n")


def test_it_is_told_in_the_language_of_the_command(tmp_path: Path) -> None:
    result = started(tmp_path, PRESS, *SCRIPT, BAYESKIT_LANG="zh")
    assert (result.returncode, result.stderr) == (130, "已中断：没有改动任何文件。\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no signal ends a process there")
def test_while_python_clears_up(tmp_path: Path) -> None:
    result = started(tmp_path, AT_THE_END, *SCRIPT)
    assert (result.returncode, result.stderr) == (-signal.SIGINT, "")
    assert "spam" in result.stdout


@pytest.mark.parametrize(("how", "by_c"), [("import", False), ("import_module", False), ("pickle", True)])
def test_an_import_by_compiled_code_is_let_finish(
    how: str, by_c: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"imported_by_{how}"
    lines = (
        "import sys",
        "from bayeskit._cli.start import is_imported_by_c",
        "seen = is_imported_by_c(sys._getframe())",
    )
    (tmp_path / f"{name}.py").write_text("\n".join(lines), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    match how:
        case "import":
            exec(f"import {name}")
        case "import_module":
            importlib.import_module(name)
        case "pickle":  # written in C, as DuckDB is
            pickle.loads(f"c{name}\nseen\n.".encode())
    assert sys.modules.pop(name).seen is by_c


def test_in_the_middle_of_a_progress_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich takes standard error for a terminal

    def interrupted(self: Any, contender: Any, after_fold: Any) -> Any:
        after_fold()
        raise KeyboardInterrupt

    monkeypatch.setattr(ComparisonRun, "try_one", interrupted)
    table = write_table(tmp_path / "melon.csv", "melon3")
    result = run("compare", table, "--target", "好瓜", "--report", tmp_path / "out.html")
    assert result.exit_code == 130 and "━" in result.stderr
    assert result.stderr.endswith(INTERRUPTION + "\n") and "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["melon.csv"]


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing was pressed yet, whatever a command before this did."""
    for name in ("made", "waits", "heard", "too_late"):
        monkeypatch.setattr(Press, name, False)
    return monkeypatch


def test_a_swallowed_interrupt_leaves_the_file_alone(tmp_path: Path, listening: pytest.MonkeyPatch) -> None:
    old = tmp_path / "old"
    old.write_text("old")

    def command() -> None:
        with replaced(str(old)) as temporary:
            temporary.write_text("new")
            listening.setattr(Press, "made", True)

    with pytest.raises(KeyboardInterrupt):
        command()
    assert old.read_text() == "old" and list(tmp_path.iterdir()) == [old]


@pytest.mark.parametrize(("made", "code"), [(True, 130), (False, 3)])
def test_an_error_that_an_interrupt_has_become_is_an_interrupt(
    made: bool, code: int, listening: pytest.MonkeyPatch
) -> None:
    def command() -> None:
        raise ImportError("half of a module")

    listening.setattr(Press, "made", made)
    assert guarded(command) == code


def test_after_the_first_file_has_changed_all_of_them_change(
    tmp_path: Path, listening: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    with replaced(str(one)) as first:
        first.write_text("1")
        with replaced(str(other)) as second:
            second.write_text("2")
        pressed(signal.SIGINT, sys._getframe())
    assert one.read_text() == "1" and other.read_text() == "2"
