"""A mixture: heights and weights split into two without being told the sexes, which are then looked up."""

from __future__ import annotations

from typing import Any

from bayeskit.cli.demos.told import Part, Told
from bayeskit.report.textbook.found import chooser

SEXES = {0: ("female", "女"), 1: ("male", "男")}
UNKNOWN = 170.0


def tell(lang: str) -> Told:
    """Return the demonstration in a language."""
    import numpy as np

    from bayeskit import GaussianMixture, datasets
    from bayeskit.mixtures import match_labels

    say, data = chooser(lang), datasets.load("height-weight")
    X = np.column_stack([data.columns[name] for name in data.attributes]).astype(float)
    model = GaussianMixture(2, n_init=10, tol=1e-6, max_iter=1000, random_state=0).fit(X)
    matched: Any = match_labels(model.predict(X), data.y)
    groups = []
    for k, sex in matched.items():
        truth = X[data.y == sex].mean(axis=0)
        groups.append(
            {"component": int(k), "sex": int(sex), "weight": float(model.weights_[k])}
            | {"mean": model.means_[k].tolist(), "mean_of_the_sex": truth.tolist()}
        )
    shares = model.predict_proba([[UNKNOWN, np.nan]])[0].tolist()
    male = next(shares[each["component"]] for each in groups if each["sex"] == 1)
    names = {sex: say(*pair) for sex, pair in SEXES.items()}
    rows = [
        (
            f"{each['component']} → {names[each['sex']]}",
            f"{each['weight']:.3f}",
            *("{:.1f} cm, {:.1f} kg".format(*each[key]) for key in ("mean", "mean_of_the_sex")),
        )
        for each in groups
    ]
    agreed = round(matched.accuracy * len(data))
    return Told(
        "mixture",
        say("Height and weight of 114 students, whose sex is not told", "114 名学生的身高和体重，性别未告知"),
        (
            Part(
                say(
                    "1. Two Gaussians by EM, matched with the sexes", "1. 用 EM 求两个高斯分布，再与性别对应"
                ),
                (
                    say(
                        "{agreed} of {n} students fall into the component of their sex. That a component is "
                        "a sex is a claim "
                        "about the world: EM only finds what makes the rows probable.",
                        "{n} 名学生中有 {agreed} 名落在其性别对应的分量里。分量是否就是性别，要由事实判断："
                        "EM 只负责使数据出现的概率尽可能大。",
                    ).format(agreed=agreed, n=len(data)),
                ),
                (
                    say("component", "分量"),
                    say("weight", "权重"),
                    say("found", "求得"),
                    say("of the sex", "实际"),
                ),
                tuple(rows),
            ),
            Part(
                say("2. A cell is missing", "2. 缺一格"),
                (
                    say(
                        "Somebody is 170 cm tall, the weight is not known: P({name}) = {p:.3f}; nothing was "
                        "filled in.",
                        "某人身高 170 cm，体重未知：P({name}) = {p:.3f}；没有填补任何数。",
                    ).format(name=names[1], p=male),
                ),
            ),
        ),
        (
            "from bayeskit import GaussianMixture, datasets",
            'X = datasets.load("height-weight").X; model = GaussianMixture("bic", random_state=0).fit(X)',
            "print(model.choice_); print(model.describe())",
        ),
        {"groups": groups, "rows": len(data), "agreed": agreed, "p_male_at_170_cm": male}
        | {"log_likelihood": float(model.history_[-1])},
    )
