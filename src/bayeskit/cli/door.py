"""The one place where errors become a line on standard error and an exit code.

====  =====================================================================
code  meaning
====  =====================================================================
0     done
1     a check was made and did not pass (``doctor``)
2     it cannot be done as asked: the line says what is wrong and what to do
3     an error nobody foresaw: please report it
130   interrupted; no file was changed
====  =====================================================================
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from bayeskit.cli.ctrl_c import Press
from bayeskit.cli.language import in_flags, spoken
from bayeskit.cli.output import note
from bayeskit.cli.start import INTERRUPTED, INTERRUPTION
from bayeskit.messages import Joined, Message, Term, fields_of
from bayeskit.visible import visible_lines

TEMPLATES = (
    "Missing argument {name}.",
    "Missing option {name}.",
    "Missing command.",
    "No such option: {name} (Possible options: {names}).",
    "No such option: {name} Did you mean {other}?",
    "No such option: {name}.",
    "No such option {name}. (Did you mean one of: {names}?).",
    "No such option {name}. Did you mean {other}?",
    "No such option {name}.",
    "No such command {name}. Did you mean {names}?",
    "No such command {name}.",
    "Option {name} requires an argument.",
    "Option {name} does not take a value.",
    "Got unexpected extra argument(s) ({extra}).",
    "Got unexpected extra argument ({extra}).",
    "Got unexpected extra arguments ({extra}).",
    "Invalid value for {name}: {value} is not one of {names}.",
    "Invalid value for {name}: Input should be a valid integer, unable to parse string as an integer.",
    "Invalid value for {name}: Input should be a valid number, unable to parse string as a number.",
    "Invalid value for {name}: Input should be greater than or equal to {least}.",
    "Invalid value for {name}: Input should be less than or equal to {most}.",
    "Invalid value for {name}: {value} is not a valid integer.",
    "Invalid value for {name}: {value} is not a valid integer range.",
    "Invalid value for {name}: {value} is not a valid float.",
    "Invalid value for {name}: {value} is not in the range {range}.",
)
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""


def read_usage(sentence: str) -> Message:
    """Return what Typer says as a message: a template and values, where it is known.

    Examples
    --------
    >>> read_usage("Missing option '--target'")
    Message('Missing option {name}.', name="'--target'")
    """
    # Some of Typer's messages end without a stop, and some tell whose error it is.
    text = sentence.replace(": Value error, ", ": ").rstrip(".")
    text += "" if text.endswith("?") else "."
    for template in TEMPLATES:
        if found := re.fullmatch(_pattern(template), text):
            values = {
                k: Joined(re.split(", | or ", v)) if k == "names" else v for k, v in found.groupdict().items()
            }
            return Message(template, **values)
    return Message(text)


@cache
def _pattern(template: str) -> str:
    pattern = re.escape(template)
    for name, _, _ in fields_of(template):
        pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>{_QUOTED}|.+?)")
    return pattern


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


class Debugging:
    """Whether ``--debug`` was given to the command that runs now."""

    on = False


def set_debugging(wanted: bool) -> bool:
    """Remember ``--debug``: the callback of the option."""
    Debugging.on = Debugging.on or wanted
    return wanted


class Door(TyperGroup):
    """The root of the commands: whatever one of them raises ends here."""

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
            return super(Door, self).main(args, prog_name, complete_var, False, windows_expand_args, **extra)

        with spoken(sys.argv[1:] if args is None else list(args)):
            return sys.exit(guarded(run)) if standalone_mode else run()


def guarded(run: Callable[[], Any]) -> int:
    """Run a command and return its exit code; an error is told in one line, with ``--debug`` also where it arose."""
    Debugging.on = False
    try:
        code = run()
        sys.stdout.flush()  # a disk that is full behind standard output says so only now
        code = code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if (
            Press.made and not Press.too_late
        ):  # a library left half imported by it, or what another made of it
            code = INTERRUPTED
        elif type(error).__name__ == "NoArgsIsHelpError":  # whoever types a name alone asks what there is
            typer.echo(str(error))
            return DONE
        else:
            code = _told_code(error)
    Press.heard = True
    if code == INTERRUPTED:
        note(Message(INTERRUPTION))
    return code


def _told_code(error: Exception) -> int:
    if Debugging.on:
        import traceback

        typer.echo(visible_lines(traceback.format_exc()), err=True, nl=False)
    if isinstance(error, OSError) and error.filename is None:
        _give_up_output()
    if not (isinstance(error, OSError) and error.errno == errno.EPIPE):
        note(one_line(error))
    return REFUSED if is_foreseen(error) else UNFORESEEN


def is_foreseen(error: BaseException) -> bool:
    """Whether an error is about what was asked, not about how it was done."""
    from bayeskit.errors import BayeskitError

    return isinstance(error, (BayeskitError, OSError, MemoryError)) or _is_usage(error)


def one_line(error: BaseException) -> str:
    """Say what went wrong, and what to do, in one line.

    Examples
    --------
    >>> one_line(OSError(errno.ENOSPC, "No space left on device", "out.csv"))
    "'out.csv': No space left on device. Make room, or choose another place."
    """
    return " ".join(str(_told(error)).split())


def _told(error: Any) -> str | Message:
    if _is_usage(error):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "bayeskit"
        return Message(
            "{path}: {what} See '{path} --help'.", path=path, what=read_usage(error.format_message())
        )
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
        return in_flags(str(error))
    return Message(
        "Unforeseen {kind}: {error}. Please report it, with what --debug prints.",
        kind=type(error).__name__,
        error=error,
    )


def _is_usage(error: BaseException) -> bool:
    # Newer releases of Typer have a Click of their own, so its class has no one name.
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _give_up_output() -> None:
    """Let nothing more be written to standard output: the interpreter would fail on it again when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
