"""Suggestions for names that nothing has: found in small repos and large ones, at a bounded cost."""

from __future__ import annotations

import pytest

from schemas.kinds import Key, Kind
from schemas.model import decode
from schemas.validate import Declaration, Tree
from schemas.validate.names import FEW, NameHints, one_typo_away


def tree(names: list[str]) -> Tree:
    entries = []
    for name in names:
        body = {
            "apiVersion": "storage.ironcore.dev/v1alpha1",
            "kind": "Volume",
            "metadata": {"name": name},
            "spec": {},
        }
        entries.append(Declaration("f.yaml", 0, Key(Kind.VOLUME, "default", name), decode(Kind.VOLUME, body)))
    return Tree(tuple(entries))


@pytest.mark.parametrize("count", [10, FEW + 10])
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("data-0004", "data-00004"),
        ("data-000004", "data-00004"),
        ("dtaa-00004", "data-00004"),
        ("xata-00004", "data-00004"),
    ],
)
def test_a_name_with_one_typing_mistake_is_suggested(count: int, written: str, meant: str) -> None:
    names = NameHints(tree([f"data-{number:05}" for number in range(count)]))
    hint = names.hint(Kind.VOLUME, "default", written)
    assert hint.startswith('did you mean "data-0')
    assert count <= FEW or hint == f'did you mean "{meant}"?'


def test_without_a_similar_name_the_hint_lists_declared_ones() -> None:
    names = NameHints(tree(["a", "b", "c", "d"]))
    assert names.hint(Kind.VOLUME, "default", "something") == "declared: a, b, c and 1 more"
    assert (
        names.hint(Kind.VOLUME, "other", "a")
        == "namespace default has one, but a reference cannot leave its namespace"
    )
    assert names.hint(Kind.NETWORK, "default", "a") == "a is a Volume"
    assert names.hint(Kind.NETWORK, "default", "lan") == "this repo declares no Network in namespace default"


def test_suggestions_take_bounded_time() -> None:
    names = NameHints(tree([f"data-{number:05}" for number in range(FEW + 1)]))
    hints = [names.hint(Kind.VOLUME, "default", f"missing-{number}") for number in range(1_000)]
    assert hints[0]
    assert not hints[-1]
    assert names.hint(Kind.VOLUME, "default", "missing-0") == hints[0]


def test_all_names_one_mistake_away_are_tried() -> None:
    assert {"ab", "acb", "abcd", "xbc", "abx", "a-bc"} <= set(one_typo_away("abc"))
    assert "cba" not in set(one_typo_away("abc"))


@pytest.mark.parametrize("count", [1, FEW + 10])
def test_the_disk_of_another_machine_is_not_suggested(count: int) -> None:
    names = NameHints(tree(["db-1-data", *(f"other-{number}" for number in range(count))]))
    assert names.hint(Kind.VOLUME, "default", "db-2-data").startswith("declared: ")
    assert names.hint(Kind.VOLUME, "default", "db-1-dta") == 'did you mean "db-1-data"?'
