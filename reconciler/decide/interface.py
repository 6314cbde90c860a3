"""What a network interface needs: the status that its machine's pool sees. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.decide.need import Keep, Need
from reconciler.decide.object_edit import Turn
from reconciler.decide.references import machines_of
from reconciler.decide.view import View
from reconciler.plan.types import Action
from reconciler.world.record import Record
from reconciler.world.reports.folding import folded_interface
from schemas.kinds import Key
from schemas.model import MachineNetworkInterfaceStatus, MachineStatus, NetworkInterfaceStatus


def interface(view: View, turn: Turn, needs: Mapping[Key, Need]) -> Turn:
    """`needs` has what this tick makes of the machines."""
    status = turn.record.status
    if not isinstance(status, NetworkInterfaceStatus):
        return turn
    machines = machines_of(view, turn.known)
    records = (needs[each.key].record if each.key in needs else each.record for each in machines)
    seen = next((card for record in records for card in cards(record, turn.known.key)), None)
    folded = folded_interface(status, seen, turn.now)
    if folded == status:
        return turn
    return turn.with_record(status=folded).does(Action.STATUS, folded.state.lower() or "on no machine")


def keep(view: View, turn: Turn, needs: Mapping[Key, Need]) -> Keep:
    return Keep(**interface(view, turn, needs).course())


def cards(record: Record, key: Key) -> tuple[MachineNetworkInterfaceStatus, ...]:
    status = record.status
    if not isinstance(status, MachineStatus):
        return ()
    return tuple(
        card
        for card in status.network_interfaces
        if card.network_interface_ref is not None and card.network_interface_ref.name == key.name
    )
