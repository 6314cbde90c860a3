"""Machines that must not run here are powered off; their disks and definitions stay. Pure.

Theory of operation. A machine that runs twice may destroy its disks. What is listed here must not run if

    `live` assigns it to another host                       this host was cut off, restored, or is a clone
    `live` assigns it to a pool of another poollet on       a late effect, or what an older disk image had: its label names a pool
    this host, and its label names another pool             that it was moved away from
    no order here is about it, and its label names an       a creation that took effect after its assignment was reported as gone
    assignment that this host ended                         or rejected
    another object of its uid is listed, that comes first   a creation that took effect twice

First of several comes one that is not under deletion, then the one where its pool's runtime is, then the one of the ordered assignment, then the oldest. A missing label does not
name an ended assignment. The ended ones are known from this host's own report (ended.json, the newest 1000) and from `live`; what turns up
under an older one is an orphan like any other.

A fence is asked for again right before its call: `live` must still say the same of the object, or still not name it.

Must never happen: data is removed here; a machine is powered off because `live` does not mention it.
"""

from __future__ import annotations

from collections.abc import Sequence

from iri.change import SetPower
from iri.identity import ASSIGNMENT_LABEL
from iri.machine import MachineState, Power, RuntimeMachine
from poollet.decide import model_to_iri
from poollet.decide.actions import EventText, ObjectAction, Ref, update_call
from poollet.decide.assignments import HostOrder, other_host, other_pool
from poollet.decide.decision_pass import DecisionPass
from poollet.decide.gates import CallEffect, GateInput, closed_gate
from poollet.decide.inventory import ListedObject
from poollet.decide.preconditions import digest_or_absence

ASSIGNED = "`live` assigns it to {}"
ENDED = "its assignment {} was reported as gone or rejected"
KEPT_OFF = "; it does not run here, and its data is kept"
KEPT = "; its data here is kept"  # of a volume or snapshot
SECOND = "another object of its uid is on this host; only one of them runs, and the data of both is kept"


def why_fenced(ref: Ref, found: ListedObject, current: DecisionPass) -> str:
    """Why an object without an order must not run here; empty where it may."""
    labels = found.object.labels
    kept = KEPT_OFF if isinstance(found.object, RuntimeMachine) else KEPT
    if host := other_host(ref.uid, current.inputs.facts, current.view):
        return ASSIGNED.format(f"host {host}") + kept
    if pool := other_pool(ref.uid, labels, current.inputs.facts, current.view):
        return ASSIGNED.format(f"pool {pool}") + kept
    assignment = labels.get(ASSIGNMENT_LABEL, "")
    return ENDED.format(assignment) + kept if assignment in current.ended else ""


def fence(ref: Ref, found: Sequence[ListedObject], why: str, current: DecisionPass) -> None:
    """Powers these machines of one uid off, those of one runtime in a pass."""
    presence = current.inventory.presence(ref, found[0].runtime, was_there=True, must_be_confirmed=True)
    if closed_gate(GateInput(current.inputs.host, presence=presence), CallEffect.FENCE):
        return
    running = [one for one in found if must_be_stopped(one)]
    runtime = running[0].runtime if running else found[0].runtime
    here = [one for one in running if one.runtime == runtime]
    calls = tuple(update_call(one.object, SetPower(Power.OFF)) for one in here)
    namespace, name = model_to_iri.read_name(ref, found[0].object.labels)
    event = EventText("Fenced", f"powered off: {why}", True)
    precondition = digest_or_absence(ref.uid, current.view)
    action = ObjectAction(ref, runtime, namespace, name, calls, (event,), precondition, event.message)
    current.add_due_calls(action)


def must_be_stopped(found: ListedObject) -> bool:
    """Off is what was ordered and what is so. One under deletion ends anyway."""
    machine = found.object
    if not isinstance(machine, RuntimeMachine) or machine.deleted_at:
        return False
    return machine.spec.power is not Power.OFF or machine.status.state is MachineState.RUNNING


def fence_duplicates(order: HostOrder, found: Sequence[ListedObject], current: DecisionPass) -> None:
    """All machines of the order's uid but the first."""

    def place(one: ListedObject) -> tuple[bool, bool, bool, int, str]:
        is_others = one.object.labels.get(ASSIGNMENT_LABEL) != order.assignment
        is_ending = one.object.deleted_at != 0
        return is_ending, one.runtime != order.runtime, is_others, one.object.created_at, one.object.id

    first, *rest = sorted(found, key=place)
    if rest and isinstance(first.object, RuntimeMachine):
        fence(order.ref, rest, SECOND, current)
