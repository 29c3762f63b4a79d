"""Where the command begins: an interrupt, however early, is exit code 130 and no traceback.

It may come while modules are still being imported, some of which would turn it into errors of their own: there is
nothing to keep yet, so the process ends at once. It may also come inside a callback of the garbage collector, where
Python reports it and forgets it: it is then sent again.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    """Run a command; its exit code is 130 if it is interrupted."""
    sys.unraisablehook = send_again
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)
    from widelimit.interfaces.cli import run

    sys.exit(run(sys.argv[1:]))


def stop(number: int, frame: FrameType | None) -> None:
    """Raise an interrupt as usual where there may be something to keep; else leave."""
    if hasattr(sys.modules.get("widelimit.solving.driver"), "drive"):
        signal.default_int_handler(number, frame)
    os.write(2, b"widelimit: interrupted.\n")
    os._exit(INTERRUPTED)


def send_again(lost: sys.UnraisableHookArgs) -> None:
    """Send an interrupt again that could not be raised; report anything else as usual."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        threading.Timer(0.05, lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(lost)
