"""The effect of an intervention as a result: probabilities, contrasts, intervals, and their tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayeskit._display_table import DisplayTable, as_text, notebook_html
from bayeskit._graphs.factor import Factor
from bayeskit._messages import Joined, WordList
from bayeskit._schema import Label, Name
from bayeskit._visible import plain
from bayeskit.errors import SettingError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._networks.analysis.causal_sets import CausalSet

Names = tuple[Name, ...]

WORDS = WordList(
    {
        "held": "with do({held})",
        "given": "given {evidence}",
        "against": "{treatment} against {reference}",
        "mean": "mean of {outcome}",
        "difference": "difference",
        "ratio": "ratio",
        "formula": "Formula: {formula}",
        "exact": "Exact, from the tables of the network.",
        "observed": "From the tables of what is observed.",
        "rows": "From {n:,} rows.",
        "left_out": "{n:,} rows with missing cells are left out.",
        "interval": "Intervals: {level:g}% of {n:,} draws from the posterior.",
        "no_effect": "{outcome} is no descendant of {cause}: no effect.",
    }
)


class EffectContrast(NamedTuple):
    """What changing the cause does to one state of the outcome, or to its mean.

    Attributes
    ----------
    treatment, reference : states of the cause (tuples, if there are several causes)
    outcome : a state of the outcome; None for the mean
    difference : float
        P(outcome | do(treatment)) − P(outcome | do(reference)), or the difference of the means.
    ratio : float
        The same as a ratio; NaN if both are zero, infinite if only the reference is.
    difference_interval, ratio_interval : (low, high), or None for exact results
    """

    treatment: Label
    reference: Label
    outcome: Label | None
    difference: float
    ratio: float
    difference_interval: tuple[float, float] | None = None
    ratio_interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class CausalEffect:
    """P(outcome | do(cause)), and what changes with the cause. Print it or show it in a notebook.

    Attributes
    ----------
    cause : tuple of names
    outcome : name
    probabilities : Factor with an axis for each cause, then the outcome
        P(outcome | do(cause)) for the compared states.
    contrasts : tuple of EffectContrast
        Each state of the cause against the first one: for each state of the outcome, then for its mean if the states
        are numbers. The last is the average causal effect.
    formula : str
        The effect as a formula of what is observed. Empty if the tables of the whole network were used.
    adjustment : CausalSet or None
        The set adjusted for.
    held : {node: state, or {state: probability} if it is set at random}
    evidence : {node: state}
    low, high : Factor or None
        The limits of the intervals of the probabilities.
    n_rows, n_left_out : int
        The rows used, and those left out because a cell is missing. Zero without rows.
    level : float
    n_samples : int
    is_null : bool
        Whether the outcome is no descendant of the cause, which then has no effect on it.
    """

    cause: Names
    outcome: Name
    probabilities: Factor
    contrasts: tuple[EffectContrast, ...]
    formula: str = ""
    adjustment: CausalSet | None = None
    held: Mapping[Name, Any] = field(default_factory=dict)
    evidence: Mapping[Name, Any] = field(default_factory=dict)
    low: Factor | None = None
    high: Factor | None = None
    n_rows: int = 0
    n_left_out: int = 0
    level: float = 0.95
    n_samples: int = 0
    is_null: bool = False

    def contrast(self, outcome: Label | None = None, treatment: Label | None = None) -> EffectContrast:
        """Return one of the contrasts.

        Parameters
        ----------
        outcome : a state of the outcome; None for its mean or, if it has none, its last state
        treatment : a state of the cause; None for the last
        """
        for found in reversed(self.contrasts):
            if treatment in (None, found.treatment) and outcome in (None, found.outcome):
                return found
        raise SettingError(
            "There is no contrast of {outcome!r} with the treatment {treatment!r}; there are {names}.",
            outcome=outcome,
            treatment=treatment,
            names=Joined(f"{c.treatment!r}: {c.outcome!r}" for c in self.contrasts),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain values."""
        states = self.probabilities.states
        rows = []
        for cell in np.ndindex(*self.probabilities.sizes):
            row: dict[str, Any] = {
                "do": [plain(s[i]) for s, i in zip(states[:-1], cell[:-1], strict=True)],
                "outcome": plain(states[-1][cell[-1]]),
                "probability": float(self.probabilities.values[cell]),
            }
            if self.low is not None and self.high is not None:
                row["interval"] = [float(self.low.values[cell]), float(self.high.values[cell])]
            rows.append(row)
        return {
            "cause": plain(self.cause),
            "outcome": plain(self.outcome),
            "held": {
                str(name): {str(s): p for s, p in value.items()}
                if isinstance(value, Mapping)
                else plain(value)
                for name, value in self.held.items()
            },
            "evidence": {str(name): str(value) for name, value in self.evidence.items()},
            "probabilities": rows,
            "contrasts": [
                {key: plain(value) for key, value in contrast._asdict().items()}
                for contrast in self.contrasts
            ],
            "formula": self.formula,
            "adjustment": None if self.adjustment is None else plain(self.adjustment.nodes),
            "rows": self.n_rows,
            "rows_left_out": self.n_left_out,
        }

    def text(self, lang: str = "en") -> str:
        """Return the tables as text in a language.

        Parameters
        ----------
        lang : "en" or "zh"
        """
        return "\n\n".join(as_text(page) for page in self.pages(lang))

    def pages(self, lang: str = "en") -> list[DisplayTable]:
        """Return the probabilities and, if states are compared, the contrasts as tables for display."""
        words = WORDS.of(lang)
        states = self.probabilities.states
        title = f"P({self.outcome} | do({', '.join(map(str, self.cause))}))"
        rows = tuple(
            (
                *(str(s[i]) for s, i in zip(states[:-1], cell, strict=True)),
                *(self._cell((*cell, k)) for k in range(len(states[-1]))),
            )
            for cell in np.ndindex(*self.probabilities.sizes[:-1])
        )
        header = (*map(str, self.cause), *(f"{self.outcome} = {s}" for s in states[-1]))
        n_names = len(self.cause)
        notes = tuple(self._notes(words))
        if not self.contrasts:
            return [DisplayTable(title, header, rows, (), notes, names=n_names, right=n_names)]
        contrasts = tuple(
            (
                words["against"].format(
                    treatment=_state(c.treatment, words), reference=_state(c.reference, words)
                ),
                words["mean"].format(outcome=self.outcome)
                if c.outcome is None
                else f"{self.outcome} = {c.outcome}",
                _with_interval(c.difference, c.difference_interval, "+.4f"),
                _with_interval(c.ratio, c.ratio_interval, ".4f"),
            )
            for c in self.contrasts
        )
        last = DisplayTable(
            "",
            ("do", "", words["difference"], words["ratio"]),
            contrasts,
            (),
            notes,
            names=2,
            right=2,
        )
        return [DisplayTable(title, header, rows, names=n_names, right=n_names), last]

    def _cell(self, cell: tuple[int, ...]) -> str:
        low, high = self.low, self.high
        limits = None if low is None or high is None else (float(low.values[cell]), float(high.values[cell]))
        return _with_interval(float(self.probabilities.values[cell]), limits, ".4f")

    def _notes(self, words: WordList) -> Iterable[str]:
        if self.held:
            yield words["held"].format(held=_assigned(self.held, words))
        if self.evidence:
            yield words["given"].format(evidence=_assigned(self.evidence, words))
        if self.is_null:
            yield words["no_effect"].format(outcome=self.outcome, cause=words.join(self.cause))
        if self.formula:
            yield words["formula"].format(formula=self.formula)
        if not self.n_rows:
            yield words["observed" if self.formula else "exact"]
            return
        yield words["rows"].format(n=self.n_rows)
        if self.n_left_out:
            yield words["left_out"].format(n=self.n_left_out)
        if self.n_samples:
            yield words["interval"].format(level=100 * self.level, n=self.n_samples)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return notebook_html(*self.pages())


def _state(state: Label, words: WordList) -> str:
    return words.join(state) if isinstance(state, tuple) else str(state)


def _assigned(values: Mapping[Name, Any], words: WordList) -> str:
    return words.join(f"{name} = {_value(value, words)}" for name, value in values.items())


def _value(value: Any, words: WordList) -> str:
    """Return a state, or a distribution over states in one line."""
    if not isinstance(value, Mapping):
        return str(value)
    return words.join(f"{state} ({p:.4g})" for state, p in value.items())


def _with_interval(value: float, limits: tuple[float, float] | None, form: str) -> str:
    shown = format(value, form).replace("-", "−")
    if limits is None:
        return shown
    low, high = (format(limit, form).replace("-", "−") for limit in limits)
    return f"{shown} [{low}, {high}]"


def contrasts_of(
    table: Floats, draws: Floats | None, states: Sequence[tuple[Label, ...]], level: float
) -> tuple[EffectContrast, ...]:
    """Compare every state of the cause with the first one."""
    *causes, outcomes = states
    settings: list[Label] = list(causes[0]) if len(causes) == 1 else list(product(*causes))
    everything = [table] if draws is None else [table, draws]
    flat = [values.reshape(len(values), len(settings), len(outcomes)) for values in everything]
    wanted: list[tuple[Label | None, Floats]] = [
        (state, np.eye(len(outcomes))[k]) for k, state in enumerate(outcomes)
    ]
    codes = _numbers_of(outcomes)
    if codes is not None:
        wanted.append((None, codes))
    found = []
    for k, treatment in enumerate(settings[1:], 1):
        for state, weights in wanted:
            pairs = [(values[:, k] @ weights, values[:, 0] @ weights) for values in flat]
            differences = [a - b for a, b in pairs]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = [a / b for a, b in pairs]
            intervals: list[tuple[float, float] | None] = [None, None]
            if draws is not None:
                intervals = [_tails(each[1], level) for each in (differences, ratios)]
            point = float(differences[0][0]), float(ratios[0][0])
            found.append(EffectContrast(treatment, settings[0], state, *point, *intervals))
    return tuple(found)


def _tails(values: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _numbers_of(states: Sequence[Label]) -> Floats | None:
    """Return the states as numbers, also if they are written as text; None if one is none."""
    try:
        values = np.array([float(state) for state in states])  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return values if np.isfinite(values).all() else None
