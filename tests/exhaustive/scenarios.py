"""What people and administrators do in each scenario. Short: a few objects, one change."""

from __future__ import annotations

from schemas.kinds import Key, Kind
from schemas.model import Machine, Volume
from tests.exhaustive.explored import Explored, Scenario
from tests.poollet.fleet import LIVE
from tests.soak.people import COMPUTE, STORAGE

VOLUMES = {"kept": "", "data": "  deletionPolicy: Delete\n"}


def machine(name: str, spec: str = "") -> str:
    return (
        f"apiVersion: {COMPUTE}\nkind: Machine\nmetadata: {{name: {name}}}\n"
        f"spec:\n  machineClassRef: {{name: small}}\n{spec}"
    )


def volume(name: str) -> str:
    return (
        f"apiVersion: {STORAGE}\nkind: Volume\nmetadata: {{name: {name}}}\n"
        f"spec:\n  volumeClassRef: {{name: standard}}\n  resources: {{storage: 1Gi}}\n{VOLUMES[name]}"
    )


def using(name: str) -> str:
    return f"  volumes:\n  - {{name: data, volumeRef: {{name: {name}}}}}\n"


def put(life: Explored, **texts: str) -> str:
    """`Kind__name` is declared with this text, or not any more without one."""
    for given, text in texts.items():
        name = given.replace("__", "/")
        if text:
            life.people.put(name, text)
        else:
            life.people.drop(name)
    return " ".join(texts)


def idle(life: Explored) -> None:
    """Hosts that have announced their pools."""
    life.rounds(4)


def busy(life: Explored) -> None:
    """Machines on both hosts, one with a volume that is to be retained, one with one that is not."""
    idle(life)
    put(life, Volume__kept=volume("kept"), Volume__data=volume("data"))
    put(life, Machine__a=machine("a", using("kept")), Machine__b=machine("b", using("data")))
    put(life, Machine__c=machine("c"))
    life.rounds(5)
    assert sum(len(life.stage.running(name)) for name in life.stage.hosts) == 3


def back_up(life: Explored) -> None:
    busy(life)
    life.backup = life.stage.fleet.head(LIVE) or ""
    put(life, Machine__d=machine("d"), Machine__c="")
    life.rounds(4)


def restore(life: Explored) -> str:
    life.looser.is_restored = True
    life.looser.head = None
    life.explored.recorded.recorded.restore(LIVE, life.backup)
    return "live is restored"


def home(life: Explored, name: str = "") -> str:
    """The host of machine c, or of the machine named."""
    for each in life.stage.live().objects():
        assignment = getattr(getattr(each, "status", None), "assignment", None)
        if each.key.name == (name or "c") and assignment is not None:
            return str(assignment.pool)
    return life.stage.hosts[0]


def burn(life: Explored) -> str:
    name = home(life)
    life.stage.burn(name)
    life.stage.time.ms += 300_000
    return name


def say(life: Explored) -> str:
    """What happened to a host, where live does not know it yet."""
    found = [each for name in life.stage.hosts if (each := life.stage.mismatch(name)) is not None]
    life.people.commit(found)
    return str(found)


def rename(life: Explored) -> str:
    name = home(life)
    life.stage.rename(name)
    life.stage.time.ms += 300_000
    return name


def delete(life: Explored) -> str:
    life.people.drop("Machine/a", "Machine/b", "Volume/data", "Volume/kept")
    return "all with volumes"


def hand_over(life: Explored) -> str:
    return put(life, Machine__a=machine("a"), Machine__e=machine("e", using("kept")))


def disk(host: str, name: str) -> str:
    return f"  machinePoolRef: {{name: {host}}}\n{using(name)}"


def pair(life: Explored) -> None:
    """Two machines of one host, each with a volume of its own."""
    idle(life)
    host = life.stage.hosts[0]
    kept, data = (f"{volume(name)}  volumePoolRef: {{name: {host}}}\n" for name in VOLUMES)
    put(life, Volume__kept=kept, Volume__data=data)
    put(life, Machine__a=machine("a", disk(host, "kept")), Machine__b=machine("b", disk(host, "data")))
    life.rounds(5)
    assert len(life.stage.running(host)) == 2


def swap(life: Explored) -> str:
    host = life.stage.hosts[0]
    return put(life, Machine__a=machine("a", disk(host, "data")), Machine__b=machine("b", disk(host, "kept")))


def has_swapped(life: Explored) -> None:
    live = {each.key: each for each in life.stage.live().objects()}
    for name, of in (("a", "data"), ("b", "kept")):
        machine, volume = live[Key(Kind.MACHINE, "default", name)], live[Key(Kind.VOLUME, "default", of)]
        assert isinstance(machine, Machine)
        assert isinstance(volume, Volume)
        (disk,) = machine.status.volumes
        assert volume.status.access is not None
        assert (disk.state, disk.handle) == ("Attached", volume.status.access.handle)
        assert disk.volume_ref is not None
        assert disk.volume_ref.name == of


SCENARIOS = (
    Scenario(
        "create",
        idle,
        {0: lambda life: put(life, Volume__kept=volume("kept"), Machine__a=machine("a", using("kept")))},
    ),
    Scenario("delete", busy, {0: delete, 2: Explored.confirm}, rounds=16),
    Scenario("evict", busy, {0: lambda life: life.people.pool(home(life), "drain")}, rounds=10),
    Scenario("destroyed", busy, {0: burn, 3: say}, rounds=10),
    Scenario("new host", busy, {0: rename, 3: say}, rounds=10),
    Scenario("restored live", back_up, {0: restore, 3: Explored.confirm, 6: Explored.confirm}, rounds=10),
    Scenario("volume handed over", busy, {0: hand_over}, rounds=10),
    Scenario("volumes swapped", pair, {0: swap}, rounds=10, check=has_swapped),
)
