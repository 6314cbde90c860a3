"""No credential in any argument of any process, any outcome, any output or any file, whatever goes wrong."""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

import pytest

from reconciler.gitstore.redaction import SecretValue
from reconciler.gitstore.remote.access import TOKEN_USER, RemoteAccess, from_environment
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.remote.transport import RefUpdate, RemoteUnavailable
from tests.servers import repository
from tests.servers.proxy import proxy
from tests.servers.relay import Weather, relay
from tests.servers.repository import bare, commit
from tests.servers.web import WebServer

TOKEN = "tok+en/with %marks & 7f3a"
PROXY_PASSWORD = "pr%xy&pass-91b2"
MAIN = "refs/heads/main"
SPELLINGS = {
    spelling
    for value in (TOKEN, PROXY_PASSWORD)
    for spelling in (
        value,
        quote(value, safe=""),
        base64.b64encode(value.encode()).decode(),
        base64.b64encode(f"ann:{value}".encode()).decode(),
        base64.b64encode(f"{TOKEN_USER}:{value}".encode()).decode(),
    )
}


@dataclass
class Watch:
    """Looks at the arguments of every process of ours, again and again, and keeps what it has seen."""

    seen: set[bytes] = field(default_factory=set)
    stop: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self.stop.wait(0.001):
            for place in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    self.seen.add(place.read_bytes())


@pytest.fixture
def watch() -> Iterator[Watch]:
    made = Watch()
    thread = threading.Thread(target=made.look)
    thread.start()
    yield made
    made.stop.set()
    thread.join()


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return bare(tmp_path / "mirror")


MODES = [
    "fine",
    "wrong token",
    "no token",
    "bearer refused",
    "not found",
    "forbidden",
    "hook repeats it",
    "gone",
    "silent",
    "cut",
    "moved",
    "unknown CA",
    "wrong proxy password",
    "no proxy",
    "server fails",
]


@pytest.mark.parametrize("mode", MODES)
def test_nothing_ever_holds_a_credential(
    mode: str,
    web: WebServer,
    mirror: Path,
    watch: Watch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    web.allow("ann", TOKEN)
    repo = bare(web.repos / f"secrets{os.getpid()}-{mode.replace(' ', '-')}.git")
    access = from_environment({"GITVIRT_USERNAME": "ann", "GITVIRT_TOKEN": TOKEN})
    outcomes: list[object] = []
    with arrange(mode, web, repo, access) as (url, arranged_access):
        transport = GitTransport(mirror, parse_address(url, Path("/")), arranged_access, dict(os.environ))
        seconds = 0.4 if mode == "silent" else 30
        first = commit(mirror, "first")
        outcomes.append(transport.list_refs([MAIN], seconds))
        outcomes.append(transport.push([RefUpdate(MAIN, None, first)], seconds))
        outcomes.append(transport.fetch([MAIN], seconds))
    watch.stop.set()
    output = capfd.readouterr()
    everything = [repr(outcomes), repr(transport), output.out, output.err, caplog.text]
    everything += [arguments.decode("utf-8", "replace") for arguments in watch.seen]
    everything += [path.read_text("utf-8", "replace") for path in mirror.rglob("*") if path.is_file()]
    if mode == "gone":  # git ends before the watch can see it
        assert all(isinstance(outcome, RemoteUnavailable) for outcome in outcomes)
    else:
        assert any("remote-http" in text for text in everything), "the watch has seen no git at work"
    leaks = [text for text in everything for spelling in SPELLINGS if spelling in text]
    assert leaks == []


@contextlib.contextmanager
def arrange(
    mode: str, web: WebServer, repo: Path, access: RemoteAccess
) -> Iterator[tuple[str, RemoteAccess]]:
    """The URL and the access with which this goes wrong."""
    url, tls = web.url(repo.name), web.url(repo.name, "https")
    trusting = replace(access, ca_file=web.authority.ca)
    if mode == "wrong token":
        web.allow("ann", "another")
    elif mode == "forbidden":
        repository.git(repo, "config", "http.receivepack", "false")
    elif mode == "hook repeats it":
        repository.hook(repo, "pre-receive", f"#!/bin/sh\necho 'bad {TOKEN} {quote(TOKEN)}' >&2\nexit 1\n")
    elif mode == "server fails":
        (repo / "config").write_text("[broken")
    if mode in ("gone", "silent", "cut"):
        with relay(web.http) as between:
            if mode == "cut":
                between.cut_answer_after = 700
            else:
                between.weather = Weather.GONE if mode == "gone" else Weather.SILENT
            yield url.replace(str(web.http), str(between.port)), access
    elif mode.endswith(("proxy", "proxy password")):
        with proxy("ann", PROXY_PASSWORD if mode == "no proxy" else "another") as there:
            port = there.port
            if mode == "no proxy":
                there.close()
            place = SecretValue(f"http://ann:{quote(PROXY_PASSWORD, safe='')}@127.0.0.1:{port}")
            yield tls, replace(trusting, proxy=place)
    else:
        yield {
            "no token": (url, RemoteAccess(username="ann")),
            "bearer refused": (web.url(repo.name, place="bearer"), replace(access, is_bearer=True)),
            "not found": (f"{url}-gone", access),
            "moved": (web.url(repo.name, place="moved"), access),
            "unknown CA": (tls, access),
        }.get(mode, (url, access))


def test_hooks_of_a_local_remote_see_no_credential(mirror: Path, tmp_path: Path) -> None:
    """They are the server's side, run by us."""
    repo = bare(tmp_path / "server.git")
    repository.hook(repo, "pre-receive", "#!/bin/sh\nenv > environment\n")
    access = RemoteAccess(token=SecretValue(TOKEN), proxy=SecretValue(f"http://ann:{PROXY_PASSWORD}@p:1"))
    ambient = dict(os.environ) | {"GITVIRT_TOKEN": TOKEN, "AWS_SECRET_ACCESS_KEY": TOKEN}
    transport = GitTransport(mirror, parse_address(str(repo), Path("/")), access, ambient)
    transport.push([RefUpdate(MAIN, None, commit(mirror, "first"))], 30)
    seen = (repo / "environment").read_text()
    assert "GIT_" in seen
    assert not any(spelling in seen for spelling in SPELLINGS)
