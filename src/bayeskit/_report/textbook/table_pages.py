"""Pages on any small table: naive Bayes, Laplace's correction, conditional risk, maximum likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from bayeskit._messages import text_in
from bayeskit._report.textbook.lesson import (
    PI,
    Lesson,
    ManyDigits,
    Say,
    as_decimal,
    best,
    bundled,
    joint_results,
    ln,
    melons,
    number,
    posterior_lines,
    posterior_sheet,
    posteriors,
    products,
    quotient,
    result,
    row_of,
    shown,
    sources,
    table_of,
    total_of,
)
from bayeskit._report.textbook.printed_number import Line, counted, decimal, exact, joined, line, word
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid
from bayeskit._schema import Label

CRISP = "清脆"
# A row that naive Bayes holds for good, but not so surely that one would risk five times the loss.
DOUBTFUL = {"色泽": "青绿", "根蒂": "稍蜷", "敲声": "浊响", "纹理": "清晰", "脐部": "稍凹", "触感": "软粘"}
# What it costs to decide for the most probable class where it is another one.
DEAR = 5


@ManyDigits()
def naive_page(lang: str, lesson: Lesson | None = None) -> Sheet:
    """Naive Bayes with the fractions as they were counted."""
    say, lesson = partial(text_in, lang), lesson or melons()
    joints = {c: lesson.naive(c, 0)[1] for c in lesson.classes}
    zeros = [
        (name, c)
        for c in lesson.classes
        for name in lesson.words
        if not lesson.share(name, lesson.query[name], c).value
    ]
    working: list[Line | Grid] = [("P(c | x) ∝ P(c) Π P(x_i | c)",)]
    working += [(say("A category has the fraction |D_{c,v}| / |D_c|:"),), _factors(lesson, 0, say)]
    working += _normals(lesson, say)
    for name, c in zeros:
        working.append(
            line(
                say(
                    "No row of {c} has {name} = {value}: its product is {zero}, whatever the rest is; see {page}."
                ),
                c=word(shown(c)),  # which one is an answer, too
                name=word(name),
                value=word(shown(lesson.query[name])),
                zero=exact(0),
                page="bayeskit textbook laplace",
            )
        )
    return posterior_sheet(
        "nb",
        say("Naive Bayes"),
        lesson,
        lang,
        joints,
        working=working,
        erratum=Erratum(
            say("The products taken for the posterior."),
            line(
                say(
                    "They are P(c, x) and sum to P(x) = {p}, not to one. Dividing by it changes no decision."
                ),
                p=number(total_of(joints.values())),
            ),
            copied=False,
        ),
        results=joint_results("α = 0", joints),
    )


@ManyDigits()
def laplace_page(lang: str, lesson: Lesson | None = None) -> Sheet:
    """Laplace's correction: why a zero must not decide alone."""
    say, lesson = partial(text_in, lang), lesson or melons(敲声=CRISP)
    before = {c: lesson.naive(c, 0)[1] for c in lesson.classes}
    joints = {c: lesson.naive(c, 1)[1] for c in lesson.classes}
    found = posteriors(joints)
    chosen = best(found)
    name, value = _telling(lesson)
    c = lesson.classes[0]
    sums = [lesson.share(name, v, c, 1) for v in lesson.states(name)]
    short = lesson.size(name) - len(sums)
    sums += [counted(1, lesson.n({}, c, [name]) + lesson.size(name))] * short
    working: list[Line | Grid] = [
        (say("Without smoothing (α = 0):"),),
        _factors(lesson, 0, say),
        (say("With Laplace's correction (α = 1), one more in every cell:"),),
        ("P(c) = (|D_c| + 1) / (|D| + K), P(x_i | c) = (|D_{c,v}| + 1) / (|D_c| + N_i)",),
        _factors(lesson, 1, say),
        *_normals(lesson, say),
        line(
            say(
                "N_i is the number of states of the attribute, so that shares sum to one: for {name} in "
                "{c}, {terms} = {one}."
            ),
            name=name,
            c=shown(c),
            terms=joined(" + ", sums),
            one=exact(sum((Fraction(share.value or 0) for share in sums), Fraction(0))),
        ),
        *posterior_lines(joints),
    ]
    wrong = counted(lesson.n({name: value}, c) + 1, len(lesson.y) + lesson.size(name))
    return Sheet(
        name="laplace",
        lang=lang,
        title=say("Laplace's correction"),
        question=_question(lesson, lang),
        given=(table_of(lesson),),
        working=tuple(working),
        answer=line(
            say("{c}, with probability {p}; without smoothing the products are {products}."),
            c=word(shown(chosen)),
            p=decimal(found[chosen], ".6f"),
            products=joined(", ", map(number, before.values())),
        ),
        errata=(
            Erratum(
                say("|D| + N_i in the denominator under Laplace's correction."),
                line(
                    say("It is |D_c| + N_i, the rows of the class: P({v} | {c}) = {a}, not {b}."),
                    v=shown(value),
                    c=shown(c),
                    a=lesson.share(name, value, c, 1),
                    b=word(wrong.text),
                ),
            ),
        ),
        source=sources("", lesson, lang),
        results=(
            *(result(f"α = 0: {shown(c)}", joint, 8) for c, joint in before.items()),
            *joint_results("α = 1", joints),
        ),
    )


@ManyDigits()
def risk_page(lang: str, lesson: Lesson | None = None) -> Sheet:
    """Conditional risk and the Bayes rule under two tables of losses."""
    say, lesson = partial(text_in, lang), lesson or bundled("melon2", DOUBTFUL)
    joints = {c: lesson.naive(c, 1)[1] for c in lesson.classes}
    found = posteriors(joints)
    first = best(found)
    losses = {"0/1": losses_of(lesson.classes), f"{DEAR}": losses_of(lesson.classes, first)}
    risks = {name: risks_of(found, loss) for name, loss in losses.items()}
    chosen = {name: min(risk, key=lambda c: as_decimal(risk[c])) for name, risk in risks.items()}
    working: list[Line | Grid] = [
        (say("The posterior by naive Bayes with Laplace's correction:"),),
        _factors(lesson, 1, say),
        *_normals(lesson, say),
        *posterior_lines(joints),
        ("R(a | x) = Σ λ(a, c) P(c | x)",),
    ]
    for name, loss in losses.items():
        about = (
            say("All mistakes cost the same:")
            if name == "0/1"
            else say("To decide for {c} wrongly costs {n} times as much:").format(c=shown(first), n=DEAR)
        )
        working += [(about,), *(_risk(c, loss[c], found, risks[name][c]) for c in lesson.classes)]
    p = Fraction(DEAR, DEAR + 1)
    working.append(
        line(
            say(
                "Decide for {c} only where {n} (1 − P({c} | x)) < P({c} | x), that is where P({c} | x) > {p} = {short}."
            ),
            c=shown(first),
            n=str(DEAR),
            p=exact(p),
            short=decimal(p),
        )
        if len(lesson.classes) == 2
        else (say("The decision with the smallest risk is the best: h(x) = arg min R(a | x)."),)
    )
    zero = {name: risk[chosen[name]] for name, risk in risks.items()}
    return Sheet(
        name="risk",
        lang=lang,
        title=say("Conditional risk and the Bayes rule"),
        question=say(
            "Which decision has the smallest conditional risk for x: {row}? First if every mistake costs "
            "1, then if it costs {n} to decide wrongly for the most probable class."
        ).format(row=row_of(lesson, lang), n=DEAR),
        given=(table_of(lesson),),
        working=tuple(working),
        answer=line(
            say("{a} if all mistakes cost the same (risk {p}), {b} if not (risk {q})."),
            a=word(shown(chosen["0/1"])),
            p=decimal(zero["0/1"], ".6f"),
            b=word(shown(chosen[f"{DEAR}"])),
            q=decimal(zero[f"{DEAR}"], ".6f"),
        ),
        errata=(
            Erratum(
                say("The most probable class is always the best decision."),
                line(
                    say(
                        "Only if all mistakes cost the same: then R(c | x) = 1 − P(c | x), here {r} = 1 − {p}."
                    ),
                    r=decimal(risks["0/1"][first], ".6f"),
                    p=decimal(found[first], ".6f"),
                ),
                copied=False,
            ),
        ),
        source=sources(
            say(
                "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.1."
            ),
            lesson,
            lang,
        ),
        results=(
            *joint_results("α = 1", joints, prior=False),
            *(
                result(f"{name}: R({shown(c)} | x)", r)
                for name, risk in risks.items()
                for c, r in risk.items()
            ),
        ),
    )


def losses_of(classes: tuple[Any, ...], dear: Label | None = None) -> dict[Any, dict[Any, int]]:
    """λ(a, c): a mistake costs 1, or more where it is a decision for the dear class.

    Examples
    --------
    >>> losses_of(("yes", "no"), "yes")
    {'yes': {'yes': 0, 'no': 5}, 'no': {'yes': 1, 'no': 0}}
    """
    return {a: {c: 0 if a == c else DEAR if a == dear else 1 for c in classes} for a in classes}


def risks_of(
    found: Mapping[Any, Fraction | Decimal], loss: Mapping[Any, Mapping[Any, int]]
) -> dict[Any, Fraction | Decimal]:
    """R(a | x) of all decisions."""
    return {a: total_of(_times(cost, found[c]) for c, cost in costs.items()) for a, costs in loss.items()}


def _times(cost: int, p: Fraction | Decimal) -> Fraction | Decimal:
    return cost * p


def _risk(
    c: Label, costs: Mapping[Any, int], found: Mapping[Any, Fraction | Decimal], risk: Fraction | Decimal
) -> Line:
    terms = (line("{l} · {p}", l=exact(cost), p=decimal(found[k], ".6f")) for k, cost in costs.items())
    return line("R({c} | x) = {terms} = {r}", c=shown(c), terms=joined(" + ", terms), r=decimal(risk, ".6f"))


@ManyDigits()
def likelihood_page(lang: str, lesson: Lesson | None = None) -> Sheet:
    """Maximum likelihood: likelihood, logarithm, derivative, solution."""
    say = partial(text_in, lang)
    lesson = lesson or bundled("melon3", {"色泽": "青绿", "密度": Fraction("0.697")}, 1)
    c = lesson.y[lesson.row - 1] if lesson.row is not None else lesson.classes[0]
    working: list[Line | Grid] = []
    results: list[Result] = []
    answers: list[Line] = []
    parts = [_bernoulli(lesson, c, say)]
    categorical = [name for name in lesson.columns if name not in lesson.numeric]
    parts += [_categorical(lesson, name, c, say) for name in categorical[:1]]
    parts += [_gaussian(lesson, name, c, say) for name in lesson.numeric[:1]]
    for lines, answer, numbers in parts:
        working += lines
        answers.append(answer)
        results += numbers
    n = lesson.n({}, c)
    return Sheet(
        name="mle",
        lang=lang,
        title=say("Maximum likelihood"),
        question=say(
            "Estimate by maximum likelihood: how often the class is {c}; in {c}, the distribution of the "
            "first attribute that has categories, and of the first that is measured."
        ).format(c=shown(c)),
        given=(table_of(lesson),),
        working=tuple(working),
        answer=joined("; ", answers),
        errata=(
            Erratum(
                say("Maximum likelihood gives the most probable parameter."),
                line(
                    say(
                        "It gives the parameter under which the rows are most probable. After {n} rows of "
                        "{n} the estimate would be {one}: other values are held to be impossible. See "
                        "{page}."
                    ),
                    n=str(n),
                    one=exact(1),
                    page="bayeskit textbook bayes-estimate",
                ),
                copied=False,
            ),
        ),
        source=sources(
            say(
                "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.2."
            ),
            lesson,
            lang,
        ),
        results=tuple(results),
    )


Part = tuple[list[Line | Grid], Line, list[Result]]


def _bernoulli(lesson: Lesson, c: Label, say: Say) -> Part:
    h, n = lesson.n({}, c), len(lesson.y)
    t, share = n - h, Fraction(h, n)
    top = h * ln(share) + (t * ln(1 - share) if t else 0)
    lines: list[Line | Grid] = [
        line(
            say("Bernoulli: {h} of the {n} rows are {c}, each with probability θ."),
            h=word(h),
            n=word(n),
            c=shown(c),
        ),
        line("L(θ) = θ^{h} (1 − θ)^{t}", h=exact(h), t=exact(t)),
        line("ln L(θ) = {h} ln θ + {t} ln(1 − θ)", h=exact(h), t=exact(t)),
        line("∂ ln L / ∂θ = {h} / θ − {t} / (1 − θ) = 0", h=exact(h), t=exact(t)),
        line(
            "{h} (1 − θ) = {t} θ → θ = {p} = {short}, ln L = {top}",
            h=exact(h),
            t=exact(t),
            p=counted(h, n),
            short=decimal(share, ".5f"),
            top=decimal(top, ".6f"),
        ),
    ]
    answer = line("P({c}) = {p}", c=shown(c), p=counted(h, n))
    return lines, answer, [result("θ", share), Result("Bernoulli: ln L", top, format(float(top), ".6f"))]


def _categorical(lesson: Lesson, name: str, c: Label, say: Say) -> Part:
    states = lesson.states(name)
    counts = {v: lesson.n({name: v}, c) for v in states}
    n = sum(counts.values())
    shares = {v: Fraction(k, n) for v, k in counts.items()}
    top = sum((k * ln(shares[v]) for v, k in counts.items() if k), Decimal(0))
    letters = [f"θ_{i}" for i in range(1, len(states) + 1)]
    first = letters[0]
    lines: list[Line | Grid] = [
        line(
            say(
                "Categories: {name} in the {n} rows of {c}; the shares θ_v sum to one (a multiplier λ sees to it)."
            ),
            name=name,
            n=word(n),
            c=shown(c),
        ),
        grid(
            ("v", "n_v", "θ_v = n_v / n"),
            *(
                (shown(v), exact(k), line("{p} = {d}", p=counted(k, n), d=decimal(shares[v], ".5f")))
                for v, k in counts.items()
            ),
        ),
        line(
            "L = {terms}",
            terms=joined(
                " · ",
                (line("{x}^{k}", x=x, k=exact(k)) for x, k in zip(letters, counts.values(), strict=True)),
            ),
        ),
        ("ln L + λ (1 − Σ θ_v) = Σ n_v ln θ_v + λ (1 − Σ θ_v)",),
        line("n_v / θ_v − λ = 0 → θ_v = n_v / λ, Σ θ_v = 1 → λ = n = {n}", n=exact(n)),
        line("{x} = {p}, ln L = {top}", x=first, p=counted(counts[states[0]], n), top=decimal(top, ".6f")),
    ]
    answer = line(
        "P({name} | {c}) = {p}",
        name=name,
        c=shown(c),
        p=joined(", ", (counted(k, n) for k in counts.values())),
    )
    numbers = [result(f"{name} = {shown(v)}", share) for v, share in shares.items()]
    return lines, answer, [*numbers, Result("categories: ln L", top, format(float(top), ".6f"))]


def _gaussian(lesson: Lesson, name: str, c: Label, say: Say) -> Part:
    cells = lesson.of_class(name, c)
    n = len(cells)
    mean, variance = lesson.moments(name, c)
    total = sum(cells, Fraction(0))
    top = -Fraction(n, 2) * 1
    value = as_decimal(top) * (1 + (2 * PI * as_decimal(variance)).ln())
    lines: list[Line | Grid] = [
        line(say("Normal: {name} in the {n} rows of {c}."), name=name, n=word(n), c=shown(c)),
        ("L(μ, σ²) = Π (exp(−(x − μ)² / (2σ²)) / √(2πσ²))",),
        ("ln L = −(n/2) ln(2πσ²) − Σ (x − μ)² / (2σ²)",),
        line(
            "∂ ln L / ∂μ = (Σ (x − μ)) / σ² = 0 → μ = (Σ x) / n = {s} / {n} = {m} = {d}",
            s=bracketed_number(total),
            n=exact(n),
            m=number(mean),
            d=decimal(mean, ".5f"),
        ),
        line(
            "∂ ln L / ∂σ² = −n / (2σ²) + (Σ (x − μ)²) / (2(σ²)²) = 0 → σ² = (Σ (x − μ)²) / n = {v}",
            v=decimal(variance, ".6g"),
        ),
        line("ln L = −(n/2) (ln(2πσ²) + 1) = {top}", top=decimal(value, ".6f")),
        line(
            say("The variance divided by n − 1 would be {v}: without bias, but not the maximum."),
            v=decimal(quotient(variance * n, Fraction(n - 1)), ".6g"),
        ),
    ]
    answer = line("μ = {m}, σ² = {v}", m=decimal(mean, ".5f"), v=decimal(variance, ".6g"))
    return (
        lines,
        answer,
        [
            result("μ", mean),
            result("σ²", variance),
            Result("normal: ln L", value, format(float(value), ".6f")),
        ],
    )


def bracketed_number(value: Fraction) -> Line:
    """A number over which one divides: a fraction in brackets."""
    found = number(value)
    return ("(", found, ")") if "/" in found.text else (found,)


def _question(lesson: Lesson, lang: str) -> str:
    return text_in(lang, "Which class has x: {row}?").format(row=row_of(lesson, lang))


def _factors(lesson: Lesson, alpha: int, say: Say) -> Grid:
    numbers = [name for name in lesson.numeric if name in lesson.query]
    header = [
        "P(c)",
        *(shown(v) if isinstance(v, str) else f"{name} = {shown(v)}" for name, v in lesson.words.items()),
    ]
    header += [f"p({shown(lesson.query[name])} | c)" for name in numbers]
    return products(say, header, [(shown(c), *lesson.naive(c, alpha)) for c in lesson.classes])


def _normals(lesson: Lesson, say: Say) -> list[Line | Grid]:
    numbers = [name for name in lesson.numeric if name in lesson.query]
    if not numbers:
        return []
    rows = []
    for name in numbers:
        for c in lesson.classes:
            mean, variance = lesson.moments(name, c)
            x = lesson.query[name]
            exponent = (x - mean) ** 2 / (2 * variance)
            rows.append(
                (
                    name,
                    shown(c),
                    decimal(mean, ".6g"),
                    decimal(variance, ".6g"),
                    decimal(exponent, ".6g"),
                    decimal(lesson.density(name, x, c), ".6g"),
                )
            )
    note = (
        say(
            "A number has the density p(x | c) = exp(−(x − μ)² / (2σ²)) / √(2πσ²), its variance divided by n:"
        ),
    )
    return [note, grid(("", "", "μ", "σ²", "(x − μ)² / (2σ²)", "p(x | c)"), *rows)]


def _telling(lesson: Lesson) -> tuple[str, Any]:
    """The cell for which the correction matters most: the one with the smallest count."""
    words = lesson.words or {
        name: lesson.states(name)[0] for name in lesson.columns if name not in lesson.numeric
    }
    return min(words.items(), key=lambda cell: min(lesson.n({cell[0]: cell[1]}, c) for c in lesson.classes))
