"""The real Repo put together: a mirror in a directory, the git program for the way to the remote, the store over both.

Owns where mirrors live. It must not decide what is read or written.

A mirror belongs to one process at a time and to one remote address. Its folder is named after the address, so two remotes never share objects. When
the folder is in use (a plan beside a running reconciler), the next of a few places is taken; the last try waits for the first. Each
place is a whole copy: it costs disk and one full fetch, and it can be deleted while no process uses it.

The child processes of git inherit the lock of the mirror. If this process is killed while a fetch runs, the lock is held until that fetch has
ended, and the next process does not work in a mirror that is still being written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from reconciler.gitstore.errors import InUseError
from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.objects.commit import Sign
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.address import RemoteAddress
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store

# Several commands may look at one remote at once. Each has a mirror of its own, and the next one finds it.
_PLACES = 8


def open_store(
    address: RemoteAddress,
    access: RemoteAccess,
    refs: Refs,
    *,
    mirrors: Path,
    ambient: Mapping[str, str],
    sign: Sign | None = None,
) -> Store:
    """`mirrors` is a directory that may vanish at any time. Raises InUseError, or OSError when it cannot be written."""
    mirror = _mirror(mirrors, address.url)
    transport = GitTransport(mirror.repo, address, access, ambient, inherit=(mirror.lock,))
    return Store(mirror, transport, refs, sign=sign)


def _mirror(mirrors: Path, url: str) -> Mirror:
    name = hashlib.sha256(url.encode()).hexdigest()[:16]
    for place in range(_PLACES):
        try:
            return Mirror(mirrors / f"{name}-{place}", url, patience=0)
        except InUseError:
            continue
    return Mirror(mirrors / f"{name}-0", url)
