"""Free capacity during one decision: what orders and objects are charged with, and what does not fit any more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replaced

from iri.machine import Disk, RuntimeLocalDisk, RuntimeMachine, RuntimeMachineSpec, VolumeConnection
from iri.volume import Resources, RuntimeSnapshot, RuntimeVolume, RuntimeVolumeSpec, RuntimeVolumeStatus
from poollet.decide.assignments import list_orders
from poollet.decide.capacity_ledger import FreeCapacity, find_pool
from poollet.decide.decision import PoolFacts
from poollet.decide.inventory import ListedObject
from poollet.sync.live_view import LiveDocument, PoolId
from schemas.kinds import Kind
from schemas.live_layout import POOL, SHARE
from schemas.model.capacity import WHOLE_HOST, Vector
from schemas.model.charge import take_larger
from tests.poollet.documents import GIB, machine, snapshot, volume
from tests.poollet.site import DISKS, POOLS, A, site

MIB = 1 << 20
SMALL = {"cpu": 1_000, "memory": GIB}
LARGE = {"cpu": 8_000, "memory": 32 * GIB}
LOCAL_DISK = {"volumes": [{"name": "root", "localDisk": {"sizeLimit": "3Gi"}}]}
COUNTED = PoolFacts("sim", allocatable={"class/machine.small": 3})
COUNTED_DISKS = PoolFacts("sim", allocatable={"storage": 9 * GIB, "class/volume.standard": 9 * GIB})
SHARED = PoolFacts("sim", allocatable={}, shares={"small": WHOLE_HOST // 4})


def ledger(*documents: LiveDocument, pools: dict[PoolId, PoolFacts] | None = None) -> FreeCapacity:
    here = site(*documents)
    here.facts = replace(here.facts, pools={**POOLS, **(pools or {})})
    return FreeCapacity(here.facts, here.view.objects)


def charge_of(document: LiveDocument, pools: dict[PoolId, PoolFacts]) -> Vector:
    needed = [volume()] if document.object.key.kind is Kind.VOLUME_SNAPSHOT else []
    here = site(*needed, document)
    here.facts = replace(here.facts, pools={**POOLS, **pools})
    order = next(one for one in list_orders(here.view, here.facts) if one.key == document.object.key)
    return FreeCapacity(here.facts, here.view.objects).order_charge(order)


# the order, pools that differ, the charge
ORDERS: dict[str, tuple[LiveDocument, dict[PoolId, PoolFacts], Vector]] = {
    "a machine": (machine(), {}, SMALL),
    "a machine that is off": (machine(spec={"power": "Off"}), {}, SMALL),
    "a large machine": (machine(class_name="large"), {}, LARGE),
    "a machine with a local disk": (machine(spec=LOCAL_DISK), {}, SMALL | {"storage": 3 * GIB}),
    "a machine of a class that is not declared": (machine(class_name="none"), {}, {}),
    "a machine, counted by class": (machine(), {A: COUNTED}, SMALL | {"class/machine.small": 1}),
    "a machine, by share of the host": (machine(), {A: SHARED}, {SHARE: WHOLE_HOST // 4}),
    "a machine of a class without a share": (
        machine(class_name="large"),
        {A: SHARED},
        {SHARE: WHOLE_HOST + 1},
    ),
    "a volume": (volume(size="2Gi"), {}, {"storage": 2 * GIB}),
    "a volume, counted by class": (
        volume(size="2Gi"),
        {DISKS: COUNTED_DISKS},
        {"storage": 2 * GIB, "class/volume.standard": 2 * GIB},
    ),
    "a snapshot": (snapshot(), {}, {}),
}


@pytest.mark.parametrize(("document", "pools", "want"), ORDERS.values(), ids=ORDERS.keys())
def test_what_an_order_takes_from_its_pool(
    document: LiveDocument, pools: dict[PoolId, PoolFacts], want: Vector
) -> None:
    assert charge_of(document, pools) == want


def guest(class_name: str = "small", *disks: Disk) -> RuntimeMachine:
    return RuntimeMachine(id="m", spec=RuntimeMachineSpec(class_name=class_name, volumes=disks))


def make_volume(desired: int | None, actual: int | None) -> RuntimeVolume:
    spec = RuntimeVolumeSpec(
        class_name="standard", resources=None if desired is None else Resources(storage_bytes=desired)
    )
    status = RuntimeVolumeStatus(resources=None if actual is None else Resources(storage_bytes=actual))
    return RuntimeVolume(id="v", spec=spec, status=status)


LOCAL = Disk(name="root", local_disk=RuntimeLocalDisk(size_bytes=3 * GIB))
ATTACHED = Disk(name="data", connection=VolumeConnection(driver="rbd", handle="h"))

# the object on the host, its pool, pools that differ, the charge
OBJECTS: dict[
    str, tuple[RuntimeMachine | RuntimeVolume | RuntimeSnapshot, PoolId, dict[PoolId, PoolFacts], Vector]
] = {
    "a machine": (guest(), A, {}, SMALL),
    "a machine with disks": (guest("small", LOCAL, ATTACHED), A, {}, SMALL | {"storage": 3 * GIB}),
    "a machine of an unknown class": (guest("none"), A, {}, {}),
    "a machine of an unknown class with a disk": (guest("none", LOCAL), A, {}, {"storage": 3 * GIB}),
    "a machine, counted by class": (guest(), A, {A: COUNTED}, SMALL | {"class/machine.small": 1}),
    "a machine, by share of the host": (guest("small", LOCAL), A, {A: SHARED}, {SHARE: WHOLE_HOST // 4}),
    "a machine of a class without a share": (guest("large"), A, {A: SHARED}, {SHARE: 0}),
    "a volume": (make_volume(GIB, GIB), DISKS, {}, {"storage": GIB}),
    "a volume that grows": (make_volume(3 * GIB, GIB), DISKS, {}, {"storage": 3 * GIB}),
    "a volume that is larger than desired": (make_volume(GIB, 3 * GIB), DISKS, {}, {"storage": 3 * GIB}),
    "a volume of unknown size": (make_volume(None, None), DISKS, {}, {"storage": 0}),
    "a volume, counted by class": (
        make_volume(GIB, GIB),
        DISKS,
        {DISKS: COUNTED_DISKS},
        {"storage": GIB, "class/volume.standard": GIB},
    ),
    "a snapshot": (RuntimeSnapshot(id="s"), DISKS, {}, {}),
}


@pytest.mark.parametrize(("found", "pool", "pools", "want"), OBJECTS.values(), ids=OBJECTS.keys())
def test_what_an_object_on_the_host_takes_from_its_pool(
    found: RuntimeMachine | RuntimeVolume | RuntimeSnapshot,
    pool: PoolId,
    pools: dict[PoolId, PoolFacts],
    want: Vector,
) -> None:
    assert ledger(pools=pools).object_charge(pool, ListedObject("sim", found)) == want


STOCK = {A: PoolFacts("sim", allocatable={"cpu": 4_000, "memory": 4 * GIB})}

# what is charged, the need, the resources that are short
SHORT: dict[str, tuple[list[Vector], Vector, list[str]]] = {
    "fits": ([], {"cpu": 4_000, "memory": 4 * GIB}, []),
    "needs nothing": ([{"cpu": 9_000}], {}, []),
    "too large": ([], {"cpu": 4_001}, ["cpu"]),
    "too large in both": ([], {"cpu": 4_001, "memory": 5 * GIB}, ["cpu", "memory"]),
    "beside a charge": ([{"cpu": 3_000}], {"cpu": 1_000}, []),
    "not beside a charge": ([{"cpu": 3_000}], {"cpu": 1_001}, ["cpu"]),
    "not beside two charges": ([{"cpu": 2_000}, {"cpu": 1_500}], {"cpu": 1_000}, ["cpu"]),
    "overcharged already": ([{"cpu": 5_000}], {"cpu": 1}, ["cpu"]),
    "overcharged in another resource": ([{"cpu": 5_000}], {"memory": GIB}, []),
    "a resource that the pool does not have": ([], {"storage": 1}, ["storage"]),
    "a charge of a resource that the pool does not have": ([{"storage": 5}], {"cpu": 1_000}, []),
}


@pytest.mark.parametrize(("charges", "need", "want"), SHORT.values(), ids=SHORT.keys())
def test_what_does_not_fit_beside_the_charges(charges: list[Vector], need: Vector, want: list[str]) -> None:
    found = ledger(pools=STOCK)
    for charge in charges:
        found.charge(A, charge)
    assert [one.resource for one in found.find_shortfalls(A, need)] == want


def test_a_shortfall_names_need_and_rest() -> None:
    found = ledger(pools=STOCK)
    found.charge(A, {"memory": 5 * GIB})
    (reason,) = found.find_shortfalls(A, {"memory": 512 * MIB})
    assert (reason.code, reason.resource, reason.need, reason.have) == (
        "Insufficient",
        "memory",
        "512Mi",
        "0",
    )
    assert reason.message == "memory: 512Mi needed, 0 left"


def test_a_pool_of_unknown_capacity_is_charged_with_nothing_and_takes_nothing() -> None:
    found = ledger(pools={A: PoolFacts("sim")})
    found.charge(A, {"cpu": 1})
    assert not found.is_known(A)
    assert found.is_known(DISKS)
    assert [one.resource for one in found.find_shortfalls(A, {"cpu": 1})] == ["cpu"]


# all that is charged (the object itself with what it wants), what it wants, what it has, the resources that are short
GROWTH: dict[str, tuple[Vector, Vector, Vector, list[str]]] = {
    "does not grow": ({"cpu": 1_000}, {"cpu": 1_000}, {"cpu": 1_000}, []),
    "shrinks": ({"cpu": 1_000}, {"cpu": 1_000}, {"cpu": 2_000}, []),
    "grows into the rest": ({"cpu": 4_000}, {"cpu": 4_000}, {"cpu": 1_000}, []),
    "grows beyond the rest": ({"cpu": 5_000}, {"cpu": 5_000}, {"cpu": 1_000}, ["cpu"]),
    "grows beside others": ({"cpu": 4_500}, {"cpu": 2_000}, {"cpu": 1_000}, ["cpu"]),
    "grows in one, the other is overcharged": (
        {"cpu": 4_000, "memory": 5 * GIB},
        {"cpu": 2_000, "memory": GIB},
        {"cpu": 1_000, "memory": GIB},
        [],
    ),
}


@pytest.mark.parametrize(("charged", "wants", "has", "short"), GROWTH.values(), ids=GROWTH.keys())
def test_an_object_grows_only_into_free_capacity(
    charged: Vector, wants: Vector, has: Vector, short: list[str]
) -> None:
    found = ledger(pools=STOCK)
    found.charge(A, charged)
    assert [one.resource for one in found.find_growth_shortfalls(A, wants, has)] == short


def test_the_larger_amount_of_each_resource_counts() -> None:
    assert take_larger([]) == {}
    assert take_larger([{"cpu": 1, "memory": 9}, {"cpu": 2, "storage": 3}]) == {
        "cpu": 2,
        "memory": 9,
        "storage": 3,
    }


ON_OTHER = {(Kind.MACHINE_POOL, "b"): PoolFacts("other"), (Kind.MACHINE_POOL, "c"): PoolFacts("other")}

# the runtime of the object, the pool that its label names, its pool
OWNERS: dict[str, tuple[str, str, PoolId | None]] = {
    "by its label": ("other", "c", (Kind.MACHINE_POOL, "c")),
    "by its runtime": ("other", "", (Kind.MACHINE_POOL, "b")),
    "its label names a pool of another runtime": ("other", "a", (Kind.MACHINE_POOL, "b")),
    "its label names a pool that is gone": ("sim", "z", A),
    "its runtime has no pool of the kind": ("third", "a", None),
}


@pytest.mark.parametrize(("runtime", "label", "want"), OWNERS.values(), ids=OWNERS.keys())
def test_an_object_without_an_order_is_charged_to_a_pool_of_its_runtime(
    runtime: str, label: str, want: PoolId | None
) -> None:
    pools = {**POOLS, **ON_OTHER}
    found = ListedObject(runtime, replaced(guest(), labels={POOL: label}))
    assert find_pool(found, pools) == want
