"""Ctrl-C before the command line is loaded, which on a busy machine takes longer than a person's second thought."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 120.0
# Strikes when the module named is about to be loaded: that is a moment, and no matter of luck.
PROGRAM = """
import os, signal, sys

_, module, how = sys.argv

class Strike:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

if how == "ignored":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
from reconciler.__main__ import main
sys.meta_path.insert(0, Strike())
sys.argv[1:] = ["version"]
sys.exit(main())
"""


def struck(module: str, how: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, module, how]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


@pytest.mark.parametrize("module", ["reconciler.cli", "reconciler.cli.interrupt", "reconciler.cli.version"])
def test_it_ends_at_once_and_in_silence(module: str) -> None:
    result = struck(module, "heard")
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


@pytest.mark.parametrize("module", ["reconciler.cli", "reconciler.cli.version"])
def test_ignored_interrupts_stay_ignored(module: str) -> None:
    result = struck(module, "ignored")
    assert (result.returncode, result.stderr) == (0, "")
    assert "gitvirt" in result.stdout


def test_the_command_begins_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["gitvirt"] == "reconciler.__main__:main"
