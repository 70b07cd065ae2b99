"""The worked cases: the numbers they are known by, told alike in both languages, and a whole picture at the end."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES, GALLERY = ROOT / "examples", ROOT / "docs" / "pictures" / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("[a-z]*.py"))
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are in the repository only")


def texts(picture):
    """Return the texts of a picture."""
    found = ElementTree.parse(picture).iter()
    return [element.text or "" for element in found if element.tag.endswith("text")]


def told(name, lang, folder, monkeypatch, capsys):
    """Run an example; return what it printed, and the texts of its picture."""
    picture = folder / f"{name}.{lang}.svg"
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", str(picture), "--lang", lang])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out, texts(picture)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        # The course's numbers for iris by petals: 96.67 % of the flowers learned, and of the others.
        ("iris_regions", [r"4 +15 +96\.67% +96\.67%"]),
        # Zhou's melon (section 7.3) with Laplace's rule: 8 of 17 are good, 7 of these have a clear texture.
        ("melons_end_to_end", [r"\(8\+1\)/\(17\+2\) = 0\.4737", r"\(7\+1\)/\(8\+3\) = 0\.7273"]),
        # 0.7·0.9 against 0.3·0.01: 210/211; then 2,580 messages.
        ("spam_costs", [r"free +0\.9953.*delete", r"11 +16 +0 +236\.0", r"0 +41 +0 +41\.0"]),
        ("wet_grass", [r"125/134 = 0\.9328 +43/268 = 0\.1604", r"0\.7882 if we see .* 0\.3600 if we wet it"]),
        # Lauritzen and Spiegelhalter's clinic: an abnormal X-ray, then a visit to Asia.
        ("asia_clinic", [r"xray = yes +9\.2% +48\.9% +50\.6%", r"asia = yes +33\.8% +37\.1%"]),
        # With the heating on, 19 + 0.1·8 = 19.8 °C; off, 10 + 0.6·8 = 14.8 °C.
        ("continuous_network", [r"0\.4 × N\(14\.8, 13\.96\) \+ 0\.6 × N\(19\.8, 1\.36\)"]),
    ],
)
def test_both_languages_tell_the_same_numbers(name, lines, tmp_path, monkeypatch, capsys):
    (english, drawn), (chinese, drawn_zh) = (
        told(name, lang, tmp_path, monkeypatch, capsys) for lang in ("en", "zh")
    )
    for line in lines:
        assert re.search(line, english), line
    numbers = [re.findall(r"\d+\.\d+", text.split(str(tmp_path))[0]) for text in (english, chinese)]
    assert numbers[0] == numbers[1]
    assert len(numbers[0]) > 5
    assert re.search(r"[\u4e00-\u9fff]{4}", chinese)
    assert not re.search(r"[\u4e00-\u9fff]{6}", english)  # names of melons at most
    assert len(drawn) > 10 and len(drawn_zh) > 10
    assert any(re.search(r"[\u4e00-\u9fff]{3}", text) for text in drawn_zh)
    # The documentation shows what the example draws today.
    assert [drawn, drawn_zh] == [texts(GALLERY / f"{name}{ending}.svg") for ending in ("", ".zh-CN")]


def test_every_example_is_a_story_that_is_listed_and_shown():
    assert len(NAMES) >= 20
    for name in NAMES:
        script = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
        assert f'say = Story("{name}")' in script or f'say = Story("{name}", ' in script, name
        assert script.count("\nsay.end(") == 1, name
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\w+)\]\((\w+)\.py\) \| [^|]{20,} \| ([^|]+) \|$", listed, re.MULTILINE)
    assert sorted(row[0] for row in rows) == sorted(row[1] for row in rows) == NAMES
    assert all(re.search(r"[\u4e00-\u9fff]{3}", row[2]) for row in rows)
    for page, ending in (("examples.md", ""), ("zh-CN/examples.md", ".zh-CN")):
        shown = re.findall(r"examples/(\w+)(\S*)\.svg\)", (ROOT / "docs" / page).read_text(encoding="utf-8"))
        assert sorted(shown) == [(name, ending) for name in NAMES]
        assert all((GALLERY / f"{name}{ending}.svg").is_file() for name in NAMES)
