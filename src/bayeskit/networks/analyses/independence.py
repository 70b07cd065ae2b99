"""Why a graph makes nodes independent, or does not: the paths between them, as a page to read."""

from __future__ import annotations

from dataclasses import dataclass

from bayeskit.graphs.paths import Path
from bayeskit.schema import Name
from bayeskit.visible import escape, visible


@dataclass(frozen=True)
class Independence:
    """Whether ``a`` and ``b`` are independent given some nodes, and the paths that say so.

    ``str`` and notebooks show it as a page.

    Attributes
    ----------
    a, b, given : tuples of names
    independent : bool
        Whether every path is blocked, those that are not listed among them.
    paths : tuple of Path, the shortest first
        Each has ``nodes``, ``blocked`` and ``turns``: its inner nodes, each with ``kind``, ``blocks``, ``reason``.
        Where ``independent`` is False, one at least is open.
    complete : bool
        Whether all paths are listed.
    """

    a: tuple[Name, ...]
    b: tuple[Name, ...]
    given: tuple[Name, ...]
    independent: bool
    paths: tuple[Path, ...]
    complete: bool

    @property
    def title(self) -> str:
        whom = f"{_listed(self.a)} and {_listed(self.b)}"
        says = "are independent" if self.independent else "may depend on each other"
        return f"{whom} {says} when {_listed(self.given) if self.given else 'nothing'} is observed."

    @property
    def summary(self) -> str:
        """One sentence about all paths."""
        if not self.paths:
            return "No path joins them." if self.complete else "The graph is too large to list a path."
        n = len(self.paths)
        n_open = sum(not path.blocked for path in self.paths)
        if not self.complete:
            told = "all blocked" if self.independent else "not all blocked"
            return f"There are more paths between them than are listed, {told}. Of the {n} listed, {_open(n_open)}."
        if n == 1:
            return f"There is one path between them, and it is {_state(self.paths[0])}."
        return f"There are {n} paths between them, of which {_open(n_open)}."

    def __str__(self) -> str:
        lines = [self.title, self.summary]
        for number, path in enumerate(self.paths, 1):
            lines += ["", f"{number}. {path}: {_state(path)}"]
            lines += [f"   {reason}" for reason in _reasons(path)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr>{_LEFT}{escape(str(path))}</td>{_LEFT}{_state(path)}</td>"
            f"{_LEFT}{'<br>'.join(map(escape, _reasons(path)))}</td></tr>"
            for path in self.paths
        )
        heads = "".join(f"{_LEFT.replace('td', 'th')}{name}</th>" for name in ("path", "", "why"))
        head = f"<thead><tr>{heads}</tr></thead>"
        table = f"<table>{head}<tbody>{rows}</tbody></table>" if self.paths else ""
        return f"<p><b>{escape(self.title)}</b> {escape(self.summary)}</p>{table}"


# Notebooks set the cells of a table to the right, where numbers are to be; these are sentences.
_LEFT = '<td style="text-align:left">'


def _state(path: Path) -> str:
    return "blocked" if path.blocked else "open"


def _reasons(path: Path) -> list[str]:
    if not path.turns:
        return ["An arc joins them: nothing can block it."]
    return [
        f"{visible(turn.node)} is {turn.kind} and {turn.reason}: it {'blocks' if turn.blocks else 'lets through'}."
        for turn in path.turns
    ]


def _listed(names: tuple[Name, ...]) -> str:
    return ", ".join(map(visible, names))


def _open(n: int) -> str:
    return f"{n or 'none'} {'are' if n > 1 else 'is'} open"
