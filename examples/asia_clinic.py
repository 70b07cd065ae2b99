"""The chest clinic: one finding after the other, what to ask next, and a picture of what is believed."""

import math
import tempfile
from pathlib import Path

from bayeskit.errors import ImpossibleEvidence
from bayeskit.networks.examples import asia

clinic = asia()
diseases = ("tub", "lung", "bronc")

print(f"{'':28}" + "".join(f"{name:>8}" for name in diseases) + "   P(findings)")
seen: dict[str, str] = {}
for node, state in ((None, None), ("xray", "yes"), ("asia", "yes"), ("dysp", "no"), ("smoke", "no")):
    if node is not None:
        seen[node] = state
    found = clinic.posteriors(seen)
    told = f"and {node} = {state}" if node else "a patient comes in"
    shares = "".join(f"{found[name][0]:8.1%}" for name in diseases)
    print(f"{told:28}{shares}   {math.exp(clinic.log_probability(seen)):.3g}")

print("\nWith the X-ray and the visit to Asia known, what else would tell most about lung cancer?\n")
print(clinic.sensitivity_to_findings("lung", {"xray": "yes", "asia": "yes"}))

best = clinic.mpe({"xray": "yes", "dysp": "yes"})
alone = clinic.map(["lung", "bronc"], {"xray": "yes", "dysp": "yes"})
print("\nMost probable story of an abnormal X-ray and short breath:", dict(best))
print(f"it has probability {math.exp(best.log_probability):.4f}; lung and bronc alone: {dict(alone)}")

try:
    clinic.query("lung", evidence={"smoke": "yes", "tub": "yes", "either": "no"})
except ImpossibleEvidence as error:
    print(f"\nNot every story can be told: {error}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "clinic.svg"
    picture = clinic.plot({"xray": "yes", "asia": "yes"}, path=path)
    print(f"\n{picture!r} was saved, {path.stat().st_size:,} bytes")
