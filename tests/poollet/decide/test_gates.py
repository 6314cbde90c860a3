"""The gates: each closes for its own reason and blocks its own effects, in the order that the module's table gives."""

from __future__ import annotations

import re

import pytest

from iri.change import SetPower
from iri.machine import Power, RuntimeMachine
from poollet.decide import gates
from poollet.decide.actions import CreateCall, RemoveCall, UpdateCall
from poollet.decide.gates import GATES, CallEffect, GateInput, HostPermissions, closed_gate, effect_of
from poollet.decide.inventory import Absent, Duplicates, InFlight, Present, UnconfirmedAbsent, Unknown
from poollet.decide.memory import Missing

ALL = {"create", "change", "remove", "discard", "fence"}
ORDERED = {"create", "change", "remove"}
CLOSED: dict[str, tuple[GateInput, set[str]]] = {
    "FleetChanged": (GateInput(HostPermissions(is_own_fleet=False)), ALL),
    "LiveNotApplied": (GateInput(HostPermissions(is_live_applied=False)), ALL),
    "NoReportLease": (GateInput(HostPermissions(has_lease=False)), ORDERED | {"discard", "report"}),
    "ReportNotLanded": (GateInput(HostPermissions(has_landed=False)), ORDERED | {"discard"}),
    "NotConfirmed": (GateInput(HostPermissions(is_confirmed=False)), ORDERED | {"discard"}),
    "Leaving": (GateInput(HostPermissions(is_leaving=True)), ALL),
    "UnreadableFiles": (GateInput(has_unreadable_files=True), {"discard"}),
    "NotGranted": (GateInput(is_granted=False), ORDERED | {"report"}),
    "Contradictory": (GateInput(documents=2), ORDERED),
    "Retained": (GateInput(is_retained=True), ORDERED),
    "Paused": (GateInput(is_paused=True), ORDERED),
    "RuntimeUnknown": (GateInput(presence=Unknown("down")), ALL),
    "InFlight": (GateInput(presence=InFlight()), ALL),
    "UnconfirmedAbsent": (GateInput(presence=UnconfirmedAbsent(Missing(1, 0), 2)), ORDERED),
    "DuplicateObjects": (GateInput(presence=Duplicates(())), ORDERED | {"discard"}),
    "Answered": (GateInput(is_answered=True), {"create", "change"}),
    "Insufficient": (GateInput(has_room=False), {"create"}),
}


def test_every_gate_is_in_the_table_and_in_its_order() -> None:
    assert [gate.reason for gate in GATES] == list(CLOSED)
    rows = re.findall(
        r"^    ([A-Z]\w+)  +.*?  ((?:create|discard)?[a-z ]*)$", gates.__doc__ or "", re.MULTILINE
    )
    assert [name for name, _ in rows] == list(CLOSED)
    assert {name: set(effects.split()) for name, effects in rows} == {
        name: effects for name, (_, effects) in CLOSED.items()
    }


@pytest.mark.parametrize("reason", CLOSED)
def test_a_closed_gate_blocks_these_effects_and_no_other(reason: str) -> None:
    at, effects = CLOSED[reason]
    for effect in CallEffect:
        found = closed_gate(at, effect)
        assert (found.reason if found is not None else None) == (reason if effect in effects else None)


@pytest.mark.parametrize("presence", [None, Absent()])
@pytest.mark.parametrize("effect", CallEffect)
def test_all_gates_are_open_for_an_object_without_trouble(
    effect: CallEffect, presence: Absent | None
) -> None:
    assert closed_gate(GateInput(presence=presence), effect) is None
    assert closed_gate(GateInput(presence=Present(RuntimeMachine())), effect) is None


def test_the_first_closed_gate_names_the_reason() -> None:
    at = GateInput(HostPermissions(is_live_applied=False, is_leaving=True), is_paused=True, has_room=False)
    found = closed_gate(at, CallEffect.CREATE)
    assert found is not None
    assert found.reason == "LiveNotApplied"


def test_each_call_has_one_effect() -> None:
    calls = (
        CreateCall(RuntimeMachine()),
        UpdateCall("id", SetPower(Power.OFF)),
        RemoveCall(RuntimeMachine, "id"),
    )
    assert [effect_of(call) for call in calls] == [CallEffect.CREATE, CallEffect.CHANGE, CallEffect.REMOVE]
