"""Every test: a blank HOME and Git configuration, no colors, no credentials of the user."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

from tests.order import hand_out

# Read when gRPC is loaded. Its handlers at a fork serve programs that go on in the child; ours only start others there.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# How long an example takes says how busy the machine is, and nothing else.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

pytest_plugins = ["tests.servers.fixtures", "tests.servers.isolation"]

# Certificate variables beat a test's own configuration of its own server.
AMBIENT = (
    "GIT_SSL_CAINFO",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSH_AUTH_SOCK",
    "GITVIRT_REPO",
    "CI",
    "NO_COLOR",
)


# Background jobs and nohup ignore these signals, and so would the programs that the tests start there.
SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)


def pytest_configure() -> None:
    """Programs that the tests start receive every signal: a handler, unlike an ignored signal, is not inherited."""
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number is signal.SIGINT else _pass_over)


def _pass_over(number: int, frame: FrameType | None) -> None:
    """Ignore the signal, as the process that started the tests does."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regen", action="store_true", help="write golden files again; then review the diff")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests that remain after deselection."""
    early = [item for item in items if item.get_closest_marker("early")]
    others = [item for item in items if not item.get_closest_marker("early")]
    items[:] = hand_out(early, others, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


@pytest.fixture(autouse=True)
def _isolate(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home: Path = tmp_path_factory.mktemp("home")
    for name in AMBIENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
