"""The client of gitvirt.sim.v1alpha1.Control: the clock, guests, faults and profile of a simulated host.

Programs use it to bring a host into a state that a real one reaches only by accident or by waiting. Only a simulated host answers.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message

from iri.address import Address
from iri.proto.gitvirt.sim.v1alpha1 import api_pb2 as pb
from iri.simulated.clock import SECOND_NS
from iri.simulated.control import SERVICE, HostAction
from iri.simulated.faults.fault_rules import FaultRule
from iri.simulated.machine_calls import GuestAction
from iri.wire.connection import ServerConnection
from iri.wire.message_codec import encode

DEADLINE_SECONDS = 10.0


class ControlClient:
    """One connection; each method is one call and raises an IRIError. Thread-safe."""

    def __init__(self, address: Address) -> None:
        self._connection = ServerConnection(address)

    def stop_clock(self) -> None:
        """From now on time passes only in `advance`."""
        self.call(pb.SetClockRequest(mode=pb.CLOCK_MANUAL))

    def run_clock(self, rate: float = 1.0) -> None:
        """From now on `rate` seconds of the host pass in a real one."""
        self.call(pb.SetClockRequest(mode=pb.CLOCK_REAL, rate=rate))

    def advance(self, seconds: float) -> None:
        """When it returns, everything has happened that is due by then."""
        self.call(pb.AdvanceClockRequest(nanoseconds=round(seconds * SECOND_NS)))

    def act_on_guest(self, machine_id: str, action: GuestAction) -> None:
        self.call(pb.ActOnGuestRequest(machine_id=machine_id, action=pb.GuestAction.ValueType(action)))

    def act_on_host(self, action: HostAction, down_seconds: float = 0) -> None:
        """The host is away for so long on its own clock, and answers Unavailable meanwhile. A stopped clock must be advanced to bring it back."""
        down_ns = round(down_seconds * SECOND_NS)
        self.call(pb.ActOnHostRequest(action=pb.HostAction.ValueType(action), down_nanoseconds=down_ns))

    def set_behavior(self, name: str, **flags: bool) -> None:
        """Which provider the host imitates, with single deviations switched on or off."""
        self.call(pb.SetBehaviorRequest(behavior=pb.Behavior(name=name, flags=flags)))

    def update_profile(self, json: bytes) -> None:
        """Only what the JSON document names."""
        self.call(pb.SetProfileRequest(json=json))

    def add_fault(self, fault: FaultRule) -> str:
        """From now on; returns the id for `clear_faults`."""
        id: str = self.call(pb.AddFaultRequest(fault=encode(pb.Fault, fault))).fault.id
        return id

    def clear_faults(self, fault_id: str = "") -> None:
        """One fault, or all."""
        self.call(pb.ClearFaultsRequest(id=fault_id))

    def count_calls(self) -> dict[str, int]:
        """How often each call was made."""
        return dict(self.call(pb.GetStatisticsRequest()).calls)

    def call(self, request: Message) -> Any:
        """Any request of the control service; raises an IRIError."""
        method = SERVICE.methods_by_name[type(request).__name__.removesuffix("Request")]
        return self._connection.call(method, request, DEADLINE_SECONDS)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
