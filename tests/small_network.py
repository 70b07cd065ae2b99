"""The smallest class that can be built and edited: tables and edits are tried on it alone."""

from __future__ import annotations

from bayeskit.networks.building import network_of
from bayeskit.networks.editing import Editing


class SmallNetwork(Editing):
    def __init__(self, parents=None, states=None, *, name=""):
        self._become(network_of(parents, states, name))

    @classmethod
    def _of(cls, network):
        made = cls.__new__(cls)
        made._become(network)
        return made

    def _become(self, network):
        self._network = network

    @property
    def nodes(self):
        return self._network.dag.nodes

    def parents(self, name):
        return self._network[name].parents
