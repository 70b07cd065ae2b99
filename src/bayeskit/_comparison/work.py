"""How long a comparison will take: an estimate from the size of the table, before anything is fitted."""

from __future__ import annotations

from dataclasses import dataclass

from bayeskit._comparison.trials import Contender

# Nanoseconds for each cell of the table (rows × attributes), for each pair of cells of a row, and for each triple:
# measured with 20,000 rows of 20 numbers and 20 words, on one core of 2.5 GHz. Boosting, logistic regression and
# models that learn weights repeat their work for each class beyond two.
_PER_CELL = {
    "majority": 1, "nb": 40, "kernel": 100, "weighted": 175, "logistic": 200, "boosting": 1_100, "text": 5_000,
    "trees": 3_000, "loglinear": 3_000, "auto": 16_700, "forest": 7_500,
}  # fmt: skip
_PER_PAIR = {"tan": 6, "aode": 7, "kdb": 10, "skdb": 65, "spode": 100, "net": 500}
_PER_TRIPLE = {"a2de": 3}
_BY_CLASS = {"logistic", "boosting", "weighted", "loglinear", "auto"}
# A user's own model is taken for one of the slower ones.
_OWN = 1_500
# Seconds that a model takes in each fold, however small the table is.
_FIXED = {"auto": 0.3, "forest": 0.15, "boosting": 0.1}
_LEAST = 0.01
# AutoBayes chooses among its models on a sample of large tables.
_MOST_ROWS = {"auto": 25_000}


@dataclass(frozen=True)
class Work:
    """The amount of work of a comparison.

    Attributes
    ----------
    train, test : rows in a fold
    folds : int
    sizes : the number of values of each attribute
    classes : int
    """

    train: int
    test: int
    folds: int
    sizes: tuple[int, ...]
    classes: int

    def seconds(self, contender: Contender) -> float:
        """Return the CPU seconds that a model will take, by estimate.

        Examples
        --------
        >>> work = Work(16_000, 4_000, 5, (10,) * 40, 2)
        >>> nb = Contender("NaiveBayes()", dict, key="nb")
        >>> tan = Contender("TAN()", dict, key="tan")
        >>> round(work.seconds(nb), 2), round(work.seconds(tan), 2)
        (0.21, 0.53)
        """
        from bayeskit._comparison.attribute_screening import MOST_LOOKED_AT

        key, d = contender.key, max(len(self.sizes), 1)
        if contender.looked_at is not None:
            d = min(d, MOST_LOOKED_AT)
        rows = self.train + self.test
        if key in _PER_TRIPLE:
            work = _PER_TRIPLE[key] * rows * d**3 / 6
        elif key in _PER_PAIR:
            work = _PER_PAIR[key] * rows * d**2 / 2
        else:
            rows = min(rows, _MOST_ROWS.get(key, rows))
            work = _PER_CELL.get(key, _OWN) * rows * d
        if key in _BY_CLASS:
            work *= max(1.0, self.classes / 2)
        return self.folds * (_FIXED.get(key, _LEAST) + 1e-9 * work)
