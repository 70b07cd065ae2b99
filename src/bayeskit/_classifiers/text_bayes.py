"""Naive Bayes for texts: words or characters, together with the other columns of a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.semi_naive import check_whole
from bayeskit._data.frames import names_files
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source
from bayeskit._data.table import Table
from bayeskit._data.texts import TextSettings, choose_vocabulary, open_texts
from bayeskit._fitting.model import ModelSpec, RowChoice
from bayeskit._fitting.weighting import ALPHAS, WeighedWords, choose_word_weights
from bayeskit._io.trial import held_choice, is_number
from bayeskit._report.row import one_row
from bayeskit._schema import Label, Name, Schema
from bayeskit._words import ANALYZERS, MOST_UNITS, WEIGHTINGS, Splitting, Vocabulary, shown_word
from bayeskit.errors import DataTypeError, SettingError
from bayeskit.priors import LARGEST, SmoothingLike, as_smoothing
from bayeskit.typing import RowLike, RowSource

_WEIGHTS = ("multinomial", "complement", "columns")


class TextBayes(CountClassifier):
    r"""Naive Bayes for texts in any language, with calibrated posteriors.

    .. math:: P(y \mid x) \propto P(y) \, e^{b_y} \prod_v \bigl(\theta_{yv}^{u} \, e^{w \omega_{yv}}\bigr)^{x_v}

    θ are the word probabilities of multinomial naive Bayes and ω the weights of complement naive Bayes, both estimated
    from the same sums of x. u, w and b minimise the leave-one-out log-loss, so the posteriors are calibrated. A word
    that occurs n times has the value 1 + log n, and each text is divided by its Euclidean norm. So a text that
    repeats everything is not classified with twice the evidence.

    If X is a table with other columns, these are attributes as in :class:`~bayeskit.NaiveBayes`. Their factors
    P(x_i | y)^r are part of the product, and r is chosen together with u, w and b.

    Parameters
    ----------
    text : column name or list of names, optional
        The text columns of a table. Several columns are read as one text. By default, the only column, or the columns
        that look like free text: mostly distinct cells of several words.
    analyzer : {"auto", "word", "char"}, default="auto"
        The units of a text. "auto": words, and characters in scripts without spaces between words, such as Chinese.
        "word": always words. "char": always characters.
    ngram_range : (int, int), default=(1, 2)
        The smallest and the largest n of the n-grams to count. (1, 2) counts single words (or characters) and pairs.
    min_count : int, default=1
        Ignore words that occur in fewer texts. 2 makes the model about half as large and slightly less accurate.
    max_features : int, default=262144
        Keep at most this many words, those in the most texts first. This limits the memory.
    lowercase : bool, default=True
        Convert to lower case, and full-width characters to the usual ones.
    stop_words : collection of str, optional
        Words to remove before n-grams are formed.
    weighting : {"log", "tf-idf", "binary", "count"}, default="log"
        The value of a word that occurs n times in a text: 1 + log n; the same times 1 + log((1 + N)/(1 + N_v)), where
        N_v of the N texts contain it; 1; or n.
    word_smoothing : float, optional
        The number of imaginary occurrences of every word in every class. By default, 0.02 for θ and 0.1 for ω.
    vocabulary : collection of str, optional
        The words to use, instead of choosing them.
    weights : mapping, optional
        ``held_["word_weights"]`` of another model, to use the same weights instead of choosing them. Models with the
        same ``vocabulary`` and ``weights`` can be merged, regardless of the texts they were fitted to.
    smoothing : as in :class:`~bayeskit.NaiveBayes`, default=1.0
        For the other columns.
    calibration : None, "temperature" or "isotonic"
        As in :class:`~bayeskit.NaiveBayes`. It is rarely needed, because the weights already calibrate the posteriors.
    n_jobs : int, optional

    Attributes
    ----------
    vocabulary_ : tuple of str
        The words, chosen by ``fit`` or the first ``partial_fit``. Later batches keep them.
    weights_ : dict
        u ("multinomial"), w ("complement") and r ("columns").
    held_ : dict
        The weights and the calibration. Later batches keep these, too.

    Notes
    -----
    Given the vocabulary and the weights, ``partial_fit``, ``forget`` and ``merge`` are exact. The posterior of a
    missing or empty text is P(y).

    References
    ----------
    Rennie, Shih, Teevan and Karger (2003), Tackling the poor assumptions of naive Bayes text classifiers, ICML.

    Examples
    --------
    >>> from bayeskit import TextBayes
    >>> texts = ["win a free phone", "free call, win now", "see you at lunch", "lunch at one?"]
    >>> model = TextBayes().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["a free lunch phone call", "see you"]).tolist()
    ['spam', 'ham']
    """

    _accepts_sparse = False
    _holds = frozenset({"word_weights"})
    _takes_over = frozenset({"weights"})
    _vocabulary: Vocabulary | None = None

    def __init__(
        self,
        *,
        text: Name | list[Name] | None = None,
        analyzer: str = "auto",
        ngram_range: tuple[int, int] = (1, 2),
        min_count: int = 1,
        max_features: int = 2**18,
        lowercase: bool = True,
        stop_words: Collection[str] | None = None,
        weighting: str = "log",
        word_smoothing: float | None = None,
        vocabulary: Collection[str] | None = None,
        weights: Mapping[str, Any] | None = None,
        smoothing: SmoothingLike = 1.0,
        calibration: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.text = text
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.min_count = min_count
        self.max_features = max_features
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.weighting = weighting
        self.word_smoothing = word_smoothing
        self.vocabulary = vocabulary
        self.weights = weights
        self.smoothing = smoothing
        self.calibration = calibration
        self.n_jobs = n_jobs

    # -- fitted attributes ---------------------------------------------------------------------

    @property
    def vocabulary_(self) -> tuple[str, ...]:
        """The words, in alphabetical order."""
        vocabulary = self.schema_.vocabulary
        assert vocabulary is not None
        return tuple(map(shown_word, vocabulary.words))

    @property
    def weights_(self) -> dict[str, float]:
        """u, w and r: the weights of the multinomial model, of its complement, and of the other columns."""
        held = self.held_["word_weights"]
        return {name: held[name] for name in _WEIGHTS}

    @property
    def biases_(self) -> dict[Label, float]:
        """b: the number added to log P(y) of each class if a text contains a known word."""
        return dict(self.held_["word_weights"]["bias"])

    _reads_texts = True

    # -- hooks ---------------------------------------------------------------------------------

    _open = staticmethod(open_texts)

    def _open_row(self, row: RowLike) -> Table:
        return open_texts([row]) if isinstance(row, (str, bytes)) else one_row(row)

    def _source(self, X: RowSource, *given: Any, **more: Any) -> Source:
        has_target = len(given) > 2 and given[2] is not None  # y, sample_weight, target, ...
        if names_files(X) and not has_target:
            raise DataTypeError(
                "A single text was passed: {text!r}. Pass a list of texts, such as [text]. For a file, name the "
                "class column with target=.",
                text=str(X)[:60],
            )
        return super()._source(X, *given, **more)

    def _row_choices(self) -> list[RowChoice]:
        chosen = RowChoice(f"TextBayes(analyzer={self.analyzer!r})", "Read the texts into memory first.")
        return [chosen, *super()._row_choices()]

    def _choose(self, source: Source) -> dict[str, Any]:
        source.need_many_passes("TextBayes")
        self._vocabulary, rare = choose_vocabulary(source, self._settings)
        if self.weights is not None:
            return {"word_weights": dict(self.weights)}
        trial = self._count(source, self._spec)
        return {"word_weights": choose_word_weights(trial, source, rare).plain()}

    @property
    def _settings(self) -> TextSettings:
        columns = (
            None if self.text is None else tuple(self.text) if isinstance(self.text, list) else (self.text,)
        )
        low, high = self.ngram_range
        splitting = Splitting(self.analyzer, (low, high), self.lowercase, frozenset(self.stop_words or ()))
        words = None if self.vocabulary is None else splitting.known_words(self.vocabulary)
        return TextSettings(columns, splitting, self.weighting, self.min_count, self.max_features, words)

    def _reading(self) -> Reading:
        return Reading(vocabulary=self._vocabulary)

    def _spec(self, schema: Schema) -> ModelSpec:
        smoothing = as_smoothing(self.smoothing)
        smoothing.check(schema)
        added = self.word_smoothing
        form = WeighedWords(alphas=ALPHAS if added is None else (float(added), float(added)))
        held = self._held.get("word_weights")
        if held is not None:
            weights, biases = (held["multinomial"], held["complement"]), tuple(held["bias"].items())
            form = replace(form, weights=weights, columns=held["columns"], biases=biases)
        return ModelSpec(
            form=form,
            smoothing=smoothing,
            class_smoothing=smoothing.by_name.get(schema.target.name, smoothing.default),
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("analyzer", self.analyzer, ANALYZERS)
        one_of("weighting", self.weighting, WEIGHTINGS)
        check_whole("max_features", self.max_features, 1)
        check_whole("min_count", self.min_count, 1)
        as_smoothing(self.smoothing)
        _check_range(self.ngram_range)
        if type(self.lowercase) is not bool:
            raise SettingError(
                "lowercase is {lowercase!r}; it must be True or False.", lowercase=self.lowercase
            )
        _check_words("stop_words", self.stop_words)
        _check_words("vocabulary", self.vocabulary)
        if self.vocabulary is not None and not self._settings.words:
            raise SettingError(
                "vocabulary is {words!r}, which holds no word. Leave it out to have the words chosen.",
                words=self.vocabulary,
            )
        if self.weights is not None and not _are_word_weights(self.weights, None):
            raise SettingError(
                'weights is {weights!r}; give held_["word_weights"] of a fitted TextBayes, or None.',
                weights=self.weights,
            )
        added: Any = self.word_smoothing
        number = isinstance(added, (int, float, np.number)) and not isinstance(added, bool)
        if added is not None and not (number and 0.0 < added <= LARGEST):
            raise SettingError(
                "word_smoothing is {added!r}; it must be a number above 0 and at most {largest:g}, or None.",
                added=added,
                largest=LARGEST,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The tags of scikit-learn's text vectorizers: the input is a list of strings, not a table.
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _check_words(name: str, words: Any) -> None:
    if words is None:
        return
    listed = isinstance(words, Collection) and not isinstance(words, str)
    if not listed or not all(isinstance(word, str) for word in words):
        raise SettingError("{name} is {words!r}; give a list of words, or None.", name=name, words=words)


def _check_range(given: Any) -> None:
    try:
        low, high = given
    except (TypeError, ValueError):
        low = high = None
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in (low, high))
    if not whole or not 1 <= low <= high <= MOST_UNITS:
        raise SettingError(
            "ngram_range is {given!r}; give two whole numbers from 1 to {most}, the smaller first.",
            given=given,
            most=MOST_UNITS,
        )


@held_choice("word_weights")
def _are_word_weights(value: object, schema: Schema | None) -> bool:
    """Whether the value is three weights and a bias for each class. The classes may have changed since."""
    return (
        isinstance(value, Mapping)
        and set(value) == {*_WEIGHTS, "bias"}
        and all(is_number(value[name], 0.0) for name in _WEIGHTS)
        and isinstance(value["bias"], Mapping)
        and all(is_number(bias) for bias in value["bias"].values())
    )
