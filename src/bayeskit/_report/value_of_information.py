"""Value of information: which question to ask next, by expected information or saved risk minus cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from bayeskit._decision.loss import LossTable, read_loss
from bayeskit._messages import Joined, Message, WordList
from bayeskit._report.fractions import magnitude, number
from bayeskit._report.words import words_of
from bayeskit._schema import Label, Name
from bayeskit._visible import plain
from bayeskit.errors import ColumnError, SettingError
from bayeskit.typing import LossLike

QUESTION_WORDS = WordList(
    {
        "title": "Ask for {name} next: it is the most informative about {target}",
        "nothing": "No question is worth its cost",
        "known": "There is nothing left to ask",
        "unweighed": "No question was evaluated",
        "attribute": "ask for",
        "bits_head": "bits",
        "risk_head": "risk saved",
        "cost": "cost",
        "net": "net",
        "answer": "likeliest answer → then",
        "likeliest": "{state} ({p}) → {label} {after}",
        "bits": "Bits: the expected reduction of the entropy of the class. Costs are in bits too.",
        "risk": "Risk saved: the lowest risk now, minus the expected lowest risk after the answer.",
        "now": "Now: {beliefs}.",
        "left_out": "Not evaluated, because they have no states: {names}.",
    }
)


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """One possible answer: its probability, and the posterior of the classes given it."""

    state: Label
    probability: float
    posterior: tuple[float, ...]


@dataclass(frozen=True)
class Question:
    """The value of asking for one attribute.

    Attributes
    ----------
    name : hashable
    value : float
        The expected information about the class in bits, or the expected reduction in risk.
    cost : float
    net : float
        value − cost.
    answers : tuple of Answer
        Empty for a number, which is evaluated on a grid.
    """

    name: Name
    value: float
    cost: float
    answers: tuple[Answer, ...] = ()

    @property
    def net(self) -> float:
        return self.value - self.cost


@dataclass(frozen=True, repr=False)
class Questions(Sequence[Question]):
    """Questions ranked by value, the best first. Prints as a table, also in notebooks.

    Attributes
    ----------
    target : hashable
    classes : tuple of labels
    posterior : tuple of float
        The posterior before asking.
    unit : "bits" or "risk"
    rows : tuple of Question
    left_out : tuple of names
        Attributes that cannot be evaluated here: numbers without states.
    lang : "en" or "zh"
    """

    target: Name
    classes: tuple[Any, ...]
    posterior: tuple[float, ...]
    unit: str
    rows: tuple[Question, ...]
    left_out: tuple[Name, ...] = ()
    lang: str = "en"

    @overload
    def __getitem__(self, place: int) -> Question: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Question, ...]: ...

    def __getitem__(self, place: int | slice) -> Question | tuple[Question, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def best(self) -> Name | None:
        """The best attribute to ask for; None if no answer is worth its cost."""
        return self.rows[0].name if self.rows and self.rows[0].net > 0.0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        rows = [
            {
                "name": plain(q.name),
                "value": q.value,
                "cost": q.cost,
                "net": q.net,
                "answers": [
                    {"state": plain(a.state), "probability": a.probability, "posterior": list(a.posterior)}
                    for a in q.answers
                ],
            }
            for q in self.rows
        ]
        return {
            "target": plain(self.target),
            "classes": plain(self.classes),
            "posterior": plain(self.posterior),
            "unit": self.unit,
            "best": plain(self.best),
            "questions": rows,
            "left_out": plain(self.left_out),
        }

    def __repr__(self) -> str:
        from bayeskit._display_table import as_text

        return as_text(self.page())

    def _repr_html_(self) -> str:
        from bayeskit._display_table import notebook_html

        return notebook_html(self.page())

    def page(self) -> Any:
        """Return the table for display."""
        from bayeskit._display_table import DisplayTable

        words = QUESTION_WORDS.of(self.lang)
        rows = tuple(
            (str(q.name), self._likeliest(q), _signed(q.value), number(q.cost), _signed(q.net))
            for q in self.rows
        )
        beliefs = words.join(
            f"{c} {_signed(p)}" for c, p in zip(self.classes[:8], self.posterior[:8], strict=True)
        )
        notes = [words[self.unit], words["now"].format(beliefs=beliefs)]
        if self.left_out:
            notes.append(words["left_out"].format(names=words.join(self.left_out)))
        header = (
            words["attribute"],
            words["answer"],
            words[f"{self.unit}_head"],
            words["cost"],
            words["net"],
        )
        return DisplayTable(self._title(), header, rows, (), tuple(notes))

    def _title(self) -> str:
        words = QUESTION_WORDS.of(self.lang)
        if self.best is not None:
            return words["title"].format(name=self.best, target=self.target)
        if self.rows:
            return words["nothing"]
        return words["unweighed" if self.left_out else "known"]

    def _likeliest(self, question: Question) -> str:
        if not question.answers:
            return ""
        answer = max(question.answers, key=lambda a: a.probability)
        k = int(np.argmax(answer.posterior))
        return QUESTION_WORDS.of(self.lang)["likeliest"].format(
            state=answer.state,
            p=_signed(answer.probability),
            label=self.classes[k],
            after=_signed(answer.posterior[k]),
        )


def _signed(x: float) -> str:
    return ("−" if x < 0 else "") + magnitude(float(np.log(abs(x)))) if abs(x) > 1e-12 else "0"


def question(
    name: Name, joint: Floats, states: Sequence[Label] | None, cost: float, loss: LossTable | None
) -> Question:
    r"""Compute the value of one question from the joint distribution of its answers and the class.

    .. math:: I(C; X \mid e) \quad\text{or}\quad \min_a R(a \mid e) - \sum_v P(v \mid e) \min_a R(a \mid v, e)

    Parameters
    ----------
    joint : array of shape (answers, K), summing to one
    states : the names of the answers; None for a grid
    loss : LossTable, optional
        Without a loss, the value is the expected information in bits.

    Examples
    --------
    >>> question("coin", np.array([[0.5, 0.0], [0.0, 0.5]]), ["head", "tail"], 0.25, None).net
    0.75
    """
    p = joint.sum(axis=1)
    given = joint / np.where(p > 0.0, p, 1.0)[:, None]
    if loss is None:
        apart = p[:, None] * joint.sum(axis=0)
        some = joint > 0.0
        value = float((joint[some] * np.log2(joint[some] / apart[some])).sum())
    else:
        now = float(loss.risks(joint.sum(axis=0)[None, :]).min())
        value = now - float((p * loss.risks(given).min(axis=1)).sum())
    answers = (
        ()
        if states is None
        else tuple(
            Answer(state, float(q), tuple(row.tolist()))
            for state, q, row in zip(states, p, given, strict=True)
        )
    )
    # Information is never negative, except for rounding errors.
    return Question(name, max(value, 0.0), cost, answers)


def ranked(
    target: Name,
    classes: Sequence[Any],
    posterior: Sequence[float],
    tables: Sequence[tuple[Name, Floats, Sequence[Label] | None]],
    costs: object = None,
    loss: LossLike = None,
    left_out: Sequence[Name] = (),
    lang: str = "en",
    names: Sequence[Name] = (),
) -> Questions:
    """Rank the questions of these tables (name, joint, states) by value, the best first.

    ``names`` are all attributes that may have a cost, including those already known.
    """
    words_of(lang)
    prices = read_costs(costs, names)
    table = None if loss is None else read_loss(loss, len(classes), list(classes))
    rows = [question(name, joint, states, prices.get(name, 0.0), table) for name, joint, states in tables]
    rows.sort(key=lambda q: -round(q.net, 12))  # rounding errors do not rank
    unit = "bits" if loss is None else "risk"
    return Questions(
        target, tuple(classes), tuple(map(float, posterior)), unit, tuple(rows), tuple(left_out), lang
    )


def read_costs(costs: object, names: Sequence[Name]) -> dict[Name, float]:
    """Check the costs of asking: a number for each name, 0 for those not named."""
    if costs is None:
        return {}
    if not isinstance(costs, Mapping):
        raise SettingError("costs is {costs!r}; give a mapping {{attribute: number}}.", costs=costs)
    for name, cost in costs.items():
        plain_number = isinstance(cost, (int, float, np.integer, np.floating)) and not isinstance(cost, bool)
        if not plain_number or not np.isfinite(cost):
            raise SettingError(
                "The cost of asking for {name!r} is {cost!r}; give a finite number.", name=name, cost=cost
            )
        if name not in names:
            close = get_close_matches(str(name), [str(n) for n in names], 1, 0.5)
            hint = (
                Message("Did you mean {close!r}?", close=close[0])
                if close
                else Message("There are {names}.", names=Joined(map(repr, names[:12])))
            )
            raise ColumnError("costs names {name!r}, which does not exist. {hint}", name=name, hint=hint)
    return {name: float(cost) for name, cost in costs.items()}
