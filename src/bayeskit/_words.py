"""Texts as words or characters, and as counts of the words of a vocabulary."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import Incompatible

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = NDArray[np.int64]

ANALYZERS = ("auto", "word", "char")
# The maximum number of units in one word of a vocabulary.
MOST_UNITS = 8
WEIGHTINGS = ("log", "tf-idf", "binary", "count")

# Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana and Chinese characters.
_SPACELESS = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_WORDS = re.compile(r"\w+")
_UNITS = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+")
_BETWEEN = re.compile(rf"(?<=[{_SPACELESS}]) (?=[{_SPACELESS}])")


@dataclass(frozen=True)
class Splitting:
    """How a text is split into units.

    Attributes
    ----------
    analyzer : "auto", "word" or "char"
        "auto": a unit is a word, or a character in scripts without spaces between words. "word": always a word.
        "char": always a character.
    ngram_range : (int, int)
        The smallest and the largest number of consecutive units in one word of the vocabulary.
    lowercase : bool
        Convert to lower case, and full-width characters to the usual ones.
    stop_words : frozenset of str
        Units that are removed before n-grams are formed.
    """

    analyzer: str = "auto"
    ngram_range: tuple[int, int] = (1, 2)
    lowercase: bool = True
    stop_words: frozenset[str] = frozenset()

    def units(self, text: str) -> list[str]:
        """Split a text.

        >>> Splitting().units("Win 2 iPhones, 很好吃")
        ['win', '2', 'iphones', '很', '好', '吃']
        """
        if self.lowercase:
            text = text.lower() if text.isascii() else normalize("NFKC", text).lower()
        if self.analyzer == "char":
            found = list(" ".join(text.split()))
        elif self.analyzer == "word" or text.isascii():
            found = _WORDS.findall(text)
        else:
            found = _UNITS.findall(text)
        return [unit for unit in found if unit not in self.stop_words] if self.stop_words else found

    @property
    def between(self) -> str:
        """The separator between the units of a word of the vocabulary."""
        return "" if self.analyzer == "char" else " "

    def known_words(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return a user's words in the form of a vocabulary, sorted. A word without units is dropped.

        >>> Splitting().known_words(["Free call", "好吃", "?"])
        ('free call', '好 吃')
        """
        found = {self.between.join(self.units(word)) for word in words}
        return tuple(sorted(found - {""}))

    def parts(self, word: str) -> list[str]:
        """Return the units of a word of the vocabulary."""
        return list(word) if self.analyzer == "char" else word.split(" ")


def shown_word(word: str) -> str:
    """Return a word of a vocabulary for display, without spaces between Chinese characters.

    >>> shown_word("好 吃"), shown_word("free call")
    ('好吃', 'free call')
    """
    return _BETWEEN.sub("", word)


@dataclass(frozen=True, eq=False)
class Units:
    """Texts as codes of their units.

    Attributes
    ----------
    names : the distinct units
    codes : array of shape (units in all texts,)
    text : array of the same shape, the text of each unit
    """

    names: list[str]
    codes: Codes
    text: Codes
    n_texts: int


def split(texts: Iterable[str], splitting: Splitting) -> Units:
    """Split texts and number their units.

    >>> split(["to be", "be"], Splitting()).codes.tolist()
    [0, 1, 1]
    """
    known: defaultdict[str, int] = defaultdict()
    known.default_factory = known.__len__
    codes, lengths = array("q"), array("q")
    for text in texts:
        units = splitting.units(text)
        lengths.append(len(units))
        codes.extend(map(known.__getitem__, units))
    sizes = np.array(lengths, dtype=np.int64)
    return Units(
        list(known), np.array(codes, dtype=np.int64), np.repeat(np.arange(len(sizes)), sizes), len(sizes)
    )


def document_counts(units: Units, splitting: Splitting, least: int = 1) -> dict[str, int]:
    """Return the number of texts of each word that is in at least ``least`` texts.

    An n-gram cannot be in more texts than its parts, so others are dropped early.

    >>> document_counts(split(["to be or", "to be"], Splitting()), Splitting(), 2)
    {'to': 2, 'be': 2, 'to be': 2}
    """
    found: dict[str, int] = {}
    single = np.array(units.names, dtype=object)
    names, n_units = single, max(len(single), 1)
    nodes, last, texts = units.codes, np.arange(len(units.codes)), units.text
    common = np.ones(n_units, dtype=bool)
    for order in range(1, splitting.ngram_range[1] + 1):
        if order > 1:
            last = last + 1
            goes_on = last < len(units.codes)
            goes_on[goes_on] = (units.text[last[goes_on]] == texts[goes_on]) & common[
                units.codes[last[goes_on]]
            ]
            nodes, last, texts = nodes[goes_on], last[goes_on], texts[goes_on]
            keys, nodes = _numbered(nodes * n_units + units.codes[last])
            names = names[keys // n_units] + splitting.between + single[keys % n_units]
        if not len(nodes):
            break
        counts = _texts_with(nodes, texts, len(names), units.n_texts)
        enough = counts >= least
        if order >= splitting.ngram_range[0]:
            found |= dict(zip(names[enough].tolist(), counts[enough].tolist(), strict=True))
        common = enough if order == 1 else common
        stays, renumbered = enough[nodes], np.cumsum(enough) - 1
        nodes, last, texts, names = renumbered[nodes[stays]], last[stays], texts[stays], names[enough]
    return found


def _numbered(keys: Codes) -> tuple[Codes, Codes]:
    """Return the distinct keys and the index of each key among them, a third faster than ``np.unique``."""
    order = np.argsort(keys)
    ascending = keys[order]
    first = np.diff(ascending, prepend=ascending[:1] - 1) != 0
    places = np.empty(len(keys), dtype=np.int64)
    places[order] = np.cumsum(first) - 1
    return ascending[first], places


def _texts_with(nodes: Codes, texts: Codes, n_nodes: int, n_texts: int) -> Codes:
    """Count the texts in which each node occurs."""
    from scipy.sparse import csr_array

    block = csr_array((np.ones(len(nodes), dtype=np.int32), (texts, nodes)), shape=(n_texts, n_nodes))
    block.sum_duplicates()
    return np.bincount(block.indices, minlength=n_nodes)


@dataclass(frozen=True)
class Vocabulary:
    """The words that are the columns of a block, and how they are found and weighted.

    Attributes
    ----------
    words : the columns of the block
    places : the indices of the text columns of the table; several are read as one text
    splitting : Splitting
    weighting : "log", "tf-idf", "binary" or "count"
        A word that occurs n times has the value 1 + log n, the same times its idf, 1, or n. Each text is then divided
        by its Euclidean norm.
    idf : the weights of the words, for "tf-idf"
    """

    words: tuple[str, ...]
    places: tuple[int, ...] = (0,)
    splitting: Splitting = field(default_factory=Splitting)
    weighting: str = "log"
    idf: tuple[float, ...] | None = None

    def block(self, units: Units) -> Any:
        """Return the weighted words of each text: a sparse matrix of shape (texts, words).

        >>> vocabulary = Vocabulary(("be", "to", "to be"))
        >>> vocabulary.block(split(["to be", "not"], Splitting())).toarray().round(3).tolist()
        [[0.577, 0.577, 0.577], [0.0, 0.0, 0.0]]
        """
        from scipy.sparse import csr_array

        pieces = list(self._trie.features(units))
        text, word = (np.concatenate([piece[i] for piece in pieces]) for i in (0, 1))
        block = csr_array((np.ones(len(word)), (text, word)), shape=(units.n_texts, len(self.words)))
        block.sum_duplicates()
        return self._weighed(block)

    def _weighed(self, block: csr_array) -> Any:
        if self.weighting == "binary":
            block.data[:] = 1.0
        elif self.weighting != "count":
            block.data = 1.0 + np.log(block.data)
        if self.idf is not None:
            block.data *= np.array(self.idf)[block.indices]
        rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        length = np.sqrt(np.bincount(rows, weights=block.data**2, minlength=block.shape[0]))
        block.data /= length[rows]
        return block

    @property
    def is_sound(self) -> bool:
        """Whether every field is valid; a file may contain anything."""
        splitting = self.splitting
        counts = (*self.places, *splitting.ngram_range)
        weights = () if self.idf is None else self.idf
        return (
            bool(self.words and self.places)
            and all(type(word) is str and word for word in (*self.words, *splitting.stop_words))
            and len(set(self.words)) == len(self.words)
            and all(type(count) is int for count in counts)
            and list(self.places) == sorted({place for place in self.places if place >= 0})
            and len(splitting.ngram_range) == 2
            and 1 <= splitting.ngram_range[0] <= splitting.ngram_range[1] <= MOST_UNITS
            and splitting.analyzer in ANALYZERS
            and type(splitting.lowercase) is bool
            and self.weighting in WEIGHTINGS
            and (self.idf is None) == (self.weighting != "tf-idf")
            and len(weights) in (0, len(self.words))
            and all(type(weight) is float and 0.0 < weight < 1e6 for weight in weights)
        )

    @cached_property
    def _trie(self) -> _Trie:
        return _Trie(self.words, self.splitting)

    def check_same(self, other: Vocabulary | None) -> None:
        """Raise an error if the words of two models differ."""
        if self != other:
            theirs = () if other is None else other.words
            raise Incompatible(
                "The two models have different vocabularies, of {n} and {n2} words, or find and weigh words "
                "differently. Fit one, and let it learn the other's texts with partial_fit.",
                n=len(self.words),
                n2=len(theirs),
            )


class _Trie:
    """Finds the words of a vocabulary in sequences of units, with a node for each prefix of a word."""

    def __init__(self, words: Collection[str], splitting: Splitting) -> None:
        units: dict[str, int] = {}
        levels: list[dict[tuple[int, int], int]] = []
        features: list[dict[int, int]] = []
        for place, word in enumerate(words):
            node = 0
            for depth, part in enumerate(splitting.parts(word)):
                if depth == len(levels):
                    levels.append({})
                    features.append({})
                unit = units.setdefault(part, len(units))
                children = levels[depth]
                node = children.setdefault((node, unit), len(children))
            features[depth][node] = place
        self.units, self.n_units = units, max(len(units), 1)
        self.levels = [
            _Level(nodes, found, self.n_units) for nodes, found in zip(levels, features, strict=True)
        ]

    def features(self, units: Units) -> Iterator[tuple[Codes, Codes]]:
        """Yield (text, word) of every occurrence, words of one unit first."""
        yield np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        known = np.fromiter((self.units.get(name, -1) for name in units.names), np.int64, len(units.names))
        codes = known[units.codes] if len(known) else units.codes
        last, nodes = np.arange(len(codes)), np.zeros(len(codes), dtype=np.int64)
        texts = units.text
        for depth, level in enumerate(self.levels):
            if depth:
                goes_on = last + 1 < len(codes)
                last, nodes, texts = last[goes_on] + 1, nodes[goes_on], texts[goes_on]
            there = (codes[last] >= 0) & (units.text[last] == texts)
            last, nodes, texts = last[there], nodes[there], texts[there]
            found, nodes = level.children(nodes, codes[last])
            last, nodes, texts = last[found], nodes[found], texts[found]
            words = level.words[nodes]
            yield texts[words >= 0], words[words >= 0]


class _Level:
    """The nodes of one depth, by their parent and last unit."""

    def __init__(self, nodes: dict[tuple[int, int], int], words: dict[int, int], n_units: int) -> None:
        pairs = np.array(list(nodes), dtype=np.int64).reshape(len(nodes), 2)
        keys = pairs[:, 0] * n_units + pairs[:, 1]
        self.order = np.argsort(keys)
        self.keys, self.n_units = keys[self.order], n_units
        self.words = np.full(len(nodes), -1, dtype=np.int64)
        self.words[list(words)] = list(words.values())
        # All words start at one node, where a unit is looked up directly.
        self.first: Codes | None = None
        if not pairs[:, 0].any():
            self.first = np.full(n_units, -1, dtype=np.int64)
            self.first[pairs[:, 1]] = np.arange(len(pairs))

    def children(self, parents: Codes, units: Codes) -> tuple[NDArray[np.bool_], Codes]:
        """Return which of these have a child for their unit, and the children; arbitrary if there is none."""
        if self.first is not None:
            found = np.where(parents == 0, self.first[units], -1)
            return found >= 0, found
        keys = parents * self.n_units + units
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return self.keys[place] == keys, self.order[place]
