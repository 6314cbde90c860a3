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
from iri.simulated.host_model import NEVER_NS, Happening, Nature
from iri.simulated.hotplug import Plug

GENERATION_SEEN = "machinepoollet.ironcore.dev/irimachine-generation"
GUEST_POWER_OFF = "GuestPowerOff"
CRASH = "Crash"


class Phase(IntEnum):
    BOOTING = 0
    RUNNING = 1
    STOPPING = 2  # seen as running: it is, until it is off
    OFF = 3  # by order
    ENDED = 4  # by itself
    REMOVING = 5


STATES: Mapping[Phase, MachineState] = {
    Phase.BOOTING: MachineState.PENDING,
    Phase.RUNNING: MachineState.RUNNING,
    Phase.STOPPING: MachineState.RUNNING,
    Phase.OFF: MachineState.SUSPENDED,
    Phase.ENDED: MachineState.TERMINATED,
    Phase.REMOVING: MachineState.TERMINATING,
}
IS_ON = frozenset((Phase.BOOTING, Phase.RUNNING, Phase.STOPPING))
HAS_SYSTEM = frozenset((Phase.RUNNING, Phase.STOPPING))


class Guest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`machine` is what is told of it. `phase_due_ns` is when the phase ends: NEVER_NS when nothing ends it."""

    machine: RuntimeMachine
    phase: Phase = Phase.BOOTING
    phase_due_ns: int = NEVER_NS
    plugs: tuple[Plug, ...] = ()
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


Step = tuple[Guest, tuple[Happening, ...]]


def created(guest: Guest, now_ns: int, images_ready_ns: int, nature: Nature) -> Step:
    """A new machine: its devices go in, then it boots, unless it is to be off."""
    machine = hotplug.all_pending(guest.machine)
    guest = replace(guest, machine=machine, plugs=hotplug.all_in(machine, now_ns, nature))
    if guest.machine.spec.power is Power.OFF and not nature.behaviour.ignores_power:
        return in_phase(guest, Phase.OFF, nature), ()
    if images_ready_ns == NEVER_NS:
        return without_image(in_phase(guest, Phase.BOOTING, nature), now_ns, nature), (
            Happening("ImagePullFailed", "PullImage", "the image cannot be pulled", is_warning=True),
        )
    ready_ns = max(now_ns, images_ready_ns, *(plug.due_ns for plug in guest.plugs), 0)
    return booting(guest, ready_ns, nature), ()


def without_image(guest: Guest, now_ns: int, nature: Nature) -> Guest:
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


def stepped(guest: Guest, at_ns: int, nature: Nature) -> tuple[Guest | None, tuple[Happening, ...]]:
    """What is due by then. None when the machine is gone."""
    machine, rest, told = hotplug.done(guest.machine, guest.plugs, at_ns)
    guest = replace(guest, machine=machine, plugs=rest)
    if guest.phase_due_ns > at_ns:
        return guest, told
    match guest.phase:
        case Phase.BOOTING:
            return with_system(guest, nature), (
                *told,
                Happening("Started", "Start", "the machine is running"),
            )
        case Phase.STOPPING:
            after, more = stopped(guest, at_ns, nature)
            return after, told + more
        case Phase.REMOVING:
            return None, (*told, Happening("Removed", "Remove", "the machine is gone"))
        case Phase.RUNNING | Phase.OFF | Phase.ENDED:
            return replace(guest, phase_due_ns=NEVER_NS), told


def with_system(guest: Guest, nature: Nature) -> Guest:
    """Its operating system has started, on the hardware that was waiting for a boot."""
    detail = replace(guest.machine.detail, boots=guest.machine.detail.boots + 1, pending_changes=())
    guest = replace(
        guest,
        machine=replace(guest.machine, detail=detail),
        resources=guest.resources_at_boot or guest.resources,
        resources_at_boot=None,
    )
    return in_phase(guest, Phase.RUNNING, nature)


def stopped(guest: Guest, at_ns: int, nature: Nature) -> Step:
    """The power is off. It comes back when meanwhile it was ordered on again, or the host always restarts guests."""
    is_own_doing = guest.machine.detail.reason == GUEST_POWER_OFF
    off = in_phase(
        replace(guest, is_hung=False, machine=hotplug.all_out(guest.machine, guest.plugs)),
        Phase.ENDED if is_own_doing else Phase.OFF,
        nature,
        reason=guest.machine.detail.reason,
    )
    off = replace(off, plugs=hotplug.going_in(guest.plugs))
    told = (
        Happening(
            "Stopped", "Stop", "the guest switched itself off" if is_own_doing else "the machine is off"
        ),
    )
    wants_on = is_on(guest.machine, nature)
    if wants_on and (not is_own_doing or nature.behaviour.restarts_guests):
        return booting(off, at_ns, nature), told
    return off, told


def powered(guest: Guest, now_ns: int, nature: Nature) -> Step:
    """The machine's power is what its spec says from now on; asking again starts a guest that went off by itself."""
    wants_on = is_on(guest.machine, nature)
    if wants_on and guest.phase in (Phase.OFF, Phase.ENDED):
        return booting(guest, now_ns, nature), ()
    if wants_on and guest.phase is Phase.STOPPING:
        return told_because(guest, ""), ()
    if not wants_on and guest.phase is Phase.BOOTING:
        return in_phase(guest, Phase.OFF, nature), ()
    if not wants_on and guest.phase is Phase.RUNNING:
        due_ns = stop_due_ns(guest, now_ns, nature)
        return replace(in_phase(guest, Phase.STOPPING, nature), phase_due_ns=due_ns), ()
    if not wants_on and guest.phase is Phase.ENDED:
        return in_phase(guest, Phase.OFF, nature), ()
    if not wants_on and guest.phase is Phase.STOPPING:
        return told_because(guest, ""), ()
    return guest, ()


def removed(guest: Guest, now_ns: int, nature: Nature) -> Step:
    """Under deletion: shut down if it runs, then gone."""
    if guest.phase is Phase.REMOVING:
        return guest, ()
    remove_ns = nature.after(now_ns, nature.times.remove, "remove", guest.machine.id)
    due_ns = stop_due_ns(guest, now_ns, nature) if guest.phase in HAS_SYSTEM else remove_ns
    guest = replace(guest, machine=replace(guest.machine, deleted_at=now_ns))
    return replace(in_phase(guest, Phase.REMOVING, nature), phase_due_ns=due_ns), ()


def resized(guest: Guest, resources: Mapping[str, int]) -> Guest:
    """Another class: at once when the machine is off, else at its next boot."""
    waits = guest.phase in IS_ON and resources != guest.resources
    detail = replace(guest.machine.detail, pending_changes=("class",) if waits else ())
    guest = replace(guest, machine=replace(guest.machine, detail=detail))
    if waits:
        return replace(guest, resources_at_boot=resources)
    return replace(guest, resources=resources, resources_at_boot=None)


def switched_itself_off(guest: Guest, now_ns: int, nature: Nature) -> Step:
    due_ns = nature.after(now_ns, nature.times.stop, "stop", guest.machine.id, boots(guest))
    stopping = in_phase(guest, Phase.STOPPING, nature, reason=GUEST_POWER_OFF)
    return replace(stopping, phase_due_ns=due_ns), ()


def crashed(guest: Guest, now_ns: int, nature: Nature) -> Step:
    told = (Happening("Crashed", "Run", "the guest crashed", is_warning=True),)
    machine = hotplug.all_out(guest.machine, guest.plugs)
    guest = replace(guest, is_hung=False, machine=machine, plugs=hotplug.going_in(guest.plugs))
    ended = in_phase(guest, Phase.ENDED, nature, reason=CRASH)
    if nature.behaviour.restarts_guests and is_on(guest.machine, nature):
        return booting(ended, now_ns, nature), told
    return ended, told


def restarted_itself(guest: Guest) -> Step:
    """A reboot from inside: the machine is never seen as off."""
    detail = replace(guest.machine.detail, boots=boots(guest) + 1)
    told = (Happening("Rebooted", "Run", "the guest rebooted"),)
    machine = replace(hotplug.all_out(guest.machine, guest.plugs), detail=detail)
    return replace(guest, is_hung=False, machine=machine, plugs=hotplug.going_in(guest.plugs)), told


def hung(guest: Guest) -> Step:
    """It answers nothing any more: no device leaves it, and the power button does nothing until grace is over."""
    told = (Happening("Hung", "Run", "the guest does not answer", is_warning=True),)
    return replace(guest, is_hung=True, plugs=hotplug.stuck(guest.plugs)), told


def after_host_restart(guest: Guest, up_ns: int, nature: Nature) -> Guest:
    """The host was away until then: what was to run boots again, what was on its way off is off."""
    if guest.phase is Phase.REMOVING:
        return replace(guest, phase_due_ns=nature.after(up_ns, nature.times.remove, "gone", guest.machine.id))
    machine = hotplug.all_out(guest.machine, guest.plugs)
    guest = replace(guest, is_hung=False, machine=machine, plugs=hotplug.not_before(guest.plugs, up_ns))
    if guest.phase not in IS_ON:
        return guest
    is_own_doing = guest.phase is Phase.STOPPING and guest.machine.detail.reason == GUEST_POWER_OFF
    if is_on(guest.machine, nature) and not is_own_doing:
        return booting(guest, up_ns, nature)
    return in_phase(
        guest, Phase.ENDED if is_own_doing else Phase.OFF, nature, reason=guest.machine.detail.reason
    )


def booting(guest: Guest, from_ns: int, nature: Nature) -> Guest:
    due_ns = nature.after(from_ns, nature.times.boot, "boot", guest.machine.id, boots(guest))
    return replace(in_phase(guest, Phase.BOOTING, nature), phase_due_ns=due_ns)


def in_phase(guest: Guest, phase: Phase, nature: Nature, reason: str = "") -> Guest:
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
        network_interfaces=interfaces(guest, phase, nature),
        console=f"gitvirt iri exec {machine.id}" if phase in HAS_SYSTEM else "",
        reason=reason,
    )
    machine = replace(machine, status=status, detail=detail)
    return replace(guest, machine=machine, phase=phase, phase_due_ns=NEVER_NS)


def up_to_date(guest: Guest, nature: Nature) -> Guest:
    """Telling what the present spec and annotations make of status and detail."""
    machine = guest.machine
    status = replace(machine.status, observed_generation=observed_generation(machine, nature))
    detail = replace(machine.detail, network_interfaces=interfaces(guest, guest.phase, nature))
    return replace(guest, machine=replace(machine, status=status, detail=detail))


def told_because(guest: Guest, reason: str) -> Guest:
    detail = replace(guest.machine.detail, reason=reason)
    return replace(guest, machine=replace(guest.machine, detail=detail))


def interfaces(guest: Guest, phase: Phase, nature: Nature) -> tuple[InterfaceDetail, ...]:
    """Addresses are seen while a system answers to them."""
    leases = dict(guest.leases)
    return tuple(
        InterfaceDetail(
            name=interface.name,
            mac=mac_of(interface, nature.chance.hex(5, "mac", guest.machine.id, interface.name)),
            ips=ips(interface.ips, leases.get(interface.name, "")) if phase in HAS_SYSTEM else (),
        )
        for interface in guest.machine.spec.network_interfaces
    )


def mac_of(interface: RuntimeNetworkInterface, digest: str) -> str:
    """The one it brings; else a locally administered one made of ten hex digits."""
    wanted = interface.attributes.get("mac", "")
    return wanted or ":".join(["02", *(digest[i : i + 2] for i in range(0, 10, 2))])


def ips(given: tuple[str, ...], leased: str) -> tuple[str, ...]:
    return given or ((leased,) if leased else ())


def stop_due_ns(guest: Guest, now_ns: int, nature: Nature) -> int:
    span = nature.times.grace if guest.is_hung else nature.times.stop
    return nature.after(now_ns, span, "stop", guest.machine.id, boots(guest))


def is_on(machine: RuntimeMachine, nature: Nature) -> bool:
    return machine.spec.power is not Power.OFF or nature.behaviour.ignores_power


def boots(guest: Guest) -> int:
    return guest.machine.detail.boots


def observed_generation(machine: RuntimeMachine, nature: Nature) -> int:
    """Never behind what the caller says it has seen, or it takes no status from us any more."""
    if nature.behaviour.counts_no_generations:
        return 0
    seen = machine.annotations.get(GENERATION_SEEN, "")
    return max(machine.generation, int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 19 else 0)
