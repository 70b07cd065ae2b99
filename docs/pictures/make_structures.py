"""Draw the structures of the semi-naive models. Run as `python docs/pictures/make_structures.py`.

A thin arc leads from the class to an attribute, a strong one from attribute to attribute; super-parents are filled. The
background is part of the picture, so that it can be read on a dark page too.
"""

from __future__ import annotations

from pathlib import Path

Arcs = tuple[tuple[int, int], ...]

N, RADIUS, TOP, GROUND = 5, 17, 44, 138
SUBSCRIPTS = "₁₂₃₄₅"


def star(*parents: int) -> Arcs:
    """All other attributes depend on these."""
    return tuple((i, j) for i in parents for j in range(N) if j not in parents)


NAIVE: Arcs = ()
TREE: Arcs = ((0, 2), (2, 1), (2, 3), (3, 4))
TWO_PARENTS: Arcs = ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 4), (3, 4))
SELECTED: Arcs = ((0, 1), (0, 2), (1, 3))

# name → what the picture shows, and its panels: (sign before it, arcs, super-parents, attributes in the model)
PICTURES: dict[str, tuple[str, list[tuple[str, Arcs, tuple[int, ...], int]]]] = {
    "naive": ("Naive Bayes: the class alone is a parent", [("", NAIVE, (), N)]),
    "spode": ("SPODE: all attributes depend on the class and on one of them", [("", star(1), (1,), N)]),
    "tan": ("TAN: beside the class every attribute but the root has one parent", [("", TREE, (), N)]),
    "aode": (
        "AODE: every attribute is the super-parent once, and the joint probabilities are added",
        [("" if i == 0 else "+", star(i), (i,), N) for i in range(3)],
    ),
    "ande": (
        "A2DE: every two attributes are super-parents once",
        [("", star(0, 1), (0, 1), N), ("+", star(0, 2), (0, 2), N), ("+", star(0, 3), (0, 3), N)],
    ),
    "kdb": ("kDB with k = 2: up to two parents among the attributes before", [("", TWO_PARENTS, (), N)]),
    "selective_kdb": (
        "Selective kDB: the first attributes of the order only, with fewer parents",
        [("", SELECTED, (), 4)],
    ),
}
ELLIPSIS = ("aode", "ande")
# The weights of the stack in docs/guide/auto_bayes.md, rounded.
WEIGHTS = {"loglinear": 0.66, "trees": 0.22, "lda": 0.14}

STYLE = (
    'text{font:15px "Latin Modern Math","STIX Two Text","Times New Roman","Noto Serif",serif;font-style:italic;'
    "text-anchor:middle;fill:#26323a}.sign{font-style:normal;font-size:19px}"
    ".node{fill:#fff;stroke:#62717a;stroke-width:1.4}.class{fill:#e8f1ec;stroke:#4f7f66;stroke-width:1.6}"
    ".super{fill:#f3dfb5;stroke:#a06a00;stroke-width:1.8}.out{fill:none;stroke:#b7c0c5;stroke-dasharray:3 3}"
    ".thin{stroke:#9aa5ab;stroke-width:1.1;fill:none;marker-end:url(#a)}"
    ".strong{stroke:#a06a00;stroke-width:2;fill:none;marker-end:url(#b)}"
)


def marker(name: str, colour: str, size: int) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="{size}" markerHeight="{size}" '
        f'orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{colour}"/></marker>'
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


def picture(name: str) -> str:
    """Return one of the pictures as SVG."""
    title, panels = PICTURES[name]
    gap, margin, height = 62.0 if len(panels) == 1 else 48.0, 26.0, 226
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
        f"<defs>{marker('a', '#9aa5ab', 7)}{marker('b', '#a06a00', 6)}</defs>",
        f'<rect x="1" y="1" width="{width - 2:.0f}" height="{height - 2}" rx="12" fill="#f7f7f4" stroke="#c9cfd2"/>',
    ]
    return "\n".join([*head, *lines, "</svg>"]) + "\n"


def weights_picture() -> str:
    """Return the weights of a stack as bars."""
    width, height, left, unit = 560, 60 + 44 * len(WEIGHTS), 130, 520
    lines = []
    for row, (name, weight) in enumerate(WEIGHTS.items()):
        y = 40 + 44 * row
        lines.append(f'<text x="{left - 56}" y="{y + 19}">{name}</text>')
        lines.append(
            f'<rect class="super" x="{left}" y="{y}" width="{weight * unit:.0f}" height="28" rx="4"/>'
        )
        lines.append(f'<text x="{left + weight * unit + 30:.0f}" y="{y + 19}">{weight:.2f}</text>')
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="t">',
        '<title id="t">AutoBayes: the weights of its members on 10,000 rows of adult</title>',
        f"<style>{STYLE}</style>",
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="12" fill="#f7f7f4" stroke="#c9cfd2"/>',
    ]
    return "\n".join([*head, *lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    for each in PICTURES:
        Path(__file__).with_name(f"{each}.svg").write_text(picture(each), encoding="utf-8")
    Path(__file__).with_name("auto_bayes.svg").write_text(weights_picture(), encoding="utf-8")
