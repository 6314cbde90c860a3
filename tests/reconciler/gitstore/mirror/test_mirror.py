"""The mirror on disk: what may happen to it, and that it repairs itself. Nothing in it is worth keeping."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from reconciler.gitstore.bootstrap import open_store
from reconciler.gitstore.errors import DamageError, InUseError
from reconciler.gitstore.mirror.mirror import PACKS_OPEN, Mirror
from reconciler.gitstore.mirror.repack import RepackLimits
from reconciler.gitstore.objects import pack
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.transport import (
    PushConflict,
    PushRefused,
    RefsPushed,
    RefUpdate,
    RemoteUnavailable,
)
from reconciler.gitstore.repo import ExistingBlob, Refs, Snapshot
from reconciler.gitstore.store import Store
from tests.reconciler.gitstore.git import git
from tests.reconciler.gitstore.worlds import LIVE, MAIN, REPORTS, MirrorWorld, content, put, snap

FILES = {f"f{n % 7}/m{n}": b"content of %d\n" % n for n in range(60)}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[MirrorWorld]:
    real = MirrorWorld(tmp_path)
    yield real
    real.close()


@pytest.fixture
def main(world: MirrorWorld) -> str:
    """A remote with something in it."""
    people = world.client()
    put(people, REPORTS + "one", {"r": b"1"})
    return put(people, MAIN, FILES)


def reopen(world: MirrorWorld, mirror: Mirror, **options: object) -> tuple[Mirror, Store]:
    """As the next process finds it."""
    again = Mirror(mirror.folder, str(world.repo), **options)  # type: ignore[arg-type]
    world.mirrors.append(again)
    return again, Store(again, world.transport(again), Refs(), seconds=30)


def closed_mirror(world: MirrorWorld) -> Mirror:
    """A mirror that has fetched everything, of a process that is over."""
    snap(world.client())
    mirror = world.mirrors.pop()
    mirror.close()
    return mirror


def pack_files(mirror: Mirror, suffix: str) -> list[Path]:
    return sorted((mirror.repo / "objects/pack").glob(f"*{suffix}"))


def test_a_mirror_is_what_git_finds_sound(world: MirrorWorld, main: str) -> None:
    robot = world.client()
    snap(robot)
    put(robot, LIVE, {**FILES, "s": b"1"})
    repo = world.mirrors[-1].repo
    git(repo, "fsck", "--strict", "--full")
    assert git(repo, "config", "core.bare") == "true"
    assert git(repo, "rev-parse", MAIN) == main
    assert not repo.parent.stat().st_mode & 0o077


def test_however_many_packs_there_are_few_are_open(world: MirrorWorld, main: str) -> None:
    """1,024 open files are all that most processes may have."""
    world.client()
    mirror = world.mirrors[-1]
    objects = [hash_object(ObjectType.BLOB, b"%d" % number) for number in range(3 * PACKS_OPEN)]
    for object in objects:
        mirror.add([object])
    for object in objects:
        assert mirror.get(object.id)
    open_files = [str(number.resolve()) for number in Path("/proc/self/fd").iterdir()]
    assert len([path for path in open_files if path.startswith(f"{mirror.repo}/")]) <= PACKS_OPEN


def test_fetched_objects_are_not_fetched_again(world: MirrorWorld, main: str) -> None:
    mirror = closed_mirror(world)
    before = pack_files(mirror, ".pack")
    again, store = reopen(world, mirror)
    assert again.refs()[MAIN] == main
    assert snap(store).source == main
    assert pack_files(again, ".pack") == before


def test_one_process_at_a_time(world: MirrorWorld, main: str) -> None:
    mirror = closed_mirror(world)
    first, _ = reopen(world, mirror)
    with pytest.raises(InUseError):
        Mirror(mirror.folder, str(world.repo), patience=0.1)
    world.mirrors.remove(first)
    first.close()
    reopen(world, mirror, patience=0)


def test_a_child_that_outlives_its_parent_keeps_the_lock(world: MirrorWorld, main: str) -> None:
    mirror = closed_mirror(world)
    held = Mirror(mirror.folder, str(world.repo))
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(held.lock,))
    held.close()
    with pytest.raises(InUseError):
        Mirror(mirror.folder, str(world.repo), patience=0.1)
    child.communicate(b"\n")
    reopen(world, mirror)


def test_several_commands_look_at_one_remote(world: MirrorWorld, main: str, tmp_path: Path) -> None:
    place = address.parse_address(str(world.repo), tmp_path)
    stores = [
        open_store(place, RemoteAccess(), Refs(), mirrors=tmp_path / "cache", ambient=os.environ)
        for _ in range(3)
    ]
    assert [snap(store).source for store in stores] == [main] * 3
    for store in stores:
        store.close()
    again = open_store(place, RemoteAccess(), Refs(), mirrors=tmp_path / "cache", ambient=os.environ)
    assert len(list((tmp_path / "cache").iterdir())) == 3
    again.close()


def cut(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])


def corrupt_file(path: Path) -> None:
    """One byte in the middle is another."""
    path.chmod(0o600)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[Mirror], object]] = {
    "another format": lambda m: (m.folder / "mirror.json").write_text('{"format": 0}'),
    "no marker": lambda m: (m.folder / "mirror.json").unlink(),
    "half a marker": lambda m: cut(m.folder / "mirror.json", 9),
    "no config": lambda m: (m.repo / "config").write_text("[core\n"),
    "no HEAD": lambda m: (m.repo / "HEAD").unlink(),
    "no objects": lambda m: (m.repo / "objects").rename(m.folder / "aside"),
    "a pack is gone": lambda m: pack_files(m, ".pack")[0].unlink(),
    "all packs are gone": lambda m: shutil.rmtree(m.repo / "objects/pack"),
    "a pack is cut": lambda m: cut(max(pack_files(m, ".pack"), key=size), 40),
    "an index is empty": lambda m: cut(max(pack_files(m, ".idx"), key=size), 0),
    "a ref is empty": lambda m: (m.repo / MAIN).write_text(""),
    "a ref is nonsense": lambda m: (m.repo / MAIN).write_text("nonsense\n"),
    "a ref points to nothing": lambda m: (m.repo / MAIN).write_text("1" * 40 + "\n"),
    "packed refs are cut": lambda m: (m.repo / "packed-refs").write_text("1" * 40 + " refs/poollets/one\n"),
    "shallow is nonsense": lambda m: (m.repo / "shallow").write_text("nonsense\n"),
}


def size(path: Path) -> int:
    return path.stat().st_size


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_mirror_is_created_again(world: MirrorWorld, main: str, damage: str) -> None:
    mirror = closed_mirror(world)
    for path in pack_files(mirror, ""):
        path.chmod(0o600)
    DAMAGES[damage](mirror)
    again, store = reopen(world, mirror)
    found = store.snapshot()
    if isinstance(found, RemoteUnavailable):  # what only git notices takes a second look
        found = store.snapshot()
    assert isinstance(found, Snapshot), found
    assert found.source == main
    assert content(store, main) == FILES
    git(again.repo, "fsck", "--full")


def test_the_next_snapshot_repairs_damage_that_a_read_found(world: MirrorWorld, main: str) -> None:
    mirror = closed_mirror(world)
    corrupt_file(max(pack_files(mirror, ".pack"), key=size))
    _, store = reopen(world, mirror)
    assert snap(store).source == main
    with pytest.raises(DamageError):
        content(store, main)
    assert snap(store).source == main
    assert content(store, main) == FILES


def test_another_remote_is_another_mirror(world: MirrorWorld, main: str, tmp_path: Path) -> None:
    mirror = closed_mirror(world)
    (tmp_path / "other").mkdir()
    other = MirrorWorld(tmp_path / "other")
    head = put(other.client(), MAIN, {"b": b"1"})
    again = Mirror(mirror.folder, str(other.repo))
    other.mirrors.append(again)
    assert again.refs() == {}
    assert snap(Store(again, other.transport(again), Refs())).source == head
    with pytest.raises(DamageError):
        again.get(main)
    other.close()


def test_another_repo_under_the_same_name_is_followed(world: MirrorWorld, main: str) -> None:
    robot = world.client()
    snap(robot)
    world.go_away(True)
    world.repo = MirrorWorld(world.folder / "new").repo.rename(world.folder / "remote.git")
    other = put(world.client(), MAIN, {"b": b"1"})
    found = snap(robot)
    assert (found.source, found.reports) == (other, {})
    assert not robot.is_descendant(other, main)


LEFT = [
    "HEAD.lock",
    "config.lock",
    "packed-refs.lock",
    "shallow.lock",
    "refs/heads/main.lock",
    "refs/poollets/one.lock",
    "objects/pack/tmp_pack_abc",
    "objects/pack/tmp_idx_abc",
    "objects/pack/pack-1.pack.new",
    "objects/pack/pack-1.idx.new",
    "objects/pack/pack-2.pack",
    "objects/pack/pack-2.rev",
    "objects/pack/pack-3.keep",
    "objects/tmp_objdir-incoming-x/file",
    "objects/incoming-x/file",
    "objects/12/tmp_obj_x",
]


def leave(mirror: Mirror) -> None:
    for name in LEFT:
        place = mirror.repo / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"")


def temporary_files(mirror: Mirror) -> list[str]:
    return [name for name in LEFT if (mirror.repo / name).exists()]


def test_the_next_process_removes_the_leftovers_of_a_crash(world: MirrorWorld, main: str) -> None:
    mirror = closed_mirror(world)
    packs = pack_files(mirror, ".pack")
    leave(mirror)
    again, store = reopen(world, mirror)
    assert temporary_files(again) == []
    assert pack_files(again, ".pack") == packs  # it was not thrown away
    assert snap(store).source == main


def test_leftovers_of_a_killed_fetch_do_not_stop_this_process(world: MirrorWorld, main: str) -> None:
    people, robot = world.client(), world.client()
    mirror = world.mirrors[-1]
    snap(robot)
    snap(people)
    second = put(people, MAIN, {"b": b"1"}, base=main)
    leave(mirror)
    assert snap(robot).source == second
    assert temporary_files(mirror) == []


TIDY = RepackLimits(packs=4, garbage=20, loose_refs=3)


class TestHousekeeping:
    def tidy(self, world: MirrorWorld, main: str) -> tuple[Mirror, Store]:
        return reopen(world, closed_mirror(world), allowed=TIDY)

    def test_packs_stay_few(self, world: MirrorWorld, main: str) -> None:
        mirror, robot = self.tidy(world, main)
        live: str | None = None
        counts = []
        for number in range(20):
            snap(robot)
            live = put(robot, LIVE, {f"f{number % 5}/s": b"%d" % number}, base=live)
            assert robot.housekeep() is None
            counts.append(len(pack_files(mirror, ".pack")))
        assert max(counts) <= TIDY.packs + 3
        assert len(list(robot.commits(live or "", None))) == 20
        git(mirror.repo, "fsck", "--full", "--strict")

    def test_garbage_goes_and_what_was_given_out_stays(self, world: MirrorWorld, main: str) -> None:
        mirror, robot = self.tidy(world, main)
        people = world.client()
        report = snap(people).reports["one"]
        given = []
        for number in range(14):
            edits: dict[str, bytes | ExistingBlob | None] = {
                f"r{file}": b"%d %d" % (file, number) for file in range(20)
            }
            report = put(people, REPORTS + "one", edits, base=report)
            given.append(snap(robot).reports["one"])
            assert robot.housekeep() is None
            for recent in given[-2:]:
                git(mirror.repo, "archive", recent)  # a process of its own: ours has removed packs still open
        indexes = pack_files(mirror, ".idx")
        objects = {id for index in indexes for id in pack.read_index(index.read_bytes())}
        assert given[0] not in objects
        assert len(objects) < 2 * 100 + TIDY.garbage + 3 * 22
        assert content(robot, main) == FILES

    def test_refs_come_into_one_file(self, world: MirrorWorld, main: str) -> None:
        mirror, robot = self.tidy(world, main)
        people = world.client()
        reports = {f"h{n}": put(people, f"{REPORTS}h{n}", {"r": b"%d" % n}) for n in range(6)}
        snap(robot)
        assert robot.housekeep() is None
        assert not [path for path in (mirror.repo / "refs").rglob("*") if path.is_file()]
        moved = put(people, f"{REPORTS}h1", {"r": b"x"}, base=reports["h1"])
        world.delete(f"{REPORTS}h2")
        found = snap(robot).reports
        assert found["h1"] == moved
        assert "h2" not in found
        assert found["h3"] == reports["h3"]

    def test_refs_of_other_settings_go(self, world: MirrorWorld, main: str) -> None:
        mirror, _ = self.tidy(world, main)
        only_reports = Store(mirror, world.transport(mirror), Refs(source=None, target=None))
        assert snap(only_reports).reports.keys() == {"one"}
        assert only_reports.housekeep() is None
        assert mirror.refs().keys() == {REPORTS + "one"}

    def test_a_ref_that_moves_back_to_garbage_keeps_it(self, world: MirrorWorld, main: str) -> None:
        mirror, robot = self.tidy(world, main)
        people = world.client()
        old = report = snap(people).reports["one"]
        assert snap(robot).reports["one"] == old
        assert robot.housekeep() is None
        for number in range(12):
            edits: dict[str, bytes | ExistingBlob | None] = {
                f"r{file}": b"%d %d" % (file, number) for file in range(20)
            }
            report = put(people, REPORTS + "one", edits, base=report)
            snap(robot)
        mirror.repack([])
        world.move(REPORTS + "one", old)  # after the new pack was made without it
        assert snap(robot).reports["one"] == old
        mirror.finish_repack(mirror.refs().keys())
        git(mirror.repo, "fsck", "--full")
        assert content(robot, old) == {"r": b"1"}

    def test_commits_on_top_of_a_killed_push_stay(self, world: MirrorWorld, main: str) -> None:
        mirror, robot = self.tidy(world, main)
        live = put(robot, LIVE, {f"g{n}/x": b"%d" % n for n in range(40)})
        assert robot.housekeep() is None
        behind = world.refs()
        after = put(robot, LIVE, {f"g{n}/x": b"%d %d" % (n, n) for n in range(40)}, base=live)
        mirror.point({LIVE: behind[LIVE]})  # the push had landed, the mirror's ref was not moved
        world.mirrors.remove(mirror)
        mirror.close()
        mirror, robot = reopen(world, mirror, allowed=RepackLimits(packs=1, garbage=-1000))
        mirror.repack([])
        assert snap(robot).target == after  # is here already, so nothing is fetched
        last = put(robot, LIVE, {"last": b""}, base=after)
        mirror.finish_repack(mirror.refs().keys())
        git(mirror.repo, "fsck", "--full")
        assert len(list(robot.commits(last, None))) == 3

    def test_housekeeping_keeps_a_commit_that_is_being_pushed(self, world: MirrorWorld, main: str) -> None:
        mirror, robot = self.tidy(world, main)
        snap(robot)
        real = world.transport(mirror)

        def push_after_housekeeping(
            updates: Sequence[RefUpdate], seconds: float
        ) -> RefsPushed | PushConflict | PushRefused | RemoteUnavailable:
            mirror.repack([])
            mirror.finish_repack(mirror.refs().keys())
            return real.push(updates, seconds)

        transport = world.transport(mirror)
        object.__setattr__(transport, "push", push_after_housekeeping)
        store = Store(mirror, transport, Refs())
        live: str | None = None
        for number in range(12):
            live = put(store, LIVE, {f"g{n}/x": b"%d %d" % (n, number) for n in range(9)}, base=live)
            assert len(content(store, live)) == 9

    def test_readers_notice_nothing(self, world: MirrorWorld, main: str) -> None:
        _, robot = self.tidy(world, main)
        stop = threading.Event()
        broken: list[BaseException] = []

        def read() -> None:
            try:
                while not stop.is_set():
                    assert content(robot, main) == FILES
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test shows it
                broken.append(error)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        live: str | None = None
        for number in range(12):
            live = put(robot, LIVE, {f"f{n}/s": b"%d" % number for n in range(5)}, base=live)
            assert robot.housekeep() is None
        stop.set()
        for reader in readers:
            reader.join()
        assert broken == []


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("remains", [True, False])
def test_a_removed_mirror_is_fetched_again(world: MirrorWorld, main: str, moves: bool, remains: bool) -> None:
    """While it is in use. `remains`: only the repo in its folder is gone."""
    robot = world.client()
    snap(robot)
    folder = world.mirrors[-1].folder
    shutil.rmtree(folder / "repo.git" if remains else folder)
    head = main
    if moves:
        other = world.client()
        snap(other)
        head = put(other, MAIN, {"new": b"1"}, base=main)
    found = robot.snapshot()
    for _ in range(3):  # what is found to be missing is fetched by the next look
        try:
            if isinstance(found, Snapshot) and content(robot, found.source):
                break
        except DamageError:
            pass
        found = robot.snapshot()
    assert isinstance(found, Snapshot)
    assert found.source == head
    assert content(robot, head)
    put(robot, LIVE, {"a": b"1"})
