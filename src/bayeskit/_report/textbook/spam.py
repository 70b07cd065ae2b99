"""One word in a letter: Bayes' rule by total probability."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from bayeskit._messages import text_in
from bayeskit._report.textbook.printed_number import Line, bracketed, decimal, exact, joined, line, word
from bayeskit._report.textbook.sheet import Erratum, Result, Sheet, grid

PRIOR = {"spam": Fraction(7, 10), "ham": Fraction(3, 10)}
WORD = {"spam": Fraction(9, 10), "ham": Fraction(1, 100)}
NO_WORD = {label: 1 - p for label, p in WORD.items()}


def page(lang: str) -> Sheet:
    """Return the page in a language."""
    say = partial(text_in, lang)
    names = {"spam": say("spam"), "ham": say("ham")}
    free, none = say("word"), say("no word")
    p_word, spam_word = posterior(WORD)
    p_none, spam_none = posterior(NO_WORD)
    return Sheet(
        name="spam",
        lang=lang,
        title=say("One word in a letter"),
        question=say(
            "70% of the letters are spam. The word 免费 (free) stands in 90% of the spam and in 1% of the rest. "
            "A letter has the word. Is it spam? And one without the word?"
        ),
        given=(
            grid(("", "P(c)", f"P({free} | c)"), *((names[c], str(PRIOR[c]), str(WORD[c])) for c in PRIOR)),
        ),
        working=(
            *_steps(WORD, free, names),
            (say("Without the word it is the likelihoods that turn into their complements:"),),
            *_steps(NO_WORD, none, names),
        ),
        answer=line(
            say("With the word: {yes}, with probability {p}. Without it: {no}; spam has only {q}."),
            yes=word(names["spam"]),
            p=decimal(spam_word, ".5f"),
            no=word(names["ham"]),
            q=decimal(spam_none),
        ),
        errata=(
            Erratum(
                say("1 − P(spam | word), taken for P(spam | no word)."),
                line(
                    say(
                        "{a} is P(ham | word). The complement is taken of the likelihood, not of the posterior: "
                        "P(spam | no word) = {b}."
                    ),
                    a=exact(1 - spam_word),
                    b=exact(spam_none),
                ),
                copied=False,
            ),
        ),
        source=say(
            "Total probability and Bayes' rule: Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua "
            "University Press 2016, section 7.1."
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
