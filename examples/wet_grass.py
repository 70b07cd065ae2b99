"""A wet lawn: two causes, one that explains the other away, and the difference between seeing and doing."""

from fractions import Fraction

from bayeskit.networks.examples import wet_grass

grass = wet_grass()
print(grass, "\n")

print("What the lawns tell of rain and of the sprinkler:")
for told, seen in (
    ("nothing is known", {}),
    ("our lawn is wet", {"wet": "yes"}),
    ("Joe's is wet too", {"wet": "yes", "joe": "yes"}),
):
    shares = [grass.query(name, evidence=seen)["yes"] for name in ("rain", "sprinkler")]
    rain, sprinkler = (f"{Fraction(p).limit_denominator(999)!s:>7} = {p:.4f}" for p in shares)
    print(f"  {told:16}  P(rain) = {rain}   P(sprinkler) = {sprinkler}")
print("Joe's lawn makes rain almost certain, and rain explains ours: the sprinkler is less needed.\n")

print(grass.why_independent("joe", "sprinkler"), "\n")
print(grass.why_independent("joe", "sprinkler", given="wet"), "\n")

seen = grass.query("joe", evidence={"wet": "yes"})["yes"]
done = grass.do({"wet": "yes"}).query("joe")["yes"]
print(
    f"Joe's lawn is wet with probability {seen:.4f} if we see ours wet, {done:.4f} if we wet it with a hose."
)

limit = grass.parameter_sensitivity(("sprinkler", "yes"), {"wet": "yes"}, ("rain", {}, "yes")).above(0.5)
print(f"Only where it rains on less than {limit[1]:.1%} of the days is the sprinkler the likelier cause.")
