"""How many components, and which shape? Four kinds of covariance, one to six components, one table, one chart."""

import numpy as np

from _story import Story, aligned
from bayeskit import GaussianMixture
from bayeskit.mixtures import match_labels

say = Story("choose_components")

# 1. Three long clouds that lie in the same direction: one shared covariance, and no round one.
rng = np.random.default_rng(7)
shape = [[3.0, 1.6], [1.6, 1.2]]
centres = [(0, 0), (6, -1), (-1, 6)]
X = np.vstack([rng.multivariate_normal(centre, shape, 120) for centre in centres])
cloud = np.repeat(["a", "b", "c"], 120)
say(
    f"1. {len(X)} points in three long clusters with the same direction. One to six components, four kinds of"
    "\n   covariance: 24 mixtures, of which the one with the lowest BIC is chosen.",
    f"1. {len(X)} 个点，三团，都细长且朝同一方向倾斜。分量从一个到六个，协方差有四种："
    "\n   共 24 个混合模型，取 BIC 最小的。",
)
kinds = ["full", "tied", "diag", "spherical"]
model = GaussianMixture(
    range(1, 7), covariance_type=kinds, n_init=5, tol=1e-6, max_iter=2000, accelerate=True, random_state=0
).fit(X)
choice = model.choice_

# 2. A shape that does not fit needs more components.
head = [
    ("covariance", "协方差"),
    ("components", "分量"),
    ("parameters", "参数"),
    ("log-likelihood", "对数似然"),
]
meanings = {"full": "任意", "tied": "共用", "diag": "对角", "spherical": "球形"}
table = [(*(say.text(*pair) for pair in head), "BIC")]
for kind in kinds:
    best = min((c for c in choice.candidates if c.covariance_type == kind), key=lambda c: c.bic)
    numbers = str(best.n_components), str(best.n_parameters), f"{best.log_likelihood:.1f}", f"{best.bic:.1f}"
    table.append((say.text(kind, f"{kind}（{meanings[kind]}）"), *numbers))
say("\n2. The best of each kind\n", "\n2. 每种协方差中最好的一个\n")
print("\n".join(f"   {line}" for line in aligned(table)))
say(
    "\n   Covariances without correlation need more components to cover a slanted cluster.",
    "\n   不能倾斜的协方差，要用更多的分量才能盖住倾斜的一团。",
)

# 3. The choice, and what would be chosen without a penalty.
right = match_labels(model.predict(X), cloud).accuracy
likeliest = max(choice.candidates, key=lambda c: c.log_likelihood)
say(
    f"\n3. Chosen: {model.n_components_} components, {model.covariance_type_}; {right:.1%} of the points are in"
    " their own cluster."
    f"\n   By likelihood alone: {likeliest.n_components}, {likeliest.covariance_type}. More parameters always fit"
    " better.",
    f"\n3. 选中：{model.n_components_} 个分量，{model.covariance_type_}；{right:.1%} 的点归入了自己的那一团。"
    f"\n   若只看似然，会选 {likeliest.n_components} 个，{likeliest.covariance_type}：参数越多，总是拟合得越好。",
)
say.end(choice.chart(lang=say.lang))
