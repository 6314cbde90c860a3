"""A depot of images, and a cache that asks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.libvirt.images.images import Images
from iri.libvirt.images.settings import ImageSettings
from tests.servers.depot import Depot, depot_server


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def depot() -> Iterator[Depot]:
    with depot_server() as depot:
        yield depot


class Asking:
    """Images of one folder, and what they told."""

    def __init__(self, folder: Path, depot: Depot) -> None:
        self.folder = folder
        self.settings = ImageSettings(plain_http=(depot.host,), timeout_seconds=60.0)
        self.told: list[tuple[str, str]] = []

    def images(self, **changes: object) -> Images:
        return Images(replace(self.settings, **changes), self.folder)

    def tell(self, reason: str, message: str) -> None:
        self.told.append((reason, message))

    def blobs(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "blobs").iterdir())

    def partials(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "partial").iterdir())


@pytest.fixture
def asking(tmp_path: Path, depot: Depot) -> Asking:
    return Asking(tmp_path / "images", depot)
