"""Guided stories of the explorer: three clicks, what moves at each, and why.

A story is offered to every network that has its nodes, states and arcs, so that alarm has one in any file, and where
each click moves what its text says. The numbers in the texts are filled in by the page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayeskit._messages import LANGUAGES, WordList
from bayeskit._schema import Label, Name, Variable

if TYPE_CHECKING:
    from bayeskit._networks.queries import Queries

WORDS = WordList(
    {
        "asia_1": "Lung cancer and tuberculosis both show on an X-ray. A positive one raises {watch} = "
        "{watch_state} from {before}% to {after}%.",
        "asia_2": "A visit to Asia makes tuberculosis a better explanation of the X-ray, so {watch} = "
        "{watch_state} falls from {before}% to {after}%. The visit has nothing to do with cancer; it "
        "only explains away what cancer explained.",
        "asia_3": "Smoking is a cause of cancer: {watch} = {watch_state} rises from {before}% to {after}%. "
        "Bronchitis rises as well, though it does not show on the X-ray.",
        "wet_1": "Rain and the sprinkler both make the lawn wet, and both become more probable: {watch} = "
        "{watch_state} rises from {before}% to {after}%.",
        "wet_2": "Joe's lawn is wet as well. Rain explains both lawns, so {watch} = {watch_state} falls from "
        "{before}% to {after}%: it is explained away.",
        "wet_3": "Without rain only the sprinkler can have made the lawn wet: {watch} = {watch_state} goes "
        "from {before}% to {after}%. Joe's lawn no longer says anything about it.",
        "melon_1": "This sound is more frequent in good melons: {watch} = {watch_state} rises from {before}% to "
        "{after}%.",
        "melon_2": "So is this colour, given either sweetness: {watch} = {watch_state} rises from {before}% to "
        "{after}%.",
        "melon_3": "The stem depends on the sweetness alone. A sweet melon explains part of the colour, so "
        "{watch} = {watch_state} falls a little, from {before}% to {after}%.",
        "alarm_1": "There is no pressure in the breathing circuit. The tube may have come off: {watch} = "
        "{watch_state} rises from {before}% to {after}%.",
        "alarm_2": "The ventilator stands still, which explains the pressure by itself: {watch} = {watch_state} "
        "falls from {before}% to {after}%, where it was at first.",
        "alarm_3": "The ventilator works after all. Now something else must explain the pressure: {watch} = "
        "{watch_state} rises from {before}% to {after}%.",
        "seven_1": "x4 is a parent of x6 and of x7. {node} = 1 makes x4 = 1 more probable, so {watch} = {watch_state} "
        "rises from {before}% to {after}%.",
        "seven_2": "Now x4 is known: {watch} = {watch_state} rises from {before}% to {after}%. The path from x6 "
        "over x4 is closed, so x6 says nothing more: without it all other bars stay where they are.",
        "seven_3": "x2 reaches x7 over x5 as well, a path that x4 does not close. x5 = 1 becomes less probable, and "
        "{watch} = {watch_state} falls from {before}% to {after}%.",
        "learned_1": "Of all columns, {node} says most about {watch}. This value takes {watch} = {watch_state} "
        "from {before}% to {after}%.",
        "learned_2": "Given that, {node} says most of what is left. This value speaks for the other side: {watch} "
        "= {watch_state} goes from {before}% to {after}%.",
        "learned_3": "A third value takes {watch} = {watch_state} from {before}% to {after}%. Each value is "
        "weighed given those before it.",
    }
)


@dataclass(frozen=True)
class Step:
    """One click: a state to observe, the state to watch, and whether that one rises."""

    node: Name
    state: Label
    watch: tuple[Name, Label]
    rises: bool
    words: str


@dataclass(frozen=True)
class Story:
    """Three steps, and the arcs that their texts speak of."""

    arcs: frozenset[tuple[Name, Name]]
    steps: tuple[Step, ...]


def _story(words: str, arcs: str, watch: tuple[Name, Label], *clicks: tuple[Name, Label, bool]) -> Story:
    """Return a story; the arcs are written as "a>c b>c"."""
    pairs = (arc.split(">") for arc in arcs.split())
    return Story(
        frozenset((parent, child) for parent, child in pairs),
        tuple(
            Step(node, state, watch, rises, f"{words}_{k}")
            for k, (node, state, rises) in enumerate(clicks, 1)
        ),
    )


STORIES = (
    _story(
        "asia",
        "asia>tub tub>either smoke>lung smoke>bronc lung>either either>xray",
        ("lung", "yes"),
        ("xray", "yes", True),
        ("asia", "yes", False),
        ("smoke", "yes", True),
    ),
    _story(
        "wet",
        "rain>joe rain>wet sprinkler>wet",
        ("sprinkler", "yes"),
        ("wet", "yes", True),
        ("joe", "yes", False),
        ("rain", "no", True),
    ),
    _story(
        "melon",
        "好瓜>敲声 好瓜>色泽 甜度>色泽 甜度>根蒂",
        ("好瓜", "是"),
        ("敲声", "浊响", True),
        ("色泽", "乌黑", True),
        ("根蒂", "蜷缩", False),
    ),
    _story(
        "alarm",
        "DISCONNECT>VENTTUBE VENTMACH>VENTTUBE VENTTUBE>PRESS",
        ("DISCONNECT", "TRUE"),
        ("PRESS", "ZERO", True),
        ("VENTMACH", "ZERO", False),
        ("VENTMACH", "NORMAL", True),
    ),
    _story(
        "seven",
        "x2>x4 x2>x5 x4>x6 x4>x7 x5>x7",
        ("x7", 1),
        ("x6", 1, True),
        ("x4", 1, True),
        ("x2", 1, False),
    ),
)


def story_of(
    variables: Sequence[Variable],
    arcs: Collection[tuple[Name, Name]],
    probability: Callable[[tuple[Name, Label], dict[Name, Label]], float],
) -> tuple[Step, ...]:
    """Return the story that a network tells; () if there is none.

    Parameters
    ----------
    variables, arcs : of the network
    probability : the probability of a state, given findings
    """
    states = {v.name: v.states for v in variables}
    for story in STORIES:
        pairs = [pair for step in story.steps for pair in ((step.node, step.state), step.watch)]
        # A table may have columns of the same names, and a model of it other arcs.
        if story.arcs <= set(arcs) and all(state in states.get(node, ()) for node, state in pairs):
            return story.steps if _is_true(story.steps, probability) else ()
    return ()


def _is_true(
    steps: Sequence[Step], probability: Callable[[tuple[Name, Label], dict[Name, Label]], float]
) -> bool:
    """Whether each click moves what is watched the way its text says."""
    evidence: dict[Name, Label] = {}
    for step in steps:
        before = probability(step.watch, evidence)
        evidence[step.node] = step.state
        move = probability(step.watch, evidence) - before
        if (move if step.rises else -move) < LEAST_MOVE:
            return False
    return True


def learned_story(network: Queries, target: Variable) -> tuple[Step, ...]:
    """Return a story of a classifier: the most informative columns, one after the other; () if there are too few.

    The first value raises the class that is least probable at first, the second lowers it, the third moves it most.
    """
    watched = int(network.query(target.name).values.argmin())
    evidence: dict[Name, Any] = {}
    steps = []
    for k, wanted in enumerate((True, False, None), 1):
        found = network.ask_next(target.name, evidence)
        now = found.posterior[watched]
        for row in found:
            moves = [(a.posterior[watched] - now if a.probability > 0 else 0.0) for a in row.answers]
            signs = [move if wanted else -move if wanted is False else abs(move) for move in moves]
            best = max(range(len(signs)), key=signs.__getitem__)
            if signs[best] >= LEAST_MOVE:
                break
        else:
            return ()
        state = _states(network, row.name)[best]
        watch = (target.name, target.states[watched])
        steps.append(Step(row.name, state, watch, moves[best] > 0, f"learned_{k}"))
        evidence[row.name] = state
    return tuple(steps)


# Less cannot be seen.
LEAST_MOVE = 0.001


def _states(network: Queries, name: Name) -> tuple[Label, ...]:
    adapter = network._adapter
    states: tuple[Label, ...] = adapter.variables[adapter.reader.place(name)].states
    return states


def told(step: Step) -> dict[str, str]:
    """Return the text of a step in each language."""
    return {lang: WORDS.of(lang)[step.words] for lang in LANGUAGES}
