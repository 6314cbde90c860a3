"""The repo that the Git benchmarks share: 100,000 manifests in 1,000 folders, on a local remote, with a mirror of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.repo import Draft, Edit, Identity, Pushed, Refs, Repo
from reconciler.gitstore.store import Store

FOLDERS, FILES = 1000, 100
MAIN, LIVE = "refs/heads/main", "refs/heads/live"
NOW = datetime(2026, 5, 4, tzinfo=UTC)
ROBOT = Identity("gitvirt", "gitvirt@example.org")
_BODY = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: m-{folder}-{file}
  namespace: ns-{folder:04}
  labels:
    app: shop
spec:
  machineClassRef:
    name: small
  image: registry.example.org/os/debian:12.5
  power: On
  volumes:
    - name: root
      device: oda
      localDisk:
        size: 10Gi
  networkInterfaces:
    - name: primary
      networkInterfaceRef:
        name: m-{folder}-{file}-primary
# {mark}
"""


class Fleet(NamedTuple):
    folder: Path
    remote: Path
    mirror: Mirror
    store: Store
    main: str


def manifest(folder: int, file: int, mark: int = 0) -> bytes:
    return _BODY.format(folder=folder, file=file, mark=mark).encode()


def path(folder: int, file: int) -> str:
    return f"machines/ns-{folder:04}/m-{file:03}.yaml"


def edits(count: int, mark: int, spread: bool = False) -> dict[str, Edit]:
    """`count` manifests with another mark: whole folders, or as many folders as there are."""
    places = [(n % FOLDERS, n // FOLDERS) if spread else (n // FILES, n % FILES) for n in range(count)]
    return {path(*place): manifest(*place, mark) for place in places}


def draft(ref: str, base: str | None, changes: Mapping[str, Edit], **more: object) -> Draft:
    given: dict[str, object] = {"expected": base, "message": "change", "author": ROBOT, "time": NOW}
    return Draft(ref=ref, base=base, edits=changes, **(given | more))  # type: ignore[arg-type]


def put(store: Repo, ref: str, base: str | None, changes: Mapping[str, Edit], **more: object) -> str:
    outcome = store.write([draft(ref, base, changes, **more)])
    assert isinstance(outcome, Pushed), outcome
    return outcome.commits[ref]


def git(repo: Path, *arguments: str, data: bytes = b"") -> bytes:
    command = ("git", f"--git-dir={repo}", *arguments)
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout


def party(directory: Path, url: str, access: RemoteAccess) -> tuple[Mirror, Store]:
    """A user with a mirror."""
    mirror = Mirror(directory, url)
    place = address.parse_address(url, directory)
    transport = GitTransport(mirror.repo, place, access, os.environ, inherit=(mirror.lock,))
    return mirror, Store(mirror, transport, Refs())


@contextmanager
def fleet(folders: int = FOLDERS) -> Iterator[Fleet]:
    with TemporaryDirectory(prefix="gv-") as name:
        folder = Path(name)
        remote = folder / "remote.git"
        subprocess.run(("git", "init", "--quiet", "--bare", str(remote)), check=True)
        mirror, store = party(folder / "mirror", str(remote), RemoteAccess())
        everything: dict[str, Edit] = {
            path(place, file): manifest(place, file) for place in range(folders) for file in range(FILES)
        }
        yield Fleet(folder, remote, mirror, store, put(store, MAIN, None, everything))
        store.close()
