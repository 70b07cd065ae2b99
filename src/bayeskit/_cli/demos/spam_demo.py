"""The spam demonstration: from one word to a decision, when losing a letter costs twenty."""

from __future__ import annotations

from functools import partial

from bayeskit._cli.demos.demo_page import DemoPage, DemoSection
from bayeskit._messages import text_in

PRIOR = {"spam": 0.7, "ham": 0.3}
# P(word | class).
WORDS = {"free": (0.9, 0.01), "offer": (0.3, 0.02), "account": (0.2, 0.05), "meeting": (0.05, 0.4)}
LOSS = {"delete": {"spam": 0.0, "ham": 20.0}, "keep": {"spam": 1.0, "ham": 0.0}}
ASKING = 0.5


def make_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    from bayeskit._decision.choice import decide
    from bayeskit._decision.posterior import bayes_rule

    say = partial(text_in, lang)
    found, rows = [], []
    for word, (in_spam, in_ham) in WORDS.items():
        posterior = bayes_rule(PRIOR, {"spam": in_spam, "ham": in_ham})
        choice = decide(posterior, LOSS)
        careful = decide(posterior, LOSS, reject=ASKING, actions=["delete", "keep", "ask"])
        risks = dict(zip(map(str, choice.names), map(float, choice.risks), strict=True))
        spam = float(posterior["spam"])
        found.append(
            {"word": word, "spam": spam, "risks": risks}
            | {"action": str(choice.actions), "action_if_one_may_ask": str(careful.actions)}
        )
        actions = (say(name) for name in (str(choice.actions), str(careful.actions)))
        rows.append((say(word), f"{spam:.4f}", *(f"{risk:.3f}" for risk in risks.values()), *actions))
    bound = LOSS["delete"]["ham"] / (LOSS["delete"]["ham"] + LOSS["keep"]["spam"])
    header = (
        say("the word"),
        say("P(spam | word)"),
        say("risk of deleting"),
        say("risk of keeping"),
        say("action"),
        say("if one may ask"),
    )
    return DemoPage(
        "spam",
        say("One word in a letter, and what to do with the letter"),
        (
            DemoSection(
                say("1. What is at stake"),
                (
                    say(
                        "70% of the letters are spam. To delete a real letter costs 20, to read a piece of "
                        "spam 1, to ask 0.5."
                    ),
                ),
            ),
            DemoSection(
                say("2. Bayes' rule, then the least risk"),
                (
                    say(
                        "To delete is right only above P(spam) = 20/21 = {bound:.4f}: a letter that is "
                        "probably spam is "
                        "still kept."
                    ).format(bound=bound),
                ),
                header,
                tuple(rows),
            ),
        ),
        (
            "bayeskit bayes --prior spam=0.7,ham=0.3 --likelihood spam=0.9,ham=0.01",
            "bayeskit textbook spam",
            "bayeskit demo melon",
        ),
        {"prior": PRIOR, "loss": LOSS, "asking": ASKING, "bound": bound, "words": found},
    )
