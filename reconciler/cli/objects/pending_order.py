"""Orders of people after which a machine is another run of itself: `gitvirt replace`, `gitvirt move` and `gitvirt restart`.

Until one is carried out, what is on the target branch is the machine as it was before: no state of it is the one that a script waits for after
such an order. The first two are about one assignment, so the next one shows that they were carried out; of a restart the host reports the token.

Limits: it says what is ordered, not whether it can be done. A pin to another pool counts only if the machine may go there: it has no local
disk, or people agreed to lose those (`gitvirt.dev/move-consent`, `onPoolLost: Replace`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.decide.eviction import is_order_to_move
from reconciler.query.inventory import InventoryItem, read_file, read_manifests
from reconciler.world.objects.relations import pin_of
from schemas import live_layout
from schemas.effects.removal import list_local_disks
from schemas.model import Assignment, Machine


def find_order(fleet: FleetRepo, item: InventoryItem) -> str:
    """How a sentence about the machine goes on, such as `ordered to be RECREATED`; empty if no order is left to be carried out."""
    machine = item.object
    if not isinstance(machine, Machine) or machine.status.assignment is None:
        return ""
    assignment, declared = machine.status.assignment, tuple(declared_machines(fleet, item))
    if is_recreated((*declared, machine), assignment):
        return "ordered to be RECREATED: that is the old one"
    pins = (pin_of(each) for each in declared if may_leave(each, machine, assignment))
    pin = next((each for each in pins if is_order_to_move(assignment.pool, each)), "")
    if pin:
        return f"ordered to move: STOPS on {assignment.pool}, starts on {pin}"
    is_pending = any(is_restart_pending(each, machine) for each in declared)
    return "ordered to restart, which its host has not reported yet" if is_pending else ""


def declared_machines(fleet: FleetRepo, item: InventoryItem) -> Iterator[Machine]:
    """As the file of the machine declares it in the source now."""
    for file in read_manifests(fleet.repo, fleet.snapshot.source, [item.path]):
        for each in read_file(file)[0]:
            if each.key == item.key and isinstance(each.object, Machine):
                yield each.object


def is_recreated(machines: Iterable[Machine], assignment: Assignment) -> bool:
    return assignment.id in {each.metadata.annotations.get(live_layout.RECREATE) for each in machines}


def is_restart_pending(declared: Machine, machine: Machine) -> bool:
    """Whether its host has to restart it. The host notes the token of a machine that is off, and does not restart a paused one."""
    notes = declared.metadata.annotations
    token = notes.get(live_layout.RESTART, "")
    is_on = declared.spec.power == "On" and notes.get(live_layout.PAUSED) != "true"
    return is_on and token not in ("", machine.status.restart)


def may_leave(declared: Machine, machine: Machine, assignment: Assignment) -> bool:
    """Whether a pin to another pool moves it without further consent. A paused machine stays."""
    notes = declared.metadata.annotations
    if notes.get(live_layout.PAUSED) == "true":
        return False
    may_lose = declared.spec.on_pool_lost == "Replace" or notes.get(live_layout.MOVE_CONSENT) == assignment.id
    return may_lose or not list_local_disks(machine)
