"""Discretization of numeric columns into intervals, for classifiers that count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.notebook import html_repr, mimebundle
from bayeskit._counting.backend import backend_of
from bayeskit._data.batches import Batches
from bayeskit._data.class_labels import as_labels, as_weights, encode_labels
from bayeskit._data.encode import match_columns
from bayeskit._data.file_options import FileOptions, MarksLike
from bayeskit._data.reading import interval_labels
from bayeskit._data.source import Rows, Source
from bayeskit._data.table import Table, open_dense
from bayeskit._fitting.choose_cuts import NumberSample, add_numbers
from bayeskit._fitting.cut_points import (
    check_bins,
    frequency_cut_points,
    mdl_cut_points,
    proportional_cut_points,
    width_cut_points,
)
from bayeskit._messages import Joined
from bayeskit._schema import Kind, Name, Schema, Variable
from bayeskit.errors import ColumnError, DataError, NeedsRows
from bayeskit.typing import Floats, LabelsLike, RowSource, WeightsLike

if TYPE_CHECKING:
    from bayeskit._data.file_reading import FileReading

# The class of rows whose classes do not matter.
_EVERYTHING = Variable("y", "categorical", ("everything",), n_declared=1, closed=True)
_METHODS = ("mdl", "frequency", "width", "proportional")


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Discretize numeric columns into intervals. Other columns are unchanged.

    Parameters
    ----------
    method : {"mdl", "frequency", "width", "proportional"}, default="mdl"
        Cut where the class distribution changes (Fayyad and Irani; needs y), into intervals with equal
        numbers of rows, into intervals of equal width, or into about √n intervals of √n rows.
    n_bins : int, default=5
        The maximum number of intervals for "frequency" and "width". The other methods choose the number.
    output : {"codes", "intervals"}, default="codes"
        Codes 0, 1, … of the intervals, or their names, such as ``"(0.5, 1.2]"``.
    columns : sequence of names or positions, optional
        The columns to discretize. By default, all numeric columns.

    Attributes
    ----------
    cut_points_ : dict from column name to ascending cut points
        Interval k is (cut[k − 1], cut[k]]. An empty array means that no cut is worthwhile: the column has one
        interval and carries no information.
    columns_ : tuple
        The columns that are discretized. The others are unchanged.
    chosen_from_ : None, or {"rows": n, "of": N}
        The number of rows that the cut points were chosen from, where these were not all: about a million evenly
        spaced ones of a file, 131,072 drawn at random of a frame on a cluster or in DuckDB.
    reading_ : FileReading, optional
        How a file was read, and what was left out; ``transform`` reads other files like it.
    n_features_in_, feature_names_in_

    Notes
    -----
    An array or list gives an array of int64, or of float64 with NaN if anything is missing. It is an array of
    objects if non-numeric columns are passed through, or for names of intervals (None where missing). A frame
    gives a frame of the same library, with a suitable type for each column; ``set_output`` can select another
    container. Values outside the training range, including infinity, fall into the first or last interval.

    Examples
    --------
    >>> cutter = Discretizer().fit([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], ["a"] * 3 + ["b"] * 3)
    >>> cutter.cut_points_, cutter.transform([[-9.0], [3.5], [3.6]]).tolist()
    ({'x0': array([3.5])}, [[0], [0], [1]])
    """

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

    def __init__(
        self,
        method: str = "mdl",
        *,
        n_bins: int = 5,
        output: str = "codes",
        columns: Sequence[Name] | None = None,
    ) -> None:
        self.method = method
        self.n_bins = n_bins
        self.output = output
        self.columns = columns

    def fit(
        self,
        X: RowSource,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike | None = None,
        *,
        target: Name | None = None,
        exclude: Sequence[Name] | None = None,
        encoding: str | None = None,
        separator: str | None = None,
        missing: MarksLike | None = None,
        keep: Sequence[Name] = (),
    ) -> Self:
        """Find the cut points of each numeric column.

        Parameters
        ----------
        X : any source of rows: array, frame or mapping of columns, paths of files, `Batches`, a lazy frame, Dask, \
Spark, a DuckDB relation
            NaN and null are missing and ignored. Infinity is an error. Of rows that are not in memory, a sample is
            used if there are many (``chosen_from_``).
        y : array of shape (n,)
            Class labels, used only by ``method="mdl"``.
        sample_weight : array of shape (n,), or the name of a column, optional
            A row of weight 2 counts as two rows, one of weight 0 as none.
        target : name, optional
            The column with the classes, in place of y. It is not discretized.
        exclude : column names, optional
            Columns to leave out. ``transform`` leaves them out, too, and the column with the classes.
        encoding, separator, missing : how a file is read, as in :meth:`NaiveBayes.fit`
        keep : column names
            Columns of a file to use that would be left out: identifiers, dates, constants and copies of the target.
        """
        one_of("method", self.method, _METHODS)
        one_of("output", self.output, ("codes", "intervals"))
        check_bins(self.n_bins)
        aside = {target, sample_weight if isinstance(sample_weight, str) else None, *(exclude or ())} - {None}
        self._aside = frozenset(aside)
        options = FileOptions(encoding, separator, missing)
        has_class = self.method == "mdl" or target is not None
        source = Source(
            X, y, sample_weight, target, exclude=exclude, has_class=has_class, options=options
        ).examined((keep,) if isinstance(keep, str) else keep)
        if not source.in_memory:
            return self._fit_pieces(source)
        table = open_dense(source.data, type(self).__name__)
        if target is not None or isinstance(sample_weight, str) or exclude is not None:
            (rows,) = source
            table, y, sample_weight = rows.table, rows.y, rows.weights
        if self.method == "mdl" and y is None:
            raise DataError(
                'Discretizer(method="mdl") requires y to be passed, but the target y is None. Pass the classes, '
                'or choose method="frequency", "width" or "proportional", which need none.'
            )
        weights = as_weights(sample_weight, table.n_rows)
        labels, codes = Variable("y", "categorical"), np.zeros(table.n_rows, np.uint32)
        if self.method == "mdl":
            labels, codes = encode_labels(as_labels(y, table.n_rows), labels, "grow")
        schema = self._schema_of(table, labels)
        cut_points = {
            v.name: self._find(v.name, table.numbers(schema.position[v.name]), codes, labels.size, weights)
            for v in schema.numeric
        }
        return self._adopt(table, schema, cut_points)

    def _fit_pieces(self, source: Source) -> Self:
        """Find cut points from evenly spaced rows of a source, or from a sample of one that is elsewhere."""
        backend = backend_of(source)
        rows_of = source if backend is None else backend.sample(source)
        if rows_of is None:
            raise NeedsRows(f"method={self.method!r}", source.passed, "")
        sample, first, schema = NumberSample(), None, None
        labels = Variable("y", "categorical") if self.method == "mdl" else _EVERYTHING
        for rows in rows_of:
            if schema is None:
                first, schema = rows.table, self._schema_of(rows.table, labels)
            labels = add_numbers(rows, schema, list(schema.numeric), labels, sample)
        if schema is None or first is None:
            raise DataError("The source gave no batch: Found array with 0 sample(s).")
        n, weights = rows_of.sample_note["of"] if rows_of.sample_note else sample.seen, sample.weights
        if self.method == "proportional":  # its intervals are √n of all rows, each with √n
            weights = (np.ones(sample.n_rows) if weights is None else weights) * (n / sample.n_rows)
        cut_points = {}
        for place, v in enumerate(schema.numeric):
            values, codes, used = sample.column(place), sample.codes, weights
            if self.method == "width":  # the range is known of all rows that were read
                least, largest = sample.ranges[place]
                values, used = np.array([least, largest] if least <= largest else []), None
            cut_points[v.name] = self._find(v.name, values, codes, labels.size, used)
        note = None if n == sample.n_rows else {"rows": sample.n_rows, "of": n}
        return self._adopt(first, schema, cut_points, note, source.reading)

    def _schema_of(self, table: Table, labels: Variable) -> Schema:
        chosen = self._chosen(table)
        kinds: dict[bool, Kind] = {True: "numeric", False: "categorical"}
        return Schema(tuple(Variable(n, kinds[n in chosen]) for n in table.names), labels)

    def _adopt(
        self,
        table: Table,
        schema: Schema,
        cut_points: dict[Name, NDArray[np.float64]],
        note: dict[str, int] | None = None,
        reading: FileReading | None = None,
    ) -> Self:
        self.cut_points_, self.chosen_from_, self.reading_ = cut_points, note, reading
        self._schema = schema
        self._names = table.names if table.named else None
        self.columns_ = tuple(self.cut_points_)
        self.n_features_in_ = len(table.names)
        self.__dict__.pop("feature_names_in_", None)
        if table.named and all(isinstance(name, str) for name in table.names):
            self.feature_names_in_ = np.array(table.names, dtype=object)
        return self

    def transform(self, X: RowSource) -> Any:
        """Return the interval of each value. The notes of the class describe the type.

        Rows that are not in memory give `Batches`, which are read and discretized piece by piece whenever they are
        iterated: frames, or mappings of columns. Columns that ``fit`` did not see are left out, and a batch (X, y)
        keeps its y.
        """
        check_is_fitted(self, "cut_points_")
        source = Source(X, has_class=False, columns=self._names, options=FileOptions(reading=self.reading_))
        if not source.in_memory:
            return Batches(lambda: self._pieces(source))
        table = open_dense(source.data, type(self).__name__)
        if self._aside.intersection(table.names):
            table = table.select(tuple(name for name in table.names if name not in self._aside))
        return self._transformed(table)

    def _pieces(self, source: Source) -> Iterator[Any]:
        """Discretize the batches of a source, each when it is asked for."""
        batches = source if source.in_files or source.in_partitions else source.data
        for batch in batches:
            if isinstance(batch, tuple):
                yield (self._transformed(open_dense(batch[0], type(self).__name__)), *batch[1:])
            else:
                rows = batch if isinstance(batch, Rows) else source.from_batch(batch)
                yield self._transformed(rows.table, by_name=rows.table.named)

    def _transformed(self, table: Table, by_name: bool = False) -> Any:
        table = match_columns(table, self._schema, self._names, type(self).__name__)
        cut: dict[int, NDArray[Any]] = {}
        for j, variable in enumerate(self._schema.attributes):
            if variable.kind == "numeric":
                cut[j] = intervals_of(table.numbers(j), self.cut_points_[variable.name])
        named = self.output == "intervals"
        labels = {j: interval_labels(self.cut_points_[self._schema.attributes[j].name]) for j in cut if named}
        if table.frame is not None:
            return _as_frame(table, cut, labels, self._output_container())
        cells = {j: _named(c, labels[j]) if named else _numbered(c) for j, c in cut.items()}
        columns = [cells[j] if j in cells else table.raw(j) for j in range(len(table.names))]
        return dict(zip(table.names, columns, strict=True)) if by_name else _as_array(columns)

    def _card(self) -> str:
        from bayeskit._display_table import DisplayTable, as_html
        from bayeskit._visible import shorter

        rows = tuple(
            (
                shorter(name),
                str(len(cuts) + 1),
                shorter(", ".join(f"{cut:.6g}" for cut in cuts.tolist()), 200),
            )
            for name, cuts in self.cut_points_.items()
        )
        n = len(rows)
        title = f"Discretizer: {n:,} of {self.n_features_in_:,} columns cut, method {self.method!r}"
        return as_html(DisplayTable(title, ("column", "intervals", "cut at"), rows, (), ()))

    def _output_container(self) -> Any:
        """The container that ``set_output`` requests; scikit-learn would treat frames of other libraries as arrays."""
        config = getattr(self, "_sklearn_output_config", {})
        return config.get("transform", get_config()["transform_output"])

    def _chosen(self, table: Table) -> set[Name]:
        if self.columns is None:
            return {name for j, name in enumerate(table.names) if _is_numeric(table, j)}
        names: set[Name] = set()
        for given in [self.columns] if isinstance(self.columns, str) else self.columns:
            if given in table.names:
                names.add(given)
            elif isinstance(given, (int, np.integer)) and not table.named and 0 <= given < len(table.names):
                names.add(table.names[given])
            else:
                shown = Joined(map(repr, table.names[:12]))
                raise ColumnError(
                    "columns names {given!r}, which is not a column. The columns are {shown}.",
                    given=given,
                    shown=shown,
                )
        return names

    def _find(
        self, name: Name, values: NDArray[Any], codes: NDArray[Any], n_classes: int, weights: Floats | None
    ) -> NDArray[np.float64]:
        match self.method:
            case "mdl":
                return mdl_cut_points(values, codes, n_classes, weights, name=name)
            case "frequency":
                return frequency_cut_points(values, self.n_bins, weights, name=name)
            case "width":
                return width_cut_points(values, self.n_bins, weights, name=name)
            case _:
                return proportional_cut_points(values, weights, name=name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.method == "mdl"
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def intervals_of(values: NDArray[Any], cuts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the interval of each value: the number of cuts below it, or −1 if it is missing.

    >>> intervals_of(np.array([0.5, 1.0, np.inf, np.nan]), np.array([0.5, 2.0]))
    array([ 0,  1,  2, -1])
    """
    numbers = np.asarray(values, dtype=np.float64)
    codes = np.searchsorted(cuts, numbers, side="left").astype(np.int64, copy=False)
    codes[np.isnan(numbers)] = -1
    return codes


def _is_numeric(table: Table, j: int) -> bool:
    try:
        return table.kind(j) == "numeric"
    except ColumnError:  # dates, for example: left unchanged
        return False


def _numbered(codes: NDArray[np.int64]) -> NDArray[Any]:
    missing = codes < 0
    return np.where(missing, np.nan, codes) if missing.any() else codes


def _named(codes: NDArray[np.int64], labels: list[str]) -> NDArray[Any]:
    return np.array([*labels, None], dtype=object)[codes]  # −1 selects the last entry, None


def _as_array(columns: list[NDArray[Any]]) -> NDArray[Any]:
    kinds = {column.dtype.kind for column in columns}
    if kinds <= set("iuf") or len(kinds) == 1:
        return np.column_stack(columns)
    return np.column_stack([column.astype(object) for column in columns])


def _as_frame(
    table: Table, cut: dict[int, NDArray[Any]], labels: dict[int, list[str]], container: str
) -> Any:
    """Replace the discretized columns. Interval names become ordered categories if the library has them."""
    import narwhals.stable.v2 as nw

    backend = table.frame.implementation
    new = []
    for j, codes in cut.items():
        values = _named(codes, labels[j]).tolist() if labels else _numbered(codes)
        dtype = nw.String() if labels else None
        series = nw.new_series(table.names[j], values, dtype, backend=backend)  # type: ignore[arg-type]
        if labels and not backend.is_pyarrow():  # PyArrow dictionaries cannot be declared in advance
            series = series.cast(nw.Enum(labels[j]))
        new.append(series)
    try:
        frame = table.frame.with_columns(*new)
    except UnicodeEncodeError as error:
        raise ColumnError(
            "The name of the column {object!r} contains half a character, which {backend} cannot write. "
            "Rename it.",
            object=error.object,
            backend=backend,
        ) from None
    if backend.is_pyarrow():
        # A table that was made by pandas stores the original type of each column, which is now wrong.
        frame = nw.from_native(frame.to_native().replace_schema_metadata(), eager_only=True)
    if container == "pandas":
        return frame.to_pandas()
    return frame.to_polars() if container == "polars" else frame.to_native()
