"""Does every verb of every estimator answer bad input or refuse it by name, and change nothing when it refuses?

The inputs are the named cases of ``tests/conformance`` (rows, labels, weights, frames, files, sources, sparse rows) and
its bad settings. Each seed is one case with one estimator that was fitted to good rows: every verb is called with the
case, and after a refusal the model must be what it was, bit by bit.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from campaign import Campaign, run, use_tests

use_tests()

import numpy as np
import test_bad_input  # fills the list of cases
from bad_cases import CASES
from estimators import BY_LETTER, EVERY, small_labels, small_rows
from test_bad_settings import OWN, SHARED, has

from bayeskit.errors import BayeskitError

PAIRS = [(case, letter) for case in CASES for letter in case.only]
SETTINGS = [(letter, {name: value}) for name, value, _ in SHARED for letter in EVERY if has(letter, name)]
ROWS, LABELS = small_rows(), small_labels()
LEARNING: dict[str, Callable[..., Any]] = {
    "fit": lambda m, g: m.fit(g.X, g.y, **g.fit),
    "partial_fit": lambda m, g: m.partial_fit(g.X, g.y, **g.fit),
    "forget": lambda m, g: m.forget(g.X, g.y, **g.fit),
    "leave_one_out": lambda m, g: m.leave_one_out(g.X, g.y),
}
ASKING = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "log_evidence",
    "explain",
)
N = len(PAIRS) + len(SETTINGS) + len(OWN)


def state(model: Any) -> tuple[Any, ...]:
    """Return everything that a model holds and what it answers, so that one bit of difference is seen."""
    arrays = {
        f"{kind}/{name}": array.tobytes()
        for kind, part in model.statistics_.parts.items()
        for name, array in part.arrays().items()
    }
    answers = model.predict_proba(ROWS).tobytes()
    return arrays, model.schema_, model.classes_.tolist(), repr(model.held_), answers


def attempt(model: Any, verb: Callable[[], Any], what: str, *, may_change: bool) -> str:
    """Call a verb; return whether it answered or refused, and see that a refusal changed nothing."""
    before = state(model)
    try:
        verb()
    except BayeskitError as refusal:
        assert len(str(refusal)) > 20, f"{what}: {refusal}"
        assert state(model) == before, f"{what} was refused and changed the model"
        return "refused"
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {str(error)[:200]}") from error
    assert may_change or state(model) == before, f"{what} changed the model"
    return "answered"


def check_case(case: Any, letter: str, folder: Path) -> dict[str, int]:
    fitted = BY_LETTER[letter]().fit(ROWS, LABELS)
    counts = {"refused": 0, "answered": 0}

    def given() -> Any:
        return case.make(folder) if case.needs_folder else case.make()

    for name, verb in LEARNING.items():
        model, changes = deepcopy(fitted), name != "leave_one_out"
        run_verb = partial(verb, model, given())
        counts[attempt(model, run_verb, f"{case.name}: {name} of {letter}", may_change=changes)] += 1
    for name in ASKING:
        what = given()
        run_verb = partial(getattr(fitted, name), what.X if what.test is None else what.test)
        counts[attempt(fitted, run_verb, f"{case.name}: {name} of {letter}", may_change=False)] += 1
    return counts


def check_setting(make: Callable[[], Any], bad: dict[str, Any]) -> dict[str, int]:
    fitted = make().fit(ROWS, LABELS)
    good = {name: fitted.get_params(deep=False)[name] for name in bad}
    before, counts = state(fitted), {"refused": 0, "answered": 0}
    for name in ("fit", "partial_fit", "forget"):
        model = deepcopy(fitted).set_params(**bad)
        try:
            getattr(model, name)(ROWS, LABELS)
        except BayeskitError as refusal:
            assert len(str(refusal)) > 20
            assert state(model.set_params(**good)) == before, f"{name} with {bad} changed the model"
            counts["refused"] += 1
            continue
        # Some settings are needed, and refused, only when the counts become probabilities.
        try:
            model.predict_proba(ROWS)
        except BayeskitError as refusal:
            assert len(str(refusal)) > 20
            counts["refused"] += 1
        else:
            counts["answered"] += 1
    assert counts["refused"], f"{bad} was not refused"
    return counts


def check(seed: int) -> Mapping[str, int]:
    place = seed * 1009 % N  # so that a part of the run has cases of every kind
    with tempfile.TemporaryDirectory() as folder:
        if place < len(PAIRS):
            counts = check_case(*PAIRS[place], Path(folder))
        elif place < len(PAIRS) + len(SETTINGS):
            letter, bad = SETTINGS[place - len(PAIRS)]
            counts = check_setting(BY_LETTER[letter], bad)
        else:
            bad_model = OWN[place - len(PAIRS) - len(SETTINGS)][0]
            defaults = type(bad_model)().get_params(deep=False)
            changed = {k: v for k, v in bad_model.get_params(deep=False).items() if v is not defaults[k]}
            counts = check_setting(type(bad_model), changed)
    return {"inputs × estimators": 1, "calls": sum(counts.values()), **counts}


CAMPAIGN = Campaign(
    name="hostile",
    question=__doc__.splitlines()[0],
    check=check,
    promised={"inputs × estimators": N},
    long=N,
    short=40,
)

if __name__ == "__main__":
    assert np.gcd(1009, N) == 1 and len(CASES) + len(SHARED) + len(OWN) >= 300 and test_bad_input.PAIRS
    sys.exit(run(CAMPAIGN))
