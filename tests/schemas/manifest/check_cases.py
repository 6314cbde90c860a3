"""Documents with what is wrong in each of them."""

from __future__ import annotations

from typing import Any

MACHINE: dict[str, Any] = {
    "apiVersion": "compute.ironcore.dev/v1alpha1",
    "kind": "Machine",
    "metadata": {"name": "web"},
    "spec": {"machineClassRef": {"name": "small"}},
}
CLASS: dict[str, Any] = {
    "apiVersion": "compute.ironcore.dev/v1alpha1",
    "kind": "MachineClass",
    "metadata": {"name": "small"},
}
POOL: dict[str, Any] = {**CLASS, "kind": "MachinePool"}
VOLUME: dict[str, Any] = {
    "apiVersion": "storage.ironcore.dev/v1alpha1",
    "kind": "Volume",
    "metadata": {"name": "root"},
    "spec": {"volumeClassRef": {"name": "fast"}, "resources": {"storage": "10Gi"}},
}
NETWORK: dict[str, Any] = {
    "apiVersion": "networking.ironcore.dev/v1alpha1",
    "kind": "Network",
    "metadata": {"name": "front"},
}
SECRET: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}
QUOTA: dict[str, Any] = {
    "apiVersion": "core.ironcore.dev/v1alpha1",
    "kind": "ResourceQuota",
    "metadata": {"name": "limits"},
}


def machine(**spec: object) -> dict[str, Any]:
    return {**MACHINE, "spec": {**MACHINE["spec"], **spec}}


def machine_class(**capabilities: object) -> dict[str, Any]:
    return {**CLASS, "capabilities": capabilities}


def volume(**spec: object) -> dict[str, Any]:
    return {**VOLUME, "spec": {**VOLUME["spec"], **spec}}


def interface(**spec: object) -> dict[str, Any]:
    return {**NETWORK, "kind": "NetworkInterface", "spec": {"networkRef": {"name": "front"}, **spec}}


DISK = {"name": "root", "volumeRef": {"name": "root"}}

# id: (document, [(pointer, code, part of the hint)])
TABLE: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "letter case of a field": (
        {**MACHINE, "spec": {"machineClassref": {"name": "small"}}},
        [("/spec/machineClassref", "GV201", "did you mean machineClassRef?")],
    ),
    "old name of a field": (
        {**MACHINE, "spec": {"machineClass": {"name": "small"}}},
        [("/spec/machineClass", "GV201", "did you mean machineClassRef?")],
    ),
    "field at the wrong level": (
        machine(hostname="a"),
        [("/spec/hostname", "GV201", "write hostname under spec.guestConfig")],
    ),
    "field outside of spec": ({**MACHINE, "power": "On"}, [("/power", "GV201", "write power under spec")]),
    "field of a list's entries": (
        machine(device="oda"),
        [("/spec/device", "GV201", "write device under spec.volumes[]")],
    ),
    "field decided elsewhere": (
        machine(cpu=4),
        [("/spec/cpu", "GV201", "the class of the machine sets its processors")],
    ),
    "field of IronCore that hosts have in its place": (
        machine(imagePullSecretRef={"name": "registry"}),
        [("/spec/imagePullSecretRef", "GV201", "hosts log in to registries")],
    ),
    "few fields to choose from": (
        machine(guestConfig={"surplus": 1}),
        [("/spec/guestConfig/surplus", "GV201", "fields allowed here: hostname")],
    ),
    "class with a spec": (
        {**machine_class(cpu=1, memory="1Gi"), "spec": {}},
        [("/spec", "GV201", "write capabilities at the top level")],
    ),
    "unknown limit": (
        {**QUOTA, "spec": {"hard": {"requests.cpus": 1}}},
        [("/spec/hard/requests.cpus", "GV201", "did you mean requests.cpu?")],
    ),
    "missing field": (
        {**MACHINE, "spec": {}},
        [("/spec", "GV202", "add machineClassRef: Class of the machine")],
    ),
    "missing resources": (
        machine_class(cpus=1, mem="1Gi"),
        [
            ("/capabilities", "GV202", "rename cpus to cpu"),
            ("/capabilities", "GV202", "rename mem to memory"),
        ],
    ),
    "volume without size": (
        {**VOLUME, "spec": {"volumeClassRef": {"name": "fast"}}},
        [("/spec", "GV202", "resources: Resources of the volume")],
    ),
    "volume without class": (
        {**VOLUME, "spec": {"resources": {"storage": 1}, "volumePoolRef": {"name": "a"}}},
        [("/spec", "GV202", "volumeClassRef: Class of the volume")],
    ),
    "name in place of a reference": (
        machine(machinePoolRef="rack-a"),
        [("/spec/machinePoolRef", "GV203", "write {name: rack-a}")],
    ),
    "number as label": (
        {**MACHINE, "metadata": {"name": "web", "labels": {"zone": 1}}},
        [("/metadata/labels/zone", "GV203", 'put it in quotes: "1"')],
    ),
    "label key that looks like an index": (
        {**MACHINE, "metadata": {"name": "web", "labels": {"0": 1}}},
        [("/metadata/labels/0", "GV203", 'put it in quotes: "1"')],
    ),
    "half a character": (
        {**MACHINE, "metadata": {"name": "web", "labels": {"zone": "\ud800"}}},
        [("/metadata/labels/zone", "GV213", "write it again")],
    ),
    "truth as label": (
        {**MACHINE, "metadata": {"name": "web", "labels": {"zone": True}}},
        [("/metadata/labels/zone", "GV203", 'put it in quotes: "true"')],
    ),
    "object in place of a list": (
        machine(volumes=DISK),
        [("/spec/volumes", "GV203", "start each entry with '- '")],
    ),
    "empty field": (
        machine(tolerations=None),
        [("/spec/tolerations", "GV203", "give it a value, or remove the line")],
    ),
    "text in place of a number": (machine(priority="10"), [("/spec/priority", "GV203", "remove the quotes")]),
    "text in place of a truth": (
        {**POOL, "spec": {"unschedulable": "yes"}},
        [("/spec/unschedulable", "GV203", "write true without quotes")],
    ),
    "power of YAML 1.1": (machine(power="on"), [("/spec/power", "GV204", "did you mean On?")]),
    "power as truth": (machine(power=False), [("/spec/power", "GV204", "did you mean Off?")]),
    "power between two": (machine(power="of"), [("/spec/power", "GV204", "did you mean On or Off?")]),
    "power far off": (machine(power="running"), [("/spec/power", "GV204", "")]),
    "other kind": ({**MACHINE, "kind": "Volume"}, [("/kind", "GV204", "write kind: Machine")]),
    "name in capitals": (
        {**MACHINE, "metadata": {"name": "Web_1"}},
        [("/metadata/name", "GV205", "did you mean web-1?")],
    ),
    "name with a dot": (
        {**MACHINE, "metadata": {"name": "a.b"}},
        [("/metadata/name", "GV205", "A DNS label")],
    ),
    "empty name": ({**MACHINE, "metadata": {"name": ""}}, [("/metadata/name", "GV205", "")]),
    "label key with a space": (
        {**MACHINE, "metadata": {"name": "web", "labels": {"a b": ""}}},
        [("/metadata/labels/a b", "GV205", "An optional DNS prefix")],
    ),
    "device of another scheme": (
        machine(volumes=[{**DISK, "device": "/dev/vda"}]),
        [("/spec/volumes/0/device", "GV205", "Device name")],
    ),
    "quantity of another scheme": (
        machine_class(cpu=1, memory="16GB"),
        [("/capabilities/memory", "GV206", "did you mean 16G or 16Gi?")],
    ),
    "quantity of control characters": (
        machine_class(cpu="\x1b[31m", memory=1),
        [("/capabilities/cpu", "GV206", "")],
    ),
    "quantity without number": (machine_class(cpu="two", memory=1), [("/capabilities/cpu", "GV206", "")]),
    "quantity NaN": (machine_class(cpu=float("nan"), memory=1), [("/capabilities/cpu", "GV206", "")]),
    "quantity infinite": (machine_class(cpu=float("inf"), memory=1), [("/capabilities/cpu", "GV206", "")]),
    "quantity without end": (machine_class(cpu=1, memory=10**400), [("/capabilities/memory", "GV206", "")]),
    "quantity that lost digits": (
        machine_class(cpu=0.1 + 0.2, memory=1),
        [("/capabilities/cpu", "GV206", "put the exact number in quotes")],
    ),
    "quantity as truth": (machine_class(cpu=True, memory=1), [("/capabilities/cpu", "GV206", "")]),
    "no processors": (machine_class(cpu=0, memory=1), [("/capabilities/cpu", "GV207", "")]),
    "no processors in text": (machine_class(cpu="0.0", memory=1), [("/capabilities/cpu", "GV207", "")]),
    "negative device count": (machine_class(cpu=1, memory=1, gpu=-1), [("/capabilities/gpu", "GV207", "")]),
    "thousandths of a byte": (
        machine_class(cpu=1, memory="512m"),
        [("/capabilities/memory", "GV207", "did you mean 512M or 512Mi?")],
    ),
    "thousandths of a disk": (
        volume(resources={"storage": "10m"}),
        [("/spec/resources/storage", "GV207", "did you mean 10M or 10Mi?")],
    ),
    "no source of a disk": (
        machine(volumes=[{"name": "a"}]),
        [("/spec/volumes/0", "GV208", "add one of them")],
    ),
    "misspelled source of a disk": (
        machine(volumes=[{"name": "a", "volumeref": {"name": "b"}}]),
        [("/spec/volumes/0/volumeref", "GV201", "did you mean volumeRef?")],
    ),
    "two sources of a disk": (
        machine(volumes=[{**DISK, "localDisk": {}}]),
        [("/spec/volumes/0", "GV208", "keep one of them")],
    ),
    "namespace of a class": (
        {**machine_class(cpu=1, memory=1), "metadata": {"name": "a", "namespace": "b"}},
        [("/metadata/namespace", "GV209", "remove the field")],
    ),
    "claimed and unclaimable": (
        volume(claimRef={"name": "web"}, unclaimable=True),
        [("/spec/unclaimable", "GV209", "remove claimRef or unclaimable")],
    ),
    "image twice": (
        volume(image="a", dataSource={"osImage": {"image": "b"}}),
        [("/spec/dataSource/osImage", "GV209", "remove the field")],
    ),
    "claimed template": (
        machine(
            volumes=[{"name": "a", "ephemeral": {"volumeTemplate": {"spec": {"claimRef": {"name": "b"}}}}}]
        ),
        [("/spec/volumes/0/ephemeral/volumeTemplate/spec/claimRef", "GV209", "remove the field")],
    ),
    "address of another family": (
        interface(ipFamilies=["IPv6"], ips=[{"value": "10.0.0.1"}]),
        [("/spec/ips/0/value", "GV209", "add IPv4 to ipFamilies")],
    ),
    "disk name twice": (
        machine(volumes=[DISK, {**DISK, "volumeRef": {"name": "data"}}]),
        [("/spec/volumes/1/name", "GV210", "")],
    ),
    "device twice": (
        machine(volumes=[{**DISK, "device": "oda"}, {"name": "data", "device": "oda", "localDisk": {}}]),
        [("/spec/volumes/1/device", "GV210", "")],
    ),
    "interface name twice": (
        machine(networkInterfaces=[{"name": "a", "networkInterfaceRef": {"name": "a"}}] * 2),
        [("/spec/networkInterfaces/1/name", "GV210", "")],
    ),
    "address twice": (
        interface(ips=[{"value": "fd00::1"}, {"value": "fd00:0::1"}]),
        [("/spec/ips/1/value", "GV210", "")],
    ),
    "family twice": (interface(ipFamilies=["IPv4", "IPv4"]), [("/spec/ipFamilies", "GV210", "")]),
    "toleration of negative length": (
        machine(tolerations=[{"tolerationSeconds": -1}]),
        [("/spec/tolerations/0/tolerationSeconds", "GV211", "write 0 or more")],
    ),
    "priority beyond measure": (
        machine(priority=2**70),
        [("/spec/priority", "GV211", "write a number from -1000000000 to 1000000000")],
    ),
    "overcommit of nothing": (
        {**POOL, "spec": {"overcommit": {"cpu": 0}}},
        [("/spec/overcommit/cpu", "GV211", "write a number above 0")],
    ),
    "no address": (
        interface(ips=[{"value": "10.0.0.256"}]),
        [("/spec/ips/0/value", "GV212", "write it like")],
    ),
    "no network": (
        {**NETWORK, "spec": {"ipv4": {"cidr": "10.0.0.0/33"}}},
        [("/spec/ipv4/cidr", "GV212", "write it like")],
    ),
    "address in place of a network": (
        {**NETWORK, "spec": {"ipv4": {"cidr": "10.0.0.5/24"}}},
        [("/spec/ipv4/cidr", "GV212", "did you mean 10.0.0.0/24?")],
    ),
    "gateway and name servers": (
        {**NETWORK, "spec": {"gateway": "10.0.0.256", "dns": ["10.0.0.1", "fd00::1", "fd00:0::1", "1.2.3"]}},
        [
            ("/spec/gateway", "GV212", "write it like"),
            ("/spec/dns/2", "GV210", "remove one"),
            ("/spec/dns/3", "GV212", "write it like"),
        ],
    ),
    "VLAN that no bridge has": (
        {**NETWORK, "spec": {"vlan": 4095}},
        [("/spec/vlan", "GV211", "4094")],
    ),
    "key that is not text": (
        {**MACHINE, "metadata": {"name": "web", "labels": {1: "a"}}},
        [("/metadata/labels", "GV213", "put the key in quotes")],
    ),
    "bytes": (machine(image=b"a"), [("/spec/image", "GV213", "put it in quotes")]),
    "plain text as base64": (
        {**SECRET, "data": {"password": "hunter2!", "pin": "abcde"}},
        [("/data/password", "GV214", "stringData"), ("/data/pin", "GV214", "stringData")],
    ),
    "several at once": (
        machine(
            power="on",
            hostname="a",
            volumes=[{"name": "a", "localDisk": {"sizeLimit": "1GB"}}, {"name": "a"}],
        ),
        [
            ("/spec/hostname", "GV201", "guestConfig"),
            ("/spec/power", "GV204", "On"),
            ("/spec/volumes/0/localDisk/sizeLimit", "GV206", "1G or 1Gi"),
            ("/spec/volumes/1", "GV208", "add one"),
            ("/spec/volumes/1/name", "GV210", "own"),
        ],
    ),
}
