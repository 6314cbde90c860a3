"""Removes the readable text of a Secret when a signal ends the verb: a closed terminal, `kill`, Ctrl-C at a question.

| signal while the text is there | what happens |
|---|---|
| SIGHUP, SIGTERM | the editor is told to end, the folder goes, the process ends with 128 + the signal |
| SIGINT, SIGQUIT while the editor runs | nothing: they are the editor's (`without_keys`) |
| SIGINT, SIGQUIT else | the folder goes, the process ends with 128 + the signal |
| one of them that the caller ignores, as nohup does | ignored |
| another one meanwhile | ignored: the removal takes a bounded time |
| SIGKILL, a lost computer | the text stays in memory until the next restart |

The handler raises nothing: an exception would come up wherever Python happens to be, also where it is lost.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from reconciler.cli.mutate.editor import OpenedText

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


@contextmanager
def open_removable(create: Callable[[], OpenedText]) -> Iterator[OpenedText]:
    """The text, until the end of the context. No signal comes between its creation and the handlers that remove it."""
    waiting = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    before = {}
    try:
        text = create()
        numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, lambda came, _: end(text, came)) for number in numbers}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
    try:
        with text:
            yield text
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end(text: OpenedText, number: int) -> NoReturn:
    """First the editor, which may write into the folder while it ends."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    text.end_editor()
    words = "the text that it names stays" if text.is_kept else "the readable text is removed"
    text.remove()
    with suppress(OSError):  # the terminal may be gone
        os.write(2, f"\nended by {signal.Signals(number).name}; {words}\n".encode())
    os._exit(128 + number)
