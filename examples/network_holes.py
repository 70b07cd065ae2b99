"""Networks from rows with holes: a sprinkler looked at only when the lawn was wet, and a node nobody ever saw."""

import sys
import tempfile
from pathlib import Path

from bayeskit import BayesianNetwork
from bayeskit.networks.examples import asia, wet_grass


def untaught(network):
    """Return a network with the same nodes, arcs and states, and no tables."""
    arcs = {name: list(network.parents(name)) for name in network.nodes}
    return BayesianNetwork(arcs, states={name: network.states(name) for name in network.nodes})


lawn = wet_grass()
mornings = {name: list(lawn.sample(3_000, seed=4)[name]) for name in lawn.nodes}
# Who finds the lawn dry does not walk over to the sprinkler.
looked = [wet == "yes" for wet in mornings["wet"]]
mornings["sprinkler"] = [s if there else None for s, there in zip(mornings["sprinkler"], looked)]
print(
    f"Three thousand mornings; the sprinkler was looked at on {sum(looked)} of them, when the lawn was wet."
)
counted = untaught(lawn).fit(mornings, prior="mle")
# A small tolerance: where much is missing, steps are small long before the top is reached.
climbed = untaught(lawn).fit(mornings, prior="mle", method="em", tol=1e-12, max_iter=1_000)
for told, network in (("the truth", lawn), ("counting what is there", counted), ("EM", climbed)):
    p = network.cpt("sprinkler")["yes"]
    print(f"  P(sprinkler): {told:24}{p:.3f}   log-likelihood {network.log_likelihood(mornings):10.2f}")
print(
    "Mornings when one looked are not like the others; EM knows why, because the lawn itself was always seen.\n"
)

clinic = asia()
patients = clinic.sample(5_000, seed=1)
seen = {name: list(patients[name]) for name in clinic.nodes if name != "either"}
print(
    "The chest clinic without 'either' (tuberculosis or cancer): its states are declared, its column is not there."
)
for seed in range(3):
    network = untaught(clinic).fit(seen, method="em", seed=seed, max_iter=1_000)
    print(
        f"  start {seed}: {network.n_iter_:3} steps, {network.history_[0]:.1f} to {network.history_[-1]:.1f}"
    )
learned = untaught(clinic).fit(seen, method="em", seed=0, n_init=10, max_iter=1_000)
short = ", ".join(f"{value:.0f}" for value in sorted(learned.starts_))
print(f"  ten starts, a few steps each, reach {short}; the best goes on to {learned.history_[-1]:.1f}")

# Which state was called "yes" is chance: nothing in the rows names it.
table = learned.cpt("either")
name = "yes" if table["no", "no", "yes"] < 0.5 else "no"
print(f"\nP(either = {name!r} | lung, tub), found without one look at it:")
for lung in ("yes", "no"):
    for tub in ("yes", "no"):
        truth = int("yes" in (lung, tub))
        print(f"  lung {lung:3} tub {tub:3}  {table[lung, tub, name]:.3f}   (the truth: {truth})")

place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "network_holes.svg"
picture = learned.plot({"xray": "yes", "dysp": "no"}, path=place)
print(f"\n{picture!r} was saved to {place}")
