"""Pools, volumes and secrets as XML. Kinds of pools that no machine of the tests can have are shown here alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iri.errors import InvalidArgument
from iri.libvirt.connect.storage import secret_document
from iri.libvirt.volumes import storage_xml
from iri.libvirt.volumes.settings import DirPool, NetfsPool, Pool, RbdPool, StorageSettings, pool_of
from iri.libvirt.volumes.storage_xml import NewVolume
from iri.libvirt.xml import parse
from tests.servers.libvirtd import Libvirtd

GOLDEN = Path(__file__).with_name("golden")
SECRET = "11111111-0000-4000-8000-000000000001"
RBD = RbdPool(
    name="ceph",
    ceph_pool="vms",
    monitors=("10.0.0.1:3300", "[fd00::1]", "ceph-2"),
    user="gitvirt",
    key_file="/k",
)

XML = {
    "pool-dir": storage_xml.pool(DirPool(name="local & fast", path="/srv/<volumes>")),
    "pool-netfs": storage_xml.pool(NetfsPool(name="shared", path="/srv/shared", host="nfs.example.org", export="/export/a")),
    "pool-netfs-gluster": storage_xml.pool(
        NetfsPool(name="shared", path="/srv/shared", host="gluster-1", export="vol", format="glusterfs")
    ),
    "pool-rbd": storage_xml.pool(RBD, SECRET),
    "volume": storage_xml.volume(NewVolume(name="volume-1.qcow2", size_bytes=1 << 30)),
    "volume-backing": storage_xml.volume(
        NewVolume(name="volume-1.qcow2", size_bytes=1 << 30, backing=("/srv/images/a&b", "raw"))
    ),
    "volume-luks": storage_xml.volume(NewVolume(name="volume-1.qcow2", size_bytes=1 << 30, secret_id=SECRET)),
    "secret-volume": secret_document(SECRET, usage="gitvirt/volume-1", is_private=True),
    "secret-ceph": secret_document(SECRET, usage="gitvirt/pool-a", type="ceph"),
}  # fmt: skip


@pytest.mark.parametrize("name", XML)
def test_storage_is_as_in_its_golden_file(name: str) -> None:
    assert XML[name] + "\n" == (GOLDEN / f"{name}.xml").read_text()


@pytest.mark.parametrize("name", ["pool-dir", "pool-netfs", "pool-netfs-gluster"])
def test_libvirt_accepts_it_by_its_schema(name: str, libvirtd: Libvirtd, tmp_path: Path) -> None:
    storage_xml = tmp_path / "pool.xml"
    storage_xml.write_text(XML[name])
    libvirtd.virsh("pool-define", "--validate", str(storage_xml))
    libvirtd.virsh("pool-undefine", parse(XML[name]).findtext("name", ""))


def test_every_golden_file_of_storage_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(XML)


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(
        lambda text: "￾" not in text and "￿" not in text
    )
)
def test_no_text_becomes_markup(text: str) -> None:
    root = parse(storage_xml.pool(DirPool(name=text, path=text)))
    assert [part.tag for part in root.iter()] == ["pool", "name", "target", "path", "permissions", "mode"]
    assert root.findtext("name") == text
    assert root.findtext("target/path") == text


@pytest.mark.parametrize(
    ("monitor", "address"),
    [
        ("ceph-1", ("ceph-1", 6789)),
        ("ceph-1:3300", ("ceph-1", 3300)),
        ("10.0.0.1:1", ("10.0.0.1", 1)),
        ("[fd00::1]:3300", ("fd00::1", 3300)),
        ("[fd00::1]", ("fd00::1", 6789)),
        ("fd00::1", ("fd00::1", 6789)),
    ],
)
def test_monitor_has_an_address(monitor: str, address: tuple[str, int]) -> None:
    assert storage_xml.address(monitor) == address


POOL = {"type": "dir", "name": "a", "path": "/a"}
CEPH = {"type": "rbd", "name": "c", "cephPool": "p", "monitors": ["a"], "user": "u", "keyFile": "/k"}
SETTINGS = [
    ({"pools": [POOL, POOL]}, "have the same name"),
    ({"pools": [POOL], "classes": {"fast": "b"}}, "pool 'b' is not among the pools"),
    ({"pools": [POOL | {"overcommit": 0.5}]}, "overcommit must be at least 1"),
    ({"pools": [POOL | {"reservedBytes": -1}]}, "overcommit must be at least 1, reservedBytes at least 0"),
    ({"pools": [POOL | {"type": "iscsi"}]}, "iscsi"),
    ({"pools": [{"type": "logical", "name": "vg", "volumeGroup": "vg0"}]}, "logical"),
    ({"pools": [POOL | {"name": "../a"}]}, "name may have letters"),
    ({"pools": [POOL | {"path": "a"}]}, "path must begin with a slash"),
    ({"pools": [POOL | {"path": "/a/../b"}]}, "have no"),
    ({"pools": [CEPH | {"user": "-n"}]}, "user may have letters"),
    ({"pools": [CEPH | {"monitors": []}]}, "monitors must be one or more host:port"),
    ({"pools": [CEPH | {"monitors": ["a b"]}]}, "monitors must be one or more host:port"),
    ({"pools": [POOL | {"color": "red"}]}, "color"),
    ({"pools": [{"type": "rbd", "name": "a"}]}, "cephPool"),
]


@pytest.mark.parametrize(("settings", "reason"), SETTINGS, ids=[reason[:20] for _, reason in SETTINGS])
def test_invalid_pools_are_refused(settings: object, reason: str) -> None:
    with pytest.raises((msgspec.ValidationError, InvalidArgument), match=reason):
        msgspec.convert(settings, StorageSettings)


def test_class_uses_the_configured_pool_or_the_first() -> None:
    pools: tuple[Pool, ...] = (DirPool(name="a", path="/a"), RBD)
    settings = StorageSettings(pools=pools, classes={"shared": "ceph"})
    assert pool_of(settings, "shared") is RBD
    assert pool_of(settings, "any") is pools[0]
