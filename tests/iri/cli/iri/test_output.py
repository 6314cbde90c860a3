"""Cells of the tables that `gitvirt iri get` prints."""

from __future__ import annotations

import pytest

from iri.cli.iri.get import event_value, offer_values
from iri.cli.iri.output import select_columns
from iri.host import MachineOffer, Offers, RuntimeMachineClass, RuntimeVolumeClass, VolumeOffer
from iri.machine import MachineState, RuntimeMachine, RuntimeMachineStatus
from iri.runtime import RuntimeEvent, RuntimeObject
from iri.volume import (
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeStatus,
    SnapshotState,
    SnapshotStatus,
    VolumeState,
)
from reconciler.cli.terminal import TextStyle


@pytest.mark.parametrize(
    ("item", "text", "style"),
    [
        (RuntimeMachine(status=RuntimeMachineStatus(state=MachineState.SUSPENDED)), "Suspended", None),
        (RuntimeMachine(status=RuntimeMachineStatus(state=MachineState.RUNNING)), "Running", TextStyle.GREEN),
        (RuntimeVolume(status=RuntimeVolumeStatus(state=VolumeState.ERROR)), "Error", TextStyle.RED),
        (
            RuntimeVolume(status=RuntimeVolumeStatus(state=VolumeState.AVAILABLE), deleted_at=1),
            "Available (deleting)",
            TextStyle.GREEN,
        ),
        (RuntimeSnapshot(status=SnapshotStatus(state=SnapshotState.FAILED)), "Failed", TextStyle.RED),
    ],
)
def test_a_state_has_the_color_of_its_own_kind(
    item: RuntimeObject, text: str, style: TextStyle | None
) -> None:
    (column,) = (column for column in select_columns(type(item), "table") if column.title == "STATE")
    assert (column.cell(item), column.style(item)) == (text, style)


def test_the_totals_of_a_status_show_zeros() -> None:
    offers = Offers(
        machines=(
            MachineOffer(machine_class=RuntimeMachineClass(name="small", resources={"cpu": 1, "gpu": 0})),
            MachineOffer(machine_class=RuntimeMachineClass()),
        ),
        volumes=(VolumeOffer(volume_class=RuntimeVolumeClass(name="slow")),),
    )
    assert offer_values(offers) == {
        "machine_class_status": [
            {
                "machine_class": {"name": "small", "capabilities": {"resources": {"cpu": 1, "gpu": 0}}},
                "quantity": 0,
            },
            {"machine_class": {"name": "", "capabilities": {"resources": {}}}, "quantity": 0},
        ],
        "volume_class_status": [
            {"volume_class": {"name": "slow", "capabilities": {"tps": 0, "iops": 0}}, "quantity": 0}
        ],
    }


def test_an_event_has_every_field_also_without_a_value() -> None:
    event = RuntimeEvent(kind=RuntimeMachine, id="m1", reason="Started", action="Start", message="", time=7)
    assert event_value(event) == {
        "spec": {
            "involved_object_meta": {"id": "m1", "labels": {}},
            "reason": "Started",
            "message": "",
            "type": "Normal",
            "event_time": 7,
            "action": "Start",
        }
    }
