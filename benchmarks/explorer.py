"""How long after a click are all bars drawn?

``bayeskit explore`` in a process of its own, and Chromium, headless. A click is sent to a row, and its time ends when
the frame with the new numbers has been drawn. Beside it stands the CPU time that the page's own thread takes for a
click, with all frames of the moving bars: a busy machine does not change it. alarm and hailfinder come with the tests;
andes and pigs are read from the folder that BAYESKIT_DATA names, if it is set. Needs Playwright and Chromium.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from harness import Report, options

QUESTION = "The explorer: from a click to the bars"
ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT / "tests/golden/networks/bif"]
if os.environ.get("BAYESKIT_DATA"):
    FOLDERS.append(Path(os.environ["BAYESKIT_DATA"]) / "networks" / "bif")
# Network → milliseconds at the median.
TARGETS = {"alarm": 50, "hailfinder": 60, "andes": 150, "pigs": 300}
N_CLICKS = 40
# Click rows one after the other, and clear the findings after each; milliseconds until the frame is drawn.
CLICK = """async ({ n, pause }) => {
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


def measure(report: Report, browser: Any, name: str, path: Path, n: int) -> None:
    with explorer(path) as address:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        start = time.perf_counter()
        page.goto(address)
        page.wait_for_selector(".row", state="attached")
        report.claim(f"{name}: first load", 1e3 * (time.perf_counter() - start), " ms")
        page.evaluate(CLICK, {"n": 3, "pause": 200})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def used() -> float:
            found = session.send("Performance.getMetrics")["metrics"]
            return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))

        before = used()
        times = page.evaluate(CLICK, {"n": n, "pause": 200})
        cpu = 1e3 * (used() - before) / (2 * n)
        report.claim(f"{name}: click → drawn, median", float(np.median(times)), " ms", at_most=TARGETS[name])
        p99 = float(np.quantile(times, 0.99))
        report.claim(f"{name}: click → drawn, p99", p99, " ms", at_most=3 * TARGETS[name])
        report.claim(f"{name}: CPU of the page for a click, all frames", cpu, " ms")
        page.close()


def main() -> None:
    given = options(QUESTION)
    from playwright.sync_api import sync_playwright

    report = Report(QUESTION, given, "playwright", "uvicorn")
    page = ROOT / "src/bayeskit/_web/page"
    first = sum(
        len(gzip.compress((page / name).read_bytes()))
        for name in ("explorer.html", "explorer.css", "explorer.js")
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
            measure(report, browser, name, found, n)
        browser.close()
    report.finish()


if __name__ == "__main__":
    main()
