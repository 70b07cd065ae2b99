"""Trees by the question they answer, the least recently used let go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from bayeskit.inference.tree import Tree

LARGEST = 64 * 2**20


class Plans:
    """A cache of trees bounded by bytes. Trees never change, so one may be used while it is let go."""

    def __init__(self, max_bytes: int = LARGEST) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._trees: OrderedDict[Hashable, Tree] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._trees)

    def get(self, key: Hashable) -> Tree | None:
        with self._lock:
            tree = self._trees.get(key)
            if tree is not None:
                self._trees.move_to_end(key)
            return tree

    def keep(self, key: Hashable, tree: Tree) -> None:
        """Keep a tree, unless it alone would take more than a quarter of the room."""
        if 4 * tree.nbytes > self.max_bytes:
            return
        with self._lock:
            if key not in self._trees:
                self._trees[key] = tree
                self.bytes += tree.nbytes
            while self.bytes > self.max_bytes:
                _, old = self._trees.popitem(last=False)
                self.bytes -= old.nbytes
