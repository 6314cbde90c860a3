"""A call that may block, awaited in the event loop.

It has a daemon thread of its own: the threads of an executor are waited for when the process ends, and a runtime that hangs must not keep it from
ending. So a call that is not awaited any more goes on in its thread, and what it returns is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def run_blocking(call: Callable[[], T], name: str) -> T:
    """What the call returns or raises. Cancelled, it no longer waits; the call goes on."""
    loop = asyncio.get_running_loop()
    # Set in the loop's thread alone, which is also where its waiter may have been cancelled before.
    ended: asyncio.Future[T] = loop.create_future()

    def finish(found: T | None, error: BaseException | None) -> None:
        if ended.done():
            return
        if error is not None:
            ended.set_exception(error)
        else:
            ended.set_result(found)  # type: ignore[arg-type]  # of a call without an error

    def run() -> None:
        found, trouble = None, None
        try:
            found = call()
        except Exception as error:  # noqa: BLE001 - handed over to whoever awaits
            trouble = error
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(finish, found, trouble)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await ended
