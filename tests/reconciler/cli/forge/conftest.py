"""The rules of a forge, and where its token is: every check starts here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.forge_rules import TOKEN, RulesForge, rules_forge


@pytest.fixture
def forge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RulesForge]:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.delenv("GITVIRT_FORGE_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    with rules_forge() as found:
        yield found
