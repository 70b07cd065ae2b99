"""Spam: from one word to what to do with the letter, when a lost letter costs twenty."""

from __future__ import annotations

from bayeskit.cli.demos.told import Part, Told
from bayeskit.report.textbook.found import chooser

PRIOR = {"spam": 0.7, "ham": 0.3}
# P(word | class), and what the words are in Chinese letters.
WORDS = {"free": (0.9, 0.01), "offer": (0.3, 0.02), "account": (0.2, 0.05), "meeting": (0.05, 0.4)}
CHINESE = {
    "free": "免费",
    "offer": "优惠",
    "account": "账户",
    "meeting": "会议",
    "delete": "删除",
    "keep": "保留",
    "ask": "询问",
}
LOSS = {"delete": {"spam": 0.0, "ham": 20.0}, "keep": {"spam": 1.0, "ham": 0.0}}
ASKING = 0.5


def tell(lang: str) -> Told:
    """Return the demonstration in a language."""
    from bayeskit.decision import bayes_rule, decide

    say = chooser(lang)
    found, rows = [], []
    for word, (in_spam, in_ham) in WORDS.items():
        posterior = bayes_rule(PRIOR, {"spam": in_spam, "ham": in_ham})
        choice = decide(posterior, LOSS)
        careful = decide(posterior, LOSS, reject=ASKING, actions=["delete", "keep", "ask"])
        risks = dict(zip(map(str, choice.names), map(float, choice.risks)))
        spam = float(posterior["spam"])
        found.append(
            {"word": word, "spam": spam, "risks": risks}
            | {"action": str(choice.actions), "action_if_one_may_ask": str(careful.actions)}
        )
        actions = (say(name, CHINESE[name]) for name in (str(choice.actions), str(careful.actions)))
        rows.append(
            (say(word, CHINESE[word]), f"{spam:.4f}", *(f"{risk:.3f}" for risk in risks.values()), *actions)
        )
    bound = LOSS["delete"]["ham"] / (LOSS["delete"]["ham"] + LOSS["keep"]["spam"])
    header = (
        say("word", "词"),
        say("P(spam | word)", "P(垃圾 | 词)"),
        say("risk of deleting", "删除的风险"),
        say("risk of keeping", "保留的风险"),
        say("action", "行动"),
        say("if one may ask", "若可询问"),
    )
    return Told(
        "spam",
        say("One word in a letter, and what to do with the letter", "信里的一个词，以及该怎么处理这封信"),
        (
            Part(
                say("1. What is at stake", "1. 利害"),
                (
                    say(
                        "70% of the letters are spam. To delete a real letter costs 20, to read a piece of "
                        "spam 1, to ask 0.5.",
                        "来信中 70% 是垃圾邮件。误删正常邮件的代价为 20，读一封垃圾邮件的代价为 1，"
                        "询问一次的代价为 0.5。",
                    ),
                ),
            ),
            Part(
                say("2. Bayes' rule, then the least risk", "2. 先用贝叶斯公式，再取风险最小者"),
                (
                    say(
                        "To delete is right only above P(spam) = 20/21 = {bound:.4f}: a letter that is "
                        "probably spam is "
                        "still kept.",
                        "只有 P(垃圾) 高于 20/21 = {bound:.4f} 时才该删除：多半是垃圾邮件的信，仍然要保留。",
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
