"""What a row of a volume says: its real size beside the desired one, and who had a retained one."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.cli.objects.columns import claim_cell, size_cell
from reconciler.query.inventory import InventoryItem
from schemas.kinds import Kind
from schemas.model import decode

REFUSED = {"type": "UpToDate", "status": "False", "reason": "InsufficientForExpansion"}


def show(path: str = "data.yaml", **status: Any) -> InventoryItem:
    body = {
        "apiVersion": "storage.ironcore.dev/v1alpha1",
        "kind": "Volume",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"resources": {"storage": "50Ti"}, "claimRef": {"name": "web-1"}},
        "status": status,
    }
    return InventoryItem(path, 0, decode(Kind.VOLUME, body), body)


@pytest.mark.parametrize(
    ("status", "want"),
    [
        ({}, "50Ti"),
        ({"resources": {"storage": "50Ti"}}, "50Ti"),
        ({"resources": {"storage": "51200Gi"}}, "50Ti"),
        ({"resources": {"storage": "10Gi"}}, "10Gi -> 50Ti"),
        (
            {"resources": {"storage": "10Gi"}, "conditions": [REFUSED]},
            "10Gi -> 50Ti: InsufficientForExpansion",
        ),
    ],
)
def test_the_size_that_it_has_and_the_one_that_it_is_to_have(status: dict[str, Any], want: str) -> None:
    assert size_cell(show(**status)) == want


def test_a_retained_volume_names_the_machine_that_had_it() -> None:
    assert claim_cell(show()) == "web-1"
    assert claim_cell(show(".gitvirt/retained/Volume/default/data.yaml")) == "was web-1"
