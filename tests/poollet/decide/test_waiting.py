"""What a machine waits for before it is created: each dependency with its condition and reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iri.machine import RuntimeMachine
from poollet.decide.decision import HostSecrets
from poollet.decryption import Decryption
from poollet.sync.live_view import LiveDocument
from schemas.encryption.age_armor import Identities
from schemas.kinds import Kind
from tests.poollet.documents import (
    assignment_of,
    document,
    interfaces,
    machine,
    referring,
    secret,
    uid_of,
    volume,
)
from tests.poollet.site import site

WEB_UID = uid_of(Kind.MACHINE, "web")
CLAIM = {"name": "web", "uid": WEB_UID, "assignment": assignment_of(WEB_UID)}
DATA = {"volumes": referring("data")}
BOOT = {"ignitionRef": {"name": "boot"}}
NIC = {"networkInterfaces": [{"name": "lan", "networkInterfaceRef": {"name": "nic"}}]}
OWN_DISK = {
    "volumes": [
        {
            "name": "root",
            "ephemeral": {
                "volumeTemplate": {
                    "spec": {"volumeClassRef": {"name": "standard"}, "resources": {"storage": "1Gi"}}
                }
            },
        }
    ]
}


def nic(network: str = "lan", **metadata: object) -> LiveDocument:
    spec = {"networkRef": {"name": network}}
    return document(Kind.NETWORK_INTERFACE, "nic", spec=spec, metadata=dict(metadata))


GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
WAITS = {
    "class is not declared": (machine(class_name="huge"), (), "ClassReady", "ClassMissing"),
    "class is not offered": (
        machine(class_name="odd"),
        (document(Kind.MACHINE_CLASS, "odd", capabilities={"cpu": "3", "memory": "1Gi"}),),
        "ClassReady",
        "ClassNotOffered",
    ),
    "volume is not there": (machine(spec=DATA), (), "VolumesReady", "VolumeMissing"),
    "volume is unclaimed": (machine(spec=DATA), (volume(),), "VolumesReady", "VolumeUnclaimed"),
    "volume is claimed": (machine(spec=DATA), (volume(claim="db"),), "VolumesReady", "VolumeClaimed"),
    "volume is claimed under another assignment": (
        machine(spec=DATA),
        (volume(claim="web", claim_round=1),),
        "VolumesReady",
        "VolumeClaimed",
    ),
    "volume is released": (
        machine(spec=DATA),
        (volume(claim="web", released="a1" * 20),),
        "VolumesReady",
        "VolumeUnclaimed",
    ),
    "volume is going": (
        machine(spec=DATA),
        (volume(claim="web", going=True),),
        "VolumesReady",
        "VolumeDeleting",
    ),
    "volume is not made": (
        machine(spec=DATA),
        (volume(claim="web", class_name="none"),),
        "VolumesReady",
        "VolumeNotReady",
    ),
    "volume has no pool": (
        machine(spec=DATA),
        (document(Kind.VOLUME, "data", spec={"claimRef": CLAIM}),),
        "VolumesReady",
        "VolumeNotReady",
    ),
    "own volume is not there": (machine(spec=OWN_DISK), (), "VolumesReady", "VolumeMissing"),
    "own volume has another owner": (
        machine(spec=OWN_DISK),
        (volume("web-root", claim="web"),),
        "VolumesReady",
        "VolumeNotOwned",
    ),
    "secret is not there": (machine(spec=BOOT), (), "SecretsReady", "SecretMissing"),
    "secret is in plain text": (
        machine(spec=BOOT),
        (secret("boot", **{"ignition.yaml": "x"}),),
        "SecretsReady",
        "SecretPlain",
    ),
    "interface is not there": (machine(spec=NIC), (), "NetworkInterfacesReady", "NetworkInterfaceMissing"),
    "interface is going": (
        machine(spec=NIC),
        (nic(**GOING),),
        "NetworkInterfacesReady",
        "NetworkInterfaceDeleting",
    ),
    "own interface has another owner": (
        machine(spec={"networkInterfaces": interfaces("lan")}),
        (document(Kind.NETWORK_INTERFACE, "web-lan", spec={"networkRef": {"name": "lan"}}),),
        "NetworkInterfacesReady",
        "NetworkInterfaceNotOwned",
    ),
    "network is not there": (
        machine(spec={"networkInterfaces": interfaces("lan", network="none")}),
        (),
        "NetworkInterfacesReady",
        "NetworkMissing",
    ),
    "network is going": (
        machine(spec={"networkInterfaces": interfaces("lan", network="old")}),
        (document(Kind.NETWORK, "old", metadata=GOING),),
        "NetworkInterfacesReady",
        "NetworkDeleting",
    ),
}


@pytest.mark.parametrize(("web", "others", "type", "reason"), WAITS.values(), ids=WAITS.keys())
def test_a_machine_waits_for_each_dependency_and_reports_it(
    web: LiveDocument, others: tuple[LiveDocument, ...], type: str, reason: str
) -> None:
    here = site(web, *others)
    entry = here.settle().machines[("default", "web")]
    assert here.sim.runtime.objects(RuntimeMachine) == {}
    assert (entry.phase, entry.status.state, entry.status.machine_id) == ("present", "Pending", "")  # type: ignore[union-attr]
    conditions = {one.type: (one.status, one.reason) for one in entry.status.conditions}  # type: ignore[union-attr]
    assert conditions[type] == ("False", reason)
    assert conditions["Ready"] == ("False", reason)


ENCRYPTED = secret("boot", **{"ignition.yaml": "ENC[AES256_GCM,data:x]"})


def test_a_host_without_the_key_of_a_secret_rejects_a_new_machine() -> None:
    """Another host may have the key. What is damaged is damaged on each, so the machine waits for the file."""
    here = site(machine(spec=BOOT), ENCRYPTED)
    entry = here.settle().machines[("default", "web")]
    assert (entry.phase, [one.code for one in entry.reasons]) == ("rejected", ["SecretNotReadable"])
    assert "Secret default/boot cannot be opened" in entry.reasons[0].message
    here = site(machine(spec=BOOT), ENCRYPTED)
    here.facts = replace(here.facts, secrets=HostSecrets(opener=Decryption(Identities())))
    entry = here.settle().machines[("default", "web")]
    conditions = {one.type: one.reason for one in entry.status.conditions}  # type: ignore[union-attr]
    assert (entry.phase, conditions["SecretsReady"]) == ("present", "SecretMalformed")


def test_all_missing_dependencies_are_reported_at_once() -> None:
    spec = {**DATA, **BOOT, "networkInterfaces": interfaces("lan", network="none")}
    entry = site(machine(class_name="huge", spec=spec)).settle().machines[("default", "web")]
    missing = {one.type for one in entry.status.conditions if one.status == "False"}  # type: ignore[union-attr]
    assert missing == {"ClassReady", "NetworkInterfacesReady", "Ready", "SecretsReady", "VolumesReady"}


def test_a_plain_secret_is_used_if_the_fleet_allows_it() -> None:
    here = site(machine(spec=BOOT), secret("boot", **{"ignition.yaml": "#cloud-config"}))
    here.facts = replace(here.facts, plain_secrets=True)
    here.settle()
    (there,) = here.machines().values()
    assert there.spec.ignition_data == b"#cloud-config"


def test_the_hosts_secrets_file_comes_before_live() -> None:
    spec = {"ignitionRef": {"name": "boot", "key": "key"}}
    here = site(machine(spec=spec), secret("boot", key="ENC[x]"))
    here.with_secrets(boot=b"plain")
    here.settle()
    (there,) = here.machines().values()
    assert there.spec.ignition_data == b"plain"


def test_a_machines_own_volume_and_interface_are_found_by_their_owner() -> None:
    own = {"owner": WEB_UID}
    spec = {**OWN_DISK, "networkInterfaces": interfaces("lan")}
    references = [{"apiVersion": "v", "kind": "Machine", "name": "web", "uid": WEB_UID}]
    interface = document(
        Kind.NETWORK_INTERFACE,
        "web-lan",
        spec={
            "networkRef": {"name": "lan"},
            "macAddress": "02:00:00:00:00:07",
            "ips": [{"value": "10.1.0.7"}],
        },
        metadata={"ownerReferences": references, "uid": uid_of(Kind.NETWORK_INTERFACE, "web-lan")},
    )
    here = site(machine(spec=spec), volume("web-root", claim="web", **own), interface)
    decision = here.settle()
    (there,) = here.machines().values()
    (nic_there,) = there.spec.network_interfaces
    assert (nic_there.attributes["mac"], nic_there.ips) == ("02:00:00:00:00:07", ("10.1.0.7",))
    assert nic_there.attributes["cidr"] == "10.1.0.0/24"
    status = decision.machines[("default", "web")].status
    assert status is not None
    assert (status.network_interfaces[0].ips, status.network_interfaces[0].mac_address) == (
        ("10.1.0.7",),
        "02:00:00:00:00:07",
    )
    assert status.network_interfaces[0].network_interface_ref is not None
    assert status.volumes[0].volume_ref is not None
    assert status.volumes[0].volume_ref.name == "web-root"


@pytest.mark.parametrize(
    ("provider", "network_id"),
    [("bridge:br0", "bridge:br0"), ("", "f1ee7000-0000-4000-8000-000000000001/default/here")],
)
def test_a_network_is_named_for_the_runtime(provider: str, network_id: str) -> None:
    spec = {"providerID": provider} if provider else {}
    here = site(
        machine(spec={"networkInterfaces": interfaces("lan", network="here")}),
        document(Kind.NETWORK, "here", spec=spec),
    )
    here.settle()
    (there,) = here.machines().values()
    assert there.spec.network_interfaces[0].network_id == network_id
