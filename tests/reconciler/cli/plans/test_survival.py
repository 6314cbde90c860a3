"""Whether a plan that says "survives the loss of any one host" is right: compared with a count of what there is once the plan has come true."""

from __future__ import annotations

import random

import pytest

from reconciler.cli.plan import make_outline
from reconciler.cli.plans.outline import Survival
from reconciler.cli.plans.plan_input import PlanInput
from reconciler.cli.plans.survival import try_each_loss
from reconciler.decide.decide import make_plan
from reconciler.world.world import World
from schemas.kinds import Kind
from tests.reconciler.gitstore.worlds import MemoryWorld
from tests.reconciler.loop.fleet import SETTINGS, SMALL, Cast, machine, take_snapshot

NETWORK = (
    "apiVersion: networking.ironcore.dev/v1alpha1\nkind: Network\nmetadata:\n  name: lan\n"
    "spec:\n  ipv4: {cidr: 10.0.0.0/16}\n"
)
LIMITS = "limits: {delete: {count: 100, percent: 100}}\n"
SEEDS = range(24)


POOL = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {{name: {}, labels: {{zone: a}}}}\n"


def with_address(name: str, number: int) -> str:
    template = f"{{spec: {{networkRef: {{name: lan}}, ips: [{{value: 10.0.1.{number}}}]}}}}"
    spec = f"  networkInterfaces: [{{name: nic, ephemeral: {{networkInterfaceTemplate: {template}}}}}]\n"
    return machine(name, spec=spec)


class Site(Cast):
    """Hosts with different room, machines of one size, each with an address of its own: a machine with a new name that keeps the address waits until
    the one with the old name is gone."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(MemoryWorld(), [f"rack-{number}" for number in range(chance.randint(2, 4))], room=0)
        for host in self.hosts:
            host.room = chance.randint(1, 4)
        self.room = sum(host.room for host in self.hosts)
        self.names = {number: f"web-{number}" for number in range(1, chance.randint(2, self.room) + 1)}

    def begin(self) -> None:
        files: dict[str, str | None] = {
            "gitvirt.yaml": SETTINGS + LIMITS,
            "class.yaml": SMALL,
            "lan.yaml": NETWORK,
        }
        self.people.push(files | {f"{name}.yaml": with_address(name, n) for n, name in self.names.items()})
        self.settle()

    def change(self, chance: random.Random) -> None:
        """Some machines are renamed, some removed, some added, but for the last one."""
        files: dict[str, str | None] = {}
        for number, name in sorted(self.names.items())[1:]:
            act = chance.choice(("keep", "rename", "rename", "remove"))
            if act != "keep":
                files[f"{name}.yaml"] = None
            if act == "rename":
                files[f"app-{number}.yaml"] = with_address(f"app-{number}", number)
        for number in range(chance.randint(0, 2)):
            files[f"new-{number}.yaml"] = with_address(f"new-{number}", 100 + number)
        self.people.push(files)

    def predict(self) -> Survival | None:
        world, repo = World(), self.looker
        snapshot = take_snapshot(repo)
        now = self.clock()
        return make_outline(PlanInput(repo, world, world.advance(repo, snapshot, now), now)).survival

    def list_stranding(self) -> list[str]:
        """By counting: the hosts without which the others have too little room for all machines."""
        pools = [
            document.body["status"]["assignment"]["pool"]
            for document in self.on_live(Kind.MACHINE)
            if "assignment" in document.body.get("status", {})
        ]
        return [host.name for host in self.hosts if host.name in pools and len(pools) > self.room - host.room]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_answer_is_that_of_counting_after_the_merge(seed: int) -> None:
    chance = random.Random(seed)
    site = Site(chance)
    site.begin()
    site.change(chance)
    predicted = site.predict()
    site.settle()
    assert predicted is not None
    assert [pool for pool, _ in predicted.stranded] == site.list_stranding()


@pytest.mark.parametrize(
    ("spec", "is_survived"),
    [
        pytest.param("", True, id="it still takes machines"),
        pytest.param("  machinePoolSelector: {zone: a}\n", False, id="it has no label of its file any more"),
    ],
)
def test_a_pool_that_loses_its_file_counts_as_its_host_announces_it(spec: str, is_survived: bool) -> None:
    """In the plan of the commit that removes the file as well as in every plan after it."""
    cast = Cast(MemoryWorld(), ["rack-1", "rack-2"], room=4)
    cast.people.push(
        {
            "gitvirt.yaml": SETTINGS + LIMITS,
            "class.yaml": SMALL,
            "web-1.yaml": machine("web-1", spec=spec),
            **{f"{host.name}.yaml": POOL.format(host.name) for host in cast.hosts},
        }
    )
    cast.settle()
    assert survives(cast)
    (web,) = cast.on_live(Kind.MACHINE)
    pool = web.body["status"]["assignment"]["pool"]
    (other,) = (host.name for host in cast.hosts if host.name != pool)
    cast.people.push({f"{other}.yaml": None})
    planned = survives(cast)
    cast.settle()
    assert (planned, survives(cast)) == (is_survived, is_survived)


def survives(cast: Cast) -> bool:
    world, now = World(), cast.clock()
    advance = world.advance(cast.looker, take_snapshot(cast.looker), now)
    found = try_each_loss(world, make_plan(world, advance, now), {}, now)
    assert found is not None
    return found.is_survived
