"""Iris by two measurements of its petals: powers of them, naive Bayes, and its decision regions."""

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from _story import Story
from bayeskit import GaussianNB, datasets
from bayeskit._report.charts.regions import Side
from bayeskit.charts import Regions

say = Story("iris_regions")
iris = datasets.load_dataset("iris")
X = np.column_stack([iris.columns["petallength"], iris.columns["petalwidth"]])
species = np.array([name.removeprefix("Iris-") for name in iris.y])
X_train, X_test, y_train, y_test = train_test_split(X, species, train_size=0.8, random_state=14)
say(
    f"{len(X_train)} training flowers and {len(X_test)} test flowers; petal length and width only.\n",
    f"{len(X_train)} 朵花用于训练，{len(X_test)} 朵用于测试；只用花瓣的长和宽。\n",
)


def pipeline(degree, constant=True):
    """Return a pipeline: powers and products of the two, up to a degree, which naive Bayes treats as independent."""
    powers = PolynomialFeatures(degree, include_bias=constant)
    return make_pipeline(StandardScaler(), powers, GaussianNB()).fit(X_train, y_train)


say("degree  columns  training rows   test rows", "次数  列数  训练集  测试集")
for degree in (1, 2, 4):
    model = pipeline(degree)
    n, right = model[1].n_output_features_, [model.score(X_train, y_train), model.score(X_test, y_test)]
    say(
        f"{degree:6}{n:9}{right[0]:16.2%}{right[1]:12.2%}",
        f"{degree:4}{n:6}{right[0]:9.2%}{right[1]:8.2%}",
    )

# PolynomialFeatures puts a column of ones first. It is the same in every species, so it must have no effect.
apart = np.abs(model.predict_proba(X) - pipeline(4, constant=False).predict_proba(X)).max()
say(
    f"\nThe column of ones changes no posterior by more than {apart:.0e}.",
    f"\n恒为 1 的那一列对后验概率的影响不超过 {apart:.0e}。",
)

wrong = np.flatnonzero(model.predict(X) != species)
posterior = model.predict_proba(X)
say(
    f"The {len(wrong)} misclassified flowers lie at the same border:",
    f"判错的 {len(wrong)} 朵花都在同一条边界上：",
)
for i in wrong:
    sure, told = posterior[i].max(), model.predict(X[i : i + 1])[0]
    say(
        f"  {X[i, 0]} × {X[i, 1]} cm is {species[i]}; predicted {told} ({sure:.1%})",
        f"  {X[i, 0]} × {X[i, 1]} 厘米：实为“{species[i]}”，判为“{told}”（{sure:.1%}）",
    )
say(
    "It is overconfident: fifteen columns made of two numbers count as fifteen independent pieces of evidence.",
    "它过于自信：由两个数得到的十五列，被当作十五个独立的证据。",
)

grid = [np.linspace(0.6, 7.2, 100), np.linspace(-0.1, 2.7, 80)]
points = np.column_stack([axis.ravel() for axis in np.meshgrid(*grid)])
names = say.text("petal length (cm)", "花瓣长（厘米）"), say.text("petal width (cm)", "花瓣宽（厘米）")
say.end(
    Regions(
        target=say.text("species", "品种"),
        classes=tuple(model.classes_.tolist()),
        x=Side(names[0], True, tuple(grid[0].tolist())),
        y=Side(names[1], True, tuple(grid[1].tolist())),
        posterior=model.predict_proba(points).reshape(80, 100, -1),
        dots=tuple(
            (*row, model.classes_.tolist().index(label))
            for row, label in zip(X.tolist(), species, strict=True)
        ),
        lang=say.lang,
    )
)
