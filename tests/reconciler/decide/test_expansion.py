from __future__ import annotations

from typing import Any

from reconciler.decide.expansion import expansions
from schemas.kinds import Key, Kind
from schemas.manifest.schema_check import violations
from schemas.model import Machine, decode


def machine(api_version: str = "compute.ironcore.dev/v1alpha1", **spec: Any) -> Machine:
    body = {
        "apiVersion": api_version,
        "kind": "Machine",
        "metadata": {"name": "web-1", "namespace": "prod"},
        "spec": {"machineClassRef": {"name": "small"}, **spec},
    }
    found = decode(Kind.MACHINE, body)
    assert isinstance(found, Machine)
    return found


DISK = {
    "name": "data",
    "ephemeral": {
        "volumeTemplate": {
            "metadata": {"labels": {"tier": "db"}},
            "spec": {
                "volumeClassRef": {"name": "fast"},
                "resources": {"storage": "16Gi"},
                "dataSource": {"osImage": {"image": "registry.example/debian:12"}},
            },
        }
    },
}
PORT = {
    "name": "lan",
    "ephemeral": {
        "networkInterfaceTemplate": {
            "spec": {
                "networkRef": {"name": "office"},
                "ips": [{"value": "10.0.0.7"}],
            }
        }
    },
}


def test_each_ephemeral_entry_becomes_a_document_that_validates() -> None:
    found = list(expansions(machine(volumes=[DISK], networkInterfaces=[PORT]), "owner-uid"))
    assert [each.key for each in found] == [
        Key(Kind.VOLUME, "prod", "web-1-data"),
        Key(Kind.NETWORK_INTERFACE, "prod", "web-1-lan"),
    ]
    for each in found:
        assert violations(each.key.kind, each.body) == ()
    assert found[0].body == {
        "apiVersion": "storage.ironcore.dev/v1alpha1",
        "kind": "Volume",
        "metadata": {
            "name": "web-1-data",
            "namespace": "prod",
            "labels": {"tier": "db"},
            "ownerReferences": [
                {
                    "apiVersion": "compute.ironcore.dev/v1alpha1",
                    "kind": "Machine",
                    "name": "web-1",
                    "uid": "owner-uid",
                    "controller": True,
                }
            ],
        },
        "spec": {
            "volumeClassRef": {"name": "fast"},
            "resources": {"storage": "16Gi"},
            "dataSource": {"osImage": {"image": "registry.example/debian:12"}},
        },
    }
    assert found[1].body["spec"] == {"networkRef": {"name": "office"}, "ips": [{"value": "10.0.0.7"}]}


def test_the_spelling_of_the_group_is_that_of_the_owner() -> None:
    (found,) = expansions(machine("compute.OpenKCM.dev/v1alpha1", volumes=[DISK]), "owner-uid")
    assert found.body["apiVersion"] == "storage.openkcm.dev/v1alpha1"


def test_only_ephemeral_entries_become_objects() -> None:
    disks = [{"name": "root", "localDisk": {}}, {"name": "old", "volumeRef": {"name": "v"}}]
    assert list(expansions(machine(volumes=disks), "owner-uid")) == []
