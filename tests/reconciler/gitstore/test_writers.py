"""Eight writers at once. To lose a push is ordinary; to lose a commit is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers import repository
from tests.servers.places import Place
from tests.servers.writers import LIVE, write_together

WRITERS = 8
LONG = (pytest.mark.long, pytest.mark.timeout(1800))


@pytest.mark.parametrize(
    ("remote", "turns"),
    [
        ("path", 12),
        ("http", 12),
        ("ssh", 3),
        pytest.param("path", 50, marks=LONG),
        pytest.param("http", 50, marks=LONG),
        pytest.param("ssh", 50, marks=LONG),
    ],
    indirect=["remote"],
)
def test_all_land_on_one_ref_and_none_is_overwritten(remote: Place, tmp_path: Path, turns: int) -> None:
    tally = write_together(
        remote.url, remote.access, remote.ambient, tmp_path, refs=[LIVE] * WRITERS, turns=turns
    )
    print(f"{remote.url}: {tally}, {tally.rejected_per_success:.1f} rejected per success")
    assert not tally.troubles
    assert tally.landed == WRITERS * turns
    line = repository.git(remote.repo, "rev-list", "--first-parent", LIVE).splitlines()
    assert len(line) == WRITERS * turns
    assert len(repository.git(remote.repo, "rev-list", LIVE).splitlines()) == len(line)
    files = repository.git(remote.repo, "ls-tree", "-r", "--name-only", LIVE).splitlines()
    assert set(files) == {
        f"writer-{number}/{turn}.yaml" for number in range(WRITERS) for turn in range(turns)
    }
    for number in range(WRITERS):
        output = repository.git(
            remote.repo, "log", "--reverse", "--format=%s", f"--author=writer-{number} ", LIVE
        )
        assert output.splitlines() == [f"{number}.{turn}" for turn in range(turns)]
    repository.git(remote.repo, "fsck", "--strict")


@pytest.mark.parametrize(
    ("remote", "turns"),
    [("path", 10), ("http", 5), ("ssh", 2), pytest.param("ssh", 25, marks=LONG)],
    indirect=["remote"],
)
def test_writers_of_separate_refs_never_conflict(remote: Place, tmp_path: Path, turns: int) -> None:
    refs = [f"refs/heads/writer-{number}" for number in range(WRITERS)]
    tally = write_together(remote.url, remote.access, remote.ambient, tmp_path, refs=refs, turns=turns)
    assert not tally.troubles
    assert (tally.landed, tally.stale) == (WRITERS * turns, 0)
    for ref in refs:
        assert len(repository.git(remote.repo, "rev-list", ref).splitlines()) == turns
