"""Rules for the values of one document that JSON Schema cannot express: exact amounts, addresses, duplicate names, base64.

The schema may already have refused the document, so that all findings come at once. Values of the wrong type are skipped
here, because the schema reports them. A rule that needs a second document, or the fleet's policy, belongs into `validate`.

Amounts at status fields are checked, too: gitvirt reads them on the target branch, where a person may have edited them.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any

from schemas.kinds import Kind
from schemas.model.quantity import NANO, QuantityError, parse
from schemas.problem import Violation, json_pointer, printable

Body = dict[str, Any]
Path = tuple[str | int, ...]
_EntryCheck = Callable[[Body, Path], Iterator[Violation]]

_BYTES = ("memory", "storage", "tps")
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}").fullmatch

# Mappings from resource to amount, and the least amount there. gitvirt ignores status in the source, but reads it on live.
_CAPABILITIES = ((("capabilities",), 1),)
_POOL_AMOUNTS = ((("spec", "reserved"), 0), (("status", "capacity"), 0), (("status", "allocatable"), 0))
_AMOUNTS: dict[Kind, tuple[tuple[Path, int], ...]] = {
    Kind.MACHINE_CLASS: _CAPABILITIES,
    Kind.VOLUME_CLASS: _CAPABILITIES,
    Kind.MACHINE_POOL: _POOL_AMOUNTS,
    Kind.VOLUME_POOL: _POOL_AMOUNTS,
    Kind.VOLUME: ((("spec", "resources"), 1), (("status", "resources"), 0)),
    Kind.RESOURCE_QUOTA: ((("spec", "hard"), 0), (("status", "hard"), 0), (("status", "used"), 0)),
}


def check_values(kind: Kind, body: object) -> tuple[Violation, ...]:
    """Everything in this document that its schema allows and that is wrong nevertheless."""
    return tuple(_CHECKS[kind](body)) if isinstance(body, dict) else ()


def _machine(body: Body) -> list[Violation]:
    """Names and devices are unique; local disks and ephemeral entries follow the rules of their own kinds."""
    found: list[Violation] = []
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return found
    for name, unique, check, concerned in _LISTS:
        entries = spec.get(name)
        if not isinstance(entries, list):
            continue
        for index, entry in enumerate(entries):
            # Most entries only name a volume or an interface, and there are many.
            if isinstance(entry, dict) and not concerned.isdisjoint(entry):
                found += check(entry, ("spec", name, index))
        if len(entries) > 1:
            for field in unique:
                found += _duplicates(entries, field, ("spec", name))
    return found


def _disk(disk: Body, at: Path) -> Iterator[Violation]:
    """Sizes of a local disk, or the volume rules for an ephemeral one."""
    for source in ("localDisk", "emptyDisk"):
        if source in disk:
            yield from _size(_inside(disk, source), "sizeLimit", (*at, source))
    if "ephemeral" in disk:
        resources = ("ephemeral", "volumeTemplate", "spec", "resources")
        yield from _amounts(_inside(disk, *resources), (*at, *resources))


def _ephemeral_interface(interface: Body, at: Path) -> Iterator[Violation]:
    """The rules for interfaces, for the template of an ephemeral one."""
    template = ("ephemeral", "networkInterfaceTemplate", "spec")
    yield from _interface_spec(_inside(interface, *template), (*at, *template))


# The lists of a machine: unique fields, the check of an entry, and the fields that it checks.
_LISTS: tuple[tuple[str, tuple[str, ...], _EntryCheck, frozenset[str]], ...] = (
    ("volumes", ("name", "device"), _disk, frozenset({"localDisk", "emptyDisk", "ephemeral"})),
    ("networkInterfaces", ("name",), _ephemeral_interface, frozenset({"ephemeral"})),
)


def _network(body: Body) -> Iterator[Violation]:
    """The range must be an IPv4 network without host bits; gateway and name servers are addresses."""
    spec = _inside(body, "spec")
    if isinstance(gateway := spec.get("gateway"), str) and _address(gateway) is None:
        yield _not_address(gateway, ("spec", "gateway"))
    servers = spec.get("dns")
    seen: set[str] = set()
    for index, server in enumerate(servers if isinstance(servers, list) else ()):
        if not isinstance(server, str):
            continue
        address, here = _address(server), ("spec", "dns", index)
        if address is None:
            yield _not_address(server, here)
        elif address[0] in seen:
            yield Violation(
                json_pointer(here), "GV210", f"{address[0]} is twice in dns", "remove one of them"
            )
        seen.add(address[0] if address else server)
    yield from _network_range(body)


def _not_address(written: str, at: Path) -> Violation:
    """GV212 for a text in place of an address."""
    message = f"'{printable(written, 40)}' is not an IP address"
    return Violation(json_pointer(at), "GV212", message, "write it like 10.0.0.12 or fd00::12")


def _network_range(body: Body) -> Iterator[Violation]:
    """An IPv4 network without host bits."""
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
            yield _not_address(written, here)
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


def _resources(mappings: tuple[tuple[Path, int], ...], body: Body) -> Iterator[Violation]:
    """The amounts of several mappings of the document."""
    for at, least in mappings:
        if at[0] in body:
            yield from _amounts(_inside(body, *at), at, least)


_CHECKS: dict[Kind, Callable[[Body], Iterable[Violation]]] = {
    **{kind: partial(_resources, mappings) for kind, mappings in _AMOUNTS.items()},
    Kind.MACHINE: _machine,
    Kind.VOLUME_SNAPSHOT: lambda body: _size(_inside(body, "status"), "size", ("status",)),
    Kind.NETWORK: _network,
    Kind.NETWORK_INTERFACE: lambda body: _interface_spec(_inside(body, "spec"), ("spec",)),
    Kind.SECRET: _secret,
}


def base64_violation(at: Path) -> Violation:
    """The violation of a value under data. It names the key, never the value."""
    hint = "encode the value, or move it unchanged to stringData"
    return Violation(json_pointer(at), "GV214", f"the value of {printable(str(at[-1]))} is not base64", hint)


def _amounts(resources: Body, at: Path, least: int = 1) -> Iterator[Violation]:
    """The amounts of a mapping from resource to quantity."""
    for name, written in resources.items():
        if isinstance(name, str):
            yield from _amount(name.rpartition(".")[2], written, (*at, name), least)


def _size(holder: Body, field: str, at: Path) -> Iterator[Violation]:
    """A single amount of bytes, which may be zero."""
    if field in holder:
        yield from _amount("storage", holder[field], (*at, field), least=0)


def _amount(resource: str, written: object, at: Path, least: int = 1) -> Iterator[Violation]:
    """An amount of less than one byte is a mistake: `512m` is half a byte and was meant to be 512Mi.

    `least` is 1 where zero makes no sense, such as the size of a class or a volume; capacity in use may well be zero.
    """
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
    """An address in any notation but canonical IPv4, in its canonical form and with its version; None for a text that is not an address."""
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return None
    return str(address), f"IPv{address.version}"
