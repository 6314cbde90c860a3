"""Packs: the git program finds in them what was put in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.gitstore.objects import pack
from reconciler.gitstore.objects.database import GitObject, ObjectType, hash_object
from tests.reconciler.gitstore.git import git, init

OBJECTS = st.builds(
    hash_object, st.sampled_from([ObjectType.BLOB]), st.binary(max_size=300) | st.just(b"x" * 70_000)
)


def verify_pack(directory: Path, made: pack.Pack) -> dict[str, tuple[str, int]]:
    """What `git verify-pack` reads: id -> (type, size). It checks every checksum."""
    place = directory / f"pack-{made.name}"
    place.with_suffix(".pack").write_bytes(made.data)
    place.with_suffix(".idx").write_bytes(made.idx)
    lines = [line.split() for line in git(directory, "verify-pack", "-v", str(place) + ".idx").splitlines()]
    return {line[0]: (line[1], int(line[2])) for line in lines if len(line[0]) == 40}


@settings(max_examples=25, deadline=None)
@given(st.lists(OBJECTS, min_size=1, max_size=20))
def test_git_verifies_and_finds_everything(
    tmp_path_factory: pytest.TempPathFactory, objects: list[GitObject]
) -> None:
    repo = init(tmp_path_factory.mktemp("packs"))
    made = pack.build_pack(objects)
    want = {object.id: (object.type.name.lower(), len(object.data)) for object in objects}
    assert verify_pack(repo, made) == want
    assert pack.read_index(made.idx) == sorted(want)


def test_all_types_and_their_contents(tmp_path: Path) -> None:
    repo = init(tmp_path)
    blob = hash_object(ObjectType.BLOB, b"content\n")
    tree = hash_object(ObjectType.TREE, b"100644 a\0" + bytes.fromhex(blob.id))
    head = f"tree {tree.id}\nauthor A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n\nmessage\n"
    commit = hash_object(ObjectType.COMMIT, head.encode())
    made = pack.build_pack([commit, tree, blob, blob])
    for suffix, data in ((".pack", made.data), (".idx", made.idx)):
        (repo / f".git/objects/pack/pack-{made.name}{suffix}").write_bytes(data)
    git(repo, "fsck", "--strict", "--full")
    assert git(repo, "show", f"{commit.id}:a") == "content"


def test_offsets_beyond_two_gigabytes_are_in_the_second_table() -> None:
    ids = [hash_object(ObjectType.BLOB, b"%d" % number).id for number in range(4)]
    offsets = [12, 2**31 - 1, 2**31, 2**33]
    rows = sorted((bytes.fromhex(id), 7, offset) for id, offset in zip(ids, offsets, strict=True))
    index = pack._index(rows, b"c" * 20)
    start = 8 + 1024 + 4 * 20 + 4 * 4
    small = [int.from_bytes(index[start + 4 * row : start + 4 * row + 4]) for row in range(4)]
    large = [int.from_bytes(index[start + 16 + 8 * row : start + 24 + 8 * row]) for row in range(2)]
    found = [large[value & 0x7FFFFFFF] if value >> 31 else value for value in small]
    assert found == [offset for _, _, offset in rows]
    assert sorted(large) == [2**31, 2**33]
