"""The systemd unit that ships: confined as its documentation says, by systemd's own verdict where systemd is there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "docs" / "systemd" / "gitvirt-poollet.service"
MOST_EXPOSURE = "20"  # of 100

# What each must be, from systemd.exec(5) and systemd.kill(5).
RULES = {
    "User": "gitvirt",
    "KillMode": "process",
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6",
    "RestrictNamespaces": "yes",
    "MemoryDenyWriteExecute": "yes",
    "SystemCallArchitectures": "native",
    "UMask": "0077",
    "Restart": "on-failure",
}


def directives() -> dict[str, str]:
    found = re.findall(r"^([A-Za-z]+)=(.*)$", UNIT.read_text(), re.MULTILINE)
    return {name: value for name, value in reversed(found)}


@pytest.mark.parametrize(("name", "want"), RULES.items())
def test_it_may_do_no_more_than_it_must(name: str, want: str) -> None:
    assert directives()[name] == want


def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        assert directives()["SystemCallFilter"] == "@system-service"
        return
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/bin/gitvirt", "/bin/true"))
    words = [analyze, "security", "--offline=yes", f"--threshold={MOST_EXPOSURE}", "--no-pager", str(unit)]
    judged = subprocess.run(words, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    verified = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
