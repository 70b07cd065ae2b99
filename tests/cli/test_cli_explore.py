"""``bayeskit explore``: what it opens, what it prints, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bayeskit import AODE, TAN
from bayeskit.networks import wet_grass
from cli_run import refused, run

for package in ("uvicorn", "httptools"):
    pytest.importorskip(package, reason='explore needs uvicorn and httptools: pip install "bayeskit[web]"')

TABLE = {"x": ["a", "b", "a", "b"] * 5, "z": ["u", "u", "v", "v"] * 5, "y": ["n", "y", "y", "y", "n"] * 4}


def explored(*words: str) -> dict[str, Any]:
    """Start the command, ask for its network as a browser does, and press Ctrl-C."""
    line = [sys.executable, "-m", "bayeskit", "explore", *words, "--no-browser"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()  # type: ignore[union-attr]
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{20,}", address), process.stderr.read()  # type: ignore[union-attr]
            with urllib.request.urlopen(address, timeout=60) as answer:
                cookie = answer.headers["set-cookie"].partition(";")[0]
            place = address.partition("?")[0] + "network"
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(place, timeout=60)
            with urllib.request.urlopen(urllib.request.Request(place, headers={"Cookie": cookie})) as answer:
                found: dict[str, Any] = json.load(answer)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0 and "Traceback" not in err and "Stopped" in out, err
    assert "leaked" not in err  # a library that finds its objects at the end says so in thirty lines
    return found


def test_ctrl_c_does_not_wait_for_a_long_answer(tmp_path: Path) -> None:
    program = """
import sys, threading
import bayeskit._networks.exploring as exploring
from bayeskit._cli.start import main
def why(self, node, findings, lang):
    print("asked", flush=True)
    threading.Event().wait(1_000)
exploring.ExploredNetwork.why = why
sys.argv = ["bayeskit", "explore", "asia", "--no-browser"]
main()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = process.stdout
            assert lines is not None
            address = lines.readline().strip()
            token = address.partition("token=")[2]
            lines.readline()
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            question = urllib.request.Request(
                address.partition("?")[0] + "why", b'{"node": 0, "findings": []}', headers
            )

            def ask() -> None:
                with suppress(OSError):
                    urllib.request.urlopen(question, timeout=60)

            asking = threading.Thread(target=ask)
            asking.start()
            assert lines.readline() == "asked\n"
            process.send_signal(signal.SIGINT)
            assert lines.read() == "Stopped.\n" and process.wait(60) == 0
            asking.join()
        finally:
            process.kill()


def write_table(path: Path) -> str:
    lines = [",".join(row) for row in zip(*TABLE.values(), strict=True)]
    path.write_text("\n".join([",".join(TABLE), *lines]) + "\n", encoding="utf-8")
    return str(path)


def names(found: dict[str, Any]) -> list[str]:
    return [node["name"] for node in found["nodes"]]


def test_an_example_a_file_a_model_and_a_table(tmp_path: Path) -> None:
    example = explored("asia")
    assert names(example)[:2] == ["asia", "tub"]
    assert example["command"] == "asia"  # the commands of networks know the examples, too
    file = tmp_path / "grass.bif"
    wet_grass().write(file)
    assert sorted(names(explored(str(file)))) == ["joe", "rain", "sprinkler", "wet"]
    model = tmp_path / "m.bayes"
    TAN().fit({"x": TABLE["x"], "z": TABLE["z"]}, TABLE["y"]).save(model)
    saved = explored(str(model))
    assert names(saved) == ["y", "x", "z"] and saved["classifier"] == {"target": 0, "nomogram": False}
    learned = explored(write_table(tmp_path / "t.csv"), "--target", "y", "--model", "nb")
    assert names(learned) == ["y", "x", "z"] and learned["classifier"] == {"target": 0, "nomogram": True}


def test_a_network_opens_without_libraries_for_learning(tmp_path: Path) -> None:
    file = tmp_path / "grass.bif"
    wet_grass().write(file)
    program = f"""
import sys
import bayeskit._web.explorer as explorer
from bayeskit._cli.main import app
opened = []
explorer.open_explorer = lambda explored, **settings: opened.append(settings["command"])
app(["explore", {str(file)!r}], standalone_mode=False)
assert opened == [{str(file)!r}]
print(*(name for name in ("sklearn", "numba", "pandas", "scipy.stats") if name in sys.modules), "end")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1:] == ["end"], done.stdout + done.stderr


def test_what_is_not_one_network_is_refused(tmp_path: Path) -> None:
    table, model, file = (str(tmp_path / name) for name in ("t.csv", "m.bayes", "grass.bif"))
    write_table(Path(table))
    AODE().fit({"x": TABLE["x"], "z": TABLE["z"]}, TABLE["y"]).save(model)
    wet_grass().write(file)
    refused("explore", "asai", names=["asai", "asia"])
    refused("explore", table, names=[table, "--target"])
    refused("explore", model, names=["AODE"])
    refused("explore", file, "--target", "rain", names=[file, "--target"])
    refused("explore", "asia", "--target", "lung", names=["asia", "--target"])
    refused("explore", table, "--target", "y", "--model", "aode", names=["aode", "tan"])
    refused("explore", str(tmp_path), names=[str(tmp_path)])


def test_commands_of_networks_take_the_examples_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("network", "query", "asia", "dysp", "--json")
    assert result.exit_code == 0 and "0.43597" in result.output
    (tmp_path / "asia").write_text("not a network")
    assert run("network", "query", "asia", "dysp").exit_code == 2  # a file of that name comes first
