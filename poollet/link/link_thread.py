"""The event loop of all links of a process, in a thread of its own. Owns when tasks begin and end; what they do is server_stream.py's."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)

END_SECONDS = 3.0


class LinkThread:
    """`start`, then `call` from any thread, then `stop`. A run without threads never starts it, and connects to nothing."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None  # while it runs
        self._thread = threading.Thread(target=self._run, name="link", daemon=True)
        self._is_running = threading.Event()
        self._stop: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._thread.start()
        self._is_running.wait()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """In the loop's thread, soon. Before the start and after the stop it does nothing."""
        if (loop := self._loop) is not None:
            loop.call_soon_threadsafe(function, *arguments)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """From the loop's thread. A task that fails is logged: it is a defect, and the others go on."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_end)
        return task

    def stop(self) -> None:
        """Waits for tasks that end by themselves, and cancels the rest."""
        loop, self._loop = self._loop, None
        if loop is not None and self._stop is not None:
            loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._is_running.set()
        await self._stop.wait()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=END_SECONDS)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task of the link failed", exc_info=error)
