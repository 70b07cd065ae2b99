"""The worked cases: the numbers they are known by, told alike in both languages, and a whole picture at the end."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are in the repository only")


def told(name, lang, folder, monkeypatch, capsys):
    """Run an example; return what it printed, and the texts of its picture."""
    picture = folder / f"{name}.{lang}.svg"
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", str(picture), "--lang", lang])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    texts = [
        element.text or "" for element in ElementTree.parse(picture).iter() if element.tag.endswith("text")
    ]
    return capsys.readouterr().out, texts


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        # The course's numbers for iris by petals: 96.67 % of the flowers learned, and of the others.
        ("iris_regions", [r"4 +15 +96\.67% +96\.67%"]),
        # Zhou's melon (section 7.3) with Laplace's rule: 8 of 17 are good, 7 of these have a clear texture.
        ("melons_end_to_end", [r"\(8\+1\)/\(17\+2\) = 0\.4737", r"\(7\+1\)/\(8\+3\) = 0\.7273"]),
        ("spam_costs", [r"11 +16 +0 +236\.0", r"0 +41 +0 +41\.0"]),
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
