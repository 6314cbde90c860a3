"""A simulated host behind sockets: the server of its calls, consoles and controls, and what stops all of it."""

from __future__ import annotations

from collections.abc import Sequence

from iri.address import Address
from iri.errors import FailedPrecondition
from iri.exec.exec_server import ExecServer
from iri.server import Extra, Server, Service
from iri.simulated.control import SERVICE, Control
from iri.simulated.faults.fault_injection import around
from iri.simulated.faults.fault_rules import Faults
from iri.simulated.host import Host
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.seeded_random import Chance


class SimulatedServer:
    """`with SimulatedServer(host, addresses) as server:` serves until the block ends. The host is closed with it."""

    def __init__(self, host: Host, addresses: Sequence[Address]) -> None:
        self.host = host
        self.faults = Faults(Chance(host.facts.seed))
        self.consoles = ExecServer()
        self._server = Server(
            SimulatedRuntime(host),
            addresses,
            consoles=self.consoles,
            around=around(host, self.faults),
            services=[*Service, Extra(SERVICE, Control(host, self.faults).table())],
        )

    @property
    def addresses(self) -> tuple[Address, ...]:
        return self._server.addresses

    def start(self) -> None:
        """FailedPrecondition when an address cannot be listened on; nothing is left of it then."""
        self.consoles.start()
        try:
            self._server.start()
        except FailedPrecondition:
            self.stop()
            raise

    def stop(self) -> None:
        self.faults.release()
        self.consoles.stop()
        self._server.stop()
        self.host.close()

    def __enter__(self) -> SimulatedServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
