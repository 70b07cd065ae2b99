"""Trees as count tables."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import one_of, require_y
from bayeskit._conditionals.class_prior import class_factors
from bayeskit._data.encode import Unseen, encode
from bayeskit._data.encoded import Chunk
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.forest import (
    MOST_ROWS,
    CountTrees,
    calibrated_forest,
    grown_forest,
    joined,
    log_out_of_bag,
    out_of_bag_shares,
)
from bayeskit._fitting.grow_trees import Growth
from bayeskit._fitting.leave_one_out import encode_learned, learned_chunks
from bayeskit._fitting.model import Model, ModelSpec, RowChoice, estimate
from bayeskit._fitting.naive import Naive
from bayeskit._io.trial import held_choice
from bayeskit._random_state import generator_of, seed_of
from bayeskit._report.row import one_row
from bayeskit._report.tree_paths import TreePaths, tree_paths
from bayeskit._schema import Label, Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.tree_counts import Forest, TreeCounts, trees_of
from bayeskit.errors import DataError, SettingError, SuspectResult
from bayeskit.priors import check_number
from bayeskit.typing import (
    CategoricalFeatures,
    ClassWeight,
    Floats,
    LabelsLike,
    RowLike,
    RowSource,
    Seed,
    WeightsLike,
)


@held_choice("trees")
def _are_trees(value: object, schema: Schema) -> bool:
    return type(value) is tuple and TreeCounts.is_pattern(schema, (value,))


class CountForest(CountClassifier):
    r"""Trees whose splits are chosen once and held, and whose nodes are tables of counts.

    .. math:: p_v(c) = \frac{n_v(c) + s\, p_{u}(c)}{N_v + s}, \qquad
        P(c \mid x) \propto \Bigl(\frac{1}{T} \sum_t p_{v_t(x)}(c)\Bigr)^\gamma

    :math:`v_t(x)` is the node at which a row stops in tree t, and u the parent of v; the parent of the root is P(c).
    Splits are those of a random forest: each tree is grown on a bootstrap sample of the rows of ``fit`` or the first
    ``partial_fit``. Every node then counts *all* rows, and backs off to the node above it if it has few. Later batches
    keep the splits, so ``partial_fit``, ``forget``, ``merge`` and ``leave_one_out`` are exact, given the splits.

    Parameters
    ----------
    n_trees : int, default=100
    max_depth : int, optional
        The maximum number of tests on the path to a leaf.
    min_rows : int, default=1
        The minimum number of rows of the bootstrap sample on either side of a split.
    smoothing : float, default=0.25
        s: the weight of the parent node's posterior, in rows.
    trees : tuple, optional
        ``trees_`` of another model, to use its splits instead of growing trees. Models with the same splits can be
        merged.
    random_state : int, numpy Generator or None, default=0
        The same number gives the same trees, whatever the order of the rows and the number of threads.
    class_weight, categorical_features, states, n_jobs
        As in :class:`~bayeskit.NaiveBayes`.
    missing : {"state", "ignore"}, default="state"
        "state": a split sends rows with a missing value to the side that it chose for them. If it was chosen without
        such rows, they stop at the node. With "ignore", they always stop at the node.
    unseen : {"ignore", "error"}, default="ignore"
        A state that the trees do not know stops at the node.
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.AutoBayes`.

    Attributes
    ----------
    trees_ : tuple
        The splits as plain values, to be passed on as ``trees``.
    held_ : the splits; later batches change counts only

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from bayeskit import CountForest
    >>> X = [["sun", 1.0], ["sun", 2.0], ["rain", 1.5], ["rain", 2.5]] * 5
    >>> CountForest(n_trees=20).fit(X, ["go", "go", "stay", "stay"] * 5).predict([["rain", None]]).tolist()
    ['stay']
    """

    _accepts_sparse = False
    _holds = frozenset({"trees"})
    _takes_over = frozenset({"trees"})

    n_trees: int
    max_depth: int | None
    min_rows: int
    smoothing: float
    trees: Forest | None
    random_state: Seed
    class_weight: ClassWeight
    categorical_features: CategoricalFeatures
    states: Mapping[Any, Collection[Label]] | None
    missing: str
    unseen: Unseen
    n_jobs: int | None

    def __init__(
        self,
        *,
        n_trees: int = 100,
        max_depth: int | None = None,
        min_rows: int = 1,
        smoothing: float = 0.25,
        trees: Forest | None = None,
        random_state: Seed = 0,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        states: Mapping[Any, Collection[Label]] | None = None,
        missing: str = "state",
        unseen: Unseen = "ignore",
        n_jobs: int | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.min_rows = min_rows
        self.smoothing = smoothing
        self.trees = trees
        self.random_state = random_state
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.states = states
        self.missing = missing
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    @property
    def trees_(self) -> Forest:
        """The splits, as plain values."""
        found: Forest = self.held_["trees"]
        return found

    def out_of_bag(
        self,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        target: Name | None = None,
    ) -> Floats:
        """Return P(c | x) of the rows of ``fit``, by the trees that had not seen them and without their own counts.

        ``leave_one_out`` subtracts a row's counts and keeps the splits, which the row helped to choose. Here a row is
        predicted only by the trees whose bootstrap sample does not contain it. Fit another model to these posteriors,
        not to those of ``predict_proba``. A row that is in every bootstrap sample gets P(c).

        Parameters
        ----------
        X, y, sample_weight, target
            The rows of ``fit``, all of them: the bootstrap samples that contain a row are drawn again from these.

        Returns
        -------
        array of shape (n, K)
        """
        source = self._source_like(X, y, sample_weight, target)
        require_y(self, source)
        fitted, statistics = self._reader("out_of_bag"), self.statistics_
        encoded = [encode_learned(fitted, statistics.schema, rows) for rows in source]
        if not encoded:
            raise DataError("The source gave no batch, so there is no row to leave out.")
        rows = joined(chunk for some in encoded for chunk in some.chunks())
        return np.exp(self._log_out_of_bag(statistics, self._model, rows, np.arange(rows.n_rows), np.inf))

    def paths(self, row: RowLike, most: int = 3, *, lang: str = "en") -> TreePaths:
        """Follow one row through the trees: the tests on its paths, the counts at the nodes and how they back off.

        ``explain`` and ``contributions`` show the effect of each value on the posterior, by leaving it out.

        Parameters
        ----------
        row : mapping from column to value, list, or a table of one row
        most : int
            How many paths to show: those with the largest posterior of the predicted class. The others are averaged.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import CountForest
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]] * 5, ["a", "a", "b", "b"] * 5
        >>> print(CountForest(n_trees=1, smoothing=1).fit(X, y).paths([1.5]))
        Counts and posteriors of a, b
        <BLANKLINE>
                                        n       posterior
        Tree 0
          all rows                      10, 10  0.5000, 0.5000
            x0 ≤ 2.5                    10, 0   0.9545, 0.0455
        ------------------------------------------------------
        mean                                    0.9545, 0.0455
        posterior, to the power 1.3012          0.9813, 0.0187
        """
        fitted, model = self._reader("paths"), self._model
        check_whole("most", most, 1)
        table = fitted.matched(one_row(row), model.schema)
        chunk = encode(table, model.schema, self.unseen).chunk(0, 1)
        conditional: Any = model.conditionals[0]
        return tree_paths(conditional, chunk, self._labels(model.schema).tolist(), int(most), lang)

    def _honest_log_posteriors(
        self, statistics: Statistics, spec: ModelSpec, rows: Chunk, some: NDArray[np.intp]
    ) -> Floats:
        return self._log_out_of_bag(statistics, estimate(statistics, spec), rows, some, 1.0)

    def _log_out_of_bag(
        self, statistics: Statistics, model: Model, rows: Chunk, some: NDArray[np.intp], most: float
    ) -> Floats:
        """Return log P(c | x) of some rows by the trees that had not seen them, without the weight min(w, most)."""
        schema = statistics.schema
        shares = out_of_bag_shares(self._weighted(rows, schema), schema, self._held["trees"], some)
        part = rows.take(some)
        assert part.target is not None
        own = np.minimum(part.row_weights, most)
        factors = class_factors(self.class_weight, statistics.class_counts, schema.target)
        own = own if factors is None else own * factors[part.target]
        conditional: Any = model.conditionals[0]
        return log_out_of_bag(conditional, part, own, shares, self.n_jobs)

    def _choose(self, source: Source) -> dict[str, Any]:
        if self.trees is not None:
            return {"trees": self.trees}
        source.need_many_passes(type(self).__name__)
        seen = FittedState(
            self._reading(), lambda schema: ModelSpec(Naive()), who=type(self).__name__,
            target=source.class_variable, warns=False, n_jobs=self.n_jobs,
        )  # fmt: skip
        seen.absorb(source)
        rows = self._weighted(joined(learned_chunks(seen, source), MOST_ROWS), seen.schema)
        growth = Growth(
            self.n_trees, self.max_depth, self.min_rows, self.missing == "state",
            seed_of(self.random_state) % 2**31, self.n_jobs, self._is_over,
        )  # fmt: skip
        forest = grown_forest(rows, seen.schema, growth)
        n_grown = trees_of(forest).n_trees
        if n_grown < self.n_trees:
            warnings.warn(
                SuspectResult(
                    "The time limit was over after {n} of {n_trees} trees. Give more time, or effort='fast'.",
                    n=n_grown,
                    n_trees=self.n_trees,
                ),
                stacklevel=5,
            )
        spec = ModelSpec(form=CountTrees(forest, float(self.smoothing)))
        return {"trees": calibrated_forest(rows, seen.schema, forest, spec, self.n_jobs)}

    def _weighted(self, rows: Chunk, schema: Schema) -> Chunk:
        """Return rows with the weights that trees are grown with: class weights as these rows alone would have them."""
        assert rows.target is not None
        counts = np.bincount(rows.target, rows.row_weights, schema.n_classes).astype(np.float64)
        factors = class_factors(self.class_weight, counts, schema.target)
        return rows if factors is None else replace(rows, weights=rows.row_weights * factors[rows.target])

    def _row_choices(self) -> list[RowChoice]:
        # Given trees, too, must see the rows that they are to route.
        chosen = RowChoice(f"n_trees={self.n_trees!r}", "Use NaiveBayes, TAN or AODE.")
        return [chosen, *super()._row_choices()]

    def _reading(self) -> Reading:
        return Reading(self.categorical_features, self.states or {})

    def _spec(self, schema: Schema) -> ModelSpec:
        return ModelSpec(
            form=CountTrees(self._held["trees"], float(self.smoothing)),
            class_weight=self.class_weight,
            unseen=self.unseen,
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole("n_trees", self.n_trees, 1)
        check_whole("min_rows", self.min_rows, 1)
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth, 0)
        generator_of(self.random_state)
        if self.trees is not None:
            try:
                trees_of(self.trees)
            except (DataError, TypeError):
                raise SettingError(
                    "trees are not those of a CountForest. Pass trees_ of a fitted one."
                ) from None
        check_number(self.smoothing, "smoothing")
        if self.smoothing == 0:
            raise SettingError(
                "smoothing is 0; it must be above 0, or a class that a leaf never saw would have probability 0."
            )
        one_of("missing", self.missing, ("state", "ignore"))
        one_of("unseen", self.unseen, ("ignore", "error"))


def check_whole(name: str, value: object, least: int) -> None:
    """Raise an error for anything but an integer of at least this size."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise SettingError(
            "{name} is {value!r}; give a whole number of at least {least}.",
            name=name,
            value=value,
            least=least,
        )
