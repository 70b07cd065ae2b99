"""Learning networks: rows of the chest clinic, what is found in them, how near that is, what to do about a patient."""

from bayeskit import learn_network
from bayeskit.decision import decide
from bayeskit.networks import compare, shd
from bayeskit.networks.examples import asia, wet_grass
from bayeskit.structure import score

clinic = asia()
rows = clinic.sample(10_000, seed=1)

print(
    "Ten thousand patients, and what each method makes of them: points of BIC below the true graph's, distance\n"
)
methods = ("auto", "exact", "hill-climbing", "mmhc", "chow-liu")
for method in methods:
    found = learn_network(rows, method=method)
    below = score(clinic, rows) - score(found, rows)
    print(f"  {method:14}{abs(below):9.1f}{shd(found, clinic):4}   {len(found.edges)} arcs")

learned = learn_network(rows)
print(f"\nThe default finds: {learned.cpdag()}")
print("Arcs without a head may point either way: no number of rows tells.")

times = [["asia", "smoke"], ["tub", "lung", "bronc"], ["either"], ["xray", "dysp"]]
dated = learn_network(rows, tiers=times)
same = sorted(dated.edges) == sorted(clinic.edges)
print(f"Told what comes first in time, it finds the true arcs with all their heads: {same}\n")
print(compare(learn_network(rows[:500]), clinic))

print("\nHow many rows does it take? Distance to the truth:")
for n in (100, 300, 1_000, 3_000, 10_000):
    print(f"  {n:6,} rows: {shd(learn_network(rows[:n]), clinic)}")

# Tables can be corrected by rows that come later, and by rows that should never have been there.
before = dated.cpt("lung")["yes", "yes"]
wrong = rows[(rows["smoke"] == "yes") & (rows["lung"] == "yes")][:100]
print(f"\nP(lung | smoke) = {before:.4f}; without a hundred of these patients", end=" ")
print(f"{dated.forget(wrong).cpt('lung')['yes', 'yes']:.4f}; with them again", end=" ")
print(f"{dated.partial_fit(wrong).cpt('lung')['yes', 'yes']:.4f}")

print("\nA patient who smokes and coughs. An operation costs 10, a cancer that is overlooked 50:")
loss = {"operate": {"yes": 10, "no": 10}, "wait": {"yes": 50, "no": 0}}
for seen in ({"smoke": "yes", "dysp": "yes"}, {"smoke": "yes", "dysp": "yes", "xray": "yes"}):
    cancer = dated.query("lung", evidence=seen)
    choice = decide(cancer.to_dict(), loss)
    print(f"  {seen}: P(lung) = {cancer['yes']:.3f}, {choice.actions} (risk {choice.risk:.2f})")

lawn = wet_grass()
drawn = lawn.sample(2_000, seed=0)
print(f"\nTwo thousand mornings on the lawn: {learn_network(drawn).cpdag()} (the truth: {lawn.cpdag()})")
