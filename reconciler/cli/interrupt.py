"""How a verb that watches or plays learns that it is to end. Owns the signal handlers of the process meanwhile."""

from __future__ import annotations

import signal

from reconciler.repo.wake import Waker


class Interrupt:
    """The first Ctrl-C or SIGTERM, noted, and whoever waits on `waker` woken. It is raised only by `obey`, where nothing
    is half done: an exception out of a handler may come between taking a lock and the block that gives it back."""

    def __init__(self) -> None:
        self.waker = Waker()
        self._number = 0
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: object) -> None:
        self._number = number
        signal.signal(number, signal.SIG_DFL)  # the second one ends the process as usual
        self.waker.stop()

    @property
    def came(self) -> bool:
        return self._number != 0

    def obey(self) -> None:
        """Ends the verb when it was told to end."""
        if self._number:
            raise SystemExit(128 + self._number)
