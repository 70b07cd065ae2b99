"""One model in production: saved, counted once in a store, lazy over a live database, and monitored for drift."""

import sqlite3
import tempfile
from pathlib import Path

import numpy as np

from _charts import lines, shares
from _story import Story
from bayeskit import NaiveBayes, TallyStore, datasets, load
from bayeskit.classifiers import DriftMonitor

say = Story("in_production")
mushrooms = datasets.load_dataset("mushroom")
names, y = list(mushrooms.attributes), mushrooms.y.tolist()
columns = {name: mushrooms.columns[name] for name in names}
BATCH, N = 400, 4_000
folder = Path(tempfile.mkdtemp())


def part(start, stop):
    """Return some rows as columns, and their labels."""
    return {name: column[start:stop] for name, column in columns.items()}, y[start:stop]


# 1. A file: what was learned on the first day, read by any program.
NaiveBayes().fit(*part(0, BATCH)).save(folder / "mushroom.bayes")
saved = load(folder / "mushroom.bayes")
say(
    f"1. A model of the first {BATCH} mushrooms, saved to a file. 'bayeskit serve' would answer requests with it.",
    f"1. 用前 {BATCH} 个蘑菇学得的模型，存成文件。'bayeskit serve' 可以用它回答请求。",
)

# 2. A live table: others insert rows, and the lazy model counts the rows present at each prediction.
base = sqlite3.connect(folder / "forest.db")
typed = ", ".join(f'"{name}" TEXT' for name in names)
base.execute(f"CREATE TABLE found ({typed}, kind TEXT)")
marks = ", ".join("?" * (len(names) + 1))
lazy = NaiveBayes().lazy(f"sqlite:///{folder / 'forest.db'}?table=found", target="kind")

# 3. A store: every batch is counted once, although each job runs twice here, like one that is restarted.
store = TallyStore(folder / "store", NaiveBayes())

monitor, drifts = DriftMonitor(), []
wrong = {
    say.text("saved on the first day", "第一天保存的模型"): [],
    say.text("asks the database", "查询数据库"): [],
}
for start in range(0, N, BATCH):
    X, labels = part(start, start + BATCH)
    if start:
        for curve, model in zip(wrong.values(), (saved, lazy), strict=True):
            curve.append((start, float(np.mean(model.predict(X) != np.array(labels)))))
        for shares_of, label in zip(saved.predict_proba(X).tolist(), labels, strict=True):
            drift = monitor.update(dict(zip(saved.classes_.tolist(), shares_of, strict=True)), label)
            drifts += [drift] if drift else []
    cells = zip(*(X[name].tolist() for name in names), labels, strict=True)
    with base:  # one transaction
        base.executemany(f"INSERT INTO found VALUES ({marks})", cells)
    for _ in range(2):
        store.append(f"day {start // BATCH}", X, labels)
base.close()
means = [np.mean([error for _, error in curve]) for curve in wrong.values()]
say(
    f"\n2. {N:,} mushrooms arrive, {BATCH} a day, species after species. Each is predicted before it is inserted. The"
    f"\n   error of the saved model is {means[0]:.1%}, that of the lazy one, which counts the current table,"
    f" {means[1]:.1%}.",
    f"\n2. 此后每天来 {BATCH} 个，共 {N:,} 个，大致一种接一种，先预测再入库。保存的模型错误率为 {means[0]:.1%}，"
    f"\n   每次查询数据库的懒惰模型为 {means[1]:.1%}。",
)
counted = store.model()
store.close()
fresh = NaiveBayes().fit(*part(0, N))
test = part(N, None)[0]
apart = np.abs(counted.predict_proba(test) - fresh.predict_proba(test)).max()
again = np.abs(lazy.predict_proba(test) - fresh.predict_proba(test)).max()
assert counted.statistics_.total == N and max(apart, again) < 1e-9
say(
    f"\n3. The store received every batch twice and counted {N:,} rows. The store, the database and a fit to all rows"
    "\n   give the same probabilities.",
    f"\n3. 每一批都交给存储两次，它只计了 {counted.statistics_.total:,.0f} 个。存储、数据库与用全部样本训练的模型，"
    "\n   概率相同。",
)
assert drifts
say(
    f"\n4. After {drifts[0].row:,} predictions, the drift monitor reported that the saved model had become worse.",
    f"\n4. 漂移监视器在 {drifts[0].row:,} 次预测之后报告：保存的模型变差了。",
)

title = say.text("A saved model and a live table", "保存的模型与在线的表")
note = say.text(
    f"Each day's {BATCH} mushrooms are predicted, then inserted.", f"每天 {BATCH} 个蘑菇，先预测，再入库。"
)
ticks = [(k, f"{k:,}") for k in range(0, N + 1, 1_000)]
across, up = say.text("mushrooms in the table", "表中的蘑菇数"), say.text("error", "错误率")
say.end(lines(title, [note], wrong, across, up, ticks, shares(1.0, 0.25)))
