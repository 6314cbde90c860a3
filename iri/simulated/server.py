"""A simulated host behind sockets: its calls, its consoles and its control service, started and stopped together.

The fault rules come before every call of the runtime's own services and before none of the control service. Rules and the count of
calls are in memory alone: a new process begins without any.
"""

from __future__ import annotations

from collections.abc import Sequence

from iri.address import Address
from iri.exec.streaming_address import StreamingAddress
from iri.server import Server
from iri.server.call_handlers import list_calls
from iri.server.server import FINISH_SECONDS
from iri.simulated.control import SERVICE, ControlService
from iri.simulated.faults.fault_injection import wrap_calls
from iri.simulated.faults.fault_rules import FaultRules
from iri.simulated.host import SimulatedHost
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.seeded_random import SeededRandom


class SimulatedServer(Server):
    """`with SimulatedServer(host, addresses) as server:` serves until the block ends. The host is closed with it."""

    def __init__(
        self, host: SimulatedHost, addresses: Sequence[Address], streaming: StreamingAddress | None = None
    ) -> None:
        self.host = host
        self.faults = FaultRules(SeededRandom(host.record.seed))
        super().__init__(
            SimulatedRuntime(host),
            addresses,
            extra_calls={SERVICE: list_calls(SERVICE, ControlService(host, self.faults))},
            wrapper=wrap_calls(host, self.faults),
            streaming=streaming,
        )

    def stop(self, finish_seconds: float = FINISH_SECONDS) -> None:
        """In this order: delayed calls end first, or the server would wait for them; the host's log is closed last."""
        self.faults.release()
        super().stop(finish_seconds)
        self.host.close()
