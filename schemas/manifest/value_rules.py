"""Rules for the values of one document that JSON Schema cannot express: exact amounts, addresses, duplicate names, base64.

The schema may already have refused the document, so that all findings come at once. Values of the wrong type are skipped
here, because the schema reports them.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from schemas.kinds import Kind
from schemas.model.quantity import NANO, QuantityError, parse
from schemas.problem import Violation, json_pointer, printable

Body = dict[str, Any]
Path = tuple[str | int, ...]

_BYTES = ("memory", "storage", "tps")
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}").fullmatch
_NOTHING: tuple[Violation, ...] = ()


def check_values(kind: Kind, body: object) -> tuple[Violation, ...]:
    """Everything in this document that its schema allows and that is wrong nevertheless."""
    judge = _JUDGES.get(kind)
    if judge is None or not isinstance(body, dict):
        return _NOTHING
    return tuple(judge(body))


def _machine(body: Body) -> Iterable[Violation]:
    """Names and devices are unique; local disks and ephemeral entries follow the rules of their own kinds."""
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return _NOTHING
    found: list[Violation] = []
    volumes, interfaces = spec.get("volumes"), spec.get("networkInterfaces")
    if isinstance(volumes, list):
        for index, disk in enumerate(volumes):
            if isinstance(disk, dict) and "volumeRef" not in disk:
                found += _disk(disk, ("spec", "volumes", index))
        if len(volumes) > 1:
            found += _duplicates(volumes, "name", ("spec", "volumes"))
            found += _duplicates(volumes, "device", ("spec", "volumes"))
    if isinstance(interfaces, list):
        for index, interface in enumerate(interfaces):
            if isinstance(interface, dict) and "networkInterfaceRef" not in interface:
                at = ("spec", "networkInterfaces", index, "ephemeral", "networkInterfaceTemplate", "spec")
                found += _interface_spec(_inside(interface, *at[3:]), at)
        if len(interfaces) > 1:
            found += _duplicates(interfaces, "name", ("spec", "networkInterfaces"))
    return found


def _disk(disk: Body, at: Path) -> Iterator[Violation]:
    """Sizes of a local disk, or the volume rules for an ephemeral one."""
    for source in ("localDisk", "emptyDisk"):
        local = disk.get(source)
        if isinstance(local, dict) and "sizeLimit" in local:
            yield from _amount("storage", local["sizeLimit"], (*at, source, "sizeLimit"), least=0)
    template = _inside(disk, "ephemeral", "volumeTemplate", "spec")
    yield from _volume_spec(template, (*at, "ephemeral", "volumeTemplate", "spec"))


def _class(body: Body) -> Iterator[Violation]:
    """Capabilities are positive amounts."""
    yield from _amounts(body.get("capabilities"), ("capabilities",))


def _pool(body: Body) -> Iterator[Violation]:
    """Reserved and reported amounts."""
    yield from _amounts(_inside(body, "spec").get("reserved"), ("spec", "reserved"), least=0)
    yield from _status(body, "capacity", "allocatable")


def _volume(body: Body) -> Iterator[Violation]:
    yield from _volume_spec(_inside(body, "spec"), ("spec",))
    yield from _status(body, "resources")


def _volume_spec(spec: Body, at: Path) -> Iterator[Violation]:
    resources = spec.get("resources")
    if isinstance(resources, dict) and "storage" in resources:
        yield from _amount("storage", resources["storage"], (*at, "resources", "storage"))


def _network(body: Body) -> Iterator[Violation]:
    """The range must be an IPv4 network without host bits."""
    written = _inside(body, "spec", "ipv4").get("cidr")
    if isinstance(written, str):
        at = ("spec", "ipv4", "cidr")
        try:
            network = ipaddress.IPv4Network(written, strict=False)
        except ValueError:
            message = f"'{printable(written, 40)}' is not an IPv4 network"
            yield Violation(json_pointer(at), "GV212", message, "write it like 192.168.100.0/24")
            return
        if str(network) != written:
            message = f"{written} is an address inside a network"
            yield Violation(json_pointer(at), "GV212", message, f"did you mean {network}?")


def _interface_spec(spec: Body, at: Path) -> Iterator[Violation]:
    """Addresses are valid, unique, and of a listed family."""
    ips = spec.get("ips")
    if not isinstance(ips, list):
        return
    families = spec.get("ipFamilies")
    seen: dict[str, int] = {}
    for index, entry in enumerate(ips):
        written = entry.get("value") if isinstance(entry, dict) else None
        if not isinstance(written, str):
            continue
        address, here = _address(written), (*at, "ips", index, "value")
        if address is None:
            message = f"'{printable(written, 40)}' is not an IP address"
            yield Violation(json_pointer(here), "GV212", message, "write it like 10.0.0.12 or fd00::12")
        elif seen.setdefault(address[0], index) != index:
            message = f"{address[0]} is twice in ips"
            yield Violation(json_pointer(here), "GV210", message, "remove one of them")
        elif isinstance(families, list) and families and address[1] not in families:
            message = f"{written} is {address[1]}, which ipFamilies does not list"
            yield Violation(json_pointer(here), "GV209", message, f"add {address[1]} to ipFamilies")


def _secret(body: Body) -> Iterator[Violation]:
    """Values under data are base64, unless they are encrypted."""
    data = body.get("data")
    if not isinstance(data, dict):
        return
    for key, value in data.items():
        if isinstance(value, str) and not value.startswith("ENC["):
            try:
                base64.b64decode("".join(value.split()), validate=True)
            except (binascii.Error, ValueError):
                yield base64_violation(("data", key))


def base64_violation(at: Path) -> Violation:
    """The violation of a value under data. It names the key, never the value."""
    hint = "encode the value, or move it unchanged to stringData"
    return Violation(json_pointer(at), "GV214", f"the value of {printable(str(at[-1]))} is not base64", hint)


def _quota(body: Body) -> Iterator[Violation]:
    yield from _amounts(_inside(body, "spec").get("hard"), ("spec", "hard"), least=0)
    yield from _status(body, "hard", "used")


def _snapshot(body: Body) -> Iterator[Violation]:
    status = body.get("status")
    if isinstance(status, dict) and "size" in status:
        yield from _amount("storage", status["size"], ("status", "size"), least=0)


def _status(body: Body, *fields: str) -> Iterator[Violation]:
    """gitvirt ignores status in the source, but reads it on the target branch."""
    status = body.get("status")
    if isinstance(status, dict):
        for field in fields:
            yield from _amounts(status.get(field), ("status", field), least=0)


_JUDGES: dict[Kind, Callable[[Body], Iterable[Violation]]] = {
    Kind.MACHINE_CLASS: _class,
    Kind.MACHINE_POOL: _pool,
    Kind.MACHINE: _machine,
    Kind.VOLUME_CLASS: _class,
    Kind.VOLUME_POOL: _pool,
    Kind.VOLUME: _volume,
    Kind.VOLUME_SNAPSHOT: _snapshot,
    Kind.NETWORK: _network,
    Kind.NETWORK_INTERFACE: lambda body: _interface_spec(_inside(body, "spec"), ("spec",)),
    Kind.SECRET: _secret,
    Kind.RESOURCE_QUOTA: _quota,
}


def _amounts(resources: object, at: Path, least: int = 1) -> Iterator[Violation]:
    """The amounts of a mapping from resource to quantity."""
    if isinstance(resources, dict):
        for name, written in resources.items():
            if isinstance(name, str):
                yield from _amount(name.rpartition(".")[2], written, (*at, name), least)


def _amount(resource: str, written: object, at: Path, least: int = 1) -> Iterator[Violation]:
    """An amount of less than one byte is a mistake: `512m` is half a byte and was meant to be 512Mi."""
    try:
        amount = parse(written)
    except QuantityError as error:
        yield Violation(json_pointer(at), "GV206", f"{at[-1]}: {error.message}", error.hint)
        return
    if resource in _BYTES and amount.nano < NANO and (amount.nano > 0 or least > 0):
        text = str(written)
        hint = f"did you mean {text[:-1]}M or {text[:-1]}Mi?" if text.endswith("m") else ""
        yield Violation(json_pointer(at), "GV207", f"{at[-1]} of {text} is less than one byte", hint)


def _duplicates(entries: list[Any], field: str, at: tuple[str, ...]) -> Iterator[Violation]:
    """GV210 for entries of a list that have the same value in a field."""
    written = [entry.get(field) for entry in entries if isinstance(entry, dict)]
    values = [value for value in written if isinstance(value, str)]
    if len(set(values)) == len(values):
        return
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        value = entry.get(field) if isinstance(entry, dict) else None
        if not isinstance(value, str):
            continue
        if value in seen:
            message = f"another entry of {at[-1]} has the {field} '{printable(value)}'"
            yield Violation(
                json_pointer((*at, index, field)), "GV210", message, f"give each entry a {field} of its own"
            )
        seen.add(value)


def _inside(value: object, *path: str | int) -> Body:
    """The object at the path, or an empty one."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _address(written: str) -> tuple[str, str] | None:
    """The address in its canonical form, and its family."""
    # Nearly all IPv4 addresses are canonical, and a whole fleet has more of them than a cache would hold.
    return (written, "IPv4") if _IPV4(written) else _rare_address(written)


@lru_cache(maxsize=4096)
def _rare_address(written: str) -> tuple[str, str] | None:
    """Any other notation, such as IPv6."""
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return None
    return str(address), f"IPv{address.version}"
