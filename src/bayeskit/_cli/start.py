"""The entry point of the command, which imports almost nothing before it handles interrupts."""

from __future__ import annotations

import gc
import sys

from bayeskit._cli.ctrl_c import Press, leave_quietly, listen
from bayeskit._on_demand import Program

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
        gc.set_threshold(*_THRESHOLD)


def _print_interruption() -> None:
    # These need no module that may be only partly imported.
    from bayeskit._cli.language import in_requested_language
    from bayeskit._messages import Message

    with in_requested_language(sys.argv[1:]):
        print(Message(INTERRUPTION), file=sys.stderr)
