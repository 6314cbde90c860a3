"""gitvirt.sim.v1alpha1.Control: one method per call, from request to response. Only simulated hosts serve it.

A host that is down can still be controlled, and no fault delays or fails a control call (see faults.fault_injection):
otherwise a test could not end what it has begun. Numbers of enums are those of the .proto file.

    calls          what they change                               lasts
    clock          time; everything due by then has happened      in the state log
    faults         which calls fail or are late                   until they are cleared, or the process ends
    guest, host    what happens inside a guest, or to the host    in the state log
    behavior,      how the host works from now on                 until the process ends
    profile
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from enum import IntEnum

from msgspec.structs import asdict, replace

from iri.errors import InvalidArgument
from iri.machine import RuntimeMachine
from iri.proto.gitvirt.sim.v1alpha1 import api_pb2 as pb
from iri.simulated import machine_calls
from iri.simulated.faults.fault_rules import FaultRule, FaultRules
from iri.simulated.host import SimulatedHost
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.profile import format_profile, parse_profile
from iri.volume import RuntimeSnapshot, RuntimeVolume
from iri.wire.message_codec import encode, freeze

SERVICE = pb.DESCRIPTOR.services_by_name["Control"]
LONGEST_STEP_NS = 10 * 365 * 24 * 3600 * 1_000_000_000


class HostAction(IntEnum):
    """The numbers are those of the control service."""

    REBOOT = 0
    CRASH = 1


class ControlService:
    """Thread-safe, because the host and the fault rules are."""

    def __init__(self, host: SimulatedHost, rules: FaultRules) -> None:
        self._host = host
        self._rules = rules

    def get_clock(self, _: pb.GetClockRequest) -> pb.GetClockResponse:
        return pb.GetClockResponse(clock=self._clock())

    def set_clock(self, request: pb.SetClockRequest) -> pb.SetClockResponse:
        """A rate of 0 in the request means 1, as 0 is unset on the wire; MANUAL stops the clock."""
        _require_value(pb.ClockMode.values(), request.mode, "mode")
        with _translate_value_errors():
            self._host.set_clock(0 if request.mode == pb.CLOCK_MANUAL else request.rate or 1)
        return pb.SetClockResponse(clock=self._clock())

    def advance_clock(self, request: pb.AdvanceClockRequest) -> pb.AdvanceClockResponse:
        """Answers once everything that is due by then has been applied."""
        if not 0 <= request.nanoseconds <= LONGEST_STEP_NS:
            raise InvalidArgument("nanoseconds is between 0 and ten years")
        self._host.advance_clock(request.nanoseconds)
        return pb.AdvanceClockResponse(clock=self._clock())

    def _clock(self) -> pb.Clock:
        """The state of the clock as every call about the clock answers it."""
        clock = self._host.clock
        mode = pb.CLOCK_MANUAL if clock.is_manual else pb.CLOCK_REAL
        return pb.Clock(now=clock.now_ns(), mode=mode, rate=clock.state.rate)

    def add_fault(self, request: pb.AddFaultRequest) -> pb.AddFaultResponse:
        """The rule has the fields of the message. Its id is the host's."""
        _require_value(pb.Effect.values(), request.fault.effect, "fault.effect")
        with _translate_value_errors():
            rule = self._rules.add(freeze(FaultRule, request.fault))
        return pb.AddFaultResponse(fault=encode(pb.Fault, rule))

    def list_faults(self, _: pb.ListFaultsRequest) -> pb.ListFaultsResponse:
        return pb.ListFaultsResponse(faults=[encode(pb.Fault, rule) for rule in self._rules.list_rules()])

    def clear_faults(self, request: pb.ClearFaultsRequest) -> pb.ClearFaultsResponse:
        """One by its id, NotFound without it; all without an id. Calls that are delayed at present stay delayed."""
        self._rules.clear(request.id)
        return pb.ClearFaultsResponse()

    def act_on_guest(self, request: pb.ActOnGuestRequest) -> pb.ActOnGuestResponse:
        """FailedPrecondition unless the guest runs; Unavailable while the host is down, because no guest runs then."""
        _require_value(pb.GuestAction.values(), request.action, "action")
        with self._host.lock() as now_ns:
            guest = self._host.find(SimulatedMachine, request.machine_id)
            machine_calls.act(self._host, guest, GuestAction(request.action), now_ns)
        return pb.ActOnGuestResponse()

    def act_on_host(self, request: pb.ActOnHostRequest) -> pb.ActOnHostResponse:
        """Possible while the host is down: the new time then replaces the old one."""
        _require_value(pb.HostAction.values(), request.action, "action")
        if not 0 <= request.down_nanoseconds <= LONGEST_STEP_NS:
            raise InvalidArgument("down_nanoseconds is between 0 and ten years")
        with self._host.lock(even_when_down=True) as now_ns:
            is_crash = request.action == pb.HOST_CRASH
            machine_calls.restart_host(self._host, request.down_nanoseconds, now_ns, is_crash=is_crash)
        return pb.ActOnHostResponse()

    def get_behavior(self, _: pb.GetBehaviorRequest) -> pb.GetBehaviorResponse:
        return pb.GetBehaviorResponse(behavior=self._behavior())

    def set_behavior(self, request: pb.SetBehaviorRequest) -> pb.SetBehaviorResponse:
        """Replaces provider and flags; the rest of the profile stays."""
        name, changes = request.behavior.name or "gitvirt", dict(request.behavior.flags)
        with _translate_value_errors():
            self._host.set_profile(replace(self._host.profile, behavior=name, behavior_flags=changes))
        return pb.SetBehaviorResponse(behavior=self._behavior())

    def _behavior(self) -> pb.Behavior:
        return pb.Behavior(name=self._host.profile.behavior, flags=asdict(self._host.model.quirks))

    def get_profile(self, _: pb.GetProfileRequest) -> pb.GetProfileResponse:
        return pb.GetProfileResponse(json=format_profile(self._host.profile))

    def set_profile(self, request: pb.SetProfileRequest) -> pb.SetProfileResponse:
        """Changes only the keys of the document."""
        profile = parse_profile(request.json, self._host.profile)
        self._host.set_profile(profile)
        return pb.SetProfileResponse(json=format_profile(profile))

    def get_statistics(self, _: pb.GetStatisticsRequest) -> pb.GetStatisticsResponse:
        """Counts of calls since the start, and of objects now."""
        with self._host.lock(even_when_down=True):
            state = self._host.state
            return pb.GetStatisticsResponse(
                calls=self._rules.calls(),
                machines=len(state.objects(RuntimeMachine)),
                volumes=len(state.objects(RuntimeVolume)),
                volume_snapshots=len(state.objects(RuntimeSnapshot)),
            )


def _require_value(numbers: Collection[int], number: int, field: str) -> None:
    """InvalidArgument for a number that the enum does not have."""
    if number not in numbers:
        raise InvalidArgument(f"{field} has no value {number}")


@contextmanager
def _translate_value_errors() -> Iterator[None]:
    """A ValueError of the host's own parts is the caller's mistake: InvalidArgument."""
    try:
        yield
    except ValueError as error:
        raise InvalidArgument(str(error)) from None
