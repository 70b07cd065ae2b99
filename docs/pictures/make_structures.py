"""Draw the structures of the semi-naive models in both languages. Run as `python docs/pictures/make_structures.py`.

A thin arc leads from the class to an attribute, a strong one from attribute to attribute; super-parents are filled.
Typeface and colours are those of the networks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bayeskit._report.scene import FONT

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from _charts import Column, bars

Arcs = tuple[tuple[int, int], ...]

LANGUAGES = {"en": "", "zh": ".zh-CN"}
N, RADIUS, TOP, GROUND = 5, 17, 70, 164
SUBSCRIPTS = "₁₂₃₄₅"


def star(*parents: int) -> Arcs:
    """All other attributes depend on these."""
    return tuple((i, j) for i in parents for j in range(N) if j not in parents)


NAIVE: Arcs = ()
TREE: Arcs = ((0, 2), (2, 1), (2, 3), (3, 4))
TWO_PARENTS: Arcs = ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 4), (3, 4))
SELECTED: Arcs = ((0, 1), (0, 2), (1, 3))

# name → its title, and its panels: (sign before it, arcs, super-parents, attributes in the model)
PICTURES: dict[str, tuple[dict[str, str], list[tuple[str, Arcs, tuple[int, ...], int]]]] = {
    "naive": (
        {"en": "Naive Bayes: the class alone", "zh": "朴素贝叶斯：只有类别是父结点"},
        [("", NAIVE, (), N)],
    ),
    "spode": (
        {"en": "SPODE: one super-parent for all", "zh": "SPODE：所有属性共有一个超父"},
        [("", star(1), (1,), N)],
    ),
    "tan": ({"en": "TAN: the attributes form a tree", "zh": "TAN：属性构成一棵树"}, [("", TREE, (), N)]),
    "aode": (
        {
            "en": "AODE: every attribute is the super-parent once, and the joint probabilities are added",
            "zh": "AODE：每个属性轮流作超父，联合概率相加",
        },
        [("" if i == 0 else "+", star(i), (i,), N) for i in range(3)],
    ),
    "ande": (
        {
            "en": "A2DE: every two attributes are the super-parents once",
            "zh": "A2DE：每两个属性轮流作超父",
        },
        [("", star(0, 1), (0, 1), N), ("+", star(0, 2), (0, 2), N), ("+", star(0, 3), (0, 3), N)],
    ),
    "kdb": (
        {"en": "kDB, k = 2: two parents at most", "zh": "kDB，k = 2：每个属性至多两个父属性"},
        [("", TWO_PARENTS, (), N)],
    ),
    "selective_kdb": (
        {"en": "Selective kDB: fewer attributes", "zh": "选择性 kDB：只用次序中靠前的属性"},
        [("", SELECTED, (), 4)],
    ),
}
ELLIPSIS = ("aode", "ande")
# The weights of the stack in docs/guide/auto_bayes.md, rounded.
WEIGHTS = {"loglinear": 0.66, "trees": 0.22, "lda": 0.14}

STYLE = (
    f"text{{font:italic 15px {FONT};text-anchor:middle;fill:#26323a}}"
    ".title{font-style:normal;font-weight:600;font-size:15px;text-anchor:start}.sign{font-style:normal;font-size:19px}"
    ".page{fill:#fcfcfa}.node{fill:#fff;stroke:#62717a;stroke-width:1.4}"
    ".class{fill:#e8f1ec;stroke:#4f7f66;stroke-width:1.6}.super{fill:#fbf1da;stroke:#a06a00;stroke-width:1.8}"
    ".out{fill:none;stroke:#b7c0c5;stroke-dasharray:3 3}"
    ".thin{stroke:#9aa5ab;stroke-width:1.1;fill:none;marker-end:url(#a)}"
    ".strong{stroke:#a06a00;stroke-width:2;fill:none;marker-end:url(#b)}#a path{fill:#9aa5ab}#b path{fill:#a06a00}"
    "@media (prefers-color-scheme:dark){text{fill:#e8ecef}.page{fill:#16191c}.node{fill:#20252a;stroke:#8b98a1}"
    ".class{fill:#1f3329;stroke:#7db597}.super{fill:#3a2f14;stroke:#e0ab3f}.out{stroke:#56626a}"
    ".thin{stroke:#7b8790}.strong{stroke:#e0ab3f}#a path{fill:#7b8790}#b path{fill:#e0ab3f}}"
)


def marker(name: str, size: int) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="{size}" markerHeight="{size}" '
        f'orient="auto"><path d="M0 0 L10 5 L0 10 z"/></marker>'
    )


def arc_from_class(x: float, y: float, to: float) -> str:
    """A straight line between the rims of two circles."""
    length = ((to - x) ** 2 + (GROUND - y) ** 2) ** 0.5
    dx, dy = RADIUS * (to - x) / length, RADIUS * (GROUND - y) / length
    return f'<path class="thin" d="M{x + dx:.1f} {y + dy:.1f} L{to - dx:.1f} {GROUND - dy:.1f}"/>'


def arc_between(start: float, end: float, gap: float) -> str:
    """A straight arrow to a neighbour, otherwise a bow below the row, the deeper the farther."""
    steps = round(abs(end - start) / gap)
    side = 1 if end > start else -1
    if steps == 1:
        return f'<path class="strong" d="M{start + side * RADIUS:.1f} {GROUND} H{end - side * RADIUS:.1f}"/>'
    begin, stop = start + side * 9, end - side * (14 - 3 * steps)
    depth = GROUND + RADIUS + 8 + 21 * steps
    return (
        f'<path class="strong" d="M{begin:.1f} {GROUND + 15} '
        f'Q{(begin + stop) / 2:.1f} {depth} {stop:.1f} {GROUND + RADIUS}"/>'
    )


def panel(x0: float, gap: float, arcs: Arcs, parents: tuple[int, ...], used: int) -> list[str]:
    """The class above a row of attributes; those from ``used`` on are not in the model."""
    places = [x0 + RADIUS + gap * j for j in range(N)]
    middle = places[N // 2]
    lines = [arc_from_class(middle, TOP, x) for x in places[:used]]
    lines += [arc_between(places[i], places[j], gap) for i, j in arcs]
    lines.append(f'<circle class="class" cx="{middle:.1f}" cy="{TOP}" r="{RADIUS}"/>')
    lines.append(f'<text x="{middle:.1f}" y="{TOP + 5}">y</text>')
    for j, x in enumerate(places):
        kind = "super" if j in parents else "node" if j < used else "out"
        faint = "" if j < used else ' opacity="0.45"'
        lines.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{GROUND}" r="{RADIUS}"/>')
        lines.append(f'<text x="{x:.1f}" y="{GROUND + 5}"{faint}>x{SUBSCRIPTS[j]}</text>')
    return lines


def picture(name: str, lang: str) -> str:
    """Return one of the pictures as SVG."""
    titles, panels = PICTURES[name]
    title = titles[lang]
    gap, margin, height = 62.0 if len(panels) == 1 else 48.0, 26.0, 250
    lines: list[str] = []
    x = margin
    for sign, arcs, parents, used in panels:
        room = 0.0 if not sign else 30.0 if len(sign) == 1 else 62.0
        if sign:
            lines.append(f'<text class="sign" x="{x + room / 2 - 5:.1f}" y="{GROUND - 40}">{sign}</text>')
        lines += panel(x + room, gap, arcs, parents, used)
        x += room + gap * (N - 1) + 2 * RADIUS + 14
    if name in ELLIPSIS:
        lines.append(f'<text class="sign" x="{x + 16:.1f}" y="{GROUND - 40}">+ …</text>')
        x += 44
    width = x - 14 + margin
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" role="img" aria-labelledby="t">',
        f'<title id="t">{title}</title>',
        f"<style>{STYLE}</style>",
        f"<defs>{marker('a', 7)}{marker('b', 6)}</defs>",
        f'<rect class="page" width="{width:.0f}" height="{height}" rx="10"/>',
        f'<text class="title" x="16" y="30">{title}</text>',
    ]
    return "\n".join([*head, *lines, "</svg>"]) + "\n"


def weights_picture(lang: str) -> str:
    """Return the weights of a stack as bars."""
    title = {"en": "AutoBayes: the weights of its members", "zh": "AutoBayes：各成员的权重"}[lang]
    note = {"en": "10,000 rows of census income.", "zh": "人口普查收入的 10,000 个样本。"}[lang]
    weight = {"en": "weight", "zh": "权重"}[lang]
    rows = list(WEIGHTS.items())
    return str(bars(title, [note], [("", rows)], [Column(weight, lambda value: f"{value:.2f}")]))


if __name__ == "__main__":
    for lang, ending in LANGUAGES.items():
        for each in PICTURES:
            Path(__file__).with_name(f"{each}{ending}.svg").write_text(picture(each, lang), encoding="utf-8")
        Path(__file__).with_name(f"auto_bayes{ending}.svg").write_text(
            weights_picture(lang), encoding="utf-8"
        )
