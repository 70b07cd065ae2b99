"""Mushrooms described by letters: a few are labelled edible or poisonous, thousands are not. Do the others help?"""

import numpy as np

from _charts import lines, powers_of_two, shares
from _story import Story, aligned
from bayeskit import NaiveBayes, datasets

say = Story("unlabelled_letters")
mushrooms = datasets.load_dataset("mushroom")
X, truth = mushrooms.X, np.asarray(mushrooms.y)
say(
    f"{len(truth):,} mushrooms, {X.shape[1]} attributes, each a letter; edible or poisonous, most labels hidden.",
    f"{len(truth):,} 个蘑菇，{X.shape[1]} 个属性，各用一个字母表示；可食或有毒，但大多数没有标记。",
)


def hidden(n_labelled, seed):
    """Return labels of which all but a few, drawn at random, are None."""
    order = np.random.default_rng(seed).permutation(len(truth))
    labels = np.full(len(truth), None, dtype=object)
    # Half of each class, so that even four labels contain both.
    for label in ("e", "p"):
        chosen = order[truth[order] == label][: n_labelled // 2]
        labels[chosen] = label
    return labels


# 1. EM over labelled and unlabelled rows together.
model = NaiveBayes(semi_supervised=True).fit(X, hidden(8, seed=0))
say(
    "\n1. With eight labels. The objective: log P(c, x) of these + log P(x) of the others\n",
    "\n1. 只有八个标记。目标函数：有标记样本的 log P(c, x) 与其余样本的 log P(x) 之和\n",
)
for step in (0, 1, 2, 4, 8, model.n_iter_):
    say(
        f"   after {step:2} steps {model.history_[step]:.1f}",
        f"   第 {step:2} 步之后 {model.history_[step]:.1f}",
    )

# 2. Do the unlabelled rows help? It depends on how many labels there are.
weights = {
    say.text("labelled rows alone", "只用有标记的"): 0.0,
    say.text("all rows alike", "全部一视同仁"): 1.0,
    say.text("weight by leave-one-out", "权重由留一法定"): "loo",
}
sizes, drawings = (4, 8, 16, 32, 64, 128), 3
found = {name: [] for name in weights}
table = [(say.text("labels", "标记数"), *weights, say.text("λ taken", "所取的 λ"))]
for size in sizes:
    right, taken = {name: [] for name in weights}, []
    for seed in range(drawings):
        labels = hidden(size, seed)
        asked = np.array([label is None for label in labels])
        for name, weight in weights.items():
            model = NaiveBayes(semi_supervised=True, unlabelled_weight=weight).fit(X, labels)
            right[name].append(float((model.predict(X) == truth)[asked].mean()))
        taken.append(f"{model.unlabelled_weight_:g}")
    for name in weights:
        found[name].append((float(np.log2(size)), float(np.mean(right[name]))))
    table.append((str(size), *(f"{points[-1][1]:.1%}" for points in found.values()), ", ".join(taken)))
say(
    "\n2. Accuracy on the unlabelled mushrooms, mean of three random choices of the labels\n",
    "\n2. 未标记蘑菇上的精度；标记随机抽取三次取平均\n",
)
print("\n".join(f"   {line}" for line in aligned(table)))
say(
    "\nUnlabelled rows help if labels are few. With more labels they hurt: the two clusters that naive Bayes finds are"
    "\nnot exactly the edible and the poisonous mushrooms. Leave-one-out may choose λ = 0; then nothing is lost.",
    "\n标记很少时，未标记样本有帮助；标记多了反而有害：朴素贝叶斯找到的两个簇，并不恰好是可食与有毒。"
    "\n留一法可以取 λ = 0，那样就不会有损失。",
)
least = min(share for points in found.values() for _, share in points)
say.end(
    lines(
        say.text("What unlabelled mushrooms teach", "无标记的蘑菇教会了什么"),
        [
            say.text("Mean of three random choices of the labels.", "标记随机抽取三次取平均。"),
            say.text(
                "Where the first line and the third coincide, leave-one-out took λ = 0.",
                "第一条线与第三条线重合处，留一法取了 λ = 0。",
            ),
        ],
        found,
        say.text("labelled mushrooms; each step doubles", "有标记的蘑菇数，每格加倍"),
        say.text("unlabelled ones told right", "无标记者判对的比例"),
        powers_of_two(sizes[0], sizes[-1]),
        [tick for tick in shares(1.0, 0.05) if tick[0] > least - 0.05],
    )
)
