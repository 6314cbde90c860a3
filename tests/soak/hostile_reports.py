"""What the holder of a host's stolen key pushes to report refs: garbage, claims, bombs, and words about objects of other hosts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.repo import Refs
from schemas import report
from tests.poollet.fleet import REPORTS, Fleet

EVIL = ("evil", "host", "host-1-evil")  # of no host; by its name alone `host` would own the pools of all
GARBAGE = ("{", "[" * 3000, '"' + "x" * 100_000 + '"', "{}", "null", '{"fleet": 1}')
POOLLET = "poollet.json"
WIDE = 25  # entries of a bomb on each of two levels
NEVER = "f" * 40


def put(fleet: Fleet, type: ObjectType, data: bytes) -> str:
    made = hash_object(type, data)
    fleet.remote.objects[made.id] = (type, made.data)
    return made.id


def blob(fleet: Fleet, name: str, _: random.Random) -> None:
    fleet.remote.refs[REPORTS + name] = put(fleet, ObjectType.BLOB, b"hello\n")


def tag(fleet: Fleet, name: str, _: random.Random) -> None:
    text = f"object {NEVER}\ntype commit\ntag t\ntagger e <e@e> 1 +0000\n\nt\n"
    fleet.remote.refs[REPORTS + name] = put(fleet, ObjectType.TAG, text.encode())


def malformed_tree(fleet: Fleet, name: str, _: random.Random) -> None:
    tree = put(fleet, ObjectType.TREE, b"100644 a\0short")
    text = f"tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n"
    fleet.remote.refs[REPORTS + name] = put(fleet, ObjectType.COMMIT, text.encode())


def garbage(fleet: Fleet, name: str, chance: random.Random) -> None:
    """One file of the report is none, or all of them."""
    there = read(fleet, name)
    paths = [POOLLET, f"pools/{name}.json", "machines/default/m0.json", "orphans.json", "ended.json"]
    broken = {chance.choice(paths): chance.choice(GARBAGE)}
    write(fleet, name, broken if chance.random() < 0.5 else {**there, **broken})


def bomb(fleet: Fleet, name: str, _: random.Random) -> None:
    entry = json.dumps({"uid": "u", "assignment": "x", "phase": "present", "pool": name})
    numbers = range(WIDE)
    write(fleet, name, {f"machines/ns{one}/m{other}.json": entry for one in numbers for other in numbers})


def claim(fleet: Fleet, name: str, chance: random.Random) -> None:
    """The whole report of another host under this name, or its objects in the own one."""
    victim = read(fleet, choose_victim(fleet, name, chance))
    own = {} if chance.random() < 0.3 else read(fleet, name)
    objects = {path: text for path, text in victim.items() if path.startswith(("machines/", "volumes/"))}
    write(fleet, name, {**(objects if own else victim), **own})


def forge_gone(fleet: Fleet, name: str, chance: random.Random) -> None:
    """Objects of another host are gone, or rejected, by the word of this one."""
    victim = read(fleet, choose_victim(fleet, name, chance))
    phase = chance.choice(("gone", "rejected"))
    forged = {
        path: json.dumps({**decode(text), "phase": phase})
        for path, text in victim.items()
        if path.startswith(("machines/", "volumes/"))
    }
    write(fleet, name, {**forged, **read(fleet, name)})


def forge_rewind(fleet: Fleet, name: str, chance: random.Random) -> None:
    """It has applied a commit of live that no reconciler wrote."""
    there = read(fleet, name) or read(fleet, choose_victim(fleet, name, chance))
    head = decode(there.get(POOLLET, "{}"))
    write(fleet, name, {**there, POOLLET: json.dumps({**head, "liveCommit": NEVER})})


def choose_victim(fleet: Fleet, name: str, chance: random.Random) -> str:
    names = (ref.removeprefix(REPORTS) for ref in fleet.remote.refs if ref.startswith(REPORTS))
    others = sorted(one for one in names if one not in (name, *EVIL))
    return chance.choice(others) if others else name


def read(fleet: Fleet, name: str) -> Mapping[str, str]:
    """The files of a report; none where they cannot be read."""
    repo, head = fleet.client(Refs()), fleet.head(REPORTS + name)
    repo.snapshot()
    if head is None:
        return {}
    try:
        return {file.path: repo.read(file.id).decode() for file in repo.files(head)}
    except RepoError:
        return {}


def decode(text: str) -> Mapping[str, object]:
    """Of one file; nothing where another stranger has put garbage."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def report_of(fleet: Fleet, name: str) -> report.Report | None:
    if fleet.head(REPORTS + name) is None:
        return None
    return report.read({path: text.encode() for path, text in read(fleet, name).items()})


def writer_of(fleet: Fleet, name: str) -> str | None:
    """The hostID that the report names; empty where it cannot be read."""
    found = report_of(fleet, name)
    if found is None:
        return None
    return found.poollet.host_id if found.poollet is not None else ""


def write(fleet: Fleet, name: str, files: Mapping[str, str]) -> None:
    fleet.commit(files, REPORTS + name, base=None, has_parents=False, even_if_unchanged=True)


KINDS: Mapping[str, Callable[[Fleet, str, random.Random], None]] = {
    "blob": blob,
    "tag": tag,
    "malformed tree": malformed_tree,
    "garbage": garbage,
    "bomb": bomb,
    "claim": claim,
    "forged gone": forge_gone,
    "forged rewind": forge_rewind,
}
