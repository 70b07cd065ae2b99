"""What a network derives from itself and keeps until it is changed: engines, trees, orders."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

from bayeskit.graphs.field import Field
from bayeskit.graphs.network import Network

T = TypeVar("T")


class Kept:
    """Values by name, each made once; safe to ask from many threads. It is never copied or pickled.

    It holds the network that they were derived from: whoever reads both from here gets what belongs together,
    also while another thread changes the network.
    """

    def __init__(self, network: Network | Field) -> None:
        self.network: Any = network
        self._values: dict[Any, Any] = {}
        self._lock = threading.RLock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a name, making it if it is not there."""
        try:
            value: T = self._values[key]
        except KeyError:
            with self._lock:
                value = self._values[key] if key in self._values else make()
                self._values[key] = value
        return value


class Keeping(Protocol):
    """A network of whatever kind: its value, and a place for what follows from it."""

    _network: Any
    _kept: Kept
