"""The libvirt runtime behind sockets: the servers of its calls and of its consoles, started and stopped together.

The runtime starts before the servers: a poollet that can connect can rely on complete lists. It is closed after them: no call is
cut off in the middle. Consoles have a server of their own, because a call answers with a URL that is used once.
"""

from __future__ import annotations

from collections.abc import Sequence

from iri.address import Address
from iri.exec.streaming_address import StreamingAddress
from iri.libvirt.runtime import LibvirtRuntime
from iri.server import Server
from iri.server.server import FINISH_SECONDS, SOCKET_MODE


class LibvirtServer(Server):
    """`with LibvirtServer(runtime, addresses) as server:` serves until the block ends, and closes the runtime then."""

    def __init__(
        self,
        runtime: LibvirtRuntime,
        addresses: Sequence[Address],
        socket_mode: int = SOCKET_MODE,
        streaming: StreamingAddress | None = None,
    ) -> None:
        self.runtime = runtime
        super().__init__(runtime, addresses, socket_mode=socket_mode, streaming=streaming)

    def start(self) -> None:
        """Raises Unavailable without libvirt, FailedPrecondition when an address is in use. Then nothing keeps running."""
        self.runtime.start()
        super().start()

    def stop(self, finish_seconds: float = FINISH_SECONDS) -> None:
        """The runtime is closed last: calls that may still finish need it."""
        super().stop(finish_seconds)
        self.runtime.close()
