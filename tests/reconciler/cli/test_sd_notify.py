"""What a supervisor is messages, where one wants to know."""

from __future__ import annotations

import logging
import socket
import uuid
from pathlib import Path

import pytest

from reconciler.cli.sd_notify import ServiceNotifier


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_the_service_manager_gets_ready_once_and_stopping(tmp_path: Path, kind: str) -> None:
    name = str(tmp_path / "n") if kind == "path" else f"@gitvirt-{uuid.uuid4()}"
    environment = {"NOTIFY_SOCKET": name, "HOME": "/"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ears:
        ears.bind(name.replace("@", "\0"))
        ears.settimeout(60)
        messages = ServiceNotifier.of(environment)
        messages.ready()
        messages.ready()
        messages.stopping()
        assert [ears.recv(100), ears.recv(100)] == [b"READY=1", b"STOPPING=1"]
    assert environment == {"HOME": "/"}  # no child speaks for it


def test_without_a_service_manager_nothing_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    messages = ServiceNotifier.of({})
    messages.ready()
    messages.stopping()
    assert caplog.records == []


def test_a_service_manager_that_does_not_listen_is_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        ServiceNotifier.of({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready()
    assert "sd_notify failed: state=READY=1" in caplog.text
