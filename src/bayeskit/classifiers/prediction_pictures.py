"""Pictures of how a classifier predicts: reliability, reject and cost curves. They need its posteriors and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayeskit.schema import Label

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bayeskit.report.charts import CostCurve, RejectCurve, Reliability


class PredictionPictures:
    """Charts of predictions, for whatever has ``predict_proba`` and ``classes_``."""

    if TYPE_CHECKING:

        @property
        def classes_(self) -> NDArray[Any]: ...

        def predict_proba(self, X: Any) -> NDArray[np.float64]: ...

    def reliability(
        self,
        X: Any,
        y: Any,
        *,
        label: Label | None = None,
        bins: int = 10,
        strategy: str = "uniform",
        lang: str = "en",
    ) -> Reliability:
        """Compare posteriors of rows with what came true: of those given 70%, how many are of the class?

        Take rows that were not learned; for learned ones pass what ``leave_one_out`` answers, where a classifier has
        it, to :func:`bayeskit.report.charts.reliability`.

        Parameters
        ----------
        X, y : rows and their classes
        label : label, optional
            Whose posterior. Without it: of two classes the second, of more the one chosen.
        bins : int
        strategy : "uniform" or "quantile"
            Bins of one width, or of about as many rows each.
        lang : "en" or "zh"
        """
        from bayeskit.report.charts import reliability

        posterior = self.predict_proba(X)
        return reliability(y, posterior, self.classes_, label=label, bins=bins, strategy=strategy, lang=lang)

    def reject_curve(self, X: Any, y: Any, *, lang: str = "en") -> RejectCurve:
        """Show the error of the rows that are answered when the least sure ones are rejected.

        Parameters
        ----------
        X, y : rows that were not learned, and their classes
        lang : "en" or "zh"
        """
        from bayeskit.report.charts import reject_curve

        return reject_curve(y, self.predict_proba(X), self.classes_, lang=lang)

    def cost_curve(self, X: Any, y: Any, *, label: Label | None = None, lang: str = "en") -> CostCurve:
        """Show what mistakes about a class cost, for every proportion of the costs of false alarms and misses.

        Parameters
        ----------
        X, y : rows that were not learned, and their classes
        label : label, optional
            The class that is said or not; of two classes the second.
        lang : "en" or "zh"
        """
        from bayeskit.report.charts import cost_curve

        return cost_curve(y, self.predict_proba(X), self.classes_, label=label, lang=lang)
