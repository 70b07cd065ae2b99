"""Height and weight of 114 simulated students, clustered into two groups without their sex, then compared with it."""

import numpy as np

from _story import Story, aligned
from bayeskit import GaussianMixture, datasets
from bayeskit.mixtures import match_labels

say = Story("height_weight")
students = datasets.load_dataset("height-weight")
women, men = say.text("female", "女"), say.text("male", "男")
sex = np.where(students.y == 0, women, men)
columns = [say.text("height (cm)", "身高（厘米）"), say.text("weight (kg)", "体重（千克）")]
frame = students.X.set_axis(columns, axis=1)
X = frame.to_numpy()

# 1. EM finds two components; what they mean is not known.
settings = {"n_init": 10, "tol": 1e-6, "max_iter": 1000, "random_state": 0}
found = GaussianMixture(2, **settings).fit(frame)
say(
    f"1. Two components in the heights and weights of {len(X)} students, after {found.n_iter_} steps of EM\n",
    f"1. {len(X)} 名学生的身高与体重，EM 走了 {found.n_iter_} 步，得到两个分量\n",
)
table = [(say.text("component", "分量"), say.text("weight", "权重"), *columns)]
for k, weight in enumerate(found.weights_):
    spread = np.sqrt(np.diag(found.covariances_[k]))
    table.append(
        (
            str(k),
            f"{weight:.3f}",
            *(f"{m:.1f} ± {s:.1f}" for m, s in zip(found.means_[k], spread, strict=True)),
        )
    )
print("\n".join(f"   {line}" for line in aligned(table)))
say(
    f"\n   The log-likelihood rose from {found.history_[0]:.2f} to {found.history_[-1]:.2f}.",
    f"\n   对数似然由 {found.history_[0]:.2f} 升到 {found.history_[-1]:.2f}。",
)

# 2. Components have numbers, not names; the sexes are matched to them so that most rows agree.
matched = match_labels(found.predict(X), sex)
say(
    f"\n2. Only now is the sex used: it agrees with the component for {matched.accuracy:.1%} of the students\n",
    f"\n2. 这时才使用性别：{matched.accuracy:.1%} 的学生与所在分量相符\n",
)
head = say.text("mean found", "求得的均值"), say.text("mean of the sex", "该性别的均值")
table = [(say.text("component", "分量"), *matched.labels, *head)]
for component, counts in zip(matched.components, matched.table.tolist(), strict=True):
    label = matched[component]
    means = found.means_[component], X[sex == label].mean(axis=0)
    table.append(
        (
            f"{component} → {label}",
            *map(str, counts),
            *(f"{height:.1f}, {weight:.1f}" for height, weight in means),
        )
    )
print("\n".join(f"   {line}" for line in aligned(table)))
say(
    "\n   EM only maximises the likelihood of the rows. That a component corresponds to a sex is an assumption.",
    "\n   EM 只使数据的似然尽可能大；分量与性别对应只是一种假设。",
)

# 3. Missing cells are integrated out: nothing is imputed.
shares = dict(
    zip((matched[k] for k in range(2)), found.predict_proba([[170.0, np.nan]])[0].tolist(), strict=True)
)
holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
again = GaussianMixture(2, **settings).fit(holes)
agreed = match_labels(again.predict(holes), sex).accuracy
say(
    f"\n3. For a person of 170 cm and unknown weight, P({men}) = {shares[men]:.3f}."
    f"\n   With a fifth of the numbers removed, {agreed:.1%} still agree, and nothing was imputed.",
    f"\n3. 某人身高 170 厘米，体重未知：P({men}) = {shares[men]:.3f}。"
    f"\n   即使去掉表中五分之一的数，仍有 {agreed:.1%} 相符，而且没有作任何填补。",
)
say.end(found.plot(frame, labels=sex, lang=say.lang))
