"""EM by hand: two clusters in three dimensions, the E-step and the M-step in NumPy, compared with the library."""

import warnings
from itertools import pairwise

import numpy as np

from _story import Story
from bayeskit import GaussianMixture
from bayeskit.errors import NotConverged
from bayeskit.mixtures import match_labels

say = Story("em_by_hand")
rng = np.random.default_rng(2024)
first = rng.multivariate_normal([0, 0, 0], np.diag([1, 2, 3]), 500)
second = rng.multivariate_normal([2, 2, 1], [[3, 1, 0], [1, 3, 0], [0, 0, 3]], 250)
X, cloud = np.vstack([first, second]), np.repeat([0, 1], [500, 250])
n, d = X.shape


def joint(weights, means, covariances):
    """Return log w_k N(x; μ_k, Σ_k) for every row and component."""
    columns = []
    for w, mean, covariance in zip(weights, means, covariances, strict=True):
        z = np.linalg.solve(np.linalg.cholesky(covariance), (X - mean).T)
        size = d * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1]
        columns.append(np.log(w) - 0.5 * (size + (z**2).sum(axis=0)))
    return np.column_stack(columns)


def e_step(parameters):
    """Return the share of each component in each row, and the log-likelihood of all rows."""
    logs = joint(*parameters)
    of_rows = np.logaddexp.reduce(logs, axis=1)
    return np.exp(logs - of_rows[:, None]), of_rows.sum()


def m_step(shares):
    """Return weights, means and covariances; every row counts with its share."""
    size = shares.sum(axis=0)
    means = shares.T @ X / size[:, None]
    covariances = [(shares[:, k, None] * (X - m)).T @ (X - m) / size[k] for k, m in enumerate(means)]
    return size / n, means, np.array(covariances)


# 1. The E-step: every row is divided among the components.
start = np.array([0.5, 0.5]), np.array([[-1.0, 0, 0], [1.0, 0, 0]]), np.array([np.eye(d), np.eye(d)])
shares, value = e_step(start)
row, share, sums = (
    ", ".join(f"{number:.{digits}f}" for number in numbers)
    for numbers, digits in ((X[0], 3), (shares[0], 3), (shares.sum(axis=0), 1))
)
say(
    f"1. The first row is ({row}). The starting parameters divide it between the two components as {share}."
    f"\n   The sums over all {n} rows are {sums}. These are the weights of the first M-step.",
    f"1. 第一行是（{row}），按初始参数分给两个分量的份额为 {share}。"
    f"\n   全部 {n} 行合计：{sums}。第一个 M 步就以此为权重。",
)

# 2. Step by step; the likelihood never falls.
parameters, history = start, [value]
for _ in range(60):
    parameters = m_step(shares)
    shares, value = e_step(parameters)
    history.append(value)
assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(history)), "it never falls"
say("\n2. The log-likelihood by number of steps\n", "\n2. 若干步迭代之后的对数似然\n")
for step in (0, 1, 2, 5, 10, 20, 40, 60):
    print(f"   {step:2}  {history[step]:.4f}")

# 3. The library takes the same steps, and can take longer ones.
given = {"weights_init": start[0], "means_init": start[1], "precisions_init": np.linalg.inv(start[2])}
warnings.simplefilter("ignore", NotConverged)  # exactly sixty steps, converged or not
same = GaussianMixture(2, reg_covar=0, tol=0, max_iter=60, **given).fit(X)
worst = max(
    np.abs(a - b).max()
    for a, b in zip(parameters, (same.weights_, same.means_, same.covariances_), strict=True)
)
assert worst < 1e-9
quick = GaussianMixture(2, reg_covar=0, tol=1e-9, max_iter=1000, accelerate=True, **given).fit(X)
slow = GaussianMixture(2, reg_covar=0, tol=1e-9, max_iter=1000, **given).fit(X)
say(
    f"\n3. The library takes the same 60 steps: no number differs by more than {worst:.0e}."
    f"\n   Convergence takes {slow.n_iter_} steps; with extrapolation {quick.n_iter_}, to the same"
    f" {quick.history_[-1]:.4f}.",
    f"\n3. 用本库作同样的 60 步迭代：各数相差不超过 {worst:.0e}。"
    f"\n   收敛需 {slow.n_iter_} 步；用外推加速需 {quick.n_iter_} 步，结果同为 {quick.history_[-1]:.4f}。",
)

# 4. Giving each row wholly to one component pushes the means apart.
hard = GaussianMixture(2, reg_covar=0, hard=True, **given).fit(X)
say("\n4. Soft or hard assignment?\n", "\n4. 软分配还是硬分配？\n")
for name, model in ((say.text("soft EM", "软 EM"), quick), (say.text("hard EM", "硬 EM"), hard)):
    right = match_labels(model.predict(X), cloud).accuracy
    means = ", ".join(f"{mean:.2f}" for mean in model.means_[:, 1])
    say(
        f"   {name}: {right:.1%} of the rows in their own cluster; means of the second column {means}",
        f"   {name}：{right:.1%} 的样本归入自己的簇；第二列的两个均值 {means}",
    )
say(
    "   The true means are 0 and 2: hard assignment drives the means apart.",
    "   真实的均值是 0 和 2：硬分配使两个均值相距过远。",
)
clouds = say.text("from the first cloud", "来自第一团"), say.text("from the second cloud", "来自第二团")
say.end(quick.plot(X, labels=[clouds[c] for c in cloud], lang=say.lang))
