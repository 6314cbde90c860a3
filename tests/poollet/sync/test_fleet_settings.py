"""What a poollet goes by when it starts: the target branch, or as long as there is none, what is in force on the source."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from poollet.bootstrap import HostInputs, fleet_settings
from poollet.clock import Clock
from schemas.settings import host
from schemas.settings.fleet import PATH, FleetSettings
from tests.reconciler.gitstore.git import commit, git, init

GOOD = b"fleet: {id: 6f1c1f0e-0d0f-4b5e-9b3e-5a1f6f0f7a11}\nreports: {ref: %s}\n"
BROKEN = GOOD % b"refs/lost/" + b"bogus: 1\n"


@pytest.mark.parametrize(
    ("source", "target", "want"),
    [
        pytest.param([GOOD % b"refs/one/"], GOOD % b"refs/live/", "refs/live/", id="the target"),
        pytest.param([GOOD % b"refs/one/", BROKEN], None, "refs/one/", id="no target, a broken source"),
        pytest.param([GOOD % b"refs/one/", BROKEN], BROKEN, "refs/one/", id="both broken"),
        pytest.param([BROKEN], None, "", id="never any"),
    ],
)
def test_what_is_in_force(tmp_path: Path, source: list[bytes], target: bytes | None, want: str) -> None:
    root = init(tmp_path / "repo", "-b", "main")
    for data in source:
        commit(root, {PATH: data})
    if target is not None:
        git(root, "checkout", "-q", "-b", "live")
        commit(root, {PATH: target})
        git(root, "checkout", "-q", "main")
    ambient = HostInputs({"PATH": os.environ["PATH"]}, tmp_path, Clock(), random.Random(1), "0")
    found = fleet_settings(host.RepoSettings(url=str(root), mirror=str(tmp_path / "mirror")), ambient)
    if want:
        assert isinstance(found, FleetSettings)
        assert found.reports.ref == want
    else:
        assert isinstance(found, tuple)
        assert found[0].file == PATH
