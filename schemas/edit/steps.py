"""From desired fields to single steps, and the body that they must lead to. Pure; knows no text.

A step is the smallest change that can be spliced: one entry is set, added or removed. The order of steps matters: each
one applies to the body that the previous ones leave.

    desired    in the body                          step
    a value    the same value                       none
    a value    another value                        PutEntry, at the deepest entries that differ
    a value    missing, its parent is a mapping     AddEntry; further missing parents are part of its value
    a value    a parent is null (`spec:` alone)     PutEntry at that parent, which becomes a mapping
    a value    a parent is a list or a scalar       NotAMap: a person wrote it there, so it is not replaced
    None       missing                              none
    None       one of several entries               DropEntry
    None       the only entry                       ClearMap; PruneMap for a mapping that gitvirt itself had added

ClearMap leaves `{}` behind, because a key without a value would read as null. PruneMap removes the parent too, so that
setting and removing an annotation ends with the text that it began with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, assert_never, cast

from schemas.edit.fields import PRUNED_WHEN_EMPTY, Body, Changes, Path, Target, Value, insertion_order
from schemas.edit.verification import is_same_value


class PutEntry(NamedTuple):
    """The entry exists; its value is replaced."""

    path: Path
    value: Value


class AddEntry(NamedTuple):
    """The parent mapping exists, the entry does not: it is added."""

    path: Path
    value: Value


class DropEntry(NamedTuple):
    """The entry is removed; its parent mapping keeps other entries."""

    path: Path


class ClearMap(NamedTuple):
    """The only entry is removed; its parent mapping stays, empty."""

    path: Path


class PruneMap(NamedTuple):
    """The only entry is removed together with its parent mapping."""

    path: Path


Step = PutEntry | AddEntry | DropEntry | ClearMap | PruneMap


class EditPlan(NamedTuple):
    """The steps in their order, and the body that they lead to.

    `desired` is what the new text has to read back as. It comes from the steps and not from the text, which is what makes the
    verification independent of finding and splicing.
    """

    steps: tuple[Step, ...]
    desired: Body


@dataclass(frozen=True, slots=True)
class NotAMap:
    """The value at `path` is not a mapping, so it cannot have the field."""

    path: Path
    target: Target


def plan_steps(body: Body, changes: Changes, *, is_whole: bool = False) -> EditPlan | NotAMap:
    """No step for a field that has the desired value. Mappings change where they differ, or as a whole if `is_whole`."""
    found: list[Step] = []
    for target in changes if len(changes) == 1 else sorted(changes, key=insertion_order):
        value = changes[target]
        taken = _drop(body, target.path) if value is None else _put(body, target.path, value, is_whole)
        if isinstance(taken, tuple):
            return NotAMap(taken, target)
        for step in taken:
            found.append(step)
            body = _after(body, step)
    return EditPlan(tuple(found), body)


def _drop(body: Body, path: Path) -> list[Step]:
    """The step that removes an entry; none if it does not exist."""
    above: Value = body
    for key in path[:-1]:
        above = above.get(key) if isinstance(above, dict) else None
    if not isinstance(above, dict) or path[-1] not in above:
        return []
    if len(above) > 1 or len(path) == 1:
        return [DropEntry(path)]
    return [PruneMap(path) if path[:-1] in PRUNED_WHEN_EMPTY else ClearMap(path)]


def _put(body: Body, path: Path, value: Value, is_whole: bool) -> list[Step] | Path:
    """The steps, or the path of a value that would have to be a mapping."""
    node: Value = body
    for depth, key in enumerate(path):
        if node is None:
            return [PutEntry(path[:depth], _nest(path[depth:], value))]
        if not isinstance(node, dict):
            return path[:depth]
        if key not in node:
            return [AddEntry(path[: depth + 1], _nest(path[depth + 1 :], value))]
        node = node[key]
    if is_whole:
        return [] if is_same_value(node, value) else [PutEntry(path, value)]
    return _differences(path, node, value)


def _differences(path: Path, old: Value, new: Value) -> list[Step]:
    """Mappings with the same keys change only where they differ, so that comments around other entries stay."""
    if isinstance(old, dict) and isinstance(new, dict) and old and old.keys() == new.keys():
        return [step for key in new for step in _differences((*path, key), old[key], new[key])]
    return [] if is_same_value(old, new) else [PutEntry(path, new)]


def _nest(path: Path, value: Value) -> Value:
    """The value inside new mappings for the rest of the path."""
    for key in reversed(path):
        value = {key: value}
    return value


def _after(body: Body, step: Step) -> Body:
    """A copy of the body after the step. It shares all values that the step does not change."""
    match step:
        case PutEntry(path, value) | AddEntry(path, value):
            return _with(body, path, value)
        case DropEntry(path) | ClearMap(path):
            return _without(body, path)
        case PruneMap(path):
            return _without(body, path[:-1])
    assert_never(step)


def _with(node: Body, path: Path, value: Value) -> Body:
    """A copy of the body with one value set."""
    key, below = path[0], path[1:]
    return {**node, key: _with(cast("Body", node[key]), below, value) if below else value}


def _without(node: Body, path: Path) -> Body:
    """A copy of the body without one entry."""
    key, below = path[0], path[1:]
    if below:
        return {**node, key: _without(cast("Body", node[key]), below)}
    return {name: value for name, value in node.items() if name != key}
