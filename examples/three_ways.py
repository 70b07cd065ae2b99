"""One classifier used in three ways: all rows at once, batch by batch, or lazily; and a use for batches."""

import numpy as np

from _charts import lines, shares
from _story import Story, aligned
from bayeskit import NaiveBayes, datasets

say = Story("three_ways")
mushrooms = datasets.load_dataset("mushroom")
X, y = mushrooms.X, mushrooms.y
BATCH, KEPT = 500, 2_000
starts = range(0, len(y), BATCH)


def batch(start):
    """Return the rows of a batch, and their labels."""
    return X[start : start + BATCH], y[start : start + BATCH]


# 1. Rows can be counted at once, in pieces, or at prediction time: the answers are the same.
table = NaiveBayes().fit(X, y)
stream = NaiveBayes()
for start in starts:
    stream.partial_fit(*batch(start))
lazy = NaiveBayes().lazy(X, y)
say(
    f"1. {len(y):,} mushrooms, edible or poisonous. P(poisonous) of the first four, in three ways:\n",
    f"1. {len(y):,} 个蘑菇，可食或有毒。用三种方式求前四个有毒的概率：\n",
)
ways = [
    (say.text("all at once, then looked up", "一次学完，查表"), table),
    (say.text(f"in batches of {BATCH}", f"每批 {BATCH} 个，增量学习"), stream),
    (say.text("nothing trained, counted when asked", "不训练，问到才数（懒惰学习）"), lazy),
]
told = [(name, *(f"{p:.6f}" for p in model.predict_proba(X[:4])[:, 1])) for name, model in ways]
print("\n".join(f"  {line}" for line in aligned(told)))
apart = max(np.abs(table.predict_proba(X) - model.predict_proba(X)).max() for model in (stream, lazy))
assert apart < 1e-12
say(
    f"\nOver all mushrooms, the three probabilities differ by at most {apart:.1g}.",
    f"\n对全部蘑菇，三种方式的概率相差不超过 {apart:.1g}。",
)

# 2. A use for batches. The file lists species roughly one after another, as a season would bring them.
first, growing, window = NaiveBayes().fit(*batch(0)), NaiveBayes(), NaiveBayes()
models = {
    say.text("learned the first 500, then no more", "只学前 500 个"): first,
    say.text("learns every batch", "每批都学"): growing,
    say.text("keeps the last 2,000", "只记住最近 2,000 个"): window,
}
wrong = {name: [] for name in models}
for start in starts:
    if start:  # evaluated before it is added
        for name, model in models.items():
            wrong[name].append((start, 1 - model.score(*batch(start))))
    growing.partial_fit(*batch(start))
    window.partial_fit(*batch(start))
    if start >= KEPT:
        window.forget(*batch(start - KEPT))
say(
    "\n2. The file lists species roughly one after another. Each batch is predicted before it is learned. Errors:\n",
    "\n2. 文件里的蘑菇大致是一种接一种排列的。每一批都先预测、后学习；总的错误率：\n",
)
rows = np.diff([*starts, len(y)])[1:]
means = {name: np.average([e for _, e in points], weights=rows) for name, points in wrong.items()}
print("\n".join(f"  {line}" for line in aligned([(name, f"{mean:.1%}") for name, mean in means.items()])))
say(
    "\nLater mushrooms differ from the first ones. A model that keeps learning is hardly affected.",
    "\n后来的蘑菇与先前的不同；一直在学的模型几乎不受影响。",
)

# 3. Forgetting is exact: the result is the model of the remaining rows.
kept = list(starts)[-1] + BATCH - KEPT
fresh = NaiveBayes().fit(X[kept:], y[kept:])
apart = np.abs(window.predict_proba(X) - fresh.predict_proba(X)).max()
assert apart < 1e-12
say(
    f"\n3. The last model learned {len(y):,} mushrooms and forgot {kept:,}. A model fitted to the other"
    f" {len(y) - kept:,}\n   differs from it by at most {apart:.1g}.",
    f"\n3. 最后一个模型学了 {len(y):,} 个，又遗忘 {kept:,} 个；与只用其余 {len(y) - kept:,} 个训练的模型相比，"
    f"\n   概率至多相差 {apart:.1g}。",
)

title = say.text("Mushrooms, species after species", "一种接一种的蘑菇")
note = say.text("Each batch of 500 is predicted before it is added.", "每批 500 个，先判断，再学习。")
ticks = [(k, f"{k:,}") for k in range(0, 8_001, 2_000)]
across, up = say.text("mushrooms seen so far", "此前见过的蘑菇数"), say.text("error", "错误率")
say.end(lines(title, [note], wrong, across, up, ticks, shares(1.0, 0.25)))
