"""A machine's addresses for guests with Ignition, which reads no NoCloud disk: files beside its own config. Pure.

    guest                       reads
    Fedora CoreOS, RHEL CoreOS  a keyfile of NetworkManager for each interface
    Flatcar                     a unit of systemd-networkd for each interface

Both are written, because nothing says which of the two a guest runs; what it does not run reads no file. The config that the machine came with
is merged into one of ours, as Ignition calls it, and stays as it is: where both write a file, its own counts. What is not a config of
version 3 is left alone, and so are machines that DHCP tells everything.

Limits: Ignition itself fetches before these files count, so a config that names remote files needs DHCP.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from iri.libvirt.seed.network_config import DEFAULT_ROUTE, GuestInterface

VERSION = "3.0.0"  # the first one that merges: guests read it and all later ones
KEYFILES = "/etc/NetworkManager/system-connections"
UNITS = "/etc/systemd/network"
PRIVATE, READABLE = 0o600, 0o644  # NetworkManager refuses a keyfile that others can read
Node = dict[str, Any]


def add_network(config: bytes, interfaces: Sequence[GuestInterface]) -> bytes:
    """The config in JSON with the files of the interfaces."""
    if all(one.is_left_to_dhcp for one in interfaces) or not is_mergeable(config):
        return config
    files = [
        file
        for number, one in enumerate(interfaces)
        for file in (
            render_file(f"{KEYFILES}/gitvirt-{number}.nmconnection", render_keyfile(number, one), PRIVATE),
            render_file(f"{UNITS}/10-gitvirt-{number}.network", render_unit(one), READABLE),
        )
    ]
    merged = {"config": {"merge": [{"source": data_url(config)}]}}
    return msgspec.json.encode({"ignition": {"version": VERSION, **merged}, "storage": {"files": files}})


def is_mergeable(config: bytes) -> bool:
    """Whether it is a config of version 3."""
    try:
        body = msgspec.json.decode(config)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    ignition = body.get("ignition") if isinstance(body, dict) else None
    version = ignition.get("version") if isinstance(ignition, dict) else None
    return isinstance(version, str) and version.startswith("3.")


def render_keyfile(number: int, one: GuestInterface) -> str:
    """IPv6 stays automatic beside static addresses, as cloud-init leaves it. A section that is disabled has nothing else: NetworkManager refuses
    a whole file with `dns` there, and the interface would have no configuration at all."""
    lines = [
        "[connection]",
        f"id=gitvirt-{number}",
        "type=ethernet",
        "",
        "[ethernet]",
        f"mac-address={one.mac}",
    ]
    for version in (4, 6):
        addresses = list(of_version(one.addresses, version))
        method = "auto" if version == 6 or one.dhcp else "manual" if addresses else "disabled"
        lines += ["", f"[ipv{version}]", f"method={method}"]
        if method == "disabled":
            continue
        lines += [f"address{at}={address}" for at, address in enumerate(addresses, 1)]
        gateways = of_version(one.gateways, version)
        lines += [f"route{at}={DEFAULT_ROUTE[version]},{gateway}" for at, gateway in enumerate(gateways, 1)]
        if servers := list(of_version(one.dns, version)):
            lines.append(f"dns={';'.join(servers)};")
    return "".join(f"{line}\n" for line in lines)


def render_unit(one: GuestInterface) -> str:
    lines = ["[Match]", f"MACAddress={one.mac}", "", "[Network]", f"DHCP={'ipv4' if one.dhcp else 'no'}"]
    lines += [f"Address={address}" for address in one.addresses]
    lines += [f"Gateway={gateway}" for gateway in one.gateways]
    lines += [f"DNS={server}" for server in one.dns]
    return "".join(f"{line}\n" for line in lines)


def of_version(texts: Sequence[str], version: int) -> Iterator[str]:
    return (text for text in texts if ipaddress.ip_interface(text).version == version)


def render_file(path: str, text: str, mode: int) -> Node:
    return {
        "path": path,
        "mode": mode,
        "overwrite": True,
        "contents": {"source": data_url(text.encode())},
    }


def data_url(data: bytes) -> str:
    return f"data:;base64,{base64.b64encode(data).decode()}"
