"""A fleet in memory whose reconciler records its inputs, and whose commits can be audited and forged."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.audit.steps import list_steps
from reconciler.audit.verify import AuditedCommit, Auditor
from reconciler.gitstore.memory import MemoryRemote
from reconciler.gitstore.objects.commit import Commit, decode_commit, encode_commit
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree_edit import edit_tree
from reconciler.gitstore.repo import Edit, Refs, Snapshot
from schemas.settings.fleet import DEFAULT_INPUTS
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_laws import CLASSES, ROOM, Life
from tests.reconciler.world.scene import LIVE, SETTINGS

AUDITED = f"{SETTINGS}audit: {{ref: {DEFAULT_INPUTS}}}\n"


class AuditedFleet(Fleet):
    refs = Refs(inputs=DEFAULT_INPUTS)

    @property
    def remote_refs(self) -> dict[str, str]:
        return self.store._objects.remote.refs  # type: ignore[attr-defined,no-any-return]

    @property
    def server(self) -> MemoryRemote:
        return self.store._objects.remote  # type: ignore[attr-defined,no-any-return]

    def audit(self, head: str | None = None, since: str | None = None) -> list[AuditedCommit]:
        """What `audit verify` says of live."""
        found = self.store.snapshot()
        assert isinstance(found, Snapshot)
        head = head or found.target
        assert head is not None
        steps = list_steps(self.store, head, since)
        return list(Auditor(self.store, tuple(found.inputs.values())).audit(steps))

    # Forgery

    def commit_of(self, id: str) -> Commit:
        return decode_commit(self.store.read(id))

    def put(self, commit: Commit) -> str:
        made = hash_object(ObjectType.COMMIT, encode_commit(commit))
        self.server.objects[made.id] = (made.type, made.data)
        return made.id

    def tree_with(self, tree: str, edits: Mapping[str, Edit]) -> str:
        done = edit_tree(self.store.listing, tree, edits)
        self.server.objects.update((each.id, (each.type, each.data)) for each in done.objects.values())
        return done.tree

    def force_live(self, commit: str) -> None:
        self.remote_refs[LIVE] = commit


def open_fleet(settings: str = AUDITED, hosts: str = "abc") -> AuditedFleet:
    return AuditedFleet(
        {"gitvirt.yaml": settings, "classes.yaml": CLASSES},
        *(Host(name, machines=ROOM, is_local=name == "c") for name in hosts),
    )


def live_life(fleet: AuditedFleet, acts: list[tuple[object, ...]]) -> Life:
    """The random lives of the lifecycle tests, without their checks."""
    life = Life(fleet)
    for what, *of in acts:
        match what:
            case "tick":
                fleet.tick(float(str(of[0])))
            case "work":
                fleet.now_later(float(str(of[0])))
                fleet.hosts_report()
            case _:
                life.act(str(what), *of)  # type: ignore[arg-type]
    return life
