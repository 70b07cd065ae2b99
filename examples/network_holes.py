"""Networks from rows with missing cells: a sprinkler checked only if the lawn is wet, and a hidden node."""

from _networks import CLINIC, Names, stacked
from _story import Story, aligned
from bayeskit import BayesianNetwork
from bayeskit.networks import asia, wet_grass

say = Story("network_holes")


def untaught(network):
    """Return a network with the same nodes, arcs and states, and no tables."""
    arcs = {name: list(network.parents(name)) for name in network.nodes}
    return BayesianNetwork(arcs, states={name: network.states(name) for name in network.nodes})


# 1. Cells that are not missing at random: if the lawn is dry, the sprinkler is not checked.
lawn = wet_grass()
mornings = {name: list(lawn.sample(3_000, random_state=4)[name]) for name in lawn.nodes}
looked = [wet == "yes" for wet in mornings["wet"]]
mornings["sprinkler"] = [s if there else None for s, there in zip(mornings["sprinkler"], looked, strict=True)]
say(
    f"1. Three thousand mornings; the sprinkler was checked on {sum(looked)} of them, when the lawn was wet\n",
    f"1. 三千个早晨，只有 {sum(looked)} 个早晨草地湿了，才去看过洒水器\n",
)
counted = untaught(lawn).fit(mornings, smoothing="mle")
# A small tolerance: if much is missing, steps are small long before the maximum is reached.
climbed = untaught(lawn).fit(mornings, smoothing="mle", method="em", tol=1e-12, max_iter=1_000)
table = [("", say.text("P(sprinkler)", "P(洒水器开)"), say.text("log-likelihood", "对数似然"))]
for told, network in (
    (say.text("the truth", "真实值"), lawn),
    (say.text("counting what is there", "只数看到的"), counted),
    (say.text("EM", "EM"), climbed),
):
    p = network.cpt("sprinkler")["yes"]
    table.append((told, f"{p:.3f}", f"{network.log_likelihood(mornings):.2f}"))
print("\n".join(f"   {line}" for line in aligned(table)))
say(
    "\n   These mornings are not a random sample. EM corrects for it, because the lawn itself was observed every day.",
    "\n   这些早晨不是随机样本；EM 能够纠正，因为草地本身每天都有观测。",
)

# 2. A node without a column: only its states are declared.
names, clinic = Names(say, CLINIC), asia()
patients = clinic.sample(5_000, random_state=1)
seen = {name: list(patients[name]) for name in clinic.nodes if name != "either"}
say(
    "\n2. Five thousand patients of the chest clinic; the node 'either' (one of two diseases) has no column\n",
    "\n2. 胸科诊所的五千名病人；“结核或肺癌”没有对应的列\n",
)
for seed in range(3):
    network = untaught(clinic).fit(seen, method="em", random_state=seed, max_iter=1_000)
    steps, first, last = network.n_iter_, network.history_[0], network.history_[-1]
    say(
        f"   start {seed}: {steps:3} steps, log-likelihood {first:.1f} → {last:.1f}",
        f"   起点 {seed}：{steps:3} 步，对数似然 {first:.1f} → {last:.1f}",
    )
learned = untaught(clinic).fit(seen, method="em", random_state=0, n_init=10, max_iter=1_000)
say(
    f"   ten starts, a few steps each: from {min(learned.starts_):.1f} to {max(learned.starts_):.1f}; the best goes on"
    f" to {learned.history_[-1]:.1f}",
    f"   十个起点各试几步：从 {min(learned.starts_):.1f} 到 {max(learned.starts_):.1f}；"
    f"最好的走到 {learned.history_[-1]:.1f}",
)

# 3. Which state was called "yes" is chance: nothing in the rows names it.
if learned.cpt("either")["no", "no", "yes"] > 0.5:
    learned.set_states("either", ["no", "yes"])
rule = learned.cpt("either")
table = [(names("lung"), names("tub"), say.text("found", "学得"), say.text("truth", "真实"))]
for lung in ("yes", "no"):
    for tub in ("yes", "no"):
        truth = int("yes" in (lung, tub))
        table.append((names.state(lung), names.state(tub), f"{rule[lung, tub, 'yes']:.3f}", str(truth)))
say(
    "\n3. P(either | lung, tub), estimated although 'either' was never observed\n",
    "\n3. P(结核或肺癌 | 肺癌, 肺结核)：从未观测，由 EM 估计\n",
)
print("\n".join(f"   {line}" for line in aligned(table)))

known = {"xray": "yes", "dysp": "no"}
say.end(
    stacked(
        say.text("Learned without ever seeing 'either'", "从未见过“结核或肺癌”，照样学得"),
        [say.text("Query: an abnormal X-ray without shortness of breath.", "查询：X 光异常，但呼吸不困难。")],
        [("", names.drawn(learned, known))],
    )
)
