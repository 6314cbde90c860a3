"""Reads first-boot data as cloud-init's documentation describes its formats. Refuses what that does not describe.

Network configuration, version 2: https://docs.cloud-init.io/en/latest/reference/network-config-format-v2.html
NoCloud: https://docs.cloud-init.io/en/latest/reference/datasources/nocloud.html
"""

from __future__ import annotations

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
