"""JSON read strictly: no NaN, no key twice, no depth that breaks the reader."""

from __future__ import annotations

import json
from typing import Any

from bayeskit.errors import ModelFormatError
from bayeskit.io.networks.raw import decode


def parse_json(text: bytes | str, path: object = None) -> Any:
    """Return what a JSON text holds.

    >>> parse_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse_json('{"a": NaN}')
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: it holds NaN, which is no number of JSON. Mend the file.
    """

    def refuse(word: str) -> Any:
        raise ModelFormatError(f"it holds {word}, which is no number of JSON. Mend the file.", path=path)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise ModelFormatError(f"an object in it has the key {twice!r} twice. Keep one.", path=path)
        return found

    try:
        return json.loads(decode(text, path), parse_constant=refuse, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ModelFormatError(
            f"this is no JSON: {error.msg}. The file may be cut; copy it again.",
            path=path,
            line=error.lineno,
            column=error.colno,
        ) from None
    except RecursionError:
        raise ModelFormatError("its lists and objects are nested too deeply.", path=path) from None
    except ModelFormatError:
        raise
    except ValueError as error:  # a whole number of thousands of digits
        raise ModelFormatError(f"it holds what cannot be read ({error}).", path=path) from None
