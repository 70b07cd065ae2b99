"""A network learned from rows of the chest clinic: its arcs, its distance from the truth, and a decision."""

from _networks import CLINIC, Names, stacked
from _story import Story, aligned
from bayeskit import learn_network
from bayeskit.decision import decide
from bayeskit.networks import asia, compare_networks, score, shd

say = Story("learn_network")
names, clinic = Names(say, CLINIC), asia()
rows = clinic.sample(10_000, random_state=1)


def arrows(pairs, sign):
    """Write arcs, as the story calls their ends."""
    return ", ".join(f"{names(a)} {sign} {names(b)}" for a, b in pairs)


# 1. The rows were sampled from a known network, so the distance of each result from the truth can be measured.
say(
    "1. Ten thousand patients sampled from a network; what each method learns from these rows\n",
    "1. 由一个网络抽出一万名病人；只看这些数据，各种方法学到了什么\n",
)
methods = {
    "auto": "自动",
    "exact": "精确搜索",
    "hill-climbing": "爬山",
    "mmhc": "MMHC",
    "chow-liu": "Chow-Liu 树",
}
table = [
    (
        "",
        say.text("arcs", "边数"),
        say.text("distance", "结构距离"),
        say.text("BIC below the truth's", "BIC 比真网络低"),
    )
]
for method, chinese in methods.items():
    found = learn_network(rows, method=method)
    below = abs(score(clinic, rows) - score(found, rows))
    table.append((say.text(method, chinese), str(len(found.arcs)), str(shd(found, clinic)), f"{below:.1f}"))
print("\n".join(f"  {line}" for line in aligned(table)))
say("\nHow many rows does it take? Distance to the truth:", "\n需要多少行？与真网络的结构距离：")
for n in (100, 300, 1_000, 3_000, 10_000):
    far = compare_networks(learn_network(rows[:n]), clinic)
    say(
        f"  {n:6,} rows: {far.shd}  (missing {len(far.missing)}, extra {len(far.extra)}, turned {len(far.turned)})",
        f"  {n:6,} 行：{far.shd}（缺 {len(far.missing)}，多 {len(far.extra)}，方向不同 {len(far.turned)}）",
    )

# 2. Rows determine a class of graphs; knowledge of the order in time determines the rest.
learned = learn_network(rows).cpdag()
say(
    f"\n2. Direction determined: {arrows(learned.directed, '→')}."
    f"\n   Direction not determined, by any number of rows: {arrows(learned.undirected, '—')}.",
    f"\n2. 方向确定：{arrows(learned.directed, '→')}。"
    f"\n   方向无法确定（数据再多也一样）：{arrows(learned.undirected, '—')}。",
)
times = [["asia", "smoke"], ["tub", "lung", "bronc"], ["either"], ["xray", "dysp"]]
dated = learn_network(rows, tiers=times)
same = sorted(dated.arcs) == sorted(clinic.arcs)
say(
    f"   Given the order in time, it {'finds all true arcs' if same else 'still misses some'}.",
    f"   给出时间上的先后，{'所有的边和方向就都正确' if same else '仍有几条不正确'}。",
)

# 3. Tables can be corrected by rows that come later, and by rows that should never have been there.
before = dated.cpt("lung")["yes", "yes"]
wrong = rows[(rows["smoke"] == "yes") & (rows["lung"] == "yes")][:100]
without = dated.forget(wrong).cpt("lung")["yes", "yes"]
again = dated.partial_fit(wrong).cpt("lung")["yes", "yes"]
say(
    f"\n3. P(lung | smoke) = {before:.4f}; after forgetting a hundred patients {without:.4f}; after adding them again"
    f" {again:.4f}.",
    f"\n3. P(肺癌 | 吸烟) = {before:.4f}；遗忘其中一百名病人后为 {without:.4f}；重新加入后为 {again:.4f}。",
)

# 4. The learned network is queried, and a loss determines the decision.
say(
    "\n4. A patient smokes and is short of breath. An operation costs 10, an overlooked cancer 50:\n",
    "\n4. 一名吸烟、呼吸困难的病人。手术的代价为 10，漏掉一例肺癌为 50：\n",
)
loss = {"operate": {"yes": 10, "no": 10}, "wait": {"yes": 50, "no": 0}}
actions = {"operate": ("operate", "手术"), "wait": ("wait", "观察")}
breath = {"smoke": "yes", "dysp": "yes"}
for seen in (breath, breath | {"xray": "yes"}):
    cancer = dated.query("lung", evidence=seen)
    choice = decide(cancer.to_dict(), loss)
    said = say.text(*actions[choice.actions])
    say(
        f"  {names.seen(seen)}: P(lung) = {cancer['yes']:.3f} → {said}, risk {choice.risk:.2f}",
        f"  {names.seen(seen)}：P(肺癌) = {cancer['yes']:.3f} → {said}，风险 {choice.risk:.2f}",
    )

say.end(
    stacked(
        say.text("Learned from 10,000 patients, then queried", "由一万名病人学得的网络，以及对它的查询"),
        [
            say.text(
                "A smoker who is short of breath, with an abnormal X-ray.",
                "病人吸烟、呼吸困难，X 光异常。",
            )
        ],
        [("", names.drawn(dated, breath | {"xray": "yes"}))],
    )
)
