"""One word in a letter: Bayes' rule by total probability."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from bayeskit.report.textbook.found import Line, bracketed, chooser, decimal, exact, joined, line, word
from bayeskit.report.textbook.sheet import Erratum, Result, Sheet, grid

PRIOR = {"spam": Fraction(7, 10), "ham": Fraction(3, 10)}
WORD = {"spam": Fraction(9, 10), "ham": Fraction(1, 100)}
NO_WORD = {label: 1 - p for label, p in WORD.items()}


def page(lang: str) -> Sheet:
    """Return the page in a language."""
    say = chooser(lang)
    names = {"spam": say("spam", "垃圾"), "ham": say("ham", "正常")}
    free, none = say("word", "免费"), say("no word", "无“免费”")
    p_word, spam_word = posterior(WORD)
    p_none, spam_none = posterior(NO_WORD)
    return Sheet(
        name="spam",
        lang=lang,
        title=say("One word in a letter", "信里的一个词"),
        question=say(
            "70% of the letters are spam. The word 免费 (free) stands in 90% of the spam and in 1% of the rest. "
            "A letter has the word. Is it spam? And one without the word?",
            "来信中 70% 是垃圾邮件。“免费”一词出现在 90% 的垃圾邮件和 1% 的正常邮件里。一封信里有这个词，"
            "它是垃圾邮件吗？没有这个词的呢？",
        ),
        given=(
            grid(("", "P(c)", f"P({free} | c)"), *((names[c], str(PRIOR[c]), str(WORD[c])) for c in PRIOR)),
        ),
        working=(
            *_steps(WORD, free, names),
            (
                say(
                    "Without the word it is the likelihoods that turn into their complements:",
                    "没有这个词时，要取补的是似然：",
                ),
            ),
            *_steps(NO_WORD, none, names),
        ),
        answer=line(
            say(
                "With the word: {yes}, with probability {p}. Without it: {no}; spam has only {q}.",
                "有这个词：{yes}，概率为 {p}；没有：{no}，是垃圾邮件的概率只有 {q}。",
            ),
            yes=word(names["spam"]),
            p=decimal(spam_word, ".5f"),
            no=word(names["ham"]),
            q=decimal(spam_none),
        ),
        errata=(
            Erratum(
                say(
                    "1 − P(spam | word), taken for P(spam | no word).",
                    "把 1 − P(垃圾 | 免费) 当作 P(垃圾 | 无“免费”)。",
                ),
                line(
                    say(
                        "{a} is P(ham | word). The complement is taken of the likelihood, not of the posterior: "
                        "P(spam | no word) = {b}.",
                        "{a} 其实是 P(正常 | 免费)。取补的是似然，不是后验：P(垃圾 | 无“免费”) = {b}。",
                    ),
                    a=exact(1 - spam_word),
                    b=exact(spam_none),
                ),
                copied=False,
            ),
        ),
        source=say(
            "Total probability and Bayes' rule: Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua "
            "University Press 2016, section 7.1.",
            "全概率与贝叶斯公式：周志华《机器学习》，清华大学出版社 2016，7.1 节。",
        ),
        results=(
            Result("P(word)", p_word, "633/1000"),
            Result("P(spam | word)", spam_word, "210/211"),
            Result("P(no word)", p_none, "367/1000"),
            Result("P(spam | no word)", spam_none, "70/367"),
        ),
    )


def posterior(likelihood: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
    """Return P(x) and P(spam | x).

    Examples
    --------
    >>> posterior(WORD)
    (Fraction(633, 1000), Fraction(210, 211))
    """
    products = {c: PRIOR[c] * likelihood[c] for c in PRIOR}
    total = sum(products.values(), Fraction(0))
    return total, products["spam"] / total


def _steps(likelihood: Mapping[str, Fraction], about: str, names: Mapping[str, str]) -> list[Line]:
    total, spam = posterior(likelihood)
    products = {c: exact(PRIOR[c] * likelihood[c]) for c in PRIOR}
    steps = []
    for c, made in products.items():
        p, f = exact(PRIOR[c]), exact(likelihood[c])
        steps.append(
            line("P({c}) P({x} | {c}) = {p} · {f} = {made}", c=names[c], x=about, p=p, f=f, made=made)
        )
    terms = joined(" + ", products.values())
    steps.append(line("P({x}) = {terms} = {total}", x=about, terms=terms, total=exact(total)))
    return [
        *steps,
        line(
            "P({c} | {x}) = {over} / {under} = {p} = {short}",
            c=names["spam"],
            x=about,
            over=bracketed(products["spam"]),
            under=bracketed(exact(total)),
            p=exact(spam),
            short=decimal(spam, ".5f"),
        ),
    ]
