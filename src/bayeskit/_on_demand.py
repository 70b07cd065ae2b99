"""Import on first use: the names of a package (PEP 562), and scikit-learn in a program that may not need it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

# The classifiers of counts, and their modules: public names, and all that a saved model may name. A file is data, never
# code, so no other name is accepted.
CLASSIFIERS = {
    "NaiveBayes": "bayeskit._classifiers.naive_bayes",
    "GaussianBayes": "bayeskit._classifiers.gaussian_bayes",
    "GaussianNB": "bayeskit._classifiers.gaussian_bayes",
    "BernoulliNB": "bayeskit._classifiers.discrete_nb",
    "MultinomialNB": "bayeskit._classifiers.discrete_nb",
    "ComplementNB": "bayeskit._classifiers.discrete_nb",
    "CategoricalNB": "bayeskit._classifiers.discrete_nb",
    "SPODE": "bayeskit._classifiers.one_dependence",
    "TAN": "bayeskit._classifiers.one_dependence",
    "AODE": "bayeskit._classifiers.aode",
    "AnDE": "bayeskit._classifiers.aode",
    "KDB": "bayeskit._classifiers.kdb",
    "SelectiveKDB": "bayeskit._classifiers.kdb",
    "AutoBayes": "bayeskit._classifiers.auto_bayes",
    "CountForest": "bayeskit._classifiers.count_forest",
    "WeightedNB": "bayeskit._classifiers.weighted_nb",
    "LogLinearBayes": "bayeskit._classifiers.log_linear_bayes",
    "TextBayes": "bayeskit._classifiers.text_bayes",
    "BayesNetClassifier": "bayeskit._classifiers.bayes_net",
}


class Program:
    """What the running program will do, as far as that decides what must be imported.

    ``only_asks`` is set by the command line, whose process is its own, before it opens a saved model: classifiers then
    have light bases in place of scikit-learn's, whose import takes longer than all else that an answer needs. It is
    never set in a process that runs a user's Python.
    """

    is_command = False
    only_asks = False


def on_demand(
    package: str, homes: Mapping[str, str], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : its name
    homes : {name: module}
        A name is stored after its first use. No module may have the name of an object in it, because importing the
        module would replace the object.
    modules : names of submodules that can be used without importing them

    Examples
    --------
    >>> look_up, names = on_demand("bayeskit._on_demand", {"exp": "math"})
    >>> look_up("exp")(0.0), "exp" in names()
    (1.0, True)
    """

    def look_up(name: str) -> Any:
        if name in homes:
            value = getattr(import_module(homes[name]), name)
            setattr(sys.modules[package], name, value)
            return value
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return look_up, names
