"""The console and the log of a machine on another host, over the controller API. Errors of the call become those of a verb.

A console is free again when its call ends, however that comes: the user leaves, this process is killed, or the network is cut.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from iri.exec.console_line import LineClosedError, SessionBroken, SessionEnded, SessionOutcome
from reconciler.cli.api_client import call, parse_instance, translate

if TYPE_CHECKING:  # verbs load gRPC when they call
    from iri.console_log import LogRequest
    from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ConsoleRequest

WAITING = 16  # messages on their way; more wait at the keyboard
LOOK_SECONDS = 0.2


class LinkLine:
    """Implements ConsoleLine. Attached when it is made; raises CommandError where that is refused."""

    def __init__(self, channel: Any, reference: str) -> None:
        import grpc

        from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ConsoleRequest

        self._waiting: queue.Queue[ConsoleRequest | None] = queue.Queue(WAITING)
        self._is_closed = False
        self._waiting.put(ConsoleRequest(instance=parse_instance(reference)))
        self._call = call(channel, "Console")(iter(self._waiting.get, None))
        try:
            next(self._call, None)
        except grpc.RpcError as error:
            self.close()
            raise translate(error) from None

    def send_keys(self, data: bytes) -> None:
        from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk
        from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ConsoleRequest

        self._put(ConsoleRequest(chunk=Chunk(data=data)))

    def send_window(self, columns: int, rows: int) -> None:
        from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk, TerminalSize
        from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ConsoleRequest

        self._put(ConsoleRequest(chunk=Chunk(terminal_size=TerminalSize(columns=columns, rows=rows))))

    def receive(self) -> Iterator[bytes | SessionOutcome]:
        import grpc

        try:
            for chunk in self._call:
                if chunk.data:
                    yield chunk.data
                if chunk.is_end:
                    yield SessionEnded(chunk.exit_status if chunk.HasField("exit_status") else 0)
                    return
        except grpc.RpcError as error:
            if not self._is_closed:
                yield SessionBroken(str(translate(error)))

    def close(self) -> None:
        self._is_closed = True
        self._call.cancel()
        with suppress(queue.Full):  # then the thread of the call finds it ended at its next message
            self._waiting.put_nowait(None)

    def _put(self, message: ConsoleRequest) -> None:
        """Waits while the other end takes nothing."""
        while not self._is_closed and self._call.is_active():
            with suppress(queue.Full):
                self._waiting.put(message, timeout=LOOK_SECONDS)
                return
        raise LineClosedError


class LinkLog:
    """Implements ConsoleLog. Open when it is made; raises CommandError where that is refused, and `read` where it is cut off."""

    def __init__(self, channel: Any, reference: str, wanted: LogRequest) -> None:
        import grpc

        from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import LogsRequest

        self._call = call(channel, "Logs")(
            LogsRequest(
                instance=parse_instance(reference),
                tail_lines=wanted.tail_lines,
                follow=wanted.follow,
                previous=wanted.previous,
            )
        )
        try:
            next(self._call, None)
        except grpc.RpcError as error:
            raise translate(error) from None

    def read(self) -> bytes:
        import grpc

        try:
            for chunk in self._call:
                if chunk.data:
                    data: bytes = chunk.data
                    return data
        except grpc.RpcError as error:
            raise translate(error) from None
        return b""

    def close(self) -> None:
        self._call.cancel()
