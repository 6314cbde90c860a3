"""A fleet's repo for tests of the poollet: manifests written as `live` holds them, and a client that commits them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from reconciler.gitstore.memory import Fault, MemoryObjects, MemoryRemote, MemoryTransport, no_fault
from reconciler.gitstore.objects.commit import SOURCE_TRAILER, Sign
from reconciler.gitstore.repo import Draft, Edit, Identity, Pushed, Refs, Snapshot
from reconciler.gitstore.store import Store

FLEET = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
LIVE, MAIN, REPORTS = "refs/heads/live", "refs/heads/main", "refs/poollets/"
START = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ROBOT = Identity("gitvirt", "gitvirt@example.org")
SETTINGS = f"fleet: {{id: {FLEET}}}\nsecrets: {{plain: allow}}\n"


def host_id(name: str) -> str:
    """Of the host that serves the pool of that name."""
    return f"{name}'s own"


class Fleet:
    """A remote in memory and whoever writes `live` and `main`. The pools of host-1 and host-2 are granted on `live`."""

    def __init__(self, files: Mapping[str, str] | None = None, *, is_bare: bool = False) -> None:
        self.remote = MemoryRemote()
        self.writer = self.client(Refs())
        if not is_bare:
            grants = {f"pools/{name}.yaml": grant_files(name) for name in ("host-1", "host-2")}
            self.commit({"gitvirt.yaml": SETTINGS, **grants, **(files or {})})

    def client(self, refs: Refs, fault: Fault = no_fault, sign: Sign | None = None) -> Store:
        local = MemoryObjects(self.remote)
        return Store(local, MemoryTransport(local, fault), refs, sign=sign)

    def head(self, ref: str = LIVE) -> str | None:
        return self.remote.refs.get(ref)

    def commit(self, files: Mapping[str, str | None], ref: str = LIVE, **more: object) -> str:
        """Files written, or removed by None, in one commit on the ref."""
        assert isinstance(self.writer.snapshot(), Snapshot)
        edits: dict[str, Edit] = {
            path: text if text is None else text.encode() for path, text in files.items()
        }
        head = self.head(ref)
        given: dict[str, object] = {"expected": head, "base": head, "message": "change", "time": START}
        if ref == LIVE and "source" not in more:
            given["trailers"] = [(SOURCE_TRAILER, "5" * 40)]
        draft = Draft(ref=ref, edits=edits, author=ROBOT, **(given | more))  # type: ignore[arg-type]
        outcome = self.writer.write([draft])
        assert isinstance(outcome, Pushed), outcome
        return outcome.commits[ref]


def grant_files(name: str, host: str | None = None, epoch: int = 1) -> str:
    """Pools of both kinds as they are on `live`. An empty host: the pool is not granted."""
    host = host_id(name) if host is None else host
    status = (f'host: {{id: "{host}"}}, ' if host else "") + f"epoch: {epoch}"
    return "---\n".join(
        f"apiVersion: {group}.ironcore.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nstatus: {{{status}}}\n"
        for group, kind in (("compute", "MachinePool"), ("storage", "VolumePool"))
    )


def assignment(pool: str, id: str, host: str | None = None, epoch: int = 1) -> str:
    host = host_id(pool) if host is None else host
    return f'{{pool: {pool}, id: {id}, host: "{host}", epoch: {epoch}}}'


def machine(name: str, pool: str = "", uid: str = "", id: str = "", more: str = "", spec: str = "") -> str:
    """A machine as it is on `live`: with a uid once it was synced, and an assignment once it was placed."""
    status = f"status:\n  assignment: {assignment(pool, id)}\n" if id else ""
    return (
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\n"
        f"metadata:\n  name: {name}\n"
        + (f"  uid: {uid}\n" if uid else "")
        + more
        + "spec:\n  machineClassRef: {name: small}\n"
        + (f"  machinePoolRef: {{name: {pool}}}\n" if pool else "")
        + spec
        + status
    )


def machine_class(name: str = "small", cpu: str = "1", memory: str = "1Gi") -> str:
    return (
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\n"
        f"metadata: {{name: {name}}}\ncapabilities: {{cpu: {cpu!r}, memory: {memory}}}\n"
    )


def uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"
