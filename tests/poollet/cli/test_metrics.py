"""`gitvirt poollet --listen`: what it serves about this host, asked over a real socket."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.poollet.cli.process import FleetRepo, running, until, web
from tests.poollet.cli.test_serve import fleet_repo, socket, state, words

__all__ = ["fleet_repo", "socket"]  # fixtures
OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"
POOLLET = OPERATIONS.with_name("poollet.md")


def ask(address: str, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://{address}{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_metrics_and_health_of_a_host_whose_repo_goes_away(fleet_repo: FleetRepo, socket: Path) -> None:
    fleet_repo.begin({"web-1.yaml": web()})
    with running(fleet_repo.folder, *words(fleet_repo, socket, "--listen", "127.0.0.1:0")) as run:
        until(lambda: state(fleet_repo) == "Running")
        found = re.search(r"listening address=(\S+)", run.log_text)
        assert found is not None
        until(lambda: ask(found[1], "/healthz")[0] == 200)
        metrics = ask(found[1], "/metrics")[1]
        assert 'gitvirt_poollet_objects{kind="Machine",poollet="host-1",state="Running"} 1.0' in metrics
        assert 'gitvirt_poollet_report_landed{poollet="host-1"} 1.0' in metrics
        assert "gitvirt_poollet_remote_reachable 1.0" in metrics
        assert re.search(r'gitvirt_runtime_answers{poollet="host-1",runtime="[^"]+"} 1.0', metrics)
        assert re.search(
            r'gitvirt_machine_cpu_seconds_total{machine="web-1",namespace="default",poollet="host-1"} \d',
            metrics,
        )
        assert re.search(r'gitvirt_host_memory_used_bytes{poollet="host-1"} [1-9]', metrics)
        named = set(re.findall(r"^# HELP (gitvirt_\w+)", metrics, re.MULTILINE))
        assert named == set(re.findall(r"^\| `(gitvirt_\w+)", POOLLET.read_text(), re.MULTILINE))
        fleet_repo.repo.rename(fleet_repo.folder / "away.git")
        until(lambda: ask(found[1], "/healthz")[0] == 503)
        health = json.loads(ask(found[1], "/healthz")[1])
        assert [each["cause"] for each in health["problems"]] == ["RemoteUnreachable"]
        assert "gitvirt_poollet_remote_reachable 0.0" in ask(found[1], "/metrics")[1]
        assert ask(found[1], "/livez")[0] == 200
        (fleet_repo.folder / "away.git").rename(fleet_repo.repo)
        run.end()


def test_an_address_in_use_is_an_error_that_says_so(fleet_repo: FleetRepo, socket: Path) -> None:
    fleet_repo.begin({"web-1.yaml": web()})
    with running(fleet_repo.folder, *words(fleet_repo, socket, "--listen", "127.0.0.1:0")) as first:
        until(lambda: "listening address=" in first.log_text)
        found = re.search(r"listening address=(\S+)", first.log_text)
        assert found is not None
        more = ("--name", "host-2", "--listen", found[1])
        with running(fleet_repo.folder, *words(fleet_repo, socket, *more)) as second:
            until(lambda: second.process.poll() is not None)
            assert f"cannot listen on {found[1]}" in second.log_text
        first.end()
