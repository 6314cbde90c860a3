"""Files on live that the reconciler writes of its own."""

from __future__ import annotations

from datetime import timedelta

from reconciler.world.objects.object_state import Origin
from reconciler.world.pools.pool_status import update_pool_status
from reconciler.world.record import NOTHING, Record
from reconciler.world.world import World
from schemas.kinds import Key, Kind
from schemas.model import OwnerReference
from tests.reconciler.world.scene import (
    LIVE,
    Scene,
    assignment_record,
    machine,
    pool,
    report,
    volume,
    with_record,
)
from tests.reconciler.world.situations import CLASS, DATA, UID, WEB, on_pool, web_on_pool


def test_a_generated_object_is_absent_when_its_owner_has_no_entry_for_it() -> None:
    ephemeral = (
        "  volumes:\n    - name: scratch\n      ephemeral:\n        volumeTemplate:\n"
        "          spec: {volumeClassRef: {name: fast}, resources: {storage: 1Gi}}\n"
    )
    key = Key(Kind.VOLUME, "default", "web-1-scratch")
    owner = OwnerReference(api_version="compute.ironcore.dev/v1alpha1", kind="Machine", name="web-1", uid=UID)
    made = volume("web-1-scratch").replace(
        "metadata:\n",
        "metadata:\n  ownerReferences:\n    - apiVersion: compute.ironcore.dev/v1alpha1\n"
        f"      kind: Machine\n      name: web-1\n      uid: {UID}\n",
    )
    scene = Scene({"web.yaml": machine("web-1", ephemeral)})
    scene.live(
        {
            "web.yaml": on_pool(machine("web-1", ephemeral)),
            ".gitvirt/generated/Volume/default/web-1-scratch.yaml": made,
        }
    )
    world = scene.world()
    assert (world.objects[key].origin, world.objects[key].record.owners) == (Origin.GENERATED, (owner,))
    assert set(world.relations.owned.get(WEB)) == {key}
    assert not world.relations.absent
    scene.source({"web.yaml": machine("web-1")})
    assert key in scene.step(world).dirty
    assert set(world.relations.absent) == {key}
    scene.source({"web.yaml": machine("web-1", ephemeral)})
    scene.step(world)
    assert not world.relations.absent


def test_what_is_retained_is_charged_and_its_name_is_free() -> None:
    kept = with_record(volume("data"), Kind.VOLUME, assignment_record("pool-v", "v1", UID, Kind.VOLUME))
    path = ".gitvirt/retained/Volume/default/data.yaml"
    scene = Scene({})
    scene.live({path: kept})
    world = scene.world()
    volumes = Key(Kind.VOLUME_POOL, "", "pool-v")
    assert DATA not in world.objects
    assert world.retained_volumes[UID].origin is Origin.RETAINED
    assert world.relations.state_counts[Kind.VOLUME, "Retained"] == 1
    assert [
        known.key for known in world.retained_volumes.values() if known.live and known.live.path == path
    ] == [DATA]
    assert world.ledger.usage(volumes)["storage"] == 10 << 30
    scene.source({"data.yaml": volume("data")})
    scene.step(world)
    assert world.objects[DATA].record.uid == ""
    scene.live({path: None})
    scene.step(world)
    assert not world.ledger.usage(volumes)["storage"]


def test_a_restart_of_the_reconciler_sees_what_others_did_to_live() -> None:
    scene = web_on_pool()
    scene.heads[LIVE] = scene._commit(LIVE, {"web.yaml": b"# mine\n"}, {})
    world = World()
    found = world.advance(scene.store, scene.snapshot(), scene.now)
    assert (world.foreign_edits, found.live_paths) == (("web.yaml",), frozenset())


def test_nothing_is_recorded_of_what_is_new() -> None:
    assert Record() == NOTHING
    assert Scene({"n.yaml": machine("n")}).world().objects[CLASS].record == NOTHING


def test_what_we_wrote_ourselves_is_no_news_and_what_another_reconciler_wrote_on_top_is() -> None:
    scene = web_on_pool()
    world = scene.world()
    ours = scene.live({"web.yaml": on_pool(machine("web-1", "  power: Off\n"))})
    world.acknowledge(ours)
    found = scene.step(world)
    assert found.live_paths == frozenset()
    world.acknowledge(scene.live({"db.yaml": on_pool(machine("db-1"))}))
    scene.live({"web.yaml": on_pool(machine("web-1"))})
    assert scene.step(world).live_paths == {"web.yaml"}


def test_a_checkout_without_reports_goes_by_what_live_says_of_pools() -> None:
    scene = web_on_pool()
    scene.report("pool-a", report("pool-a", volume_pools=("pool-a",)))
    seen = scene.world()
    kinds = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
    keys = [Key(kind, "", "pool-a") for kind in kinds]
    states = [seen.pools["pool-a"], seen.volume_pools["pool-a"]]
    documents = []
    for key, state in zip(keys, states, strict=True):
        status = update_pool_status(state, seen.objects[key].record, scene.now)
        text = (
            pool("pool-a")
            if key.kind is Kind.MACHINE_POOL
            else pool("pool-a").replace("compute", "storage").replace("MachinePool", "VolumePool")
        )
        documents.append(with_record(text, key.kind, Record(uid=UID, status=status)))
    scene.live({".gitvirt/pools/pool-a.yaml": "---\n".join(documents)})
    snapshot = scene.snapshot()
    bare = type(snapshot)(snapshot.source, snapshot.target)
    world = World(is_offline=True)
    world.advance(scene.store, bare, scene.now)
    for key, before in zip(keys, states, strict=True):
        found = (world.pools if key.kind is Kind.MACHINE_POOL else world.volume_pools)["pool-a"]
        assert (found.why_not_ready, found.allocatable, found.classes) == (
            "",
            before.allocatable,
            before.classes,
        )
        record = world.objects[key].record
        assert update_pool_status(found, record, scene.now + timedelta(hours=9)) == record.status
    online = World()
    online.advance(scene.store, bare, scene.now)
    assert online.pools["pool-a"].why_not_ready
