"""The components of a Gaussian mixture as a table: weight, mean and standard deviation in every column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.data.native import to_native
from bayeskit.learning.mixtures.components import Components
from bayeskit.report.html import as_html
from bayeskit.report.page import Page
from bayeskit.report.text import as_text
from bayeskit.schema import Name

# More columns than anybody reads; the frame has them all.
MOST_SHOWN = 12


@dataclass(frozen=True)
class ComponentTable:
    """Weights, means and standard deviations; ``str`` and notebooks show it, ``frame()`` gives the numbers.

    Examples
    --------
    >>> pair = Components(np.array([0.5, 0.5]), np.array([[0.0], [9.0]]), np.array([[4.0], [1.0]]), "diag")
    >>> print("\\n".join(str(ComponentTable(pair, ("height",))).splitlines()[2:]))
    component  weight  height
    0          0.5000  0 ± 2
    1          0.5000  9 ± 1
    -----------------------------
    all        1.0000  4.5 ± 4.77
    """

    components: Components
    names: tuple[Name, ...]

    def frame(self) -> Any:
        """Return a data frame: component, weight, and two columns (mean and sd) for each of the data."""
        found = self.components
        spreads = np.sqrt(found.variances)
        columns: dict[str, Any] = {"component": np.arange(len(found.weights)), "weight": found.weights}
        for j, name in enumerate(self.names):
            columns[f"mean of {name}"] = found.means[:, j]
            columns[f"sd of {name}"] = spreads[:, j]
        return to_native(columns)

    def __str__(self) -> str:
        return as_text(self._page())

    def _repr_html_(self) -> str:
        return as_html(self._page())

    def _page(self) -> Page:
        found, names = self.components, self.names[:MOST_SHOWN]
        variances, w = found.variances, found.weights
        rows = tuple(
            (
                str(k) + (" (collapsed)" if k in found.collapsed else ""),
                f"{w[k]:.4f}",
                *(_cell(found.means[k, j], variances[k, j]) for j in range(len(names))),
            )
            for k in range(len(w))
        )
        # Σ = Σ_k w_k (Σ_k + (μ_k − μ)(μ_k − μ)ᵀ), of which the table shows the diagonal.
        mean = w @ found.means
        variance = w @ (variances + (found.means - mean) ** 2)
        last = ("all", f"{w.sum():.4f}", *(_cell(mean[j], variance[j]) for j in range(len(names))))
        more = len(self.names) - len(names)
        notes = (f"{more} more columns are not shown; frame() has them.",) if more else ()
        many = "component" if len(rows) == 1 else "components"
        title = f"{len(rows)} Gaussian {many}, {found.covariance_type} covariances"
        return Page(title, ("component", "weight", *map(str, names)), rows, (last,), notes)


def _cell(mean: float, variance: float) -> str:
    return f"{mean:.4g} ± {np.sqrt(variance):.3g}".replace("-", "−")
