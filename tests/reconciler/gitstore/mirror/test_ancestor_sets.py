"""Whether a commit descends from another: over random histories in a repo of the Git library, and at the cost of what is new."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygit2.enums import SortMode

from reconciler.gitstore.mirror.ancestor_sets import NEAR, AncestorSets

# For each commit: its parents, as how many commits before it they are, and its date.
HISTORIES = st.lists(
    st.tuples(st.lists(st.integers(1, 5), max_size=3), st.integers(0, 4)), min_size=1, max_size=12
)


class CountingStore(pygit2.Repository):
    """Counts the commits that are read."""

    reads = 0

    def __getitem__(self, id: str | pygit2.Oid) -> pygit2.Object:
        self.reads += 1
        return super().__getitem__(id)

    def walk(self, id: pygit2.Oid | str | None, mode: SortMode = SortMode.NONE) -> pygit2.Walker:
        self.reads += sum(1 for _ in super().walk(id, mode))
        return super().walk(id, mode)


def open_store(folder: Path) -> CountingStore:
    pygit2.init_repository(str(folder), bare=True)
    return CountingStore(str(folder))


def commit(store: pygit2.Repository, parents: list[pygit2.Oid], day: int, name: str) -> pygit2.Oid:
    who = pygit2.Signature("ann", "ann@example.org", 1_767_225_600 + 86_400 * day, 0)
    return store.create_commit(None, who, who, name, store.TreeBuilder().write(), parents)


@given(HISTORIES, st.data())
def test_the_answer_is_what_the_history_says(rows: list[tuple[list[int], int]], data: st.DataObject) -> None:
    with TemporaryDirectory(prefix="gv-") as folder:
        store = open_store(Path(folder))
        made: list[pygit2.Oid] = []
        below: dict[pygit2.Oid, set[pygit2.Oid]] = {}
        for number, (back, day) in enumerate(rows):
            parents = [made[number - each] for each in dict.fromkeys(back) if each <= number]
            id = commit(store, parents, day, str(number))
            made.append(id)
            below[id] = {id}.union(*(below[parent] for parent in parents))
        sets = AncestorSets(store, near=data.draw(st.sampled_from([0, 2])))
        for head, ancestor in data.draw(st.lists(st.tuples(st.sampled_from(made), st.sampled_from(made)))):
            assert sets.is_descendant(head, ancestor) == (ancestor in below[head])
        store.free()


def test_a_tick_reads_what_is_new_and_not_the_history(tmp_path: Path) -> None:
    """As `live` is made: each commit has the one before and the newest source as parents, and is asked about both."""
    store = open_store(tmp_path)
    source = live = commit(store, [], 0, "first")
    sets = AncestorSets(store)
    reads = []
    for number in range(1, 200):
        source = commit(store, [source], number, f"source {number}")
        before = store.reads
        assert not sets.is_descendant(live, source)
        live = commit(store, [live, source], number, f"live {number}")
        assert sets.is_descendant(live, source)
        reads.append(store.reads - before)
    assert max(reads[100:]) < 50, reads
    before = store.reads
    assert AncestorSets(store).is_descendant(live, source), "a new process asks about the newest commit"
    assert store.reads - before < 5


def test_hosts_that_lag_behind_live_cost_what_lies_between(tmp_path: Path) -> None:
    """Each is at a `live` of its own, and is asked about in each tick, whatever else is: no question may take the set of `live` away."""
    store = open_store(tmp_path)
    source = commit(store, [], 0, "first")
    live, sources = [source], [source]
    for number in range(1, 400):
        sources.append(commit(store, [sources[-1]], number, f"source {number}"))
        live.append(commit(store, [live[-1], sources[-1]], number, f"live {number}"))
    sets = AncestorSets(store)
    assert sets.is_descendant(live[-1], live[10])
    reads = []
    for number in range(400, 420):
        before = store.reads
        for lagging in (live[20], live[120], live[200], live[300], live[399]):
            assert not sets.is_descendant(lagging, live[number - 1]) or lagging == live[number - 1]
        assert sets.is_descendant(live[300], live[250])
        assert not sets.is_descendant(sources[300], live[250])
        live.append(commit(store, [live[-1], sources[-1]], number, f"live {number}"))
        assert sets.is_descendant(live[-1], live[10])
        assert not sets.is_descendant(live[-2], live[-1])
        reads.append(store.reads - before)
    # For each question the newest commits; for two of them the 50 rows between, of a source and a `live` each.
    assert max(reads) < 9 * NEAR + 2 * 2 * 50 + 50, reads
    assert AncestorSets(store).is_descendant(live[300], live[250]), "a set of that commit alone"


def test_a_commit_that_is_not_here_has_no_answer(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    here = commit(store, [], 0, "first")
    missing = pygit2.Oid(hex="1" * 40)
    sets = AncestorSets(store)
    assert not sets.is_descendant(here, missing)
    with pytest.raises(KeyError):
        sets.is_descendant(missing, here)
    with pytest.raises(KeyError, match="is not a commit"):
        sets.is_descendant(store.TreeBuilder().write(), here)
