"""What the class of a machine says while its host has it as another one, and how that is charged."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.cli.objects.columns import class_cell
from reconciler.cli.tree import pending_class
from reconciler.query.inventory import InventoryItem
from reconciler.query.pool_usage import charge_item
from schemas.kinds import Kind
from schemas.model import decode

REFUSED = {"type": "UpToDate", "status": "False", "reason": "InsufficientForResize"}
OTHER = {"type": "UpToDate", "status": "False", "reason": "VolumeMissing"}
HAS_M = {"machineClassRef": {"name": "m"}}


def show(**status: Any) -> InventoryItem:
    body = {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "Machine",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"machineClassRef": {"name": "xl"}},
        "status": status,
    }
    return InventoryItem("web.yaml", 0, decode(Kind.MACHINE, body), body)


def size(name: str, cpu: str, memory: str) -> object:
    body = {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "MachineClass",
        "metadata": {"name": name},
        "capabilities": {"cpu": cpu, "memory": memory},
    }
    return decode(Kind.MACHINE_CLASS, body)


CLASSES = {"m": size("m", "2", "8Gi"), "xl": size("xl", "8", "4Gi")}
GIB = 1 << 30


@pytest.mark.parametrize(
    ("status", "cell", "branch", "charge"),
    [
        ({}, "xl", "", (8000, 4 * GIB)),
        ({"conditions": [REFUSED]}, "xl", "", (8000, 4 * GIB)),
        (HAS_M, "m -> xl", "m -> xl", (8000, 8 * GIB)),
        (HAS_M | {"conditions": [REFUSED]}, "m -> xl: InsufficientForResize", "m -> xl", (2000, 8 * GIB)),
        (HAS_M | {"conditions": [OTHER]}, "m -> xl: VolumeMissing", "m -> xl", (8000, 8 * GIB)),
        ({"machineClassRef": {"name": "gone"}, "conditions": [REFUSED]}, None, None, (8000, 4 * GIB)),
    ],
)
def test_what_it_has_and_what_it_is_to_have(
    status: dict[str, Any], cell: str | None, branch: str | None, charge: tuple[int, int]
) -> None:
    item = show(**status)
    if cell is not None:
        assert (class_cell(item), pending_class(item)) == (cell, branch)
    taken = charge_item(item, CLASSES)
    assert (taken["cpu"], taken["memory"]) == charge
