"""From the fields asked for to single steps on a text, and the body they must lead to. Pure, knows no text.

A step is the smallest thing that can be spliced: one entry set, added or dropped. Steps follow each other: each one
is laid out for the body that the ones before it leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

from schemas.edit.fields import PRUNED_WHEN_EMPTY, Changes, Path, Value, insertion_order
from schemas.edit.likeness import is_alike

Body = dict[str, Value]


class Put(NamedTuple):
    """The entry is there; its value becomes this one."""

    path: Path
    value: Value


class Add(NamedTuple):
    """The map above is there, the entry is not."""

    path: Path
    value: Value


class Drop(NamedTuple):
    """The entry goes, and the map above keeps others."""

    path: Path


Step = Put | Add | Drop


class Steps(NamedTuple):
    steps: tuple[Step, ...]
    wanted: Body


@dataclass(frozen=True, slots=True)
class NotAMap:
    """What stands at `path` cannot hold the field."""

    path: Path


def steps(body: Body, changes: Changes, *, is_whole: bool = False) -> Steps | NotAMap:
    """Nothing for a field that already is as asked. A map is changed in what differs, or replaced when `is_whole`."""
    found: list[Step] = []
    for target in sorted(changes, key=insertion_order):
        path, value = target.path, changes[target]
        blocked = _blocked(body, path, value)
        if blocked is not None:
            return NotAMap(blocked)
        for step in _drop(body, path) if value is None else _put(body, path, value, is_whole):
            found.append(step)
            body = _after(body, step)
    return Steps(tuple(found), body)


def _blocked(body: Body, path: Path, value: Value) -> Path | None:
    node: Value = body
    for depth, key in enumerate(path):
        if not isinstance(node, dict):
            return None if node is None or value is None else path[:depth]
        if key not in node:
            return None
        node = node[key]
    return None


def _drop(body: Body, path: Path) -> list[Step]:
    above: Value = body
    for key in path[:-1]:
        above = above.get(key) if isinstance(above, dict) else None
    if not isinstance(above, dict) or path[-1] not in above:
        return []
    if len(above) > 1 or len(path) == 1:
        return [Drop(path)]
    if path[:-1] in PRUNED_WHEN_EMPTY:
        return _drop(body, path[:-1])
    return [Put(path[:-1], {})]


def _put(body: Body, path: Path, value: Value, is_whole: bool) -> list[Step]:
    node: Value = body
    for depth, key in enumerate(path):
        if node is None:
            return [Put(path[:depth], _nested(path[depth:], value))]
        above = cast("Body", node)
        if key not in above:
            return [Add(path[: depth + 1], _nested(path[depth + 1 :], value))]
        node = above[key]
    if is_whole:
        return [] if is_alike(node, value) else [Put(path, value)]
    return _differences(path, node, value)


def _differences(path: Path, old: Value, new: Value) -> list[Step]:
    """Maps with the same keys are changed where they differ, so that what surrounds the rest stays."""
    if isinstance(old, dict) and isinstance(new, dict) and old and old.keys() == new.keys():
        return [step for key in new for step in _differences((*path, key), old[key], new[key])]
    return [] if is_alike(old, new) else [Put(path, new)]


def _nested(path: Path, value: Value) -> Value:
    for key in reversed(path):
        value = {key: value}
    return value


def _after(body: Body, step: Step) -> Body:
    """A copy with the step done; shares what the step does not touch."""
    return cast("Body", _set(body, step.path, step))


def _set(node: Value, path: Path, step: Step) -> Value:
    copy = dict(cast("Body", node))
    key = path[0]
    if len(path) > 1:
        copy[key] = _set(copy[key], path[1:], step)
    elif isinstance(step, Drop):
        del copy[key]
    else:
        copy[key] = step.value
    return copy
