"""A wet lawn: two causes, one that explains the other away, and the difference between seeing and doing."""

from fractions import Fraction

from _networks import LAWN, Names, stacked
from _story import Story, aligned
from bayeskit.networks import wet_grass

say = Story("wet_grass")
names, grass = Names(say, LAWN), wet_grass()
say(
    "It rains on every fifth day; the sprinkler was left on on every tenth. Rain wets our lawn and Joe's next door,"
    "\nthe sprinkler ours alone. This morning our lawn is wet.",
    "五天里有一天下雨；十天里有一天忘了关洒水器。下雨会打湿自家和邻居 Joe 家的草地，洒水器只打湿自家的。"
    "\n今天早上，自家草地是湿的。",
)

# 1. Evidence comes in piece by piece.
ours, both = {"wet": "yes"}, {"wet": "yes", "joe": "yes"}
steps = [
    (say.text("Nothing is known", "先验"), {}),
    (say.text("Our lawn is wet", "自家草地湿"), ours),
    (say.text("Joe's is wet too", "邻家草地也湿"), both),
]
table = [("", *(f"P({names(node)})" for node in ("rain", "sprinkler")))]
for told, seen in steps:
    shares = [grass.query(node, evidence=seen)["yes"] for node in ("rain", "sprinkler")]
    table.append((told, *(f"{Fraction(p).limit_denominator(999)} = {p:.4f}" for p in shares)))
say("\n1. Rain, or the sprinkler?\n", "\n1. 是下了雨，还是洒水器？\n")
print("\n".join(f"  {line}" for line in aligned(table)))
say(
    "\nJoe's lawn makes rain almost certain, and rain explains ours: the sprinkler is less needed.",
    "\n邻家草地也湿，几乎可以断定下过雨；既然下过雨，自家草地湿就有了解释，不必再怪洒水器。这叫“解释消除”。",
)

# 2. The page of arithmetic behind one of these numbers.
say("\n2. How one of them comes about\n", "\n2. 其中一个数是怎样算出来的\n")
print(names.network(grass).explain(names("sprinkler"), names.known(ours), lang=say.lang))

# 3. Why Joe's lawn depends on our sprinkler at all.
say(
    "\n3. What has Joe's lawn to do with our sprinkler?\n",
    "\n3. 邻家的草地与自家的洒水器有什么关系？\n",
)
for given in ([], ["wet"]):
    found = names.network(grass).why_independent(names("joe"), names("sprinkler"), [names(n) for n in given])
    known = ", ".join(names(node) for node in given) or say.text("nothing", "（无）")
    verdict = say.text("independent", "独立") if found.independent else say.text("dependent", "相关")
    for path in found.paths:
        passed = say.text("blocked", "阻断") if path.blocked else say.text("open", "连通")
        say(
            f"  {known} observed: {path} is {passed}, they are {verdict}",
            f"  已观测 {known}：{path} {passed}，二者{verdict}",
        )
say(
    "Two arrows meet at our lawn. Such a path is shut until the place where they meet is seen.",
    "两个箭头在“自家草地湿”相遇。这样的路径平时不通，一旦观测到相遇处，反而通了。",
)

# 4. Seeing is not doing.
seen = grass.query("joe", evidence=ours)["yes"]
done = grass.do(ours).query("joe")["yes"]
limit = grass.parameter_sensitivity(("sprinkler", "yes"), ours, ("rain", {}, "yes")).above(0.5)
say(
    "\n4. Seeing is not doing\n"
    f"\nJoe's lawn is wet with probability {seen:.4f} if we see ours wet, {done:.4f} if we wet it with a hose."
    f"\nOnly where it rains on less than {limit[1]:.1%} of the days is the sprinkler the likelier cause.",
    "\n4. 看到不等于做到\n"
    f"\n看到自家草地湿，邻家草地湿的概率为 {seen:.4f}；若是自己拿水管浇湿的，则为 {done:.4f}。"
    f"\n只有在下雨的日子少于 {limit[1]:.1%} 的地方，更可能的原因才是洒水器。",
)

say.end(
    stacked(
        say.text("A wet lawn: one cause explains the other away", "湿草地：解释消除"),
        [say.text("Observed nodes are marked.", "有底色的结点是已观测的。")],
        [(told, names.drawn(grass, seen)) for told, seen in steps],
    )
)
