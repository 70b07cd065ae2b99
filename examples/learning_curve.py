"""Naive Bayes and logistic regression: a generative and a discriminative model, from 16 rows to 2,048."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from _charts import lines, powers_of_two, shares
from _story import Story, aligned
from bayeskit import NaiveBayes, datasets

say = Story("learning_curve")
adult = datasets.load_dataset("adult")
unused = ("fnlwgt", "race", "sex", "native-country")  # a sampling weight; three left out on purpose
columns = {name: adult.columns[name] for name in adult.attributes if name not in unused}
texts = [name for name, column in columns.items() if column.dtype == object]
numbers = [name for name in columns if name not in texts]

# Naive Bayes reads the table unchanged; logistic regression needs a column of zeros and ones for every state.
states = OneHotEncoder(sparse_output=False).fit_transform(
    np.column_stack([columns[n].astype(str) for n in texts])
)
scaled = StandardScaler().fit_transform(np.column_stack([columns[n] for n in numbers]))
matrix = np.hstack([states, scaled])
order = np.random.default_rng(0).permutation(len(adult))
judged, pool = order[:2000], order[2000:]
say(
    f"Who earns more than 50,000? {len(columns)} attributes, or {matrix.shape[1]} columns for logistic regression.\n"
    f"Error on {len(judged):,} test rows, mean of eight random training samples:\n",
    f"谁的年收入超过 5 万？{len(columns)} 个属性；对数几率回归要展开成 {matrix.shape[1]} 列。\n"
    f"在 {len(judged):,} 人上的错误率，训练样本抽取八次取平均：\n",
)

# A Student density accounts for the number of rows, which matters with 16 of them.
generative = say.text("naive Bayes", "朴素贝叶斯")
discriminative = say.text("logistic regression", "对数几率回归")
penalised = say.text("logistic regression, penalised", "对数几率回归（加罚项）")
solver = {"solver": "newton-cholesky", "max_iter": 200}
models = {
    generative: NaiveBayes(numeric="student"),
    # Almost without a penalty: with none at all, linearly separable rows have no best plane.
    discriminative: LogisticRegression(C=1000, **solver),
    penalised: LogisticRegression(C=1, **solver),
}


def rows(model, chosen):
    """Return rows in the form that a model takes."""
    return {n: c[chosen] for n, c in columns.items()} if isinstance(model, NaiveBayes) else matrix[chosen]


sizes = (16, 32, 64, 128, 256, 512, 1024, 2048)
curves = {name: [] for name in models}
table = [(say.text("rows", "样本数"), *models)]
for size in sizes:
    for name, model in models.items():
        wrong = []
        for drawing in range(8):
            # The larger samples contain the smaller ones, so that curves differ by added rows, not by chance.
            chosen = np.random.default_rng(drawing).permutation(pool)[:size]
            with threadpool_limits(1):  # these matrices are small: a second thread would only wait
                model.fit(rows(model, chosen), adult.y[chosen])
            wrong.append(1 - model.score(rows(model, judged), adult.y[judged]))
        curves[name].append((float(np.log2(size)), float(np.mean(wrong))))
    table.append((f"{size:,}", *(f"{points[-1][1]:.1%}" for points in curves.values())))
print("\n".join(f"  {line}" for line in aligned(table)))

ahead = [size for i, size in enumerate(sizes) if curves[generative][i][1] < curves[discriminative][i][1]]
first, last = min(ahead), max(ahead)
say(
    f"\nFrom {first} to {last} rows, naive Bayes is better than plain logistic regression: the number of rows it needs"
    "\ngrows with the logarithm of the number of attributes, that of logistic regression with the number itself (Ng and"
    "\nJordan 2001). With more rows it stops improving, because attributes depend on each other; logistic regression"
    "\ndoes not assume independence. A penalty closes most of the gap: with few rows, a prior helps.",
    f"\n样本数从 {first} 到 {last} 时，朴素贝叶斯优于普通的对数几率回归：前者所需的样本数随属性数的对数增长，"
    "\n后者则与属性数成正比（Ng 与 Jordan，2001）。样本更多时它不再改进，因为属性之间有依赖，而对数几率回归不假设独立。"
    "\n加上正则化项，差距大半消失：样本少时，先验有帮助。",
)
most = max(error for points in curves.values() for _, error in points)
say.end(
    lines(
        say.text("Generative and discriminative", "生成式与判别式"),
        [say.text("Census income, mean of eight random samples.", "人口普查收入数据，抽取八次取平均。")],
        curves,
        say.text("rows learned from; each step doubles", "训练样本数，每格加倍"),
        say.text("error", "错误率"),
        powers_of_two(sizes[0], sizes[-1]),
        shares(most, 0.05)[2:],
    )
)
