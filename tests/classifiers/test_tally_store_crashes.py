"""A store after a crash: no count is lost or doubled, and the next change works."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayeskit import TAN, NaiveBayes, TallyStore
from bayeskit._classifiers import tally_store
from simulated_disk import PowerCut, SimulatedDisk

PLACE = Path("/melons")
RNG = np.random.default_rng(18)


def batch(n: int) -> tuple[Any, Any]:
    """Rows with a class and a state that no other batch has, so that a part of one would be seen."""
    X = [[f"state {RNG.integers(3)}", float(RNG.integers(9))] for _ in range(4)] + [[f"of {n}", 1.0]]
    return X, [*RNG.choice(["no", "yes"], 4).tolist(), f"class {n}"]


BATCHES = {n: batch(n) for n in range(1, 8)}
MODEL = NaiveBayes()


@dataclass(frozen=True)
class Step:
    """One call; ``adds`` are the batches that it adds, ``takes`` those that it removes."""

    batch_id: Any
    run: Callable[[Any], Any]
    adds: tuple[int, ...] = ()
    takes: tuple[int, ...] = ()


def append(n: int) -> Step:
    return Step(n, lambda store: store.append(n, *BATCHES[n]), adds=(n,))


def forget(n: int) -> Step:
    return Step(f"forget {n}", lambda store: store.forget(f"forget {n}", *BATCHES[n]), takes=(n,))


def merge(*several: int) -> Step:
    rows = [row for n in several for row in BATCHES[n][0]]
    labels = [label for n in several for label in BATCHES[n][1]]
    return Step("merged", lambda s: s.merge(MODEL.__class__().fit(rows, labels), "merged"), adds=several)


COMPACT = Step(None, lambda store: store.compact())
STEPS = [append(1), append(2), forget(1), COMPACT, merge(4, 5), COMPACT, append(6)]


def of(steps: list[Step]) -> dict[str, Any]:
    """What a store holds after these steps, by a fit of its rows."""
    ids = [step.batch_id for step in steps if step.batch_id is not None]
    kept = [n for step in steps for n in step.adds]
    for step in steps:
        kept = [n for n in kept if n not in step.takes]
    if not ids:
        return {"ids": [], "rows": None}
    rows = [row for n in kept for row in BATCHES[n][0]]
    labels = [label for n in kept for label in BATCHES[n][1]]
    return {"ids": ids, "rows": (rows, labels)}


def holds(store: Any, wanted: dict[str, Any]) -> None:
    """The store holds these changes, and answers as a model that was fitted to their rows."""
    assert list(store.batch_ids) == wanted["ids"]
    if wanted["rows"] is not None:
        is_of(store.model(), *wanted["rows"])


def is_of(model: Any, rows: list[Any], labels: list[Any]) -> None:
    if not rows:
        assert model.statistics_.total == 0
        return
    fitted = NaiveBayes().fit(rows, labels)
    assert model.schema_ == fitted.schema_
    for table in ("counts", "margin"):
        np.testing.assert_array_equal(
            getattr(model.statistics_.tables, table), getattr(fitted.statistics_.tables, table)
        )
    questions = [row for X, _ in BATCHES.values() for row in X]
    np.testing.assert_allclose(
        model.predict_joint_log_proba(questions), fitted.predict_joint_log_proba(questions), rtol=1e-12
    )


@pytest.fixture
def disk_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[SimulatedDisk], None]:
    return lambda disk: monkeypatch.setattr(tally_store, "DiskFiles", lambda: disk)


def run_until(steps: list[Step]) -> int:
    """Return how many steps were acknowledged until the power failed."""
    done = 0
    try:
        store: Any = TallyStore(PLACE, NaiveBayes())
        for step in steps:
            step.run(store)
            done += 1
    except PowerCut:
        pass
    return done


def stopped(disk_of: Any, steps: list[Step]) -> Iterator[tuple[int, SimulatedDisk]]:
    """Stop a run before each of its requests; yield how many steps were acknowledged, and the disk as it is seen."""
    for at in range(1 << 20):
        disk = SimulatedDisk()

        def fail(number: int, name: str, at: int = at) -> None:
            if number == at:
                raise PowerCut

        disk.fail = fail
        disk_of(disk)
        done = run_until(steps)
        if done == len(steps):
            return
        disk.fail = lambda number, name: None
        yield done, disk


def cuts(disk_of: Any, steps: list[Step]) -> Iterator[tuple[int, SimulatedDisk]]:
    """Cut the power before each request of a run: yield every disk that may be left."""
    return ((done, left) for done, disk in stopped(disk_of, steps) for left in disk.after_power_cut())


def test_power_cut_at_every_request(disk_of):
    seen = 0
    for done, left in cuts(disk_of, STEPS):
        disk_of(left)
        store = TallyStore(PLACE, NaiveBayes())
        found = list(store.batch_ids)
        possible = [of(STEPS[:done]), of(STEPS[: done + 1])]
        wanted = [each for each in possible if each["ids"] == found]
        assert wanted, (found, possible)
        holds(store, wanted[0])
        # Whoever did not see the answer asks again; then everything goes on.
        for step in STEPS[done : done + 2]:
            step.run(store)
        holds(store, of(STEPS[: done + 2]))
        store.close()
        holds(TallyStore(PLACE), of(STEPS[: done + 2]))
        assert not [path for path in left.seen if path.name.endswith(".new")]
        seen += 1
    assert seen > 200


def test_what_is_called_known_lasts(disk_of):
    """A batch that was renamed but not synced when its process died is synced before its id is called known."""
    for done, disk in stopped(disk_of, STEPS[:2]):
        disk.handles.clear()  # the process is gone, the machine is not
        disk_of(disk)
        with TallyStore(PLACE, NaiveBayes()) as store:
            STEPS[done].run(store)
        for left in disk.after_power_cut():
            disk_of(left)
            holds(TallyStore(PLACE), of(STEPS[: done + 1]))


def succeeds(action: Callable[[], Any], code: int) -> bool:
    """Whether an action did not fail by this error of the system."""
    try:
        action()
    except OSError as error:
        if error.errno != code:
            raise
        return False
    return True


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
def test_the_disk_fails_at_every_request(disk_of, code, lasting):
    at, failed = 0, True
    while failed:
        disk = SimulatedDisk()
        disk_of(disk)
        broken: list[int] = []

        def fail(number: int, name: str, at: int = at, broken: list[int] = broken) -> None:
            if number == at or (lasting and number > at and len(broken) < 4):
                broken.append(number)
                raise OSError(code, os.strerror(code))

        disk.fail = fail
        opened: list[Any] = []
        while not succeeds(lambda opened=opened: opened.append(TallyStore(PLACE, NaiveBayes())), code):
            pass
        (store,) = opened
        for done, step in enumerate(STEPS):
            while not succeeds(lambda step=step, store=store: step.run(store), code):
                if not lasting:  # another process sees the change whole or not at all
                    found = list(TallyStore(PLACE).batch_ids)
                    assert found in [of(STEPS[:k])["ids"] for k in (done, done + 1)]
        holds(store, of(STEPS))
        succeeds(store.close, code)
        disk.fail = lambda number, name: None
        holds(TallyStore(PLACE), of(STEPS))
        failed, at = bool(broken), at + 1
    assert at > 60


def test_a_file_that_cannot_be_written_is_named(disk_of):
    disk = SimulatedDisk()
    disk_of(disk)
    store: Any = TallyStore(PLACE, NaiveBayes())

    def fail(number: int, name: str) -> None:
        if name == "write":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    disk.fail = fail
    with pytest.raises(OSError, match="segment-0000000001") as caught:
        store.append(1, *BATCHES[1])
    assert caught.value.errno == errno.ENOSPC
    assert not [path for path in disk.seen if path.name.endswith(".new")]


def test_a_reader_meets_whole_changes_at_every_request(disk_of):
    """Between any two requests of the writer, and of the reader, the other may work."""
    disk = SimulatedDisk()
    disk_of(disk)
    writer: Any = TallyStore(PLACE, NaiveBayes())
    reader: Any = TallyStore(PLACE)
    state = {"done": 0, "reading": False}

    def look(number: int, name: str) -> None:
        if state["reading"]:
            return
        state["reading"] = True
        for store in (reader, TallyStore(PLACE)):
            found = list(store.batch_ids)
            wanted = [of(STEPS[: state["done"] + k]) for k in (0, 1)]
            assert found in [each["ids"] for each in wanted]
            holds(store, next(each for each in wanted if each["ids"] == found))
        state["reading"] = False

    disk.fail = look
    for step in STEPS:
        step.run(writer)
        state["done"] += 1


def test_a_store_that_is_compacted_while_it_is_read(disk_of):
    """At each request of a reader the writer adds a batch and removes the files that the reader was about to read."""
    at = 0
    while True:
        disk = SimulatedDisk()
        disk_of(disk)
        writer: Any = TallyStore(PLACE, NaiveBayes())
        for step in STEPS[:3]:
            step.run(writer)
        fired: list[int] = []

        def work(
            number: int, name: str, due: int = len(disk.calls) + at, fired: Any = fired, writer: Any = writer
        ) -> None:
            if number == due and not fired:
                fired.append(number)
                writer.append(7, *BATCHES[7])
                writer.compact()

        disk.fail = work
        model: Any = TallyStore(PLACE).model()
        several = [*STEPS[:3], append(7)] if "class 7" in model.classes_ else STEPS[:3]
        is_of(model, *of(several)["rows"])
        if not fired:
            return
        at += 1


def test_a_model_that_holds_choices(disk_of):
    """What the first batch chose is on disk with it, or neither is."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(3)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    disk = SimulatedDisk()
    disk_of(disk)
    with TallyStore(PLACE, TAN()) as store:
        store.append("a", X, y)
        held = store.model().held_
        store.append("b", X + 0.5, y)
    again: Any = TallyStore(PLACE)
    assert again.model().held_ == held
    one = TAN().partial_fit(X, y).partial_fit(X + 0.5, y)
    np.testing.assert_allclose(again.model().predict_proba(X), one.predict_proba(X), rtol=1e-12)


def kill_writers(kills: int, folder: Path) -> None:
    script = Path(__file__).with_name("store_killer.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder / "store"), str(kills)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@needs_fork
def test_writers_are_killed(tmp_path):
    kill_writers(50, tmp_path)


@needs_fork
@pytest.mark.crash
@pytest.mark.timeout(1800)
def test_many_writers_are_killed(tmp_path):
    kill_writers(500, tmp_path)
