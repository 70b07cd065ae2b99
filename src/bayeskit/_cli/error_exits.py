"""Converts errors to a line on standard error and an exit code.

====  =====================================================================
code  meaning
====  =====================================================================
0     done
1     a check was made and did not pass (``doctor``)
2     it cannot be done as asked: the line says what is wrong and what to do
3     an unexpected error: please report it
130   interrupted; no file was changed
====  =====================================================================
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import Any, Literal, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from bayeskit._cli.language import in_requested_language
from bayeskit._cli.output import note
from bayeskit._cli.start import INTERRUPTED, INTERRUPTION, Press
from bayeskit._display_table import display_width, padded
from bayeskit._messages import Joined, Message, Term, language, text_in
from bayeskit._visible import visible_lines
from bayeskit.errors import UsageError

DONE, REFUSED, UNFORESEEN = 0, 2, 3
STANDARD_OUTPUT = "standard output"

_WAYS_OUT = {
    errno.ENOENT: "Check the path.",
    errno.ENOTDIR: "Check the path.",
    errno.EISDIR: "Name a file in it.",
    errno.EACCES: "Check your rights to it, or choose another place.",
    errno.EPERM: "Check your rights to it, or choose another place.",
    errno.EROFS: "Choose another place.",
    errno.ENOSPC: "Make room, or choose another place.",
    errno.EDQUOT: "Make room, or choose another place.",
}


class DebugFlag:
    """Whether ``--debug`` was given to the command that runs now."""

    on = False


def set_debugging(wanted: bool) -> bool:
    """Remember ``--debug``: the callback of the option."""
    DebugFlag.on = DebugFlag.on or wanted
    return wanted


class Command(TyperCommand):
    """A command that reports typing errors with our messages."""

    allow_extra_args = True  # they are reported as errors here

    def get_help(self, ctx: Any) -> str:
        return _help(super().get_help, self, ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = _parsed(super().parse_args, self, ctx, args)
        if rest and not ctx.resilient_parsing:
            raise _refusal(ctx, Message("Got unexpected extra arguments ({extra}).", extra=" ".join(rest)))
        return rest


class Group(TyperGroup):
    """A group of commands that reports typing errors with our messages."""

    def get_help(self, ctx: Any) -> str:
        return _help(super().get_help, self, ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return _parsed(super().parse_args, self, ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            raise _refusal(ctx, _no_such("command", name, get_close_matches(name, self.list_commands(ctx))))
        return super().resolve_command(ctx, args)


class CommandGroup(Group):
    """The root of the commands, which handles all their errors."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: object,
    ) -> Any:
        def run() -> Any:
            return super(CommandGroup, self).main(
                args, prog_name, complete_var, False, windows_expand_args, **extra
            )

        with in_requested_language(sys.argv[1:] if args is None else list(args)):
            return sys.exit(guarded(run)) if standalone_mode else run()


def _help(in_english: Callable[[Any], str], command: Any, ctx: Any) -> str:
    return in_english(ctx) if language() == "en" else help_in(language(), command, ctx)


def _parsed(
    parse: Callable[[Any, list[str]], list[str]], command: Any, ctx: Any, args: list[str]
) -> list[str]:
    """Let Typer read the arguments; if it refuses them, build our message from the fields of its error."""
    typed = list(args)
    try:
        return parse(ctx, args)
    except Exception as error:
        what = _mistake(error, command, ctx, typed)
        if what is None:
            raise
        raise _refusal(ctx, what) from error


def _refusal(ctx: Any, what: Message) -> UsageError:
    return UsageError("{path}: {what} See '{path} --help'.", path=ctx.command_path, what=what)


def _mistake(error: Any, command: Any, ctx: Any, typed: Sequence[str]) -> Message | None:
    # Newer releases of Typer include their own Click, so identify an error class by its name.
    kinds = [kind.__name__ for kind in type(error).__mro__]
    if "NoSuchOption" in kinds:
        return _no_such("option", error.option_name, error.possibilities or ())
    if "MissingParameter" in kinds:
        is_option = error.param.param_type_name == "option"
        return Message(
            "Missing option {name}." if is_option else "Missing argument {name}.", name=_called(error.param)
        )
    if "BadOptionUsage" in kinds:
        option = next(each for each in command.get_params(ctx) if error.option_name in each.opts)
        return Message(
            "Option {name!r} does not take a value."
            if option.is_flag
            else "Option {name!r} requires an argument.",
            name=error.option_name,
        )
    if "BadParameter" in kinds:
        options, _, _ = command.make_parser(ctx).parse_args(args=list(typed))
        value, _ = error.param.consume_value(ctx, options)
        return Message(
            "Invalid value for {name}: {value!r} is not {wanted}.",
            name=_called(error.param),
            value=value,
            wanted=_expected(inspect.signature(command.callback).parameters[error.param.name].annotation),
        )
    return None


def _no_such(what: Literal["command", "option"], name: str, near: Sequence[str]) -> Message:
    there = {
        "command": ("No such command {name!r}.", "No such command {name!r}. Did you mean {names}?"),
        "option": ("No such option {name!r}.", "No such option {name!r}. Did you mean {names}?"),
    }
    if not near:
        return Message(there[what][0], name=name)
    return Message(there[what][1], name=name, names=Joined(map(repr, near), " or "))


def _called(param: Any) -> str | Joined:
    if param.param_type_name != "option":
        return repr(param.metavar or param.name.upper())
    names = Joined(map(repr, param.opts), " / ")
    return f"{names} ({param.envvar})" if param.envvar else names


def _expected(annotation: Any) -> Message:
    """Return a description of the valid values of an option: ``Annotated[int, typer.Option(min=1)]``."""
    kinds, option = annotation.__origin__, annotation.__metadata__[0]
    kind = next(each for each in (*get_args(kinds), kinds) if each is not type(None))
    if issubclass(kind, Enum):
        return Message("one of {names}", names=Joined(repr(each.value) for each in kind))
    number = Message("a whole number" if kind is int else "a number")
    least, most = option.min, option.max
    if least is None and most is None:
        return number
    if most is None:
        return Message("{number} of at least {least}", number=number, least=least)
    if least is None:
        return Message("{number} of at most {most}", number=number, most=most)
    return Message("{number} from {least} to {most}", number=number, least=least, most=most)


def guarded(run: Callable[[], Any]) -> int:
    """Run a command and return its exit code; an error is one line, with ``--debug`` also a traceback."""
    DebugFlag.on = False
    try:
        code = run()
        sys.stdout.flush()  # a full disk behind standard output fails only now
        code = code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if (
            Press.made and not Press.too_late
        ):  # a library left half imported by it, or what another made of it
            code = INTERRUPTED
        elif type(error).__name__ == "NoArgsIsHelpError":  # without a command, show the list of commands
            typer.echo(str(error))
            return DONE
        else:
            code = _print_error(error)
    Press.heard = True
    if code == INTERRUPTED:
        note(Message(INTERRUPTION))
    return code


def _print_error(error: Exception) -> int:
    if DebugFlag.on:
        import traceback

        typer.echo(visible_lines(traceback.format_exc()), err=True, nl=False)
    if isinstance(error, OSError) and error.filename is None:
        _give_up_output()
    if not (isinstance(error, OSError) and error.errno == errno.EPIPE):
        note(one_line(error))
    return REFUSED if is_foreseen(error) else UNFORESEEN


def is_foreseen(error: BaseException) -> bool:
    """Whether an error is about the request, not about our code."""
    from bayeskit.errors import BayeskitError

    return isinstance(error, (BayeskitError, OSError, MemoryError)) or _is_usage(error)


def one_line(error: BaseException) -> str:
    """Return what went wrong and what to do, in one line.

    Examples
    --------
    >>> one_line(OSError(errno.ENOSPC, "No space left on device", "out.csv"))
    "'out.csv': No space left on device. Make room, or choose another place."
    """
    return " ".join(str(_message_of(error)).split())


def _message_of(error: Any) -> str | Message:
    if _is_usage(error):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "bayeskit"
        return Message("{path}: {what} See '{path} --help'.", path=path, what=Term(error.format_message()))
    if isinstance(error, OSError):
        return Message(
            "{file}: {what}. {way_out}",
            file=Message(STANDARD_OUTPUT) if error.filename is None else repr(os.fsdecode(error.filename)),
            what=Term(error.strerror or str(error)),
            way_out=Message(_WAYS_OUT.get(error.errno or 0, "Check the path and the disk.")),
        )
    if isinstance(error, MemoryError):
        return Message(
            "There is not enough memory for this. Use fewer columns (--drop), or fewer rows (--limit)."
        )
    if is_foreseen(error):
        return str(error)
    return Message(
        "Unforeseen {kind}: {error}. Please report it, with what --debug prints.",
        kind=type(error).__name__,
        error=error,
    )


def _is_usage(error: BaseException) -> bool:
    # Newer releases of Typer include their own Click, so the class differs.
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _give_up_output() -> None:
    """Discard all further standard output: otherwise the interpreter would fail again at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


# Categories of Unicode: a line does not begin with these, and does not end with those.
_CLOSING, _OPENING = frozenset(("Pe", "Pf", "Po")), frozenset(("Ps", "Pi"))
WIDEST_NAME = 30


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a help text or docstring, each on one line.

    Examples
    --------
    >>> paragraphs("One,\\n    two.\\n\\n    Three.")
    ['One, two.', 'Three.']
    """
    return [" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n") if part.strip()]


def help_in(lang: str, command: Any, ctx: Any) -> str:
    """Return the help of a command or group of commands."""
    width = ctx.make_formatter().width

    def say(text: str | None) -> list[str]:
        return [text_in(lang, part) for part in paragraphs(text)]

    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    lines = [text_in(lang, "Usage: {command}").format(command=usage)]
    for part in say(command.help):
        lines += ["", *wrapped(part, width, 2)]
    records: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "Commands": []}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None:
            kind = "Options" if param.param_type_name == "option" else "Arguments"
            records[kind].append((record[0], _described(lang, record[1], getattr(param, "help", None))))
    for name, each in getattr(command, "commands", {}).items():
        records["Commands"].append((name, (say(each.help) or [""])[0]))
    for title, found in records.items():
        if found:
            lines += ["", text_in(lang, title) + text_in(lang, ":"), *_definitions(found, width)]
    for part in say(command.epilog):
        lines += ["", *wrapped(part, width, 2)]
    return "\n".join(lines)


def _described(lang: str, record: str, text: str | None) -> str:
    """Return the translated text of an option, and what Typer adds to it in brackets: whether it is required …"""
    told = "".join(text_in(lang, part) for part in paragraphs(text))
    added = record.removeprefix(text or "").strip()
    if not (added.startswith("[") and added.endswith("]")):
        return told
    facts = []
    for fact in added[1:-1].split("; "):
        name, colon, value = fact.partition(": ")
        facts.append(text_in(lang, name) + (text_in(lang, ": ") + value if colon else ""))
    return f"{told}  [{text_in(lang, '; ').join(facts)}]"


def _definitions(records: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Lay out names and texts in two columns."""
    column = min(max(display_width(name) for name, _ in records), WIDEST_NAME) + 4
    for name, text in records:
        first, *rest = wrapped(text, width, column) or [""]
        if display_width(name) > column - 4:
            yield f"  {name}"
            rest = [first, *rest]
        else:
            yield padded(f"  {name}", column) + first.lstrip()
        yield from rest


def wrapped(text: str, width: int, indent: int) -> list[str]:
    """Break a text into lines: at spaces, and next to wide characters, but not before closing punctuation.

    Examples
    --------
    >>> wrapped("读取 CSV 文件，并保存模型。", 15, 2)
    ['  读取 CSV 文', '  件，并保存模', '  型。']
    """
    lines, line = [], ""
    for piece in _pieces(text):
        if line.strip() and display_width(line + piece.rstrip()) > width - indent:
            lines.append(" " * indent + line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, " " * indent + line.rstrip()] if line.strip() else lines


def _pieces(text: str) -> Iterator[str]:
    """Yield the parts between which a line may be broken."""
    piece = ""
    for character in text:
        wide = unicodedata.east_asian_width(character) in "WF"
        breaks = wide or (piece and (piece[-1] == " " or unicodedata.east_asian_width(piece[-1]) in "WF"))
        joined = character == " " or unicodedata.category(character) in _CLOSING
        if piece and breaks and not joined and unicodedata.category(piece[-1]) not in _OPENING:
            yield piece
            piece = ""
        piece += character
    yield piece
