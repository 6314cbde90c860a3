"""The storage settings that the docs show are valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from iri.cli.runtime.settings_file import read_libvirt_settings
from iri.libvirt.volumes.settings import DirPool, NetfsPool, RbdPool, pool_of
from reconciler.cli.exits import CommandError

DOCS = Path(__file__).parents[4] / "docs"
GIB = 1 << 30


def test_documented_pools_are_valid_settings(tmp_path: Path) -> None:
    file = tmp_path / "libvirt.yaml"
    file.write_text((DOCS / "volumes.md").read_text().partition("```yaml\n")[2].partition("```")[0])
    storage = read_libvirt_settings(str(file)).storage
    local, shared, ceph = storage.pools
    assert local == DirPool(name="local", path="/srv/volumes", overcommit=2.0, reserved_bytes=50 * GIB)
    assert isinstance(shared, NetfsPool)
    assert isinstance(ceph, RbdPool)
    assert pool_of(storage, "shared") is ceph
    assert pool_of(storage, "any") is local


def test_every_setting_of_images_has_its_documented_name(tmp_path: Path) -> None:
    file = tmp_path / "libvirt.yaml"
    file.write_text(
        "images: {folder: /srv/cache, paths: [/srv/images], sources: ['https://a/'], plainHttp: ['b:80'],"
        " credentials: /c, maxBytes: 1Gi, cacheBytes: 2Gi, unusedSeconds: 60, timeoutSeconds: 5}"
    )
    images = read_libvirt_settings(str(file)).images
    assert (images.max_bytes, images.cache_bytes, images.plain_http) == (GIB, 2 * GIB, ("b:80",))
    shown = (DOCS / "images.md").read_text()
    for name in (
        "folder",
        "paths",
        "sources",
        "plainHttp",
        "credentials",
        "maxBytes",
        "cacheBytes",
        "unusedSeconds",
    ):
        assert f"`{name}`" in shown


def test_impossible_pool_is_named(tmp_path: Path) -> None:
    file = tmp_path / "libvirt.yaml"
    file.write_text("storage: {pools: [{type: dir, name: local, path: here}]}")
    with pytest.raises(CommandError, match="storage pool 'local': path must begin with a slash"):
        read_libvirt_settings(str(file))
