"""However the world came to a snapshot, step by step or at once, it knows the same; and it reads what changed and no more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.world.record import Record
from reconciler.world.reports.recovery_wait import find_missing_hosts
from reconciler.world.world import World
from schemas.kinds import Key, Kind
from schemas.model import OwnerReference
from schemas.model.part import Selector
from schemas.report import MachineReport, Orphan, ReportedMachineStatus
from tests.reconciler.world.scene import (
    FLEET,
    LAN,
    LIVE,
    RESTORED,
    SETTINGS,
    SMALL,
    SNAPSHOT,
    Scene,
    assignment_record,
    attach_interface,
    ephemeral,
    interface,
    machine,
    pool,
    report,
    using,
    volume,
    volume_pool,
    with_record,
)

UIDS = [f"6d0d0f8e-8d5b-4a53-9b53-00000000000{number}" for number in range(3)]
IDS = [f"00000000-0000-5000-8000-00000000000{number}" for number in range(3)]
PATHS = ["a.yaml", "b.yaml", "deep/c.yaml", "deep/d.json.yaml"]
NAMES = ["web-1", "web-2", "db"]
POOLS = ["pool-a", "pool-b"]
EPHEMERAL = (
    "  volumes:\n    - name: scratch\n      ephemeral:\n        volumeTemplate:\n"
    "          spec: {volumeClassRef: {name: fast}, resources: {storage: 1Gi}}\n"
)
FIXED = ephemeral("10.0.0.5")
MAC = "02:00:00:00:00:01"
PINNED = "  machinePoolRef: {name: pool-a}\n"
LABELLED = "  labels: {app: web}\n"
APART = "  antiAffinity:\n    labelSelector: {matchLabels: {app: web}}\n"

machines = st.builds(
    machine,
    st.sampled_from(NAMES),
    st.sampled_from(
        [
            "",
            "  power: Off\n",
            using("data"),
            EPHEMERAL,
            APART,
            PINNED,
            using("data") + PINNED,
            attach_interface("x"),
            FIXED,
        ]
    ),
    st.sampled_from(["", LABELLED]),
    st.sampled_from(["small", "big"]),
)
volumes = st.builds(
    volume,
    st.sampled_from(["data", "more"]),
    st.sampled_from(["", "  volumePoolRef: {name: store-a}\n", RESTORED]),
    st.sampled_from(["1Gi", "2Gi"]),
)
interfaces = st.builds(
    interface,
    st.sampled_from(["x", "y"]),
    st.sampled_from(["10.0.0.5", "10.0.0.6"]),
    st.sampled_from(["", MAC]),
)
pools = st.builds(
    pool,
    st.sampled_from(POOLS),
    st.sampled_from(["", "spec: {unschedulable: true}\n"]),
    st.sampled_from(["{}", "{rack: a}"]),
) | st.builds(volume_pool, st.sampled_from(["a", "b"]))
others = st.sampled_from(
    [
        "a: [",
        "apiVersion: v2\nkind: Chart\nmetadata: {name: web-1}\n",
        machine("web-1").replace("machineClassRef", "machineClass"),
        SMALL.replace("small", "big"),
        LAN,
        SNAPSHOT,
        "apiVersion: core.ironcore.dev/v1alpha1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {requests.cpu: 4}}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {a: b}\n",
    ]
)
documents = st.lists(machines | volumes | interfaces | pools | others, min_size=1, max_size=2).map(
    "---\n".join
)
fleets = st.sampled_from(
    [
        SETTINGS,
        f"{SETTINGS}pools: declared\n",
        f"{SETTINGS}secrets: {{plain: allow}}\n",
        "fleet: [",
        f"{SETTINGS}poollets: {{pool-b: {{pools: [pool-a]}}}}\n",
    ]
)


class Action:
    """With words, so that a failing example can be read."""

    def __init__(self, words: str, run: Callable[[Scene], object]) -> None:
        self.words = words
        self.run = run

    def __repr__(self) -> str:
        return self.words


def of_source(draw: st.DrawFn) -> Action:
    path, text = draw(st.sampled_from(PATHS)), draw(st.none() | documents)
    return Action(f"source {path}: {text!r}", lambda scene: scene.source({path: text}))


def of_settings(draw: st.DrawFn) -> Action:
    if draw(st.booleans()):
        text = draw(fleets)
        return Action(f"settings {text!r}", lambda scene: scene.source({"gitvirt.yaml": text}))
    patterns = draw(st.sampled_from([None, "a.yaml\n", "deep/\n"]))
    return Action(f"ignore {patterns!r}", lambda scene: scene.source({".gitvirtignore": patterns}))


def of_live(draw: st.DrawFn) -> Action:
    """A record in the text that the source has at a path, or what only live has."""
    name, uid, id, where = (draw(st.sampled_from(each)) for each in (NAMES, UIDS, IDS, POOLS))
    going = draw(st.sampled_from(["", "2026-05-04T12:00:00Z"]))
    order = assignment_record(where, id, uid)
    record = Record(uid, going, order.pool, status=order.status)
    text = with_record(machine(name, draw(st.sampled_from(["", EPHEMERAL]))), Kind.MACHINE, record)
    owner = OwnerReference(api_version="compute.ironcore.dev/v1alpha1", kind="Machine", name=name, uid=uid)
    made = volume(f"{name}-scratch").replace(
        "metadata:\n",
        f"metadata:\n  ownerReferences:\n    - {{apiVersion: {owner.api_version}, kind: Machine, name: {name}, uid: {uid}}}\n",
    )
    stored = with_record(volume("data"), Kind.VOLUME, assignment_record(where, id, uid, Kind.VOLUME))
    path = draw(
        st.sampled_from(
            [
                *PATHS,
                f".gitvirt/deleting/Machine/default/{name}.yaml",
                f".gitvirt/generated/Volume/default/{name}-scratch.yaml",
                ".gitvirt/retained/Volume/default/data.yaml",
                f".gitvirt/pools/{where}.yaml",
            ]
        )
    )
    texts = {"generated": made, "retained": stored, "pools": pool(where)}
    chosen = next((found for folder, found in texts.items() if f"/{folder}/" in path), text)
    content = draw(st.sampled_from([chosen, chosen, chosen, None, "a: ["]))
    is_others = draw(st.booleans()) and draw(st.booleans())
    if is_others:
        data = content.encode() if content else None
        return Action(f"others {path}: {content!r}", lambda scene: scene._commit(LIVE, {path: data}, {}))
    return Action(f"live {path}: {content!r}", lambda scene: scene.live({path: content}))


def of_report(draw: st.DrawFn) -> Action:
    name = draw(st.sampled_from(POOLS))
    entries = {
        ("default", draw(st.sampled_from(NAMES))): MachineReport(
            uid=draw(st.sampled_from(UIDS)),
            assignment=draw(st.sampled_from(IDS)),
            phase=draw(st.sampled_from(["present", "gone", "unknown", "rejected"])),
            pool=draw(st.sampled_from(POOLS)),
            status=ReportedMachineStatus(state="Running"),
        )
    }
    orphan = Orphan(
        kind="Machine", pool=name, id="x", uid=UIDS[0], namespace="default", name="web-1", charge={"cpu": "1"}
    )
    what = report(
        name,
        draw(st.integers(1, 3)),
        classes=draw(st.sampled_from([("small",), ("small", "big"), ()])),
        leaving=draw(st.sampled_from([None, None, "stopping", "leaving"])),
        fleet=draw(st.sampled_from([FLEET, FLEET, FLEET, "11111111-1111-4111-8111-111111111111"])),
        pools=draw(st.sampled_from([(name,), ("pool-a",), POOLS])),
        volume_pools=draw(st.sampled_from([(), (name,)])),
        entries=draw(st.sampled_from([{}, entries])),
        orphans=draw(st.sampled_from([(), (orphan,)])),
    )
    return Action(f"report {name}: {what}", lambda scene: scene.report(name, what))


def of_time(draw: st.DrawFn) -> Action:
    seconds = draw(st.sampled_from([1, 30, 80]))

    def wait(scene: Scene) -> None:
        scene.now += timedelta(seconds=seconds)

    return Action(f"{seconds} s", wait)


@st.composite
def actions(draw: st.DrawFn) -> Action:
    made = draw(st.sampled_from([of_source, of_source, of_live, of_live, of_report, of_settings, of_time]))
    return made(draw)


def everything(world: World, problems: object) -> dict[str, Any]:
    """All that can be asked, in a form that can be compared."""
    keys = {
        *world.objects,
        *(Key(kind, "", name) for kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL) for name in POOLS),
    }
    keys |= {used for key in world.objects for used in world.relations.uses.get(key, ())}
    pools = [key for key in keys if key.kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL)]
    return {
        "known": dict(world.objects),
        "retained": dict(world.retained_volumes),
        "absent": set(world.relations.absent),
        "waiting": set(world.relations.waiting),
        "evicting": set(world.relations.evicting),
        "leaving": {kind: set(world.relations.leaving[kind]) for kind in Kind},
        "counts": {kind: world.relations.live_counts[kind] for kind in Kind},
        "pools": dict(world.pools),
        "volume pools": dict(world.volume_pools),
        "users": {key: set(world.relations.users.get(key)) for key in keys},
        "owned": {key: set(world.relations.owned.get(key)) for key in keys},
        "on pool": {key: set(world.relations.on_pool.get(key)) for key in pools},
        "faults": {key: world.faults.get(key, ()) for key in keys},
        "unverified": {key: world.why_unverified(key) for key in world.relations.absent},
        "accepted": {key: world.accepted_reports(key) for key in keys},
        "used": {key: {r: n for r, n in world.ledger.usage(key).items() if n} for key in pools},
        "classes": {key: {r: n for r, n in world.ledger.classes(key).items() if n} for key in pools},
        "placed": {r: n for r, n in world.ledger.placed.get("default", {}).items() if n},
        "bytes": {r: n for r, n in world.ledger.bytes.get("default", {}).items() if n},
        "population": {
            pool: n for pool, n in world.population.count("default", Selector((("app", "web"),))).items() if n
        },
        "holding": {each: n for each, n in world.population.holding("default").items() if n},
        "quotas": {space: keys for space, keys in world.quotas.items() if keys},
        "orphans": tuple(world.orphans()),
        "commits": (
            world.source_commit,
            world.live_commit,
            world.last,
            world.head.held,
            world.head.confirmations,
        ),
        "settings": (world.rules.settings, world.rules.before, world.unfit),
        "frozen": dict(world.frozen),
        "files": (dict(world.source.files), dict(world.live.files)),
        "documents": {path: (world.source.documents(path), world.live.documents(path)) for path in PATHS},
        "lost": (world.is_live_lost, tuple(find_missing_hosts(world.reports))),
        "problems": problems,
    }


@settings(max_examples=120, deadline=None)
@given(st.lists(actions(), min_size=1, max_size=8))
def test_step_by_step_is_at_once(steps: list[Action]) -> None:
    scene = Scene({"a.yaml": machine("web-1"), "pool.yaml": pool("pool-a")})
    world = World()
    scene.step(world)
    for act in steps:
        act.run(scene)
        found = scene.step(world)
        fresh = World(heartbeats_seen=world.reports.heartbeats_seen)
        at_once = fresh.advance(scene.store, scene.snapshot(), scene.now)
        one, other = everything(world, found.problems), everything(fresh, at_once.problems)
        assert {what: one[what] for what in one if one[what] != other[what]} == {
            what: other[what] for what in one if one[what] != other[what]
        }


@settings(max_examples=60, deadline=None)
@given(st.lists(actions(), min_size=1, max_size=6))
def test_whatever_is_another_afterwards_is_dirty(steps: list[Action]) -> None:
    scene = Scene({"a.yaml": machine("web-1"), "pool.yaml": pool("pool-a")})
    world = World()
    scene.step(world)
    for act in steps:
        before = everything(world, ())
        act.run(scene)
        dirty = scene.step(world).dirty
        after = everything(world, ())
        for what in ("known", "faults", "accepted", "unverified"):
            changed = {
                key
                for key in before[what].keys() | after[what].keys()
                if before[what].get(key) != after[what].get(key)
            }
            concerned = {key for key in changed if key in before["known"] or key in after["known"]}
            # What reports say of objects that no document has concerns no decision.
            assert concerned - dirty <= _keys_unverified(what, concerned), what


def _keys_unverified(what: str, keys: set[Key]) -> set[Key]:
    """Whether an absence is verified depends on other files: `decide` asks about all that is absent."""
    return keys if what == "unverified" else set()


def test_a_change_costs_its_own_files_whatever_else_there_is() -> None:
    """Files read, not seconds: the same at 20 and at 400 objects."""
    counts = []
    for size in (20, 400):
        scene = Scene({f"m/{number}.yaml": machine(f"m-{number}") for number in range(size)})
        scene.live(
            {
                "m/1.yaml": with_record(
                    machine("m-1"), Kind.MACHINE, assignment_record("pool-a", IDS[0], UIDS[0])
                )
            }
        )
        scene.report("pool-a")
        world = scene.world()
        scene.report("pool-a")
        scene.step(world)
        scene.source({"m/3.yaml": machine("m-3", "  power: Off\n"), "m/4.yaml": None})
        found = scene.step(world)
        counts.append((found.blobs_read, len(found.dirty)))
        assert found.source_paths == {"m/3.yaml", "m/4.yaml"}
    assert counts[0] == counts[1]
    assert counts[0][0] == 2  # the changed file, and live's last good text of the one that went
