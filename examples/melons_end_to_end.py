"""Seventeen melons from a file to a decision: read, explain, smooth, leave one out, decide, forget, merge two farms."""

import tempfile
from pathlib import Path

import numpy as np

from _story import Story
from bayeskit import NaiveBayes, datasets
from bayeskit.decision import decide

say = Story("melons_end_to_end")
melons = datasets.load_dataset("melon3")
rows = melons.frame

# 1. Read. A table on disk, in the encoding that a spreadsheet in China saves: words and numbers, nothing prepared.
folder = Path(tempfile.mkdtemp())
file = folder / "melons.csv"
rows.to_csv(file, index=False, encoding="gbk")
model = NaiveBayes().fit(file, target="好瓜", encoding="gbk")
say(f"1. Read from {file.name}: {len(melons)} melons.", f"1. 从 {file.name} 读入 {len(melons)} 个西瓜。")
for variable in model.schema_.attributes:
    kind = {"categorical": ("words", "文字"), "numeric": ("numbers", "数值")}[variable.kind]
    print(f"   {variable.name}: {say.text(*kind)}", *variable.states[:4])

# 2. Explain the melon that the textbook asks about.
asked = {"色泽": "青绿", "根蒂": "蜷缩", "敲声": "浊响", "纹理": "清晰", "脐部": "凹陷", "触感": "硬滑"}
asked |= {"密度": 0.697, "含糖率": 0.460}
say("\n2. Is this a good one?\n", "\n2. 这是好瓜吗？\n")
print(model.explain(asked, lang=say.lang))

# 3. The prior is imaginary data, added before dividing: only the fractions change.
say("\n3. The same melon under other priors\n", "\n3. 换一种平滑，同一个瓜\n")
for smoothing in ("mle", "laplace", "m-estimate", "bdeu"):
    page = NaiveBayes(smoothing=smoothing).fit(rows, target="好瓜").explain(asked)
    texture = next(item for item in page.attributes if item.name == "纹理")
    print(
        f"   {smoothing:10}  P(清晰 | 是) = {texture.factors[1].working}, P(是 | x) = {page.posterior[1]:.4f}"
    )

# 4. How far to trust it: each melon predicted from the other sixteen, in one pass.
left_out = model.leave_one_out(rows[list(melons.attributes)], melons.y)
right = model.classes_[left_out.argmax(axis=1)] == melons.y
say(
    f"\n4. Leave-one-out: {right.sum()} of {len(melons)} correct. Wrong: numbers "
    f"{', '.join(map(str, melons.index[~right]))}.",
    f"\n4. 留一法：{len(melons)} 个中判对 {right.sum()} 个，判错的编号是 {'、'.join(map(str, melons.index[~right]))}。",
)

# 5. Decide with some attributes only: those that are missing are left out, not guessed.
loss = {"buy": {"是": 0, "否": 5}, "leave": {"是": 1, "否": 0}}
names = {"buy": ("buy", "买"), "leave": ("leave", "不买"), "knock": ("knock again", "再敲敲看")}
say(
    "\n5. Buying a bad melon costs 5, leaving a good one 1, knocking again 0.6. The decision, given some attributes:",
    "\n5. 买到坏瓜代价为 5，错过好瓜为 1，再敲敲看为 0.6。已知若干属性时的决策：",
)
for known in (["色泽"], ["色泽", "纹理"], list(asked)):
    row = {name: [asked[name] if name in known else None] for name in asked}
    posterior = dict(zip(model.classes_.tolist(), model.predict_proba(row)[0].tolist(), strict=True))
    choice = decide(posterior, loss, reject=0.6, actions=["buy", "leave", "knock"])
    listed = "、".join(known) if len(known) < len(asked) else say.text("everything", "全部")
    print(f"   {listed}: P(是) = {posterior['是']:.3f} → {say.text(*names[choice.actions])}")

# 6. Forget. Melon 17 was measured wrongly: its counts are subtracted, and the model is that of the other sixteen.
some, label = rows[list(melons.attributes)], np.asarray(melons.y)


def good(learned):
    """Return P(是) of all melons."""
    return learned.predict_proba(some)[:, 1]


before = good(model)
model.forget(some[16:], label[16:])
after = good(model)
apart = np.abs(after - good(NaiveBayes().fit(some[:16], label[:16]))).max()
say(
    f"\n6. Number 17 is forgotten. Its own P(是) changes from {before[16]:.3f} to {after[16]:.3f}, because it is no"
    f"\n   longer part of the training rows. A model fitted without it differs by {apart:.1g}.",
    f"\n6. 遗忘 17 号。它自己的 P(是) 从 {before[16]:.3f} 变为 {after[16]:.3f}，因为它不再是训练样本。"
    f"\n   与不含 17 号训练的模型相差 {apart:.1g}。",
)

# 7. Merge. Two farms, neither of which shows its rows: only sums are exchanged.
east, west = NaiveBayes().fit(some[::2], label[::2]), NaiveBayes().fit(some[1::2], label[1::2])
both, whole = east + west, NaiveBayes().fit(rows, target="好瓜")
apart = np.abs(good(both) - good(whole)).max()
say(
    f"\n7. Two farms with {len(some[::2])} and {len(some[1::2])} melons add their sums:"
    f" the posteriors differ from those of all rows by {apart:.1g}.",
    f"\n7. 两个瓜园分别有 {len(some[::2])} 个和 {len(some[1::2])} 个瓜，把统计量相加："
    f"后验概率与用全部数据所得相差 {apart:.1g}。",
)
saved = folder / "melons.bayes"
both.save(saved)
say(
    f"   The saved model has {saved.stat().st_size:,} bytes.",
    f"   保存的模型有 {saved.stat().st_size:,} 字节。",
)
say.end(whole.nomogram("是", row=asked, lang=say.lang))
