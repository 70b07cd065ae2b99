"""Height and weight of 114 students, split into two without being told their sex; then the sexes are looked up."""

import sys
import tempfile
from pathlib import Path

import numpy as np

from bayeskit import GaussianMixture, datasets
from bayeskit.mixtures import match_labels

students = datasets.load("height-weight")
X, sex = students.X.to_numpy(), np.where(students.y == 0, "female", "male")

settings = {"n_init": 10, "tol": 1e-6, "max_iter": 1000, "random_state": 0}
found = GaussianMixture(2, **settings).fit(students.X)
print(found.describe())
print(f"\n{found.n_iter_} steps, from {found.history_[0]:.2f} to {found.history_[-1]:.2f}.")

# The components have numbers, not names; the sexes line up with them so that most rows agree.
matched = match_labels(found.predict(X), sex)
print(f"\nComponents stand for {dict(matched)}; {matched.accuracy:.1%} of the students agree:\n")
print(f"  {'':12}" + "".join(f"{label:>8}" for label in matched.labels))
for component, counts in zip(matched.components, matched.table):
    print(f"  component {component} " + "".join(f"{count:8}" for count in counts))

print("\nWhat was found, and what the labels say (means of height and weight):")
for component, label in matched.items():
    truth = X[sex == label].mean(axis=0)
    print(f"  {label:7} found {found.means_[component].round(1)}, told {truth.round(1)}")

print("\nOf somebody 170 cm tall the weight is not known. P(component):", end=" ")
shares = found.predict_proba([[170.0, np.nan]])[0]
print({matched[k]: round(float(share), 3) for k, share in enumerate(shares)})

holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
again = GaussianMixture(2, **settings).fit(holes)
agreed = match_labels(again.predict(holes), sex).accuracy
print(f"With every fifth number gone, {agreed:.1%} still agree, and no number was made up.")

place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "height_weight.svg"
picture = found.plot(students.X, labels=sex, path=place)
print(f"\n{picture!r} was saved to {place}")
