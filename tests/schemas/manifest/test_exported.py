"""What an API server exported becomes what a person would have written, and nothing is dropped without a word."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from schemas.edit.render import render
from schemas.edit.scalars import UnwritableError
from schemas.kinds import Key, Kind
from schemas.manifest import parse
from schemas.manifest.exported import Imported, Skipped, import_documents
from tests.schemas.manifest.mutations import mutate

COMPUTE, STORAGE = "compute.ironcore.dev/v1alpha1", "storage.ironcore.dev/v1alpha1"


def body(version: str, kind: str, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": {"name": "x", **metadata}}
    return found if spec is None else {**found, "spec": spec}


def import_one(given_body: Any, *, keep_pools: bool = False) -> Imported | Skipped:
    (found,) = import_documents((given_body,), keep_pools=keep_pools)
    return found


MACHINE = body(
    COMPUTE,
    "Machine",
    {"machineClassRef": {"name": "small"}, "machinePoolRef": {"name": "rack-1"}},
    namespace="shop",
    uid="1",
    resourceVersion="9",
    labels={"app": "web"},
    annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "a"},
) | {"status": {"state": "Running"}}


def test_what_a_server_wrote_is_left_out_and_named() -> None:
    found = import_one(MACHINE)
    assert isinstance(found, Imported)
    assert found.key == Key(Kind.MACHINE, "shop", "x")
    assert found.body["metadata"] == {
        "name": "x",
        "namespace": "shop",
        "labels": {"app": "web"},
        "annotations": {"team": "a"},
    }
    assert found.body["spec"] == {"machineClassRef": {"name": "small"}}
    assert set(found.dropped) == {
        "metadata.uid",
        "metadata.resourceVersion",
        "status",
        "spec.machinePoolRef",
    }


def test_keep_pools_keeps_a_pool_as_a_pin() -> None:
    found = import_one(MACHINE, keep_pools=True)
    assert isinstance(found, Imported)
    assert found.body["spec"]["machinePoolRef"] == {"name": "rack-1"}


def test_a_volume_loses_its_claim_and_its_empty_data_source() -> None:
    spec = {"dataSource": {}, "claimRef": {"name": "web", "uid": "1"}, "volumePoolRef": {"name": "p"}}
    found = import_one(body(STORAGE, "Volume", spec))
    assert isinstance(found, Imported)
    assert found.body["spec"] == {}


def test_a_list_becomes_its_items_in_order() -> None:
    items: Any = [body(COMPUTE, "MachineClass"), body(STORAGE, "VolumeClass")]
    found = list(import_documents(({"apiVersion": "v1", "kind": "List", "items": items}, None)))
    assert [each.key.kind for each in found if isinstance(each, Imported)] == [
        Kind.MACHINE_CLASS,
        Kind.VOLUME_CLASS,
    ]


OWNER = [{"kind": "Machine", "name": "web", "controller": True}]


@pytest.mark.parametrize(
    ("given_body", "reason"),
    [
        (body(STORAGE, "Volume", {}, ownerReferences=OWNER), "Machine/web generates it"),
        (body("v1", "Secret"), "everyone who can read the repo"),
        (body(STORAGE, "Bucket"), "does not implement Bucket"),
        (body("apps/v1", "Deployment"), "not a kind of gitvirt"),
        (body(COMPUTE, "Machin"), "did you mean Machine?"),
        (body(COMPUTE, "Machine", {}, name="../../x"), "not a DNS name"),
        (body(COMPUTE, "Machine", {}, namespace="a/b"), "not a DNS name"),
        (body(COMPUTE, "Machine", {}, name=7), "no metadata.name"),
        ("text", "not an object"),
        ([1], "not an object"),
    ],
)
def test_what_cannot_be_a_manifest_is_skipped_with_its_reason(given_body: Any, reason: str) -> None:
    found = import_one(given_body)
    assert isinstance(found, Skipped)
    assert reason in found.reason


@given(mutate())
def test_a_valid_object_stays_valid(case: tuple[Kind, Any]) -> None:
    _, given_body = case
    for found in import_documents((given_body,)):
        if isinstance(found, Imported):
            try:
                before, after = render(given_body), render(found.body)
            except UnwritableError:
                continue
            if not parse("a.yaml", before).is_malformed:
                assert not parse("a.yaml", after).is_malformed
