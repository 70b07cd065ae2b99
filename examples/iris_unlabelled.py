"""Iris without labels: three components found from measurements alone, then matched to the species."""

import sys
import tempfile
from pathlib import Path

from bayeskit import GaussianMixture, datasets
from bayeskit.mixtures import match_labels

iris = datasets.load("iris")
X, species = iris.X, iris.y
settings = {"n_init": 10, "tol": 1e-6, "max_iter": 1000, "random_state": 0}

print("Three components, four kinds of covariance; soft EM shares rows out, hard EM gives them away whole:\n")
print(f"  {'':10}{'log-likelihood':>16}{'BIC':>9}{'agree, soft':>13}{'hard':>8}")
for kind in ("full", "tied", "diag", "spherical"):
    soft = GaussianMixture(3, covariance_type=kind, **settings).fit(X)
    hard = GaussianMixture(3, covariance_type=kind, hard=True, **settings).fit(X)
    agree = [match_labels(model.predict(X), species).accuracy for model in (soft, hard)]
    print(f"  {kind:10}{soft.history_[-1]:16.2f}{soft.bic(X):9.1f}{agree[0]:13.1%}{agree[1]:8.1%}")

found = GaussianMixture(3, **settings).fit(X)
matched = match_labels(found.predict(X), species)
print(f"\nFull covariances agree with the species in {matched.accuracy:.1%} of the flowers:")
for component, counts in zip(matched.components, matched.table.tolist()):
    fell = ", ".join(f"{count} {label}" for count, label in zip(counts, matched.labels) if count)
    print(f"  component {component} is {matched[component]}: {fell}")

unsure = found.predict_proba(X).max(axis=1)
print(f"\nThe flower it is least sure of is number {unsure.argmin()} ({species[unsure.argmin()]}):")
for component, share in enumerate(found.predict_proba(X)[unsure.argmin()]):
    print(f"  {matched[component]:16} {share:.3f}")

# Restarts matter: from one random start each, EM ends in different places.
ends = [
    GaussianMixture(3, init_params="random", tol=1e-6, max_iter=1000, random_state=seed).fit(X).history_[-1]
    for seed in range(8)
]
print("\nEight single random starts end at", ", ".join(f"{end:.1f}" for end in ends))
print(f"the best of ten, after a look at each, at {found.history_[-1]:.1f}.")

by_bic = GaussianMixture("bic", covariance_type=["full", "tied"], **settings).fit(X)
print(f"\nAsked how many there are, BIC says {by_bic.n_components_} ({by_bic.covariance_type_}): ", end="")
print("it cannot know that botanists see two species in one of them.")

place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "iris_unlabelled.svg"
picture = found.plot(X, columns=[2, 3], labels=species, path=place)
print(f"\n{picture!r} was saved to {place}")
