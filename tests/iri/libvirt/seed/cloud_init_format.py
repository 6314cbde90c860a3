"""Reads first-boot data as cloud-init's documentation describes its formats. Refuses what that does not describe.

Network configuration, version 2: https://docs.cloud-init.io/en/latest/reference/network-config-format-v2.html
NoCloud: https://docs.cloud-init.io/en/latest/reference/datasources/nocloud.html
"""

from __future__ import annotations

import email
import email.message
import ipaddress
import re
from typing import Any

from ruamel.yaml import YAML

PROPERTIES = {"match", "set-name", "dhcp4", "addresses", "routes", "nameservers"}
HARDWARE_ADDRESS = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


def read_yaml(text: bytes) -> Any:
    """As YAML 1.1, which is what cloud-init reads."""
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 1)
    return reader.load(text)


def read_network_config(text: bytes) -> dict[str, Any]:
    """The interfaces by their name."""
    found = read_yaml(text)
    assert found.keys() == {"version", "ethernets"}
    assert found["version"] == 2
    ethernets: dict[str, Any] = found["ethernets"]
    for name, one in ethernets.items():
        assert one.keys() <= PROPERTIES
        assert one["set-name"] == name
        assert one["match"].keys() == {"macaddress"}
        assert HARDWARE_ADDRESS.fullmatch(one["match"]["macaddress"])
        assert isinstance(one["dhcp4"], bool)
        for address in one.get("addresses", ()):
            assert "/" in address
            ipaddress.ip_interface(address)
        for route in one.get("routes", ()):
            assert route.keys() == {"to", "via"}
            to, via = ipaddress.ip_network(route["to"]), ipaddress.ip_address(route["via"])
            assert to.version == via.version
        if "nameservers" in one:
            assert one["nameservers"].keys() == {"addresses"}
            for server in one["nameservers"]["addresses"]:
                ipaddress.ip_address(server)
    names = [one["match"]["macaddress"] for one in ethernets.values()]
    assert names
    return ethernets


def read_user_data(data: bytes) -> dict[str, Any]:
    """The merged cloud-config of user data, with the scripts beside it as `scripts`.

    Merging: https://docs.cloud-init.io/en/latest/reference/merging.html. Of the many ways only the two that gitvirt relies on are known:
    the default, by which a later part replaces values, and the one that appends lists and keeps values.
    """
    if data.startswith(b"#cloud-config"):
        found: dict[str, Any] = read_yaml(data)
        return found
    message = email.message_from_string(data.decode())
    assert message.get_content_type() == "multipart/mixed"
    assert not message.defects
    merged: dict[str, Any] = {}
    scripts: list[str] = []
    parts = message.get_payload()
    assert isinstance(parts, list)
    for part in parts:
        assert isinstance(part, email.message.Message)
        assert not part.defects
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        match part.get_content_type():
            case "text/cloud-config":
                merge(merged, read_yaml(payload) or {}, part.get("X-Merge-Type", ""))
            case "text/x-shellscript":
                scripts.append(payload.decode())
            case other:
                raise AssertionError(other)
    return merged | ({"scripts": scripts} if scripts else {})


def merge(merged: dict[str, Any], part: dict[str, Any], how: str) -> None:
    """Adds a part to what the parts before it said."""
    if not how:
        merged.update(part)
        return
    assert how == "list(append)+dict(no_replace,recurse_list)+str()"
    for name, value in part.items():
        if name not in merged:
            merged[name] = value
        elif isinstance(value, list):
            merged[name] = [*merged[name], *value]
