"""The mixture demonstration: clusters heights and weights without the sexes, then compares with them."""

from __future__ import annotations

from functools import partial
from typing import Any

from bayeskit._cli.demos.demo_page import DemoPage, DemoSection
from bayeskit._messages import text_in

SEXES = {0: "female", 1: "male"}
UNKNOWN = 170.0


def make_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    import numpy as np

    from bayeskit import GaussianMixture, datasets
    from bayeskit._mixtures.label_matching import match_labels

    say, data = partial(text_in, lang), datasets.load_dataset("height-weight")
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
    names = {sex: say(name) for sex, name in SEXES.items()}
    rows = [
        (
            f"{each['component']} → {names[each['sex']]}",
            f"{each['weight']:.3f}",
            *("{:.1f} cm, {:.1f} kg".format(*each[key]) for key in ("mean", "mean_of_the_sex")),
        )
        for each in groups
    ]
    agreed = round(matched.accuracy * len(data))
    return DemoPage(
        "mixture",
        say("Height and weight of 114 students, whose sex is not told"),
        (
            DemoSection(
                say("1. Two Gaussians by EM, matched with the sexes"),
                (
                    say(
                        "{agreed} of {n} students fall into the component of their sex. That a component is "
                        "a sex is a claim "
                        "about the world: EM only finds what makes the rows probable."
                    ).format(agreed=agreed, n=len(data)),
                ),
                (
                    say("component"),
                    say("weight"),
                    say("estimated"),
                    say("of the sex"),
                ),
                tuple(rows),
            ),
            DemoSection(
                say("2. A cell is missing"),
                (
                    say(
                        "A person is 170 cm tall, of unknown weight: P({name}) = {p:.3f}; nothing was filled in."
                    ).format(name=names[1], p=male),
                ),
            ),
        ),
        (
            "from bayeskit import GaussianMixture, datasets",
            'X = datasets.load_dataset("height-weight").X; model = GaussianMixture("bic", random_state=0).fit(X)',
            "print(model.choice_); print(model.describe())",
        ),
        {"groups": groups, "rows": len(data), "agreed": agreed, "p_male_at_170_cm": male}
        | {"log_likelihood": float(model.history_[-1])},
    )
