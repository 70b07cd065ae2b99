"""The texts of the demonstration for each table: omitted columns, costs of errors, wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayeskit._messages import WordList

ALIASES = {"melon": "melon8"}


@dataclass(frozen=True)
class Story:
    """What to do with the answers on one table.

    Attributes
    ----------
    exclude : tuple of column names
        Columns that are not used.
    loss : {action: {class: cost}} or None
        None means that every mistake costs 1.
    reject : float or None
        The cost of rejecting a row.
    likely : class or None
        A row with this as its most probable class is shown, because there the loss leads to another decision.
    stake, why_left_out : str
        In English; the catalogue has other languages.
    """

    loss: Mapping[str, Mapping[Any, float]] | None = None
    reject: float | None = None
    likely: Any = None
    exclude: tuple[str, ...] = ()
    stake: str = ""
    why_left_out: str = ""


_ANY = Story(
    reject=0.2,
    stake="A mistake costs 1; asking an expert costs 0.2.",
)
_MELON = Story(
    loss={"buy": {"是": 0.0, "否": 5.0}, "leave": {"是": 1.0, "否": 0.0}},
    likely="是",
    stake="Buying a bad melon costs 5; leaving a good one costs 1.",
)
STORIES: Mapping[str, Story] = {
    "adult": Story(
        loss={"write": {"<=50K": 1.0, ">50K": 0.0}, "skip": {"<=50K": 0.0, ">50K": 4.0}},
        likely="<=50K",
        exclude=("fnlwgt", "race", "sex", "native-country"),
        stake="Sending a letter about a savings plan in vain costs 1; not writing to someone who earns over 50K "
        "costs 4.",
        why_left_out="fnlwgt is a sampling weight; race, sex and origin are left out on purpose.",
    ),
    "mushroom": Story(
        loss={"eat": {"e": 0.0, "p": 100.0}, "leave": {"e": 1.0, "p": 0.0}},
        likely="e",
        stake="Eating a poisonous mushroom (p) costs 100; leaving an edible one (e) costs 1.",
    ),
    "melon8": _MELON,
    "melon2": _MELON,
    "melon2-missing": _MELON,
    "melon3": _MELON,
}

# Tables of texts: a column of sentences is no attribute with states.
TEXTS = ("sms", "docstrings")


def story_of(table: str) -> Story:
    """Return the story of a table, or a general one with a reject option."""
    return STORIES.get(table, _ANY)


def known_names() -> tuple[str, ...]:
    """List the names that the demonstration knows, the short ones first.

    Examples
    --------
    >>> known_names()[:2]
    ('melon', 'melon8')
    """
    from bayeskit.datasets._dataset import REGISTRY

    return (*ALIASES, *(name for name in REGISTRY if name not in TEXTS))


def table_name(name: str) -> str | None:
    """Return the table with this name, or None.

    Examples
    --------
    >>> table_name("melon"), table_name("pear")
    ('melon8', None)
    """
    return ALIASES.get(name, name) if name in known_names() else None


WORDS = WordList(
    {
        "reading": "reading {name}",
        "training": "training on {n} rows",
        "compiling": "compiling {model} once; the compiled loops are cached ('bayeskit warmup' compiles all models "
        "in advance)",
        "validating": "cross-validating {model}",
        "rows": "{n:,} rows, {d} attributes; target: {target}",
        "sampled": "{used:,} of its {n:,} rows, drawn at random, are used here.",
        "not_used": "Not used: {names}. {why}",
        "columns": "1. How the columns were read",
        "column": "column",
        "read_as": "read as",
        "states": "{n} states",
        "missing": "missing",
        "suggestion": "might also suit",
        "table": "a table",
        "bernoulli": "yes or no",
        "compare": "2. Models on the same {k} folds: each row is predicted by a model that was not trained on it",
        "model": "model",
        "error": "error",
        "log_loss": "log-loss",
        "brier": "Brier",
        "cpu": "CPU s",
        "winner": "{model} makes the fewest errors ({error})",
        "winners": "{models} make the fewest errors ({error} each)",
        "winner_same": ", and {model} has the best probabilities (log-loss {loss:.3f}).",
        "winner_too": ", and has the best probabilities (log-loss {loss:.3f}).",
        "winner_other": "; {model} has the best probabilities (log-loss {loss:.3f}).",
        "ours": " The error of {model} is {error}, in 1/{ratio:.0f} of the CPU time of {best}.",
        "too_sure": " The probabilities of {model} are worse than the class prior: it is overconfident here.",
        "explain": "3. Row {row} by hand (it is {truth})",
        "decide": "4. What to do about it",
        "action": "action",
        "risk": "risk: Σ cost · P",
        "most_probable": "The most probable class is {label}; the action with the lowest risk is: {action}.",
        "rejected": "The most probable class is {label}, but its risk is {risk:.3g}, more than {reject:g}: ask "
        "instead.",
        "next": "next:",
        "logistic regression": "logistic regression",
        "random forest": "random forest",
        "majority class": "majority class",
    }
)
