"""The life of one simulated machine. Pure: a machine's record and a time in, the next record and its events out.

Theory of operation. A machine is in one phase; a phase ends at `phase_due_ns`, or on a call:

    phase      power  seen as      leaves by
    BOOTING    on     PENDING      due -> RUNNING; power off -> OFF
    RUNNING    on     RUNNING      power off, or the guest powers itself off -> STOPPING; crash -> ENDED
    STOPPING   on     RUNNING      due -> OFF, or ENDED when the guest did it; then BOOTING if power is to be on
    OFF        off    SUSPENDED    power on -> BOOTING
    ENDED      off    TERMINATED   power on -> BOOTING; power off -> OFF
    REMOVING   any    TERMINATING  due -> the record is gone

    any of them: remove -> REMOVING; the host restarts -> BOOTING, OFF or ENDED (held, until power on is ordered)

A new machine boots once its devices and images are there; one whose image cannot be pulled stays in BOOTING for ever.
A guest that ended by itself stays off: it boots when power on is ordered again, so that no crash loop hides a fault.
A new class and the devices of a machine that is off take effect at the next boot.

Must never happen: a machine is published as off while a guest may still run; REMOVING is left for another phase.
Devices on their way in or out are in hotplug.

All functions are called with the host locked. They take the time as an argument and their durations from the seed, so a host that
replays its log after a restart comes to the same phases at the same times.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import msgspec
from msgspec.structs import replace

from iri.errors import ImageNotResolvable
from iri.machine import (
    HOST_BOOTED,
    InterfaceDetail,
    MachineState,
    Power,
    RuntimeCondition,
    RuntimeMachine,
    RuntimeNetworkInterface,
)
from iri.simulated import hotplug
from iri.simulated.host_model import NEVER_NS, HostModel, ObjectEvent
from iri.simulated.hotplug import PendingDevice

GENERATION_SEEN = "machinepoollet.ironcore.dev/irimachine-generation"
GUEST_POWER_OFF = "GuestPowerOff"
CRASH = "Crash"


class MachinePhase(IntEnum):
    """The numbers are in the state log."""

    BOOTING = 0
    RUNNING = 1
    STOPPING = 2  # published as running: the guest runs until it is off
    OFF = 3  # by order
    ENDED = 4  # by itself
    REMOVING = 5


STATES: Mapping[MachinePhase, MachineState] = {
    MachinePhase.BOOTING: MachineState.PENDING,
    MachinePhase.RUNNING: MachineState.RUNNING,
    MachinePhase.STOPPING: MachineState.RUNNING,
    MachinePhase.OFF: MachineState.SUSPENDED,
    MachinePhase.ENDED: MachineState.TERMINATED,
    MachinePhase.REMOVING: MachineState.TERMINATING,
}
IS_ON = frozenset((MachinePhase.BOOTING, MachinePhase.RUNNING, MachinePhase.STOPPING))
HAS_SYSTEM = frozenset((MachinePhase.RUNNING, MachinePhase.STOPPING))


class SimulatedMachine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`machine` is what callers see. `phase_due_ns` is when the phase ends: NEVER_NS when only a call ends it."""

    machine: RuntimeMachine
    phase: MachinePhase = MachinePhase.BOOTING
    phase_due_ns: int = NEVER_NS
    pending_devices: tuple[PendingDevice, ...] = ()
    resources: Mapping[str, int] = {}
    resources_at_boot: Mapping[str, int] | None = None  # of another class, which waits for the next boot
    local_bytes: int = 0  # of its local disks
    # (interface name, address) where the network assigned the address
    leases: tuple[tuple[str, str], ...] = ()
    is_hung: bool = False
    booted_ns: int = 0  # when its system started last

    @property
    def object(self) -> RuntimeMachine:
        """The name that it has in the records of all kinds."""
        return self.machine

    @property
    def due_ns(self) -> int:
        """When something about it changes next."""
        return min((self.phase_due_ns, *(device.due_ns for device in self.pending_devices)))


MachineStep = tuple[SimulatedMachine, tuple[ObjectEvent, ...]]


def create(guest: SimulatedMachine, now_ns: int, images_ready_ns: int, model: HostModel) -> MachineStep:
    """A new machine: its devices are attached, then it boots, unless its power is to be off."""
    machine = hotplug.mark_all_pending(guest.machine)
    guest = replace(guest, machine=machine, pending_devices=hotplug.attach_all(machine, now_ns, model))
    if guest.machine.spec.power is Power.OFF and not model.quirks.ignores_power:
        return enter_phase(guest, MachinePhase.OFF, model), ()
    if images_ready_ns == NEVER_NS:
        guest = replace(guest, pending_devices=())  # without a system none of them arrives
        return report_missing_image(enter_phase(guest, MachinePhase.BOOTING, model), now_ns, model), (
            ObjectEvent("ImagePullFailed", "PullImage", "the image cannot be pulled", is_warning=True),
        )
    ready_ns = max(now_ns, images_ready_ns, *(device.due_ns for device in guest.pending_devices), 0)
    return start_boot(guest, ready_ns, model), ()


def report_missing_image(guest: SimulatedMachine, now_ns: int, model: HostModel) -> SimulatedMachine:
    """It waits, with a condition that names the reason, unless the imitated provider gives none."""
    if model.quirks.gives_no_reasons:
        return guest
    condition = RuntimeCondition(
        type="Ready",
        status="False",
        reason=ImageNotResolvable.__name__,
        message="the image cannot be pulled: take it out of the profile's unavailable_images",
        last_transition_time=now_ns,
    )
    status = replace(guest.machine.status, conditions=(condition,))
    return replace(guest, machine=replace(guest.machine, status=status))


def step(
    guest: SimulatedMachine, at_ns: int, model: HostModel
) -> tuple[SimulatedMachine | None, tuple[ObjectEvent, ...]]:
    """Everything that is due by then. None when the machine is gone."""
    machine, rest, events = hotplug.finish_due(guest.machine, guest.pending_devices, at_ns)
    guest = replace(guest, machine=machine, pending_devices=rest)
    if guest.phase_due_ns > at_ns:
        return guest, events
    match guest.phase:
        case MachinePhase.BOOTING:
            started = ObjectEvent("Started", "Start", "the machine is running")
            return finish_boot(guest, model), (*events, started)
        case MachinePhase.STOPPING:
            after, more = finish_stop(guest, at_ns, model)
            return after, events + more
        case MachinePhase.REMOVING:
            return None, (*events, ObjectEvent("Removed", "Remove", "the machine is gone"))
        case MachinePhase.RUNNING | MachinePhase.OFF | MachinePhase.ENDED:
            return replace(guest, phase_due_ns=NEVER_NS), events


def finish_boot(guest: SimulatedMachine, model: HostModel) -> SimulatedMachine:
    """The operating system has started, with the resources that waited for a boot."""
    booted_ns = guest.phase_due_ns
    guest = change_detail(guest, boots=boot_count(guest) + 1, pending_changes=())
    resources = guest.resources_at_boot or guest.resources
    guest = replace(guest, resources=resources, resources_at_boot=None, booted_ns=booted_ns)
    return enter_phase(guest, MachinePhase.RUNNING, model)


def finish_stop(guest: SimulatedMachine, at_ns: int, model: HostModel) -> MachineStep:
    """The power is off. It comes on again when that was ordered meanwhile, or when the provider restarts guests."""
    is_by_guest = guest.machine.detail.reason == GUEST_POWER_OFF
    phase = MachinePhase.ENDED if is_by_guest else MachinePhase.OFF
    off = enter_phase(lose_power(guest), phase, model, reason=guest.machine.detail.reason)
    message = "the guest powered itself off" if is_by_guest else "the machine is off"
    events = (ObjectEvent("Stopped", "Stop", message),)
    is_to_run = is_to_be_on(guest.machine, model)
    if is_to_run and (not is_by_guest or model.quirks.restarts_guests):
        return start_boot(off, at_ns, model), events
    return off, events


def apply_power(guest: SimulatedMachine, now_ns: int, model: HostModel) -> MachineStep:
    """Makes the power what spec says. Ordering power on again starts a guest that ended by itself."""
    match is_to_be_on(guest.machine, model), guest.phase:
        case True, MachinePhase.OFF | MachinePhase.ENDED:
            return start_boot(guest, now_ns, model), ()
        case False, MachinePhase.RUNNING:
            due_ns = stop_due_ns(guest, now_ns, model)
            return enter_phase(guest, MachinePhase.STOPPING, model, due_ns), ()
        case False, MachinePhase.BOOTING | MachinePhase.ENDED:
            return enter_phase(guest, MachinePhase.OFF, model), ()
        case _, MachinePhase.STOPPING:
            # Whoever began the stop, its outcome now follows the order.
            return change_detail(guest, reason=""), ()
        case _:
            return guest, ()


def remove(guest: SimulatedMachine, now_ns: int, model: HostModel) -> MachineStep:
    """Starts the removal: shuts the guest down if it runs, then drops the record."""
    if guest.phase is MachinePhase.REMOVING:
        return guest, ()
    remove_ns = model.after(now_ns, model.times.remove, "remove", guest.machine.id)
    due_ns = stop_due_ns(guest, now_ns, model) if guest.phase in HAS_SYSTEM else remove_ns
    guest = replace(guest, machine=replace(guest.machine, deleted_at=now_ns))
    return enter_phase(guest, MachinePhase.REMOVING, model, due_ns), ()


def resize(guest: SimulatedMachine, resources: Mapping[str, int]) -> SimulatedMachine:
    """Applies another class: at once when the machine is off, else at its next boot."""
    waits = guest.phase in IS_ON and resources != guest.resources
    guest = change_detail(guest, pending_changes=("class",) if waits else ())
    if waits:
        return replace(guest, resources_at_boot=resources)
    return replace(guest, resources=resources, resources_at_boot=None)


def power_off_from_inside(guest: SimulatedMachine, now_ns: int, model: HostModel) -> MachineStep:
    """The guest shuts itself down, in its own time; ENDED follows."""
    due_ns = model.after(now_ns, model.times.stop, "stop", guest.machine.id, boot_count(guest))
    return enter_phase(guest, MachinePhase.STOPPING, model, due_ns, reason=GUEST_POWER_OFF), ()


def crash(guest: SimulatedMachine, now_ns: int, model: HostModel) -> MachineStep:
    """At once, without a shutdown."""
    events = (ObjectEvent("Crashed", "Run", "the guest crashed", is_warning=True),)
    ended = enter_phase(lose_power(guest), MachinePhase.ENDED, model, reason=CRASH)
    if model.quirks.restarts_guests and is_to_be_on(guest.machine, model):
        return start_boot(ended, now_ns, model), events
    return ended, events


def reboot_from_inside(guest: SimulatedMachine) -> MachineStep:
    """A reboot from inside: the machine is never published as off."""
    guest = lose_power(guest)
    events = (ObjectEvent("Rebooted", "Run", "the guest rebooted"),)
    return change_detail(guest, boots=boot_count(guest) + 1), events


def hang(guest: SimulatedMachine) -> MachineStep:
    """The guest stops answering: no device can be detached, and a stop takes `forced_stop`."""
    events = (ObjectEvent("Hung", "Run", "the guest does not answer", is_warning=True),)
    return replace(guest, is_hung=True, pending_devices=hotplug.block_detaches(guest.pending_devices)), events


def restart_with_host(
    guest: SimulatedMachine, up_ns: int, model: HostModel, *, is_held: bool
) -> SimulatedMachine:
    """The host was away until then: a machine that is to run boots again, or is held until its power is ordered; one that was stopping is
    off."""
    if guest.phase is MachinePhase.REMOVING:
        return replace(guest, phase_due_ns=model.after(up_ns, model.times.remove, "gone", guest.machine.id))
    guest = lose_power(guest)
    guest = replace(guest, pending_devices=hotplug.delay_attaches(guest.pending_devices, up_ns))
    if guest.phase not in IS_ON:
        return guest
    is_by_guest = guest.phase is MachinePhase.STOPPING and guest.machine.detail.reason == GUEST_POWER_OFF
    if is_to_be_on(guest.machine, model) and not is_by_guest:
        if is_held:
            return enter_phase(guest, MachinePhase.ENDED, model, reason=HOST_BOOTED)
        return start_boot(guest, up_ns, model)
    phase = MachinePhase.ENDED if is_by_guest else MachinePhase.OFF
    return enter_phase(guest, phase, model, reason=guest.machine.detail.reason)


def lose_power(guest: SimulatedMachine) -> SimulatedMachine:
    """Nothing runs: the guest does not hang any more, and devices that were leaving have left."""
    machine = hotplug.finish_detaches(guest.machine, guest.pending_devices)
    pending = hotplug.keep_attaches(guest.pending_devices)
    return replace(guest, is_hung=False, machine=machine, pending_devices=pending)


def start_boot(guest: SimulatedMachine, from_ns: int, model: HostModel) -> SimulatedMachine:
    """From now, or from the later time at which images and devices are there."""
    due_ns = model.after(from_ns, model.times.boot, "boot", guest.machine.id, boot_count(guest))
    return enter_phase(guest, MachinePhase.BOOTING, model, due_ns)


def enter_phase(
    guest: SimulatedMachine, phase: MachinePhase, model: HostModel, due_ns: int = NEVER_NS, reason: str = ""
) -> SimulatedMachine:
    """Enters the phase, which ends at `due_ns`, and publishes state, addresses and console accordingly."""
    guest = refresh_status(replace(guest, phase=phase, phase_due_ns=due_ns), model)
    machine = guest.machine
    console = f"gitvirt iri exec {machine.id}" if phase in HAS_SYSTEM else ""
    status = replace(machine.status, state=STATES[phase], conditions=())
    detail = replace(machine.detail, console=console, reason=reason)
    return replace(guest, machine=replace(machine, status=status, detail=detail))


def refresh_status(guest: SimulatedMachine, model: HostModel) -> SimulatedMachine:
    """Publishes status and detail again after spec or annotations have changed."""
    machine = guest.machine
    status = replace(machine.status, observed_generation=observed_generation(machine, model))
    detail = replace(machine.detail, network_interfaces=describe_interfaces(guest, model))
    return replace(guest, machine=replace(machine, status=status, detail=detail))


def change_detail(guest: SimulatedMachine, **changes: object) -> SimulatedMachine:
    """Spec and status stay the identical objects, by which the indexes see that nothing of theirs has changed."""
    detail = replace(guest.machine.detail, **changes)
    return replace(guest, machine=replace(guest.machine, detail=detail))


def describe_interfaces(guest: SimulatedMachine, model: HostModel) -> tuple[InterfaceDetail, ...]:
    """The interfaces of spec. Addresses are published only while a system answers to them."""
    leases = {name: (address,) for name, address in guest.leases}
    return tuple(
        InterfaceDetail(
            name=interface.name,
            mac=choose_mac(interface, model.random.hex(5, "mac", guest.machine.id, interface.name)),
            ips=(interface.ips or leases.get(interface.name, ())) if guest.phase in HAS_SYSTEM else (),
        )
        for interface in guest.machine.spec.network_interfaces
    )


def choose_mac(interface: RuntimeNetworkInterface, digest: str) -> str:
    """The address of the spec; else a locally administered one made of ten hex digits."""
    given = interface.attributes.get("mac", "")
    return given or ":".join(["02", *(digest[i : i + 2] for i in range(0, 10, 2))])


def stop_due_ns(guest: SimulatedMachine, now_ns: int, model: HostModel) -> int:
    """When a stop that begins now has ended. A guest that hangs does not answer the power button and takes `forced_stop`."""
    duration = model.times.forced_stop if guest.is_hung else model.times.stop
    return model.after(now_ns, duration, "stop", guest.machine.id, boot_count(guest))


def is_to_be_on(machine: RuntimeMachine, model: HostModel) -> bool:
    """By the order, unless the imitated provider ignores orders about power."""
    return machine.spec.power is not Power.OFF or model.quirks.ignores_power


def boot_count(guest: SimulatedMachine) -> int:
    """Part of what a duration depends on, so that each boot takes a time of its own, and the same one in every run."""
    return guest.machine.detail.boots


def observed_generation(machine: RuntimeMachine, model: HostModel) -> int:
    """Never lower than the generation that the caller has recorded, or the caller ignores every later status."""
    if model.quirks.has_no_generations:
        return 0
    seen = machine.annotations.get(GENERATION_SEEN, "")
    return max(machine.generation, int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 19 else 0)
