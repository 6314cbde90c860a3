"""Whatever fails, and wherever the process dies: the next one comes to the same fixpoint, and there it writes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.gitstore.memory import MemoryObjects, MemoryTransport
from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.repo import Refs, Repo
from reconciler.gitstore.store import Store
from reconciler.loop.outcome import Failed, NoChange
from reconciler.loop.tick import Reconciler
from tests.reconciler.gitstore.faults import FaultyDisk, FaultyTransport, How, Killed, Steps
from tests.reconciler.gitstore.worlds import MemoryWorld, MirrorWorld
from tests.reconciler.loop.fleet import (
    SETTINGS,
    SMALL,
    START,
    Clock,
    Host,
    People,
    machine,
    reconciler,
    take_snapshot,
    texts,
)

VOLATILE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f-]{22}|20\d\d-\d\d-\d\dT[0-9:]+Z")
# What people do, one after the other, each once everything rests.
DEEDS: tuple[dict[str, str | None], ...] = (
    {
        "gitvirt.yaml": SETTINGS,
        "classes/small.yaml": SMALL,
        **{f"m/{name}.yaml": machine(name) for name in "abcde"},
    },
    {"m/a.yaml": None, "m/b.yaml": machine("b", "   # edited"), "README.md": "hello"},
    {"m/c.yaml": "kind: [", "n/d.yaml": machine("d"), "m/d.yaml": None},
)
IN_MEMORY = (How.ERROR_BEFORE, How.ERROR_AFTER, How.KILLED_BEFORE, How.KILLED_AFTER)
Start = Callable[[Steps], Repo]  # a process begins, with its own copy of the remote or what was left of it


def memory(steps: Steps, world: MemoryWorld, refs: Refs | None = None) -> Repo:
    objects = MemoryObjects(world.remote)
    return Store(objects, FaultyTransport(MemoryTransport(objects), steps), refs or Refs())


def story(client: Callable[[], Repo], start: Start, steps: Steps, refs: Refs | None = None) -> dict[str, str]:
    """The target branch after all that people do, as one line of fixpoints; one step on the way fails. With `refs` that have inputs, these
    are recorded."""
    clock = Clock()
    people = People(client(), lambda: START)
    hosts = [Host(client(), f"host-{n}", clock) for n in range(2)]
    life: Reconciler | None = None
    for edits in DEEDS:
        if refs is not None and "gitvirt.yaml" in edits:
            edits = edits | {"gitvirt.yaml": f"{SETTINGS}audit: {{ref: {refs.inputs}}}\n"}
        people.push(edits)
        for _ in range(40):
            clock.go(1)
            for host in hosts:
                host.work()
            try:
                life = life or reconciler(start(steps), refs=refs)
                outcome = life.tick(clock)
            except (Killed, OSError):
                life = None
                continue
            if isinstance(outcome, NoChange):
                break
            assert not isinstance(outcome, Failed) or outcome.trouble in ("network", "mirror"), outcome
        else:
            raise AssertionError("no rest")
    assert sum(len(host.made) for host in hosts) == 5
    looker = client()
    head = take_snapshot(looker).target
    assert isinstance(reconciler(client(), refs=refs).tick(clock), NoChange)
    assert take_snapshot(looker).target == head
    return {path: VOLATILE.sub("-", text) for path, text in texts(looker, head).items()}


def in_memory(steps: Steps) -> dict[str, str]:
    world = MemoryWorld()
    return story(world.client, lambda steps: memory(steps, world), steps)


def test_the_story_without_trouble() -> None:
    steps = Steps()
    live = in_memory(steps)
    assert sorted(live) == [
        ".gitvirt/pools/host-0.yaml",
        ".gitvirt/pools/host-1.yaml",
        "README.md",
        "classes/small.yaml",
        "gitvirt.yaml",
        "m/b.yaml",
        "m/c.yaml",
        "m/e.yaml",
        "n/d.yaml",
    ]
    assert set(steps.names) == {"list_refs", "fetch", "push"}


@pytest.mark.parametrize("how", IN_MEMORY)
def test_every_call_to_the_remote_fails(how: How) -> None:
    steps = Steps()
    want = in_memory(steps)
    for at in range(len(steps.names)):
        assert in_memory(Steps(at, how)) == want, (at, steps.names[at])


class Disk:
    """Processes one after the other, with one mirror directory on a disk that fails."""

    def __init__(self, folder: Path) -> None:
        self.world = MirrorWorld(folder)
        self.folder = folder
        self.mirror: Mirror | None = None

    def start(self, steps: Steps) -> Repo:
        if self.mirror is not None:
            self.mirror.close()
            self.mirror = None
        self.mirror = Mirror(self.folder / "own", str(self.world.repo), disk=FaultyDisk(steps))
        return Store(
            self.mirror, FaultyTransport(self.world.transport(self.mirror), steps), Refs(), seconds=30
        )

    def close(self) -> None:
        if self.mirror is not None:
            self.mirror.close()
        self.world.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[Steps], dict[str, str]]]:
    made: list[Disk] = []

    def outcomes(steps: Steps) -> dict[str, str]:
        made.append(Disk(tmp_path / f"story-{len(made)}"))
        return story(made[-1].world.client, made[-1].start, steps)

    yield outcomes
    for each in made:
        each.close()


def test_some_step_on_disk_fails(disk: Callable[[Steps], dict[str, str]]) -> None:
    """Early, in the middle and late."""
    want, steps = in_memory(Steps()), Steps()
    assert disk(steps) == want
    hows = (How.KILLED_HALFWAY, How.ERROR_HALFWAY, How.KILLED_AFTER)
    for number, how in enumerate(hows):
        at = (2 * number + 1) * len(steps.names) // (2 * len(hows))
        assert disk(Steps(at, how)) == want, (at, steps.names[at])


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("how", How)
def test_every_step_on_disk_fails(disk: Callable[[Steps], dict[str, str]], how: How) -> None:
    steps = Steps()
    want = disk(steps)
    for at in range(len(steps.names)):
        assert disk(Steps(at, how)) == want, (at, steps.names[at])
