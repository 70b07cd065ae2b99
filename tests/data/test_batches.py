"""The progress of a pass over rows: shown after a second, with rows per second, and the time left if it is known."""

from __future__ import annotations

from io import StringIO
from itertools import count
from pathlib import Path

import pytest
from rich.console import Console

from bayeskit import Batches, NaiveBayes
from bayeskit._data import source
from bayeskit._data.batches import with_progress


def passed(pieces: list[int], seconds: float, total: int | None) -> tuple[list[int], str]:
    """Return what came through, and what a terminal has shown; a piece takes so many seconds."""
    steps, stream = count(), StringIO()
    screen = Console(file=stream, force_terminal=True, width=100, legacy_windows=False)
    found = with_progress(
        pieces, lambda piece: piece, total, clock=lambda: seconds * next(steps), console=screen
    )
    return list(found), stream.getvalue()


@pytest.mark.parametrize("seconds", [0.001, 0.6, 5.0])
@pytest.mark.parametrize("total", [None, 60])
@pytest.mark.parametrize("pieces", [[], [10], [10, 20, 30]])
def test_all_pieces_come_through(pieces: list[int], seconds: float, total: int | None) -> None:
    assert passed(pieces, seconds, total)[0] == pieces


def test_a_short_pass_shows_nothing() -> None:
    assert passed([10, 20, 30], 0.001, 60)[1] == ""


def test_a_long_pass_shows_rows_and_their_total() -> None:
    shown = passed([100_000, 200_000, 300_000], 5.0, 600_000)[1]
    assert "600,000 / 600,000 rows" in shown and "/s" in shown


def test_without_a_total_there_is_no_estimate() -> None:
    shown = passed([100_000, 200_000, 300_000], 5.0, None)[1]
    assert "600,000 rows" in shown and " / " not in shown


def followed(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Note the total of every pass that is shown."""
    totals: list[int | None] = []

    def note(pieces, rows_of, total=None):  # type: ignore[no-untyped-def]
        totals.append(total)
        return with_progress(pieces, rows_of, total)

    monkeypatch.setattr(source, "with_progress", note)
    return totals


@pytest.mark.parametrize("parts", [1, 3])
def test_fit_knows_how_many_rows_files_have(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, parts: int
) -> None:
    for part in range(parts):
        lines = [f"{'uv'[i % 2]},{i % 3},{'ab'[i // 2 % 2]}" for i in range(40)]
        (tmp_path / f"{part}.csv").write_text("\n".join(["x,z,y", *lines]))
    totals = followed(monkeypatch)
    plain = NaiveBayes().fit(str(tmp_path / "*.csv"), target="y")
    assert totals == []
    shown = NaiveBayes().fit(str(tmp_path / "*.csv"), target="y", progress=True)
    assert totals and set(totals) == {40 * parts}
    assert shown.statistics_.class_counts.tolist() == plain.statistics_.class_counts.tolist()


def test_batches_may_say_how_many_rows_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [([["u"], ["v"]], ["a", "b"]), ([["v"]], ["a"])]
    totals = followed(monkeypatch)
    NaiveBayes().fit(Batches(lambda: iter(batches), 3), progress=True)
    NaiveBayes().fit(Batches(lambda: iter(batches)), progress=True)
    assert totals == [3, None]
