"""The server's key and certificate while it runs: replaced, in two steps as files are, and by what is not good."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest

from reconciler.link.server_key import LinkSetupError, ServerKey
from tests.reconciler.link.serving import Served, raw_host, serving, wait_for, welcomed
from tests.servers.link_certificates import LinkCertificate, make_certificate

OLD, NEW, HOST = (
    make_certificate("link", is_link=True),
    make_certificate("link", is_link=True),
    make_certificate("other"),
)


class TurnedClock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def own_key(folder: Path, clock: TurnedClock | None = None) -> ServerKey:
    return ServerKey(*OLD.write(folder, "link"), clock or TurnedClock())


def test_a_pair_is_used_once_both_files_are_there(tmp_path: Path) -> None:
    own = own_key(tmp_path)
    assert not own.look()
    (tmp_path / "link.key").write_text(NEW.private)
    assert not own.look()
    assert own.pair.certificate.identity == OLD.identity
    (tmp_path / "link.crt").write_text(NEW.pem)
    assert own.look()
    assert own.pair.certificate.identity == NEW.identity
    assert not own.look()


@pytest.mark.parametrize("wrong", ["no such file", "no key", "a host's certificate", "of another pair"])
def test_what_is_not_good_is_not_used_and_is_named_once_after_a_while(
    tmp_path: Path, wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = TurnedClock()
    own = own_key(tmp_path, clock)
    match wrong:
        case "no such file":
            (tmp_path / "link.key").unlink()
        case "no key":
            (tmp_path / "link.key").write_text("secret words")
        case "a host's certificate":
            HOST.write(tmp_path, "link")
        case "of another pair":
            (tmp_path / "link.crt").write_text(NEW.pem)
    for _ in range(3):
        assert not own.look()
        assert not caplog.records
    for _ in range(3):
        clock.now += timedelta(seconds=10)
        assert not own.look()
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert OLD.identity in record.getMessage()
    assert "secret words" not in caplog.text
    OLD.write(tmp_path, "link")
    assert not own.look()
    NEW.write(tmp_path, "link")
    assert own.look()


def test_without_a_pair_to_begin_with_there_is_no_server(tmp_path: Path) -> None:
    with pytest.raises(LinkSetupError):
        ServerKey(tmp_path / "link.key", tmp_path / "link.crt", TurnedClock())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, "rack-a1", link=OLD) as found:
        yield found


def is_trusted(served: Served, trusted: LinkCertificate) -> bool:
    """Whether a host that trusts that certificate alone is welcomed on a new connection."""
    with raw_host(served, served.hosts["rack-a1"], trusted.pem) as host:
        host.hello("rack-a1")
        found = host.received.get(timeout=30)
        return not isinstance(found, grpc.RpcError | None)


def test_new_connections_get_the_new_certificate_and_open_ones_go_on(tmp_path: Path, served: Served) -> None:
    with welcomed(served, "rack-a1") as before:
        NEW.write(tmp_path, "link")
        wait_for(lambda: is_trusted(served, NEW))
        assert not is_trusted(served, OLD)
        before.beat(before.number)
        assert before.received.get(timeout=30) is not None
