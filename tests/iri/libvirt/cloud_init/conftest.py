"""A guest with a real cloud-init. Everything here is marked `cloud_init`: see tools/test-cloud-init, which makes its image first."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Only who asks for them: the image takes minutes to make."""
    return None if config.option.markexpr == "cloud_init" else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cloud_init)
