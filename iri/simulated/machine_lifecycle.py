"""One machine's life: phases, and what leads from one to the next. Pure: the time is an argument, a step gives a new
guest and what people are told of it. Devices on their way in or out are in hotplug.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import msgspec
from msgspec.structs import replace

from iri.errors import ImageNotResolvable
from iri.machine import (
    InterfaceDetail,
    MachineState,
    Power,
    RuntimeCondition,
    RuntimeMachine,
    RuntimeNetworkInterface,
)
from iri.simulated import hotplug
from iri.simulated.host_model import NEVER_NS, HostModel, LifecycleEvent
from iri.simulated.hotplug import PendingDevice

GENERATION_SEEN = "machinepoollet.ironcore.dev/irimachine-generation"
GUEST_POWER_OFF = "GuestPowerOff"
CRASH = "Crash"


class MachinePhase(IntEnum):
    BOOTING = 0
    RUNNING = 1
    STOPPING = 2  # seen as running: it is, until it is off
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
    """`machine` is what is told of it. `phase_due_ns` is when the phase ends: NEVER_NS when nothing ends it."""

    machine: RuntimeMachine
    phase: MachinePhase = MachinePhase.BOOTING
    phase_due_ns: int = NEVER_NS
    plugs: tuple[PendingDevice, ...] = ()
    resources: Mapping[str, int] = {}
    resources_at_boot: Mapping[str, int] | None = None  # of another class, that waits for the next boot
    local_bytes: int = 0  # of its local disks
    leases: tuple[tuple[str, str], ...] = ()  # address by interface, of those the network gave one
    is_hung: bool = False

    @property
    def told(self) -> RuntimeMachine:
        return self.machine

    @property
    def due_ns(self) -> int:
        return min((self.phase_due_ns, *(plug.due_ns for plug in self.plugs)))


MachineStep = tuple[SimulatedMachine, tuple[LifecycleEvent, ...]]


def create(guest: SimulatedMachine, now_ns: int, images_ready_ns: int, nature: HostModel) -> MachineStep:
    """A new machine: its devices go in, then it boots, unless it is to be off."""
    machine = hotplug.mark_all_pending(guest.machine)
    guest = replace(guest, machine=machine, plugs=hotplug.attach_all(machine, now_ns, nature))
    if guest.machine.spec.power is Power.OFF and not nature.behaviour.ignores_power:
        return enter_phase(guest, MachinePhase.OFF, nature), ()
    if images_ready_ns == NEVER_NS:
        return report_missing_image(enter_phase(guest, MachinePhase.BOOTING, nature), now_ns, nature), (
            LifecycleEvent("ImagePullFailed", "PullImage", "the image cannot be pulled", is_warning=True),
        )
    ready_ns = max(now_ns, images_ready_ns, *(plug.due_ns for plug in guest.plugs), 0)
    return start_boot(guest, ready_ns, nature), ()


def report_missing_image(guest: SimulatedMachine, now_ns: int, nature: HostModel) -> SimulatedMachine:
    """It waits, and says for what, unless the provider that the host resembles says nothing."""
    if nature.behaviour.gives_no_reasons:
        return guest
    waits = RuntimeCondition(
        type="Ready",
        status="False",
        reason=ImageNotResolvable.__name__,
        message="the image cannot be pulled: take it out of the profile's unavailable_images",
        last_transition_time=now_ns,
    )
    status = replace(guest.machine.status, conditions=(waits,))
    return replace(guest, machine=replace(guest.machine, status=status))


def step(
    guest: SimulatedMachine, at_ns: int, nature: HostModel
) -> tuple[SimulatedMachine | None, tuple[LifecycleEvent, ...]]:
    """What is due by then. None when the machine is gone."""
    machine, rest, told = hotplug.finish_due(guest.machine, guest.plugs, at_ns)
    guest = replace(guest, machine=machine, plugs=rest)
    if guest.phase_due_ns > at_ns:
        return guest, told
    match guest.phase:
        case MachinePhase.BOOTING:
            return finish_boot(guest, nature), (
                *told,
                LifecycleEvent("Started", "Start", "the machine is running"),
            )
        case MachinePhase.STOPPING:
            after, more = finish_stop(guest, at_ns, nature)
            return after, told + more
        case MachinePhase.REMOVING:
            return None, (*told, LifecycleEvent("Removed", "Remove", "the machine is gone"))
        case MachinePhase.RUNNING | MachinePhase.OFF | MachinePhase.ENDED:
            return replace(guest, phase_due_ns=NEVER_NS), told


def finish_boot(guest: SimulatedMachine, nature: HostModel) -> SimulatedMachine:
    """Its operating system has started, on the hardware that was waiting for a boot."""
    detail = replace(guest.machine.detail, boots=guest.machine.detail.boots + 1, pending_changes=())
    guest = replace(
        guest,
        machine=replace(guest.machine, detail=detail),
        resources=guest.resources_at_boot or guest.resources,
        resources_at_boot=None,
    )
    return enter_phase(guest, MachinePhase.RUNNING, nature)


def finish_stop(guest: SimulatedMachine, at_ns: int, nature: HostModel) -> MachineStep:
    """The power is off. It comes back when meanwhile it was ordered on again, or the host always restarts guests."""
    is_own_doing = guest.machine.detail.reason == GUEST_POWER_OFF
    off = enter_phase(
        replace(guest, is_hung=False, machine=hotplug.finish_detaches(guest.machine, guest.plugs)),
        MachinePhase.ENDED if is_own_doing else MachinePhase.OFF,
        nature,
        reason=guest.machine.detail.reason,
    )
    off = replace(off, plugs=hotplug.keep_attaches(guest.plugs))
    told = (
        LifecycleEvent(
            "Stopped", "Stop", "the guest switched itself off" if is_own_doing else "the machine is off"
        ),
    )
    wants_on = is_on(guest.machine, nature)
    if wants_on and (not is_own_doing or nature.behaviour.restarts_guests):
        return start_boot(off, at_ns, nature), told
    return off, told


def apply_power(guest: SimulatedMachine, now_ns: int, nature: HostModel) -> MachineStep:
    """The machine's power is what its spec says from now on; asking again starts a guest that went off by itself."""
    wants_on = is_on(guest.machine, nature)
    if wants_on and guest.phase in (MachinePhase.OFF, MachinePhase.ENDED):
        return start_boot(guest, now_ns, nature), ()
    if wants_on and guest.phase is MachinePhase.STOPPING:
        return set_reason(guest, ""), ()
    if not wants_on and guest.phase is MachinePhase.BOOTING:
        return enter_phase(guest, MachinePhase.OFF, nature), ()
    if not wants_on and guest.phase is MachinePhase.RUNNING:
        due_ns = stop_due_ns(guest, now_ns, nature)
        return replace(enter_phase(guest, MachinePhase.STOPPING, nature), phase_due_ns=due_ns), ()
    if not wants_on and guest.phase is MachinePhase.ENDED:
        return enter_phase(guest, MachinePhase.OFF, nature), ()
    if not wants_on and guest.phase is MachinePhase.STOPPING:
        return set_reason(guest, ""), ()
    return guest, ()


def remove(guest: SimulatedMachine, now_ns: int, nature: HostModel) -> MachineStep:
    """Under deletion: shut down if it runs, then gone."""
    if guest.phase is MachinePhase.REMOVING:
        return guest, ()
    remove_ns = nature.after(now_ns, nature.times.remove, "remove", guest.machine.id)
    due_ns = stop_due_ns(guest, now_ns, nature) if guest.phase in HAS_SYSTEM else remove_ns
    guest = replace(guest, machine=replace(guest.machine, deleted_at=now_ns))
    return replace(enter_phase(guest, MachinePhase.REMOVING, nature), phase_due_ns=due_ns), ()


def resize(guest: SimulatedMachine, resources: Mapping[str, int]) -> SimulatedMachine:
    """Another class: at once when the machine is off, else at its next boot."""
    waits = guest.phase in IS_ON and resources != guest.resources
    detail = replace(guest.machine.detail, pending_changes=("class",) if waits else ())
    guest = replace(guest, machine=replace(guest.machine, detail=detail))
    if waits:
        return replace(guest, resources_at_boot=resources)
    return replace(guest, resources=resources, resources_at_boot=None)


def power_off_from_inside(guest: SimulatedMachine, now_ns: int, nature: HostModel) -> MachineStep:
    due_ns = nature.after(now_ns, nature.times.stop, "stop", guest.machine.id, boot_count(guest))
    stopping = enter_phase(guest, MachinePhase.STOPPING, nature, reason=GUEST_POWER_OFF)
    return replace(stopping, phase_due_ns=due_ns), ()


def crash(guest: SimulatedMachine, now_ns: int, nature: HostModel) -> MachineStep:
    told = (LifecycleEvent("Crashed", "Run", "the guest crashed", is_warning=True),)
    machine = hotplug.finish_detaches(guest.machine, guest.plugs)
    guest = replace(guest, is_hung=False, machine=machine, plugs=hotplug.keep_attaches(guest.plugs))
    ended = enter_phase(guest, MachinePhase.ENDED, nature, reason=CRASH)
    if nature.behaviour.restarts_guests and is_on(guest.machine, nature):
        return start_boot(ended, now_ns, nature), told
    return ended, told


def reboot_from_inside(guest: SimulatedMachine) -> MachineStep:
    """A reboot from inside: the machine is never seen as off."""
    detail = replace(guest.machine.detail, boots=boot_count(guest) + 1)
    told = (LifecycleEvent("Rebooted", "Run", "the guest rebooted"),)
    machine = replace(hotplug.finish_detaches(guest.machine, guest.plugs), detail=detail)
    return replace(guest, is_hung=False, machine=machine, plugs=hotplug.keep_attaches(guest.plugs)), told


def hang(guest: SimulatedMachine) -> MachineStep:
    """It answers nothing any more: no device leaves it, and the power button does nothing until grace is over."""
    told = (LifecycleEvent("Hung", "Run", "the guest does not answer", is_warning=True),)
    return replace(guest, is_hung=True, plugs=hotplug.block_detaches(guest.plugs)), told


def restart_with_host(guest: SimulatedMachine, up_ns: int, nature: HostModel) -> SimulatedMachine:
    """The host was away until then: what was to run boots again, what was on its way off is off."""
    if guest.phase is MachinePhase.REMOVING:
        return replace(guest, phase_due_ns=nature.after(up_ns, nature.times.remove, "gone", guest.machine.id))
    machine = hotplug.finish_detaches(guest.machine, guest.plugs)
    guest = replace(guest, is_hung=False, machine=machine, plugs=hotplug.delay_attaches(guest.plugs, up_ns))
    if guest.phase not in IS_ON:
        return guest
    is_own_doing = guest.phase is MachinePhase.STOPPING and guest.machine.detail.reason == GUEST_POWER_OFF
    if is_on(guest.machine, nature) and not is_own_doing:
        return start_boot(guest, up_ns, nature)
    return enter_phase(
        guest,
        MachinePhase.ENDED if is_own_doing else MachinePhase.OFF,
        nature,
        reason=guest.machine.detail.reason,
    )


def start_boot(guest: SimulatedMachine, from_ns: int, nature: HostModel) -> SimulatedMachine:
    due_ns = nature.after(from_ns, nature.times.boot, "boot", guest.machine.id, boot_count(guest))
    return replace(enter_phase(guest, MachinePhase.BOOTING, nature), phase_due_ns=due_ns)


def enter_phase(
    guest: SimulatedMachine, phase: MachinePhase, nature: HostModel, reason: str = ""
) -> SimulatedMachine:
    """In that phase, for good, and telling so."""
    machine = guest.machine
    status = replace(
        machine.status,
        state=STATES[phase],
        observed_generation=observed_generation(machine, nature),
        conditions=(),
    )
    detail = replace(
        machine.detail,
        network_interfaces=describe_interfaces(guest, phase, nature),
        console=f"gitvirt iri exec {machine.id}" if phase in HAS_SYSTEM else "",
        reason=reason,
    )
    machine = replace(machine, status=status, detail=detail)
    return replace(guest, machine=machine, phase=phase, phase_due_ns=NEVER_NS)


def refresh_status(guest: SimulatedMachine, nature: HostModel) -> SimulatedMachine:
    """Telling what the present spec and annotations make of status and detail."""
    machine = guest.machine
    status = replace(machine.status, observed_generation=observed_generation(machine, nature))
    detail = replace(machine.detail, network_interfaces=describe_interfaces(guest, guest.phase, nature))
    return replace(guest, machine=replace(machine, status=status, detail=detail))


def set_reason(guest: SimulatedMachine, reason: str) -> SimulatedMachine:
    detail = replace(guest.machine.detail, reason=reason)
    return replace(guest, machine=replace(guest.machine, detail=detail))


def describe_interfaces(
    guest: SimulatedMachine, phase: MachinePhase, nature: HostModel
) -> tuple[InterfaceDetail, ...]:
    """Addresses are seen while a system answers to them."""
    leases = dict(guest.leases)
    return tuple(
        InterfaceDetail(
            name=interface.name,
            mac=choose_mac(interface, nature.chance.hex(5, "mac", guest.machine.id, interface.name)),
            ips=choose_ips(interface.ips, leases.get(interface.name, "")) if phase in HAS_SYSTEM else (),
        )
        for interface in guest.machine.spec.network_interfaces
    )


def choose_mac(interface: RuntimeNetworkInterface, digest: str) -> str:
    """The one it brings; else a locally administered one made of ten hex digits."""
    wanted = interface.attributes.get("mac", "")
    return wanted or ":".join(["02", *(digest[i : i + 2] for i in range(0, 10, 2))])


def choose_ips(given: tuple[str, ...], leased: str) -> tuple[str, ...]:
    return given or ((leased,) if leased else ())


def stop_due_ns(guest: SimulatedMachine, now_ns: int, nature: HostModel) -> int:
    span = nature.times.grace if guest.is_hung else nature.times.stop
    return nature.after(now_ns, span, "stop", guest.machine.id, boot_count(guest))


def is_on(machine: RuntimeMachine, nature: HostModel) -> bool:
    return machine.spec.power is not Power.OFF or nature.behaviour.ignores_power


def boot_count(guest: SimulatedMachine) -> int:
    return guest.machine.detail.boots


def observed_generation(machine: RuntimeMachine, nature: HostModel) -> int:
    """Never behind what the caller says it has seen, or it takes no status from us any more."""
    if nature.behaviour.counts_no_generations:
        return 0
    seen = machine.annotations.get(GENERATION_SEEN, "")
    return max(machine.generation, int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 19 else 0)
