"""A wet lawn: two causes, one that explains the other away, and the difference between seeing and doing."""

from fractions import Fraction

from _networks import LAWN, Names, stacked
from _story import Story, aligned
from bayeskit.networks import wet_grass

say = Story("wet_grass")
names, grass = Names(say, LAWN), wet_grass()
say(
    "It rains with probability 1/5, and the sprinkler is left on with probability 1/10. Rain wets our lawn and Joe's"
    "\nnext door; the sprinkler wets only ours. This morning our lawn is wet.",
    "下雨的概率是 1/5，忘了关洒水器的概率是 1/10。下雨会打湿自家和邻居 Joe 家的草地，洒水器只打湿自家的。"
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
    "\nJoe's lawn makes rain almost certain, and rain explains our wet lawn: the sprinkler becomes less probable.",
    "\n邻家草地也湿，几乎可以断定下过雨；下雨已解释了自家草地为什么湿，洒水器的概率随之下降。这称为“解释消除”。",
)

# 2. The page of arithmetic behind one of these numbers.
say("\n2. How one of these numbers is computed\n", "\n2. 其中一个数是怎样算出来的\n")
print(names.network(grass).explain(names("sprinkler"), names.known(ours), lang=say.lang))

# 3. Why Joe's lawn depends on our sprinkler at all.
say(
    "\n3. Why does Joe's lawn depend on our sprinkler?\n",
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
    "Two arrows meet at our lawn (head to head). Such a path is blocked until the node where they meet is observed.",
    "两个箭头在“自家草地湿”相遇（V 型结构）。这样的路径在该结点未观测时阻断，观测之后反而连通。",
)

# 4. Seeing is not doing.
seen = grass.query("joe", evidence=ours)["yes"]
done = grass.do(ours).query("joe")["yes"]
limit = grass.parameter_sensitivity(("sprinkler", "yes"), ours, ("rain", {}, "yes")).above(0.5)
say(
    "\n4. Seeing is not doing\n"
    f"\nJoe's lawn is wet with probability {seen:.4f} if we see that ours is wet, {done:.4f} if we wet it with a hose."
    f"\nThe sprinkler is the more probable cause only if it rains on less than {limit[1]:.1%} of the days.",
    "\n4. 观测不等于干预\n"
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
