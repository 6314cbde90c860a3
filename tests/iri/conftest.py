"""Sockets have short paths, so they get a short directory of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def socket_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="iri") as directory:
        yield Path(directory)
