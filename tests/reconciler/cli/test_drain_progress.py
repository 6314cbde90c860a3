"""`gitvirt drain --wait`: a line for each step, exit code 0 when the machines have left, and 6 with what is left and why."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.drain_forecast import DrainForecast
from reconciler.cli.exits import Exit
from reconciler.cli.plans.moves import MachineMove
from schemas.kinds import Key, Kind
from schemas.manifest import parse
from schemas.model import Machine, decode
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import SETTINGS, SMALL, Cast, machine

NAMES = ("web-1", "web-2", "web-3")
POOL = """apiVersion: compute.ironcore.dev/v1alpha1
kind: MachinePool
metadata:
  name: {}
  labels: {{topology.ironcore.dev/zone: a}}
"""
WEB = Key(Kind.MACHINE, "default", "web-1")
HELD = MachineMove(
    WEB, "rack-a", "its pool is being drained", is_held=True, needs_consent=True, target="rack-b"
)


class Site:
    def __init__(self, folder: Path) -> None:
        self.world = MirrorWorld(folder)
        self.cast = Cast(self.world, ["rack-a", "rack-b"], room=4)
        files: dict[str, str | None] = {"gitvirt.yaml": SETTINGS, "class.yaml": SMALL}
        pin = "  machinePoolSelector: {}\n"
        files |= {f"{name}.yaml": machine(name, spec=pin) for name in NAMES}
        self.cast.people.push(files)
        self.cast.settle()

    def on_pool(self, pool: str) -> list[str]:
        return sorted(
            document.key.name
            for document in self.cast.on_live(Kind.MACHINE)
            if document.body["status"].get("assignment", {}).get("pool") == pool
        )

    @contextmanager
    def working(self) -> Iterator[None]:
        """Hosts and reconciler go on beside the test, until it has what it waits for."""
        ended = threading.Event()

        def work() -> None:
            while not ended.is_set():
                self.cast.clock.go(1)
                for host in self.cast.hosts:
                    host.work()
                self.cast.reconciler.tick(self.cast.clock)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("GITVIRT_CACHE", str(tmp_path / "cache"))
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ann@example.org")
    made = Site(tmp_path)
    yield made
    made.world.close()


def drain(site: Site, *words: str) -> int:
    return main(["drain", *words, "--repo", str(site.world.repo)])


def test_it_prints_where_each_machine_went_and_ends_when_the_pool_is_drained(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = max(("rack-a", "rack-b"), key=lambda name: len(site.on_pool(name)))
    (other,) = {"rack-a", "rack-b"} - {pool}
    leaving = site.on_pool(pool)
    assert leaving
    with site.working():
        assert drain(site, pool, "--wait", "--timeout", "5m") == Exit.OK
    printed = capsys.readouterr().out
    for name in leaving:
        steps = [line for line in printed.splitlines() if line.startswith(f"Machine/default/{name} ")]
        assert steps, printed
        assert steps[-1].endswith(("leaves", "is on no pool yet")) or f"is on {other}: " in steps[-1]
    count = f"{len(leaving)} machine" + ("s" if len(leaving) > 1 else "")
    assert f"MachinePool/{pool}: drained after " in printed
    ends = printed[printed.index("drained after ") :].splitlines()
    assert ends[0].endswith((f"s, {count} moved", " on no pool yet")), ends
    assert " left" not in ends[0], "it reads as if machines were still there"
    states = {line.split(" ")[0]: line for line in printed.splitlines() if line.startswith("Machine/")}
    late = sorted(key for key, line in states.items() if not line.endswith(": Running"))
    named = " ".join(key.removeprefix("Machine/") for key in late)
    assert (f"not run yet: `gitvirt wait machine {named}`" in ends[-1]) if late else len(ends) == 1
    assert site.on_pool(pool) == []


def test_after_the_timeout_it_says_what_is_left_and_why(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = max(("rack-a", "rack-b"), key=lambda name: len(site.on_pool(name)))
    left = site.on_pool(pool)
    assert drain(site, pool, "--wait", "--timeout", "0") == Exit.TIMED_OUT
    printed = capsys.readouterr().err
    why = "stays: the reconciler has not ordered it to leave"
    assert f"error: not drained after 0s: Machine/default/{left[0]} {why}" in printed
    assert "`gitvirt uncordon POOL` ends the drain" in printed


def test_a_machine_that_stays_says_what_it_waits_for(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing else has room: the machine cannot go anywhere, or waits for its turn."""
    site.cast.people.push({"gitvirt.yaml": f"{SETTINGS}limits: {{evict: 0}}\n"})
    site.cast.settle()
    pool = max(("rack-a", "rack-b"), key=lambda name: len(site.on_pool(name)))
    assert drain(site, pool) == Exit.OK
    site.cast.settle()
    assert drain(site, pool, "--wait", "--timeout", "0") == Exit.TIMED_OUT
    assert " stays for now: " in capsys.readouterr().out


def test_it_says_beforehand_where_each_machine_goes(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """It said "moves" of machines that no other pool could take."""
    zone = "  machinePoolSelector: {topology.ironcore.dev/zone: a}\n"
    pool = max(("rack-a", "rack-b"), key=lambda name: len(site.on_pool(name)))
    (other,) = {"rack-a", "rack-b"} - {pool}
    fixed, *free = site.on_pool(pool)
    site.cast.people.push(
        {"pool.yaml": POOL.format(pool), f"{fixed}.yaml": machine(fixed, spec=zone)},
    )
    site.cast.settle()
    assert drain(site, pool, "--dry-run") == Exit.OK
    printed = capsys.readouterr().err
    assert f"Machine/default/{fixed} STOPS and can start NOWHERE: {other}: SelectorMismatch: " in printed
    for name in free:
        assert f"Machine/default/{name} moves to {other}\n" in printed


DISK, VOLUME = "local disk root of web-1, 5Gi", "data"
LINES = {
    "a local disk": (
        HELD,
        DISK,
        "",
        "stays: local disk root of web-1, 5Gi is only on this host, and --force would DESTROY it",
    ),
    "a local disk, and no other pool": (
        replace(HELD, target=""),
        DISK,
        "",
        "stays: local disk root of web-1, 5Gi is only on this host, and --force would DESTROY it; no other pool could take it",
    ),
    "a volume of the host": (
        replace(HELD, target=""),
        "",
        VOLUME,
        "stays: volume data is only on this host; --force would STOP it, and it could start nowhere",
    ),
    "a volume of the host, forced": (
        replace(HELD, target="", is_held=False, needs_consent=False),
        "",
        VOLUME,
        "STOPS and can start NOWHERE: volume data is only on this host",
    ),
    "a pin": (replace(HELD, needs_consent=False), "", "", "stays: its pool is being drained"),
    "a local disk, forced": (
        replace(HELD, is_held=False, needs_consent=False),
        DISK,
        "",
        "moves to rack-b, loses local disk root of web-1, 5Gi",
    ),
}


@pytest.mark.parametrize(("move", "disks", "volume", "line"), LINES.values(), ids=LINES.keys())
def test_each_line_says_what_is_lost_and_what_stops(
    move: MachineMove, disks: str, volume: str, line: str
) -> None:
    disk = "  volumes:\n  - {name: root, localDisk: {sizeLimit: 5Gi}}\n"
    (document,) = parse("web-1.yaml", machine("web-1", spec=disk if disks else "").encode()).documents
    found = decode(Kind.MACHINE, document.body)
    assert isinstance(found, Machine)
    assert DrainForecast({WEB: move}, {WEB: volume}).describe(found, accepts_loss=False) == line


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["--dry-run"], "--wait does not go with --dry-run"),
        (["--branch", "maintenance"], "--wait does not go with --branch"),
        (["--volume-pool"], "--wait is for machine pools"),
    ],
)
def test_where_nothing_leaves_waiting_is_wrong_usage(
    site: Site, capsys: pytest.CaptureFixture[str], words: list[str], cause: str
) -> None:
    assert drain(site, "rack-a", "--wait", *words) == Exit.USAGE
    assert cause in capsys.readouterr().err
