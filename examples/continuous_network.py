"""Numbers in a network: a heated house, and what one reading says about the others."""

import numpy as np

from bayeskit import BayesianNetwork

house = BayesianNetwork(
    {"heating": [], "outside": [], "inside": ["heating", "outside"], "bill": ["heating", "outside"]},
    states={"heating": ["off", "on"], "outside": float, "inside": float, "bill": float},
)
house = (  # a regression for each state of the heating: intercept, coefficients, variance
    house.set_cpt("heating", {"off": 0.4, "on": 0.6})
    .set_gaussian("outside", 8.0, variance=36.0)
    .set_gaussian("inside", {"off": (10, {"outside": 0.6}, 1), "on": (19, {"outside": 0.1}, 1)})
    .set_gaussian("bill", {"off": (1, {"outside": 0}, 0.25), "on": (9, {"outside": -0.3}, 0.25)})
)

print(f"{'':32}P(heating)        outside          inside")
for seen in (
    {},
    {"inside": 20.0},
    {"inside": 20.0, "bill": 6.0},
    {"inside": 17.5},
    {"inside": 17.5, "bill": 8.0},
):
    found = house.posteriors(seen)
    told = ", ".join(f"{name} = {value}" for name, value in seen.items()) or "nothing is known"
    numbers = "  ".join(f"{found[name].mean:6.2f} ± {found[name].sd:4.2f}" for name in ("outside", "inside"))
    print(f"{told:32}{found['heating'][1]:10.4f}  {numbers}")

before = house.query("inside")
low, high = before.interval(0.9)
print(f"\nInside, nothing known: {before}")
print(f"nine times in ten between {low:.1f} and {high:.1f}, below 12 with probability {before.cdf(12.0):.4f}")

drawn = house.sample(20_000, seed=1, as_codes=True)[:, house.nodes.index("inside")]
print(f"20,000 rows drawn: mean {drawn.mean():.2f}, exactly {before.mean:.2f};", end=" ")
print(f"sd {drawn.std():.2f}, exactly {before.sd:.2f}")
assert np.isclose(drawn.mean(), before.mean, atol=0.2)
