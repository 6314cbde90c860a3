"""The dispatcher: what is imported when, exit codes, and what a wrong call says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit


def test_help_names_every_verb_and_imports_none(capsys: pytest.CaptureFixture[str]) -> None:
    program = (
        "import sys; from reconciler.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(result.stderr.split())
    assert "version" in result.stdout
    assert not {
        name for name in loaded if name.split(".")[0] in {"grpc", "libvirt", "pygit2", "msgspec", "ruamel"}
    }
    assert "reconciler.cli.version" not in loaded


def test_unknown_verb_suggests_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["versoin"]) == Exit.USAGE
    assert "did you mean `gitvirt version`?" in capsys.readouterr().err


def test_wrong_option_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--frobnicate"]) == Exit.USAGE
    assert "gitvirt version --help" in capsys.readouterr().err


def test_versions_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "-o", "json"]) == Exit.OK
    assert set(json.loads(capsys.readouterr().out)) >= {"gitvirt", "python", "pygit2"}
