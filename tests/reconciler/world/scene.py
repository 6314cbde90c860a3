"""A fleet's repo in memory, and short ways to write its three sorts of refs: what people, reconciler and poollets do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from reconciler.gitstore.memory import MemoryObjects, MemoryRemote, MemoryTransport
from reconciler.gitstore.objects.commit import SOURCE_TRAILER
from reconciler.gitstore.repo import Draft, Edit, Identity, Pushed, Refs, Snapshot, Unchanged
from reconciler.gitstore.store import Store
from reconciler.world.changes import WorldChanges
from reconciler.world.record import Record, fields
from reconciler.world.world import World
from schemas.edit import Edited, edit
from schemas.kinds import Kind
from schemas.model import Assignment, MachineStatus, VolumeSnapshotStatus, VolumeStatus
from schemas.report import (
    CandidateReport,
    PoolletReport,
    PoolReport,
    Report,
    ReportedPoolStatus,
    ReportedVolumePoolStatus,
    VolumePoolReport,
    render,
)
from schemas.report.objects import ObjectRef

FLEET = "7a1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00"
INSTANCE = "00000000-0000-4000-8000-000000000001"
NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ROBOT = Identity("gitvirt", "gitvirt@example.org")
MAIN, LIVE, REPORTS = "refs/heads/main", "refs/heads/live", "refs/poollets/"

SETTINGS = f"fleet:\n  id: {FLEET}\n"
SMALL = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\nmetadata: {name: small}\ncapabilities: {cpu: 2, memory: 4Gi}\n"
FAST = "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeClass\nmetadata: {name: fast}\ncapabilities: {tps: 100Mi, iops: 1000}\n"

LAN = "apiVersion: networking.ironcore.dev/v1alpha1\nkind: Network\nmetadata: {name: lan}\nspec: {}\n"
SNAPSHOT = (
    "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeSnapshot\nmetadata: {name: before}\n"
    "spec: {volumeRef: {name: data}}\n"
)
RESTORED = "  dataSource: {volumeSnapshotRef: {name: before}}\n"


def machine(name: str, spec: str = "", meta: str = "", size: str = "small") -> str:
    return (
        f"apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\nmetadata:\n  name: {name}\n{meta}"
        f"spec:\n  machineClassRef:\n    name: {size}\n{spec}"
    )


def volume(name: str, spec: str = "", size: str = "10Gi") -> str:
    return (
        f"apiVersion: storage.ironcore.dev/v1alpha1\nkind: Volume\nmetadata:\n  name: {name}\n"
        f"spec:\n  volumeClassRef:\n    name: fast\n  resources:\n    storage: {size}\n{spec}"
    )


def pool(name: str, spec: str = "", labels: str = "{}") -> str:
    return (
        f"apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata:\n  name: {name}\n  labels: {labels}\n"
        + spec
    )


def interface(name: str, address: str = "10.0.0.5", mac: str = "") -> str:
    fixed = f"  ips: [{{value: {address}}}]\n" if address else ""
    return (
        f"apiVersion: networking.ironcore.dev/v1alpha1\nkind: NetworkInterface\nmetadata: {{name: {name}}}\n"
        f"spec:\n  networkRef: {{name: lan}}\n{fixed}" + (f"  macAddress: {mac}\n" if mac else "")
    )


def attach_interface(name: str) -> str:
    return f"  networkInterfaces:\n    - name: eth\n      networkInterfaceRef: {{name: {name}}}\n"


def ephemeral(address: str) -> str:
    return (
        "  networkInterfaces:\n    - name: eth\n      ephemeral:\n        networkInterfaceTemplate:\n"
        f"          spec: {{networkRef: {{name: lan}}, ips: [{{value: {address}}}]}}\n"
    )


def volume_pool(rack: str) -> str:
    return (
        "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumePool\nmetadata: {name: store-a}\n"
        f"spec: {{machinePoolSelector: {{rack: {rack}}}}}\n"
    )


def using(volume_name: str) -> str:
    return f"  volumes:\n    - name: data\n      volumeRef:\n        name: {volume_name}\n"


def assignment_record(pool_name: str, id: str = "1", uid: str = "", kind: Kind = Kind.MACHINE) -> Record:
    order = Assignment(pool=pool_name, id=id)
    made = {
        Kind.MACHINE: MachineStatus,
        Kind.VOLUME: VolumeStatus,
        Kind.VOLUME_SNAPSHOT: VolumeSnapshotStatus,
    }
    status = made[kind](assignment=order)
    return Record(uid=uid, pool=pool_name, status=status)


def with_record(text: str, kind: Kind, record: Record, index: int = 0) -> str:
    done = edit(text.encode(), index, fields(kind, record))
    assert isinstance(done, Edited), done
    return done.data.decode()


def report(
    name: str,
    machines: int = 10,
    *,
    classes: Sequence[str] = ("small",),
    leaving: str | None = None,
    fleet: str = FLEET,
    pools: Sequence[str] = (),
    volume_pools: Sequence[str] = (),
    interval: str = "15s",
    entries: Mapping[tuple[str, str], object] | None = None,
    volumes: Mapping[tuple[str, str], object] | None = None,
    orphans: Sequence[object] = (),
    labels: Mapping[str, str] | None = None,
    host: str = "",
    epochs: Mapping[str, int] | None = None,
    candidate: CandidateReport | None = None,
) -> Report:
    """`host` is the hostID, which is `name` where none is given; `epochs` are those of pools of both kinds."""
    epochs = epochs or {}
    status = ReportedPoolStatus(
        state="Ready",
        available_machine_classes=tuple(ObjectRef(name=each) for each in classes),
        capacity={"cpu": 2 * machines, "memory": f"{4 * machines}Gi"},
    )
    stored = ReportedVolumePoolStatus(
        state="Available", available_volume_classes=(ObjectRef(name="fast"),), capacity={"storage": "1Ti"}
    )
    return Report(
        poollet=PoolletReport(
            fleet=fleet,
            name=name,
            host_id=host or name,
            instance=INSTANCE,
            interval=interval,
            leaving=leaving,  # type: ignore[arg-type]
        ),
        candidate=candidate,
        pools={
            each: PoolReport(status=status, labels=dict(labels or {}), epoch=epochs.get(each, 0))
            for each in pools or (name,)
        },
        volume_pools={
            each: VolumePoolReport(status=stored, epoch=epochs.get(each, 0)) for each in volume_pools
        },
        machines=entries or {},  # type: ignore[arg-type]
        volumes=volumes or {},  # type: ignore[arg-type]
        orphans=tuple(orphans),  # type: ignore[arg-type]
    )


class Scene:
    refs = Refs()

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self.remote = MemoryRemote()
        objects = MemoryObjects(self.remote)
        self.store = Store(objects, MemoryTransport(objects), self.refs)
        self.heads: dict[str, str] = {}
        self.now = NOW
        if files is not None:
            self.source({"gitvirt.yaml": SETTINGS, "classes.yaml": SMALL + "---\n" + FAST, **files})

    def source(self, files: Mapping[str, str | None], **trailers: str) -> str:
        return self._write(MAIN, files, trailers)

    def force(self, files: Mapping[str, str | None]) -> str:
        """The source branch as a history of its own."""
        return self._write(MAIN, files, {}, has_parents=False)

    def live(self, files: Mapping[str, str | None] | None = None, **trailers: str) -> str:
        """As a reconciler does that has just gone by the source: its files taken over, with these on top."""
        taken: dict[str, Edit] = {}
        known = {file.path: file for file in self.store.files(self.heads[LIVE])} if LIVE in self.heads else {}
        for file in self.store.files(self.heads[MAIN]):
            if file.path not in known:
                taken[file.path] = self.store.read(file.id)
        edits = {path: text.encode() if text is not None else None for path, text in (files or {}).items()}
        return self._commit(
            LIVE, taken | edits, {SOURCE_TRAILER: self.heads[MAIN], **trailers}, source=self.heads[MAIN]
        )

    def report(self, name: str, of: Report | None = None) -> str:
        """Replaces the whole report; the same again is a heartbeat."""
        tree = render(of if of is not None else report(name))
        self.now += timedelta(seconds=1)
        edits: dict[str, Edit] = dict(tree)
        return self._commit(REPORTS + name, edits, {}, has_parents=False)

    def edit_report(self, name: str, edits: Mapping[str, Edit] | None = None) -> str:
        """Its host changes these files of its report; none is a heartbeat."""
        ref = REPORTS + name
        return self._commit(ref, edits or {}, {}, base=self.heads[ref], has_parents=False)

    def snapshot(self) -> Snapshot:
        found = self.store.snapshot()
        assert isinstance(found, Snapshot)
        return found

    def step(self, world: World, seconds: float = 1) -> WorldChanges:
        """One more advance, a little later."""
        self.now += timedelta(seconds=seconds)
        found = world.advance(self.store, self.snapshot(), self.now)
        world.acknowledge()
        return found

    def world(self) -> World:
        world = World()
        self.step(world)
        return world

    def _write(
        self, ref: str, files: Mapping[str, str | None], trailers: Mapping[str, str], has_parents: bool = True
    ) -> str:
        edits = {path: text.encode() if text is not None else None for path, text in files.items()}
        named = {key.replace("_", "-"): value for key, value in trailers.items()}
        return self._commit(ref, edits, named, has_parents=has_parents)

    def _commit(
        self,
        ref: str,
        edits: Mapping[str, Edit],
        trailers: Mapping[str, str],
        *,
        has_parents: bool = True,
        base: str | None = None,
        source: str | None = None,
        message: str = "change",
    ) -> str:
        head = self.heads.get(ref)
        extra = [(key, value) for key, value in trailers.items() if key != SOURCE_TRAILER]
        draft = Draft(
            ref=ref,
            expected=head,
            base=head if has_parents else base,
            edits=edits,
            message=message,
            author=ROBOT,
            time=self.now,
            source=source,
            trailers=extra,
            has_parents=has_parents,
            even_if_unchanged=True,
        )
        outcome = self.store.write([draft])
        assert isinstance(outcome, Pushed | Unchanged), outcome
        assert isinstance(outcome, Pushed)
        self.heads[ref] = outcome.commits[ref]
        return self.heads[ref]
