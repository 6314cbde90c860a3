"""Consoles and logs from afar: who may open them, what passes, and that nothing stays open whoever leaves, dies or does not read."""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from iri.errors import FailedPrecondition, Unavailable
from iri.machine import RuntimeMachine
from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Chunk, TerminalSize
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ConsoleRequest, InstanceRef, LogsRequest
from reconciler.link import pipes
from tests.poollet.link.piped import (
    ALL,
    ANN,
    BOB,
    HOST,
    NAME,
    PersonAtConsole,
    PipedSite,
    picture,
    piped_site,
    read_log,
)
from tests.poollet.link.test_poollet_link import FAST
from tests.reconciler.link.client import ApiClient, Watch, list_client, status_of
from tests.reconciler.link.serving import wait_for

SHELL = b"root\n"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PipedSite]:
    with piped_site(tmp_path) as found:
        yield found


@pytest.fixture
def ann(site: PipedSite) -> Iterator[ApiClient]:
    with site.client() as found:
        yield found


def refusal_of(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as found:
        tuple(call)
    return status_of(found.value)


def log_of(client: ApiClient, name: str, **more: Any) -> Any:
    return client.call("Logs", LogsRequest(instance=InstanceRef(name=name), **more), seconds=60)


def console_of(client: ApiClient, name: str) -> Any:
    return client.call("Console", iter((ConsoleRequest(instance=InstanceRef(name=name)),)), seconds=60)


def test_a_console_takes_keys_and_shows_output_and_is_free_again(site: PipedSite, ann: ApiClient) -> None:
    person = PersonAtConsole(ann, "web").attach()
    person.sent.put(ConsoleRequest(chunk=Chunk(terminal_size=TerminalSize(columns=100, rows=30))))
    person.type(SHELL + b"echo it-works\n")
    assert b"it-works\r\n" in person.until(b"it-works\r\n")
    assert not site.host.is_free()
    person.leave()
    wait_for(site.host.is_free)
    PersonAtConsole(ann, "web").attach().leave()


def test_the_end_of_a_console_has_its_exit_status(ann: ApiClient, site: PipedSite) -> None:
    person = PersonAtConsole(ann, "web").attach()
    person.type(SHELL + b"exit 3\n")
    last = person.watch.until(lambda chunk: chunk.is_end)
    assert last.exit_status in (0, 3)
    assert person.watch.end() == (grpc.StatusCode.OK, "")
    wait_for(site.host.is_free)


def test_a_log_is_whole_and_a_tail_of_it_is_its_last_lines(ann: ApiClient, site: PipedSite) -> None:
    whole = read_log(ann, "web")
    assert whole.startswith(b"simulated guest ")
    assert read_log(ann, "web", tail_lines=1) == whole.splitlines(keepends=True)[-1]
    wait_for(site.host.is_free)


def test_a_log_is_followed_until_the_client_leaves(ann: ApiClient, site: PipedSite) -> None:
    call = log_of(ann, "web", follow=True)
    watch = Watch(call)
    watch.until(lambda chunk: b"login" in chunk.data)
    site.host.runtime.remove(RuntimeMachine, site.host.ids["db"])
    assert not site.host.is_free()
    call.cancel()
    wait_for(site.host.is_free)


@pytest.mark.parametrize(
    ("rights", "namespaces", "words"),
    [
        (("read", "logs"), ("default",), "does not have the right console"),
        (("console",), ("staging",), "not in namespace default"),
        ((), (), "does not have the right console"),
    ],
)
def test_a_client_without_the_right_gets_no_console(
    site: PipedSite, ann: ApiClient, rights: tuple[str, ...], namespaces: tuple[str, ...], words: str
) -> None:
    site.permit(rights, namespaces)
    status, words_of_it = refusal_of(console_of(ann, "web"))
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert words in words_of_it
    assert site.host.is_free()


def test_to_read_a_log_the_right_to_type_is_of_no_use(site: PipedSite, ann: ApiClient) -> None:
    site.permit(("console",))
    status, words = refusal_of(log_of(ann, "web"))
    assert (status, "does not have the right logs" in words) == (grpc.StatusCode.PERMISSION_DENIED, True)


def test_what_cannot_be_opened_says_why(site: PipedSite, ann: ApiClient) -> None:
    assert refusal_of(log_of(ann, "wbe"))[0] is grpc.StatusCode.NOT_FOUND
    site.served.server.show(picture({"db": ""}))
    status, words = refusal_of(log_of(ann, "db"))
    assert (status, "is on no host" in words) == (grpc.StatusCode.FAILED_PRECONDITION, True)
    site.served.server.show(picture({"db": "rack-z9"}))
    status, words = refusal_of(log_of(ann, "db"))
    assert (status, "rack-z9" in words) == (grpc.StatusCode.UNAVAILABLE, True)
    assert refusal_of(log_of(ann, "web", previous=True))[0] is grpc.StatusCode.FAILED_PRECONDITION
    site.host.runtime.error = FailedPrecondition("the console is in use")
    status, words = refusal_of(console_of(ann, "web"))
    assert status is grpc.StatusCode.FAILED_PRECONDITION
    assert words == f"host {NAME}: the console is in use"
    site.host.runtime.error = Unavailable("away")
    assert refusal_of(console_of(ann, "web"))[0] is grpc.StatusCode.UNAVAILABLE
    assert refusal_of(ann.call("Console", iter((ConsoleRequest(),))))[0] is grpc.StatusCode.INVALID_ARGUMENT


def test_a_machine_that_took_the_name_of_another_is_not_opened(site: PipedSite, ann: ApiClient) -> None:
    """The uid is that of `live`, and the host has another machine of that name."""
    news = picture()
    key, found = next((key, each) for key, each in news.picture.instances.items() if key.name == "web")
    other = dataclasses.replace(found, uid="uid-of-a-former-life")
    instances = {**news.picture.instances, key: other}
    site.served.server.show(
        dataclasses.replace(news, picture=dataclasses.replace(news.picture, instances=instances))
    )
    assert refusal_of(console_of(ann, "web"))[0] is grpc.StatusCode.NOT_FOUND
    assert site.host.is_free()


@pytest.mark.parametrize("cause", ["right", "certificate", "host", "leave"])
def test_an_open_console_is_closed_and_freed_when_its_ground_is_gone(
    site: PipedSite, ann: ApiClient, cause: str
) -> None:
    """A revoked right or certificate of the client, a revoked certificate of the host, and a host that leaves."""
    person = PersonAtConsole(ann, "web").attach()
    started = time.monotonic()
    match cause:
        case "right":
            site.permit(("read",))
        case "certificate":
            site.served.follow({NAME: HOST}, f"{FAST}clients:\n{list_client('bob', BOB, ALL)}")
        case "host":
            site.served.follow({}, f"{FAST}clients:\n{list_client('ann', ANN, ALL, ('default',))}")
        case "leave":
            site.host.link.leave(None)
    status, _ = person.watch.end()
    assert status in (
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.UNAVAILABLE,
    )
    wait_for(site.host.is_free)
    assert time.monotonic() - started < 30


def test_a_console_is_free_after_its_server_has_ended(tmp_path: Path) -> None:
    with piped_site(tmp_path) as site, site.client() as ann:
        PersonAtConsole(ann, "web").attach()
        site.served.server.__exit__()
        wait_for(site.host.is_free)


class FloodingConsole:
    """A guest that writes without end, and takes no keys until it is closed."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.written = 0

    def read(self, size: int) -> bytes:
        if self.over.is_set():
            return b""
        self.written += size
        return b"x" * size

    def write(self, data: bytes) -> None:
        self.over.wait()

    def resize(self, columns: int, rows: int) -> None:
        """A serial line has no size."""

    def exit_status(self) -> int | None:
        return None

    def close(self) -> None:
        self.over.set()


def test_keys_that_no_guest_takes_do_not_keep_a_console_open(
    site: PipedSite, ann: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "FINISH_SECONDS", 0.2)
    flood = FloodingConsole()
    monkeypatch.setattr(flood, "read", lambda _: flood.over.wait() and b"")
    monkeypatch.setattr(site.host.runtime, "console", lambda _: flood)
    person = PersonAtConsole(ann, "web").attach()
    for _ in range(64):
        person.type(b"k" * (64 << 10))
    person.leave()
    assert flood.over.wait(60)
    wait_for(lambda: site.served.count("gitvirt_link_pipes") == 0)


def test_a_client_that_does_not_read_ends_and_others_go_on_meanwhile(
    site: PipedSite, ann: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest that writes without end, to a client that takes nothing: what waits between them is bounded."""
    monkeypatch.setattr(pipes, "STALL_SECONDS", 3.0)
    flood = FloodingConsole()
    monkeypatch.setattr(site.host.runtime, "console", lambda _: flood)
    call = console_of(ann, "web")
    assert next(call) == Chunk()
    with site.client(BOB) as bob:
        assert read_log(bob, "db")
    assert flood.over.wait(60)
    assert flood.written < 64 << 20
    status, words = refusal_of(call)
    assert status in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.CANCELLED), words


def test_one_client_cannot_take_all_pipes_of_a_host(
    site: PipedSite, ann: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(pipes.PIPES_OF_CLIENT, "logs", 2)
    follows = [Watch(log_of(ann, name, follow=True)) for name in ("web", "db")]
    for each in follows:
        each.until(lambda chunk: chunk.data)
    status, words = refusal_of(log_of(ann, "web"))
    assert status is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "close one first" in words
    with site.client(BOB) as bob:
        assert read_log(bob, "web")
    for each in follows:
        each.call.cancel()
    wait_for(site.host.is_free)
    wait_for(lambda: site.served.count("gitvirt_link_pipes") == 0)


def test_who_opened_what_is_in_the_logs_of_both_ends_and_what_was_typed_in_none(
    site: PipedSite, ann: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    person = PersonAtConsole(ann, "web").attach()
    person.type(SHELL + b"echo secret-word\n")
    person.until(b"secret-word\r\n")
    person.leave()
    wait_for(lambda: any("console closed client=ann right=" in each for each in caplog.messages))
    opened = f"console opened client=ann right=console machine=Machine/default/web uid=uid-web host={NAME}"
    assert opened in caplog.messages
    assert "console opened over the link client=ann machine=default/web" in caplog.messages
    wait_for(lambda: any("console closed client=ann machine=default/web" in each for each in caplog.messages))
    assert "secret-word" not in caplog.text
    assert site.served.count("gitvirt_link_pipes_opened_total", kind="console") == 1
