"""Parses XML safely into a tree with positions, without external or expanding entities.

An internal DTD is allowed (XMLBIF files have one) but ignored. Entities, references to other files and
nesting beyond 64 elements are errors. The encoding is that of the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape

from bayeskit._messages import Message
from bayeskit.errors import ModelFormatError

DEEPEST = 64
MOST_BYTES = 64 * 2**20
MOST_ELEMENTS = 2_000_000

_HEADER = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
# The encodings that expat reads itself; others are converted to UTF-8 by Python.
_OWN = {"utf-8", "utf-16", "iso-8859-1", "us-ascii"}
_OTHER = re.compile(
    r"(gb2312|gbk|gb18030|big5(-hkscs)?|shift_jis|euc-(jp|kr)|windows-\d{3,4}|cp\d{3,4}|iso-8859-\d+|koi8-[ru])"
)
# A text that XML preserves: no control characters, no blanks at its ends.
PLAIN = re.compile(r"(?!\s)[\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+(?<!\s)")


class Element:
    """A tag, its attributes, the text directly inside it, and its child elements.

    ``comments``: those before the root, which show what wrote the file; other elements have none.
    """

    __slots__ = ("attributes", "children", "column", "comments", "line", "path", "pieces", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], path: object, line: int, column: int) -> None:
        self.tag, self.attributes, self.path, self.line, self.column = tag, attributes, path, line, column
        self.children: list[Element] = []
        self.pieces: list[str] = []
        self.comments: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip(" \t\r\n")

    def all(self, tag: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """Return the only child with this tag, or None; two are an error."""
        found = list(self.all(tag))
        if len(found) > 1:
            found[1].refuse(
                Message("there is a second <{tag}> in <{tag2}>. Keep one of them.", tag=tag, tag2=self.tag)
            )
        return found[0] if found else None

    def one(self, tag: str) -> Element:
        found = self.first(tag)
        return (
            found
            if found is not None
            else self.refuse(Message("<{tag}> has no <{tag2}>. Give it one.", tag=self.tag, tag2=tag))
        )

    def attribute(self, name: str) -> str:
        if name not in self.attributes:
            self.refuse(Message("<{tag}> has no {name}=. Give it one.", tag=self.tag, name=name))
        return self.attributes[name]

    def only(self, *tags: str) -> None:
        """Raise an error for a child with any other tag: what is not understood may change the meaning."""
        for child in self.children:
            if child.tag not in tags:
                child.refuse(
                    Message(
                        "<{tag}> is not allowed inside <{tag2}>. Remove it.", tag=child.tag, tag2=self.tag
                    )
                )

    def error(self, what: str | Message) -> ModelFormatError:
        return ModelFormatError(what, path=self.path, line=self.line, column=self.column)

    def refuse(self, what: str | Message) -> NoReturn:
        raise self.error(what)


def parse_xml(data: bytes, path: object = None) -> Element:
    """Return the root element of an XML document.

    >>> parse_xml(b"<a><b>one</b></a>").one("b").text
    'one'
    >>> parse_xml(b'<!DOCTYPE a [<!ENTITY b "bb">]><a>&b;</a>')
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: line 1, column 25: the entity 'b' is declared. Entities are not supported: \
write out what it stands for.
    """
    if len(data) > MOST_BYTES:
        raise ModelFormatError(
            Message(
                "it has {n} bytes; XML files may have at most {most_bytes}. Use BIF or native JSON.",
                n=len(data),
                most_bytes=MOST_BYTES,
            ),
            path=path,
        )
    return _Reader(data, path).root()


class _Reader:
    """The handlers that expat calls, and their state."""

    def __init__(self, data: bytes, path: object) -> None:
        self.path = path
        self.data, encoding = _decoded(data, path)
        self.parser = parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        # An attribute list with a long default would be copied to every element.
        parser.specified_attributes = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.CommentHandler = self.comment
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity
        parser.ExternalEntityRefHandler = self.external
        parser.SkippedEntityHandler = self.external
        self.open: list[Element] = []
        self.comments: list[str] = []
        self.top: Element | None = None
        self.n_elements = 0

    def root(self) -> Element:
        try:
            self.parser.Parse(self.data, True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code) or "no element found"
            raise ModelFormatError(
                Message(
                    "this is not well-formed XML: {what}. The file may be cut or edited by hand; correct it there.",
                    what=what,
                ),
                path=self.path,
                line=error.lineno,
                column=error.offset + 1,
            ) from None
        except (LookupError, ValueError) as error:  # an encoding that expat asks Python for
            if isinstance(error, ModelFormatError):
                raise
            raise ModelFormatError(
                Message("its encoding cannot be read ({error}).", error=error), path=self.path
            ) from None
        assert self.top is not None  # expat rejects a document without elements
        return self.top

    def refuse(self, what: str | Message) -> NoReturn:
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        raise ModelFormatError(what, path=self.path, line=line, column=column)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.n_elements += 1
        if len(self.open) >= DEEPEST or self.n_elements > MOST_ELEMENTS:
            self.refuse(
                Message(
                    "it has more than {deepest} nested elements, or more than {most_elements} in all.",
                    deepest=DEEPEST,
                    most_elements=MOST_ELEMENTS,
                )
            )
        parser = self.parser
        made = Element(tag, attributes, self.path, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        if self.open:
            self.open[-1].children.append(made)
        else:
            self.top = made
            made.comments = tuple(self.comments)
        self.open.append(made)

    def end(self, tag: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        self.open[-1].pieces.append(text)

    def comment(self, text: str) -> None:
        if self.top is None:
            self.comments.append(text)

    def doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        if system or public:
            self.refuse(
                Message(
                    "its DOCTYPE refers to {system!r}, another file. Remove the DOCTYPE line.",
                    system=system or public,
                )
            )

    def entity(self, name: str, *about: object) -> None:
        self.refuse(
            Message(
                "the entity {name!r} is declared. Entities are not supported: write out what it stands for.",
                name=name,
            )
        )

    def external(self, *about: object) -> NoReturn:
        self.refuse("it refers to an entity or a file outside. Write out what it stands for.")


def _decoded(data: bytes, path: object) -> tuple[bytes, str | None]:
    """Return bytes that expat can read, and the encoding to pass if that of the header no longer applies."""
    header = _HEADER.match(data)
    name = header.group(1).decode("ascii").lower() if header else "utf-8"
    if name in _OWN:
        return data, None
    if not _OTHER.fullmatch(name):
        raise ModelFormatError(
            Message(
                "its header names the encoding {name!r}, which is not supported. Save it as UTF-8.", name=name
            ),
            path=path,
            line=1,
        )
    try:
        return data.decode(name).encode("utf-8"), "utf-8"
    except (LookupError, UnicodeError) as error:
        raise ModelFormatError(
            Message(
                "its header names the encoding {name!r}, but its bytes are not in it ({error}). Save it as "
                "UTF-8.",
                name=name,
                error=error,
            ),
            path=path,
        ) from None


def escaped(text: str) -> str:
    """Return a text escaped for use between tags or in a double-quoted attribute."""
    return escape(text, {'"': "&quot;"})
