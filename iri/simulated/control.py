"""gitvirt.sim.v1alpha1.Control: a function a call, from request to response. Only simulated hosts serve it.

A host that is away can still be controlled, and no fault slows or fails a control call: see faults.fault_injection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, TypeVar

from google.protobuf.message import Message
from msgspec.structs import replace

from iri.errors import InvalidArgument
from iri.machine import RuntimeMachine
from iri.proto.gitvirt.sim.v1alpha1 import api_pb2 as pb
from iri.simulated import machine_calls
from iri.simulated.faults.fault_rules import FaultEffect, FaultRule, FaultRules
from iri.simulated.host import SimulatedHost
from iri.simulated.machine_calls import GuestAction
from iri.simulated.profile import format_profile, parse_profile
from iri.simulated.provider_quirks import ProviderQuirks, build_quirks, list_flags
from iri.volume import RuntimeSnapshot, RuntimeVolume

SERVICE = pb.DESCRIPTOR.services_by_name["Control"]
LONGEST_STEP_NS = 10 * 365 * 24 * 3600 * 1_000_000_000

AnyEnum = TypeVar("AnyEnum", bound=IntEnum)


class HostAction(IntEnum):
    REBOOT = 0
    CRASH = 1


class ClockMode(IntEnum):
    REAL = 0
    MANUAL = 1


class ControlService:
    def __init__(self, host: SimulatedHost, faults: FaultRules) -> None:
        self._host = host
        self._faults = faults

    def table(self) -> Mapping[str, Callable[[Any], Message]]:
        return {
            "GetClock": self.get_clock,
            "SetClock": self.set_clock,
            "AdvanceClock": self.advance_clock,
            "AddFault": self.add_fault,
            "ListFaults": self.list_faults,
            "ClearFaults": self.clear_faults,
            "ActOnGuest": self.act_on_guest,
            "ActOnHost": self.act_on_host,
            "GetBehaviour": self.get_behaviour,
            "SetBehaviour": self.set_behaviour,
            "GetProfile": self.get_profile,
            "SetProfile": self.set_profile,
            "GetStatistics": self.get_statistics,
        }

    def get_clock(self, _: pb.GetClockRequest) -> pb.GetClockResponse:
        return pb.GetClockResponse(clock=self._clock())

    def set_clock(self, request: pb.SetClockRequest) -> pb.SetClockResponse:
        is_manual = _named(ClockMode, request.mode, "mode") is ClockMode.MANUAL
        with _refusing():
            self._host.set_clock(0 if is_manual else request.rate or 1)
        return pb.SetClockResponse(clock=self._clock())

    def advance_clock(self, request: pb.AdvanceClockRequest) -> pb.AdvanceClockResponse:
        if not 0 <= request.nanoseconds <= LONGEST_STEP_NS:
            raise InvalidArgument("nanoseconds is between 0 and ten years")
        self._host.advance_clock(request.nanoseconds)
        return pb.AdvanceClockResponse(clock=self._clock())

    def _clock(self) -> pb.Clock:
        clock = self._host.clock
        mode = pb.CLOCK_MANUAL if clock.is_manual else pb.CLOCK_REAL
        return pb.Clock(now=clock.now_ns(), mode=mode, rate=clock.state.rate)

    def add_fault(self, request: pb.AddFaultRequest) -> pb.AddFaultResponse:
        wanted = request.fault
        with _refusing():
            fault = FaultRule(
                call=wanted.call,
                effect=_named(FaultEffect, wanted.effect, "fault.effect"),
                code=wanted.code,
                message=wanted.message,
                delay_ns=wanted.delay_nanoseconds,
                skip=wanted.skip,
                times=wanted.times,
                probability=wanted.probability,
            )
        return pb.AddFaultResponse(fault=_fault_message(self._faults.add(fault)))

    def list_faults(self, _: pb.ListFaultsRequest) -> pb.ListFaultsResponse:
        return pb.ListFaultsResponse(faults=map(_fault_message, self._faults.all()))

    def clear_faults(self, request: pb.ClearFaultsRequest) -> pb.ClearFaultsResponse:
        self._faults.clear(request.id)
        return pb.ClearFaultsResponse()

    def act_on_guest(self, request: pb.ActOnGuestRequest) -> pb.ActOnGuestResponse:
        action = _named(GuestAction, request.action, "action")
        with self._host.entered() as now_ns:
            guest = machine_calls.find_machine(self._host, request.machine_id)
            machine_calls.act(self._host, guest, action, now_ns)
        return pb.ActOnGuestResponse()

    def act_on_host(self, request: pb.ActOnHostRequest) -> pb.ActOnHostResponse:
        action = _named(HostAction, request.action, "action")
        if not 0 <= request.down_nanoseconds <= LONGEST_STEP_NS:
            raise InvalidArgument("down_nanoseconds is between 0 and ten years")
        with self._host.entered(even_when_down=True) as now_ns:
            is_crash = action is HostAction.CRASH
            machine_calls.restart_host(self._host, request.down_nanoseconds, now_ns, is_crash=is_crash)
        return pb.ActOnHostResponse()

    def get_behaviour(self, _: pb.GetBehaviourRequest) -> pb.GetBehaviourResponse:
        return pb.GetBehaviourResponse(behaviour=self._behaviour())

    def set_behaviour(self, request: pb.SetBehaviourRequest) -> pb.SetBehaviourResponse:
        name, changes = request.behaviour.name or "gitvirt", dict(request.behaviour.flags)
        with _refusing():
            behaviour = build_quirks(name, changes)
        self._become(behaviour, name, changes)
        return pb.SetBehaviourResponse(behaviour=self._behaviour())

    def _become(self, behaviour: ProviderQuirks, name: str, changes: Mapping[str, bool]) -> None:
        profile = replace(self._host.profile, behaviour=name, behaviour_flags=changes)
        self._host.become(profile, behaviour)

    def _behaviour(self) -> pb.Behaviour:
        return pb.Behaviour(name=self._host.profile.behaviour, flags=list_flags(self._host.nature.behaviour))

    def get_profile(self, _: pb.GetProfileRequest) -> pb.GetProfileResponse:
        return pb.GetProfileResponse(json=format_profile(self._host.profile))

    def set_profile(self, request: pb.SetProfileRequest) -> pb.SetProfileResponse:
        profile = parse_profile(request.json, self._host.profile)
        self._host.become(profile, build_quirks(profile.behaviour, profile.behaviour_flags))
        return pb.SetProfileResponse(json=format_profile(profile))

    def get_statistics(self, _: pb.GetStatisticsRequest) -> pb.GetStatisticsResponse:
        with self._host.entered(even_when_down=True):
            state = self._host.state
            return pb.GetStatisticsResponse(
                calls=self._faults.calls(),
                machines=len(state.objects(RuntimeMachine)),
                volumes=len(state.objects(RuntimeVolume)),
                volume_snapshots=len(state.objects(RuntimeSnapshot)),
            )


def _fault_message(fault: FaultRule) -> pb.Fault:
    return pb.Fault(
        id=fault.id,
        call=fault.call,
        effect=pb.Effect.ValueType(fault.effect),
        code=fault.code,
        message=fault.message,
        delay_nanoseconds=fault.delay_ns,
        skip=fault.skip,
        times=fault.times,
        probability=fault.probability,
    )


def _named(enum: type[AnyEnum], number: int, field: str) -> AnyEnum:
    try:
        return enum(number)
    except ValueError:
        raise InvalidArgument(f"{field} has no value {number}") from None


@contextmanager
def _refusing() -> Iterator[None]:
    """What the host's own parts call a wrong value is the caller's mistake here."""
    try:
        yield
    except ValueError as error:
        raise InvalidArgument(str(error)) from None
