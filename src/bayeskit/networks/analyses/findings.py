"""Which unobserved node tells most about a target: sensitivity to findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, overload

import numpy as np

from bayeskit.errors import UsageError
from bayeskit.networks.analyses.network_information import (
    Asked,
    entropy_of,
    information_of,
    read_mapping,
)
from bayeskit.networks.evidence import Given
from bayeskit.schema import Label, Name
from bayeskit.typing import Floats


class Finding(NamedTuple):
    """What observing one node would tell about the target.

    Attributes
    ----------
    node : name
    mutual_information : float
        By how many nats the target's entropy falls, on average over the node's states.
    share : float
        That, as a share of the target's entropy.
    largest_change : float
        The largest change of the probability of a state of the target that a state of the node brings about.
    state : the node's state that brings it about
    """

    node: Name
    mutual_information: float
    share: float
    largest_change: float
    state: Label


@dataclass(frozen=True, repr=False)
class Findings(Sequence[Finding]):
    """Findings, the most telling first; ``str`` and notebooks show a table.

    Attributes
    ----------
    target : name
    entropy : float
        The entropy of the target given the evidence, in nats.
    rows : tuple of Finding
    left_out : tuple of names
        Continuous nodes: they have no states to observe.
    """

    target: Name
    entropy: float
    rows: tuple[Finding, ...]
    left_out: tuple[Name, ...] = ()

    @overload
    def __getitem__(self, place: int) -> Finding: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Finding, ...]: ...

    def __getitem__(self, place: int | slice) -> Finding | tuple[Finding, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a list for each column."""
        return {name: [row[j] for row in self.rows] for j, name in enumerate(Finding._fields)}

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each finding."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise UsageError("to_frame needs pandas, which is not installed: pip install pandas.") from None
        return pandas.DataFrame(self.to_dict())

    def __repr__(self) -> str:
        from bayeskit.report.text import as_text

        return as_text(self._page())

    def _repr_html_(self) -> str:
        from bayeskit.report.html import as_html

        return as_html(self._page())

    def _page(self) -> Any:
        from bayeskit.report.page import Page

        rows = tuple(
            (
                str(r.node),
                f"{r.mutual_information:.4f}",
                f"{100 * r.share:.1f}%",
                f"{r.largest_change:.4f}",
                str(r.state),
            )
            for r in self.rows
        )
        notes = ["Information in nats."]
        if self.left_out:
            notes.append(f"Continuous, so not listed: {', '.join(map(str, self.left_out))}.")
        return Page(
            f"What observing a node would tell about {self.target}",
            ("node", "information", "of entropy", "largest change", "by state"),
            rows,
            ((str(self.target), f"{self.entropy:.4f}", "", "", ""),),
            tuple(notes),
        )


def findings(asked: Asked, target: Name, evidence: Given) -> Findings:
    """Rank all unobserved nodes by what they tell about the target.

    One pass over the network for each state of the target gives P(x | target, e) of every node x at once.
    """
    known = read_mapping(evidence)
    now = asked.posteriors(evidence=evidence)
    belief = np.asarray(now[target])
    states = asked._network[target].variable.states
    possible = [k for k in range(len(belief)) if belief[k] > 0]
    given = [asked.posteriors(evidence={**known, target: states[k]}) for k in possible]
    entropy = entropy_of(belief)
    rows, left_out = [], []
    for node in asked._network.nodes:
        name = node.name
        if name == target or (name in known and np.count_nonzero(now[name]) == 1):
            continue
        if not node.is_discrete:
            left_out.append(name)
            continue
        joint = np.zeros((len(belief), node.variable.size))
        for k, posteriors in zip(possible, given):
            joint[k] = belief[k] * posteriors[name]
        told = information_of(joint)
        change, code = _largest_change(joint, belief)
        share = min(told / entropy, 1.0) if entropy > 0 else 0.0
        rows.append(Finding(name, told, share, change, node.variable.states[code]))
    rows.sort(key=lambda row: -round(row.mutual_information, 12))  # rounding errors do not rank
    return Findings(target, entropy, tuple(rows), tuple(left_out))


def _largest_change(joint: Floats, belief: Floats) -> tuple[float, int]:
    """Return the largest |P(t | x) − P(t)| over possible states x, and that x."""
    total = joint.sum(axis=0)
    posterior = joint / np.where(total > 0, total, 1.0)
    changes = np.where(total > 0, np.abs(posterior - belief[:, None]).max(axis=0), -1.0)
    code = int(changes.argmax())
    return float(changes[code]), code
