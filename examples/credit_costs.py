"""Credit applications: granting a bad one costs five times as much as refusing a good one."""

from _story import Story, aligned
from bayeskit import NaiveBayes, datasets
from bayeskit.charts import cost_curve
from bayeskit.decision import decide

say = Story("credit_costs")
credit = datasets.load_dataset("credit")
accepted = (credit.y == "+").mean()
say(
    f"{len(credit)} applications, {len(credit.attributes)} anonymised attributes;"
    f" {accepted:.0%} were accepted (+).",
    f"{len(credit)} 份信用卡申请，{len(credit.attributes)} 个属性（含义保密），其中 {accepted:.0%} 获准（+）。",
)
LOSS = {"grant": {"+": 0, "-": 5}, "refuse": {"+": 1, "-": 0}}
EQUAL = {"grant": {"+": 0, "-": 1}, "refuse": {"+": 1, "-": 0}}
say(
    "Granting an application that should be refused (-) costs 5; refusing one that should be granted costs 1.\n",
    "批准本应拒绝的申请（-）代价为 5，拒绝本应批准的申请代价为 1。\n",
)

# Sums of money are skewed: a kernel density fits them, a normal density does not.
model = NaiveBayes(numeric="kernel").fit(credit.X, credit.y)
# Every application is predicted leave-one-out, so none has to be held out.
posterior = model.leave_one_out(credit.X, credit.y)


def told(name, actions):
    """Return a line of the table: the mean cost, and how often each mistake was made."""
    pairs = list(zip(actions, credit.y.tolist(), strict=True))
    mean = sum(LOSS[action][label] for action, label in pairs) / len(pairs)
    return name, f"{mean:.3f}", str(pairs.count(("grant", "-"))), str(pairs.count(("refuse", "+")))


head = [("rule", "规则"), ("mean cost", "平均代价"), ("granted in vain", "错批"), ("refused in vain", "错拒")]
table = [
    tuple(say.text(*pair) for pair in head),
    told(say.text("grant all", "全部批准"), ["grant"] * len(credit)),
    told(say.text("refuse all", "全部拒绝"), ["refuse"] * len(credit)),
    told(say.text("P(+) > 1/2", "P(+) > 1/2"), decide(posterior, EQUAL).actions),
    told(say.text("least risk: P(+) > 5/6", "风险最小：P(+) > 5/6"), decide(posterior, LOSS).actions),
]
print("\n".join(f"  {line}" for line in aligned(table)))

curve = cost_curve(credit.y, posterior, model.classes_, label="+", lang=say.lang)
# The curve divides a cost of 2 between the two mistakes; here the sum is 6, so all costs are three times as large.
hindsight = 3 * float(curve.best[abs(curve.share - 5 / 6).argmin()])
say(
    "\nThe model was not retrained: the posteriors are the same, only the threshold differs. The best threshold in"
    f"\nhindsight costs {hindsight:.3f}. In the picture, 5 : 1 is c = 5/6; other ratios are elsewhere on the curve.",
    f"\n模型没有重新训练：后验概率不变，只是换了阈值。事后最优的阈值，代价也有 {hindsight:.3f}。"
    "\n图中 5 : 1 对应 c = 5/6；其他代价之比对应曲线上的其他点。",
)
unsure = abs(posterior[:, 0] - 0.75).argmin()
choice = decide(posterior[unsure], LOSS)
risks = dict(zip(choice.names, choice.risks.tolist(), strict=True))
say(
    f"\nApplication {unsure + 1} is refused although P(+) = {posterior[unsure, 0]:.3f}: the risk of granting it is"
    f" {risks['grant']:.2f}, that of refusing it {risks['refuse']:.2f}.",
    f"\n第 {unsure + 1} 份申请：P(+) = {posterior[unsure, 0]:.3f}，却仍被拒绝：批准的风险是 {risks['grant']:.2f}，"
    f"拒绝的风险是 {risks['refuse']:.2f}。",
)
say.end(curve)
