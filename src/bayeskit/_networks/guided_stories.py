"""Guided stories of the explorer: three clicks, what moves at each, and why.

A story is offered to every network that has its nodes and states, so that alarm has one in any file. The numbers in the
texts are filled in by the page.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def _story(words: str, watch: tuple[Name, Label], *clicks: tuple[Name, Label, bool]) -> tuple[Step, ...]:
    return tuple(
        Step(node, state, watch, rises, f"{words}_{k}") for k, (node, state, rises) in enumerate(clicks, 1)
    )


STORIES = (
    _story("asia", ("lung", "yes"), ("xray", "yes", True), ("asia", "yes", False), ("smoke", "yes", True)),
    _story("wet", ("sprinkler", "yes"), ("wet", "yes", True), ("joe", "yes", False), ("rain", "no", True)),
    _story("melon", ("好瓜", "是"), ("敲声", "浊响", True), ("色泽", "乌黑", True), ("根蒂", "蜷缩", False)),
    _story(
        "alarm",
        ("DISCONNECT", "TRUE"),
        ("PRESS", "ZERO", True),
        ("VENTMACH", "ZERO", False),
        ("VENTMACH", "NORMAL", True),
    ),
)


def story_of(variables: Sequence[Variable]) -> tuple[Step, ...]:
    """Return the story whose nodes and states are all there; () if there is none."""
    states = {v.name: v.states for v in variables}
    for story in STORIES:
        pairs = [pair for step in story for pair in ((step.node, step.state), step.watch)]
        if all(state in states.get(node, ()) for node, state in pairs):
            return story
    return ()


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
