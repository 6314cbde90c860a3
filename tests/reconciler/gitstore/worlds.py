"""A remote and its clients, real or in memory: what the contract of a Repo is checked in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from reconciler.gitstore.memory import MemoryObjects, MemoryRemote, MemoryTransport
from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.objects.commit import Sign
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.remote.transport import RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Edit, Identity, Pushed, Refs, Repo, Snapshot
from reconciler.gitstore.store import Store
from tests.servers import repository
from tests.servers.places import Place

MAIN, LIVE, REPORTS = "refs/heads/main", "refs/heads/live", "refs/poollets/"
ANN = Identity("Ann", "ann@example.org")
ROBOT = Identity("gitvirt", "gitvirt@example.org")
ALL = Refs()
START = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


class World(Protocol):
    def client(self, refs: Refs = ALL, sign: Sign | None = None) -> Repo:
        """One more party with its own copy."""
        ...

    def refs(self) -> dict[str, str]:
        """What the remote has."""
        ...

    def move(self, ref: str, id: str) -> None:
        """As an administrator of the remote can."""
        ...

    def delete(self, ref: str) -> None: ...

    def refuse(self, words: str) -> None:
        """Pushes are refused from now on; with no words they are taken again."""
        ...

    def go_away(self, is_gone: bool) -> None: ...


class MemoryWorld:
    def __init__(self) -> None:
        self.remote = MemoryRemote(hook=lambda _: self._words)
        self._words = ""
        self._is_gone = False

    def client(self, refs: Refs = ALL, sign: Sign | None = None) -> Store:
        local = MemoryObjects(self.remote)
        return Store(local, MemoryTransport(local, lambda _call, _when: self._fault()), refs, sign=sign)

    def refs(self) -> dict[str, str]:
        return dict(self.remote.refs)

    def move(self, ref: str, id: str) -> None:
        self.remote.refs[ref] = id

    def delete(self, ref: str) -> None:
        del self.remote.refs[ref]

    def refuse(self, words: str) -> None:
        self._words = words

    def go_away(self, is_gone: bool) -> None:
        self._is_gone = is_gone

    def _fault(self) -> RemoteUnavailable | None:
        return RemoteUnavailable(RemoteErrorKind.NETWORK, "gone", "wait") if self._is_gone else None


class MirrorWorld:
    """A bare repo on disk, or wherever `place` serves it, and mirrors of it, by the git program."""

    def __init__(self, folder: Path, place: Place | None = None) -> None:
        self.folder = folder
        self.place = place
        self.repo = place.repo if place else repository.bare(folder / "remote.git")
        self.mirrors: list[Mirror] = []

    def client(self, refs: Refs = ALL, sign: Sign | None = None) -> Store:
        mirror = Mirror(self.folder / f"mirror-{len(self.mirrors)}", str(self.repo))
        self.mirrors.append(mirror)
        return Store(mirror, self.transport(mirror), refs, sign=sign, seconds=30)

    def transport(self, mirror: Mirror, inherit: Sequence[int] | None = None) -> GitTransport:
        place = address.parse_address(str(self.repo), self.folder)
        return GitTransport(
            mirror.repo,
            place,
            RemoteAccess(),
            os.environ,
            inherit=(mirror.lock,) if inherit is None else inherit,
        )

    def refs(self) -> dict[str, str]:
        lines = repository.git(self.repo, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def move(self, ref: str, id: str) -> None:
        repository.git(self.repo, "update-ref", ref, id)

    def delete(self, ref: str) -> None:
        repository.git(self.repo, "update-ref", "-d", ref)

    def refuse(self, words: str) -> None:
        repository.hook(
            self.repo, "pre-receive", f"#!/bin/sh\necho '{words}' >&2\nexit 1\n" if words else "#!/bin/sh\n"
        )

    def go_away(self, is_gone: bool) -> None:
        away = self.repo.with_name("away.git")
        self.repo.rename(away) if is_gone else away.rename(self.repo)

    def close(self) -> None:
        for mirror in self.mirrors:
            mirror.close()


def snap(repo: Repo) -> Snapshot:
    found = repo.snapshot()
    assert isinstance(found, Snapshot), found
    return found


def content(repo: Repo, commit: str | None) -> dict[str, bytes]:
    return {file.path: repo.read(file.id) for file in repo.files(commit)} if commit else {}


def draft(
    ref: str, base: str | None, edits: Mapping[str, Edit], message: str = "change", **more: object
) -> Draft:
    given: dict[str, object] = {"author": ANN, "time": START, "expected": base}
    return Draft(ref=ref, base=base, edits=edits, message=message, **(given | more))  # type: ignore[arg-type]


def put(repo: Repo, ref: str, edits: Mapping[str, Edit], base: str | None = None, minute: int = 0) -> str:
    """Commit on a ref, which must succeed; its id. A report has no parents."""
    is_report = ref.startswith(REPORTS)
    made = draft(ref, base, edits, time=START + timedelta(minutes=minute), has_parents=not is_report)
    outcome = repo.write([made])
    assert isinstance(outcome, Pushed), outcome
    return outcome.commits[ref]
