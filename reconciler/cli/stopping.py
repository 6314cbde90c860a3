"""How a verb that serves until it is told to stop learns of it. Owns the signal handlers of the process."""

from __future__ import annotations

import os
import signal


class StopSignal:
    """The first SIGTERM or Ctrl-C; a second one ends the process as usual.

    The kernel gives a signal to any thread, gRPC's own among them, and then nothing interrupts the one that waits. What
    Python writes to the wakeup descriptor does.
    """

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: signal.signal(number, signal.SIG_DFL))
        # Whoever hangs up on us must not end the process.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def wait(self) -> None:
        os.read(self._reader, 1)
