"""A simulated host behind sockets: its calls, its consoles and its control service, started and stopped together."""

from __future__ import annotations

from collections.abc import Sequence

from iri.address import Address
from iri.errors import FailedPrecondition
from iri.exec.exec_server import ExecServer
from iri.server import ExtraService, Server, Service
from iri.simulated.control import SERVICE, ControlService
from iri.simulated.faults.fault_injection import wrap_calls
from iri.simulated.faults.fault_rules import FaultRules
from iri.simulated.host import SimulatedHost
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.seeded_random import SeededRandom


class SimulatedServer:
    """`with SimulatedServer(host, addresses) as server:` serves until the block ends. The host is closed with it."""

    def __init__(self, host: SimulatedHost, addresses: Sequence[Address]) -> None:
        self.host = host
        self.faults = FaultRules(SeededRandom(host.record.seed))
        self.consoles = ExecServer()
        self._server = Server(
            SimulatedRuntime(host),
            addresses,
            consoles=self.consoles,
            wrapper=wrap_calls(host, self.faults),
            services=[*Service, ExtraService(SERVICE, ControlService(host, self.faults).list_calls())],
        )

    @property
    def addresses(self) -> tuple[Address, ...]:
        return self._server.addresses

    def start(self) -> None:
        """Raises FailedPrecondition when an address is in use; nothing is left running then."""
        self.consoles.start()
        try:
            self._server.start()
        except FailedPrecondition:
            self.stop()
            raise

    def stop(self) -> None:
        # In this order: delayed calls end first, or the server would wait for them; the host's log is closed last.
        self.faults.release()
        self.consoles.stop()
        self._server.stop()
        self.host.close()

    def __enter__(self) -> SimulatedServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
