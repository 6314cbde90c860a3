"""How a verb that serves until it is told to stop learns of it. Owns the signal handlers of the process.

Used by the services (`run`, the poollet, the runtimes), which end in order: `wait` returns and the service finishes
what is under way. Verbs for people use `interrupt` instead, which ends them within seconds. One process has one of
the two, never both.
"""

from __future__ import annotations

import os
import select
import signal


class StopSignal:
    """The first SIGTERM or Ctrl-C; a second one ends the process as usual.

    The kernel gives a signal to any thread, gRPC's own among them, and then nothing interrupts the one that waits. What
    Python writes to the wakeup descriptor does.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: signal.signal(number, signal.SIG_DFL))
        # Whoever hangs up on us must not end the process.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def wait(self, seconds: float | None = None) -> bool:
        """Until it comes, or at most so long; whether it came. Once it has come, every wait ends at once."""
        ready, _, _ = select.select([self._reader], [], [], seconds)
        return bool(ready)

    def stop(self) -> None:
        """As if a signal had come: any thread may say that there is nothing left to wait for."""
        os.write(self._writer, b"\0")
