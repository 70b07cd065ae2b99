"""Naive Bayes and its semi-naive relatives: what they find in seventeen melons, and how well they do on census data."""

from _charts import Column, bars
from _story import Story, aligned
from bayeskit import AODE, KDB, SPODE, TAN, AnDE, AutoBayes, NaiveBayes, SelectiveKDB, WeightedNB, datasets

say = Story("semi_naive")

# 1. Each relative lets attributes depend on each other, in its own way. A tree of melons can be read.
melon = datasets.load_dataset("melon2")
tree = TAN().fit(melon.X, melon.y)
say("1. TAN finds a tree in seventeen melons:\n", "1. TAN 在十七个西瓜中找到的树：\n")
for parent, child, information in tree.arcs_:
    print(f"   {parent} → {child}   I = {information:.4f}")
good = AODE().fit(melon.X, melon.y).predict_proba(melon.X[:1])[0, 1]
plain = NaiveBayes().fit(melon.X, melon.y).predict_proba(melon.X[:1])[0, 1]
say(
    f"\n   The first of them is good with P = {plain:.4f} (naive Bayes), {good:.4f} (AODE, averaging super-parents).",
    f"\n   第一个是好瓜的概率：朴素贝叶斯 {plain:.4f}，AODE（对各超父取平均）{good:.4f}。",
)
# Rows can be forgotten: the tree is then that of the other rows.
tree.forget(melon.X[:1], melon.y[:1])
assert tree.structure_ == TAN().fit(melon.X[1:], melon.y[1:]).structure_

# 2. Census data are large enough to show which dependences help.
adult = datasets.load_dataset("adult")
n = 8_000
X, y, others, truth = adult.X[:n], adult.y[:n], adult.X[n : 2 * n], adult.y[n : 2 * n]
say(
    f"\n2. Who earns more than 50,000? {n:,} training rows and {n:,} test rows.\n",
    f"\n2. 谁的年收入超过 5 万？训练样本 {n:,} 个，测试样本 {n:,} 个。\n",
)
families = {
    say.text("attributes depend on the class alone", "属性只依赖类别"): [NaiveBayes(), WeightedNB()],
    say.text("one parent beside the class", "除类别外一个父属性"): [SPODE(), TAN(), AODE()],
    say.text("two parents or more", "两个或更多父属性"): [AnDE(2), KDB(2), SelectiveKDB()],
    say.text("several models, weighed", "多个模型加权"): [AutoBayes()],
}
head = [("model", "模型"), ("log-loss, left out", "留一对数损失"), ("error, others", "新样本错误率")]
table, groups = [tuple(say.text(*pair) for pair in head)], []
for family, models in families.items():
    found = []
    for model in models:
        model.fit(X, y)
        # The trees of AutoBayes were grown from these rows; its own score uses predictions without the row.
        loss = model.loo_score_ if isinstance(model, AutoBayes) else model.loo_score(X, y)
        found.append((type(model).__name__, loss, 1 - model.score(others, truth)))
    groups.append((family, found))
    table += [(name, f"{loss:.3f}", f"{error:.1%}") for name, loss, error in found]
print("\n".join(f"   {line}" for line in aligned(table)))
heard = ", ".join(f"{name} {weight:.2f}" for name, weight in families[groups[-1][0]][0].weights_.items())
say(
    f"\n   Leave-one-out costs one pass over the training rows. The weights in AutoBayes: {heard}."
    "\n   The error of naive Bayes is only slightly higher, but its log-loss shows that it is overconfident.",
    f"\n   留一法只需扫描一遍训练数据。AutoBayes 中各成员的权重：{heard}。"
    "\n   朴素贝叶斯的错误率只略高一些，但从对数损失看，它过于自信。",
)

title = say.text("Naive Bayes and its relatives", "朴素贝叶斯和它的亲属")
note = say.text(
    "Census income: trained on 8,000 people, tested on 8,000 others. Shorter is better.",
    "人口普查收入：学习 8,000 人，检验另外 8,000 人。越短越好。",
)
columns = [
    Column(say.text("log-loss, left out", "留一对数损失"), lambda loss: f"{loss:.3f}"),
    Column(say.text("error, others", "新样本错误率"), lambda share: f"{share:.1%}"),
]
say.end(bars(title, [note], groups, columns))
