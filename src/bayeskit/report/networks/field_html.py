"""A Markov network for a notebook: its variables with their states, its factors folded away."""

from __future__ import annotations

from bayeskit.graphs.factor import factor_html
from bayeskit.graphs.network import Field
from bayeskit.report.html import as_html
from bayeskit.report.networks.html import LONGEST_PAGE, MOST_NODES, folded
from bayeskit.report.page import Page
from bayeskit.schema import shorter
from bayeskit.visible import escape


def field_html(field: Field) -> str:
    """Return the page that a notebook shows for a Markov network.

    Examples
    --------
    >>> from bayeskit.graphs.factor import Factor
    >>> from bayeskit.schema import Variable
    >>> pair = Factor(["a"], [["x", "y"]], [30, 5])
    >>> field_html(Field((Variable("a", "categorical", ("x", "y")),), (pair,))).splitlines()[1]
    '<p><b>Markov network, 1 variable, 1 factor</b></p>'
    """
    called = f" {field.name}" if field.name else ""
    counts = ", ".join(
        f"{n:,} {word}{'' if n == 1 else 's'}"
        for n, word in ((len(field.variables), "variable"), (len(field.factors), "factor"))
    )
    rows = tuple((shorter(v.name), shorter(v.listing(), 200)) for v in field.variables)
    lines = [
        '<div class="bayeskit">',
        f"<p><b>Markov network{escape(called)}, {counts}</b></p>",
        as_html(Page("", ("variable", "states"), rows, (), ())) if rows else "",
    ]
    if len(field.factors) <= MOST_NODES:
        parts = [
            (escape(", ".join(map(str, f.names)) or "constant"), factor_html(f, caption=""))
            for f in field.factors
        ]
        room = LONGEST_PAGE - sum(len(line.encode()) for line in lines)
        lines.append(folded(parts, "factors has it", room))
    else:
        lines.append(f"<p>Factors are shown up to {MOST_NODES}; factors has them all.</p>")
    return "\n".join([*filter(None, lines), "</div>"])
