"""The candidate models of a comparison: by name, by suitability for a table, and users' own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

from bayeskit._comparison.resources import (
    INTERVALS,
    bytes_of_counts,
    counts_budget,
    most_telling,
)
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
# Models that are one graph over the attributes.
STRUCTURED = ("spode", "tan", "kdb", "skdb")
NETWORK = "net"
_COUNT_PAIRS = ("tan", "aode", "a2de", "kdb", "skdb")
# From simple to complex: by how many attributes a probability depends on, then by how many models are averaged.
BY_COMPLEXITY = (
    "nb", "weighted", "kernel", "text", "spode", "tan", "kdb", "skdb", "aode", "a2de", "loglinear", "net", "trees",
    "auto",
)  # fmt: skip
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
        return bytes_of_counts(sum(self.sizes), self.classes, order)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values, or intervals, of each attribute."""
        return (*self.states, *(INTERVALS,) * len(self.numeric))

    def fits(self, order: int) -> bool:
        """Whether the counts of all pairs or triples are small enough to be computed by default."""
        return self.bytes_of(order) <= counts_budget(order)

    def fits_in_part(self, order: int) -> bool:
        """Whether some attributes are small enough, at least as many as a pair or triple has."""
        smallest = sorted(self.sizes)[:order]
        return len(smallest) == order and (
            bytes_of_counts(sum(smallest), self.classes, order) <= counts_budget(order)
        )

    def uncounted_pairs(self, pick: str) -> int | None:
        """Return the size of the counts of all pairs if that is too large to look at them all, or None.

        ``pick`` is the model that is to be drawn. A model with arcs of its own, which was asked for, has looked.

        Examples
        --------
        >>> wide = TableShape((), (0,), (4_000,), 2)
        >>> wide.uncounted_pairs("nb"), wide.uncounted_pairs("tan")
        (256000000, None)
        """
        return None if pick in (*STRUCTURED, NETWORK) or self.fits(2) else int(self.bytes_of(2))


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
                    "models= contains two estimators of the class {name}. Name them: models={{'a': ..., 'b': ...}}.",
                    name=name,
                )
            own[name] = each
    for key in keys:
        if key not in OURS:
            raise SettingError(
                "models=: there is no model {key!r}. {hint}", key=key, hint=did_you_mean(key, OURS, len(OURS))
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
            "models= names an estimator {name!r}. Give it another name: text that is none of {names}.",
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
            "{name} has no {lacking}, and models are compared by their probabilities. Wrap it in "
            "scikit-learn's CalibratedClassifierCV, or write that method.",
            name=name,
            lacking=lacking,
        )
    if _is_fitted(estimator):
        raise SettingError(
            "{name} has been fitted already, and each fold needs an unfitted estimator. Pass "
            "sklearn.base.clone({name}).",
            name=name,
        )


def _is_fitted(estimator: object) -> bool:
    if hasattr(estimator, "__sklearn_is_fitted__"):
        return bool(estimator.__sklearn_is_fitted__())
    return any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))


def order_of(key: str) -> int:
    """Return of how many values a model counts all combinations: 2 for pairs, 3 for triples, 1 for neither."""
    return {"a2de": 3}.get(key, 2 if key in _COUNT_PAIRS else 1)


def suitable(shape: TableShape) -> tuple[list[str], dict[str, str]]:
    """Return the keys of our models that suit a table, and the sizes of the counts that others would need.

    A model whose counts do not fit looks at fewer attributes. It is left out only if not even a few of them fit.

    Examples
    --------
    >>> keys, left = suitable(TableShape((0,), (1,), (40_000,), 2))
    >>> keys, sorted(left) == sorted(_COUNT_PAIRS)
    (['nb', 'kernel', 'weighted', 'auto'], True)
    """
    keys, left = [], {}
    for key in OURS:
        order = order_of(key)
        if key in ONLY_BY_NAME or (key == "kernel" and not shape.numeric):
            continue
        if order == 1 or shape.fits(order) or shape.fits_in_part(order):
            keys.append(key)
        else:
            left[key] = f"{shape.bytes_of(order) / 1e6:,.0f} MB"
    return keys, left


def make_model(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return one of our models, unfitted.

    Examples
    --------
    >>> make_model("kdb", {"k": 1})
    KDB(k=1)
    """
    if name not in MODELS:
        raise SettingError(
            "There is no model {name!r}. {hint}", name=name, hint=did_you_mean(name, MODELS, len(MODELS))
        )
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
                hint=did_you_mean(key, known, len(known)),
            )
    return cls(**{**own, **parameters})


def ours(key: str, states: Mapping[Name, Sequence[Any]] | None = None, screened: bool = False) -> Contender:
    """Return one of our models; ``states`` are the declared states of columns.

    With ``screened`` it looks at the most telling attributes only, as many as fit into memory.

    Examples
    --------
    >>> ours("kernel").name, ours("a2de").name
    ('kernel NaiveBayes', 'AnDE(n=2)')
    """
    model, parameters = OURS[key]
    # The one name that would be too long for a line of the table.
    name = "kernel NaiveBayes" if key == "kernel" else repr(make_model(model, parameters))
    declared = {"states": dict(states)} if states else {}
    looked_at = partial(most_telling, order=order_of(key), states=states) if screened else None
    return Contender(
        name, lambda: make_model(model, {**parameters, **declared}), looked_at=looked_at, key=key
    )


def of_texts(texts: Sequence[Name]) -> Contender:
    """Return the model that learns the words of some columns, together with the other columns."""
    parameters = {"text": list(texts)} if texts else {}
    return Contender(
        repr(make_model(TEXT, {})), lambda: make_model(TEXT, parameters), reads_texts=True, key=TEXT
    )


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
    return Contender(key, make, "baseline", key=key)


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
