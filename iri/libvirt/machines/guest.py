"""What is known of one machine, and the object that the runtime lists for it. Frozen and pure.

A guest has three sources. `record` is desired and survives everything: it is in the domain's metadata. `observed` is what libvirt
showed last. All other fields are this process's memory, and each may be lost: a restart of the runtime begins with their defaults
and must reach the same end, only later (a delay begins again, a device is asked for again).

The listed object follows from these alone (`to_runtime_machine`). Its state is not stored anywhere, so it cannot disagree with them.

    observed                                     state          reason in the detail
    deletion ordered                             TERMINATING    as before
    a start that libvirtd never finished         PENDING
    on                                           RUNNING
    off, desired on, held since the host booted  TERMINATED     HostBooted
    off, never built                             PENDING
    off, desired off, autostart off as well      SUSPENDED      PowerOff; empty after a restart of the runtime
    off, desired on, it ended by itself          TERMINATED     GuestPowerOff, Crash, SwitchedOff
    off otherwise                                PENDING        it is about to start, or to be switched off for good
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from iri.libvirt.domain.domain_state import DomainState, RunState, StopReason
from iri.libvirt.domain.names import Alias, DeviceKind, alias_of
from iri.libvirt.domain.record import MachineRecord, desired_machine
from iri.libvirt.machines.power_settings import CRASH_LOOP
from iri.machine import (
    HOST_BOOTED,
    AttachmentState,
    AttachmentStatus,
    Disk,
    InterfaceDetail,
    MachineDetail,
    MachineState,
    Power,
    RuntimeCondition,
    RuntimeMachine,
    RuntimeMachineStatus,
    RuntimeNetworkInterface,
)

GUEST_POWER_OFF = "GuestPowerOff"
CRASH = "Crash"
SWITCHED_OFF = "SwitchedOff"  # on the host, not by an order
POWER_OFF = "PowerOff"  # as ordered
ENDED = (GUEST_POWER_OFF, CRASH, SWITCHED_OFF)
REASONS: Mapping[StopReason, str] = {
    StopReason.SHUTDOWN: GUEST_POWER_OFF,
    StopReason.CRASHED: CRASH,
    StopReason.DESTROYED: SWITCHED_OFF,
}


class StepFailure(msgspec.Struct, frozen=True):
    """Why the last step failed, and how many steps have failed in a row."""

    reason: str
    message: str
    failures: int = 1


class Guest(msgspec.Struct, frozen=True, kw_only=True):
    """`record` has the whole spec, secrets included. Times are seconds of the monotonic clock."""

    id: str
    record: MachineRecord
    observed: DomainState = DomainState()
    reason: str = ""  # why it is off
    failure: StepFailure | None = None
    observed_generation: int = -1  # the last one that was reconciled; -1: none yet by this process
    # Released by the guest; what was prepared for them is not removed yet.
    detached: frozenset[Alias] = frozenset()
    shown_sizes: Mapping[Alias, int] = {}  # the size that the guest is known to see
    unplug_requested_at: Mapping[Alias, float] = {}  # when the guest was last asked to release a device
    # Failed attaches that QEMU may have kept, with where their data is.
    leak_suspects: Mapping[Alias, str] = {}
    addresses: Mapping[str, tuple[str, ...]] = {}  # by MAC address
    restarts: int = 0
    # None: never, as far as this process knows. Zero is a moment: a monotonic clock may have begun seconds ago.
    started_at: float | None = None
    ended_at: float | None = None
    stopping_since: float | None = None
    pressed_at: float | None = None
    has_requested_agent: bool = False
    is_autostart_off: bool = False  # libvirt is known not to start the guest with the host
    conditions: tuple[RuntimeCondition, ...] = ()

    @property
    def is_desired_on(self) -> bool:
        """Whether its power is ordered On. A guest that powered itself off and stays off (`is_halted`) is desired on too."""
        return self.record.spec.power is not Power.OFF

    @property
    def desired_devices(self) -> dict[Alias, Disk | RuntimeNetworkInterface]:
        """Those of the spec by alias; a device that was exchanged under its name has another alias."""
        spec = self.record.spec
        devices: tuple[Disk | RuntimeNetworkInterface, ...] = (*spec.volumes, *spec.network_interfaces)
        return {alias_of(device): device for device in devices}

    @property
    def has_class_pending(self) -> bool:
        """Whether the running guest does not have the resources of the desired class yet."""
        live = self.observed.live
        if live is None or not self.record.is_built:
            return False
        has_memory = self.record.memory_bytes in (live.memory_bytes, live.balloon_bytes)
        return live.cpus != self.record.cpus or not has_memory


def with_observation(guest: Guest, observed: DomainState, now: float) -> Guest:
    """The guest with a new observation. Notes what started, ended or was detached since the last one.

    The only place that turns what libvirt shows into what the runtime remembers. Pure, so the order of observations is all that counts.
    """
    lost = guest.observed.aliases - observed.aliases
    detached = (guest.detached | lost) - observed.aliases
    after = replace(guest, observed=observed, detached=detached)
    if observed.is_on and not guest.observed.is_on:
        return replace(after, reason="", started_at=now)
    if not observed.is_on and guest.observed.is_on:
        return with_end(after, now)
    if not observed.is_on and guest.observed_generation < 0 and not after.reason and guest.is_desired_on:
        # This process observes it for the first time; libvirt still knows why it ended.
        return replace(
            after, reason=GUEST_POWER_OFF if guest.record.is_halted else REASONS.get(observed.stop_reason, "")
        )
    return after


def drop_undesired(guest: Guest, before: Iterable[Alias]) -> Guest:
    """Marks devices as detached that are no longer desired and were never attached: something may be prepared for them."""
    return replace(
        guest, detached=guest.detached | (set(before) - guest.desired_devices.keys() - guest.observed.aliases)
    )


def with_end(guest: Guest, now: float) -> Guest:
    """The state of one run ends with it: presses, unplug requests, suspects and addresses belong to the QEMU that is gone."""
    is_own_doing = guest.is_desired_on and not guest.record.deleted_at
    reason = REASONS.get(guest.observed.stop_reason, SWITCHED_OFF) if is_own_doing else POWER_OFF
    return replace(
        guest,
        reason=reason,
        ended_at=now,
        stopping_since=None,
        pressed_at=None,
        has_requested_agent=False,
        shown_sizes={},
        unplug_requested_at={},
        leak_suspects={},
        addresses={},
    )


def to_runtime_machine(guest: Guest) -> RuntimeMachine:
    """The object that the runtime lists."""
    machine = desired_machine(guest.record, guest.id)
    status = RuntimeMachineStatus(
        observed_generation=max(guest.observed_generation, 0),
        state=derive_state(guest),
        image_ref=guest.record.image_ref,
        volumes=attachment_statuses(guest, guest.record.spec.volumes, DeviceKind.DISK),
        network_interfaces=attachment_statuses(guest, guest.record.spec.network_interfaces, DeviceKind.NIC),
        conditions=guest.conditions,
    )
    detail = MachineDetail(
        network_interfaces=interface_details(guest),
        console=f"gitvirt console {guest.id}",
        pending_changes=("class",) if guest.has_class_pending else (),
        boots=guest.record.boots,
        reason=HOST_BOOTED if guest.record.is_held and not guest.observed.is_on else guest.reason,
    )
    return replace(machine, status=status, detail=detail)


def derive_state(guest: Guest) -> MachineState:
    """The order of the checks decides: deletion before power, power before devices."""
    if guest.record.deleted_at:
        return MachineState.TERMINATING
    if guest.observed.run_state is RunState.UNFINISHED_START:  # no instruction of the guest has run yet
        return MachineState.PENDING
    if guest.observed.is_on:
        return MachineState.RUNNING
    if guest.record.is_held and guest.is_desired_on:
        return MachineState.TERMINATED
    if not guest.record.is_built:
        return MachineState.PENDING
    if not guest.is_desired_on:  # listed as off only once autostart is off too: callers rely on it
        return MachineState.SUSPENDED if guest.is_autostart_off else MachineState.PENDING
    return MachineState.TERMINATED if guest.reason in ENDED else MachineState.PENDING


def attachment_statuses(
    guest: Guest, devices: Iterable[Disk | RuntimeNetworkInterface], kind: DeviceKind
) -> tuple[AttachmentStatus, ...]:
    """One for each name. Attached means that the desired device is there; a device on its way out is listed until it is gone."""
    attached = [alias for alias in sorted(guest.observed.current.aliases) if alias.kind == kind.value]
    result: dict[str, AttachmentStatus] = {}
    for device in devices:
        alias = alias_of(device)
        is_there = alias in attached
        state = AttachmentState.ATTACHED if is_there else AttachmentState.PENDING
        handle = handle_of(device, alias) if is_there else ""
        result[device.name] = AttachmentStatus(name=device.name, handle=handle, state=state)
    for alias in attached:
        leaving = AttachmentStatus(name=alias.name, handle=str(alias), state=AttachmentState.ATTACHED)
        result.setdefault(alias.name, leaving)
    return tuple(result.values())


def handle_of(device: Disk | RuntimeNetworkInterface, alias: Alias) -> str:
    """By which the caller knows what is attached: for a volume, the handle that the storage gave it."""
    if isinstance(device, Disk) and device.connection is not None:
        return device.connection.handle or str(alias)
    return str(alias)


def interface_details(guest: Guest) -> tuple[InterfaceDetail, ...]:
    """In the order of the spec; interfaces that are being detached come last."""
    order = {nic.name: number for number, nic in enumerate(guest.record.spec.network_interfaces)}
    nics = guest.observed.current.nics
    return tuple(
        InterfaceDetail(name=alias.name, mac=nics[alias], ips=guest.addresses.get(nics[alias], ()))
        for alias in sorted(nics, key=lambda alias: (order.get(alias.name, len(order)), alias))
    )


def derive_conditions(guest: Guest) -> tuple[RuntimeCondition, ...]:
    """Without transition times, which `with_conditions` adds.

    The first row that applies makes Ready; CrashLoop comes beside it, and never makes a machine unready by itself.
    """
    failure = guest.failure
    if failure is not None:
        ready = ("False", failure.reason, failure.message)
    elif guest.observed.run_state is RunState.IO_ERROR:
        message = "the guest is paused: its host could not read or write a disk"
        ready = ("False", "DiskError", message)
    elif guest.observed.run_state is RunState.PAUSED:
        ready = ("False", "Paused", "the guest was paused on the host")
    elif guest.observed_generation < 0:
        ready = ("Unknown", "Preparing", "the machine is recorded and not reconciled yet")
    else:
        ready = ("True", "InSync", "the machine is as desired")
    status, reason, message = ready
    conditions = (RuntimeCondition(type="Ready", status=status, reason=reason, message=message),)
    if guest.restarts < CRASH_LOOP:
        return conditions
    message = f"the guest ended {guest.restarts + 1} times in a row; each restart waits longer"
    looping = RuntimeCondition(type="CrashLoop", status="True", reason=guest.reason or CRASH, message=message)
    return (*conditions, looping)


def with_conditions(guest: Guest, now_ns: int) -> Guest:
    """A transition time changes only when the status does."""
    before = {condition.type: condition for condition in guest.conditions}
    made = []
    for condition in derive_conditions(guest):
        old = before.get(condition.type)
        time = old.last_transition_time if old is not None and old.status == condition.status else now_ns
        made.append(replace(condition, last_transition_time=time))
    return replace(guest, conditions=tuple(made))
