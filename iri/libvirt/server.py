"""The libvirt runtime behind sockets: the servers of its calls and of its consoles, started and stopped together."""

from __future__ import annotations

from collections.abc import Sequence

from iri.address import Address
from iri.errors import IRIError
from iri.exec.exec_server import ExecServer
from iri.libvirt.runtime import LibvirtRuntime
from iri.server import Server
from iri.server.server import SOCKET_MODE


class LibvirtServer:
    """`with LibvirtServer(runtime, addresses) as server:` serves until the block ends, and closes the runtime then."""

    def __init__(
        self, runtime: LibvirtRuntime, addresses: Sequence[Address], socket_mode: int = SOCKET_MODE
    ) -> None:
        self.runtime = runtime
        self._consoles = ExecServer()
        self._server = Server(runtime, addresses, consoles=self._consoles, socket_mode=socket_mode)

    @property
    def addresses(self) -> tuple[Address, ...]:
        return self._server.addresses

    def start(self) -> None:
        """Raises Unavailable without libvirt, FailedPrecondition when an address is in use. Then nothing keeps running."""
        self.runtime.start()
        self._consoles.start()
        try:
            self._server.start()
        except IRIError:
            self.stop()
            raise

    def stop(self) -> None:
        self._consoles.stop()
        self._server.stop()
        self.runtime.close()

    def __enter__(self) -> LibvirtServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
