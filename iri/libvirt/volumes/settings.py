"""The operator's storage pools for volumes, and which class of volumes goes to which pool.

A pool's name is its name in libvirt. Values become file names, parts of commands and of Ceph's configuration, so each is matched
against a pattern here, once, before anything uses it. Several pools may be of one type; each class uses one pool, and a volume stays
in the pool in which it was created, whatever the settings say later.

Limits: changes no volume that exists. A pool that is no longer listed is left as it is; `pool_marker` remembers that its disks may need
images of this host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

import msgspec

from iri.errors import InvalidArgument

WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
MONITOR = re.compile(r"[A-Za-z0-9.\[\]:-]{1,255}")


class StoragePool(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel", tag_field="type"
):
    """The settings of pools of every type."""

    name: str
    overcommit: float = 1.0  # the sizes of volumes may add up to so many times the capacity
    reserved_bytes: int = 0  # of the capacity, for others
    wipe: bool = False  # overwrite every volume before it is deleted


class DirPool(StoragePool, frozen=True, kw_only=True, tag="dir"):
    """A folder of this host. Disks are sparse qcow2 files."""

    path: str


class NetfsPool(StoragePool, frozen=True, kw_only=True, tag="netfs"):
    """A folder that libvirt mounts from another host. No other runtime may use the folder."""

    path: str
    host: str
    export: str
    format: str = "nfs"


class RbdPool(StoragePool, frozen=True, kw_only=True, tag="rbd"):
    """A Ceph pool. The user needs `profile rbd` on it; images named volume-, snapshot- and image- belong to the runtime."""

    ceph_pool: str
    monitors: tuple[str, ...]  # host:port
    user: str
    key_file: str  # the key alone, as `ceph auth get-key` prints it
    capacity_bytes: int = 0  # 0: as Ceph says


FilePool = DirPool | NetfsPool
Pool = FilePool | RbdPool


class StorageSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Without pools: one, a folder below the runtime's own. `classes` maps classes to pools; other classes use the first pool."""

    pools: tuple[Pool, ...] = ()
    classes: Mapping[str, str] = {}
    workers: int = 4

    def __post_init__(self) -> None:
        names = [pool.name for pool in self.pools]
        if len(set(names)) < len(names):
            raise InvalidArgument("two storage pools have the same name")
        for class_name, name in self.classes.items():
            if name not in names:
                raise InvalidArgument(f"volume class {class_name!r}: pool {name!r} is not among the pools")
        for pool in self.pools:
            _refuse_words(pool)
            if pool.overcommit < 1 or pool.reserved_bytes < 0:
                raise InvalidArgument(
                    f"storage pool {pool.name!r}: overcommit must be at least 1, reservedBytes at least 0"
                )


def _refuse_words(pool: Pool) -> None:
    """Checks values that become part of file names and commands."""
    words = {"name": pool.name}
    paths: dict[str, str] = {}
    match pool:
        case DirPool() | NetfsPool():
            paths["path"] = pool.path
        case RbdPool():
            words |= {"cephPool": pool.ceph_pool, "user": pool.user}
            paths["keyFile"] = pool.key_file
            if not pool.monitors or any(MONITOR.fullmatch(monitor) is None for monitor in pool.monitors):
                raise InvalidArgument(f"storage pool {pool.name!r}: monitors must be one or more host:port")
    for field, word in words.items():
        if WORD.fullmatch(word) is None:
            raise InvalidArgument(
                f"storage pool {pool.name!r}: {field} may have letters, digits, '.', '_' and '-' only"
            )
    for field, path in paths.items():
        if not path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise InvalidArgument(
                f"storage pool {pool.name!r}: {field} must begin with a slash and have no .."
            )


def with_default(settings: StorageSettings, folder: str) -> StorageSettings:
    """The settings with at least one pool."""
    if settings.pools:
        return settings
    return msgspec.structs.replace(settings, pools=(DirPool(name="gitvirt", path=folder),))


def pool_of(settings: StorageSettings, class_name: str) -> Pool:
    """For new volumes of that class. The settings must have a pool."""
    name = settings.classes.get(class_name, settings.pools[0].name)
    return next(pool for pool in settings.pools if pool.name == name)
