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


def _print_interruption() -> None:
    # These need no module that may be only partly imported.
    from bayeskit._cli.language import in_requested_language
    from bayeskit._messages import Message

    with in_requested_language(sys.argv[1:]):
        print(Message(INTERRUPTION), file=sys.stderr)
