"""What a network interface needs: the status that the pool of its machine reports. Pure.

An interface has no pool and no assignment of its own, so it is never placed, evicted or adopted. `decide` evaluates it after the
machines: it repeats what this tick makes of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.decide.need import Keep, Need
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.outcome import keep
from reconciler.decide.references import machines_of
from reconciler.plan.types import Action
from reconciler.world.record import Record
from reconciler.world.reports.status_update import interface_status_from_report
from reconciler.world.view import View
from schemas.kinds import Key
from schemas.model import MachineNetworkInterfaceStatus, MachineStatus, NetworkInterfaceStatus


def update_interface(view: View, edit: ObjectEdit, needs: Mapping[Key, Need]) -> ObjectEdit:
    """With the state and addresses that the first machine which names it reports; empty when no machine reports it.

    `needs` has what this tick makes of the machines; a machine that is not in it is as the World has it.
    """
    status = edit.record.status
    if not isinstance(status, NetworkInterfaceStatus):
        return edit
    machines = machines_of(view, edit.known)
    records = (needs[each.key].record if each.key in needs else each.record for each in machines)
    seen = next((card for record in records for card in cards(record, edit.known.key)), None)
    status_from_report = interface_status_from_report(status, seen, edit.now)
    if status_from_report == status:
        return edit
    return edit.with_record(status=status_from_report).log_change(
        Action.STATUS, status_from_report.state.lower() or "on no machine"
    )


def decide_interface(view: View, edit: ObjectEdit, needs: Mapping[Key, Need]) -> Keep:
    return keep(update_interface(view, edit, needs))


def cards(record: Record, key: Key) -> tuple[MachineNetworkInterfaceStatus, ...]:
    """What the machine of this record reports about that interface."""
    status = record.status
    if not isinstance(status, MachineStatus):
        return ()
    return tuple(
        card
        for card in status.network_interfaces
        if card.network_interface_ref is not None and card.network_interface_ref.name == key.name
    )
