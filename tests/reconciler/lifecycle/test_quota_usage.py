"""A quota on `live` says how much of it is in use, and says so again only when that changes."""

from __future__ import annotations

from schemas.kinds import Kind
from schemas.model import ResourceQuota
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.world.scene import FAST, SMALL, machine, volume

QUOTA = """\
apiVersion: core.ironcore.dev/v1alpha1
kind: ResourceQuota
metadata: {name: team}
spec:
  hard:
    requests.cpu: "8"
    requests.storage: 100Gi
    count/machines.compute.ironcore.dev: "10"
"""


def read_use(world: Fleet) -> dict[str, str]:
    (found,) = (each for _, key, each in world.documents() if key.kind is Kind.RESOURCE_QUOTA)
    assert isinstance(found, ResourceQuota)
    assert found.status.hard == found.spec.hard
    return {name: str(amount) for name, amount in found.status.used.items()}


def test_what_is_placed_is_in_use() -> None:
    files = {"small.yaml": SMALL, "fast.yaml": FAST, "quota.yaml": QUOTA}
    world = Fleet(files, Host("a"))
    world.settle()
    assert read_use(world) == {
        "requests.cpu": "0",
        "requests.storage": "0",
        "count/machines.compute.ironcore.dev": "0",
    }
    world.source(
        {"web.yaml": machine("web"), "db.yaml": machine("db"), "data.yaml": volume("data", size="10Gi")}
    )
    world.settle()
    cores = read_use(world)["requests.cpu"]
    assert cores != "0"
    assert read_use(world) == {
        "requests.cpu": cores,
        "requests.storage": "10Gi",
        "count/machines.compute.ironcore.dev": "2",
    }
    assert world.settle() == 0
    world.source({"web.yaml": None})
    world.settle()
    assert read_use(world)["count/machines.compute.ironcore.dev"] == "1"
