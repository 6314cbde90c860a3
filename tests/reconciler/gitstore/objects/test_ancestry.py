"""What one commit reaches and another does not, over random histories: with dates that say nothing, and with histories that are cut short."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from reconciler.gitstore.errors import DamageError
from reconciler.gitstore.objects.ancestry import Ancestry
from reconciler.gitstore.objects.commit import Commit
from reconciler.gitstore.repo import Identity

WHO = Identity("ann", "ann@example.org")
# For each commit: its parents, as how many commits before it they are, and its date.
HISTORIES = st.lists(
    st.tuples(st.lists(st.integers(1, 5), max_size=3), st.integers(0, 4)), min_size=1, max_size=12
)


def make_history(rows: list[tuple[list[int], int]]) -> dict[str, Commit]:
    found = {}
    for number, (back, day) in enumerate(rows):
        parents = tuple(dict.fromkeys(str(number - each) for each in back if each <= number))
        when = datetime(2026, 1, 1 + day, tzinfo=UTC)
        found[str(number)] = Commit("tree", parents, WHO, when, "change")
    return found


def reach(history: dict[str, Commit], head: str) -> set[str]:
    if head not in history:
        return set()
    return {head}.union(*(reach(history, parent) for parent in history[head].parents))


@given(HISTORIES, st.data())
def test_what_lies_between_two_commits_is_the_difference_of_what_they_reach(
    rows: list[tuple[list[int], int]], data: st.DataObject
) -> None:
    history = make_history(rows)
    names = st.sampled_from(sorted(history))
    missing = data.draw(st.sets(names, max_size=1))
    here = {id: each for id, each in history.items() if id not in missing}
    reads: list[str] = []

    def read(id: str) -> Commit:
        reads.append(id)
        if id not in here:
            raise DamageError(f"object {id} is missing")
        return here[id]

    ancestry = Ancestry(read)
    for _ in range(3):
        head, since = data.draw(names), data.draw(names)
        if not {head, since} <= here.keys():
            continue
        listed = list(ancestry.list_commits(head, since))
        assert len(listed) == len(set(listed))
        assert set(listed) == reach(here, head) - reach(here, since)
        place = {id: number for number, id in enumerate(listed)}
        assert all(place[id] < place.get(each, len(rows)) for id in listed for each in here[id].parents)
        assert ancestry.is_descendant(head, since) == (since in reach(here, head))
        assert set(ancestry.list_commits(head, None)) == reach(here, head)


def test_a_question_about_the_newest_commits_of_a_long_history_reads_few() -> None:
    history = make_history([([1], 0)] * 1_000)
    reads: list[str] = []

    def read(id: str) -> Commit:
        reads.append(id)
        return history[id]

    ancestry = Ancestry(read)
    assert len(list(ancestry.list_commits("999", "0"))) == 999
    reads.clear()
    assert list(ancestry.list_commits("999", "997")) == ["999", "998"]
    assert ancestry.is_descendant("999", "997")
    assert not ancestry.is_descendant("997", "999")
    assert len(reads) < 15
