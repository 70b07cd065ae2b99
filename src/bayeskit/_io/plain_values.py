"""Converts labels and parameter values to plain JSON and back, keeping their types.

JSON values are unchanged: None, bool, finite numbers, text, lists. Anything else is an object with one key,
its type: ``{"tuple": [1, 2]}``. An object never means a mapping, so no label can be mistaken for a type.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import Message, as_message
from bayeskit.errors import ModelFormatError, SettingError
from bayeskit.priors import MAP, PRIORS, Dirichlet

# Other programs read JSON numbers beyond this differently.
_LARGEST_PLAIN = 2**53
# Nothing sensible is nested deeper, and a list that contains itself ends here.
_DEEPEST = 40
_PRIORS: dict[str, type[Any]] = {prior.__name__: prior for prior in PRIORS}
# Booleans, integers, floats and complex numbers of plain sizes, text, bytes, dates, durations.
_KINDS = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16, "U": math.inf, "S": math.inf, "M": 8, "m": 8}


def to_plain(value: Any, name: str, depth: int = 0) -> Any:
    """Return the JSON of a value; ``name`` is its name in errors.

    >>> to_plain({"纹理": (1, 2.5)}, "states")
    {'dict': [['纹理', {'tuple': [1, 2.5]}]]}
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return value if _encodes(value) else {"str": value.encode("utf-8", "surrogatepass").hex()}
    if kind is int:
        return value if abs(value) <= _LARGEST_PLAIN else {"int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if depth == _DEEPEST:
        raise _cannot(name, value, "is nested too deeply")
    if kind is list:
        return [to_plain(item, name, depth + 1) for item in value]
    if kind in (tuple, set, frozenset):
        items = [to_plain(item, name, depth + 1) for item in value]
        return {kind.__name__: items if kind is tuple else sorted(items, key=repr)}
    if kind is dict:
        pairs = (
            [to_plain(key, name, depth + 1), to_plain(item, f"{name}[{_short(key)}]", depth + 1)]
            for key, item in value.items()
        )
        return {"dict": list(pairs)}
    if kind in _SIMPLE:
        return {kind.__name__: _SIMPLE[kind][0](value)}
    if kind is dt.datetime:
        return {"datetime": _plain_datetime(value, name)}
    if _PRIORS.get(kind.__name__) is kind:
        given = {
            f.name: to_plain(getattr(value, f.name), f"{name}.{f.name}", depth + 1) for f in fields(value)
        }
        return {"prior": [kind.__name__, given]}
    if kind is np.str_:  # NumPy's own conversions drop zeros at the end
        return {"str_": to_plain(str.__str__(value), name, depth + 1)}
    if kind is np.bytes_:
        return {"bytes_": to_plain(bytes(value), name, depth + 1)}
    if isinstance(value, np.generic) and _holds(value.dtype):
        return {"scalar": [value.dtype.str, _packed(np.asarray(value))]}
    if kind is np.ndarray and _holds(value.dtype):
        return {"array": [value.dtype.str, list(value.shape), _packed(value)]}
    if kind is np.ndarray and value.dtype == object:
        return {"objects": [list(value.shape), to_plain(value.ravel().tolist(), name, depth + 1)]}
    raise _cannot(name, value, Message("is a {kind}", kind=kind.__name__))


def from_plain(plain: object, depth: int = 0) -> Any:
    """Return the value that was passed to :func:`to_plain`.

    >>> from_plain({"dict": [["纹理", {"tuple": [1, 2.5]}]]})
    {'纹理': (1, 2.5)}
    """
    if plain is None or type(plain) in (bool, int, float, str):
        return plain
    if depth > 2 * _DEEPEST:
        raise ModelFormatError("a value in it is nested too deeply.")
    if isinstance(plain, list):
        return [from_plain(item, depth + 1) for item in plain]
    if not isinstance(plain, dict) or len(plain) != 1:
        raise ModelFormatError(Message("{plain} is not a typed value.", plain=_short(plain)))
    ((tag, payload),) = plain.items()
    if tag not in _READERS:
        raise ModelFormatError(
            Message("it contains a value of type {tag!r}, which this version does not know.", tag=tag)
        )
    try:
        return _READERS[tag](payload, depth)
    except ModelFormatError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFormatError(
            Message(
                "{plain} is not a {tag} ({kind}: {error}).",
                plain=_short(plain),
                tag=tag,
                kind=type(error).__name__,
                error=error,
            )
        ) from error


# Types with a text form: how to write it, how to read it.
_SIMPLE: dict[type[Any], tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    bytes: (bytes.hex, bytes.fromhex),
    Decimal: (str, Decimal),
    dt.date: (dt.date.isoformat, dt.date.fromisoformat),
    dt.timedelta: (lambda d: [d.days, d.seconds, d.microseconds], lambda three: dt.timedelta(*three)),
    range: (lambda r: [r.start, r.stop, r.step], lambda three: range(*three)),
}


def _tuple(payload: object, depth: int) -> tuple[Any, ...]:
    if not isinstance(payload, list):
        raise ModelFormatError(Message("{payload} is not a list.", payload=_short(payload)))
    return tuple(from_plain(item, depth + 1) for item in payload)


def _dict(payload: Sequence[Any], depth: int) -> dict[Any, Any]:
    found = {from_plain(key, depth + 1): from_plain(item, depth + 1) for key, item in payload}
    if len(found) != len(payload):
        raise ModelFormatError(Message("{payload} has a key twice.", payload=_short(payload)))
    return found


def _prior(payload: Sequence[Any], depth: int) -> Any:
    name, given = payload
    if name not in _PRIORS:
        raise ModelFormatError(Message("there is no prior {name!r}.", name=name))
    prior = _PRIORS[name](**{field: from_plain(value, depth + 1) for field, value in given.items()})
    if isinstance(prior, MAP) and not isinstance(prior.prior, Dirichlet):
        raise ModelFormatError(Message("{prior!r} is not the mode of a Dirichlet prior.", prior=prior))
    return prior


def _plain_datetime(value: dt.datetime, name: str) -> list[Any]:
    zone = value.tzinfo
    if isinstance(zone, ZoneInfo) and zone.key is not None:
        return [value.replace(tzinfo=None).isoformat(), value.fold, zone.key]
    if zone is not None and type(zone) is not dt.timezone:
        raise _cannot(name, value, Message("has a time zone of type {kind}", kind=type(zone).__name__))
    return [value.isoformat(), value.fold, None]


def _datetime(payload: Sequence[Any], depth: int) -> dt.datetime:
    text, fold, zone = payload
    value = dt.datetime.fromisoformat(text).replace(fold=fold)
    return value if zone is None else value.replace(tzinfo=ZoneInfo(zone))


def _holds(dtype: np.dtype[Any]) -> bool:
    return dtype.itemsize <= _KINDS.get(dtype.kind, -1) and dtype.names is None and dtype.subdtype is None


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _array(payload: Sequence[Any], depth: int) -> NDArray[Any]:
    code, shape, packed = payload
    dtype = np.dtype(code) if isinstance(code, str) else np.dtype(object)
    if not _holds(dtype):
        raise ModelFormatError(Message("an array in it has the dtype {code!r}.", code=code))
    data = base64.b64decode(packed, validate=True)
    # A text or bytes dtype of length 0 has no bytes to read back.
    array = np.frombuffer(data, dtype).reshape(shape).copy() if dtype.itemsize else np.zeros(shape, dtype)
    if dtype.kind == "U" and np.frombuffer(data, f"{dtype.byteorder}u4").max(initial=0) > sys.maxunicode:
        raise ModelFormatError("a text in it contains something that is not a character.")
    return array


def _objects(payload: Sequence[Any], depth: int) -> NDArray[Any]:
    shape, items = payload
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        array[place] = from_plain(item, depth + 1)
    return array.reshape(shape)


def _alone(read: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    return lambda payload, depth: read(payload)


_READERS: dict[str, Callable[[Any, int], Any]] = {
    **{kind.__name__: _alone(read) for kind, (_, read) in _SIMPLE.items()},
    "str": _alone(lambda payload: bytes.fromhex(payload).decode("utf-8", "surrogatepass")),
    "int": _alone(lambda payload: int(payload, 16)),
    "float": _alone(float),
    "tuple": _tuple,
    "set": lambda payload, depth: set(_tuple(payload, depth)),
    "frozenset": lambda payload, depth: frozenset(_tuple(payload, depth)),
    "dict": _dict,
    "datetime": _datetime,
    "prior": _prior,
    "str_": lambda payload, depth: np.str_(from_plain(payload, depth + 1)),
    "bytes_": lambda payload, depth: np.bytes_(from_plain(payload, depth + 1)),
    "scalar": lambda payload, depth: _array([payload[0], [], payload[1]], depth)[()],
    "array": _array,
    "objects": _objects,
}


def _encodes(text: str) -> bool:
    """A lone surrogate has no UTF-8, and two of them would come back as one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(value: object) -> str:
    try:
        shown = repr(value)
    except Exception:  # integers with thousands of digits, or an object that cannot be shown
        return f"a {type(value).__name__}"
    return shown if len(shown) <= 200 else f"{shown[:200]}…"


def _cannot(name: str, value: object, why: str | Message) -> SettingError:
    return SettingError(
        "{name} is {value}, which cannot be saved: it {why}. Use numbers, text, dates, lists, tuples, "
        "dicts, NumPy arrays and the priors of bayeskit.priors.",
        name=name,
        value=_short(value),
        why=as_message(why),
    )
