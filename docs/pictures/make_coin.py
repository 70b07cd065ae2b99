"""Draw coin.svg: what is believed of a coin after some tosses. Run as `python docs/pictures/make_coin.py`."""

from __future__ import annotations

from math import exp, lgamma, log
from pathlib import Path

# a of the prior Beta(a, a), and a colour that can be told apart without seeing colours well
PRIORS = ((1, "#0072b2"), (2, "#d55e00"), (10, "#009e73"))
TOSSES = ((7, 10), (0, 3))
LEFT, TOP, WIDTH, HEIGHT, GAP = 40, 40, 320, 200, 60
HIGHEST = 5.0


def density(p: float, a: float, b: float) -> float:
    """Beta(a, b) at p, with the ends as limits."""
    if p in (0.0, 1.0):
        power = a if p == 0.0 else b
        return 0.0 if power > 1 else exp(lgamma(a + b) - lgamma(a) - lgamma(b))
    return exp(lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1) * log(p) + (b - 1) * log(1 - p))


def panel(x0: int, heads: int, n: int) -> list[str]:
    def place(p: float, y: float) -> str:
        return f"{x0 + WIDTH * p:.1f},{TOP + HEIGHT * (1 - y / HIGHEST):.1f}"

    bottom = TOP + HEIGHT
    lines = [
        f'<text x="{x0 + WIDTH / 2:.0f}" y="{TOP - 14}" class="title">{heads} / {n}</text>',
        f'<path d="M{x0},{bottom}h{WIDTH}" class="axis"/>',
    ]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = x0 + WIDTH * tick
        lines.append(f'<path d="M{x:.0f},{bottom}v5" class="axis"/>')
        lines.append(f'<text x="{x:.0f}" y="{bottom + 19}">{tick:g}</text>')
    for i, (a, colour) in enumerate(PRIORS):
        up, down = heads + a, n - heads + a
        points = " ".join(place(k / 200, density(k / 200, up, down)) for k in range(201))
        lines.append(f'<polyline points="{points}" stroke="{colour}"/>')
        mode, mean = (up - 1) / (up + down - 2), up / (up + down)
        for p, fill in ((mode, colour), (mean, "white")):
            x, y = place(p, density(p, up, down)).split(",")
            lines.append(f'<circle cx="{x}" cy="{y}" r="4" fill="{fill}" stroke="{colour}"/>')
        lines.append(
            f'<text x="{x0 + WIDTH - 4}" y="{TOP + 14 + 16 * i}" fill="{colour}" class="key">a = {a}</text>'
        )
    return lines


def picture() -> str:
    """Return the picture as SVG: a filled dot is the mode (MAP), a hollow one the mean."""
    width, height = LEFT * 2 + WIDTH * 2 + GAP, TOP + HEIGHT + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<title>Posterior densities of a coin under Beta(a, a): filled dot = mode (MAP), hollow dot = mean</title>",
        "<style>text{font:13px sans-serif;text-anchor:middle}.title{font-weight:bold}.key{text-anchor:end}",
        ".axis{stroke:#555;fill:none}polyline{fill:none;stroke-width:2}circle{stroke-width:2}</style>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for i, (heads, n) in enumerate(TOSSES):
        lines += panel(LEFT + i * (WIDTH + GAP), heads, n)
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("coin.svg").write_text(picture(), encoding="utf-8")
