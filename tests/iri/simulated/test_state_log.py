"""The state log: what was written is read, a torn end is dropped, damage is named, and no other process shares it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.simulated.state.state_log import (
    MAGIC,
    REWRITE_FROM_BYTES,
    LogChange,
    StateLog,
    StateLogError,
    read_entries,
)

batches = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["machine", "volume"]),
            st.sampled_from(["a", "b", "c"]),
            st.one_of(st.none(), st.binary(max_size=20)),
        ),
        min_size=1,
        max_size=3,
    ),
    max_size=8,
)


def read_log(changes: list[list[LogChange]]) -> dict[tuple[str, str], bytes]:
    records: dict[tuple[str, str], bytes] = {}
    for batch in changes:
        for kind, id, record in batch:
            if record is None:
                records.pop((kind, id), None)
            else:
                records[kind, id] = record
    return records


@given(batches, st.data())
@settings(max_examples=60)
def test_any_cut_leaves_the_entries_before_it(
    tmp_path_factory: pytest.TempPathFactory, changes: list[list[LogChange]], data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("log")
    log = StateLog(directory)
    assert log.load() == {}
    ends = []
    for batch in changes:
        log.sync(log.append(batch))
        ends.append((directory / "state.log").stat().st_size)
    log.close()
    size = (directory / "state.log").stat().st_size
    cut = data.draw(st.integers(len(MAGIC), size))
    os.truncate(directory / "state.log", cut)
    reopened = StateLog(directory)
    whole = sum(end <= cut for end in ends)
    assert reopened.load() == read_log(changes[:whole])
    reopened.sync(reopened.append([("machine", "z", b"after")]))
    reopened.close()
    again = StateLog(directory)
    assert again.load() == {**read_log(changes[:whole]), ("machine", "z"): b"after"}
    again.close()


def write_log(directory: Path, *batches: list[LogChange]) -> Path:
    log = StateLog(directory)
    log.load()
    for batch in batches:
        log.sync(log.append(batch))
    log.close()
    return directory / "state.log"


@pytest.mark.parametrize("back", [10, 50, 64, 68, 72])  # in the payload, and in each part of the header
def test_damage_in_the_middle_is_an_error_that_names_the_place(tmp_path: Path, back: int) -> None:
    path = write_log(tmp_path, [("machine", "a", b"x" * 50)], [("machine", "b", b"y" * 50)])
    data = bytearray(path.read_bytes())
    ends = [end for end, _ in read_entries(bytes(data), path)]
    data[ends[-2] - back] ^= 0x40
    path.write_bytes(data)
    log = StateLog(tmp_path)
    with pytest.raises(StateLogError, match="damaged at byte"):
        log.load()
    log.close()


def test_zeros_at_the_end_are_a_torn_end(tmp_path: Path) -> None:
    path = write_log(tmp_path, [("machine", "a", b"1")])
    path.write_bytes(path.read_bytes() + b"\0" * 4096)
    log = StateLog(tmp_path)
    assert log.load() == {("machine", "a"): b"1"}
    log.close()


def test_another_file_is_not_taken_for_a_state_log(tmp_path: Path) -> None:
    (tmp_path / "state.log").write_text("my diary")
    log = StateLog(tmp_path)
    with pytest.raises(StateLogError, match="not a state log"):
        log.load()
    log.close()
    assert (tmp_path / "state.log").read_text() == "my diary"


def test_two_logs_do_not_share_a_directory(tmp_path: Path) -> None:
    log = StateLog(tmp_path)
    with pytest.raises(StateLogError, match="another simulated runtime"):
        StateLog(tmp_path)
    log.close()
    StateLog(tmp_path).close()


def test_a_directory_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateLogError, match="file"):
        StateLog(tmp_path / "file" / "state")


def test_a_rewrite_keeps_current_records_and_shrinks_the_file(tmp_path: Path) -> None:
    log = StateLog(tmp_path)
    log.load()
    record = b"x" * 100_000
    while not log.needs_rewrite():
        log.append([("machine", "a", record)])
    assert (tmp_path / "state.log").stat().st_size > REWRITE_FROM_BYTES
    log.rewrite([("machine", "a", record)])
    assert (tmp_path / "state.log").stat().st_size < 2 * len(record)
    assert not log.needs_rewrite()
    log.sync(log.append([("machine", "b", b"2")]))
    log.close()
    reopened = StateLog(tmp_path)
    assert reopened.load() == {("machine", "a"): record, ("machine", "b"): b"2"}
    reopened.close()


def test_a_death_during_a_rewrite_leaves_the_old_file(tmp_path: Path) -> None:
    path = write_log(tmp_path, [("machine", "a", b"1")])
    path.with_suffix(".new").write_bytes(MAGIC + b"half of")
    log = StateLog(tmp_path)
    assert log.load() == {("machine", "a"): b"1"}
    log.close()


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = write_log(tmp_path / "state", [("machine", "a", b"a secret")])
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
