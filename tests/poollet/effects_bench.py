"""Compares what a plan prints with what hosts do: documents to edit, what hosts have, and the one comparison for every kind of host."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from reconciler.cli.plan import make_outline
from reconciler.cli.plans import as_text
from reconciler.cli.plans.outline import Outline
from reconciler.cli.plans.plan_input import PlanInput
from reconciler.cli.terminal import Terminal
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.repo import Refs, Snapshot
from reconciler.plan.source_changes import SourceChange
from reconciler.world.world import World
from schemas.effects.effect import Renames
from schemas.effects.words import describe_change, describe_effect, name_effect
from tests.poollet.fleet import LIVE, MAIN, Fleet

COMPUTE, STORAGE, NETWORKING = (
    f"{group}.ironcore.dev/v1alpha1" for group in ("compute", "storage", "networking")
)
Documents = dict[str, Any]


def document(kind: str, api_version: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def machine(name: str, *disks: Any, **spec: Any) -> dict[str, Any]:
    given = {"machineClassRef": {"name": "small"}, "volumes": list(disks), **spec}
    return document("Machine", COMPUTE, name, **given)


def volume(name: str, **spec: Any) -> dict[str, Any]:
    given = {"volumeClassRef": {"name": "standard"}, "resources": {"storage": "1Gi"}, **spec}
    return document("Volume", STORAGE, name, **given)


def local(name: str, size: str = "5Gi") -> dict[str, Any]:
    return {"name": name, "localDisk": {"sizeLimit": size}}


def nic(name: str, ip: str, network: str = "lan") -> dict[str, Any]:
    spec = {"networkRef": {"name": network}, "ips": [{"value": ip}]}
    return {"name": name, "ephemeral": {"networkInterfaceTemplate": {"spec": spec}}}


def files(objects: Documents) -> dict[str, str]:
    return {f"{name}.yaml": json.dumps(body, indent=2) + "\n" for name, body in objects.items()}


@dataclass(frozen=True)
class Guest:
    """A machine as its host has it."""

    host: str
    id: str
    uid: str
    boots: int
    is_on: bool
    shape: str  # class, disks, interfaces and what the first boot reads
    disks: frozenset[str]
    attached: frozenset[str] = frozenset()  # all disks, with those of volumes


@dataclass(frozen=True)
class Observed:
    machines: Mapping[str, Guest]
    volumes: Mapping[str, tuple[str, str, int]]  # host, id, bytes
    local_disks: frozenset[tuple[str, str, str]]  # machine, host and id, disk
    stored: frozenset[tuple[str, str]] = frozenset()  # volumes by name and id; also those that were replaced
    snapshots: frozenset[tuple[str, str]] = frozenset()  # by name and id


class Bench(Protocol):
    """A fleet with hosts, and with what people declare at the moment."""

    fleet: Fleet
    objects: Documents

    def now(self) -> datetime: ...

    def observe(self) -> Observed:
        """What is on the hosts."""

    def come_to_rest(self) -> None:
        """Returns once nothing changes any more on `live` and on the hosts."""


def plan_of(bench: Bench, refs: Refs = Refs()) -> Outline:  # noqa: B008 - frozen
    """As `gitvirt plan --repo` makes it, of the merged change and before any tick."""
    repo = bench.fleet.client(refs)
    snapshot = repo.snapshot()
    assert isinstance(snapshot, Snapshot)
    world = World(os.environ)
    now = bench.now()
    return make_outline(PlanInput(repo, world, world.advance(repo, snapshot, now), now))


def print_plan(outline: Outline) -> list[str]:
    """The lines that a person sees."""
    stream = io.StringIO()
    as_text.write(outline, Terminal(stream, {}))
    return stream.getvalue().splitlines()


def lines_of(outline: Outline) -> Iterator[str]:
    """What the functions that name effects say of the plan, each line with its object."""
    for each in outline.plan.source_changes:
        if each.whole is not None:
            yield f"{each.key.name}: {describe_effect(each.whole)}"
        for field in each.fields:
            yield f"{each.key.name}: {describe_change(field.change)}: {describe_effect(field.effect)}"
    for change in outline.plan.changes:
        yield f"{change.key.name}: {change.action.value}: {change.reason}"


def messages(bench: Bench, since: str | None) -> list[str]:
    """Of the commits on live since then."""
    repo, found, commit = bench.fleet.client(Refs()), [], bench.fleet.head(LIVE)
    repo.snapshot()
    while commit and commit != since:
        read = decode_commit(bench.fleet.remote.objects[commit][1])
        found.append(read.message)
        commit = read.first_parent
    return found


NOT_NOW = re.compile(r"RECREATES? it|waits until|stays until|not possible")
LOSS = re.compile(r"(local disk \S+ of [\w-]+|volume [\w-]+)")
PRINTED_LOSS = re.compile(r"(local disk|volume) ([\w-]+)")
HEADLINE = re.compile(
    r"  (?:-/\+|[-+~>!]) (\w+)/[\w-]+/(.*?)(?: \(\d+\))?(?: stays on .*| on .*| onto .*| \(as before\)| \S+ -> .*)?"
)


def destroyed_by(lines: list[str]) -> set[str]:
    return {
        loss
        for line in lines
        if not NOT_NOW.search(line)
        for loss in LOSS.findall(re.split("; keeps|; waits", line.partition("DESTROYS ")[2])[0])
    }


def read_printed_losses(printed: list[str]) -> set[str]:
    """The same from the text of the plan: `DESTROYS ...` below the line of its object. A machine with a new name loses disks of the old one."""
    found: set[str] = set()
    entries = "\n".join(printed).replace("\n      ", "\t").splitlines()
    for headline, *details in (entry.split("\t") for entry in entries):
        if (match := HEADLINE.fullmatch(headline)) is None:
            continue
        names = match[2].split(", ")
        renamed = re.search(r"renamed (\S+) -> ", " ".join(details))
        owners = [renamed[1]] if renamed else names
        for line in details:
            if line.startswith("DESTROYS "):
                for kind, name in PRINTED_LOSS.findall(line):
                    found |= (
                        {f"local disk {name} of {owner}" for owner in owners}
                        if kind != "volume"
                        else {f"volume {name}"}
                    )
    return found


def list_lost(before: Observed, after: Observed) -> set[str]:
    disks = {f"local disk {disk} of {name}" for name, _, disk in before.local_disks - after.local_disks}
    snapshots = {f"snapshot {name}" for name, _ in before.snapshots - after.snapshots}
    return disks | snapshots | {f"volume {name}" for name, _ in before.stored - after.stored}


@dataclass(frozen=True)
class Checked:
    """`effects` are the names of the effects of each object, `lines` and `printed` what the plan said."""

    lines: list[str]
    printed: list[str]
    effects: Mapping[str, set[str]]
    before: Observed
    after: Observed

    @property
    def names(self) -> set[str]:
        return {name for names in self.effects.values() for name in names}


def check(bench: Bench, objects: Documents) -> Checked:
    """Merges the objects; compares what the plan of it prints with what the hosts have afterwards."""
    before = bench.observe()
    gone: dict[str, str | None] = {f"{name}.yaml": None for name in bench.objects.keys() - objects.keys()}
    bench.fleet.commit({**gone, **files(objects)}, MAIN)
    bench.objects = objects
    outline = plan_of(bench)
    lines, printed = list(lines_of(outline)), print_plan(outline)
    head = bench.fleet.head(LIVE)
    bench.come_to_rest()
    after = bench.observe()
    written = messages(bench, head)
    shown, lost = "\n".join([*lines, *printed, *written]), list_lost(before, after)
    assert destroyed_by(lines) == lost, shown
    assert read_printed_losses(printed) == lost, shown
    subjects = [message.partition("\n")[0] for message in written]
    assert not lost or any(re.search("DELETE|DESTROY|RECREATE", subject) for subject in subjects), shown
    changes = outline.plan.source_changes
    compare_machines(changes, lines, (before, after), shown)
    effects = {each.key.name: {name_effect(effect) for effect in each.effects} for each in changes}
    return Checked(lines, printed, effects, before, after)


# Where each waits for another answer than now: the machine keeps running as it was.
STAYS = {"recorded", "next placement", "recreate", "refused", "creation", "may evict"}


def compare_machines(
    changes: Sequence[SourceChange], lines: list[str], observed: tuple[Observed, Observed], shown: str
) -> None:
    """Each machine runs on where nothing says that it stops, as the one that it was, and with the disks that it had."""
    before, after = observed
    effects = {each.key.name: {name_effect(effect) for effect in each.effects} for each in changes}
    old_names = {each.whole.old for each in changes if isinstance(each.whole, Renames)}
    is_other_changed = any(
        each.key.kind != "Machine" for each in changes
    )  # a guest sees that its disk has grown
    for name, was in before.machines.items():
        found, now = effects.get(name, set()), after.machines.get(name)
        if now is None:
            assert "delete" in found or name in old_names, shown
            continue
        is_moved = any(
            f"{name}: " in line and "moves the" in line and not NOT_NOW.search(line) for line in lines
        )
        assert (now.host != was.host) == is_moved, shown
        assert is_moved or (now.id, now.uid) == (was.id, was.uid), shown
        is_same = (now.boots, now.is_on) == (was.boots, was.is_on)
        assert is_moved or is_same != ("power" in found), f"{name}: {was} {now}\n{shown}"
        if found <= STAYS and not is_other_changed:
            assert now.shape == was.shape, shown
