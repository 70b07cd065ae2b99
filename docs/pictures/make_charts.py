"""Draw the charts of the guide, in English and Chinese. Run as `python docs/pictures/make_charts.py`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from bayeskit import GaussianMixture, NaiveBayes, datasets
from bayeskit.charts import cost_curve, reject_curve, reliability

PICTURES = (
    "nomogram",
    "class_profile",
    "regions",
    "waterfall",
    "reliability",
    "reject_curve",
    "cost_curve",
    "mixture",
    "component_choice",
)
LANGUAGES = {"en": "", "zh": ".zh-CN"}


@cache
def persons() -> tuple[Any, Any, Any]:
    """Classes of adult's rows, the posterior of each by the model of all others, and which classes there are."""
    adult = datasets.load_dataset("adult")
    model = NaiveBayes().fit(adult.X, adult.y)
    return adult.y, model.leave_one_out(adult.X, adult.y), model.classes_


@cache
def mixtures() -> GaussianMixture:
    kinds = ["full", "diag"]
    return GaussianMixture(range(1, 7), covariance_type=kinds, random_state=0).fit(
        datasets.load_dataset("iris").X
    )


def drawn(name: str, lang: str) -> str:
    """Return one of the pictures as SVG."""
    melon, iris = datasets.load_dataset("melon3"), datasets.load_dataset("iris")
    melons = NaiveBayes().fit(melon.frame, target="好瓜")
    petals = ("petallength", "petalwidth")
    match name:
        case "nomogram":
            return melons.nomogram("是", row=melon.X.iloc[[0]], lang=lang).svg()
        case "class_profile":
            return melons.class_profile(most=4, lang=lang).svg()
        case "regions":
            model = NaiveBayes().fit(iris.frame, target="class")
            return model.regions(*petals, rows=iris.X, labels=iris.y, grid=40, lang=lang).svg()
        case "waterfall":
            return melons.explain(melon.X.iloc[[9]], lang=lang).waterfall().svg()
        case "reliability":
            return reliability(*persons(), lang=lang).svg()
        case "reject_curve":
            return reject_curve(*persons(), lang=lang).svg()
        case "cost_curve":
            return cost_curve(*persons(), lang=lang).svg()
        case "mixture":
            found = GaussianMixture(3, random_state=0).fit(iris.X)
            return str(found.plot(iris.X, columns=[2, 3], labels=iris.y, lang=lang))
        case "component_choice":
            return str(mixtures().choice_.chart(lang=lang))
    raise LookupError(name)


if __name__ == "__main__":
    for each in PICTURES:
        for lang, ending in LANGUAGES.items():
            Path(__file__).with_name(f"{each}{ending}.svg").write_text(drawn(each, lang), encoding="utf-8")
