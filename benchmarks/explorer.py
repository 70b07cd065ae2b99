"""How long after a click are all bars drawn?

``bayeskit explore`` in a process of its own, and Chromium, headless. A click is sent to a row, and its time ends when
the frame with the new numbers has been drawn. Beside it stands the CPU time that the page's own thread takes for a
click, with all frames of the moving bars, and the CPU time of the server until it prints its address, with the bytecode
of our modules written, as an installation does: a busy machine hardly changes these. The layout is timed from the
request to the worker to its answer. Of a network of 1,000 nodes the cards in the window are drawn first; it is timed
until all are. Then 50 requests a second are sent to the server for a minute. alarm and hailfinder come with the tests;
andes and pigs are read from the folder that BAYESKIT_DATA names, if it is set. Needs Playwright and Chromium.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from harness import Report, as_a_user, options

QUESTION = "The explorer: from a click to the bars"
ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT / "tests/golden/networks/bif"]
if os.environ.get("BAYESKIT_DATA"):
    FOLDERS.append(Path(os.environ["BAYESKIT_DATA"]) / "networks" / "bif")
# Network → milliseconds at the median.
TARGETS = {"alarm": 50, "hailfinder": 60, "andes": 150, "pigs": 300}
N_CLICKS = 40
# Nodes of a network that is drawn in parts, each with up to two parents among the few before it.
LARGE, NEAR = 1_000, 8
# Click rows one after the other, and clear the findings after each; milliseconds until the frame is drawn.
CLICK = """async ({ n, pause, all }) => {
  const canvas = document.getElementById("canvas");
  const rows = [...document.querySelectorAll(".row")];
  const chips = document.getElementById("chips");
  const drawn = () => new Promise((resolve) => {
    const seen = new MutationObserver(() => {
      seen.disconnect();
      requestAnimationFrame(() => setTimeout(resolve));
    });
    seen.observe(chips, { childList: true });
  });
  const times = [];
  for (let k = 0; k < n; k++) {
    let done = drawn();
    const start = performance.now();
    rows[(k * 37) % rows.length].dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await done;
    if (all) while (canvas.getAttribute("aria-busy") === "true") await new Promise(requestAnimationFrame);
    times.push(performance.now() - start);
    await new Promise((resolve) => setTimeout(resolve, pause));
    done = drawn();
    document.getElementById("clear").click();
    await done;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return times;
}"""


@contextmanager
def explorer(path: Path) -> Iterator[str]:
    """Start the command; give the address that it prints."""
    words = [sys.executable, "-m", "bayeskit", "explore", str(path), "--no-browser"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(60)


def used(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def large(folder: Path) -> Path:
    """Write a network of many nodes, which is narrow enough for exact answers."""
    from bayeskit import BayesianNetwork

    rng = np.random.default_rng(1)
    names = [f"n{k}" for k in range(LARGE)]
    parents = {
        name: [names[p] for p in sorted({max(0, k - int(by)) for by in rng.integers(1, NEAR, 2)} - {k})]
        for k, name in enumerate(names)
    }
    network = BayesianNetwork(parents, {name: ["no", "yes", "unknown"] for name in names}, name="large")
    for name in names:
        network.set_cpt(
            name, rng.dirichlet(np.ones(3), 3 ** len(parents[name])).reshape([3] * len(parents[name]) + [3])
        )
    network.write(folder / "large.bif")
    return folder / "large.bif"


def measure(report: Report, browser: Any, name: str, path: Path, n: int, at_most: float) -> None:
    with explorer(path) as address:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        start = time.perf_counter()
        page.goto(address)
        page.wait_for_selector(".row", state="attached")
        report.claim(f"{name}: first load", 1e3 * (time.perf_counter() - start), " ms")
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null")
        if paint is not None:
            report.claim(
                f"{name}: navigation → first paint", paint, " ms", at_most=500 if name == "alarm" else None
            )
        layout = page.evaluate("performance.getEntriesByName('layout')[0].duration")
        report.claim(
            f"{name}: layout in its worker", layout, " ms", at_most=1_000 if name == "andes" else None
        )
        all_cards = name == "large"
        page.evaluate(CLICK, {"n": 3, "pause": 200, "all": all_cards})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def busy() -> float:
            found = session.send("Performance.getMetrics")["metrics"]
            return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))

        before = busy()
        times = page.evaluate(CLICK, {"n": n, "pause": 200, "all": all_cards})
        cpu = 1e3 * (busy() - before) / (2 * n)
        what = "all cards drawn" if all_cards else "drawn"
        report.claim(f"{name}: click → {what}, median", float(np.median(times)), " ms", at_most=at_most)
        p99 = float(np.quantile(times, 0.99))
        report.claim(f"{name}: click → {what}, p99", p99, " ms", at_most=3 * at_most)
        report.claim(f"{name}: CPU of the page for a click, all frames", cpu, " ms")
        page.close()


def start(report: Report, path: Path) -> None:
    """Start the command four times: the first writes the bytecode of our modules, as an installation does."""
    words = [sys.executable, "-m", "bayeskit", "explore", str(path), "--no-browser"]
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=as_a_user())
        assert process.stdout is not None
        process.stdout.readline()
        times.append((time.perf_counter() - begin, used(process.pid)))
        process.terminate()
        process.wait(60)
    wall, cpu = zip(*times[1:], strict=True)
    report.claim("alarm: server ready, warm", min(wall), " s", at_most=1)
    report.claim("alarm: server ready, warm, CPU", min(cpu), " s", at_most=1)


def resident(pid: int) -> float:
    """Return the megabytes of memory that a process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1e3


def load(report: Report, path: Path, seconds: float) -> None:
    """Send 50 requests a second, each when its time has come; the time of each, and the memory of the server."""
    words = [sys.executable, "-m", "bayeskit", "explore", str(path), "--no-browser"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        token = parse_qs(address.query)["token"][0]
        connection = http.client.HTTPConnection(address.netloc)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        times, memory = [], 0.0
        begin = time.perf_counter()
        for k in range(int(50 * seconds)):
            time.sleep(max(0.0, begin + k / 50 - time.perf_counter()))
            body = json.dumps({"findings": [{"node": k % 37, "state": 0}]})
            sent = time.perf_counter()
            connection.request("POST", "/posteriors", body, headers)
            answer = connection.getresponse()
            answer.read()
            times.append(1e3 * (time.perf_counter() - sent))
            assert answer.status in (200, 422)
            if k == int(10 * seconds):
                memory = resident(process.pid)
        report.claim("alarm: 50 requests a second, p99", float(np.quantile(times, 0.99)), " ms", at_most=100)
        grown = resident(process.pid) - memory
        report.claim("alarm: 50 requests a second, growth of memory", grown, " MB", at_most=5)
    finally:
        process.terminate()
        process.wait(60)


def main() -> None:
    given = options(QUESTION)
    from playwright.sync_api import sync_playwright

    report = Report(QUESTION, given, "playwright", "uvicorn")
    page = ROOT / "src/bayeskit/_web/page"
    first = sum(
        len(gzip.compress((page / name).read_bytes()))
        for name in ("explorer.html", "explorer.css", "explorer.js", "layout.js")
    )
    report.claim("first load beside the network, compressed", first / 1e3, " kB", at_most=60)
    n = max(5, int(N_CLICKS * given.scale))
    with sync_playwright() as play:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for name in TARGETS:
            files = [folder / f"{name}.bif.gz" for folder in FOLDERS]
            found = next((file for file in files if file.exists()), None)
            if found is None:
                print(f"{name} is not here: set BAYESKIT_DATA to the folder that holds networks/bif")
                continue
            measure(report, browser, name, found, n, TARGETS[name])
        with tempfile.TemporaryDirectory() as folder:
            measure(report, browser, "large", large(Path(folder)), max(5, n // 4), 1_500)
        browser.close()
    start(report, FOLDERS[0] / "alarm.bif.gz")
    load(report, FOLDERS[0] / "alarm.bif.gz", max(5.0, 60 * given.scale))
    report.finish()


if __name__ == "__main__":
    main()
