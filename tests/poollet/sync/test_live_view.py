"""Which documents of the target branch concern a poollet."""

from __future__ import annotations

import pytest

from poollet.sync.live_view import LiveDocument, assigned_pool, is_current
from schemas.kinds import Kind
from schemas.model import decode

POOLS = {(Kind.MACHINE_POOL, "a"), (Kind.VOLUME_POOL, "fast")}


def document(kind: Kind, pool: str | None) -> LiveDocument:
    group = "compute" if kind is Kind.MACHINE else "storage"
    status = {"assignment": {"pool": pool, "id": "1"}} if pool else {}
    specs = {
        Kind.MACHINE: {"machineClassRef": {"name": "small"}},
        Kind.VOLUME: {"volumeClassRef": {"name": "fast"}, "resources": {"storage": "1Gi"}},
        Kind.VOLUME_SNAPSHOT: {"volumeRef": {"name": "v"}},
    }
    body = {
        "apiVersion": f"{group}.ironcore.dev/v1alpha1",
        "kind": kind.value,
        "metadata": {"name": "x"},
        "spec": specs[kind],
        "status": status,
    }
    return LiveDocument("x.yaml", decode(kind, body))


@pytest.mark.parametrize(
    ("kind", "pool", "want"),
    [
        (Kind.MACHINE, "a", True),
        (Kind.MACHINE, "fast", False),
        (Kind.MACHINE, None, False),
        (Kind.VOLUME, "fast", True),
        (Kind.VOLUME, "a", False),
        (Kind.VOLUME_SNAPSHOT, "fast", True),
        (Kind.VOLUME_SNAPSHOT, None, False),
    ],
)
def test_an_object_belongs_to_the_pool_that_it_is_assigned_to(
    kind: Kind, pool: str | None, want: bool
) -> None:
    assert (assigned_pool(document(kind, pool).object) in POOLS) is want


@pytest.mark.parametrize(
    ("path", "current", "retained"),
    [
        ("machines/a.yaml", True, False),
        (".gitvirt/generated/Volume/default/a-root.yaml", True, False),
        (".gitvirt/deleting/Machine/default/a.yaml", False, False),
        (".gitvirt/retained/Volume/default/a.yaml", False, True),
    ],
)
def test_what_left_the_source_is_not_what_its_name_refers_to(
    path: str, current: bool, retained: bool
) -> None:
    assert is_current(path) is current
    assert LiveDocument(path, document(Kind.VOLUME, None).object).is_retained is retained
