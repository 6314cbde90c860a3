"""One document against its kind: the findings, their hints, and that nothing whatever makes it crash."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from schemas.check import schema, violations
from schemas.codes.schema import CODES
from schemas.kinds import Kind
from schemas.meaning import misuses
from tests.schemas.mutations import documents, mutated
from tests.schemas.samples import SAMPLES, load

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
        [("/spec/hostname", "GV201", "it belongs under spec.guestConfig")],
    ),
    "field outside of spec": ({**MACHINE, "power": "On"}, [("/power", "GV201", "it belongs under spec")]),
    "field of a list's entries": (
        machine(device="oda"),
        [("/spec/device", "GV201", "it belongs under spec.volumes[]")],
    ),
    "field decided elsewhere": (
        machine(cpu=4),
        [("/spec/cpu", "GV201", "takes its processors from its class")],
    ),
    "few fields to choose from": (
        machine(guestConfig={"surplus": 1}),
        [("/spec/guestConfig/surplus", "GV201", "fields that can stand here: hostname")],
    ),
    "class with a spec": (
        {**machine_class(cpu=1, memory="1Gi"), "spec": {}},
        [("/spec", "GV201", "capabilities stands at the top level")],
    ),
    "unknown limit": (
        {**QUOTA, "spec": {"hard": {"requests.cpus": 1}}},
        [("/spec/hard/requests.cpus", "GV201", "did you mean requests.cpu?")],
    ),
    "missing field": ({**MACHINE, "spec": {}}, [("/spec", "GV202", "machineClassRef: Class of the machine")]),
    "missing resources": (
        machine_class(cpus=1, mem="1Gi"),
        [
            ("/capabilities", "GV202", "rename cpus to cpu"),
            ("/capabilities", "GV202", "rename mem to memory"),
        ],
    ),
    "volume without size": (
        {**VOLUME, "spec": {"volumeClassRef": {"name": "fast"}}},
        [("/spec", "GV202", "resources: How much")],
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
        [("/metadata/labels/zone", "GV213", "write it anew")],
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
        [("/capabilities/cpu", "GV206", "put it in quotes")],
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
        [("/metadata/namespace", "GV209", "remove it")],
    ),
    "claimed and unclaimable": (
        volume(claimRef={"name": "web"}, unclaimable=True),
        [("/spec/unclaimable", "GV209", "remove claimRef or unclaimable")],
    ),
    "image twice": (
        volume(image="a", dataSource={"osImage": {"image": "b"}}),
        [("/spec/dataSource", "GV209", "remove it")],
    ),
    "claimed template": (
        machine(
            volumes=[{"name": "a", "ephemeral": {"volumeTemplate": {"spec": {"claimRef": {"name": "b"}}}}}]
        ),
        [("/spec/volumes/0/ephemeral/volumeTemplate/spec/claimRef", "GV209", "remove it")],
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
        [("/spec/tolerations/0/tolerationSeconds", "GV211", "")],
    ),
    "priority beyond measure": (machine(priority=2**70), [("/spec/priority", "GV211", "")]),
    "overcommit of nothing": (
        {**POOL, "spec": {"overcommit": {"cpu": 0}}},
        [("/spec/overcommit/cpu", "GV211", "")],
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
    "key that is no text": (
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


def kind_of(body: dict[str, Any], name: str) -> Kind:
    return Kind.MACHINE if name == "other kind" else Kind(body["kind"])


@pytest.mark.parametrize("name", TABLE)
def test_findings(name: str) -> None:
    body, wanted = TABLE[name]
    found = violations(kind_of(body, name), body)
    assert sorted((violation.pointer, violation.code) for violation in found) == sorted(
        want[:2] for want in wanted
    )
    for pointer, code, hint in wanted:
        hints = [
            violation.hint for violation in found if (violation.pointer, violation.code) == (pointer, code)
        ]
        assert any(hint in given for given in hints), hints


def test_every_code_of_a_check_is_provoked() -> None:
    provoked = {code for _, wanted in TABLE.values() for _, code, _ in wanted}
    assert provoked == {code for code in CODES if code < "GV220"}


@pytest.mark.parametrize("name", SAMPLES)
def test_published_shapes_have_no_findings(name: str) -> None:
    body: Any = load(SAMPLES[name])
    assert violations(Kind(body["kind"]), body) == ()


KEYWORDS_EXPLAINED = {
    *(
        "type",
        "required",
        "additionalProperties",
        "properties",
        "propertyNames",
        "items",
        "uniqueItems",
        "enum",
        "const",
    ),
    *(
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "maxItems",
        "oneOf",
        "dependentRequired",
    ),
    *("dependentSchemas", "$ref", "$defs", "$schema", "$id"),
    *("title", "description", "default", "deprecated", "format"),
}


@pytest.mark.parametrize("kind", Kind)
def test_no_schema_uses_a_keyword_that_nobody_explains(kind: Kind) -> None:
    used: set[str] = set()

    def visit(rule: object, names: bool = False) -> None:
        if not isinstance(rule, dict):
            return
        if not names:
            used.update(rule)
        for key, inner in rule.items():
            if isinstance(inner, list):
                for each in inner:
                    visit(each)
            elif names or key not in ("const", "default", "dependentRequired"):
                visit(inner, key in ("properties", "$defs", "dependentSchemas") and not names)

    visit(schema(kind))
    assert used <= KEYWORDS_EXPLAINED


REFERENCE = {kind: jsonschema.Draft202012Validator(schema(kind)) for kind in Kind}


@settings(max_examples=200, deadline=None)
@given(mutated())
def test_agrees_with_the_reference_validator(case: tuple[Kind, Any]) -> None:
    kind, body = case
    assert bool(violations(kind, body)) == (not REFERENCE[kind].is_valid(body) or bool(misuses(kind, body)))


@settings(max_examples=200, deadline=None)
@given(mutated(is_hostile=True))
def test_nothing_makes_it_crash(case: tuple[Kind, Any]) -> None:
    kind, body = case
    for violation in violations(kind, body):
        assert violation.code in CODES
        assert violation.message
        assert violation.message.isprintable()
        assert violation.hint.isprintable()
        assert len(violation.message) < 400


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("body", [None, 5, "text", [], {}, {1: 2}, b"x", float("nan"), (1,)], ids=repr)
def test_what_is_no_manifest_at_all_has_findings(kind: Kind, body: object) -> None:
    assert violations(kind, body)


def test_an_abyss_and_a_flood_are_bounded() -> None:
    abyss = machine()
    deeper = abyss["spec"]
    for _ in range(100_000):
        deeper["machineClassRef"] = {}
        deeper = deeper["machineClassRef"]
    assert {violation.code for violation in violations(Kind.MACHINE, abyss)} == {"GV201", "GV213"}
    flood = machine(volumes=[{"surplus": 1}] * 200_000)
    found = violations(Kind.MACHINE, flood)
    assert len(found) < 1_100
    assert "GV213" in {violation.code for violation in found}


def test_values_of_secrets_are_never_repeated() -> None:
    hidden = ["hunter2!", 271828, "correct horse", 3.14159, True]
    for field in ("data", "stringData", "type", "immutable", "sops", "metadata", "surplus"):
        for value in hidden:
            for body in ({**SECRET, field: value}, {**SECRET, field: {"password": value}}):
                said = repr(violations(Kind.SECRET, body))
                assert str(value) not in said or isinstance(value, bool)


def test_documents_are_left_as_they_were() -> None:
    for kind, sample in documents():
        body = {**sample, "surplus": {"deep": [1]}}
        before = json.dumps(body)
        assert violations(kind, body)
        assert json.dumps(body) == before


def test_messages_and_hints_are_not_those_of_the_library() -> None:
    said = [
        f"{violation.message} {violation.hint}"
        for body, _ in TABLE.values()
        for violation in violations(kind_of(body, ""), body)
    ]
    assert not [
        text for text in said if re.search(r"is not of type|does not match|required property|[\\^$]\[", text)
    ]


def test_no_finding_carries_what_a_terminal_would_obey() -> None:
    body = machine_class(cpu="\x1b[31m", memory="\u202e16Gi", **{"\x07": "x"})
    for violation in violations(Kind.MACHINE_CLASS, body):
        assert (violation.message + violation.hint).isprintable()
