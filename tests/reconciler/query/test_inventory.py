"""Asked for one kind, an inventory has all of it that the whole has, however it is written, and passes over what is of others."""

from __future__ import annotations

import pytest

from reconciler.query.inventory import read_inventory
from schemas.kinds import Kind
from tests.reconciler.world.scene import MAIN, Scene

NETWORK = "apiVersion: networking.ironcore.dev/v1alpha1\nkind: Network\nmetadata: {name: n}\nspec: {providerID: 'bridge:b'}\n"
MACHINE = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\nmetadata: {name: m}\nspec: {machineClassRef: {name: small}}\n"
AS_JSON = '{"apiVersion": "compute.ironcore.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "j"}, "spec": {"machineClassRef": {"name": "small"}}}'
FILES = {
    "plain.yaml": MACHINE,
    "second.yaml": NETWORK + "---\n" + MACHINE.replace("name: m", "name: s"),
    "crlf.yaml": MACHINE.replace("name: m", "name: c").replace("\n", "\r\n"),
    "json.yaml": AS_JSON,
    "escaped.yaml": NETWORK + "---\n" + AS_JSON.replace('"j"', '"e"').replace("Machine", "M\\u0061chine", 1),
    "alias.yaml": "kind: &k Machine\nmetadata: {name: a}\nspec: {machineClassRef: {name: small}}\napiVersion: compute.ironcore.dev/v1alpha1\n",
    "network.yaml": NETWORK.replace("name: n", "name: other"),
}


@pytest.mark.parametrize("kind", Kind)
def test_of_one_kind_as_of_all(kind: Kind) -> None:
    scene = Scene(FILES)
    whole, part = (read_inventory(scene.store, scene.heads[MAIN], kinds) for kinds in (None, kind))
    assert part.of(kind) == whole.of(kind)
    assert {item.key.name for item in whole.of(Kind.MACHINE)} == set("mscjea")


def test_files_of_other_kinds_are_passed_over() -> None:
    scene = Scene(FILES)
    names = {
        item.key.name
        for item in read_inventory(scene.store, scene.heads[MAIN], Kind.MACHINE).of(Kind.NETWORK)
    }
    assert names == {"n"}  # also from files that hold a machine


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("kind: [", ("broken.yaml",)),
        ("kind: Machine\nx: [", ("broken.yaml",)),
        ("kind: Machines\nx: [", ("broken.yaml",)),
        ("kind: Network\nx: [", ()),
    ],
)
def test_what_cannot_be_read_counts_unless_it_is_of_others(text: str, want: tuple[str, ...]) -> None:
    scene = Scene({**FILES, "broken.yaml": text})
    assert read_inventory(scene.store, scene.heads[MAIN]).broken == ("broken.yaml",)
    assert read_inventory(scene.store, scene.heads[MAIN], Kind.MACHINE).broken == want


def test_an_object_that_exists_is_there_although_its_file_is_ignored() -> None:
    known = MACHINE.replace("{name: m}", "{name: known, uid: 6d0d0f8e-8d5b-4a53-9b53-1c1c3a3b8f10}")
    scene = Scene(
        {
            ".gitvirtignore": "off/\n",
            "off/known.yaml": known,
            "off/sample.yaml": MACHINE,
            "off/x.yaml": "a: [",
        }
    )
    found = read_inventory(scene.store, scene.heads[MAIN])
    assert {item.key.name for item in found.of(Kind.MACHINE)} == {"known"}
    assert found.broken == ()
