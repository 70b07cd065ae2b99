"""What a reader may count on in any class: few classes behind it, and parameters that say the truth."""

from __future__ import annotations

import inspect

import pytest

import bayeskit

CLASSES = [value for name in bayeskit.__all__ if inspect.isclass(value := getattr(bayeskit, name))]
MOST = 4


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_few_classes_stand_behind_a_class(cls):
    behind = [base.__name__ for base in cls.__mro__[1:] if base.__module__.startswith("bayeskit")]
    assert len(behind) <= MOST, behind


@pytest.mark.parametrize(
    "cls", [cls for cls in CLASSES if hasattr(cls, "get_params")], ids=lambda cls: cls.__name__
)
def test_get_params_lists_every_parameter(cls):
    named = list(inspect.signature(cls).parameters)
    needed = [bayeskit.NaiveBayes()] if cls is bayeskit.BayesDecision else []
    assert sorted(cls(*needed).get_params(deep=False)) == sorted(named)


def test_there_are_classes_to_look_at():
    assert {bayeskit.TAN, bayeskit.BayesianNetwork, bayeskit.LatentClass} <= set(CLASSES)
