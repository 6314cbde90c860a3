"""What each rule between objects finds, and what it leaves alone. `want` lists `CODE severity file pointer`."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from schemas.validate import Policy
from tests.schemas.validate.documents import (
    ephemeral_interface,
    ephemeral_volume,
    interface,
    machine,
    machine_class,
    machine_pool,
    network,
    quota,
    ref,
    secret,
    snapshot,
    together,
    uses_interface,
    uses_volume,
    volume,
    volume_class,
    volume_pool,
)

DECLARED = Policy(has_open_pools=False)
PLAIN_ALLOWED = Policy(allows_plain_secrets=True)
TARGET = Policy(is_target=True)
BASE = {"base.yaml": together(machine_class(), volume_class(), volume_class("grow", "ExpandOnly"), network())}
WRONG = machine(machineClassRef=ref("nothing-of-the-kind"))
ZONE = "topology.ironcore.dev/zone"


@dataclass(frozen=True)
class Case:
    id: str
    files: dict[str, str]
    want: set[str] = field(default_factory=set)
    policy: Policy = field(default_factory=Policy)
    said: str = ""  # in one of the messages or hints


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


CASES = [
    Case("nothing wrong", {"m.yaml": machine(volumes=[ephemeral_volume()])}),
    # identity
    Case(
        "same object in two files",
        {"a.yaml": volume(), "b.yaml": volume()},
        {"GV301 error b.yaml /metadata/name"},
        said="already stands in a.yaml",
    ),
    Case(
        "same object twice in a file",
        {"a.yaml": together(volume(), volume())},
        {"GV301 error a.yaml /metadata/name"},
        said="document 1 of a.yaml",
    ),
    Case(
        "same name in another namespace or kind",
        {"a.yaml": together(volume(), volume(namespace="x"), secret("data"))},
    ),
    Case(
        "ephemeral volume against a declared one",
        {"m.yaml": machine(volumes=[ephemeral_volume("data")]), "v.yaml": volume("web-data")},
        {"GV302 error m.yaml /spec/volumes/0/name"},
        said="Volume/default/web-data in v.yaml",
    ),
    Case(
        "ephemeral interfaces of two machines that end up with one name",
        {
            "a.yaml": machine("a-b", networkInterfaces=[ephemeral_interface("c")]),
            "b.yaml": machine("a", networkInterfaces=[ephemeral_interface("b-c")]),
        },
        {"GV302 error b.yaml /spec/networkInterfaces/0/name"},
    ),
    Case(
        "ephemeral volume and interface of one name",
        {"m.yaml": machine(volumes=[ephemeral_volume("x")], networkInterfaces=[ephemeral_interface("x")])},
    ),
    Case(
        "generated objects on the target branch stand for what they were made of",
        {
            ".gitvirt/generated/Volume/default/web-data.yaml": volume("web-data"),
            ".gitvirt/generated/NetworkInterface/default/web-nic.yaml": interface(
                "web-nic", ips=("10.1.0.5",)
            ),
            "m.yaml": machine(
                volumes=[ephemeral_volume("data")], networkInterfaces=[ephemeral_interface(ips=("10.1.0.5",))]
            ),
            "q.yaml": quota(volumes="1"),
        },
        policy=TARGET,
    ),
    Case(
        "what is being deleted on the target branch holds nothing",
        {
            "a.yaml": machine(
                "a", volumes=[uses_volume("data")], metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
            ),
            "b.yaml": machine("b", volumes=[uses_volume("data")]),
            "v.yaml": volume(),
        },
        policy=TARGET,
    ),
    Case(
        "generated name too long",
        {"m.yaml": machine("m" * 60, volumes=[ephemeral_volume("data")])},
        {"GV303 error m.yaml /spec/volumes/0/name"},
    ),
    # references
    Case(
        "class with a typo",
        {"m.yaml": machine(machineClassRef=ref("smal"))},
        {"GV310 error m.yaml /spec/machineClassRef/name"},
        said='did you mean "small"?',
    ),
    Case(
        "volume in another namespace",
        {"m.yaml": machine(volumes=[uses_volume("data")]), "v.yaml": volume(namespace="other")},
        {"GV310 error m.yaml /spec/volumes/0/volumeRef/name"},
        said="there is one in namespace other",
    ),
    Case(
        "class of the wrong kind",
        {"v.yaml": volume(volumeClassRef=ref("small"))},
        {"GV310 error v.yaml /spec/volumeClassRef/name"},
        said="small is a MachineClass",
    ),
    Case(
        "everything that can be missing",
        {
            "m.yaml": machine(
                machineClassRef=ref("nosuchclass"),
                volumes=[
                    uses_volume("nosuchvolume"),
                    ephemeral_volume(
                        volumeClassRef=ref("zzz"),
                        encryption={"secretRef": ref("zzz")},
                        dataSource={"volumeSnapshotRef": ref("zzz")},
                    ),
                ],
                networkInterfaces=[
                    uses_interface("nosuchinterface"),
                    ephemeral_interface("other", networkRef=ref("zzz")),
                ],
                ignitionRef=ref("zzz"),
            ),
            "n.yaml": together(
                interface(networkRef=ref("zzz")),
            ),
        },
        {
            "GV310 error m.yaml /spec/machineClassRef/name",
            "GV310 error m.yaml /spec/volumes/0/volumeRef/name",
            "GV310 error m.yaml /spec/volumes/1/ephemeral/volumeTemplate/spec/volumeClassRef/name",
            "GV310 error m.yaml /spec/volumes/1/ephemeral/volumeTemplate/spec/encryption/secretRef/name",
            "GV310 error m.yaml /spec/volumes/1/ephemeral/volumeTemplate/spec/dataSource/volumeSnapshotRef/name",
            "GV310 error m.yaml /spec/networkInterfaces/0/networkInterfaceRef/name",
            "GV310 error m.yaml /spec/networkInterfaces/1/ephemeral/networkInterfaceTemplate/spec/networkRef/name",
            "GV310 error m.yaml /spec/ignitionRef/name",
            "GV310 error n.yaml /spec/networkRef/name",
        },
    ),
    Case(
        "snapshot of a volume that is gone may stay",
        {"s.yaml": snapshot()},
        {"GV310 warning s.yaml /spec/volumeRef/name"},
    ),
    Case(
        "a class whose document is invalid is not missing",
        {"c.yaml": machine_class("odd", cpu="-1"), "m.yaml": machine(machineClassRef=ref("odd"))},
        {"GV207 error c.yaml /capabilities/cpu"},
    ),
    Case(
        "a class that may stand in an unreadable file",
        {"c.yaml": "{[", "m.yaml": machine(machineClassRef=ref("gone"))},
        {"GV101 error c.yaml ", "GV310 error m.yaml /spec/machineClassRef/name"},
        said="perhaps it stands in c.yaml",
    ),
    Case(
        "secret without the default ignition key",
        {
            "m.yaml": machine(ignitionRef=ref("key")),
            "s.yaml": secret(stringData={"ignition.yml": "ENC[x]"}),
        },
        {"GV311 error m.yaml /spec/ignitionRef/name"},
        said='did you mean "ignition.yml"?',
    ),
    Case(
        "secret without the key that is asked for",
        {"m.yaml": machine(ignitionRef={"name": "key", "key": "config"}), "s.yaml": secret()},
        {"GV311 error m.yaml /spec/ignitionRef/name"},
        said="it is empty",
    ),
    Case(
        "secret without an encryption key",
        {
            "v.yaml": volume(encryption={"secretRef": ref("key")}),
            "s.yaml": secret(stringData={"other": "ENC[x]"}),
        },
        {"GV311 error v.yaml /spec/encryption/secretRef/name"},
    ),
    Case(
        "secret keys as they should be",
        {
            "v.yaml": volume(encryption={"secretRef": ref("key")}),
            "m.yaml": machine(ignitionRef=ref("key")),
            "s.yaml": secret(stringData={"encryptionKey": "ENC[x]"}, data={"ignition.yaml": "ENC[x]"}),
        },
    ),
    # pools
    Case(
        "pinned to a pool that may be announced",
        {"m.yaml": machine(machinePoolRef=ref("somewhere"))},
        {"GV312 notice m.yaml /spec/machinePoolRef/name"},
    ),
    Case(
        "pinned to a pool with a typo",
        {"m.yaml": machine(machinePoolRef=ref("rack-12")), "p.yaml": machine_pool("rack-11")},
        {"GV312 warning m.yaml /spec/machinePoolRef/name"},
        said='did you mean "rack-11"?',
    ),
    Case(
        "pinned to a pool that must be declared",
        {"v.yaml": volume(volumePoolRef=ref("somewhere")), "m.yaml": machine(machinePoolRef=ref("x"))},
        {
            "GV312 error v.yaml /spec/volumePoolRef/name",
            "GV312 error m.yaml /spec/machinePoolRef/name",
        },
        DECLARED,
    ),
    Case(
        "pinned to pools that do not offer the class",
        {
            "m.yaml": machine(machinePoolRef=ref("a"), volumes=[ephemeral_volume(volumePoolRef=ref("a"))]),
            "p.yaml": together(
                machine_pool("a", status={"availableMachineClasses": [ref("large")]}),
                volume_pool("a", status={"availableVolumeClasses": [ref("slow")]}),
            ),
        },
        {
            "GV313 warning m.yaml /spec/machinePoolRef/name",
            "GV313 warning m.yaml /spec/volumes/0/ephemeral/volumeTemplate/spec/volumePoolRef/name",
            "GV362 notice p.yaml /status",
        },
        said="it offers large",
    ),
    Case(
        "pin against selector",
        {
            "m.yaml": machine(machinePoolRef=ref("a"), machinePoolSelector={ZONE: "z2"}),
            "p.yaml": machine_pool("a", {ZONE: "z1"}),
        },
        {"GV314 warning m.yaml /spec/machinePoolRef/name"},
    ),
    Case(
        "the two topology prefixes are one",
        {
            "m.yaml": machine(machinePoolRef=ref("a"), machinePoolSelector={ZONE: "z1"}),
            "p.yaml": machine_pool("a", {"topology.openkcm.dev/zone": "z1"}),
        },
    ),
    Case(
        "pinned to a tainted pool",
        {
            "m.yaml": together(
                machine("a", machinePoolRef=ref("p")),
                machine("b", machinePoolRef=ref("p"), tolerations=[{"key": "gpu", "operator": "Exists"}]),
                machine("c", machinePoolRef=ref("p"), tolerations=[{"key": "gpu", "value": "yes"}]),
                machine("d", machinePoolRef=ref("p"), tolerations=[{"key": "gpu", "value": "no"}]),
                machine(
                    "e", machinePoolRef=ref("p"), tolerations=[{"operator": "Exists", "effect": "NoExecute"}]
                ),
            ),
            "p.yaml": machine_pool("p", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]),
        },
        {"GV315 warning m.yaml /spec/machinePoolRef/name"},
        said="gpu=yes:NoSchedule",
    ),
    Case(
        "pool that is only not preferred",
        {
            "m.yaml": machine(machinePoolRef=ref("p")),
            "p.yaml": machine_pool("p", taints=[{"key": "old", "effect": "PreferNoSchedule"}]),
        },
    ),
    Case(
        "selector that no declared pool matches",
        {
            "m.yaml": machine(machinePoolSelector={ZONE: "z9"}),
            "v.yaml": volume(volumePoolSelector={ZONE: "z1"}),
            "p.yaml": together(machine_pool("a", {ZONE: "z1"}), volume_pool("a", {ZONE: "z1"})),
        },
        {"GV316 warning m.yaml /spec/machinePoolSelector"},
        DECLARED,
    ),
    Case(
        "volume out of reach",
        {
            "m.yaml": machine(machinePoolRef=ref("a"), volumes=[uses_volume("data")]),
            "v.yaml": volume(volumePoolRef=ref("s")),
            "p.yaml": together(
                machine_pool("a", {ZONE: "z1"}), volume_pool("s", machinePoolSelector={ZONE: "z2"})
            ),
        },
        {"GV317 error m.yaml /spec/volumes/0/volumeRef/name"},
    ),
    # use
    Case(
        "volume of two machines",
        {
            "a.yaml": machine("a", volumes=[uses_volume("data")]),
            "b.yaml": machine("b", volumes=[uses_volume("data")]),
            "v.yaml": volume(),
        },
        {"GV320 error b.yaml /spec/volumes/0/volumeRef/name"},
        said="already belongs to machine a in a.yaml",
    ),
    Case(
        "volume twice in one machine",
        {"m.yaml": machine(volumes=[uses_volume("data", "x"), uses_volume("data", "y")]), "v.yaml": volume()},
        {"GV320 error m.yaml /spec/volumes/1/volumeRef/name"},
    ),
    Case(
        "interface of two machines",
        {
            "a.yaml": machine("a", networkInterfaces=[uses_interface("nic")]),
            "b.yaml": machine("b", networkInterfaces=[uses_interface("nic")]),
            "n.yaml": interface(),
        },
        {"GV321 error b.yaml /spec/networkInterfaces/0/networkInterfaceRef/name"},
    ),
    Case(
        "unclaimable volume",
        {"m.yaml": machine(volumes=[uses_volume("data")]), "v.yaml": volume(unclaimable=True)},
        {"GV322 error m.yaml /spec/volumes/0/volumeRef/name"},
    ),
    # within one document
    Case(
        "EFI variable twice",
        {
            "m.yaml": machine(
                efiVars=[
                    {"name": "Boot", "uuid": "8be4df61-93ca-11d2-aa0d-00e098032b8c", "value": "1"},
                    {"name": "Boot", "uuid": "8BE4DF61-93ca-11d2-aa0d-00e098032b8c", "value": "2"},
                    {"name": "Boot", "uuid": "00000000-93ca-11d2-aa0d-00e098032b8c", "value": "2"},
                ]
            )
        },
        {"GV330 error m.yaml /spec/efiVars/1/name"},
    ),
    Case(
        "tolerations that mean nothing",
        {
            "m.yaml": machine(
                tolerations=[
                    {"key": "a", "operator": "Exists", "value": "x"},
                    {"operator": "Equal", "value": "x"},
                    {"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3},
                    {"operator": "Exists"},
                    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3},
                ]
            ),
            "v.yaml": volume(tolerations=[{"key": "a", "operator": "Exists", "value": "x"}]),
        },
        {
            "GV332 error m.yaml /spec/tolerations/0/value",
            "GV332 error m.yaml /spec/tolerations/1/operator",
            "GV332 error m.yaml /spec/tolerations/2/tolerationSeconds",
            "GV332 error v.yaml /spec/tolerations/0/value",
        },
    ),
    Case(
        "taint twice",
        {
            "p.yaml": machine_pool(
                taints=[
                    {"key": "a", "value": "1", "effect": "NoSchedule"},
                    {"key": "a", "value": "2", "effect": "NoSchedule"},
                    {"key": "a", "effect": "NoExecute"},
                ]
            )
        },
        {"GV333 error p.yaml /spec/taints/1"},
    ),
    # spread and anti-affinity
    Case(
        "rules that do not concern their own machine",
        {
            "m.yaml": machine(
                metadata={"labels": {"app": "web"}},
                spread={"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}},
                antiAffinity={
                    "labelSelector": {
                        "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]
                    }
                },
            )
        },
        {
            "GV334 warning m.yaml /spec/spread/labelSelector",
            "GV334 warning m.yaml /spec/antiAffinity/labelSelector",
        },
    ),
    Case(
        "topology key that no pool has",
        {
            "m.yaml": machine(
                metadata={"labels": {"app": "web"}},
                spread={"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "web"}}},
                antiAffinity={"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}},
            ),
            "p.yaml": machine_pool(labels={ZONE: "z1"}),
        },
        {"GV335 warning m.yaml /spec/spread/topologyKey"},
    ),
    Case(
        "more machines than zones",
        {
            "m.yaml": together(
                *(
                    machine(
                        name,
                        metadata={"labels": {"app": "web"}},
                        antiAffinity={"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}},
                    )
                    for name in ("a", "b", "c")
                )
            ),
            "p.yaml": together(machine_pool("p", {ZONE: "z1"}), machine_pool("q", {ZONE: "z2"})),
        },
        {"GV336 warning m.yaml /spec/antiAffinity"},
        DECLARED,
        said="3 machines are to be kept apart",
    ),
    Case(
        "as many machines as pools",
        {
            "m.yaml": together(
                *(
                    machine(
                        name,
                        metadata={"labels": {"app": "web"}},
                        antiAffinity={"labelSelector": {"matchLabels": {"app": "web"}}},
                    )
                    for name in ("a", "b")
                )
            ),
            "p.yaml": together(machine_pool("p"), machine_pool("q")),
        },
        policy=DECLARED,
    ),
    # networks
    Case(
        "addresses outside, reserved and right",
        {
            "n.yaml": together(
                network("lan", cidr="10.1.0.0/24"),
                interface("a", ips=("10.1.1.5",), networkRef=ref("lan")),
                interface("b", ips=("10.1.0.0",), networkRef=ref("lan")),
                interface("c", ips=("10.1.0.255", "fd00::1"), networkRef=ref("lan")),
                interface("d", ips=("10.1.0.254", "10.1.0.1"), networkRef=ref("lan")),
            ),
            "m.yaml": machine(
                networkInterfaces=[ephemeral_interface(ips=("10.2.0.1",), networkRef=ref("lan"))]
            ),
        },
        {
            "GV340 error n.yaml /spec/ips/0/value",
            "GV340 error m.yaml /spec/networkInterfaces/0/ephemeral/networkInterfaceTemplate/spec/ips/0/value",
            "GV342 error n.yaml /spec/ips/0/value",
        },
        said="choose one from 10.1.0.1 to 10.1.0.254",
    ),
    Case(
        "address twice in one network",
        {
            "n.yaml": together(
                network("other"),
                interface("a", ips=("10.1.0.5", "fd00::1")),
                interface("b", ips=("10.1.0.5",)),
                interface("c", ips=("10.1.0.5",), networkRef=ref("other")),
                interface("d", ips=("fd00:0::1",)),
            ),
        },
        {"GV341 error n.yaml /spec/ips/0/value"},
        said="10.1.0.5 in network net already belongs to NetworkInterface/default/a in n.yaml",
    ),
    Case(
        "MAC addresses",
        {
            "n.yaml": together(
                interface("a", macAddress="02:00:00:00:00:aa"),
                interface("b", macAddress="02:00:00:00:00:AA"),
            ),
            "bad.yaml": together(
                interface("c", macAddress="01:00:5e:00:00:01"), interface("d", macAddress="00:00:00:00:00:00")
            ),
            "m.yaml": machine(
                networkInterfaces=[
                    ephemeral_interface("x", macAddress="02:00:00:00:00:01"),
                    ephemeral_interface("y", macAddress="02:00:00:00:00:01"),
                ]
            ),
        },
        {
            "GV343 error n.yaml /spec/macAddress",
            "GV343 error m.yaml /spec/networkInterfaces/1/ephemeral/networkInterfaceTemplate/spec/macAddress",
            "GV344 error bad.yaml /spec/macAddress",
        },
        said="this object",
    ),
    Case(
        "overlapping networks",
        {
            "n.yaml": together(
                network("a", cidr="10.0.0.0/8"),
                network("b", cidr="10.1.0.0/16"),
                network("c", cidr="10.200.0.0/16"),
                network("d", cidr="11.0.0.0/8"),
                network("e", cidr="11.0.0.0/8", providerID="bridge:br0"),
            )
        },
        {"GV346 warning n.yaml /spec/ipv4/cidr"},
        said="10.200.0.0/16 overlaps 10.0.0.0/8 of Network/default/a",
    ),
    # storage
    Case(
        "restored into less",
        {
            "v.yaml": together(
                volume(size="10Gi"),
                snapshot(),
                volume("less", size="9Gi", dataSource={"volumeSnapshotRef": ref("snap")}),
                volume("same", size="10240Mi", dataSource={"volumeSnapshotRef": ref("snap")}),
            )
        },
        {"GV351 error v.yaml /spec/resources/storage"},
        said="ask for at least 10Gi",
    ),
    # what only gitvirt writes
    Case(
        "fields that are ignored",
        {
            "m.yaml": machine(status={"state": "Running"}, metadata={"uid": "1"}),
            "v.yaml": volume(
                claimRef={"name": "web", "uid": "1"}, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
            ),
            "n.yaml": interface(machineRef={"name": "web"}),
        },
        {
            "GV362 notice m.yaml /status",
            "GV363 notice m.yaml /metadata/uid",
            "GV363 notice v.yaml /spec/claimRef",
            "GV363 notice v.yaml /metadata/deletionTimestamp",
            "GV363 notice n.yaml /spec/machineRef",
        },
    ),
    Case("status on the target branch", {"m.yaml": machine(status={"state": "Running"})}, policy=TARGET),
    # names of files
    Case(
        "files in the reconciler's folder",
        {".gitvirt/pools/a.yaml": machine(machineClassRef=ref("nothing")), ".gitvirt/orphans/b.yaml": "a: b"},
        {"GV360 error .gitvirt/pools/a.yaml "},
    ),
    Case(
        "the same on the target branch",
        {
            ".gitvirt/pools/a.yaml": machine_pool("announced"),
            ".gitvirt/deleting/Machine/default/web.yaml": machine(machineClassRef=ref("gone")),
            "m.yaml": machine(machinePoolRef=ref("announced")),
        },
        policy=TARGET,
    ),
    Case(
        "names that look like a manifest's",
        dict.fromkeys(("a.yaml.bak", "b.yml~", "c.YAML", "d.ymal", "README.md", "yaml", "e.tar.gz"), WRONG)
        | dict.fromkeys((".github/x.yaml", "gitvirt.yaml"), "a: b"),
        {f"GV361 notice {path} " for path in ("a.yaml.bak", "b.yml~", "c.YAML", "d.ymal")},
    ),
    # quota
    Case(
        "every excess of a quota",
        {
            "c.yaml": machine_class("big", cpu="1500m", memory="3Gi"),
            "m.yaml": together(
                machine("a", "lab", machineClassRef=ref("big"), volumes=[ephemeral_volume(size="3Gi")]),
                machine("b", "lab", machineClassRef=ref("big"), power="Off"),
                machine("elsewhere"),
            ),
            "n.yaml": volume("extra", "lab", "2Gi"),
            "q.yaml": quota("lab", machines="1", cpu="2", memory="6Gi", volumes="1", storage="4Gi"),
        },
        {
            "GV501 error q.yaml /spec/hard/count~1machines.compute.ironcore.dev",
            "GV501 error q.yaml /spec/hard/requests.cpu",
            "GV501 error q.yaml /spec/hard/count~1volumes.storage.ironcore.dev",
            "GV501 error q.yaml /spec/hard/requests.storage",
        },
        said="namespace lab needs 5Gi of requests.storage, and has 4Gi",
    ),
    Case(
        "quota with a scope",
        {
            "c.yaml": machine_class("big"),
            "m.yaml": together(machine("a"), machine("b"), machine("c", machineClassRef=ref("big"))),
            "q.yaml": together(
                quota(
                    name="small",
                    machines="1",
                    scope=[{"scopeName": "MachineClass", "operator": "In", "values": ["small"]}],
                ),
                quota(
                    name="big",
                    machines="1",
                    scope=[{"scopeName": "MachineClass", "operator": "NotIn", "values": ["small"]}],
                ),
                quota(name="any", machines="3", scope=[{"scopeName": "MachineClass", "operator": "Exists"}]),
                quota(
                    name="none", volumes="0", scope=[{"scopeName": "VolumeClass", "operator": "DoesNotExist"}]
                ),
            ),
        },
        {"GV501 error q.yaml /spec/hard/count~1machines.compute.ironcore.dev"},
        said="needs 2 of count/machines.compute.ironcore.dev, and has 1",
    ),
    # secrets
    Case(
        "plain secrets",
        {
            "a.yaml": secret("a", stringData={"password": "hunter2"}),
            "b.yaml": secret("b", data={"password": encoded("hunter2")}),
            "c.yaml": secret("c", data={"empty": ""}, stringData={}),
        },
        {"GV510 error a.yaml /stringData/password", "GV510 error b.yaml /data/password"},
    ),
    Case(
        "plain secrets where they are allowed",
        {"a.yaml": secret(stringData={"x": "y"})},
        policy=PLAIN_ALLOWED,
    ),
    Case(
        "encrypted secrets",
        {
            "a.yaml": secret(
                "a", stringData={"x": "ENC[AES256_GCM,data:eA==,iv:x,tag:y,type:str]"}, sops={"mac": "x"}
            ),
            "b.yaml": secret("b", stringData={"x": "-----BEGIN AGE ENCRYPTED FILE-----\nYQ==\n"}),
            "c.yaml": secret("c", data={"x": encoded("age-encryption.org/v1\n-> X25519 abc\n")}),
            "d.yaml": secret("d", data={"x": encoded("-----BEGIN AGE ENCRYPTED FILE-----\nYQ==\n")}),
            "e.yaml": secret(
                "e", data={"x": "ENC[AES256_GCM,data:eA==,iv:x,tag:y,type:str]"}, sops={"mac": "x"}
            ),
        },
    ),
    Case(
        "partly encrypted",
        {
            "a.yaml": secret(
                stringData={"a.b": "hunter2", "x": "ENC[AES256_GCM,data:eA==]"}, sops={"mac": "x"}
            )
        },
        {"GV511 error a.yaml /stringData/a.b"},
        PLAIN_ALLOWED,
    ),
]
