"""The entry point of the command, and Ctrl-C: it ends a command at any moment, from the first import to the last.

Almost nothing is imported before interrupts are handled. A press that a library swallows is sent again, until the first
file is replaced.
"""

from __future__ import annotations

import atexit
import gc
import sys
from types import FrameType
from typing import Any

from bayeskit._on_demand import Program

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


INTERRUPTED = 130
INTERRUPTION = "Interrupted: no file was changed."
# Compiling creates millions of small objects, most of which stay alive. Garbage collection at every 700th, Python's
# default, takes an eighth of the time of a command that compiles a lot.
COLLECT_AFTER = 50_000
_THRESHOLD = gc.get_threshold()  # Python's own


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line at any moment, from the first import to the last."""
    try:
        listen()
        Program.is_command = True
        gc.set_threshold(COLLECT_AFTER, 10, 10)
        from bayeskit._cli.main import app

        app(prog_name="bayeskit")
    except KeyboardInterrupt:  # while modules were imported; or a second one, while the first was reported
        Press.heard = True
        _print_interruption()
        sys.exit(INTERRUPTED)
    finally:
        leave_quietly()


def stay_running() -> None:
    """Collect garbage as a process must that answers requests until it is stopped.

    What exists by now stays, so it is not looked at again: of half a million objects, mostly Numba's, a full
    collection took 0.65 s, in which nobody was answered, and takes 6 ms of those of requests. Each closed connection
    leaves 7 small objects, 1 kB. They are collected at Python's own threshold, after 100 connections and not after
    7,000.
    """
    if Program.is_command:
        gc.freeze()
        atexit.register(gc.unfreeze)  # else DuckDB finds its objects at the end, and reports them as leaked
        gc.set_threshold(*_THRESHOLD)


def _print_interruption() -> None:
    # These need no module that may be only partly imported.
    from bayeskit._cli.language import in_requested_language
    from bayeskit._messages import Message

    with in_requested_language(sys.argv[1:]):
        print(Message(INTERRUPTION), file=sys.stderr)
