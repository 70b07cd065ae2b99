"""The candidate models of a comparison: by name, by suitability for a table, and users' own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from bayeskit._comparison.trials import Contender
from bayeskit._messages import Joined, did_you_mean
from bayeskit._schema import Name
from bayeskit.errors import SettingError

# Name → class, and the parameters that differ from its defaults.
MODELS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nb": ("NaiveBayes", {}),
    "spode": ("SPODE", {}),
    "tan": ("TAN", {}),
    "aode": ("AODE", {}),
    "a2de": ("AnDE", {"n": 2}),
    "kdb": ("KDB", {}),
    "skdb": ("SelectiveKDB", {}),
    "weighted": ("WeightedNB", {}),
    "auto": ("AutoBayes", {}),
    "trees": ("CountForest", {}),
    "loglinear": ("LogLinearBayes", {}),
    "text": ("TextBayes", {}),
    "net": ("BayesNetClassifier", {}),
}


# Key → model, and its parameters. There are more models than classes.
OURS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nb": ("nb", {}),
    "kernel": ("nb", {"numeric": "kernel"}),
    "tan": ("tan", {}),
    "aode": ("aode", {}),
    "a2de": ("a2de", {}),
    "kdb": ("kdb", {}),
    "skdb": ("skdb", {}),
    "weighted": ("weighted", {}),
    "auto": ("auto", {}),
    "trees": ("trees", {}),
    "loglinear": ("loglinear", {}),
    "text": ("text", {}),
    "spode": ("spode", {}),
    "net": ("net", {}),
}
# Models that must be named. A single super-parent is never much better than the average over all, and takes long to
# choose. The search for a network takes long with many columns. Trees and the log-linear model are members of
# AutoBayes. The text model is added automatically if a column is free text.
ONLY_BY_NAME = ("spode", "net", "trees", "loglinear", "text")
TEXT = "text"
BASELINES = ("majority", "logistic", "forest", "boosting")
# The maximum size in bytes of the counts of all pairs or triples of values. At 216 MB, TAN took six seconds for 2,400
# rows.
MOST_PAIRS, MOST_TRIPLES = 100e6, 100e6
# Models that are one graph over the attributes.
STRUCTURED = ("spode", "tan", "kdb", "skdb")
NETWORK = "net"
_COUNT_PAIRS = ("tan", "aode", "a2de", "kdb", "skdb")
# The assumed number of intervals of a numeric attribute.
INTERVALS = 10
# HistGradientBoosting does not accept categories with more states, so such a column is treated as numeric.
MOST_STATES = 255


@runtime_checkable
class Estimator(Protocol):
    """A classifier with the interface of scikit-learn: ``fit(X, y)``, then ``classes_`` and ``predict_proba(X)``."""

    def fit(self, X: Any, y: Any) -> Any: ...

    def predict_proba(self, X: Any) -> Any: ...


ModelsLike: TypeAlias = str | Estimator | Iterable[str | Estimator] | Mapping[str, Estimator]


@dataclass(frozen=True)
class TableShape:
    """The properties of a table that determine which models suit it.

    Attributes
    ----------
    numeric, categorical : indices of the attributes in the matrix of the baselines
    states : the number of values of each categorical attribute
    classes : the number of classes
    """

    numeric: tuple[int, ...]
    categorical: tuple[int, ...]
    states: tuple[int, ...]
    classes: int

    def bytes_of(self, order: int) -> float:
        """Return the approximate size in bytes of the counts of all pairs (2) or triples (3) of values."""
        values = float(sum(self.states) + INTERVALS * len(self.numeric))
        return 8.0 * self.classes * values**order / (1 if order == 2 else 6)

    @property
    def pairs_fit(self) -> bool:
        """Whether the counts of all pairs are small enough to be computed by default."""
        return self.bytes_of(2) <= MOST_PAIRS

    def uncounted_pairs(self, pick: str) -> int | None:
        """Return the size of the counts of all pairs if it is too large to draw arcs for a model without any, or None.

        Examples
        --------
        >>> wide = TableShape((), (0,), (4_000,), 2)
        >>> wide.uncounted_pairs("nb"), wide.uncounted_pairs("tan")
        (256000000, None)
        """
        return None if pick in (*STRUCTURED, NETWORK) or self.pairs_fit else int(self.bytes_of(2))


@dataclass(frozen=True)
class ModelRequest:
    """The requested models: keys of our models, and the user's own estimators by name."""

    keys: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)


def read_models(models: ModelsLike | None) -> ModelRequest | None:
    """Read the requested models; None if the table determines them.

    Examples
    --------
    >>> read_models("nb, tan").keys, read_models(["aode"]).keys, read_models(None)
    (('nb', 'tan'), ('aode',), None)
    """
    if models is None:
        return None
    if isinstance(models, Mapping):
        own = dict(models)
        listed: list[Any] = []
    elif isinstance(models, str):
        own, listed = {}, [key.strip() for key in models.split(",") if key.strip()]
    else:
        own, listed = (
            {},
            list(models) if isinstance(models, Iterable) and not hasattr(models, "fit") else [models],
        )
    keys = tuple(dict.fromkeys(each for each in listed if isinstance(each, str)))
    for each in listed:
        if not isinstance(each, str):
            name = each.__name__ if isinstance(each, type) else type(each).__name__
            if name in own:
                raise SettingError(
                    "models= holds two estimators of the class {name}. Name them: models={{'a': ..., 'b': ...}}.",
                    name=name,
                )
            own[name] = each
    for key in keys:
        if key not in OURS:
            raise SettingError(
                "models=: there is no model {key!r}. {hint}", key=key, hint=did_you_mean(key, OURS)
            )
    if not keys and not own:
        raise SettingError("models= names no model. There are {names}.", names=Joined(OURS))
    for name, estimator in own.items():
        _check_own(name, estimator)
    return ModelRequest(keys, own)


def _check_own(name: object, estimator: object) -> None:
    """Raise an error for models that cannot be compared, before anything is fitted."""
    if not isinstance(name, str) or name in OURS or name in BASELINES:
        raise SettingError(
            "models= names an estimator {name!r}. Give it a name of its own: a text that is none of {names}.",
            name=name,
            names=Joined((*OURS, *BASELINES)),
        )
    if isinstance(estimator, type):
        raise SettingError(
            "{name} is a class. Pass an estimator: {estimator}().", name=name, estimator=estimator.__name__
        )
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict_proba"):
        lacking = "predict_proba" if hasattr(estimator, "fit") else "fit"
        raise SettingError(
            "{name} has no {lacking}, and models are compared by their probabilities. Wrap it in scikit-learn's "
            "CalibratedClassifierCV, or write one.",
            name=name,
            lacking=lacking,
        )
    if _is_fitted(estimator):
        raise SettingError(
            "{name} has been fitted already, and each fold needs one that has learned nothing. Pass "
            "sklearn.base.clone({name}).",
            name=name,
        )


def _is_fitted(estimator: object) -> bool:
    if hasattr(estimator, "__sklearn_is_fitted__"):
        return bool(estimator.__sklearn_is_fitted__())
    return any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))


def suitable(shape: TableShape) -> tuple[list[str], dict[str, str]]:
    """Return the keys of our models that suit a table, and the sizes of the counts that others would need.

    Examples
    --------
    >>> keys, left = suitable(TableShape((0,), (1,), (40_000,), 2))
    >>> keys, sorted(left) == sorted(_COUNT_PAIRS)
    (['nb', 'kernel', 'weighted', 'auto'], True)
    """
    keys, left = [], {}
    for key in OURS:
        order = 3 if key == "a2de" else 2
        size = shape.bytes_of(order) if key in _COUNT_PAIRS else 0.0
        if key in ONLY_BY_NAME or (key == "kernel" and not shape.numeric):
            continue
        if size > (MOST_PAIRS if order == 2 else MOST_TRIPLES):
            left[key] = f"{size / 1e6:,.0f} MB"
        else:
            keys.append(key)
    return keys, left


def make_model(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return one of our models, unfitted.

    Examples
    --------
    >>> make_model("kdb", {"k": 1})
    KDB(k=1)
    """
    if name not in MODELS:
        raise SettingError("There is no model {name!r}. {hint}", name=name, hint=did_you_mean(name, MODELS))
    import bayeskit

    class_name, own = MODELS[name]
    cls = getattr(bayeskit, class_name)
    known = cls().get_params(deep=False)
    for key in parameters:
        if key not in known:
            raise SettingError(
                "{class_name} has no parameter {key!r}. {hint}",
                class_name=class_name,
                key=key,
                hint=did_you_mean(key, known),
            )
    return cls(**{**own, **parameters})


def ours(key: str, states: Mapping[Name, Sequence[Any]] | None = None) -> Contender:
    """Return one of our models; ``states`` are the declared states of columns.

    Examples
    --------
    >>> ours("kernel").name, ours("a2de").name
    ('kernel NaiveBayes', 'AnDE(n=2)')
    """
    model, parameters = OURS[key]
    # The one name that would be too long for a line of the table.
    name = "kernel NaiveBayes" if key == "kernel" else repr(make_model(model, parameters))
    declared = {"states": dict(states)} if states else {}
    return Contender(name, lambda: make_model(model, {**parameters, **declared}))


def of_texts(texts: Sequence[Name]) -> Contender:
    """Return the model that learns the words of some columns, together with the other columns."""
    parameters = {"text": list(texts)} if texts else {}
    return Contender(repr(make_model(TEXT, {})), lambda: make_model(TEXT, parameters), reads_texts=True)


def own(name: str, estimator: Estimator) -> Contender:
    """Return a user's own estimator. Each fold gets an unfitted copy."""
    from sklearn.base import clone

    return Contender(name, lambda: clone(estimator, safe=False), "own")


def baseline(key: str, shape: TableShape, seed: int) -> Contender:
    """Return one of the scikit-learn baselines."""
    make = {
        "majority": majority,
        "logistic": lambda: logistic(shape.numeric, shape.categorical),
        "forest": lambda: forest(seed),
        "boosting": lambda: boosting(shape.categorical, shape.states, seed),
    }[key]
    return Contender(key, make, "baseline")


def majority() -> Any:
    """Return the baseline that always predicts the most frequent class, with class frequencies as
    probabilities."""
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


def logistic(numeric: Sequence[int], categorical: Sequence[int]) -> Any:
    """Return logistic regression, with standardised numbers, the median for missing ones, and one-hot categories."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore")
    encode = ColumnTransformer([("numbers", numbers, numeric), ("categories", categories, categorical)])
    return make_pipeline(encode, LogisticRegression(max_iter=1000))


def forest(seed: int) -> Any:
    """Return a random forest, with the median for missing numbers."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(SimpleImputer(strategy="median"), RandomForestClassifier(random_state=seed))


def boosting(categorical: Sequence[int], states: Sequence[int], seed: int) -> Any:
    """Return histogram gradient boosting, which handles missing numbers itself.

    Parameters
    ----------
    categorical : indices of the categories in the matrix
    states : the number of states of each
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    taken = [place for place, n in zip(categorical, states, strict=True) if n <= MOST_STATES]
    return HistGradientBoostingClassifier(categorical_features=taken or None, random_state=seed)
