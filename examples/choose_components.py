"""How many clouds, and of which shape? Four kinds of covariance, one to six components, one table, one chart."""

import sys
import tempfile
from pathlib import Path

import numpy as np

from bayeskit import GaussianMixture
from bayeskit.mixtures import match_labels

# Three long clouds that lie in the same direction: one shared covariance, and no round one.
rng = np.random.default_rng(7)
shape = [[3.0, 1.6], [1.6, 1.2]]
centres = [(0, 0), (6, -1), (-1, 6)]
X = np.vstack([rng.multivariate_normal(centre, shape, 120) for centre in centres])
cloud = np.repeat(["a", "b", "c"], 120)

kinds = ["full", "tied", "diag", "spherical"]
model = GaussianMixture(
    range(1, 7), covariance_type=kinds, n_init=5, tol=1e-6, max_iter=2000, accelerate=True, random_state=0
).fit(X)
choice = model.choice_
print(choice)

print("\nThe best of each kind:")
for kind in kinds:
    best = min((c for c in choice.candidates if c.covariance_type == kind), key=lambda c: c.bic)
    print(f"  {kind:10} {best.n_components} components, {best.n_parameters:2} parameters, BIC {best.bic:.1f}")
print("Kinds that cannot lean need more components to cover a cloud that does.")

print(f"\nIt chose {model.n_components_} components, {model.covariance_type_}:", end=" ")
print(f"{match_labels(model.predict(X), cloud).accuracy:.1%} of the rows are in their own cloud.")
likeliest = max(choice.candidates, key=lambda c: c.log_likelihood)
print(
    f"By likelihood alone it would be {likeliest.n_components}, {likeliest.covariance_type}: more always fits better."
)

place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "choose_components.svg"
picture = choice.chart()
picture.save(place)
print(f"\n{picture!r} was saved to {place}")
