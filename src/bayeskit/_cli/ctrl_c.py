"""Ctrl-C handling: at any time, sent again if a library swallows it, until the first file is replaced."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

# Cleaning up after Ctrl-C takes less time than this. An interrupt that is not handled by then is sent again.
PATIENCE = 0.5
# The interval for checking whether an import that must not be interrupted has ended.
MOMENT = 0.1


class Press:
    """Whether Ctrl-C was pressed, whether it must wait, and whether it can still stop the command."""

    made = False
    waits = False
    heard = False
    too_late = False


def listen() -> None:
    """Install the handler of Ctrl-C, unless it is ignored, as under nohup."""
    import signal

    sys.unraisablehook = _unraisable
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, pressed)


def leave_quietly() -> None:
    """Make Ctrl-C end the process at once: the work is done, and Python would print a traceback while cleaning up."""
    import signal

    if signal.getsignal(signal.SIGINT) is pressed:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def leave_at_once() -> None:
    """End the process although a thread computes something that nobody waits for any more."""
    import os

    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def pass_the_last_stop() -> None:
    """Raise ``KeyboardInterrupt`` if one came, and ignore all later ones: a file is about to be replaced.

    The rest takes a moment, and a message that no file was changed must be true.
    """
    _stop_if_pressed()
    Press.too_late = True
    _stop_if_pressed()  # Ctrl-C may have been pressed between the two lines


def _stop_if_pressed() -> None:
    if Press.made and not Press.too_late:
        raise KeyboardInterrupt


def pressed(number: int, frame: FrameType | None) -> None:
    """Handle the signal."""
    import _thread

    if Press.too_late:
        return
    if not Press.made:
        Press.made = True
        # Signals come to the main thread; threading, first imported by another, would take that for it.
        _thread.start_new_thread(_insist, (_thread.get_ident(),))
    Press.waits = is_imported_by_c(frame)
    if not Press.waits:
        raise KeyboardInterrupt


def is_imported_by_c(frame: FrameType | None) -> bool:
    """Whether a module is being imported by compiled code.

    DuckDB does so in the midst of a query (pandas, pyarrow). It takes an interrupt for a module that is not there, or
    ends the whole process at once, so that not even temporary files are removed.
    """
    from opcode import opmap

    while frame is not None and frame.f_back is not None:
        inner, frame = frame, frame.f_back
        begins = inner.f_code.co_filename.startswith("<frozen importlib") and (
            "importlib" not in frame.f_code.co_filename
        )
        # Python code that imports is at this very instruction.
        if begins and frame.f_code.co_code[frame.f_lasti] != opmap["IMPORT_NAME"]:
            return True
    return False


def _insist(main_thread: int) -> None:
    """Send an interrupt again until it is handled.

    Python throws away one that falls into a destructor, and so do libraries that try an import and go on without it.
    """
    import _thread
    import signal
    import time

    while not (Press.heard or Press.too_late):
        time.sleep(MOMENT if Press.waits else PATIENCE)
        # A search over networks handles it itself and returns the best network so far.
        if not Press.heard and signal.getsignal(signal.SIGINT) is pressed:
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(main_thread, signal.SIGINT)  # it also ends a wait
            else:
                _thread.interrupt_main()


def _unraisable(unraisable: Any) -> None:
    """Let Python report errors in destructors, but not interrupts, which are sent again."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
