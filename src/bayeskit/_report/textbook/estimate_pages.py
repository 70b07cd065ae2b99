"""A coin under a prior, texts as words, two measured attributes, the score of a structure, and why logarithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial

from bayeskit._messages import text_in
from bayeskit._report.textbook.lesson import (
    PI,
    ManyDigits,
    Say,
    answer_line,
    as_decimal,
    best,
    joint_results,
    ln,
    posterior_lines,
    posteriors,
    product_of,
    products,
    result,
)
from bayeskit._report.textbook.printed_number import (
    Line,
    PrintedNumber,
    counted,
    decimal,
    exact,
    joined,
    line,
    word,
)
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid

HEADS, TOSSES = 7, 10
# A letter by its class and the words in it.
TEXTS = (
    ("spam", "free money free"),
    ("spam", "free call money"),
    ("spam", "money now call"),
    ("ham", "call me now"),
    ("ham", "see me soon"),
)
ASKED = "free free call me"


@ManyDigits()
def prior_page(lang: str) -> Sheet:
    """From Dirichlet's distribution to Laplace's correction."""
    say = partial(text_in, lang)
    h, n = HEADS, TOSSES
    rows, results = [], [Result("MLE", Fraction(h, n), str(Fraction(h, n)))]
    for a in (1, 2, 10):
        mode, mean = counted(h + a - 1, n + 2 * a - 2), counted(h + a, n + 2 * a)
        rows.append((f"Beta({a}, {a})", word(f"Beta({h + a}, {n - h + a})"), mode, mean))
        results += [Result(f"a = {a}: MAP", Fraction(mode.value or 0), str(mode.value))]
        results += [Result(f"a = {a}: mean", Fraction(mean.value or 0), str(mean.value))]
    return Sheet(
        name="bayes-estimate",
        lang=lang,
        title=say("Bayesian estimation of a coin"),
        question=say(
            "A coin showed 7 heads in 10 tosses. Estimate the probability θ of heads by maximum "
            "likelihood, by the mode (MAP) and by the mean of the posterior, under Beta(a, a) for a = 1, 2 "
            "and 10."
        ),
        given=(grid((say("heads"), say("tails")), (str(h), str(n - h))),),
        working=(
            ("p(θ | D) ∝ θ^7 (1 − θ)^3 · θ^(a − 1) (1 − θ)^(a − 1)",),
            (
                say(
                    "The posterior is Beta(7 + a, 3 + a): a prior is imaginary tosses, and they are added "
                    "to those seen."
                ),
            ),
            ("MLE = h / n, MAP = (h + a − 1) / (n + 2a − 2), E(θ | D) = (h + a) / (n + 2a)",),
            line("MLE = {p} = {d}", p=counted(h, n), d=decimal(Fraction(h, n))),
            grid((say("prior"), say("posterior"), "MAP", "E(θ | D)"), *rows),
            line(
                say(
                    "With a = 1 the mean is (7 + 1)/(10 + 2) = {p}: Laplace's correction. It is also the "
                    "mode with a = 2: {q}."
                ),
                p=exact(Fraction(h + 1, n + 2)),
                q=exact(Fraction(h + 1, n + 2)),
            ),
            (say("For N states the prior is Dir(α, …, α), and the mean of θ_v is (n_v + α) / (n + α N)."),),
        ),
        answer=line(
            say("Maximum likelihood {a}, Laplace {b}; under a = 10 the mean is {c}."),
            a=exact(Fraction(h, n)),
            b=exact(Fraction(h + 1, n + 2)),
            c=exact(Fraction(h + 10, n + 20)),
        ),
        errata=(
            Erratum(
                say("MAP under a uniform prior is Laplace's correction."),
                line(
                    say(
                        "Under a uniform prior (a = 1) MAP is the maximum of the likelihood, {p}; the mean "
                        "is Laplace's {q}."
                    ),
                    p=exact(Fraction(h, n)),
                    q=exact(Fraction(h + 1, n + 2)),
                ),
                copied=False,
            ),
        ),
        source=say(
            "Li Hang (李航), Statistical Learning Methods (《统计学习方法》), Tsinghua University Press, section 4.2."
        ),
        results=tuple(results),
    )


def vocabulary() -> list[str]:
    """The words of all texts, in alphabetical order.

    Examples
    --------
    >>> len(vocabulary())
    7
    """
    return sorted({word for _, text in TEXTS for word in text.split()})


def words_of(label: str) -> list[str]:
    """All words of the texts of a class."""
    return [word for c, text in TEXTS if c == label for word in text.split()]


@ManyDigits()
def multinomial_page(lang: str) -> Sheet:
    """Words as draws: how often each occurs."""
    say = partial(text_in, lang)
    joints, rows = {}, []
    asked = ASKED.split()
    for c in ("spam", "ham"):
        told = words_of(c)
        factors = [counted(sum(label == c for label, _ in TEXTS), len(TEXTS))]
        factors += [counted(told.count(w) + 1, len(told) + len(vocabulary())) for w in asked]
        joints[c] = product_of(factors)
        rows.append((say(c), factors, joints[c]))
    counts = [(w, *(exact(words_of(c).count(w)) for c in ("spam", "ham"))) for w in vocabulary()]
    return _texts(
        "multinomial",
        say("Multinomial naive Bayes on five letters"),
        lang,
        joints,
        working=[
            (say("How often each word occurs in the letters of a class:"),),
            grid(
                (say("word"), say("spam"), say("ham")),
                *counts,
                (say("sum"), *(exact(len(words_of(c))) for c in ("spam", "ham"))),
            ),
            ("P(w | c) = (N_w + 1) / (N + V)",),
            line(
                say("V = {v} words are known. Each word of the letter is a factor as often as it occurs:"),
                v=exact(len(vocabulary())),
            ),
            products(say, ["P(c)", *asked], rows),
            *posterior_lines({say(c): p for c, p in joints.items()}),
        ],
        erratum=Erratum(
            say("N counted over all letters, or V over the words of the class."),
            line(
                say(
                    "N are the words of the class, with repetitions: {n} in spam. V are all known words: {v}."
                ),
                n=exact(len(words_of("spam"))),
                v=exact(len(vocabulary())),
            ),
            copied=False,
        ),
    )


@ManyDigits()
def bernoulli_page(lang: str) -> Sheet:
    """Words as switches: whether each occurs."""
    say = partial(text_in, lang)
    joints, rows = {}, []
    asked = set(ASKED.split())
    for c in ("spam", "ham"):
        texts = [set(text.split()) for label, text in TEXTS if label == c]
        factors = [counted(len(texts), len(TEXTS))]
        for w in vocabulary():
            n = sum(w in text for text in texts) + 1
            factors.append(counted(n if w in asked else len(texts) + 2 - n, len(texts) + 2))
        joints[c] = product_of(factors)
        rows.append((say(c), factors, joints[c]))
    header = ["P(c)", *(w if w in asked else say("no {word}").format(word=w) for w in vocabulary())]
    return _texts(
        "bernoulli",
        say("Bernoulli naive Bayes on five letters"),
        lang,
        joints,
        working=[
            ("P(w | c) = (n_w + 1) / (n_c + 2)",),
            (
                say(
                    "n_w letters of the class have the word, however often. A word that the letter does "
                    "not have is a factor, too: 1 − P(w | c)."
                ),
            ),
            products(say, header, rows),
            *posterior_lines({say(c): p for c, p in joints.items()}),
        ],
        erratum=Erratum(
            say("Only the words that the letter has."),
            line(
                say("Absent words count: that “money” is missing is a factor {a} for spam and {b} for ham."),
                a=rows[0][1][1 + vocabulary().index("money")],
                b=rows[1][1][1 + vocabulary().index("money")],
            ),
            copied=False,
        ),
    )


def _texts(
    name: str,
    title: str,
    lang: str,
    joints: Mapping[str, Fraction],
    *,
    working: list[Line | Grid],
    erratum: Erratum,
) -> Sheet:
    say = partial(text_in, lang)
    found = posteriors(joints)
    chosen = best(found)
    rows = [(str(i), text, say(c)) for i, (c, text) in enumerate(TEXTS, 1)]
    return Sheet(
        name=name,
        lang=lang,
        title=title,
        question=say(
            "Five letters are known. Is the letter “{text}” spam? With Laplace's correction of the words, "
            "not of the class."
        ).format(text=ASKED),
        given=(grid(("", say("letter"), say("class")), *rows),),
        working=tuple(working),
        answer=line(say("{c}, with probability {p}."), c=word(say(chosen)), p=decimal(found[chosen], ".6f")),
        errata=(erratum,),
        source=say(
            "A. McCallum and K. Nigam, A comparison of event models for naive Bayes text classification, "
            "1998. The letters are ours."
        ),
        results=joint_results("x", joints),
    )


# Two classes of points whose means and covariances are short fractions.
POINTS: Mapping[str, Sequence[tuple[int, int]]] = {
    "A": ((1, 1), (2, 3), (3, 2), (4, 4)),
    "B": ((5, 1), (6, 4), (7, 2), (8, 3), (6, 0)),
}
NEW = (Fraction(9, 2), Fraction(3))
Matrix = tuple[Fraction, Fraction, Fraction]
"""The variances of both columns, and their covariance."""


def mean_of(label: str) -> tuple[Fraction, Fraction]:
    """The mean of a class of points."""
    points = POINTS[label]
    return Fraction(sum(x for x, _ in points), len(points)), Fraction(sum(y for _, y in points), len(points))


def scatter_of(label: str) -> Matrix:
    """Σ(x − μ)², Σ(y − ν)² and Σ(x − μ)(y − ν)."""
    a, b = mean_of(label)
    points = [(x - a, y - b) for x, y in POINTS[label]]
    return tuple(
        sum((u * v for u, v in pairs), Fraction(0))
        for pairs in ([(x, x) for x, _ in points], [(y, y) for _, y in points], points)
    )  # type: ignore[return-value]


def determinant(matrix: Matrix) -> Fraction:
    """The determinant of a covariance matrix."""
    return matrix[0] * matrix[1] - matrix[2] ** 2


def distance(label: str, matrix: Matrix, point: tuple[Fraction, Fraction] = NEW) -> Fraction:
    """Mahalanobis' squared distance from the mean of a class."""
    a, b = mean_of(label)
    u, v = point[0] - a, point[1] - b
    return (matrix[1] * u * u - 2 * matrix[2] * u * v + matrix[0] * v * v) / determinant(matrix)


def density(label: str, matrix: Matrix) -> Decimal:
    """The normal density of two columns at the new point."""
    return as_decimal(-distance(label, matrix) / 2).exp() / (2 * PI * as_decimal(determinant(matrix)).sqrt())


@ManyDigits()
def covariance_page(lang: str) -> Sheet:
    """A full covariance for each class."""
    matrices = {c: _over(scatter_of(c), len(POINTS[c])) for c in POINTS}
    say = partial(text_in, lang)
    return _points(
        "gaussian2",
        say("Two measured attributes with full covariance"),
        lang,
        matrices,
        before=[],
        erratum=Erratum(
            say("The product of two normal densities, one for each column."),
            line(
                say(
                    "That leaves the covariance out, as naive Bayes does: the determinant for A would be {a}, not {b}."
                ),
                a=exact(matrices["A"][0] * matrices["A"][1]),
                b=exact(determinant(matrices["A"])),
            ),
            copied=False,
        ),
        more=[],
    )


@ManyDigits()
def discriminant_page(lang: str) -> Sheet:
    """Equal covariances: the boundary is a straight line."""
    say = partial(text_in, lang)
    n = sum(map(len, POINTS.values()))
    both = [scatter_of(c) for c in POINTS]
    pooled: Matrix = tuple(sum(cells, Fraction(0)) / n for cells in zip(*both, strict=True))  # type: ignore[assignment]
    det = determinant(pooled)
    (a, b), (c, d) = mean_of("A"), mean_of("B")
    u, v = a - c, b - d
    w = (pooled[1] * u - pooled[2] * v) / det, (pooled[0] * v - pooled[2] * u) / det
    middle = -(w[0] * (a + c) + w[1] * (b + d)) / 2
    log = ln(Fraction(len(POINTS["A"]), len(POINTS["B"])))
    whole = as_decimal(w[0] * NEW[0] + w[1] * NEW[1] + middle) + log
    rows = [(each, *map(exact, scatter_of(each))) for each in POINTS]
    more: list[Line | Grid] = [
        line(
            say(
                "The squares cancel, and the log-odds are a straight line: ln(P(A | x) / P(B | x)) = {a} "
                "x_1 + {b} x_2 + {k} + ln({p}) = {z}."
            ),
            a=exact(w[0]),
            b=bracketed_if(w[1]),
            k=bracketed_if(middle),
            p=counted(len(POINTS["A"]), len(POINTS["B"])),
            z=decimal(whole, ".6f"),
        ),
    ]
    return _points(
        "lda",
        say("Equal covariances: linear discriminant analysis"),
        lang,
        dict.fromkeys(POINTS, pooled),
        before=[
            (say("The sums of squares and products about the means are added and divided by all rows:"),),
            grid(("", "Σ (x_1 − μ_1)²", "Σ (x_2 − μ_2)²", "Σ (x_1 − μ_1) (x_2 − μ_2)"), *rows),
        ],
        erratum=Erratum(
            say("The covariance of all rows, about one mean."),
            line(
                say(
                    "Each class has its own mean: the pooled variance of x_1 is {a}. About the mean of all "
                    "rows it would be {b}."
                ),
                a=exact(pooled[0]),
                b=exact(_about_all()),
            ),
            copied=False,
        ),
        more=more,
        results=[Result("ln odds", whole, format(float(whole), ".6f"))],
    )


def bracketed_if(value: Fraction) -> Line:
    """A number to be added: a negative one in brackets."""
    return ("(", exact(value), ")") if value < 0 else (exact(value),)


def _about_all() -> Fraction:
    xs = [Fraction(x) for points in POINTS.values() for x, _ in points]
    mean = sum(xs, Fraction(0)) / len(xs)
    return sum(((x - mean) ** 2 for x in xs), Fraction(0)) / len(xs)


def _over(scatter: Matrix, n: int) -> Matrix:
    return scatter[0] / n, scatter[1] / n, scatter[2] / n


def _points(
    name: str,
    title: str,
    lang: str,
    matrices: Mapping[str, Matrix],
    *,
    before: list[Line | Grid],
    erratum: Erratum,
    more: list[Line | Grid],
    results: Sequence[Result] = (),
) -> Sheet:
    say: Say = partial(text_in, lang)
    n = sum(map(len, POINTS.values()))
    densities = {c: density(c, matrices[c]) for c in POINTS}
    joints = {c: as_decimal(Fraction(len(POINTS[c]), n)) * densities[c] for c in POINTS}
    cells = [
        (c, *map(exact, mean_of(c)), *map(exact, matrices[c]), exact(determinant(matrices[c])))
        for c in POINTS
    ]
    ends = [
        (
            c,
            counted(len(POINTS[c]), n),
            exact(distance(c, matrices[c])),
            decimal(densities[c], ".6g"),
            decimal(joints[c], ".6g"),
        )
        for c in POINTS
    ]
    return Sheet(
        name=name,
        lang=lang,
        title=title,
        question=say("Nine points of two classes. Which class has x = (4.5, 3)? The variances divide by n."),
        given=(
            grid(
                (say("class"), "(x_1, x_2)"),
                *((c, ", ".join(map(str, points))) for c, points in POINTS.items()),
            ),
        ),
        working=(
            *before,
            (say("Means, variances s_1 and s_2, covariance s_3, and the determinant d = s_1 s_2 − s_3²:"),),
            grid(("", "μ_1", "μ_2", "s_1", "s_2", "s_3", "d"), *cells),
            ("q = (s_2 u² − 2 s_3 u v + s_1 v²) / d, u = x_1 − μ_1, v = x_2 − μ_2",),
            ("p(x | c) = exp(−q/2) / (2π √d)",),
            grid(("", "P(c)", "q", "p(x | c)", say("product")), *ends),
            *posterior_lines(joints),
            *more,
        ),
        answer=answer_line(joints, lang),
        errata=(erratum,),
        source=say(
            "C. M. Bishop, Pattern Recognition and Machine Learning, Springer 2006, section 4.2. The numbers are ours."
        ),
        results=(*results, *joint_results("x", joints)),
    )


# Eight rows of two attributes with two states.
PAIRS = ((0, 0), (0, 0), (0, 0), (0, 1), (1, 1), (1, 1), (1, 1), (1, 0))


@ManyDigits()
def bic_page(lang: str) -> Sheet:
    """The score of two structures: is the arc worth its parameter?"""
    say = partial(text_in, lang)
    n = len(PAIRS)
    a = [sum(x == v for x, _ in PAIRS) for v in (0, 1)]
    b = [sum(y == v for _, y in PAIRS) for v in (0, 1)]
    cells = {(u, v): PAIRS.count((u, v)) for u in (0, 1) for v in (0, 1)}
    of_a, of_b = (sum((k * ln(Fraction(k, n)) for k in counts if k), Decimal(0)) for counts in (a, b))
    given = sum((k * ln(Fraction(k, a[u])) for (u, _), k in cells.items() if k), Decimal(0))
    half = ln(n) / 2
    scores = {"a, b": of_a + of_b - 2 * half, "a → b": of_a + given - 3 * half}
    chosen = max(scores, key=lambda name: scores[name])
    terms = joined(
        " + ",
        (
            line("{k} ln {p}", k=exact(k), p=_in_brackets(Fraction(k, a[u])))
            for (u, _), k in cells.items()
            if k
        ),
    )
    many = 2 * n
    more = of_a * 2 + given * 2 - 3 * ln(many) / 2, of_a * 2 + of_b * 2 - 2 * ln(many) / 2
    return Sheet(
        name="bic",
        lang=lang,
        title=say("The score of a structure (BIC)"),
        question=say(
            "Eight rows of two attributes. Does the structure a → b have a better score than two nodes without an arc?"
        ),
        given=(grid(("", "b = 0", "b = 1"), *((f"a = {u}", cells[u, 0], cells[u, 1]) for u in (0, 1))),),
        working=(
            ("BIC = ln L − (k/2) ln N",),
            line(
                "ln L(a) = {m} ln {p} + {q} ln {r} = {s}",
                m=exact(a[0]),
                p=_in_brackets(Fraction(a[0], n)),
                q=exact(a[1]),
                r=_in_brackets(Fraction(a[1], n)),
                s=decimal(of_a, ".6f"),
            ),
            line(
                "ln L(b) = {m} ln {p} + {q} ln {r} = {s}",
                m=exact(b[0]),
                p=_in_brackets(Fraction(b[0], n)),
                q=exact(b[1]),
                r=_in_brackets(Fraction(b[1], n)),
                s=decimal(of_b, ".6f"),
            ),
            line("ln L(b | a) = {terms} = {s}", terms=terms, s=decimal(given, ".6f")),
            line(
                say("One parameter costs (1/2) ln 8 = {h}; without the arc there are {k}, with it {m}."),
                h=decimal(half, ".6f"),
                k=exact(2),
                m=exact(3),
            ),
            line(
                "BIC(a, b) = {l} − {k} · {h} = {s}",
                l=decimal(of_a + of_b, ".6f"),
                k=exact(2),
                h=decimal(half, ".6f"),
                s=decimal(scores["a, b"], ".6f"),
            ),
            line(
                "BIC(a → b) = {l} − {k} · {h} = {s}",
                l=decimal(of_a + given, ".6f"),
                k=exact(3),
                h=decimal(half, ".6f"),
                s=decimal(scores["a → b"], ".6f"),
            ),
            line(
                say("Each row twice (N = 16): {p} with the arc, {q} without it."),
                p=decimal(more[0], ".6f"),
                q=decimal(more[1], ".6f"),
            ),
        ),
        answer=line(
            say("{name} is better by {d}; the likelihood gains {g}, one parameter costs {h}."),
            name=word(chosen),
            d=decimal(abs(scores["a, b"] - scores["a → b"]), ".6f"),
            g=decimal(given - of_b, ".6f"),
            h=decimal(half, ".6f"),
        ),
        errata=(
            Erratum(
                say("The structure of the largest likelihood is the best."),
                line(
                    say(
                        "An arc never lowers the likelihood: here it rises from {a} to {b}. Without a "
                        "penalty the complete graph always wins."
                    ),
                    a=decimal(of_a + of_b, ".6f"),
                    b=decimal(of_a + given, ".6f"),
                ),
                copied=False,
            ),
        ),
        source=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.5. "
            "The numbers are ours."
        ),
        results=(
            Result("a, b", scores["a, b"], format(float(scores["a, b"]), ".6f")),
            Result("a → b", scores["a → b"], format(float(scores["a → b"]), ".6f")),
        ),
    )


def _in_brackets(value: Fraction) -> PrintedNumber:
    return PrintedNumber(f"({value})" if value.denominator > 1 else str(value), value)


FACTORS = 400


@ManyDigits()
def underflow_page(lang: str) -> Sheet:
    """Why logarithms: a product of many probabilities is 0 in double precision."""
    say = partial(text_in, lang)
    shares = {"A": Fraction(1, 10), "B": Fraction(1, 9)}
    logs = {c: FACTORS * ln(p) + ln(Fraction(1, 2)) for c, p in shares.items()}
    largest = max(logs.values())
    difference = min(logs.values()) - largest
    odds = difference.exp()
    smallest = Fraction(1, 2**1074)
    rows = [
        (
            c,
            exact(p),
            decimal(p**FACTORS / 2, ".4g") if float(p**FACTORS / 2) else word("0"),
            decimal(logs[c], ".6f"),
        )
        for c, p in shares.items()
    ]
    return Sheet(
        name="underflow",
        lang=lang,
        title=say("Underflow: why logarithms"),
        question=say(
            "A letter has 400 words; each has probability 1/10 in class A and 1/9 in class B, and the "
            "classes are equally frequent. Which class is more probable, and how much?"
        ),
        given=(grid(("", "P(c)", "P(w | c)"), *((c, "1/2", str(p)) for c, p in shares.items())),),
        working=(
            line(
                say("The smallest double is 2^(−1074) = {s}, and ln of it is {l}."),
                s=decimal(smallest, ".4g"),
                l=decimal(ln(smallest), ".6f"),
            ),
            grid(("", "P(w | c)", say("product in double precision"), "ln P(c, x)"), *rows),
            ("ln P(c, x) = ln P(c) + Σ ln P(x_i | c)",),
            line(
                say("The largest is subtracted before exp: ln P(A, x) − ln P(B, x) = {d}."),
                d=decimal(difference, ".6f"),
            ),
            line(
                "P(A | x) = exp({d}) / (exp({d}) + 1) = {p}",
                d=decimal(difference, ".6f"),
                p=decimal(odds / (1 + odds), ".6e"),
            ),
        ),
        answer=line(
            say("{c}; P(A | x) = {p}. By products both classes would have {zero}."),
            c=word("B"),
            p=decimal(odds / (1 + odds), ".6e"),
            zero=word("0"),
        ),
        errata=(
            Erratum(
                say("If the product is 0, the class is impossible."),
                line(
                    say(
                        "It is not: ln P(A, x) = {l} is an ordinary number. Add logarithms, and subtract "
                        "the largest before exp."
                    ),
                    l=decimal(logs["A"], ".6f"),
                ),
                copied=False,
            ),
        ),
        source=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.3. "
            "The numbers are ours."
        ),
        results=(
            *(Result(f"ln P({c}, x)", value, format(float(value), ".6f")) for c, value in logs.items()),
            result("P(A | x)", odds / (1 + odds)),
        ),
    )
