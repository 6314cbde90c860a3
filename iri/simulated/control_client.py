"""Turns a simulated host from the other end of its socket: its clock, its guests, its faults."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from google.protobuf.message import Message

from iri.address import Address
from iri.proto.gitvirt.sim.v1alpha1 import api_pb2 as pb
from iri.simulated.clock import SECOND_NS
from iri.simulated.control import SERVICE, HostAction
from iri.simulated.faults.fault_rules import FaultRule
from iri.simulated.machine_calls import GuestAction
from iri.wire.connection import ServerConnection

DEADLINE_SECONDS = 10.0


class ControlClient:
    def __init__(self, address: Address) -> None:
        self._link = ServerConnection(address)

    def stop_clock(self) -> None:
        """From now on time passes only in `advance`."""
        self.ask(pb.SetClockRequest(mode=pb.CLOCK_MANUAL))

    def run_clock(self, rate: float = 1.0) -> None:
        self.ask(pb.SetClockRequest(mode=pb.CLOCK_REAL, rate=rate))

    def advance(self, seconds: float) -> None:
        """When it returns, everything has happened that is due by then."""
        self.ask(pb.AdvanceClockRequest(nanoseconds=round(seconds * SECOND_NS)))

    def guest(self, machine_id: str, action: GuestAction) -> None:
        self.ask(pb.ActOnGuestRequest(machine_id=machine_id, action=pb.GuestAction.ValueType(action)))

    def host(self, action: HostAction, down_seconds: float = 0) -> None:
        down_ns = round(down_seconds * SECOND_NS)
        self.ask(pb.ActOnHostRequest(action=pb.HostAction.ValueType(action), down_nanoseconds=down_ns))

    def behave(self, name: str, **flags: bool) -> None:
        self.ask(pb.SetBehaviourRequest(behaviour=pb.Behaviour(name=name, flags=flags)))

    def change_profile(self, json: bytes) -> None:
        """Only what the JSON document names."""
        self.ask(pb.SetProfileRequest(json=json))

    def fail(self, fault: FaultRule) -> str:
        """From now on; returns the id to `heal` by."""
        wanted = pb.Fault(
            call=fault.call,
            effect=pb.Effect.ValueType(fault.effect),
            code=fault.code,
            message=fault.message,
            delay_nanoseconds=fault.delay_ns,
            skip=fault.skip,
            times=fault.times,
            probability=fault.probability,
        )
        id: str = self.ask(pb.AddFaultRequest(fault=wanted)).fault.id
        return id

    def heal(self, fault_id: str = "") -> None:
        """Takes back one fault, or all."""
        self.ask(pb.ClearFaultsRequest(id=fault_id))

    def calls(self) -> dict[str, int]:
        """How often each call was made."""
        return dict(self.ask(pb.GetStatisticsRequest()).calls)

    def ask(self, request: Message) -> Any:
        """Any request of the control service; raises an IRIError."""
        method = SERVICE.methods_by_name[type(request).__name__.removesuffix("Request")]
        return self._link.call(method, request, DEADLINE_SECONDS)

    def close(self) -> None:
        self._link.close()

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
