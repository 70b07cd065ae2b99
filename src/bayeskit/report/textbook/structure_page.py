"""The three basic structures: common parent, chain, common child."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from bayeskit.report.textbook.counts import Event, Joint
from bayeskit.report.textbook.found import Line, chooser, decimal, exact, joined, line, word
from bayeskit.report.textbook.sheet import Erratum, Grid, Result, Sheet, grid

FORK = Joint({"c": ((), ("0.4",)), "a": (("c",), ("0.2", "0.7")), "b": (("c",), ("0.1", "0.8"))})
CHAIN = Joint({"a": ((), ("0.3",)), "c": (("a",), ("0.2", "0.7")), "b": (("c",), ("0.1", "0.8"))})
COLLIDER = Joint(
    {
        "a": ((), ("0.3",)),
        "b": ((), ("0.6",)),
        "c": (("a", "b"), ("0.1", "0.5", "0.4", "0.9")),
        "d": (("c",), ("0.2", "0.7")),
    }
)
NETWORKS: Mapping[str, Joint] = {"fork": FORK, "chain": CHAIN, "collider": COLLIDER}
PRINTED = {
    "fork": ("59/250", "19/125", "14/25", "14/25"),
    "chain": ("177/1000", "207/2000", "12/25", "12/25"),
    "collider": ("9/50", "9/50", "81/224", "1395/3584"),
}
FAINT = {"d": 1}


def page(lang: str) -> Sheet:
    """Return the page in a language."""
    say, p = chooser(lang), COLLIDER.p
    a, c, ca = CHAIN.p({"a": 1}), CHAIN.p({"c": 1}), CHAIN.p({"c": 1}, {"a": 1})
    told = [(name, seen, both(name, seen)) for name in NETWORKS for seen in ({}, {"c": 1})]
    results = [
        Result(f"{name}: {key}", value, text)
        for name in NETWORKS
        for key, value, text in zip(
            ("P(a, b)", "P(a) P(b)", "P(a, b | c)", "P(a | c) P(b | c)"),
            (*both(name, {}), *both(name, {"c": 1})),
            PRINTED[name],
        )
    ]
    return Sheet(
        name="structures",
        lang=lang,
        title=say("The three basic structures", "三种基本结构"),
        question=say(
            "Three nodes, two arcs: when are a and b independent? All nodes are 0 or 1; only the "
            "probability of 1 is "
            "given, and a, b, c in the answers mean a=1, b=1, c=1.",
            "三个结点，两条边：a 与 b 何时独立？结点取值 0 或 1，表中只写取 1 的概率；答案里的 a、b、c 都指取 1。",
        ),
        given=_tables(say),
        working=(
            line(
                say("Common parent: {why}", "同父结构：{why}"),
                why="P(a, b | c) = P(c) P(a | c) P(b | c) / P(c) = P(a | c) P(b | c)",
            ),
            line(
                "P(a, b) = {terms} = {p}",
                terms=joined(" + ", (_product("fork", "cab", {"c": k}) for k in (0, 1))),
                p=exact(FORK.p({"a": 1, "b": 1})),
            ),
            line(
                say("Chain: {why}", "顺序结构：{why}"),
                why="P(a) P(c | a) = P(c) P(a | c), P(a, b | c) = P(a | c) P(b | c)",
            ),
            line(
                "P(a, b) = {terms} = {p}",
                terms=joined(" + ", (_product("chain", "acb", {"c": k}) for k in (0, 1))),
                p=exact(CHAIN.p({"a": 1, "b": 1})),
            ),
            line(
                say("Common child: {why}", "V 型结构：{why}"),
                why="P(a, b) = P(a) P(b) (P(c=0 | a, b) + P(c=1 | a, b)) = P(a) P(b)",
            ),
            line(
                "P(a, b) = {terms} = {p}",
                terms=joined(" · ", (exact(p({"a": 1})), exact(p({"b": 1})))),
                p=exact(p({"a": 1, "b": 1})),
            ),
            grid(
                ("", "c", "P(a, b | …)", "P(a | …) P(b | …)", say("independent", "独立")),
                *(
                    (
                        _shape(name),
                        say("known", "已知") if seen else say("unknown", "未知"),
                        exact(together),
                        exact(apart),
                        word(say("yes", "是") if together == apart else say("no", "否")),
                    )
                    for name, seen, (together, apart) in told
                ),
            ),
            line(
                say(
                    "b explains c away: P(a | c) = {a}, P(a | c, b) = {ab}. A descendant d of c does the "
                    "same, more "
                    "faintly: P(a | d) = {d}, P(a | d, b) = {db}.",
                    "b 把 c 解释掉了：P(a | c) = {a}，P(a | c, b) = {ab}。c 的后代 d 也有同样的作用，只是弱一些："
                    "P(a | d) = {d}，P(a | d, b) = {db}。",
                ),
                a=exact(p({"a": 1}, {"c": 1})),
                ab=exact(p({"a": 1}, {"c": 1, "b": 1})),
                d=exact(p({"a": 1}, FAINT)),
                db=exact(p({"a": 1}, {**FAINT, "b": 1})),
            ),
        ),
        answer=line(
            say(
                "Common parent and chain: independent once c is {known}. Common child: independent while c, "
                "and every "
                "descendant of it, is {unknown}.",
                "同父与顺序结构：c {known}时独立。V 型结构：c 及其后代都{unknown}时独立。",
            ),
            known=word(say("known", "已知")),
            unknown=word(say("unknown", "未知")),
        ),
        errata=(
            Erratum(
                say(
                    "The chain with P(a, c) = P(c | a) P(c).",
                    "顺序结构写成 P(a, c) = P(c | a) P(c)。",
                ),
                line(
                    say(
                        "It is P(c | a) P(a) = {ca} · {a} = {right}. With P(c) = {c} in its place it would "
                        "be {wrong}.",
                        "应为 P(c | a) P(a) = {ca} · {a} = {right}；误用 P(c) = {c} 则成了 {wrong}。",
                    ),
                    ca=exact(ca),
                    a=exact(a),
                    right=exact(CHAIN.p({"a": 1, "c": 1})),
                    c=exact(c),
                    wrong=exact(ca * c),
                ),
            ),
        ),
        source=say(
            "C. M. Bishop, Pattern Recognition and Machine Learning, Springer 2006, section 8.2; Zhou "
            "Zhihua (周志华), "
            "Machine Learning (《机器学习》), 2016, section 7.5. The numbers are ours.",
            "C. M. Bishop，Pattern Recognition and Machine Learning，Springer 2006，8.2 节；"
            "周志华《机器学习》，清华大学出版社 2016，"
            "7.5 节。数值为自拟。",
        ),
        results=(
            *results,
            Result("collider: P(a | c)", p({"a": 1}, {"c": 1}), "15/32"),
            Result("collider: P(a | c, b)", p({"a": 1}, {"c": 1, "b": 1}), "27/62"),
            Result("collider: P(a | d)", p({"a": 1}, FAINT), "165/424"),
            Result("collider: P(a | d, b)", p({"a": 1}, {**FAINT, "b": 1}), "13/34"),
        ),
    )


def both(name: str, seen: Event) -> tuple[Fraction, Fraction]:
    """Return P(a, b | seen) and P(a | seen) P(b | seen).

    Examples
    --------
    >>> both("collider", {})
    (Fraction(9, 50), Fraction(9, 50))
    """
    p = NETWORKS[name].p
    return p({"a": 1, "b": 1}, seen), p({"a": 1}, seen) * p({"b": 1}, seen)


def _shape(name: str) -> str:
    return {"fork": "a ← c → b", "chain": "a → c → b", "collider": "a → c ← b"}[name]


def _product(name: str, order: str, at: Event) -> Line:
    """The factors of a row with a=1 and b=1, in the order of the arcs."""
    row = {"a": 1, "b": 1, **at}
    return joined(" · ", (decimal(NETWORKS[name].cell(node, row), "g") for node in order))


def _tables(say: Callable[[str, str], str]) -> tuple[Grid, ...]:
    rows = []
    for name, network in NETWORKS.items():
        for node, (parents, numbers) in network.tables.items():
            about = f"P({node} | {', '.join(parents)})" if parents else f"P({node})"
            states = {0: "", 1: "0, 1", 2: "00, 01, 10, 11"}[len(parents)]
            rows.append((_shape(name), about, states, ", ".join(numbers)))
    return (grid((say("structure", "结构"), "P", say("given", "条件"), ""), *rows),)
