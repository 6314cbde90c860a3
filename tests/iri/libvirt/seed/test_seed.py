"""Seeds: what the content decides, the disk that other tools can read, files that are whole or not there."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.cli.runtime.settings_file import parse_ignition_yaml
from iri.errors import FailedPrecondition, InvalidArgument, ResourceExhausted
from iri.libvirt.seed.iso9660 import SECTOR, iso9660_image
from iri.libvirt.seed.memory_folder import find_memory_folder
from iri.libvirt.seed.seed import (
    EFI_ANNOTATION,
    HOSTNAME,
    Language,
    detect_language,
    meta_data,
    nocloud_iso,
    plan_seed,
)
from iri.libvirt.seed.seed_files import SeedWriter
from iri.machine import (
    RuntimeGuestConfig,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
)
from iri.memory_mounts import is_in_memory
from tests.iri.libvirt.seed.cloud_init_format import read_network_config, read_user_data, read_yaml

ID = "0d0c2d9e-0000-4000-8000-000000000001"


def machine(
    data: bytes = b"", hostname: str = "", annotations: dict[str, str] | None = None
) -> RuntimeMachine:
    guest = RuntimeGuestConfig(hostname=hostname) if hostname else None
    return RuntimeMachine(
        id=ID, annotations=annotations or {}, spec=RuntimeMachineSpec(ignition_data=data, guest_config=guest)
    )


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (b"", Language.NONE),
        (b"#cloud-config\nusers: []\n", Language.CLOUD_INIT),
        (b"\xef\xbb\xbf#cloud-config\n", Language.CLOUD_INIT),
        (b"#!/bin/sh\ntrue\n", Language.CLOUD_INIT),
        (b"## template: jinja\n#cloud-config\n", Language.CLOUD_INIT),
        (b"Content-Type: multipart/mixed; boundary=x\n", Language.CLOUD_INIT),
        (b"MIME-Version: 1.0\n", Language.CLOUD_INIT),
        (b"\x1f\x8b\x08rest", Language.CLOUD_INIT),
        (b"#include\nhttp://there\n", Language.CLOUD_INIT),
        (b'{"ignition": {"version": "3.4.0"}}', Language.IGNITION),
        (b"  \n{}", Language.IGNITION),
        (b"# a comment of YAML\nignition: {version: 3.4.0}\n", Language.IGNITION),
        (b"\x00\xffsecret", Language.IGNITION),
    ],
)
def test_content_decides_the_language(data: bytes, want: Language) -> None:
    assert detect_language(data) is want


def test_machine_without_data_has_no_seed() -> None:
    assert (plan_seed(machine()).iso, plan_seed(machine()).ignition) == (b"", b"")


def test_hostname_is_given_with_either_language() -> None:
    for data in (b"", b"#cloud-config\n", b"{}"):
        assert b'local-hostname: "web-1"' in plan_seed(machine(data, "web-1")).iso
    assert plan_seed(machine(b"{}", "web-1")).ignition == b"{}"
    assert plan_seed(machine(b"#cloud-config\n")).ignition == b""


YAML = b"# as people write it\nignition: {version: 3.4.0}\npasswd:\n  users: [{name: core}]\n"


def test_ignition_in_yaml_becomes_json() -> None:
    made = plan_seed(machine(YAML), parse_ignition_yaml).ignition
    assert msgspec.json.decode(made) == {
        "ignition": {"version": "3.4.0"},
        "passwd": {"users": [{"name": "core"}]},
    }
    assert plan_seed(machine(YAML)).ignition == YAML, "without a reader"


@pytest.mark.parametrize(
    "data", [b'{"ignition": {}}', b"\x00\xff", b"text", b"a: [", b"a: 1\n---\nb: 2", b"ignition: 3", b"- a"]
)
def test_data_that_is_not_ignition_in_yaml_stays_as_it_is(data: bytes) -> None:
    assert plan_seed(machine(data), parse_ignition_yaml).ignition == data


def test_butane_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="butane"):
        plan_seed(machine(b"variant: fcos\nversion: 1.5.0\n"), parse_ignition_yaml)


def test_the_same_machine_has_the_same_seed() -> None:
    """A disk with other bytes would be written again while the guest has the old one."""
    made = plan_seed(machine(b"#cloud-config\n", "a"))
    changed = msgspec.structs.replace(
        machine(b"#cloud-config\n", "a"), generation=2, labels={"a": "b"}, created_at=1
    )
    assert plan_seed(changed) == made
    assert (
        hashlib.sha256(made.iso).hexdigest()
        == "6cb08c5e3c5d6216089ba1c3beb7abf10a16bba998f53a3c0f57be9c2bf8d6d3"
    )


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_hostname_is_one_value_of_meta_data_or_refused(hostname: str) -> None:
    try:
        made = plan_seed(machine(hostname=hostname))
    except InvalidArgument:
        assert hostname
        assert not HOSTNAME.fullmatch(hostname)
        return
    assert made.iso == (nocloud_iso(ID, hostname, b"") if hostname else b"")
    values = dict(line.split(": ") for line in meta_data(ID, hostname).decode().splitlines())
    assert {key: msgspec.json.decode(value) for key, value in values.items()} == (
        {"instance-id": ID} | ({"local-hostname": hostname} if hostname else {})
    )


@pytest.mark.parametrize(
    "name", ["a\nusers: []", "a b", "-a", "a-", "a..b", "ä", "a" * 64, ".".join(["abc"] * 64)]
)
def test_invalid_hostname_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match="hostname"):
        plan_seed(machine(hostname=name))


def read_by_isoinfo(image: Path, *flags: str) -> dict[str, bytes]:
    """As a tool that is not ours finds the files."""
    listing = subprocess.run(
        ["isoinfo", *flags, "-f", "-i", image], check=True, capture_output=True, text=True
    )
    return {
        name.strip("/"): subprocess.run(
            ["isoinfo", *flags, "-i", image, "-x", name], check=True, capture_output=True
        ).stdout
        for name in listing.stdout.split()
    }


@pytest.mark.parametrize("size", [0, 1, SECTOR, SECTOR + 1, 100_000])
def test_other_tools_read_the_image(tmp_path: Path, size: int) -> None:
    files = {"meta-data": b"m" * 10, "user-data": b"u" * size, "vendor-data": b"v"}
    image = tmp_path / "seed.iso"
    image.write_bytes(iso9660_image("cidata", files))
    info = subprocess.run(["isoinfo", "-d", "-i", image], check=True, capture_output=True, text=True).stdout
    assert "Volume id: cidata" in info
    assert f"Volume size is: {image.stat().st_size // SECTOR}" in info
    assert read_by_isoinfo(image, "-J") == files
    assert read_by_isoinfo(image) == {f"{name.upper()};1": data for name, data in files.items()}


def test_guests_find_the_image_by_its_label(tmp_path: Path) -> None:
    """By the rules of blkid, which cloud-init asks: it takes the label of Joliet where there is one."""
    image = tmp_path / "seed.iso"
    image.write_bytes(plan_seed(machine(b"#cloud-config\n")).iso)
    command = ["/usr/sbin/blkid", "-p", "-o", "value", "-s", "LABEL", str(image)]
    found = subprocess.run(command, check=True, capture_output=True).stdout
    assert found == b"cidata\n"


def test_guest_reads_the_whole_seed_as_nocloud_documents_it(tmp_path: Path) -> None:
    """Three files: who the guest is, what it is to do, and its network, all in plain sight of its own first boot."""
    lan = RuntimeNetworkInterface(
        name="lan",
        network_id="bridge:br0",
        ips=("10.120.0.7",),
        attributes={"mac": "02:aa:bb:cc:dd:01", "cidr": "10.120.0.0/24", "gateway": "10.120.0.1"},
    )
    data = b'#cloud-config\nssh_authorized_keys:\n  - "ssh-ed25519 AAAA"\n'
    given_ = machine(data, "web-1")
    whole = msgspec.structs.replace(
        given_, spec=msgspec.structs.replace(given_.spec, network_interfaces=(lan,))
    )
    image = tmp_path / "seed.iso"
    image.write_bytes(plan_seed(whole).iso)
    files = read_by_isoinfo(image, "-J")
    assert files.keys() == {"meta-data", "user-data", "network-config"}
    assert read_yaml(files["meta-data"]) == {"instance-id": ID, "local-hostname": "web-1"}
    assert read_user_data(files["user-data"]) == {"ssh_authorized_keys": ["ssh-ed25519 AAAA"]}
    assert read_network_config(files["network-config"]) == {
        "eth0": {
            "match": {"macaddress": "02:aa:bb:cc:dd:01"},
            "set-name": "eth0",
            "dhcp4": False,
            "addresses": ["10.120.0.7/24"],
            "routes": [{"to": "0.0.0.0/0", "via": "10.120.0.1"}],
        }
    }


def test_more_names_than_fit_into_a_sector_are_refused() -> None:
    with pytest.raises(ValueError, match="sector"):
        iso9660_image("cidata", {f"a-rather-long-name-{n}": b"" for n in range(60)})


def seed_writer(folder: Path) -> SeedWriter:
    return SeedWriter(memory=folder / "memory")


def test_files_are_private_and_removed_with_their_data(tmp_path: Path) -> None:
    place, own = tmp_path / "memory" / ID, tmp_path / "own"
    own.mkdir()
    made = seed_writer(tmp_path).write(machine(b"{}", "web-1"), own)
    assert (made.iso, made.ignition, made.nvram) == (place / "seed.iso", place / "ignition.ign", None)
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}
    assert (place / "ignition.ign").read_bytes() == b"{}"
    assert list(own.iterdir()) == []
    seed_writer(tmp_path).write(machine(), own)
    assert not place.exists()


def test_what_does_not_come_of_a_secret_is_in_the_folder_of_the_machine(tmp_path: Path) -> None:
    assert SeedWriter().write(machine(hostname="web-1"), tmp_path).iso == tmp_path / "seed.iso"
    seed_writer(tmp_path).write(machine(b"#cloud-config\n", "web-1"), tmp_path)
    assert not (tmp_path / "seed.iso").exists(), "the file of an earlier definition is removed"


def test_secret_boot_data_needs_tmpfs(tmp_path: Path) -> None:
    for call in (
        lambda: SeedWriter().refuse(machine(b"{}")),
        lambda: SeedWriter().write(machine(b"{}"), tmp_path),
    ):
        with pytest.raises(FailedPrecondition, match="no tmpfs"):
            call()
    assert list(tmp_path.iterdir()) == []
    assert not is_in_memory(Path("/proc"))
    found = find_memory_folder(tmp_path)
    assert found is not None
    assert is_in_memory(found.parent.parent)
    assert found == find_memory_folder(tmp_path) != find_memory_folder(tmp_path / "other")
    assert find_memory_folder(tmp_path, [Path("/proc"), tmp_path / "gone"]) is None


def test_a_folder_of_another_account_is_refused(tmp_path: Path) -> None:
    """Anyone may write to /dev/shm, and could have made the folder first."""
    memory = tmp_path / "memory"
    memory.mkdir()
    memory.chmod(0o777)
    with pytest.raises(FailedPrecondition, match="others may write"):
        seed_writer(tmp_path).refuse(machine(b"{}"))
    with pytest.raises(FailedPrecondition, match="others may write"):
        seed_writer(tmp_path).write(machine(b"{}"), tmp_path)
    memory.rmdir()
    (tmp_path / "elsewhere").mkdir()
    memory.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FailedPrecondition, match="another account"):
        seed_writer(tmp_path).write(machine(b"{}"), tmp_path)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_unchanged_file_is_not_written_again(tmp_path: Path) -> None:
    first = seed_writer(tmp_path).write(machine(b"{}"), tmp_path).ignition
    assert first is not None
    before = first.stat()
    seed_writer(tmp_path).write(machine(b"{}"), tmp_path)
    assert first.stat().st_ino == before.st_ino
    seed_writer(tmp_path).write(machine(b'{"other": 1}'), tmp_path)
    assert first.read_bytes() == b'{"other": 1}'


def test_partial_file_of_a_crash_is_replaced(tmp_path: Path) -> None:
    target, place = tmp_path / "elsewhere", tmp_path / "memory" / ID
    target.write_bytes(b"untouched")
    place.mkdir(parents=True)
    (place / "ignition.ign.partial").symlink_to(target)
    seed_writer(tmp_path).write(machine(b"{}"), tmp_path)
    assert target.read_bytes() == b"untouched"
    assert [path.name for path in place.iterdir()] == ["ignition.ign"]


def test_missing_folder_is_an_error_with_its_cause(tmp_path: Path) -> None:
    with pytest.raises(ResourceExhausted, match="first-boot data"):
        seed_writer(tmp_path).write(machine(hostname="web-1"), tmp_path / "gone" / "too")


def test_a_memory_folder_that_cannot_be_made_is_refused_before_anything_is_defined(tmp_path: Path) -> None:
    for place, why in ((tmp_path / "gone" / "too", "cannot be made"), (tmp_path / "file", "another account")):
        (tmp_path / "file").touch()
        with pytest.raises(FailedPrecondition, match=why):
            SeedWriter(memory=place / "memory").refuse(machine(b"{}"))


MOUNTED = """
mount -t tmpfs none {0}/run/gitvirt-seeds && mount -t tmpfs none {0}/shm && mount -t tmpfs -o ro none {0}/ro && mount --bind /proc {0}/disk/gitvirt-seeds
{1} -c "from pathlib import Path; from iri.libvirt.seed.memory_folder import find_memory_folder
for name in ('run', 'disk', 'ro', 'shm'): print(find_memory_folder(Path('/x'), [Path('{0}') / name, Path('{0}/shm')]))"
"""


def test_a_mounted_folder_counts_and_the_first_that_can_be_written_is_used(tmp_path: Path) -> None:
    """As in a container: the folder of the host is mounted, and /run is not tmpfs. The mounts end with the process."""
    for name in ("run/gitvirt-seeds", "disk/gitvirt-seeds", "ro", "shm"):
        (tmp_path / name).mkdir(parents=True)
    command = MOUNTED.format(tmp_path, sys.executable)
    isolated = ["unshare", "--mount", "--user", "--map-root-user", "sh", "-ec", command]
    found = subprocess.run(isolated, check=True, capture_output=True, text=True).stdout.split()
    assert [str(Path(each).parent) for each in found] == [
        f"{tmp_path}/{name}/gitvirt-seeds" for name in ("run", "shm", "shm", "shm")
    ]


def test_efi_variables_need_efi(tmp_path: Path) -> None:
    variable = '[{"name": "Vendor", "uuid": "2b6a1ee7-5a5a-4a3c-9a8e-000000000001", "value": "base64:aGk="}]'
    wanted = machine(annotations={EFI_ANNOTATION: variable})
    with pytest.raises(FailedPrecondition, match="EFI"):
        SeedWriter().refuse(wanted)
    with pytest.raises(FailedPrecondition, match="EFI"):
        SeedWriter().write(wanted, tmp_path)
    with pytest.raises(InvalidArgument, match="base64"):
        SeedWriter().refuse(machine(annotations={EFI_ANNOTATION: variable.replace("aGk=", "!")}))
