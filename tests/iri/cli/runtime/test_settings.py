"""Settings of the libvirt runtime: valid documents are read, and half a document is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iri.cli.runtime.settings_file import read_libvirt_settings
from iri.host import RuntimeMachineClass
from iri.libvirt.settings import Settings
from reconciler.cli.exits import CommandError, Exit

GIB = 1 << 30
DOCUMENTATION = Path(__file__).parents[4] / "docs" / "libvirt.md"
WHOLE = """
uri: qemu:///session
folder: /srv/gitvirt
host:
  accelerator: tcg
  reserved: {cpu: 1, memory: 2Gi}
  overcommit: {cpu: 4}
  classes: {policy: fixed, machines: [{name: small, resources: {cpu: 1, memory: 512Mi}}], volumes: [{name: a, tps: 1Mi}]}
  traits: {small: {firmware: uefi, hugepages: true}}
  addresses: [{type: InternalIP, address: 192.0.2.7}]
networks:
  named: [default]
  bridges: {br0: {vlans: ["7", 100-199]}}
  onDemand: {nat: true, subnets: [10.7.0.0/16]}
storage:
  pools: [{type: dir, name: fast, path: /srv/fast, reservedBytes: 1Gi}]
power: {stopTimeout: 30}
"""


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "libvirt.yaml"
    path.write_text(text)
    return str(path)


def test_everything_has_a_default(tmp_path: Path) -> None:
    assert read_libvirt_settings(None, str(tmp_path / "none")) == Settings()
    assert read_libvirt_settings(write(tmp_path, "{}")) == Settings()
    assert read_libvirt_settings(None, write(tmp_path, "folder: /srv")) == Settings(folder="/srv")


def test_quantities_become_counts(tmp_path: Path) -> None:
    settings = read_libvirt_settings(write(tmp_path, WHOLE))
    assert settings.host.reserved == {"cpu": 1, "memory": 2 * GIB}
    assert settings.host.classes.machines == (
        RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": GIB // 2}),
    )
    assert settings.host.classes.volumes[0].tps == 1 << 20
    assert settings.host.traits["small"].is_hugepages
    assert settings.networks.bridges["br0"].has_vlan(150)
    assert settings.storage.pools[0].reserved_bytes == GIB


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("uri: [", "libvirt.yaml:1"),
        ("", "documents|object|settings"),
        ("{}\n---\n{}", "2 documents"),
        ("[]", "object"),
        ("netwoks: {}", "netwoks"),
        ("folder: srv", "slash"),
        ("folder: ''", "slash"),
        ("host: {accelerator: yes-please}", "accelerator"),
        ("host: {reserved: {memory: much}}", "much"),
        ("host: {reserved: {memory: -1}}", "reserved.memory"),
        ("networks: {bridges: {a/b: {}}}", "a/b"),
        ("networks: {bridges: {br0: {vlans: ['5000']}}}", "5000"),
        ("networks: {onDemand: {subnets: [10.0.0.1/8]}}", "host bits"),
        ("networks: {named: default}", "named"),
        ("storage: {classes: {a: nowhere}}", "nowhere"),
    ],
)
def test_invalid_setting_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(CommandError) as caught:
        read_libvirt_settings(write(tmp_path, text))
    assert re.search(says, str(caught.value))
    assert caught.value.exit_code is Exit.PROBLEMS


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        read_libvirt_settings(str(tmp_path / "none"))


def test_the_documented_settings_are_valid(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL)
    (whole,) = (block for block in blocks if "onDemand" in block)
    settings = read_libvirt_settings(write(tmp_path, whole))
    assert settings.host.traits["large"].is_hugepages
    assert settings.networks.bridges["trunk"].has_vlan(150)
    for block in blocks:
        read_libvirt_settings(write(tmp_path, block))
