"""What people changed: objects that are new, gone, renamed or changed, each with what it does."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.plan.source_changes import SourceChange, compare_sources
from schemas.effects.context import EffectContext
from schemas.effects.effect import Creates, Deletes, Loss, LossKind, Renames, SwitchesPower
from schemas.effects.words import name_effect
from schemas.kinds import Key, Kind
from schemas.model import Object

ROOT = {"name": "root", "localDisk": {"sizeLimit": "10Gi", "image": "debian"}}
DATA = {"name": "data", "volumeRef": {"name": "data"}}


def key(name: str) -> Key:
    return Key(Kind.MACHINE, "default", name)


def machine(name: str, *disks: Any, **spec: Any) -> dict[str, object]:
    return {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "Machine",
        "metadata": {"name": name},
        "spec": {"machineClassRef": {"name": "small"}, "volumes": list(disks), **spec},
    }


def context_of(key: Key, _before: Object) -> EffectContext:
    return EffectContext(key.name, "home-1")


def compare(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[SourceChange, ...]:
    def by_key(bodies: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
        return {key(body["metadata"]["name"]): body for body in bodies}

    return compare_sources(by_key(before), by_key(after), context_of)


def test_an_object_that_is_new() -> None:
    assert compare([], [machine("web")]) == (SourceChange(key("web"), Creates()),)


def test_an_object_that_is_gone_names_what_it_destroys() -> None:
    (change,) = compare([machine("web", ROOT)], [])
    assert change == SourceChange(
        key("web"), Deletes((Loss(LossKind.LOCAL_DISK, "root", "web", 10 * 2**30),))
    )
    assert [str(loss) for loss in change.losses] == ["local disk root of web, 10Gi"]


def test_a_changed_object_has_its_fields() -> None:
    (change,) = compare([machine("web", power="On")], [machine("web", power="Off")])
    assert (change.whole, [each.change.field for each in change.fields]) == (None, ["spec.power"])
    assert change.effects == (SwitchesPower("Off"),)


def test_a_machine_that_takes_over_a_volume_is_one_change() -> None:
    (change,) = compare([machine("old", ROOT, DATA)], [machine("new", ROOT, DATA)])
    assert change.key == key("new")
    assert isinstance(change.whole, Renames)
    assert (change.whole.old, change.whole.kept) == ("old", ("volume data",))


def test_each_machine_continues_at_most_one_other() -> None:
    found = compare([machine("old", DATA)], [machine("a", DATA), machine("b", DATA)])
    assert [(each.key.name, name_effect(each.effects[0])) for each in found] == [
        ("a", "rename"),
        ("b", "add"),
    ]


def test_status_and_values_that_mean_the_same_are_no_change() -> None:
    assert compare([machine("web") | {"status": {"state": "Running"}}], [machine("web", power="On")]) == ()


def test_changes_come_in_the_order_of_keys() -> None:
    found = compare([machine("b"), machine("c")], [machine("a"), machine("b", power="Off")])
    assert [each.key.name for each in found] == ["a", "b", "c"]


@pytest.mark.parametrize("kind", [Kind.SECRET])
def test_secrets_are_compared_and_not_kept(kind: Kind) -> None:
    bodies = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": value}}
        for value in ("old-value", "new-value")
    ]
    at = Key(kind, "default", "s")
    (change,) = compare_sources({at: bodies[0]}, {at: bodies[1]}, context_of)
    assert "value" not in repr(change.fields)
