"""Every test: a blank HOME and Git configuration, no colours, no credentials of whoever runs it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

from tests.order import handed_out

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


# Ignored by whatever runs in the background of a script, or under nohup, and so by all that the tests start there.
HEARD = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)


def pytest_configure() -> None:
    """What the tests start hears every signal, as it does in a terminal: a handler, unlike being ignored, is not inherited."""
    for number in HEARD:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number is signal.SIGINT else _pass_over)


def _pass_over(number: int, frame: FrameType | None) -> None:
    """As it was asked for by who started the tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regen", action="store_true", help="write golden files anew; then look at the diff")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of what is left of them by now."""
    early = [item for item in items if item.get_closest_marker("early")]
    others = [item for item in items if not item.get_closest_marker("early")]
    items[:] = handed_out(early, others, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


@pytest.fixture(autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home: Path = tmp_path_factory.mktemp("home")
    for name in AMBIENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
