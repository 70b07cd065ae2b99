"""How long is a step of EM, and how many are needed?

Gaussian mixtures, latent classes, a network with missing cells and naive Bayes with few labels. The time of a step is
the difference between a longer and a shorter run, divided by the difference in steps. So reading, starts and final work
are not included. Ours and the peers take turns, and the best run of each length counts. Peers run on one thread
(``em_child.py`` explains why; scikit-learn is limited to one, too). scikit-learn and pomegranate get the same start;
StepMix and pyAgrum do not accept one. pyAgrum gets a tenth of the rows, and its time is multiplied by ten.
``em_acceleration.py`` counts how many steps SQUAREM saves.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture as SklearnMixture
from threadpoolctl import threadpool_limits

import em_work
from bayeskit import BayesianNetwork, GaussianMixture, GaussianNB, LatentClass, NaiveBayes
from bayeskit._classifiers.semi_supervision import parted
from bayeskit._data.source import Source
from bayeskit._fitting.semi_supervised import SplitRows, complete
from bayeskit.mixtures import StoppingRule
from bayeskit.statistics import Variable
from em_acceleration import count_steps
from em_peers import Peer
from em_steps import Steps, here, race, timed
from em_work import PRIOR
from harness import Report
from peers import NotThere
from structure_samples import is_there

QUESTION = "EM: how long is a step, and how many are needed?"


def peer(report: Report, stack: ExitStack, task: str, **given: Any) -> Peer | None:
    try:
        return stack.enter_context(Peer(task, **given))
    except NotThere as reason:
        report.note(f"left out: {reason}")
        return None


def time_gaussian(report: Report, scale: float) -> None:
    rows = em_work.mixture_rows(max(1000, round(1e5 * scale)))
    means, k, d = em_work.first_means(rows), em_work.MIXED, rows.shape[1]
    for kind, against_sklearn in (("full", 6.0), ("diag", 3.0)):
        precision = (
            np.stack([np.eye(d)] * k) if kind == "full" else np.ones((k, d))
        ) / em_work.FIRST_VARIANCE
        start = {"weights_init": np.full(k, 1 / k), "means_init": means, "precisions_init": precision}

        def ours(steps: int) -> Any:
            return GaussianMixture(k, covariance_type=kind, max_iter=steps, tol=0.0, **start).fit(rows)  # noqa: B023

        def theirs(steps: int) -> Any:
            with threadpool_limits(1):
                return SklearnMixture(k, covariance_type=kind, max_iter=steps, tol=0.0, **start).fit(rows)  # noqa: B023

        with ExitStack() as stack:
            runs: dict[str, Steps] = {
                "bayeskit": here(ours, 2, 22),
                "scikit-learn": here(theirs, 2, 22),
            }
            other = peer(
                report, stack, f"pomegranate {kind}", rows=rows, means=means, variance=em_work.FIRST_VARIANCE
            )
            if other is not None:
                runs[f"pomegranate {other.version}, float32"] = Steps(other, 2, 22)
            stage = f"Gaussian mixture {len(rows)} × {d}, {k} components, {kind}: a step"
            cpu, found = race(report, stage, runs)
        for name, seconds in cpu.items():
            if name != "bayeskit":
                target = against_sklearn if name == "scikit-learn" else 3.0
                report.claim(f"{stage}: against {name}", seconds / cpu["bayeskit"], "×", at_least=target)
        reached = {
            "bayeskit": found["bayeskit"].score(rows),
            "scikit-learn": found["scikit-learn"].score(rows),
        }
        reached |= {name: value for name, value in found.items() if name not in reached}
        told = ", ".join(f"{name} {value:.9f}" for name, value in reached.items())
        report.note(f"{kind}, mean log-likelihood after 22 steps: {told}")
        apart = abs(reached["bayeskit"] - reached["scikit-learn"])
        report.claim(f"{stage}: log-likelihood a row apart from scikit-learn's", apart, at_most=1e-8)


def time_latent(report: Report, scale: float) -> None:
    rows = em_work.latent_rows(max(500, round(1e4 * scale)))
    settings: dict[str, Any] = {"n_components": em_work.CLASSES, "categorical_features": "all"}

    def ours(steps: int) -> Any:
        return LatentClass(**settings, max_iter=steps, tol=0.0, n_init=1, accelerate=False).fit(rows)

    with ExitStack() as stack:
        runs: dict[str, Steps] = {"bayeskit": here(ours, 10, 110)}
        other = peer(report, stack, "StepMix", rows=rows, components=em_work.CLASSES)
        if other is not None:
            runs[f"StepMix {other.version}"] = Steps(other, 10, 50)
        stage = f"latent class {len(rows)} × {rows.shape[1]}, {em_work.CLASSES} components: a step"
        cpu, found = race(report, stage, runs)
    for name in cpu.keys() - {"bayeskit"}:
        report.claim(f"{stage}: against {name}", cpu[name] / cpu["bayeskit"], "×", at_least=10)
        mine = LatentClass(**settings).fit(rows).score(rows)
        report.note(
            f"mean log-likelihood: bayeskit, all settings as they are, {mine:.9f}; {name} {found[name]:.9f}"
        )
        report.claim(
            f"{stage}: log-likelihood a row above that of {name}", mine - found[name], at_least=-1e-6
        )


def time_network(report: Report, scale: float) -> None:
    if not is_there("alarm"):
        report.note("left out: alarm is not in BENCH_NETS")
        return
    n = max(500, round(5000 * scale))
    some, holed = n // 10, em_work.holed_alarm(n)
    empty = partial(BayesianNetwork, holed.parents, holed.states)

    def ours(rows: Any, steps: int) -> Any:
        plain: dict[str, Any] = {"tol": 0.0, "max_iter": steps, "accelerate": False}
        return empty().fit(rows, method="em", smoothing=PRIOR, **plain)

    all_rows, few_rows, sample = holed.frame(), holed.frame(some), holed.sample
    with ExitStack() as stack:
        runs: dict[str, Steps] = {"bayeskit": here(partial(ours, all_rows), 2, 22)}
        given = {"columns": sample.columns, "sizes": sample.sizes, "arcs": sample.arcs, "prior": PRIOR}
        other = peer(report, stack, "pyAgrum", codes=holed.codes[:some], **given)
        if other is not None:
            runs[f"pyAgrum {other.version}, {some} rows, scaled"] = Steps(other, 1, 3, n / some)
        stage = f"alarm {n} rows, a fifth of the cells missing: a step"
        cpu, _ = race(report, stage, runs)
        for name in cpu.keys() - {"bayeskit"}:
            report.claim(f"{stage}: against {name}", cpu[name] / cpu["bayeskit"], "×", at_least=200)
        if other is None:
            return
        taken, tables = other(0)
    theirs = empty()
    for node, told in tables.items():
        table, order = np.array(told["table"]), [told["parents"].index(p) for p in theirs.parents(node)]
        theirs.set_cpt(node, table.transpose(*order, len(order)), normalize=True)
    mine = empty().fit(few_rows, method="em", smoothing=PRIOR)
    reached = mine.log_likelihood(few_rows), theirs.log_likelihood(few_rows)
    report.note(
        f"{some} rows, log-likelihood where each stops by itself: bayeskit {reached[0]:.3f} after {mine.n_iter_} "
        f"steps, pyAgrum {reached[1]:.3f} after {taken.cpu:.1f} s"
    )
    report.claim(f"alarm {some} rows: log-likelihood above pyAgrum's", reached[0] - reached[1], at_least=0.0)


def parted_rows(model: Any, rows: Any, y: Any) -> SplitRows:
    """Read rows as ``fit`` does."""
    labelled, unlabelled = parted(model, Source(rows, y))
    fitted, kept = model._new_fitted(Variable("y", "categorical")), list[Any]()
    fitted.absorb(labelled, kept)
    found = SplitRows.of(fitted, kept, unlabelled)
    assert found is not None
    return found


def time_unlabelled(report: Report, scale: float) -> None:
    n = max(2000, round(1e6 * scale))
    for kind, make in (
        ("categorical", partial(NaiveBayes, categorical_features="all")),
        ("gaussian", GaussianNB),
    ):
        rows, y, known = em_work.classified_rows(n, kind)
        pieces = parted_rows(make(semi_supervised=True), rows, known)

        def step(steps: int) -> Any:
            return complete(pieces, 1.0, StoppingRule(0.0, steps))  # noqa: B023

        def supervised(times: int) -> None:
            for _ in range(times):
                make().fit(rows, y).predict_proba(rows)  # noqa: B023

        runs: dict[str, Steps] = {
            "supervised fit + predict_proba": here(supervised, 1, 3),
            "E + M step, 10 % labelled": here(step, 2, 4),
        }
        stage = f"naive Bayes {n} × {rows.shape[1]}, {kind}"
        cpu, _ = race(report, stage, runs)
        base, found = cpu.values()
        report.claim(f"{stage}: a step, in supervised fits with predict_proba", found / base, "×", at_most=3)
        whole, model = timed(lambda _: make(semi_supervised=True).fit(rows, known), 0)  # noqa: B023
        report.note(f"{kind}: a whole fit takes {whole.cpu:.2f} s of CPU and {model.n_iter_} steps")


ROWS: dict[str, Callable[[Report, float], None]] = {
    "gaussian": time_gaussian,
    "latent": time_latent,
    "network": time_network,
    "acceleration": count_steps,
    "unlabelled": time_unlabelled,
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows, 1 by default")
    parser.add_argument("--repeats", type=int, default=5, help="turns, of which the best counts")
    parser.add_argument("--only", nargs="*", choices=ROWS, help="which questions; kept only with --output")
    parser.add_argument("--output", type=Path, help="JSON file; by default results/em.json at scale 1")
    return parser.parse_args()


def main() -> None:
    given = options()
    report = Report(QUESTION, given, "pandas")
    warnings.simplefilter("ignore")
    for name in given.only or ROWS:
        try:
            ROWS[name](report, given.scale)
        except NotThere as reason:
            report.note(f"given up: {reason}")
    if given.only and given.output is None:
        print("\nNot kept: only a part was run. Pass --output to keep it.")
    else:
        report.finish()


if __name__ == "__main__":
    main()
