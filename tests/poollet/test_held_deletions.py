"""What machines still need stays as it is for them while its deletion is held, also where its file lost only that document.

Other objects of the same file stay on `live` at its path, so that the reconciler keeps the removed one in `.gitvirt/deleting/`.
"""

from __future__ import annotations

import pytest

from schemas.model import Machine, MachinePool, Volume
from tests.poollet.fleet import SETTINGS, machine, machine_class
from tests.poollet.simulation import Simulation
from tests.poollet.test_convergence import VOLUME_CLASS, volume

HAS_DATA = "  volumes:\n  - {name: data, volumeRef: {name: data}}\n"
RESTART = "  annotations: {gitvirt.dev/restart: again}\n"
CLASSES = "---\n".join((machine_class(), machine_class("large", "2", "2Gi"), VOLUME_CLASS))
WITHOUT_USED = machine_class("large", "2", "2Gi")


@pytest.mark.parametrize("is_restarted", [False, True], ids=["left alone", "restarted"])
def test_a_machine_keeps_its_volume_and_its_classes(is_restarted: bool) -> None:
    files: dict[str, str | None] = {
        "gitvirt.yaml": SETTINGS,
        "classes.yaml": CLASSES,
        "db.yaml": machine("db", spec=HAS_DATA) + "---\n" + volume(),
    }
    removal = {
        "classes.yaml": WITHOUT_USED,
        "db.yaml": machine("db", more=RESTART if is_restarted else "", spec=HAS_DATA),
    }
    simulation = Simulation(("host-1",), {0: files, 8: removal})
    simulation.settle()
    found = {str(each.key): each for each in simulation.live().objects()}
    db, data = found["Machine/default/db"], found["Volume/default/data"]
    assert isinstance(db, Machine)
    assert isinstance(data, Volume)
    assert not data.metadata.is_deleting
    assert {one.reason for one in data.status.conditions if one.type == "DeletionHeld"} == {"InUse"}
    assert {one.type: one.message for one in db.status.conditions if one.status != "True"} == {}
    assert db.status.restart == ("again" if is_restarted else "")
    assert simulation.outcome()["Machine/default/db"] == ("Running", "On", (("data", "Attached"),))
    pool = found["MachinePool/host-1"]
    assert isinstance(pool, MachinePool)
    assert {each.name for each in pool.status.available_machine_classes} == {"small", "large"}
