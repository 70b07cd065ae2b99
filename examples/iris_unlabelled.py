"""Iris without labels: three components found from measurements alone, then matched to the species."""

from _story import Story, aligned
from bayeskit import GaussianMixture, datasets
from bayeskit.mixtures import match_labels

say = Story("iris_unlabelled")
iris = datasets.load_dataset("iris")
chinese = ["花萼长（厘米）", "花萼宽（厘米）", "花瓣长（厘米）", "花瓣宽（厘米）"]
english = ["sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"]
X = iris.X.set_axis(say.text(english, chinese), axis=1)
botany = {"setosa": "山鸢尾", "versicolor": "变色鸢尾", "virginica": "维吉尼亚鸢尾"}
species = [say.text(name, botany[name]) for name in (label.removeprefix("Iris-") for label in iris.y)]
settings = {"n_init": 10, "tol": 1e-6, "max_iter": 1000, "random_state": 0}

# 1. The shape of the components matters more than anything else.
say(
    "1. Three components, four kinds of covariance. Soft EM divides flowers, hard EM assigns them whole\n",
    "1. 三个分量，四种协方差。软 EM 按比例分配每朵花，硬 EM 把整朵花归给一个分量\n",
)
kinds = {"full": "任意", "tied": "共用", "diag": "对角", "spherical": "球形"}
head = [("covariance", "协方差"), ("log-likelihood", "对数似然"), ("BIC", "BIC")]
head += [("agree, soft", "相符（软）"), ("agree, hard", "相符（硬）")]
table, models = [tuple(say.text(*pair) for pair in head)], {}
for kind, name in kinds.items():
    models[kind] = soft = GaussianMixture(3, covariance_type=kind, **settings).fit(X)
    hard = GaussianMixture(3, covariance_type=kind, hard=True, **settings).fit(X)
    agree = [f"{match_labels(model.predict(X), species).accuracy:.1%}" for model in (soft, hard)]
    table.append((say.text(kind, name), f"{soft.history_[-1]:.2f}", f"{soft.bic(X):.1f}", *agree))
print("\n".join(f"   {line}" for line in aligned(table)))

# 2. Which component is which species, and where they are confused.
found = models["full"]
matched = match_labels(found.predict(X), species)
say(
    f"\n2. Full covariances agree with the species in {matched.accuracy:.1%} of the flowers\n",
    f"\n2. 用任意协方差，{matched.accuracy:.1%} 的花与品种相符\n",
)
for component, counts in zip(matched.components, matched.table.tolist(), strict=True):
    fell = ", ".join(f"{label} {count}" for count, label in zip(counts, matched.labels, strict=True) if count)
    say(f"   component {component}: {fell}", f"   分量 {component}：{fell}")
shares = found.predict_proba(X)
doubtful = int(shares.max(axis=1).argmin())
told = ", ".join(f"{matched[k]} {share:.3f}" for k, share in enumerate(shares[doubtful]))
say(
    f"\n   The least certain flower is number {doubtful + 1}, {species[doubtful]}: {told}.",
    f"\n   最不确定的是第 {doubtful + 1} 朵，{species[doubtful]}：{told}。",
)

# 3. Restarts matter: from one random start each, EM ends in different places.
ends = [
    GaussianMixture(3, init_params="random", tol=1e-6, max_iter=1000, random_state=seed).fit(X).history_[-1]
    for seed in range(8)
]
listed = ", ".join(f"{end:.1f}" for end in sorted(ends))
say(
    f"\n3. Eight single random starts converge to {listed};"
    f"\n   the best of ten starts, after a few steps from each, to {found.history_[-1]:.1f}.",
    f"\n3. 八个随机初值，分别收敛到 {listed}；\n   十个初值各迭代几步，从最好的一个继续，得 {found.history_[-1]:.1f}。",
)
by_bic = GaussianMixture("bic", covariance_type=["full", "tied"], **settings).fit(X)
say(
    f"\n4. BIC selects {by_bic.n_components_} components ({by_bic.covariance_type_}), not three: two of the species"
    " overlap.",
    f"\n4. BIC 选出 {by_bic.n_components_} 个分量（协方差：{kinds[by_bic.covariance_type_]}），而不是三个："
    "其中两个品种有重叠。",
)
say.end(found.plot(X, columns=[2, 3], labels=species, lang=say.lang))
