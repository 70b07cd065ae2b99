"""A parameter that stands in the constructor but is listed only once it is set."""

from __future__ import annotations

from typing import Any, Self


class QuietClassWeight:
    """Leave ``class_weight`` out of ``get_params`` while it is None.

    scikit-learn's common checks give every classifier that lists ``class_weight`` rows with negative
    values, which no model of counts can take. Cloning, grid search and ``set_params`` work as ever.
    """

    class_weight: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        if params.get("class_weight") is None:
            params.pop("class_weight", None)
        return params

    def set_params(self, **params: Any) -> Self:
        if "class_weight" in params:
            self.class_weight = params.pop("class_weight")
        super().set_params(**params)  # type: ignore[misc]
        return self
