"""Messages as templates with values, formatted in the user's language when they are shown.

The library is written in English, and a message is written once, where it is raised. Its template is the key of a
catalogue (``locale/zh_CN/LC_MESSAGES/bayeskit.po``, an ordinary gettext file, read without compiling), so no finished
sentence is ever parsed. If some part of a message has no translation, the whole message stays English.

The language is that of ``set_language``, else that of the environment variable BAYESKIT_LANG, else English. The
system's language is ignored, so a program prints the same everywhere. Reports and commands get theirs as an argument
(``lang=``): `WordList`, `text_in`, `run_on` and `Message.in_language` use it to read the same catalogue.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, reduce
from itertools import islice
from string import Formatter
from typing import TYPE_CHECKING, Any

from bayeskit._visible import visible_lines

if TYPE_CHECKING:
    import numpy as np

VARIABLE = "BAYESKIT_LANG"
# Language → folder of its catalogue. The English one contains only messages that the command line words differently.
LANGUAGES = {"en": "en", "zh": "zh_CN"}
# A context (msgctxt) with its own wording: commands have flags instead of arguments.
COMMAND_LINE = "command line"
# The number of names listed if none is similar.
MOST_LISTED = 8

# Characters of a value in a message: enough for names of files and errors of other libraries.
LONGEST_VALUE = 2_000

# How a language quotes a value.
QUOTED = "'{value}'"

_PLAIN = (str, int, float, bool, type(None))
_Translate = Callable[[str], str | None]


class _Choice:
    """The language and context chosen for this process."""

    language: str | None = None
    context: str | None = None


def choose(language: str | None) -> None:
    """Set the language of messages; None returns to BAYESKIT_LANG."""
    _Choice.language = language


def language() -> str:
    """Return the language that messages are shown in.

    Examples
    --------
    >>> with speaking("zh"):
    ...     language()
    'zh'
    """
    chosen = named_language(_Choice.language or os.environ.get(VARIABLE, ""))
    return chosen if chosen in LANGUAGES else "en"


def named_language(name: str) -> str:
    """Return the short name of a language that may be written as a locale; other names stay as they are.

    Examples
    --------
    >>> named_language("zh_CN"), named_language("zh_CN.UTF-8"), named_language("zh"), named_language("fr")
    ('zh', 'zh', 'zh', 'fr')
    """
    found = re.fullmatch(r"(en|zh)([_-]\w+)?(\.[\w-]+)?", name)
    return found[1] if found else name


@contextmanager
def speaking(language: str | None, context: str | None = None) -> Iterator[None]:
    """Use a language, and the wording of a place such as the command line, within a block."""
    before = _Choice.language, _Choice.context
    _Choice.language, _Choice.context = language, context
    try:
        yield
    finally:
        _Choice.language, _Choice.context = before


class Message:
    """A message, or a part of one, that is formatted in the current language when it is shown.

    Values that may change, or that cannot be pickled, are stored as the template shows them. Texts, numbers and other
    messages are stored unchanged. Without values, a template is not formatted, and braces stay.

    Examples
    --------
    >>> hint = Message("Did you mean {names}?", names=Joined(["'Color'", "'cold'"], " or "))
    >>> print(Message("There is no model {name!r}. {hint}", name="colour", hint=hint))
    There is no model 'colour'. Did you mean 'Color' or 'cold'?
    >>> hint.template
    'Did you mean {names}?'
    """

    __slots__ = ("template", "values")

    def __init__(self, template: str, /, **values: Any) -> None:
        self.template = template
        self.values = _fixed_values(template, values)

    def render(self, translate: _Translate) -> str | None:
        """Return the text in the language of a translator, or None if some part has no translation."""
        template = translate(self.template) if self.template else ""
        if template is None or not self.values:
            return template
        values: dict[str, Any] = {}
        code = fields_in_code(template)
        for name, value in self.values.items():
            if isinstance(value, Joined):
                values[name] = value.render(translate, quoted=name not in code)
            else:
                values[name] = value.render(translate) if isinstance(value, Message) else value
            if values[name] is None and value is not None:
                return None
        return filled(template, values, translate)

    def in_language(self, lang: str) -> str:
        """Return the text in a language that is an argument.

        Examples
        --------
        >>> Message("There are {names}.", names=Joined("ab")).in_language("zh")
        '现有：a、b。'
        """
        return _shown(self, lang)

    def __str__(self) -> str:
        return _shown(self)

    def __format__(self, specification: str) -> str:
        return format(str(self), specification)

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self.values.items())
        return f"Message({self.template!r}{values})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.template, self.values) == (other.template, other.values)

    def __hash__(self) -> int:
        return hash(self.template)

    def __reduce__(self) -> tuple[Any, ...]:
        return _message, (self.template, self.values)


def _message(template: str, values: Mapping[str, Any]) -> Message:
    return Message(template, **values)


class Term(Message):
    """A word from elsewhere, such as the operating system: translated if known, otherwise unchanged."""

    __slots__ = ()

    def render(self, translate: _Translate) -> str:
        return translate(self.template) or self.template

    def __reduce__(self) -> tuple[Any, ...]:
        return Term, (self.template,)


class RowNumber(Message):
    """The number of a row: counted from 0 in Python (and messages say so), from 1 on the command line.

    ``begins`` says whether it is the start of a sentence.

    Examples
    --------
    >>> print(RowNumber(3), RowNumber(3, begins=True), sep="; ")
    row 3 (the first is 0); Row 3 (the first is 0)
    """

    __slots__ = ("begins",)

    def __init__(self, row: int | np.integer[Any], begins: bool = False) -> None:
        self.begins = begins
        super().__init__(
            "Row {row} (the first is 0)" if begins else "row {row} (the first is 0)", row=int(row)
        )

    @property
    def row(self) -> int:
        """The number, counted from 0."""
        return int(self.values["row"])

    def move(self, by: int) -> None:
        """Add to the number: the rows are part of a longer table."""
        self.values["row"] += by

    def render(self, translate: _Translate) -> str | None:
        if _Choice.context != COMMAND_LINE:
            return super().render(translate)
        template = "Row {row}" if self.begins else "row {row}"
        return Message(template, row=self.row + 1).render(translate)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowNumber, (self.row, self.begins)


class Joined:
    """Items with the separator of the current language between them. An item may be a message.

    Examples
    --------
    >>> print(Joined(["red", "green"]), Joined(["red"], " or "))
    red, green red
    """

    __slots__ = ("items", "sign")

    def __init__(self, items: Iterable[object], sign: str = ", ") -> None:
        self.items = tuple(item if isinstance(item, (Message, Joined)) else cut(str(item)) for item in items)
        self.sign = sign

    def render(self, translate: _Translate, quoted: bool = True) -> str | None:
        """Return the items in the language of a translator, or None if some part has no translation.

        ``quoted`` says whether quoted names get the quotes of the language; in code they keep theirs.
        """
        mark = translate(QUOTED) if quoted else None
        parts = [
            _requoted(item, mark) if isinstance(item, str) else item.render(translate) for item in self.items
        ]
        whole = [part for part in parts if part is not None]
        if len(whole) < len(parts):
            return None
        sign = translate(self.sign) or self.sign
        if mark is None or mark == QUOTED or re.search(_WIDE, sign) is None:
            return sign.join(whole)
        ends = mark.split("{value}")
        text = "".join(whole[:1])
        for part in whole[1:]:  # next to quotes as wide as a character there is no space
            between = sign.lstrip() if text.endswith(ends[1]) else sign
            text += (between.rstrip() if part.startswith(ends[0]) else between) + part
        return text

    def __str__(self) -> str:
        return _shown(self)

    def __format__(self, specification: str) -> str:
        return format(str(self), specification)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __repr__(self) -> str:
        return f"Joined({list(self.items)!r}, {self.sign!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joined) and (self.items, self.sign) == (other.items, other.sign)

    def __hash__(self) -> int:
        return hash((self.items, self.sign))

    def __reduce__(self) -> tuple[Any, ...]:
        return Joined, (self.items, self.sign)


def as_message(text: str | Message) -> Message:
    """Return a text or a message as a message. A text is a template without values."""
    return text if isinstance(text, Message) else Message(text)


def listed(items: Iterable[object], most: int) -> Joined:
    """Join items for a message, up to a maximum number.

    Examples
    --------
    >>> print(listed("abc", 3), listed("abc", 2), sep="; ")
    a, b, c; a, b, …
    """
    first = list(islice(items, most + 1))
    return Joined(first if len(first) <= most else [*first[:most], "…"])


def did_you_mean(name: object, known: Iterable[object], most: int = MOST_LISTED) -> Message:
    """Suggest the nearest of the existing names, or list them, up to a maximum number.

    Examples
    --------
    >>> print(did_you_mean("colour", ["Color", "size"]), did_you_mean("x", ["size"]))
    Did you mean 'Color'? There is 'size'.
    """
    from difflib import get_close_matches

    names = {str(each): each for each in known}
    folded = {text.casefold(): text for text in names}
    near = get_close_matches(str(name).casefold(), folded, n=3, cutoff=0.5)
    if near:
        return Message("Did you mean {names}?", names=Joined((repr(folded[text]) for text in near), " or "))
    if not names:
        return Message("There are none.")
    shown = listed(map(repr, names), most)
    return Message("There is {names}." if len(names) == 1 else "There are {names}.", names=shown)


# Frames of ours, and of the context managers that we enter.
_PACKAGE = (os.path.dirname(__file__) + os.sep, contextlib.__file__)


def users_line() -> int:
    """Return the ``stacklevel`` of a warning that names the line of the user's code, however deep the call is."""
    frame, level = sys._getframe(1), 1
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level


class _AsShown:
    """A value as the fields of a template show it, which does not change afterwards."""

    __slots__ = ("forms",)

    def __init__(self, forms: dict[tuple[str, str], str]) -> None:
        self.forms = forms

    def __str__(self) -> str:
        return self._form("s", "")

    def __repr__(self) -> str:
        return self._form("r", "")

    def __format__(self, specification: str) -> str:
        return self._form("", specification)

    def _form(self, conversion: str, specification: str) -> str:
        form = (conversion, specification)
        return self.forms[form] if form in self.forms else next(iter(self.forms.values()), "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AsShown) and self.forms == other.forms

    def __hash__(self) -> int:
        return hash(tuple(self.forms.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _AsShown, (self.forms,)


def _fixed_values(template: str, values: Mapping[str, Any]) -> dict[str, Any]:
    fixed: dict[str, Any] = {}
    for name, value in values.items():
        message = getattr(value, "message", None) if isinstance(value, Exception) else None
        if isinstance(message, Message):  # an error of ours within another
            value = message
        if type(value) not in _PLAIN and not isinstance(value, (Message, Joined, _AsShown)):
            forms = [field[1:] for field in fields_of(template) if field[0] == name]
            value = _AsShown({form: _formatted(value, *form) for form in forms})
        fixed[name] = cut(value) if isinstance(value, str) else value
    return fixed


def _formatted(value: object, conversion: str, specification: str) -> str:
    if conversion:
        value = repr(value) if conversion == "r" else str(value)
    return cut(visible_lines(format(value, specification)))


def cut(text: str) -> str:
    """Shorten a value: a cell of a megabyte would make a message of a megabyte.

    >>> cut("x" * 10_000) == "x" * LONGEST_VALUE + "…"
    True
    """
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


@cache
def fields_of(template: str) -> tuple[tuple[str, str, str], ...]:
    """Return the fields of a template: name, conversion and specification of each.

    Examples
    --------
    >>> fields_of("{name!r} is {share:.3g}")
    (('name', 'r', ''), ('share', '', '.3g'))
    """
    parts = Formatter().parse(template)
    return tuple((name, how or "", form or "") for _, name, form, how in parts if name is not None)


_LITERAL = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")
# What stands before a value that is part of code: a flag, an argument, an opening bracket, an item of a list.
_CODE_BEFORE = re.compile(r"(--[\w-]+ |[=\[({] ?|, )$")


# Marks of where a quoted value begins and ends, while a template is filled; characters of nobody.
_BEGINS, _ENDS = "\ue000", "\ue001"
_WIDE = r"[\u3001-\u9fff\uff00-\uffef]"


def _requoted(text: str, mark: str | None) -> str:
    """Return a quoted text in the quotes of a language, any other unchanged."""
    found = _LITERAL.fullmatch(text) if mark not in (None, QUOTED) else None
    return text if found is None or mark is None else mark.format(value=found[1] or found[2] or "")


@cache
def fields_in_code(template: str) -> frozenset[str]:
    """Return the names of the fields that are part of code, such as ``exclude=[{name!r}]``.

    Examples
    --------
    >>> sorted(fields_in_code("没有 {name!r}，请用 --drop {column!r} 或 keep=[{names}]"))
    ['column', 'names']
    """
    parts = Formatter().parse(template)
    return frozenset(name for text, name, _, _ in parts if name and _CODE_BEFORE.search(text))


class _Quoting(Formatter):
    """Fills a template, with quoted values in the quotes of a language, except in code."""

    def __init__(self, mark: str) -> None:
        self._mark, self._before = mark, ""

    def parse(self, template: Any) -> Iterator[Any]:
        for part in super().parse(template):
            self._before = part[0]
            yield part

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if conversion == "r":
            value = repr(value)
        if not isinstance(value, str) or _CODE_BEFORE.search(self._before):
            return super().convert_field(value, None if conversion == "r" else conversion)
        text = _requoted(value, self._mark)
        first, last = self._mark.split("{value}")
        return _BEGINS * text.startswith(first) + text + _ENDS * text.endswith(last)


def filled(template: str, values: Mapping[str, Any], translate: _Translate) -> str:
    """Return a template with its values; a quoted one, ``{name!r}``, has the quotes of the language.

    Examples
    --------
    >>> filled("没有列 {name!r}，请用 --drop {name!r}", {"name": "x"}, translator("zh"))
    "没有列“x”，请用 --drop 'x'"
    """
    mark = translate(QUOTED)
    if mark is None or mark == QUOTED:
        return template.format_map(values)
    # Quotes of Chinese are as wide as a character: there is no space between the two.
    text = _Quoting(mark).vformat(template, (), values)
    text = re.sub(f"(?:(?<={_WIDE}) )?{_BEGINS}", "", text)
    return re.sub(f"{_ENDS}(?: (?={_WIDE}))?", "", text)


def _shown(text: Message | Joined, lang: str | None = None) -> str:
    translated = text.render(translator(lang or language(), _Choice.context))
    return visible_lines(text.render(_unchanged) if translated is None else translated)


def _unchanged(template: str) -> str:
    return template


def translator(language: str, context: str | None = None) -> _Translate:
    """Return the function that translates templates into a language, in the wording of a context if it has one."""
    is_english = language == "en"
    if is_english and context is None:
        return _unchanged
    entries, added = catalogue(LANGUAGES[language]), _ADDED.get(language, {})

    def translate(template: str) -> str | None:
        found = entries.get((context, template)) or entries.get((None, template)) or added.get(template)
        return template if found is None and is_english else found

    return translate


# Language → English text → translation, for texts from outside the library.
_ADDED: dict[str, dict[str, str]] = {}


def add_translations(lang: str, texts: Mapping[str, str]) -> None:
    """Add translations of texts that are not in the catalogue, such as those of a user's own class.

    Examples
    --------
    >>> add_translations("zh", {"a half-life": "半衰期", "posterior": "其他"})
    >>> text_in("zh", "a half-life"), text_in("zh", "posterior")
    ('半衰期', '后验概率')
    """
    _ADDED.setdefault(lang, {}).update(texts)


def text_in(lang: str, template: str) -> str:
    """Return a text of ours in a language that is an argument; what has no translation stays English.

    Examples
    --------
    >>> text_in("zh", "posterior"), text_in("en", "posterior")
    ('后验概率', 'posterior')
    """
    return translator(lang, _Choice.context)(template) or template


def run_on(sentences: Iterable[str], lang: str) -> str:
    """Join sentences, with a space between them if the language uses one.

    Examples
    --------
    >>> run_on(["One.", "Two."], "en"), run_on(["一。", "二。"], "zh")
    ('One. Two.', '一。二。')
    """
    pair = text_in(lang, "{one} {two}")
    return reduce(
        lambda one, two: pair.format(one=one, two=two) if one and two else one or two, sentences, ""
    )


_SPACE_BETWEEN = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")


def closed_up(text: str) -> str:
    """Leave out single spaces between Chinese characters: a template has them for values in other letters.

    >>> closed_up("按 随机森林 给出的概率"), closed_up("按 AODE() 给出的概率")
    ('按随机森林给出的概率', '按 AODE() 给出的概率')
    """
    return _SPACE_BETWEEN.sub("", text)


def join_in(lang: str, items: Iterable[object], sign: str = ", ") -> str:
    """Join items with the sign that a language puts between them.

    Examples
    --------
    >>> join_in("en", ["a", 1]), join_in("zh", ["色泽", "根蒂"]), join_in("zh", ["是：1", "否：2"], "; ")
    ('a, 1', '色泽、根蒂', '是：1；否：2')
    """
    return text_in(lang, sign).join(map(str, items))


class WordList(Mapping[str, str]):
    """The texts of a report or a command by short names: written in English, read in the language of a report.

    Examples
    --------
    >>> words = WordList({"posterior": "posterior", "n_rows": "{n} rows"})
    >>> words["posterior"], words.of("zh")["posterior"]
    ('posterior', '后验概率')
    """

    __slots__ = ("_lang", "_texts")

    def __init__(self, texts: Mapping[str, str], lang: str = "en") -> None:
        self._texts, self._lang = texts, lang

    def of(self, lang: str) -> WordList:
        """Return the same texts in another language."""
        return WordList(self._texts, lang)

    def join(self, items: Iterable[object], sign: str = ", ") -> str:
        """Join items with the sign of this language."""
        return join_in(self._lang, items, sign)

    def pairs(self, pairs: Iterable[tuple[object, object]]) -> str:
        """List names with what belongs to each: ``a: 1; b: 2``."""
        return self.join((self.join(pair, ": ") for pair in pairs), "; ")

    def __getitem__(self, name: str) -> str:
        return text_in(self._lang, self._texts[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@cache
def catalogue(folder: str) -> Mapping[tuple[str | None, str], str]:
    """Read the catalogue of a language: (context, template) → translation."""
    from importlib.resources import files

    path = files(__package__).joinpath("locale", folder, "LC_MESSAGES", "bayeskit.po")
    return dict(entries_of(path.read_text("utf-8")))


_LINE = re.compile(r'(?:(msgctxt|msgid|msgstr) )?(".*")')


def entries_of(text: str) -> Iterator[tuple[tuple[str | None, str], str]]:
    r"""Read the entries of a .po file, without its header and entries that have no translation yet.

    Examples
    --------
    >>> list(entries_of('msgid "a "\n"{b}"\nmsgstr "甲{b}"\n'))
    [((None, 'a {b}'), '甲{b}')]
    """
    entry: dict[str, str] = {}
    key = ""
    for line in [*text.splitlines(), 'msgid ""']:
        found = _LINE.fullmatch(line.strip())
        if found is None:  # a comment, or a blank line
            continue
        begins = found[1] is not None and (found[1] != "msgstr" and "msgstr" in entry)
        if begins:
            if entry["msgid"] and entry["msgstr"]:
                yield (entry.get("msgctxt"), entry["msgid"]), entry["msgstr"]
            entry = {}
        key = found[1] or key
        entry[key] = entry.get(key, "") + json.loads(found[2])
