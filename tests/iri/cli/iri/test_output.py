"""Cells of the tables that `gitvirt iri get` prints."""

from __future__ import annotations

import pytest

from iri.cli.iri.output import select_columns
from iri.machine import MachineState, RuntimeMachine, RuntimeMachineStatus
from iri.runtime import RuntimeObject
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
