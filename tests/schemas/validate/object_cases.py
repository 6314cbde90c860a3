"""Cases of identity, references and pools."""

from __future__ import annotations

from tests.schemas.validate.case import DECLARED, TARGET, ZONE, Case
from tests.schemas.validate.documents import (
    ephemeral_interface,
    ephemeral_volume,
    interface,
    machine,
    machine_class,
    machine_pool,
    quota,
    ref,
    secret,
    snapshot,
    together,
    uses_interface,
    uses_volume,
    volume,
    volume_pool,
)

OBJECT_CASES = [
    Case("nothing wrong", {"m.yaml": machine(volumes=[ephemeral_volume()])}),
    # identity
    Case(
        "same object in two files",
        {"a.yaml": volume(), "b.yaml": volume()},
        {"GV301 error b.yaml /metadata/name"},
        quote="also in a.yaml",
    ),
    Case(
        "same object twice in a file",
        {"a.yaml": together(volume(), volume())},
        {"GV301 error a.yaml /metadata/name"},
        quote="document 1 of a.yaml",
    ),
    Case(
        "same name in another namespace or kind",
        {"a.yaml": together(volume(), volume(namespace="x"), secret("data"))},
    ),
    Case(
        "ephemeral volume against a declared one",
        {"m.yaml": machine(volumes=[ephemeral_volume("data")]), "v.yaml": volume("web-data")},
        {"GV302 error m.yaml /spec/volumes/0/name"},
        quote="Volume/default/web-data in v.yaml",
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
        quote='did you mean "small"?',
    ),
    Case(
        "volume in another namespace",
        {"m.yaml": machine(volumes=[uses_volume("data")]), "v.yaml": volume(namespace="other")},
        {"GV310 error m.yaml /spec/volumes/0/volumeRef/name"},
        quote="namespace other has one",
    ),
    Case(
        "class of the wrong kind",
        {"v.yaml": volume(volumeClassRef=ref("small"))},
        {"GV310 error v.yaml /spec/volumeClassRef/name"},
        quote="small is a MachineClass",
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
        "a class that an unreadable file may declare",
        {"c.yaml": "{[", "m.yaml": machine(machineClassRef=ref("gone"))},
        {"GV101 error c.yaml ", "GV310 error m.yaml /spec/machineClassRef/name"},
        quote="perhaps declared in c.yaml",
    ),
    Case(
        "secret without the default ignition key",
        {
            "m.yaml": machine(ignitionRef=ref("key")),
            "s.yaml": secret(stringData={"ignition.yml": "ENC[x]"}),
        },
        {"GV311 error m.yaml /spec/ignitionRef/name"},
        quote='did you mean "ignition.yml"?',
    ),
    Case(
        "secret without the key that is asked for",
        {"m.yaml": machine(ignitionRef={"name": "key", "key": "config"}), "s.yaml": secret()},
        {"GV311 error m.yaml /spec/ignitionRef/name"},
        quote="it is empty",
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
        quote='did you mean "rack-11"?',
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
        quote="only large",
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
        quote="gpu=yes:NoSchedule",
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
]
