"""What may not change from one revision to the next. `before` and `after` are whole trees."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.validate import ValidationPolicy
from tests.schemas.validate.documents import (
    ephemeral_interface,
    ephemeral_volume,
    interface,
    machine,
    machine_class,
    machine_pool,
    network,
    ref,
    secret,
    snapshot,
    together,
    uses_volume,
    volume,
    volume_class,
    volume_pool,
)

SEALED = "ENC[AES256_GCM,data:eA==]"
BASE = together(
    machine_class(),
    machine_class("large", "4"),
    volume_class(),
    volume_class("grow", "ExpandOnly"),
    network(),
)


@dataclass(frozen=True)
class Change:
    id: str
    before: dict[str, str]
    after: dict[str, str]
    want: set[str] = field(default_factory=set)
    quote: str = ""  # in one of the messages or hints
    policy: ValidationPolicy = field(default_factory=ValidationPolicy)


def change_of(id: str, before: str, after: str, *want: str, quote: str = "") -> Change:
    base = {"base.yaml": BASE}
    then, now = ({**base, "x.yaml": text} if text else base for text in (before, after))
    return Change(id, then, now, set(want), quote)


def disk(name: str = "root", image: str = "debian") -> dict[str, object]:
    return {"name": name, "localDisk": {"sizeLimit": "1Gi", **({"image": image} if image else {})}}


CHANGES = [
    change_of("nothing", machine(), machine()),
    change_of("a new machine", "", machine()),
    change_of("a machine that goes", machine(), ""),
    change_of(
        "resize",
        machine(),
        machine(machineClassRef=ref("large")),
        "GV401 notice x.yaml /spec/machineClassRef/name",
        quote="machineClassRef.name: small -> large: as far as the runtime can now",
    ),
    Change(
        "class changed under its users",
        {"c.yaml": machine_class(), "m.yaml": machine()},
        {"c.yaml": machine_class(cpu="2"), "m.yaml": machine()},
        {"GV402 error c.yaml /capabilities/cpu"},
        "while Machine/default/web use the class",
    ),
    Change(
        "class written otherwise",
        {"c.yaml": machine_class(cpu="1", memory="1Gi"), "m.yaml": machine()},
        {"c.yaml": machine_class(cpu="1000m", memory="1024Mi"), "m.yaml": machine()},
    ),
    Change(
        "class changed together with its first user",
        {"c.yaml": machine_class()},
        {"c.yaml": machine_class(cpu="2"), "m.yaml": machine()},
    ),
    Change(
        "volume class changed under an ephemeral volume",
        {
            "c.yaml": together(machine_class(), volume_class()),
            "m.yaml": machine(volumes=[ephemeral_volume()]),
        },
        {
            "c.yaml": together(machine_class(), volume_class(iops="1")),
            "m.yaml": machine(power="Off", volumes=[ephemeral_volume()]),
        },
        {"GV402 error c.yaml /capabilities/iops"},
    ),
    change_of(
        "providerID of a pool",
        together(machine_pool(providerID="a"), volume_pool(providerID="a"), machine_pool("new")),
        together(machine_pool(providerID="b"), volume_pool(), machine_pool("new", providerID="c")),
        "GV403 error x.yaml /spec/providerID",
        "GV403 error x.yaml /spec",
    ),
    change_of(
        "providerID of a network",
        network("lan", providerID="bridge:a"),
        network("lan", providerID="bridge:b"),
        "GV403 error x.yaml /spec/providerID",
    ),
    change_of(
        "class of a volume",
        volume(),
        volume(volumeClassRef=ref("grow")),
        "GV404 error x.yaml /spec/volumeClassRef/name",
    ),
    change_of(
        "volume shrinks",
        volume(size="2Gi", volumeClassRef=ref("grow")),
        volume(size="2G", volumeClassRef=ref("grow")),
        "GV405 warning x.yaml /spec/resources/storage",
    ),
    change_of(
        "volume of a static class grows",
        volume(size="1Gi"),
        volume(size="2Gi"),
        "GV406 error x.yaml /spec/resources/storage",
        quote="resizePolicy: ExpandOnly in base.yaml",
    ),
    change_of(
        "volume grows",
        volume(size="1Gi", volumeClassRef=ref("grow")),
        volume(size="2Gi", volumeClassRef=ref("grow")),
    ),
    change_of("size written otherwise", volume(size="1Gi"), volume(size="1024Mi")),
    change_of(
        "ephemeral volume changes",
        machine(volumes=[ephemeral_volume(size="2Gi")]),
        machine(volumes=[ephemeral_volume(size="1Gi")]),
        "GV405 error x.yaml /spec/volumes/0/ephemeral/volumeTemplate/spec/resources/storage",
    ),
    change_of(
        "encryption",
        together(
            secret(stringData={"encryptionKey": SEALED}),
            volume("a"),
            volume("b", encryption={"secretRef": ref("key")}),
        ),
        together(
            secret(stringData={"encryptionKey": SEALED}),
            volume("a", encryption={"secretRef": ref("key")}),
            volume("b"),
        ),
        "GV407 error x.yaml /spec/encryption",
        "GV407 error x.yaml /spec",
    ),
    change_of(
        "disks with images",
        machine(volumes=[disk("a"), disk("b"), disk("c"), disk("d", ""), disk("e", "")]),
        machine(volumes=[disk("b", "fedora"), disk("c", ""), disk("d", "debian")]),
        "GV408 error x.yaml /spec/volumes",
        "GV408 error x.yaml /spec/volumes/0/localDisk/image",
        "GV408 error x.yaml /spec/volumes/1/localDisk",
        "GV408 error x.yaml /spec/volumes/2/localDisk/image",
        "GV418 warning x.yaml /spec/volumes",
    ),
    change_of(
        "size of a local disk",
        machine(volumes=[disk()]),
        machine(volumes=[{"name": "root", "localDisk": {"sizeLimit": "2Gi", "image": "debian"}}]),
        "GV417 error x.yaml /spec/volumes/0/localDisk/sizeLimit",
        quote="the size of local disk root cannot change: 1Gi -> 2Gi",
    ),
    change_of(
        "a new pin of a machine with a local disk",
        together(machine_pool("a"), machine(volumes=[disk()])),
        together(machine_pool("a"), machine(volumes=[disk()], machinePoolRef=ref("a"))),
        "GV412 warning x.yaml /spec/machinePoolRef/name",
        quote="STOPS there, starts on a; DESTROYS local disk root of web, 1Gi",
    ),
    change_of(
        "first-boot data",
        together(secret("boot", stringData={"ignition.yaml": SEALED}), machine(volumes=[disk()])),
        together(
            secret("boot", stringData={"ignition.yaml": SEALED}),
            machine(volumes=[disk()], ignitionRef={"name": "boot"}),
        ),
        "GV419 warning x.yaml /spec/ignitionRef",
        quote="`gitvirt replace web` RECREATES it, which DESTROYS local disk root of web, 1Gi",
    ),
    change_of(
        "a local disk and a generated volume that go",
        machine(volumes=[disk("a", ""), ephemeral_volume()]),
        machine(),
        "GV418 warning x.yaml /spec",
        quote="DESTROYS local disk a of web, 1Gi",
    ),
    change_of("all disks gone", machine(volumes=[disk()]), machine(), "GV408 error x.yaml /spec"),
    change_of(
        "disks in another order",
        machine(volumes=[disk("a"), disk("b")]),
        machine(volumes=[disk("b"), disk("a")]),
    ),
    change_of(
        "host name",
        together(
            machine("a", guestConfig={"hostname": "x"}),
            machine("b", guestConfig={"hostname": "x"}),
            machine("c"),
        ),
        together(
            machine("a", guestConfig={"hostname": "y"}),
            machine("b"),
            machine("c", guestConfig={"hostname": "c"}),
        ),
        "GV409 error x.yaml /spec/guestConfig/hostname",
        "GV409 error x.yaml /spec",
    ),
    change_of(
        "snapshot of another volume",
        together(volume("a"), volume("b"), snapshot(volume="a")),
        together(volume("a"), volume("b"), snapshot(volume="b")),
        "GV410 error x.yaml /spec/volumeRef/name",
    ),
    change_of(
        "network of an interface",
        together(network("other"), interface(), machine(networkInterfaces=[ephemeral_interface("x")])),
        together(
            network("other"),
            interface(networkRef=ref("other")),
            machine(networkInterfaces=[ephemeral_interface("x", networkRef=ref("other"))]),
        ),
        "GV411 error x.yaml /spec/networkRef/name",
        "GV411 error x.yaml /spec/networkInterfaces/0/ephemeral/networkInterfaceTemplate/spec/networkRef/name",
    ),
    change_of(
        "pins",
        together(
            *(machine_pool(name) for name in "ab"),
            *(volume_pool(name) for name in "ab"),
            machine("moves", machinePoolRef=ref("a")),
            machine("new"),
            machine("freed", machinePoolRef=ref("a")),
            volume("moves", volumePoolRef=ref("a")),
        ),
        together(
            *(machine_pool(name) for name in "ab"),
            *(volume_pool(name) for name in "ab"),
            machine("moves", machinePoolRef=ref("b")),
            machine("new", machinePoolRef=ref("b")),
            machine("freed"),
            volume("moves", volumePoolRef=ref("b")),
        ),
        "GV412 warning x.yaml /spec/machinePoolRef/name",
        "GV412 error x.yaml /spec/volumePoolRef/name",
    ),
    Change(
        "everything in use is gone",
        {
            "base.yaml": BASE,
            "c.yaml": together(machine_class("gone"), volume_class("gone")),
            "n.yaml": together(network("gone"), secret("gone", stringData={"encryptionKey": SEALED})),
            "p.yaml": together(machine_pool("gone"), volume_pool("gone")),
            "v.yaml": volume(),
            "unused.yaml": machine_class("unused"),
            "m.yaml": machine(),
        },
        {
            "base.yaml": BASE,
            "m.yaml": together(
                machine(
                    machineClassRef=ref("gone"),
                    machinePoolRef=ref("gone"),
                    volumes=[
                        uses_volume("data"),
                        ephemeral_volume(
                            volumeClassRef=ref("gone"),
                            volumePoolRef=ref("gone"),
                            encryption={"secretRef": ref("gone")},
                        ),
                    ],
                    networkInterfaces=[ephemeral_interface(networkRef=ref("gone"))],
                ),
            ),
        },
        {
            "GV401 notice m.yaml /spec/machineClassRef/name",
            "GV412 warning m.yaml /spec/machinePoolRef/name",
            "GV413 error c.yaml ",
            "GV413 error n.yaml ",
            "GV413 error p.yaml ",
            "GV413 error v.yaml ",
            "GV310 error m.yaml /spec/machineClassRef/name",
            "GV310 error m.yaml /spec/volumes/0/volumeRef/name",
            "GV310 error m.yaml /spec/volumes/1/ephemeral/volumeTemplate/spec/volumeClassRef/name",
            "GV310 error m.yaml /spec/volumes/1/ephemeral/volumeTemplate/spec/encryption/secretRef/name",
            "GV310 error m.yaml /spec/networkInterfaces/0/ephemeral/networkInterfaceTemplate/spec/networkRef/name",
            "GV312 notice m.yaml /spec/machinePoolRef/name",
            "GV312 notice m.yaml /spec/volumes/1/ephemeral/volumeTemplate/spec/volumePoolRef/name",
        },
        "MachineClass/gone was removed since the earlier revision, but Machine/default/web still refers to it",
    ),
    change_of(
        "a volume goes and its snapshot stays",
        together(volume(), snapshot()),
        snapshot(),
        "GV310 warning x.yaml /spec/volumeRef/name",
    ),
    change_of("moved with its users", together(volume("a"), machine(volumes=[uses_volume("a")])), machine()),
    Change("renamed file", {"base.yaml": BASE, "a.yaml": volume()}, {"base.yaml": BASE, "b.yaml": volume()}),
    Change(
        "renamed and changed",
        {"base.yaml": BASE, "a.yaml": volume(size="2Gi")},
        {"base.yaml": BASE, "b.yaml": volume(size="1Gi")},
        {"GV405 warning b.yaml /spec/resources/storage"},
    ),
    change_of(
        "source of the data",
        volume(dataSource={"osImage": {"image": "a"}}),
        volume(dataSource={"osImage": {"image": "b"}}),
        "GV414 warning x.yaml /spec/dataSource/osImage/image",
    ),
    Change(
        "range of a network",
        {"n.yaml": network("lan", cidr="10.1.0.0/24"), "i.yaml": interface(networkRef=ref("lan"))},
        {"n.yaml": network("lan", cidr="10.2.0.0/24"), "i.yaml": interface(networkRef=ref("lan"))},
        {"GV415 warning n.yaml /spec/ipv4/cidr"},
    ),
    change_of("what did not parse then", "{[", volume(), "GV420 notice x.yaml "),
    Change(
        "emptied",
        {"base.yaml": BASE, "v.yaml": volume()},
        {"base.yaml": BASE, "v.yaml": ""},
        {"GV115 notice v.yaml ", "GV416 error v.yaml "},
        "this file declares nothing, and declared Volume/default/data at the earlier revision",
    ),
    Change(
        "commented out",
        {"base.yaml": BASE, "v.yaml": volume()},
        {"base.yaml": BASE, "v.yaml": "".join(f"# {line}\n" for line in volume().splitlines())},
        {"GV115 notice v.yaml ", "GV416 error v.yaml "},
        "remove this file to confirm",
    ),
    Change(
        "another tool's document in its place",
        {"base.yaml": BASE, "v.yaml": volume()},
        {"base.yaml": BASE, "v.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"},
        {"GV221 notice v.yaml ", "GV416 error v.yaml "},
    ),
    Change(
        "emptied after its objects moved",
        {"base.yaml": BASE, "v.yaml": volume()},
        {"base.yaml": BASE, "v.yaml": "", "w.yaml": volume()},
        {"GV115 notice v.yaml "},
    ),
    Change(
        "encrypted under another name",
        {"base.yaml": BASE, "v.yaml": volume()},
        {"base.yaml": BASE, "v.yaml.gpg": "x"},
        {"GV361 notice v.yaml.gpg ", "GV416 error v.yaml.gpg "},
        "may be what became of v.yaml, which declared Volume/default/data",
    ),
    Change(
        "renamed to a name that is not read",
        {"base.yaml": BASE, "v.yaml": volume()},
        {"base.yaml": BASE, "off/v.txt": volume()},
        {"GV416 error off/v.txt "},
    ),
    Change(
        "removed beside a file that was there",
        {"base.yaml": BASE, "v.yaml": volume(), "v.txt": volume()},
        {"base.yaml": BASE, "v.txt": volume()},
    ),
    Change(
        "removed beside a backup that was there",
        {"base.yaml": BASE, "v.yaml": volume(), "v.yaml.bak": "x"},
        {"base.yaml": BASE, "v.yaml.bak": "x"},
        {"GV361 notice v.yaml.bak "},
    ),
    Change(
        "removed with a change of its backup",
        {"base.yaml": BASE, "v.yaml": volume(), "v.yaml.bak": "x"},
        {"base.yaml": BASE, "v.yaml.bak": volume()},
        {"GV361 notice v.yaml.bak ", "GV416 error v.yaml.bak "},
    ),
    Change("one of two documents", {"x.yaml": together(BASE, volume())}, {"x.yaml": BASE}),
    Change(
        "an empty file is new",
        {"base.yaml": BASE},
        {"base.yaml": BASE, "new.yaml": "---\n"},
        {"GV115 notice new.yaml "},
    ),
    Change(
        "what does not parse now is not removed",
        {"base.yaml": BASE, "v.yaml": volume(), "m.yaml": machine(volumes=[uses_volume("data")])},
        {"base.yaml": BASE, "v.yaml": "{[", "m.yaml": machine(volumes=[uses_volume("data")])},
        {"GV101 error v.yaml ", "GV310 error m.yaml /spec/volumes/0/volumeRef/name"},
    ),
]
