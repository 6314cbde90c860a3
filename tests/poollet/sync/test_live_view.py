"""Which documents of the target branch concern a poollet."""

from __future__ import annotations

import pytest

from poollet.sync.live_view import LiveDocument, assigned_pool, is_current
from schemas.kinds import Kind
from schemas.model import decode

POOLS = {(Kind.MACHINE_POOL, "a"), (Kind.VOLUME_POOL, "fast")}


def document(kind: Kind, pool: str | None, *, is_ordered_away: bool = False) -> LiveDocument:
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
        "metadata": {"name": "x"}
        | ({"deletionTimestamp": "2026-05-04T12:00:00Z"} if is_ordered_away else {}),
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
        (".gitvirt/retained/Volume/default/a.yaml", False, True),
    ],
)
def test_what_left_the_source_is_not_what_its_name_refers_to(
    path: str, current: bool, retained: bool
) -> None:
    found = document(Kind.VOLUME, None).object
    assert is_current(path, found) is current
    assert LiveDocument(path, found).is_retained is retained


def test_a_name_refers_to_what_left_the_source_until_its_deletion_is_ordered() -> None:
    """Machines that use it hold its deletion."""
    path = ".gitvirt/deleting/Volume/default/x.yaml"
    assert is_current(path, document(Kind.VOLUME, None).object)
    assert not is_current(path, document(Kind.VOLUME, None, is_ordered_away=True).object)
