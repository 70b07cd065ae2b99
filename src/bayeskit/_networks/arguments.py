"""What users pass to a network: settings and names of nodes, which are checked, and rows, which become codes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.columns import refuse_beyond
from bayeskit._data.encode import code_column
from bayeskit._data.table import Table, open_table
from bayeskit._graphs.dag import Dag, unknown_node
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name, Variable
from bayeskit.errors import ColumnError, SettingError, UnseenState
from bayeskit.typing import Floats, Ints, NamesLike, TableLike


def whole_number(value: object, name: str, least: int) -> int:
    """Return an integer that is not too small.

    >>> whole_number(np.int64(3), "n", 0)
    3
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise SettingError(
            "{name} is {value!r}; give a whole number, {least} or more.", name=name, value=value, least=least
        )
    return int(value)


def number_below(value: object, name: str, below: float = math.inf) -> float:
    """Return a number from 0 to below a bound."""
    if not is_number(value) or not 0 <= value < below:
        upper = "" if math.isinf(below) else Message(" and below {below:g}", below=below)
        raise SettingError(
            "{name} is {value!r}; give a number, 0 or more{upper}.", name=name, value=value, upper=upper
        )
    return float(value)


def switch(value: object, name: str) -> bool:
    """Return True or False; ``"no"`` is neither."""
    if not isinstance(value, (bool, np.bool_)):
        raise SettingError("{name} is {value!r}; it must be True or False.", name=name, value=value)
    return bool(value)


def choice(value: object, name: str, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices.

    >>> choice("up", "direction", ("down", "right"))
    Traceback (most recent call last):
    ...
    bayeskit.errors.SettingError: direction is 'up'; choose from 'down', 'right'.
    """
    if not isinstance(value, str) or value not in choices:
        raise SettingError(
            "{name} is {value!r}; choose from {names}.",
            name=name,
            value=value,
            names=Joined(map(repr, choices)),
        )
    return value


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number of Python or NumPy. True and False are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def real_numbers(value: object) -> NDArray[np.float64] | None:
    """Return real numbers as a new array; None for text, complex numbers, masked cells and ragged lists.

    >>> real_numbers([1, 0.5])
    array([1. , 0.5])
    >>> real_numbers(["1", "0.5"]) is None
    True
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        return None
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            return None
        if array.dtype.kind == "O" and any(isinstance(cell, (str, bytes)) for cell in array.flat):
            return None
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def known_node(dag: Dag, name: Name) -> Name:
    """Return the name of a node, or raise an error if there is no such node.

    Examples
    --------
    >>> known_node(Dag.of({}, ["rain"]), "rain")
    'rain'
    """
    try:
        return dag.nodes[dag.position[name]]
    except (KeyError, TypeError):
        raise unknown_node(name, dag.nodes) from None


def known_nodes(dag: Dag, given: NamesLike, what: str) -> tuple[Name, ...]:
    """Return the nodes of an argument, each once: a name, or a list, tuple or set of names.

    ``what`` is the name of the argument, for messages. A tuple that is itself the name of a node is that
    node.

    Examples
    --------
    >>> dag = Dag.of({}, ["rain", "wet"])
    >>> known_nodes(dag, "rain", "a"), known_nodes(dag, ["wet", "rain", "wet"], "a")
    (('rain',), ('wet', 'rain'))
    """
    if isinstance(given, str) or (isinstance(given, Hashable) and _is_node(dag, given)):
        return (known_node(dag, given),)
    if isinstance(given, Mapping):
        raise SettingError(
            "{what} is {given!r}; give names of nodes only, without states.",
            what=what,
            given=given,
        )
    if not isinstance(given, Iterable):
        return (known_node(dag, given),)
    names = dict.fromkeys(known_node(dag, name) for name in given)
    if isinstance(given, (set, frozenset)):
        return tuple(sorted(names, key=dag.position.__getitem__))
    return tuple(names)


def two_groups(dag: Dag, a: NamesLike, b: NamesLike) -> tuple[tuple[Name, ...], tuple[Name, ...]]:
    """Return the nodes of two arguments ``a`` and ``b``. Neither may be empty, and they may not share a node."""
    groups = known_nodes(dag, a, "a"), known_nodes(dag, b, "b")
    for what, group in zip("ab", groups, strict=True):
        if not group:
            raise SettingError("{what} names no node. Give one name, or a list of names.", what=what)
    both = next((name for name in groups[0] if name in groups[1]), None)
    if both is not None:
        raise SettingError(
            "{both!r} is in a and in b. A node is not compared with itself: take it out of one.", both=both
        )
    return groups


def _is_node(dag: Dag, given: object) -> bool:
    try:
        return given in dag.position
    except TypeError:  # a tuple that contains a list
        return False


Codes = NDArray[Any]
Unseen = Literal["ignore", "error"]


class Rows:
    """The cells of a table by node.

    Columns are matched to nodes by name. A node without a column is missing in every row, and columns that
    are not nodes are ignored. An array holds integer codes, one column for each node in order, as
    ``sample(as_codes=True)`` returns them, with −1 for missing.

    Parameters
    ----------
    data : a data frame, a mapping of columns, or a matrix of codes
    variables : the nodes, in order
    unseen : "ignore" (a value that is not a state counts as missing) or "error"

    Examples
    --------
    >>> from bayeskit._graphs.network import discrete
    >>> rows = Rows({"rain": ["yes", None, "no"]}, [discrete("rain", ["no", "yes"])], "ignore")
    >>> rows.codes(0)
    array([1, 2, 0], dtype=uint8)
    """

    def __init__(self, data: TableLike, variables: Sequence[Variable], unseen: Unseen) -> None:
        self.variables = tuple(variables)
        self._unseen = unseen
        self._coded: dict[int, Codes] = {}
        self._table = open_table(data)
        self.n_rows = self._table.n_rows
        self._matrix = None if self._table.named else _codes_of(self._table, self.variables)
        place = {name: j for j, name in enumerate(self._table.names)}
        columns = columns_of([variable.name for variable in self.variables], self._table.names)
        self._place = {node: place[name] for node, name in columns.items()}

    def codes(self, place: int) -> Codes:
        """Return the codes of one discrete node; missing cells have the code after its last state."""
        if place not in self._coded:
            self._coded[place] = self._code(place)
        return self._coded[place]

    def matrix(self, places: Sequence[int]) -> Ints:
        """Return the codes of some nodes side by side: shape (rows, nodes)."""
        out = np.empty((self.n_rows, len(places)), np.int64)
        for column, place in enumerate(places):
            out[:, column] = self.codes(place)
        return out

    def check(self, target: int) -> None:
        """Read every discrete column except the target, so that values that are not states are reported."""
        for place, variable in enumerate(self.variables):
            if place != target and variable.kind == "categorical":
                self.codes(place)

    def numbers(self, place: int) -> Floats:
        """Return the numbers of one continuous node, NaN if missing."""
        j = self._place.get(self.variables[place].name)
        if j is None:
            return np.full(self.n_rows, np.nan)
        values = np.asarray(self._table.numbers(j), dtype=np.float64)
        refuse_beyond(values[:, None], [self.variables[place].name], np.inf)
        return values

    def _code(self, place: int) -> Codes:
        variable = self.variables[place]
        if self._matrix is not None:
            return _checked_codes(self._matrix[:, place], variable)
        j = self._place.get(variable.name)
        if j is None:
            return np.full(self.n_rows, variable.size)
        return code_column(self._table, j, variable, self._unseen, as_written=True)[1][:]


def columns_of(nodes: Sequence[Name], names: Sequence[Name]) -> dict[Name, Name]:
    """Return the column of each node that has one.

    In frames with text column names, a node named 0 is the column "0".

    >>> columns_of([0, "b"], ("0", "c"))
    {0: '0'}
    """
    known, there = set(nodes), set(names)
    found = {node: node if node in there or str(node) in known else str(node) for node in nodes}
    return {node: name for node, name in found.items() if name in there}


def _codes_of(table: Table, variables: tuple[Variable, ...]) -> NDArray[Any]:
    numeric = any(variable.kind != "categorical" for variable in variables)
    if table.matrix is None or table.matrix.dtype.kind not in "iu" or numeric:
        coded = (
            ""
            if numeric
            else Message(", or a matrix of integer codes with a column for each node in order (-1: missing)")
        )
        raise ColumnError(
            "The columns have no names. Pass a data frame or a mapping of columns named after the nodes{coded}.",
            coded=coded,
        )
    if len(table.names) != len(variables):
        raise ColumnError(
            "A matrix of codes needs a column for each of the {n} nodes, in order (-1: missing); this one "
            "has {n_names}.",
            n=len(variables),
            n_names=len(table.names),
        )
    return table.matrix


def _checked_codes(column: NDArray[Any], variable: Variable) -> Codes:
    """Read codes as users write them, with −1 for missing."""
    codes = column.astype(np.int64)
    strange = (codes < -1) | (codes >= variable.size)
    if strange.any():
        row = int(strange.argmax())
        raise UnseenState(
            "{name!r} has the code {column} in row {row}; its codes are 0 to {size}, and -1 for missing.",
            name=variable.name,
            column=column[row],
            row=row,
            size=variable.size - 1,
        )
    codes[codes < 0] = variable.size
    return codes


# What methods of other libraries are called here, for those who type them out of habit.

# Name in pgmpy, pyAgrum, bnlearn or networkx → what answers it here.
NAMES: dict[str, tuple[str, ...]] = {
    "H": ("entropy",),
    "I": ("mutual_information",),
    "active_trail_nodes": ("why_independent",),
    "add": ("add_node",),
    "addArc": ("add_arc",),
    "addEvidence": ("query",),
    "add_cpds": ("set_cpt",),
    "add_edge": ("add_arc",),
    "add_edges_from": ("add_arc",),
    "add_nodes_from": ("add_node",),
    "argmaxPosterior": ("map",),
    "causalImpact": ("effect",),
    "cpds": ("cpt",),
    "dim": ("n_parameters",),
    "edges": ("arcs",),
    "erase": ("remove_node",),
    "eraseArc": ("remove_arc",),
    "evidenceProbability": ("log_probability",),
    "fit_update": ("partial_fit",),
    "forward_sample": ("sample",),
    "generateSample": ("sample",),
    "get_all_backdoor_adjustment_sets": ("adjustment_sets",),
    "get_all_frontdoor_adjustment_sets": ("front_door_sets",),
    "get_ancestors": ("ancestors",),
    "get_cardinality": ("states",),
    "get_children": ("children",),
    "get_cpds": ("cpt",),
    "get_descendants": ("descendants",),
    "get_independencies": ("independent", "why_independent"),
    "get_markov_blanket": ("markov_blanket",),
    "get_parents": ("parents",),
    "get_state_probability": ("log_probability",),
    "isIndependent": ("independent",),
    "is_dconnected": ("independent",),
    "local_independencies": ("independent", "why_independent"),
    "makeInference": ("query", "posteriors"),
    "map_query": ("map", "mpe"),
    "markovBlanket": ("markov_blanket",),
    "max_marginal": ("map",),
    "moralGraph": ("moral_graph",),
    "moralize": ("moral_graph",),
    "names": ("nodes",),
    "posterior": ("query", "posteriors"),
    "predict_probability": ("predict_proba",),
    "remove_edge": ("remove_arc",),
    "save": ("write",),
    "saveBIF": ("write",),
    "setEvidence": ("query",),
    "simulate": ("sample",),
    "to_pdag": ("cpdag",),
    "variable": ("states",),
}


def refuse_attribute(owner: object, name: str) -> NoReturn:
    """Raise the error for an attribute that is not there, with what it is called here."""
    if hasattr(type(owner), name):
        object.__getattribute__(owner, name)  # a property that raised this error itself raises it again
    kind = type(owner).__name__
    here = [each for each in NAMES.get(name, ()) if hasattr(type(owner), each)]
    message: Any = Message("{kind!r} object has no attribute {name!r}", kind=kind, name=name)
    if here:
        message = Message(
            "{kind!r} object has no attribute {name!r}. Here it is called {here}.",
            kind=kind,
            name=name,
            here=Joined(here, " or "),
        )
    raise AttributeError(str(message), name=name, obj=owner)
