"""Orders for objects that are not here, while the host still asks whether `live` is current: none is accepted, and nothing is forgotten.

Must never happen: an assignment that was refused for good is carried out because its answer was forgotten.
"""

from __future__ import annotations

from poollet.decide.decision_pass import DecisionPass, OrderedObject
from poollet.decide.inventory import Absent, UnconfirmedAbsent
from poollet.decide.memory import FINAL


def keep_absent(ordered_object: OrderedObject, current: DecisionPass) -> None:
    """Of an object that is not here while the host asks: a final answer stays one, and one list that lacks it is not believed."""
    order, presence = ordered_object.order, ordered_object.presence
    entry = current.inputs.memory.entries.get(order.key)
    if isinstance(presence, UnconfirmedAbsent):
        current.remember_missing(order.ref, presence)
    elif entry is not None and entry.phase not in FINAL:
        return
    if entry is not None and entry.uid == order.ref.uid:
        current.entries[order.key] = entry


def is_absent(ordered_object: OrderedObject) -> bool:
    return isinstance(ordered_object.presence, Absent | UnconfirmedAbsent)
