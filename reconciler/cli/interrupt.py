"""How a verb that watches, waits or plays learns of Ctrl-C and SIGTERM. Owns the signal handlers of the process meanwhile.

# Theory of operation

A handler never raises: an exception out of a handler comes up wherever Python happens to be, also where it is lost (in a finalizer,
in a callback of a library) or does harm (between taking a lock and releasing it). Instead the first signal is noted, and the verb's waker stops.

| signal | what happens |
|---|---|
| first Ctrl-C or SIGTERM | noted; the waker stops; the work has PATIENCE_SECONDS to return; the exit code is 128 + the signal |
| second one | the default: the process ends at once |
| the work does not return in time | the process ends without cleanup: the work may hold locks that an orderly end would wait for |

The work runs in a thread, so that the main thread, which alone gets signals, is never blocked by what the work waits for. A pipe
wakes the main thread: the kernel may deliver a signal to any thread, and then nothing else interrupts a wait.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it brings more than most verbs need
    from reconciler.gitstore.waker import Waker

CODE = 128 + signal.SIGINT
# For what is under way when it comes; a remote that does not answer must not hold anybody up.
PATIENCE_SECONDS = 3.0
LOOK_SECONDS = 1.0  # only in case that the kernel's word is lost


class Interrupt:
    """The first Ctrl-C or SIGTERM, noted, and whoever waits on `waker` woken. It is raised only by `obey`, where nothing
    is half done."""

    def __init__(self) -> None:
        from reconciler.gitstore.waker import Waker

        self.waker = Waker()
        self._number = 0
        self._before = {
            number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)
        }

    def _note(self, number: int, _frame: object) -> None:
        self._number = number
        signal.signal(number, signal.SIG_DFL)  # the second one ends the process as usual
        self.waker.stop()

    @property
    def came(self) -> bool:
        return self._number != 0

    @property
    def code(self) -> int:
        return 128 + self._number

    def obey(self) -> None:
        """Ends the verb when it was told to end."""
        if self.came:
            raise SystemExit(self.code)

    def release(self) -> None:
        """The handlers are what they were."""
        for number, handler in self._before.items():
            signal.signal(number, handler)


def until_interrupted(work: Callable[[Waker], int]) -> int:
    """What `work` returns or raises. A signal stops its waker; then it is given time to return, and 128 + that is the answer.

    The work has a thread of its own, so that this one is free to hear the signal whatever the work waits for.
    """
    from reconciler.gitstore.waker import Waker

    if not _is_interruptible():
        return work(Waker())
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    interrupt = Interrupt()
    worker = _Worker(work, interrupt, writer)
    try:
        worker.start()
        while not worker.is_done and not interrupt.came:
            select.select([reader], [], [], LOOK_SECONDS)
        return worker.answer()
    finally:
        interrupt.release()
        signal.set_wakeup_fd(previous)
        os.close(reader)
        os.close(writer)


class _Worker(threading.Thread):
    """The thread that does the work. It keeps the result or the error for the main thread, and rings the bell when
    it is done."""

    def __init__(self, work: Callable[[Waker], int], interrupt: Interrupt, bell: int) -> None:
        super().__init__(name="work", daemon=True)
        self.is_done = False
        self._work, self._interrupt, self._bell = work, interrupt, bell
        self._code = 0
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._code = self._work(self._interrupt.waker)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for it
            self._error = error
        finally:
            self.is_done = True
            with suppress(BlockingIOError):  # rung already
                os.write(self._bell, b"\0")

    def answer(self) -> int:
        """The exit code, called in the main thread. After a signal the work has PATIENCE_SECONDS to return; its
        result counts no more."""
        if self._interrupt.came:
            self.join(PATIENCE_SECONDS)
            if self.is_alive():  # it may hold the locks that an orderly end of the interpreter takes
                os._exit(self._interrupt.code)
            return self._interrupt.code
        self.join()
        if self._error is not None:
            raise self._error
        return self._code


@contextmanager
def end_at_once() -> Iterator[None]:
    """Ctrl-C ends the process at once: for moments with nothing to clean up and nothing left to print."""
    if not _is_interruptible():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(CODE))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_interruptible() -> bool:
    """Handlers belong to the main thread; who started us with interrupts ignored, as nohup does, wants them ignored."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
