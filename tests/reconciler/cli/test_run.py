"""`gitvirt run` as a process of its own, on a real bare repo: once, as a service, stopped in the middle, asked how it is."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.reconciler.loop.fleet import SETTINGS, SMALL, machine
from tests.servers.repository import bare, git, hook

PROD = "branches: {target: prod}\n"
SECONDS = 180.0  # so that a slow machine makes no failure; each wait ends when the thing happens


class Site:
    """A bare repo and a checkout of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bare = bare(folder / "fleet.git")
        self.checkout = folder / "checkout"
        git(folder, "init", "--quiet", "--initial-branch=main", str(self.checkout))
        git(self.checkout, "remote", "add", "origin", str(self.bare))
        self.push({"gitvirt.yaml": SETTINGS, "classes/small.yaml": SMALL})
        self.processes: list[subprocess.Popen[str]] = []

    def push(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            (self.checkout / path).parent.mkdir(parents=True, exist_ok=True)
            (self.checkout / path).write_text(text)
        git(self.checkout, "add", "--all")
        git(self.checkout, "commit", "--quiet", "--message", "change")
        git(self.checkout, "push", "--quiet", "origin", "main")

    def run(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "reconciler", "run", "--repo", str(self.bare), *arguments]
        quiet = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "GITVIRT_CACHE": str(self.folder / "cache"),
        }
        made = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=quiet | environment
        )
        self.processes.append(made)
        return made

    def live(self) -> str:
        return git(self.bare, "rev-parse", "--verify", "--quiet", "live") if self.has_live() else ""

    def has_live(self) -> bool:
        return bool(git(self.bare, "for-each-ref", "refs/heads/live"))

    def shows(self, path: str) -> bool:
        return self.has_live() and path in git(self.bare, "ls-tree", "-r", "--name-only", "live").splitlines()

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def await_end(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, output = process.communicate(timeout=SECONDS)
    return process.returncode, output


def test_once(site: Site) -> None:
    site.push({"m/web.yaml": machine("web")})
    code, output = await_end(site.run("--once", "--name", "one", "--author", "Robot <robot@example.org>"))
    assert code == Exit.OK, output
    assert git(site.bare, "log", "-1", "--format=%an <%ae>%n%s%n%(trailers:key=Reconciler)", "live").split(
        "\n"
    )[:3] == [
        "Robot <robot@example.org>",
        "web is unschedulable",
        "Reconciler: one",
    ]
    before = site.live()
    kept = next((site.folder / "cache").rglob("readings.sqlite"))  # for the next start
    data = kept.read_bytes()
    assert await_end(site.run("--once"))[0] == Exit.OK
    assert site.live() == before
    kept.write_bytes(data[: len(data) // 2])
    assert await_end(site.run("--once"))[0] == Exit.OK
    assert site.live() == before


@pytest.mark.parametrize("broken", [SETTINGS + PROD + "bogus: 1\n", None])
def test_settings_that_cannot_be_used_lose_no_branch(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, broken: str | None
) -> None:
    monkeypatch.setenv("HOME", str(site.folder))
    monkeypatch.setenv("GITVIRT_CACHE", str(site.folder / "cache"))
    site.push({"gitvirt.yaml": SETTINGS + PROD, "m/a.yaml": machine("a")})
    assert await_end(site.run("--once"))[0] == Exit.OK
    if broken is None:
        (site.checkout / "gitvirt.yaml").unlink()
    site.push({"m/b.yaml": machine("b"), **({"gitvirt.yaml": broken} if broken else {})})
    code, output = await_end(site.run("--once"))
    assert output.count("(commit ") == 1, output
    assert (code, site.has_live()) == (Exit.OK, False), output
    assert "m/b.yaml" in git(site.bare, "ls-tree", "-r", "--name-only", "prod")

    state = "has problems" if broken else "is missing"
    last = git(site.checkout, "rev-parse", "--short=7", "main~1")
    note = f"gitvirt.yaml on main {state}; using its last usable version (commit {last})"
    remote = ["--repo", str(site.bare)]
    assert main(["wait", "machine", "a", "--for", "deleted", "--timeout", "1s", *remote]) == Exit.TIMED_OUT
    assert note in capsys.readouterr().err
    assert main(["get", "m", "-o", "name", *remote]) == Exit.OK
    noted = capsys.readouterr()
    assert (noted.out.split(), noted.err.count(note), "yet" in noted.err) == (
        ["Machine/default/a", "Machine/default/b"],
        1,
        False,
    )
    git(site.checkout, "fetch", "--quiet", "origin")
    monkeypatch.chdir(site.checkout)
    for where in (remote, []):
        assert main(["explain", "machine", "a", *where]) == Exit.UNPLACEABLE
        assert main(["plan", *where]) in (Exit.OK, Exit.PROBLEMS)
        noted = capsys.readouterr()
        assert "no branch" not in noted.err
        assert "using its last usable version" in noted.err

    git(site.bare, "update-ref", "-d", "refs/heads/prod")
    for verb in (["wait", "machine", "a", "--for", "deleted"], ["get", "m"]):
        assert main([*verb, *remote]) == Exit.FAILED
        assert f"{note}, but their target branch prod does not exist" in capsys.readouterr().err


def test_a_service_wakes_on_a_push_and_ends_on_a_signal(site: Site) -> None:
    process = site.run("--interval", "1h")
    until(site.has_live)
    site.push({"m/web.yaml": machine("web")})
    start = time.monotonic()
    until(lambda: site.shows("m/web.yaml"))
    assert time.monotonic() - start < 600  # not at the next look, in an hour
    process.send_signal(signal.SIGTERM)
    code, output = await_end(process)
    assert code == Exit.OK
    assert "running repo=" in output
    assert "Traceback" not in output
    assert " stopping" in output


def test_a_push_that_is_under_way_is_finished(site: Site) -> None:
    """The server takes its time; meanwhile we are noted to stop."""
    started = site.folder / "started"
    hook(site.bare, "pre-receive", f"#!/bin/sh\ntouch {started}\nsleep 2\n")
    process = site.run()
    until(started.exists)
    assert not site.has_live()
    process.send_signal(signal.SIGTERM)
    assert await_end(process)[0] == Exit.OK
    assert site.shows("classes/small.yaml")


def test_metrics_and_health_on_request(site: Site) -> None:
    process = site.run("--listen", "127.0.0.1:0", "--log", "json", GITVIRT_LOG_LEVEL="debug")
    assert process.stderr is not None
    lines = (json.loads(line) for line in process.stderr)
    address = next(line["address"] for line in lines if line["message"] == "listening")
    wrote = next(line for line in lines if line["message"] == "committed")
    assert wrote["changes"] == 1
    assert wrote["subject"] == "sync main: classes/small.yaml, gitvirt.yaml"

    def count_quiet_ticks() -> bool:
        with urlopen(f"http://{address}/metrics", timeout=60) as answer:
            return 'gitvirt_ticks_total{outcome="no_change"}' in answer.read().decode()

    until(count_quiet_ticks)
    with urlopen(f"http://{address}/healthz", timeout=60) as answer:
        health = json.loads(answer.read())
    assert health["ok"] is True
    assert re.fullmatch(
        r"(nothing to write|committed [0-9a-f]{12}); last success [\dmh]+s ago", health["reason"]
    )
    with urlopen(f"http://{address}/metrics", timeout=60) as answer:
        metrics = answer.read().decode()
    assert 'gitvirt_ticks_total{outcome="committed"} 1.0' in metrics
    assert 'gitvirt_changes_total{action="sync"} 1.0' in metrics
    assert 'gitvirt_objects{kind="MachineClass"} 1.0' in metrics


def test_a_webhook_wakes_it(site: Site) -> None:
    secret = site.folder / "secret"
    secret.write_text("correct horse\n")
    process = site.run(
        *("--listen", "127.0.0.1:0", "--log", "json", "--interval", "1h", "--webhook-secret", str(secret)),
        GITVIRT_LOG_LEVEL="debug",
    )
    assert process.stderr is not None
    lines = (json.loads(line) for line in process.stderr)
    address = next(line["address"] for line in lines if line["message"] == "listening")

    def count_quiet_ticks() -> float:
        with urlopen(f"http://{address}/metrics", timeout=SECONDS) as answer:
            found = re.search(r'ticks_total{outcome="no_change"} (\S+)', answer.read().decode())
        return float(found[1]) if found else 0.0

    until(lambda: count_quiet_ticks() > 0)  # from here on nothing wakes it for an hour
    before = count_quiet_ticks()
    for headers, status in (({}, 401), ({"X-Gitlab-Token": "correct horse"}, 202)):
        connection = http.client.HTTPConnection(address, timeout=SECONDS)
        connection.request("POST", "/webhook", b"{}", headers)
        assert connection.getresponse().status == status
        connection.close()
    until(lambda: count_quiet_ticks() > before)
    process.send_signal(signal.SIGTERM)
    assert "correct horse" not in await_end(process)[1]


def test_commits_can_be_signed(site: Site) -> None:
    key = site.folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    assert await_end(site.run("--once", "--signing-key", str(key)))[0] == Exit.OK
    assert "BEGIN SSH SIGNATURE" in git(site.bare, "cat-file", "commit", "live")
    code, output = await_end(site.run("--once", GITVIRT_SIGNING_KEY=str(site.folder / "none")))
    assert code == Exit.FAILED  # although there is nothing to write
    assert "error: cannot sign with the ssh key" in output
    assert "Traceback" not in output


def test_another_fleet_id_holds_everything_and_fails(site: Site) -> None:
    assert await_end(site.run("--once"))[0] == Exit.OK
    before = site.live()
    other = SETTINGS.replace("7a1c", "ffff")
    site.push({"gitvirt.yaml": other, "m/web.yaml": machine("web")})
    for _ in range(2):
        code, output = await_end(site.run("--once"))
        assert code == Exit.PROBLEMS
        assert " held reason=" in output
        assert "fleet.id: 7a1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00 -> ffff" in output
        assert "gitvirt init --refork" in output
        assert site.live() == before
    site.push({"gitvirt.yaml": SETTINGS})
    assert await_end(site.run("--once"))[0] == Exit.OK
    assert site.shows("m/web.yaml")


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        pytest.param(["--interval", "soon"], "invalid duration 'soon'", id="interval"),
        pytest.param(["--interval", "0"], "'0' is not a duration", id="no interval, bare"),
        pytest.param(["--interval", "0s"], "'0s' is not a duration", id="no interval"),
        pytest.param(["--listen", "here"], "'here' is not an address", id="listen"),
        pytest.param(
            ["--webhook-secret", "/dev/null"], "add --listen HOST:PORT", id="secret without a listener"
        ),
        pytest.param(
            ["--webhook-secret", "/dev/null", "--listen", "127.0.0.1:0"], "/dev/null is empty", id="no secret"
        ),
        pytest.param(["--join", "127.0.0.1:0"], "--join need --link", id="join without the link"),
        pytest.param(["--author", "me"], "'me' is not an author", id="author"),
        pytest.param(["--log", "xml"], "invalid choice: 'xml'", id="log"),
    ],
)
def test_wrong_settings(
    site: Site, capsys: pytest.CaptureFixture[str], arguments: list[str], output: str
) -> None:
    assert main(["run", "--repo", str(site.bare), *arguments]) == Exit.USAGE
    assert output in capsys.readouterr().err


def test_wrong_settings_in_the_environment(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITVIRT_LOG", "xml")
    assert main(["run", "--repo", str(site.bare)]) == Exit.USAGE
    assert "GITVIRT_LOG: invalid choice: 'xml'" in capsys.readouterr().err


def test_a_remote_that_is_not_there(site: Site) -> None:
    site.bare.rename(site.folder / "moved.git")
    code, output = await_end(site.run("--once"))
    assert code == Exit.FAILED
    assert "error: " in output
    assert len(output.strip().splitlines()) <= 2, output  # the cause once, and its cure
    assert "Traceback" not in output


def test_an_address_that_is_taken(site: Site) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, output = await_end(site.run("--once", "--listen", f"127.0.0.1:{taken.getsockname()[1]}"))
    assert code == Exit.FAILED
    assert "cannot listen on 127.0.0.1" in output
