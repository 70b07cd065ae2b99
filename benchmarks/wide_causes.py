"""What do exact answers cost if a node has hundreds of causes, or thousands of nodes have common ones?

A noisy-OR of 500 causes, and two layers of 600 diseases and 4,000 findings with 60 causes each on average: 500 findings
are absent, some are present. ``--scale`` is the share of diseases and findings.
"""

from __future__ import annotations

import numpy as np

from bayeskit import BayesianNetwork
from harness import Report, options

QUESTION = "Exact answers with hundreds of causes: one noisy-OR, and two layers of diseases and findings"
PRESENT = (1, 5, 10, 15, 20)


def noisy_or(n: int) -> BayesianNetwork:
    causes = [f"c{i}" for i in range(n)]
    network = BayesianNetwork({**{c: [] for c in causes}, "effect": causes}, states=["no", "yes"])
    for cause in causes:
        network.set_cpt(cause, [0.99, 0.01])
    network.set_noisy_or("effect", dict.fromkeys(causes, 0.6), 0.01)
    return network


def two_layers(n_diseases: int, n_findings: int, rng: np.random.Generator) -> BayesianNetwork:
    diseases = [f"d{i}" for i in range(n_diseases)]
    parents: dict[str, list[str]] = {d: [] for d in diseases}
    for j in range(n_findings):
        causes = min(n_diseases // 4, int(rng.geometric(1 / 60)))
        parents[f"f{j}"] = [diseases[i] for i in np.sort(rng.choice(n_diseases, causes, replace=False))]
    network = BayesianNetwork(parents, states=["no", "yes"])
    # One change at a time copies the list of nodes; these are thousands.
    for disease, rate in zip(
        diseases, np.exp(rng.uniform(np.log(1e-4), np.log(0.05), n_diseases)), strict=True
    ):
        network.set_cpt(disease, [1 - rate, rate])
    for j in range(n_findings):
        causes = parents[f"f{j}"]
        network.set_noisy_or(
            f"f{j}", dict(zip(causes, rng.uniform(0.05, 0.95, len(causes)), strict=True)), 0.001
        )
    return network


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    network = noisy_or(int(500 * given.scale))
    asked = {
        "the effect": lambda: network.query("effect"),
        "a cause, given the effect": lambda: network.query("c0", evidence={"effect": "yes"}),
        "all nodes, given the effect": lambda: network.posteriors({"effect": "yes"}),
    }
    for name, ask in asked.items():
        report.race(f"500 causes: {name}", {"bayeskit": ask})
        most = 10 if given.scale == 1 else None
        report.claim(
            f"500 causes: {name}", 1e3 * report.cpu(f"500 causes: {name}", "bayeskit"), " ms", at_most=most
        )
    rng = np.random.default_rng(0)
    layers = two_layers(int(600 * given.scale), int(4_000 * given.scale), rng)
    findings = rng.permutation([name for name in layers.nodes if name.startswith("f")]).tolist()
    absent = dict.fromkeys(findings[20:520], "no")
    for n in PRESENT:
        evidence = {**absent, **dict.fromkeys(findings[:n], "yes")}
        stage = f"two layers, {n} findings present"
        report.race(stage, {"bayeskit": lambda evidence=evidence: layers.query("d0", evidence=evidence)})
        report.claim(stage, report.cpu(stage, "bayeskit"), " s", at_most=60 if given.scale == 1 else None)
    report.finish()


if __name__ == "__main__":
    main()
