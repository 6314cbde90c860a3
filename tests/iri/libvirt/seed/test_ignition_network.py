"""Static addresses for guests with Ignition: golden files of what is added, and the user's own config as it was."""

from __future__ import annotations

import base64
import configparser
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from iri.libvirt.seed.seed import plan_seed
from iri.machine import RuntimeMachine
from tests.iri.libvirt.seed.test_network_config import UPLINK, interface, machine

GOLDENS = Path(__file__).parent / "goldens"
OWN = b'{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/motd"}]}}'
GIVEN = {
    "ignition-static": (interface("bridge:br0", "10.20.0.7", "fd00::7", vlan="120", **UPLINK),),
    "ignition-two-interfaces": (
        interface("lan", "10.1.0.7", cidr="10.1.0.0/24", name="a"),
        interface(
            "bridge:br0", "10.20.0.7", cidr="10.20.0.0/24", dns="fd00::53", name="b", mac="02:aa:bb:cc:dd:02"
        ),
    ),
    "ignition-without-dhcp": (interface("bridge:br0", dhcp="false"),),
    "ignition-ipv6-only": (
        interface(
            "bridge:br0", "fd00::7", dhcp="false", dns="10.20.0.53,fd00::53", gateway="10.20.0.1,fd00::1"
        ),
    ),
}


def with_data(made: RuntimeMachine, data: bytes) -> RuntimeMachine:
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, ignition_data=data))


def decode(source: str) -> bytes:
    return base64.b64decode(source.removeprefix("data:;base64,"))


def list_files(config: bytes) -> dict[str, tuple[int, str]]:
    """Rights and text, by path."""
    body: dict[str, Any] = json.loads(config)
    return {
        each["path"]: (each["mode"], decode(each["contents"]["source"]).decode())
        for each in body["storage"]["files"]
    }


@pytest.mark.parametrize("name", GIVEN)
def test_the_files_of_a_machine(name: str, request: pytest.FixtureRequest) -> None:
    config = plan_seed(with_data(machine(*GIVEN[name]), OWN)).ignition
    assert config == plan_seed(with_data(machine(*GIVEN[name]), OWN)).ignition
    (merged,) = json.loads(config)["ignition"]["config"]["merge"]
    assert decode(merged["source"]) == OWN
    found = list_files(config)
    shown = "".join(f"# {path} {mode:o}\n{text}\n" for path, (mode, text) in found.items())
    golden = GOLDENS / f"{name}.txt"
    if request.config.getoption("--regen"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(shown)
    assert shown == golden.read_text()
    for path, (mode, text) in found.items():
        if path.endswith(".nmconnection"):
            assert mode == 0o600, "NetworkManager refuses it otherwise"
            parser = configparser.ConfigParser(strict=True)
            parser.read_string(text)
            assert parser["ipv4"]["method"] in ("auto", "manual", "disabled")
            assert ("address1" in parser["ipv4"]) is (parser["ipv4"]["method"] == "manual")
            if parser["ipv4"]["method"] == "disabled":
                assert list(parser["ipv4"]) == ["method"], (
                    "NetworkManager refuses the file with `dns` beside it"
                )


def test_a_machine_that_dhcp_tells_everything_keeps_its_config_byte_for_byte() -> None:
    assert plan_seed(with_data(machine(interface("bridge:br0")), OWN)).ignition == OWN


@pytest.mark.parametrize(
    "data",
    [
        b'{"ignition": {"version": "2.3.0"}}',
        b'{"ignition": {}}',
        b"{",
        b"\xff",
        b"[]",
        b'{"ignition": {"version": 3}}',
    ],
)
def test_what_is_not_ignition_of_version_3_is_left_alone(data: bytes) -> None:
    static = GIVEN["ignition-static"]
    assert plan_seed(with_data(machine(*static), data)).ignition == data


def test_cloud_init_gets_its_own_form_alone() -> None:
    found = plan_seed(with_data(machine(*GIVEN["ignition-static"]), b"#cloud-config\n{}\n"))
    assert found.ignition == b""
    assert b"addresses:" in found.iso
