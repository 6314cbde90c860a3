"""`gitvirt poollet` as people run it: with a runtime of its own, over a bare repo, ended and begun again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.address import UnixAddress
from iri.client import Client
from iri.machine import RuntimeMachine
from iri.simulated.host import SimulatedHost
from iri.simulated.server import SimulatedServer
from tests.iri.quick_host import PROFILE
from tests.poollet.cli.process import FleetRepo, running, this_host, until, web
from tests.servers.repository import git


@pytest.fixture
def fleet_repo() -> Iterator[FleetRepo]:
    with tempfile.TemporaryDirectory(prefix="gv-") as folder:
        yield FleetRepo(Path(folder))


@pytest.fixture
def socket(fleet_repo: FleetRepo) -> Iterator[Path]:
    """Where a simulated host is served."""
    place = fleet_repo.folder / "h.sock"
    with SimulatedServer(SimulatedHost(PROFILE, 7), [UnixAddress(place)]):
        yield place


def words(fleet_repo: FleetRepo, socket: Path, *more: str) -> list[str]:
    mirror = str(fleet_repo.folder / "mirror")
    return [
        "--name",
        "host-1",
        "--repo",
        str(fleet_repo.repo),
        "--mirror",
        mirror,
        "--socket",
        str(socket),
        *more,
    ]


def state(fleet_repo: FleetRepo, number: int = 1) -> str | None:
    found = fleet_repo.report().machines.get(("default", f"web-{number}"))
    return found.status.state if found is not None and found.status is not None else None


def machines(socket: Path) -> dict[str, RuntimeMachine]:
    client = Client(UnixAddress(socket))
    try:
        return dict(client.objects(RuntimeMachine))
    finally:
        client.close()


def test_a_machine_from_its_order_to_its_end_and_no_restart_touches_it(
    fleet_repo: FleetRepo, socket: Path
) -> None:
    fleet_repo.begin({"web-1.yaml": web()})
    with running(fleet_repo.folder, *words(fleet_repo, socket)) as first:
        until(lambda: state(fleet_repo) == "Running")
        (before,) = machines(socket).values()
        code, logged = first.end()
    assert code == 0, logged
    report = fleet_repo.report()
    assert not report.unreadable
    assert report.poollet is not None
    assert report.poollet.leaving == "stopping"
    with running(fleet_repo.folder, *words(fleet_repo, socket)) as second:
        until(lambda: getattr(fleet_repo.report().poollet, "leaving", "") is None)
        (after,) = machines(socket).values()
        assert (after.id, after.created_at, after.detail.boots) == (before.id, before.created_at, 1)
        fleet_repo.commit({"web-1.yaml": web(more="  deletionTimestamp: '2026-05-04T12:00:00Z'\n")})
        until(lambda: fleet_repo.report().machines["default", "web-1"].phase == "gone")
        assert not machines(socket)
        fleet_repo.commit({"web-1.yaml": None})
        until(lambda: not fleet_repo.report().machines)
        code, logged = second.end()
    assert code == 0, logged
    assert " error " not in logged


def test_once_does_what_is_ordered_and_ends(fleet_repo: FleetRepo, socket: Path) -> None:
    fleet_repo.begin({f"web-{number}.yaml": web(number) for number in range(1, 6)})
    with running(fleet_repo.folder, *words(fleet_repo, socket, "--once")) as process:
        code, logged = process.end(None)
    assert code == 0, logged
    assert len(machines(socket)) == 5
    assert {one.phase for one in fleet_repo.report().machines.values()} == {"present"}
    with running(fleet_repo.folder, *words(fleet_repo, socket, "--leave")) as process:
        code, logged = process.end(None)
    assert code == 0, logged
    report = fleet_repo.report()
    assert report.poollet is not None
    assert (report.poollet.leaving, report.pools["host-1"].status.state) == ("leaving", "Offline")
    assert len(machines(socket)) == 5


def test_once_without_a_runtime_names_its_socket_and_fails(fleet_repo: FleetRepo) -> None:
    fleet_repo.begin({"web-1.yaml": web()})
    absent = fleet_repo.folder / "absent.sock"
    with running(fleet_repo.folder, *words(fleet_repo, absent, "--once")) as process:
        code, logged = process.end(None)
    assert code == 1, logged
    assert f"runtime default does not answer: unix://{absent}" in logged.splitlines()[-2], logged
    assert fleet_repo.report().pools["host-1"].status.state != "Ready"


def test_its_own_runtime_outlives_it_unless_runtimes_are_to_end(fleet_repo: FleetRepo) -> None:
    fleet_repo.begin({"web-1.yaml": web()})
    socket = fleet_repo.folder / "own.sock"
    with running(fleet_repo.folder, *words(fleet_repo, socket, "--runtime", "simulated")) as process:
        until(lambda: state(fleet_repo) == "Running")
        (before,) = machines(socket).values()
        code, logged = process.end()
    assert code == 0, logged
    assert "guests keep running" in logged
    assert machines(socket)[before.id].detail.boots == 1
    own = "--end-runtimes"  # and this one is not
    with running(fleet_repo.folder, *words(fleet_repo, socket, "--runtime", "simulated", own)) as process:
        until(lambda: getattr(fleet_repo.report().poollet, "leaving", "") is None)
        code, adopted = process.end()
    assert code == 0, adopted
    assert "guests keep running; runtimes that it did not start keep running: " in adopted
    assert machines(socket)[before.id].detail.boots == 1
    # Its parent is gone: end it by the pid that its log line named.
    os.kill(int(logged.split("runtime started")[1].split("pid=")[1].split()[0]), signal.SIGTERM)
    until(lambda: not socket.exists())
    with running(
        fleet_repo.folder, *words(fleet_repo, socket, "--runtime", "simulated", "--end-runtimes")
    ) as process:
        until(lambda: socket.exists())
        code, logged = process.end()
    assert code == 0, logged
    assert "its runtimes end, simulated guests with them" in logged
    until(lambda: not socket.exists())


def test_a_second_one_on_the_host_is_refused(fleet_repo: FleetRepo, socket: Path) -> None:
    fleet_repo.begin()
    with running(fleet_repo.folder, *words(fleet_repo, socket)) as first:
        until(lambda: fleet_repo.report().poollet is not None)
        with running(fleet_repo.folder, *words(fleet_repo, socket)) as second:
            code, output = second.end(None)
        assert code == 1
        assert "a poollet named host-1 runs on this host already" in output
        assert first.process.poll() is None


def test_the_host_of_another_disk_takes_over_and_the_first_says_so(
    fleet_repo: FleetRepo, socket: Path
) -> None:
    fleet_repo.begin()
    with running(fleet_repo.folder, *words(fleet_repo, socket)) as first:
        until(lambda: fleet_repo.report().poollet is not None)
        other = words(fleet_repo, socket, "--mirror", str(fleet_repo.folder / "another"))
        with running(fleet_repo.folder, *other):
            code, output = first.end(None)
    assert code == 1
    assert "another poollet named host-1 runs on this host" in output


def test_a_host_without_the_grant_says_what_it_waits_for_and_ends_where_it_is_to_run_once(
    fleet_repo: FleetRepo, socket: Path
) -> None:
    fleet_repo.begin({"web-1.yaml": web()})
    config = fleet_repo.folder / "other.yaml"
    config.write_text(
        f"name: host-1\nhostID: another\nrepo: {{url: {fleet_repo.repo}, mirror: {fleet_repo.folder / 'other'}}}\n"
        f"runtimes: [{{name: sim, machine: {fleet_repo.folder / 'own.sock'}, start: simulated}}]\n"
        "pools: [{name: host-1, runtime: sim}]\n"
    )
    with running(fleet_repo.folder, *words(fleet_repo, socket)) as first:
        until(lambda: state(fleet_repo) == "Running")
        with running(fleet_repo.folder, "--config", str(config), "--once", "--end-runtimes") as second:
            code, logged = second.end(None)
        assert code == 1
        for part in (
            "this is host another",
            f"--trailer 'Pool-Destroyed: host-1={this_host()}'",
            "--trailer 'Pool-Host: host-1=another'",
        ):
            assert part in logged
        candidate = fleet_repo.report().candidate
        assert candidate is not None
        assert candidate.host_id == "another"
        assert first.process.poll() is None


def test_a_name_that_no_ref_can_have_is_refused_at_once(fleet_repo: FleetRepo, socket: Path) -> None:
    fleet_repo.begin()
    with running(fleet_repo.folder, *words(fleet_repo, socket, "--name", "Bad Name")) as run:
        code, output = run.end(None)
    assert code == 2
    assert "'Bad Name' is not a name for a poollet" in output


def test_problems_of_its_settings_are_printed(fleet_repo: FleetRepo) -> None:
    config = fleet_repo.folder / "poollet.yaml"
    config.write_text("name: host-1\nrepo: {ulr: x}\n")
    with running(fleet_repo.folder, "--config", str(config)) as process:
        code, output = process.end(None)
    assert code == 3
    assert "url" in output
    with running(fleet_repo.folder, "--config", str(fleet_repo.folder / "none.yaml")) as process:
        code, output = process.end(None)
    assert (code, "cannot read" in output) == (1, True)


def test_a_repo_without_a_fleet_is_named(fleet_repo: FleetRepo, socket: Path) -> None:
    fleet_repo.begin()
    fleet_repo.commit({"gitvirt.yaml": None})
    with running(fleet_repo.folder, *words(fleet_repo, socket, "--once")) as process:
        code, output = process.end(None)
    assert code == 1
    assert "gitvirt init" in output


def test_several_of_one_repo_share_a_process(fleet_repo: FleetRepo, socket: Path) -> None:
    second = fleet_repo.folder / "second.sock"
    fleet_repo.begin({"web-1.yaml": web(), "web-2.yaml": web(2, "host-2")})
    configs = []
    for name, place in (("host-1", socket), ("host-2", second)):
        path = fleet_repo.folder / f"{name}.yaml"
        path.write_text(
            f"name: {name}\nrepo: {{url: {fleet_repo.repo}, mirror: {fleet_repo.folder / 'mirror'}}}\n"
            f"runtimes: [{{name: sim, machine: {place}}}]\n"
        )
        configs += ["--config", str(path)]
    with SimulatedServer(SimulatedHost(PROFILE, 8), [UnixAddress(second)]):
        with running(fleet_repo.folder, *configs) as process:
            until(lambda: state(fleet_repo) == "Running")
            until(lambda: ("default", "web-2") in fleet_repo.report("host-2").machines)
            code, logged = process.end()
        assert code == 0, logged
        assert len(machines(socket)) == len(machines(second)) == 1
    for name in ("host-1", "host-2"):
        assert getattr(fleet_repo.report(name).poollet, "leaving", "") == "stopping"


def test_a_runtime_that_dies_is_started_again(fleet_repo: FleetRepo) -> None:
    fleet_repo.begin()
    socket = fleet_repo.folder / "own.sock"
    with running(
        fleet_repo.folder, *words(fleet_repo, socket, "--runtime", "simulated", "--end-runtimes")
    ) as process:
        until(lambda: "runtime started" in process.log_text)
        os.kill(int(process.log_text.split("runtime started")[1].split("pid=")[1].split()[0]), signal.SIGKILL)
        until(lambda: process.log_text.count("runtime started") == 2)
        assert "runtime ended" in process.log_text
        code, logged = process.end()
    assert code == 0, logged


def test_a_thread_that_breaks_ends_the_process() -> None:
    """Half a poollet would go on with heartbeats."""
    code = (
        "import threading\nfrom poollet.cli.serve import ends_with_threads\n"
        "ended = threading.Event()\nends_with_threads(ended)\n"
        "thread = threading.Thread(target=lambda: 1 / 0, name='half')\nthread.start()\nthread.join()\n"
        "raise SystemExit(0 if ended.is_set() else 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "a thread failed name=half" in done.stderr
    assert "ZeroDivisionError" in done.stderr


def test_reports_are_signed_where_a_key_is_given(fleet_repo: FleetRepo, socket: Path) -> None:
    fleet_repo.begin()
    key = fleet_repo.folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    config = fleet_repo.folder / "poollet.yaml"
    config.write_text(
        f"name: host-1\nrepo: {{url: {fleet_repo.repo}, mirror: {fleet_repo.folder}/mirror, signingKey: {key}}}\n"
        f"runtimes: [{{name: one, machine: {socket}}}]\npools: [{{name: host-1, runtime: one}}]\n"
    )
    with running(fleet_repo.folder, "--config", str(config), "--once") as run:
        code, logged = run.end(None)
    assert code == 0, logged
    commit = git(fleet_repo.repo, "cat-file", "commit", fleet_repo.head("refs/poollets/host-1"))
    allowed = fleet_repo.folder / "allowed"
    allowed.write_text(f"host-1 {key.with_suffix('.pub').read_text()}")
    options = ("-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={allowed}")
    assert "gpgsig -----BEGIN SSH SIGNATURE" in commit
    git(fleet_repo.repo, *options, "verify-commit", fleet_repo.head("refs/poollets/host-1"))
