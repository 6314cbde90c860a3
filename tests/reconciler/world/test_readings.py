"""A world from what was kept is the world from the blobs, whatever was done to what was kept."""

from __future__ import annotations

import logging
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.world.source.parse_cache.cache import MANY, NAME, ParseCache, cache_key
from reconciler.world.world import World
from schemas.kinds import Kind
from tests.reconciler.world.scene import (
    SETTINGS,
    Scene,
    assignment_record,
    machine,
    pool,
    volume,
    with_record,
)
from tests.reconciler.world.test_laws import IDS, UIDS, Action, actions, everything

ALWAYS = 2  # gitvirt.yaml of both branches, which holds nothing that could be kept
ROOT = Path(__file__).parents[3]
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {a: hunter2}\n"


def world_of(scene: Scene, folder: Path | None) -> tuple[dict[str, object], int]:
    """As a new process finds it: all that is known, and how many blobs were read for it."""
    readings = ParseCache(folder)
    world = World(readings=readings)
    found = world.advance(scene.store, scene.snapshot(), scene.now)
    world.acknowledge()
    readings.close()
    return everything(world, found.problems), found.blobs_read


def plainly(scene: Scene) -> dict[str, object]:
    return world_of(scene, None)[0]


def some_scene(size: int = 40) -> Scene:
    files = {f"m/{number}.yaml": machine(f"m-{number}") for number in range(size)}
    scene = Scene({**files, "pool.yaml": pool("pool-a"), "v.yaml": volume("data")})
    record = assignment_record("pool-a", IDS[0], UIDS[0])
    scene.live({path: with_record(text, Kind.MACHINE, record) for path, text in files.items()})
    scene.report("pool-a")
    return scene


@settings(max_examples=20, deadline=None)
@given(st.lists(actions(), min_size=1, max_size=6))
def test_it_is_the_same_world(steps: list[Action]) -> None:
    scene = Scene({"a.yaml": machine("web-1"), "pool.yaml": pool("pool-a")})
    with TemporaryDirectory() as name:
        folder = Path(name)
        readings = ParseCache(folder)
        running = World(readings=readings)
        scene.step(running)
        for act in steps:
            act.run(scene)
            scene.step(running)
            fresh, _ = world_of(scene, folder)
            other, _ = world_of(scene, folder)
            plain = plainly(scene)
            assert fresh == plain
            assert other == plain
        readings.close()


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    scene = some_scene()
    first, read = world_of(scene, tmp_path)
    assert read >= 80
    again, read = world_of(scene, tmp_path)
    assert again == first == plainly(scene)
    assert read == ALWAYS
    scene.source(
        {"m/7.yaml": machine("m-7", "  power: Off\n"), "moved/8.yaml": machine("m-8"), "m/8.yaml": None}
    )
    third, read = world_of(scene, tmp_path)
    assert third == plainly(scene)
    assert read == ALWAYS + 1  # what moved has the same text


def test_what_other_rules_made_of_a_file_is_not_believed(tmp_path: Path) -> None:
    scene = some_scene()
    world_of(scene, tmp_path)
    for rule in ("pools: declared\n", "secrets: {plain: allow}\n"):
        scene.source({"gitvirt.yaml": SETTINGS + rule})
        found, read = world_of(scene, tmp_path)
        assert found == plainly(scene)
        assert read == ALWAYS + 43  # the source; a record is one by whatever rules


def test_readings_that_no_file_needs_are_deleted(tmp_path: Path) -> None:
    scene = some_scene()
    world_of(scene, tmp_path)
    assert count(tmp_path) == 86
    scene.source({f"m/{number}.yaml": None for number in range(30)})
    scene.live({f"m/{number}.yaml": None for number in range(30)})
    world_of(scene, tmp_path)
    assert count(tmp_path) == 26


def test_a_process_that_runs_on_keeps_what_changes(tmp_path: Path) -> None:
    """Many at once, so that a tick of one change does not touch the disk; what is left when it ends."""
    scene = some_scene()
    readings = ParseCache(tmp_path)
    world = World(readings=readings)
    scene.step(world)
    assert count(tmp_path) == 86
    scene.source({"m/1.yaml": machine("m-1", "  power: Off\n")})
    scene.step(world)
    assert count(tmp_path) == 86
    scene.source({f"n/{number}.yaml": machine(f"n-{number}") for number in range(MANY)})
    scene.step(world)
    assert count(tmp_path) == 86 + MANY
    scene.source({"m/2.yaml": machine("m-2", "  power: Off\n"), "m/3.yaml": None})
    scene.step(world)
    readings.close()
    assert count(tmp_path) == 86 + MANY - 1
    # What went from the source is wanted whole of live from now on.
    assert world_of(scene, tmp_path) == (plainly(scene), ALWAYS + 1)


def test_other_code_believes_nothing_of_it(tmp_path: Path) -> None:
    scene = some_scene()
    world_of(scene, tmp_path)
    with sqlite3.connect(tmp_path / NAME) as database:
        database.execute("UPDATE made_by SET fingerprint = x'00'")
    database.close()
    found, read = world_of(scene, tmp_path)
    assert (found, read > 80) == (plainly(scene), True)
    assert world_of(scene, tmp_path)[1] == ALWAYS


def test_it_is_for_this_account_alone_and_has_no_secrets(tmp_path: Path) -> None:
    scene = Scene(
        {
            "key.yaml": SECRET,
            "gitvirt.yaml": SETTINGS + "secrets: {plain: allow}\n",
            "a.yaml": machine("web-1"),
        }
    )
    before = os.umask(0)
    try:
        world_of(scene, tmp_path)
    finally:
        os.umask(before)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {NAME: 0o600}
    data = (tmp_path / NAME).read_bytes()
    assert b"web-1" in data
    assert b"hunter2" not in data


def swap_readings(path: Path) -> None:
    """Every reading under the name of another."""
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT number, body FROM reading ORDER BY number").fetchall()
        bodies = [body for _, body in rows]
        turned = zip(bodies[1:] + bodies[:1], (number for number, _ in rows), strict=True)
        database.executemany("UPDATE reading SET body = ? WHERE number = ?", turned)
    database.close()


def retype_readings(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE reading SET body = 'text' WHERE number % 2")
        database.execute("UPDATE reading SET body = 7 WHERE NOT number % 2")
    database.close()


def without_table(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE reading")
        database.execute("CREATE TABLE reading (other TEXT)")
    database.close()


def folder_there(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_there(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


DAMAGES: list[tuple[str, Callable[[Path], object]]] = [
    ("gone", lambda path: path.unlink()),
    ("empty", lambda path: path.write_bytes(b"")),
    ("no database", lambda path: path.write_bytes(b"x" * 8192)),
    ("half of it", lambda path: os.truncate(path, path.stat().st_size // 2)),
    ("its first page", lambda path: os.truncate(path, 4096)),
    (
        "zeros at the end",
        lambda path: path.write_bytes(path.read_bytes()[:8192].ljust(path.stat().st_size, b"\0")),
    ),
    ("swapped", swap_readings),
    ("retyped", retype_readings),
    ("another table", without_table),
    ("a folder", folder_there),
    ("a link", link_there),
]


@pytest.mark.parametrize("damage", [pytest.param(each, id=name) for name, each in DAMAGES])
def test_damage_means_that_blobs_are_read_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    scene = some_scene()
    world_of(scene, tmp_path)
    damage(tmp_path / NAME)
    found, read = world_of(scene, tmp_path)
    assert found == plainly(scene)
    assert read > 0
    assert world_of(scene, tmp_path)[0] == found


def test_a_damaged_one_is_created_again(tmp_path: Path) -> None:
    scene = some_scene()
    world_of(scene, tmp_path)
    (tmp_path / NAME).write_bytes(b"x" * 8192)
    world_of(scene, tmp_path)
    assert world_of(scene, tmp_path) == (plainly(scene), ALWAYS)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_bytes_that_decayed_are_not_believed(seed: int, count: int) -> None:
    chance = random.Random(seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / NAME).write_bytes(WHOLE)
        data = bytearray(WHOLE)
        for _ in range(count):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (folder / NAME).write_bytes(data)
        assert world_of(SCENE, folder)[0] == PLAIN
        assert world_of(SCENE, folder)[0] == PLAIN


def test_two_at_once_do_each_other_no_harm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scene = some_scene()
    world_of(scene, tmp_path)
    other = sqlite3.connect(tmp_path / NAME, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with caplog.at_level(logging.WARNING):
        found, read = world_of(scene, tmp_path)
    other.execute("ROLLBACK")
    other.close()
    assert (found, read > 80) == (plainly(scene), True)
    assert [record.message.partition(" path=")[0] for record in caplog.records] == ["readings are not kept"]
    assert world_of(scene, tmp_path)[1] == ALWAYS  # it is still there


def test_another_process_may_begin_to_write_in_between(tmp_path: Path) -> None:
    scene = some_scene()
    readings = ParseCache(tmp_path)
    world = World(readings=readings)
    world.advance(scene.store, scene.snapshot(), scene.now)
    other = sqlite3.connect(tmp_path / NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    world.acknowledge()
    readings.close()
    other.execute("ROLLBACK")
    other.close()
    assert world_of(scene, tmp_path)[0] == plainly(scene)


def test_the_folder_may_go_at_any_time(tmp_path: Path) -> None:
    scene = some_scene()
    folder = tmp_path / "mirror"
    folder.mkdir()
    readings = ParseCache(folder)
    world = World(readings=readings)
    scene.step(world)
    shutil.rmtree(folder)
    scene.source({f"n/{number}.yaml": machine(f"n-{number}") for number in range(MANY)})
    found = scene.step(world)
    readings.close()
    assert len(world.objects) == 44 + MANY
    assert found.problems == ()


FULL = """\
import resource, signal, sys
from pathlib import Path
from tests.reconciler.world.test_readings import plainly, some_scene, world_of
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
scene = some_scene()
assert world_of(scene, Path(sys.argv[1]))[0] == plainly(scene)
"""


@pytest.mark.parametrize("size", [0, 4096, 20000])
def test_a_full_disk_is_no_error(tmp_path: Path, size: int) -> None:
    """As a file that may not grow beyond so many bytes."""
    command = (sys.executable, "-c", FULL, str(tmp_path), str(size))
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "readings are not kept" in done.stderr
    assert not any(tmp_path.iterdir())  # it makes room


KILLED = """\
import os, signal, sys
from pathlib import Path
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.world import World
from tests.reconciler.world.test_readings import some_scene
scene, left = some_scene(), int(sys.argv[2])
readings = ParseCache(Path(sys.argv[1]))
world = World(readings=readings)
def step():
    global left
    left -= 1
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
world.advance(scene.store, scene.snapshot(), scene.now)
readings._database.set_progress_handler(step, 1)
world.acknowledge()
"""


@pytest.mark.parametrize("steps", [1, 100, 400])
def test_a_kill_in_the_midst_does_no_harm(tmp_path: Path, steps: int) -> None:
    """After so many steps of the database's own machine."""
    command = (sys.executable, "-c", KILLED, str(tmp_path), str(steps))
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == -signal.SIGKILL, done.stderr
    scene = some_scene()
    assert world_of(scene, tmp_path)[0] == plainly(scene)
    assert world_of(scene, tmp_path) == (plainly(scene), ALWAYS)


def count(folder: Path) -> int:
    database = sqlite3.connect(folder / NAME)
    (found,) = database.execute("SELECT count(*) FROM reading").fetchone()
    database.close()
    return int(found)


SCENE = some_scene(12)
PLAIN = plainly(SCENE)


def _whole() -> bytes:
    with TemporaryDirectory() as name:
        world_of(SCENE, Path(name))
        return (Path(name) / NAME).read_bytes()


WHOLE = _whole()


def test_the_code_is_known_before_an_upgrade_can_replace_it(tmp_path: Path) -> None:
    cache_key.cache_clear()
    readings = ParseCache(tmp_path)
    assert cache_key.cache_info().currsize == 1
    readings.close()
