"""A model leaves its process: as a file, a page, JSON, SQL, ONNX, a classifier of River, or in the browser.

These functions are methods of :class:`CountClassifier`. What they need is imported when they are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayeskit._fitting.calibration import from_held
from bayeskit._schema import Name
from bayeskit.typing import LabelsLike, PathLike, RowSource, WeightsLike

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._classifiers.exploring import ExploredClassifier
    from bayeskit._export.scorer import Scorer
    from bayeskit._export.sql import SqlScript
    from bayeskit._report.summary_page import Summary


def explore(self: CountClassifier, *, lang: str = "en", port: int = 0, open_browser: bool = True) -> Any:
    """Open the model in the browser as the network that it is: click a value, and every bar moves.

    Ctrl-C ends it. In a notebook with anywidget it returns a widget.
    A model that is not a single network, such as AODE, raises a UsageError.

    Parameters
    ----------
    lang, port, open_browser
        As in :meth:`bayeskit.BayesianNetwork.explore`.
    """
    from bayeskit._web.standalone import open_here

    return open_here(self._explored(), lang=lang, port=port, open_browser=open_browser)


def explored(self: CountClassifier, name: str = "") -> ExploredClassifier:
    """Return what the explorer asks; ``name`` is shown instead of the kind of the model."""
    from bayeskit._classifiers.exploring import ExploredClassifier

    return ExploredClassifier(self, name)


def save(self: CountClassifier, path: PathLike) -> None:
    """Write the model to one file, which contains data and no code. Read it with :func:`bayeskit.load`."""
    from bayeskit._classifiers.model_files import save_model

    save_model(self, path)


def summary(
    self: CountClassifier,
    X: RowSource | None = None,
    y: LabelsLike | None = None,
    sample_weight: WeightsLike | None = None,
    *,
    target: Name | None = None,
    lang: str = "en",
) -> Summary:
    """Return a page about the model: data, parameters, classes, attributes, fit, calibration and warnings.

    Parameters
    ----------
    X, y, sample_weight, target
        The rows that the model was fitted to, as in ``leave_one_out``. Counts alone do not tell how well it fits;
        with the rows, each is predicted from all others. A lazy model knows its rows.
    lang : "en" or "zh"

    Returns
    -------
    Summary
        Print it or show it in a notebook. It also has ``to_dict``, ``to_json`` and ``to_html``.

    Examples
    --------
    >>> from bayeskit import NaiveBayes, datasets
    >>> melon = datasets.load_dataset("melon3")
    >>> page = NaiveBayes().fit(melon.X, melon.y).summary(melon.X, melon.y)
    >>> page.title, page.to_dict()["leave_one_out"]["error"]
    ('NaiveBayes, 17 rows, target y', 0.29411764705882354)
    """
    from bayeskit._classifiers.summary import summary_of

    rows = None if X is None else self._source_like(X, y, sample_weight, target)
    return summary_of(self, rows, lang)


def to_json(self: CountClassifier, indent: int | None = None) -> str:
    """Return the fitted model as JSON: its columns, states and tables, and how they are put together.

    The format is described in the guide ("A model leaves Python"). It answers as ``predict_proba`` does.

    Parameters
    ----------
    indent : int, optional
        Spaces for each level; everything stands on one line by default.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes().fit([["a"], ["b"], ["a"]], ["yes", "no", "yes"])
    >>> model.to_json()[:46]
    '{"format": "bayeskit-formula", "version": 1, "'
    """
    from bayeskit._export.scorer import json_of

    return json_of(_scorer(self, "to_json"), indent)


def to_sql(
    self: CountClassifier,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "t",
    key: str | Sequence[str] | None = None,
) -> str | SqlScript:
    """Return SQL that predicts the rows of a table: the key, ``prediction``, and ``p_<class>`` of each class.

    Missing values are NULL (or NaN), and unseen values are treated as in Python, as are cut points, class
    weights and ``calibration``. A cell of a block (BernoulliNB, MultinomialNB) that is NULL counts as 0.
    Numbers are held to ±1e100.

    Parameters
    ----------
    dialect : str, default="duckdb"
        "duckdb", "sqlite" (3.35 or later, with its mathematical functions) or "postgres"; any other dialect
        of sqlglot is written, but not tested.
    table : str or list of str
        The table to predict; several names for one in a schema: ``["main", "t"]``.
    key : str or list of str, optional
        Columns of the table to return with each prediction. Without a key, rows come in the order in which
        the database reads the table.

    Returns
    -------
    str or SqlScript
        One SELECT for naive Bayes, SPODE and TAN. For AODE, AnDE and KDB a script: ``tables`` are statements to
        run once, and ``select`` joins the tables that they make.

    Examples
    --------
    >>> import duckdb
    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes().fit({"sky": ["red", "blue", "red"]}, ["yes", "no", "yes"])
    >>> select = model.to_sql(table="days", key="day")
    >>> with duckdb.connect() as base:
    ...     _ = base.execute("CREATE TABLE days AS SELECT 1 AS day, 'red' AS sky")
    ...     base.execute(select).fetchall()[0][:2]  # then P(no) and P(yes)
    (1, 'yes')
    """
    from bayeskit._export.sql import sql_of

    return sql_of(_scorer(self, "to_sql"), dialect, table, key)


def to_onnx(self: CountClassifier) -> Any:
    """Return the fitted model as an ``onnx.ModelProto`` of standard operators on doubles.

    Each column is an input of shape (n, 1): text, or doubles for numbers and truth values. Missing is NaN in a
    column of numbers and "" in a column of text; the model's metadata say so. Unseen values, cut points, class
    weights and ``calibration`` are treated as in Python. The outputs are ``output_label`` of shape (n,) and
    ``output_probability`` of shape (n, K). Write it with ``onnx.save(model.to_onnx(), path)``.

    A row with missing values takes memory for all joint states of its missing parents (KDB), and AODE and AnDE
    for all super-parents: pass large tables in batches.
    """
    from bayeskit._export.onnx_model import onnx_of

    return onnx_of(_scorer(self, "to_onnx"))


def to_river(self: CountClassifier) -> Any:
    """Return this model as a classifier of River (``pip install bayeskit[river]``). It learns in a copy."""
    from bayeskit._classifiers.streams import river_classifier

    return river_classifier()(self)


def _scorer(model: CountClassifier, verb: str) -> Scorer:
    from bayeskit._export.scorer import scorer_of

    fitted = model._reader(verb)
    assert fitted.spec is not None
    made = model._model
    return scorer_of(
        type(model).__name__,
        made,
        model._labels(made.schema).tolist(),
        fitted.names,
        fitted.spec.unseen,
        from_held(model._held),
    )
