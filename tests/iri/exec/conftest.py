"""A process behind a console must not outlive it: each test waits for all of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.iri.exec.shell_console import STARTED


@pytest.fixture(autouse=True)
def _no_process_left() -> Iterator[None]:
    yield
    while STARTED:
        STARTED.pop().wait(60)
