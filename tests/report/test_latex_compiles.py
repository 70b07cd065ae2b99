"""LaTeX takes what is written for it and prints it: ``pytest -m tex tests/report/test_latex_compiles.py``."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayeskit import AODE, KDB, NaiveBayes, datasets
from bayeskit._report.textbook.pages import PAGES
from bayeskit._report.textbook.sheet import answers, as_latex, exercise
from bayeskit.networks import asia

pytestmark = [
    pytest.mark.tex,
    pytest.mark.skipif(shutil.which("xelatex") is None, reason="there is no xelatex on the PATH"),
]
# Signs that are commands, ligatures, letters with accents, Greek, an emoji that is joined of three.
NASTY = (
    "50% of \\x_1 & #{}~^ $<a|b>$",
    '"q" `s\' [b]* --c ?`',
    "Łódź naïve ½ £ “so” ≤ √",
    "σ² ά Ω",
    "👩‍🔬 fin",
    "a\nb\tc",
)
# A table may stick out by so many points before one sees it.
MOST = 2.0


def compiled(text: str, folder: Path, engine: str = "xelatex") -> str:
    """Compile a document and return the log; whatever LaTeX complains of is an error."""
    if shutil.which(engine) is None:
        pytest.skip(f"there is no {engine}")
    (folder / "page.tex").write_text(text, encoding="utf-8")
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    log = (folder / "page.log").read_text(encoding="utf-8", errors="replace")
    if "ctex.sty' not found" in log or "ctexart.cls' not found" in log:
        pytest.skip("this LaTeX has no Chinese")
    assert done.returncode == 0, log[-2000:]
    assert not re.findall(r"Missing character.*", log)
    assert not [w for w in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log) if float(w) > MOST]
    assert "Overfull \\vbox" not in log and "Float too large" not in log
    return log


def pages(log: str) -> int:
    found = re.search(r"\((\d+) pages?", log)
    return int(found[1]) if found else 0


def explained(model: Any, columns: dict[str, Any], y: Any, **how: Any) -> Any:
    return model.fit(columns, y).explain({name: column[0] for name, column in columns.items()}, **how)


def nasty(*more: str) -> Any:
    signs = (*NASTY, *more)
    n = len(signs)
    columns = {name: [signs[(i * 5 + j) % n] for i in range(6 * n)] for j, name in enumerate(signs)}
    return explained(NaiveBayes(), columns, [signs[i % 3] for i in range(6 * n)])


def long() -> Any:
    rng = np.random.default_rng(0)
    columns = {f"attribute_{j}": rng.choice(["low", "medium", "high"], 300) for j in range(61)}
    return explained(NaiveBayes(), columns, rng.integers(0, 10, 300))


def wide() -> Any:
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {f"what people in survey {j} say of it": rng.normal(size=90) for j in range(3)}
    columns["a_name_without_a_space_" * 3] = rng.choice(["neither agree nor disagree at all", "agree"], 90)
    return explained(NaiveBayes(), columns, rng.choice(["one of the classes", "another class"], 90))


@pytest.mark.parametrize("engine", ["xelatex", "pdflatex"])
def test_documents_compile_as_they_are(engine: str, tmp_path: Path) -> None:
    compiled(nasty().to_latex(document=True), tmp_path, engine)
    log = compiled(long().to_latex(document=True), tmp_path, engine)
    assert pages(log) >= 2  # broken, where it ran off the page before


def test_chinese_compiles_in_both_languages(tmp_path: Path) -> None:
    melon = datasets.load_dataset("melon3")
    columns = {name: melon.columns[name] for name in melon.attributes}
    y = melon.columns[melon.target]
    loss = {"买": {"是": 0, "否": 5}, "不买": {"是": 1, "否": 0}}
    compiled(explained(KDB(), columns, y, lang="zh", loss=loss).to_latex(document=True), tmp_path)
    compiled(nasty("瓜，好", "русский").to_latex(document=True), tmp_path)


def fragments(lang: str) -> Iterator[str]:
    melon = datasets.load_dataset("melon3")
    columns = {name: melon.columns[name] for name in melon.attributes}
    for model in (NaiveBayes(), AODE()):
        yield explained(model, columns, melon.columns[melon.target], lang=lang).to_latex()
    yield asia().explain("lung", {"xray": "yes"}, lang=lang).to_latex()
    for page in PAGES.values():
        yield from (as_latex(form(page(lang))) for form in (replace, exercise, answers))
    yield wide().to_latex()
    yield long().to_latex()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_fragments_fit_the_document_of_the_guide(lang: str, tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "docs/guide/explanations.md"
    preamble = re.search(r"```latex\n(.*?)```", guide.read_text(encoding="utf-8"), re.S)
    assert preamble is not None
    body = "\n\\clearpage\n".join(fragments(lang))
    needed = re.findall(r"^% Needs (\\usepackage(?:\[.*?\])?\{\w+\})", body, re.M)
    assert set(needed) <= set(preamble[1].splitlines())
    assert pages(compiled(preamble[1].replace("…", body), tmp_path)) > 20
