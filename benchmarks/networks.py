"""Is exact inference faster than pyAgrum's best engine on the same work in the same run?

All marginals with the engine kept, with evidence that repeats and with evidence that never does; one target; first
questions; rows with half their cells missing and complete rows; reading large files. pyAgrum runs in an interpreter
of its own (``peers.py`` says where), with one thread and where it helps with all, and its best counts by CPU time.
Both sides answer a question beforehand that is not timed. Sets that are fresh are asked once: what counts is the
sum over all of them, so that nothing is gained by remembering. ``network_work.py`` says where networks are found.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit import read_network
from harness import SHORTEST_TURN, Report, Timing, time_calls
from network_work import FOLDER, Answer, Asked, Work, pyagrum, work
from peers import NotThere, keep

QUESTION = "Bayesian networks: is exact inference faster than pyAgrum's best engine?"

SMALL = ("asia", "alarm", "hailfinder", "win95pts")
LARGE = ("andes", "water", "mildew", "barley", "link")
LAZY, LAZY_1, SHAFER_1 = (
    "LazyPropagation",
    "LazyPropagation 1 thread",
    "ShaferShenoyInference 1 thread",
)
ELIMINATION_1 = "VariableElimination 1 thread"
# Tables pass through pyAgrum's reader, which keeps single precision.
AGREEMENT = 1e-6
TARGET = "HYPOVOLEMIA"


def seed_of(name: str, turn: int) -> int:
    """A seed of its own for each network and round, the same on every machine."""
    return 1000 * sum(map(ord, name)) + turn


def observed_in(case: Work) -> int:
    if case.name == "link":
        return len(case.nodes) // 4
    return 2 if case.name == "asia" else 5


def all_marginals(case: Work, asked: Asked) -> list[Any]:
    found = case.network.posteriors(asked[0])
    return [found[name] for name in case.nodes if name not in asked[0]]


def one_marginal(case: Work, asked: Asked) -> list[Any]:
    return [case.network.query(asked[1], evidence=asked[0]).values]


def compare(
    report: Report,
    stage: str,
    timing: Timing,
    mine: Any,
    peers: Iterable[Callable[[], Answer]],
    measure: str,
    at_least: float | None,
    per: int = 1,
) -> None:
    """Print our time and the peers', the ratio to the best of them, and how far the answers lie apart."""
    print(f"\n{stage:<48}{'CPU':>10}{'wall':>10}")
    keep(report, stage, "bayeskit", _each(timing, per))
    best: tuple[float, str] | None = None
    gaps = []
    for run in peers:
        try:
            answer = run()
        except NotThere as reason:
            report.note(f"left out: {reason}")
            continue
        taken: Timing = getattr(answer, measure)
        keep(report, stage, f"pyAgrum {answer.version} {answer.engine}", _each(taken, per))
        best = min(best or (np.inf, ""), (taken.cpu, answer.engine))
        gaps.append(float(np.abs(answer.numbers - mine).max(initial=0.0)))
    if best is not None:
        report.claim(f"{stage}: against {best[1]}", best[0] / timing.cpu, "×", at_least=at_least)
        report.claim(f"{stage}: answers apart by", max(gaps), at_most=AGREEMENT)


def _each(timing: Timing, per: int) -> Timing:
    return Timing(timing.cpu / per, timing.wall / per, timing.calls, timing.turns)


def ask_peers(
    case: Work, engines: Iterable[str], rounds: list[list[Asked]], warm: Asked, **given: Any
) -> Any:
    states = {name: list(case.network.states(name)) for name in case.nodes}
    shared = {"path": str(case.path), "names": case.nodes, "states": states, "rounds": rounds, "warm": warm}
    shared = {"turns": 1, "asks_one": False, **shared, **given}
    for engine in engines:
        yield partial(pyagrum, "ask", engine, threads=1 if engine.endswith("1 thread") else 0, **shared)


def engines_for(name: str) -> tuple[str, ...]:
    # On large networks its threads wait for each other: pigs takes seven times the CPU time of one thread.
    threaded = (LAZY,) if name in SMALL else ()
    return (*threaded, LAZY_1, SHAFER_1)


def time_repeated(report: Report, scale: float) -> None:
    """All marginals, the same 20 sets over and over."""
    for name in (*SMALL, "pigs"):
        case = work(name)
        n_sets = max(2, round(20 * scale))
        sets = case.sets(n_sets, observed_in(case), seed_of(name, 0))
        run = lambda: [all_marginals(case, asked) for asked in sets]  # noqa: B023, E731
        mine = np.concatenate([part for parts in run() for part in parts])
        calls = max(1, round(SHORTEST_TURN / max(time_calls(run, 1).wall, 1e-9)))
        timing = time_calls(run, calls)
        for _ in range(report.given.repeats - 1):
            timing = timing.best(time_calls(run, calls))
        peers = ask_peers(case, engines_for(name), [sets], sets[0], turns=report.given.repeats)
        compare(
            report, f"{label(case)}: all marginals, sets repeated", timing, mine, peers, "best", 10, n_sets
        )


def time_fresh(
    report: Report,
    names: Iterable[str],
    n_sets: int,
    what: str,
    ask: Callable[[Work, Asked], list[Any]],
    engines: Callable[[str], tuple[str, ...]],
    targets: Callable[[str], float],
) -> None:
    """Every set asked once; the sum over the sets of all rounds counts."""
    for name in names:
        case = work(name)
        warm, *sets = case.sets(1 + n_sets * report.given.repeats, observed_in(case), seed_of(name, 1))
        rounds = [sets[i : i + n_sets] for i in range(0, len(sets), n_sets)]
        ask(case, warm)
        timing = Timing(0.0, 0.0, turns=len(rounds))
        found: list[Any] = []
        for sets in rounds:
            taken = time_calls(lambda: found.extend(ask(case, asked) for asked in sets), 1)  # noqa: B023
            timing = Timing(timing.cpu + taken.cpu, timing.wall + taken.wall, turns=len(rounds))
        mine = np.concatenate([part for parts in found[:n_sets] for part in parts])
        peers = ask_peers(case, engines(name), rounds, warm, asks_one=ask is one_marginal)
        stage = f"{label(case)}: {what}, {n_sets} fresh sets a round"
        compare(report, stage, timing, mine, peers, "total", targets(name), n_sets * len(rounds))


def label(case: Work) -> str:
    return f"{case.name} (a random network in its place)" if case.is_stand_in else case.name


def time_small_fresh(report: Report, scale: float) -> None:
    few = max(2, round(20 * scale))
    target = lambda name: 2.0 if name == "pigs" else 5.0  # noqa: E731
    time_fresh(report, SMALL, 5 * few, "all marginals", all_marginals, engines_for, target)
    time_fresh(report, ("pigs",), few, "all marginals", all_marginals, engines_for, target)


def time_large_fresh(report: Report, scale: float) -> None:
    few = max(2, round(20 * scale))
    time_fresh(report, LARGE, few, "all marginals", all_marginals, engines_for, lambda _: 2.0)


def time_one_target(report: Report, scale: float) -> None:
    few, names = max(2, round(20 * scale)), ("pigs", *LARGE[:-1])
    engines = (ELIMINATION_1, LAZY_1, SHAFER_1)
    time_fresh(report, names, few, "one target", one_marginal, lambda _: engines, lambda _: 1.0)


def time_first(report: Report, scale: float) -> None:
    """The first question to a network that has just been read, with kernels that are compiled."""
    for name, what, ask in (
        ("diabetes", "all marginals", all_marginals),
        ("barley", "all marginals", all_marginals),
        ("diabetes", "one target", one_marginal),
        ("barley", "one target", one_marginal),
    ):
        case = work(name)
        if scale < 1 and not case.is_stand_in:
            continue
        targets = [asked[1] for asked in case.sets(report.given.repeats, 0, seed_of(name, 2))]
        ask(replace(case, network=read_network(case.path)), ({}, targets[0]))
        timing, found = Timing(0.0, 0.0, turns=len(targets)), []
        for target in targets:
            fresh = replace(case, network=read_network(case.path))
            taken = time_calls(lambda: found.append(ask(fresh, ({}, target))), 1)  # noqa: B023
            timing = Timing(timing.cpu + taken.cpu, timing.wall + taken.wall, turns=len(targets))
        mine = np.concatenate([part for parts in found for part in parts])
        engines = (LAZY_1, SHAFER_1) if ask is all_marginals else (ELIMINATION_1, LAZY_1, SHAFER_1)
        rounds = [[({}, target) for target in targets]]
        peers = ask_peers(case, engines, rounds, rounds[0][0], asks_one=ask is one_marginal, fresh=True)
        stage = f"{label(case)}: {what}, first question"
        compare(report, stage, timing, mine, peers, "total", 1.0, len(targets))


def frames(case: Work, codes: Any) -> dict[str, Any]:
    """The same rows as text, as categories, and as the codes that ``sample(as_codes=True)`` gives."""
    import pandas as pd

    coded = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(codes[:, v], list(case.network.states(name)))
            for v, name in enumerate(case.nodes)
        }
    )
    text = pd.DataFrame({name: np.asarray(coded[name], dtype=object) for name in case.nodes}, dtype="str")
    return {"text": text, "categories": coded, "codes": codes}


def time_rows(report: Report, scale: float, half: bool) -> None:
    """Rows of alarm, half the cells missing at random, or complete."""
    case = work("alarm")
    target = TARGET if TARGET in case.nodes else case.nodes[0]
    place = case.nodes.index(target)
    codes = case.network.sample(max(20, round(10_000 * scale)), random_state=3, as_codes=True).astype(
        np.int64
    )
    codes[:, place] = -1
    if half:
        codes[np.random.default_rng(5).random(codes.shape) < 0.5] = -1
    states = {name: list(case.network.states(name)) for name in case.nodes}
    shared = {"path": str(case.path), "states": states, "target": target, "turns": report.given.repeats}
    told = [
        ({name: states[name][c] for name, c in zip(case.nodes, row, strict=True) if c >= 0}, target)
        for row in codes.tolist()
    ]
    if half:
        shared |= {"names": case.nodes, "asks_one": True, "rounds": [told], "warm": told[0]}
        engines = (LAZY, LAZY_1, ELIMINATION_1, SHAFER_1)
        runs = [
            partial(pyagrum, "ask", e, threads=1 if e.endswith("1 thread") else 0, **shared) for e in engines
        ]
    else:
        columns = {name: [row[name] for row, _ in told] for name in case.nodes if name != target}
        runs = [partial(pyagrum, "classify", "BNClassifier", columns=columns, **shared)]
    answers: list[Any] = []
    for run in runs:  # once for all kinds of frames
        try:
            answers.append(run())
        except NotThere as reason:
            report.note(f"left out: {reason}")
    what = "half the cells missing" if half else "complete"
    for kind, rows in frames(case, codes).items():
        run_ours = partial(case.network.predict_proba, rows, target)
        mine = run_ours().ravel()
        timing = time_calls(run_ours, 1)
        for _ in range(max(3, report.given.repeats) - 1):
            timing = timing.best(time_calls(run_ours, 1))
        stage = f"{label(case)}: {len(codes):,} rows, {what}, as {kind}"
        compare(report, stage, timing, mine, [partial(_given, a) for a in answers], "best", 20)


def _given(answer: Answer) -> Answer:
    return answer


def time_reading(report: Report, scale: float) -> None:
    for name in ("link", "munin1"):
        case = work(name)
        packed = FOLDER / f"{name}.bif.gz"
        path = packed if packed.exists() else case.path
        timing = time_calls(lambda: read_network(path), 1)  # noqa: B023
        for _ in range(min(3, report.given.repeats) - 1):
            timing = timing.best(time_calls(lambda: read_network(path), 1))  # noqa: B023
        mine = np.array([len(case.nodes), len(case.network.arcs)])
        stage = f"{label(case)}: reading {path.name}"
        runs = [partial(pyagrum, "load", "loadBN", path=str(case.path), turns=min(3, report.given.repeats))]
        compare(report, stage, timing, mine, runs, "best", None)
        report.claim(f"{stage}: CPU", timing.cpu, " s", at_most=1.0)


ROWS: dict[str, Callable[[Report, float], None]] = {
    "repeated": time_repeated,
    "fresh": time_small_fresh,
    "large": time_large_fresh,
    "target": time_one_target,
    "first": time_first,
    "half": partial(time_rows, half=True),
    "complete": partial(time_rows, half=False),
    "reading": time_reading,
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sets and rows, 1 by default")
    parser.add_argument("--repeats", type=int, default=5, help="turns; of fresh sets, rounds of other sets")
    parser.add_argument("--only", nargs="*", choices=ROWS, help="which questions; kept only with --output")
    parser.add_argument("--output", type=Path, help="JSON file; by default results/networks.json at scale 1")
    return parser.parse_args()


def main() -> None:
    given = options()
    report = Report(QUESTION, given, "pandas")
    for name in given.only or ROWS:
        ROWS[name](report, given.scale)
    if given.only and given.output is None:
        print("\nNot kept: only a part was run. Pass --output to keep it.")
    else:
        report.finish()


if __name__ == "__main__":
    main()
