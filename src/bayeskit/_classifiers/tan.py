"""Tree-augmented naive Bayes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from numpy.typing import ArrayLike

from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.semi_naive import GraphClassifier
from bayeskit._classifiers.structures import check_discrete, given_dag
from bayeskit._data.encode import Unseen
from bayeskit._fitting.model import ModelForm
from bayeskit._fitting.with_parents import OneDependence, Tree
from bayeskit._schema import Label, Name, Schema
from bayeskit.errors import SettingError
from bayeskit.priors import BackOff, SmoothingLike
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight


class TAN(GraphClassifier):
    r"""Tree-augmented naive Bayes: each attribute's parents are the class and one other attribute, in a tree.

    .. math:: P(c, x) = P(c) \prod_j P(x_j \mid c, x_{pa(j)})

    The tree is a maximum spanning tree of :math:`I(x_i; x_j \mid y)`. It is a function of the counts and is
    recomputed whenever they change: after ``partial_fit``, ``forget`` and ``merge`` the model equals a fresh
    fit.

    Parameters
    ----------
    root : attribute name, optional
        The root of the tree, from which all arcs point away. By default, the first attribute. Under maximum
        likelihood the posterior does not depend on it; with smoothing it does, slightly.
    criterion : None, "aic" or "bic"
        Omit arcs that do not improve this criterion, which gives a forest.
    structure : mapping from attribute to its parents, optional
        A given tree or forest, instead of a learned one.
    smoothing : number, name, prior or mapping, default=BackOff()
        As in :class:`~bayeskit.NaiveBayes`.
    class_prior, class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`. Missing values are summed over, on the tree.
    numeric : {"mdl", "gaussian"}, default="mdl"
        Cut numeric attributes into intervals that separate the classes (MDL), or give each one a Gaussian for
        every class and state of the discrete attribute that it depends on most.
    cut_points : mapping from attribute to ascending numbers, optional
        Known cut points of some attributes.
    calibration : None, "temperature" or "isotonic"
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    Attributes
    ----------
    structure_ : dict from attribute to the tuple of its parents (the class, a parent of all, is not named)
    arcs_ : list of (parent, child, I(x_i; x_j | y) in nats)
    held_ : the cut points, which ``fit`` chooses and later batches keep

    References
    ----------
    N. Friedman, D. Geiger and M. Goldszmidt, "Bayesian network classifiers", Machine Learning 29, 1997.

    Examples
    --------
    >>> from bayeskit import TAN
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]]
    >>> TAN().fit(X, ["go", "go", "stay", "stay"]).predict([["rain", None]]).tolist()
    ['stay']
    """

    _base_prior = BackOff()

    root: Name | None
    criterion: str | None
    structure: Mapping[Any, Any] | None

    def __init__(
        self,
        *,
        root: Name | None = None,
        criterion: str | None = None,
        structure: Mapping[Any, Any] | None = None,
        smoothing: SmoothingLike = None,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        numeric: str = "mdl",
        cut_points: Mapping[Any, ArrayLike] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        states: Mapping[Any, Collection[Label]] | None = None,
        missing: str = "ignore",
        unseen: Unseen = "ignore",
        calibration: str | None = None,
        n_jobs: int | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.root = root
        self.criterion = criterion
        self.structure = structure
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.numeric = numeric
        self.cut_points = cut_points
        self.categorical_features = categorical_features
        self.states = states
        self.missing = missing
        self.unseen = unseen
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    def _form(self, schema: Schema) -> ModelForm:
        if self.structure is not None:
            return OneDependence(given_dag(self.structure, schema, most=1))
        if self.root is not None:
            check_discrete("root", self.root, schema)
        return Tree(self.root, self.criterion)

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.criterion is not None:
            one_of("criterion", self.criterion, ("aic", "bic"))
        if self.structure is not None and (self.root is not None or self.criterion is not None):
            raise SettingError("root and criterion are for learning a tree; with structure= it is given.")
