"""The door of a network, made when it is first asked something and kept until the network changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayeskit.graphs.field import Field
from bayeskit.networks.discrete import DiscreteDoor
from bayeskit.networks.kept import Kept

if TYPE_CHECKING:
    from bayeskit.networks.mixed import MixedDoor


class Answering:
    """What a class needs that answers questions: its network as a value, and a place for what follows from it."""

    _network: Any  # a Network, or the Field of a Markov network
    _kept: Kept

    @property
    def _door(self) -> DiscreteDoor | MixedDoor:
        kept = self._kept
        return kept.get("door", lambda: _open_door(kept))


def _open_door(kept: Kept) -> DiscreteDoor | MixedDoor:
    network = kept.network
    if isinstance(network, Field):
        return DiscreteDoor(network, kept)
    network.require_distributions()
    if network.is_discrete:
        return DiscreteDoor(network, kept)
    from bayeskit.networks.mixed import MixedDoor

    return MixedDoor(network)
