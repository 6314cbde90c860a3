"""Shell completion: what is offered for what was typed, and scripts that the shells themselves accept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.completion import SCRIPTS, candidates
from reconciler.cli.exits import Exit


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ([""], {"get", "validate", "help"}),
        (["ge"], {"get"}),
        (["help", "vali"], {"validate"}),
        (["get", ""], {"machines", "volumes", "resourcequotas"}),
        (["get", "machineP"], set()),
        (["get", "machinep"], {"machinepools"}),
        (["get", "machines", "--out"], {"--output"}),
        (["get", "machines", "-o", ""], {"table", "wide", "json", "yaml", "name"}),
        (["iri", ""], {"get", "create", "exec"}),
        (["iri", "get", "--w"], {"--watch"}),
        (["runtime", "sim"], {"simulated"}),
        (["client", ""], {"join", "rotate"}),
        (["client", "join", "ci", "--rights", ""], {"read", "console", "destroy"}),
        (["client", "join", "ci", "--rights", "read,s"], {"read,schedule", "read,stop"}),
        (["client", "join", "ci", "--rights", "read,rea"], set()),
        (["token", "create", "rack-a7", "--"], {"--pools", "--ttl", "--key", "--merge"}),
        (["link", "rotate", "--"], {"--force", "--branch", "--key"}),
        (["poollet", "r"], {"rotate"}),
        (["nonsense", ""], set()),
    ],
)
def test_offers(words: list[str], want: set[str]) -> None:
    found = set(candidates(words))
    assert found >= want
    assert bool(found) is bool(want)


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == Exit.OK
    assert capsys.readouterr().out.strip() == SCRIPTS[shell].strip()


def test_bash_completes_by_it(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None, "apt-get install bash"
    (tmp_path / "gitvirt").write_text(f'#!/bin/sh\nexec {sys.executable} -m reconciler "$@"\n')
    (tmp_path / "gitvirt").chmod(0o755)
    script = (
        SCRIPTS["bash"]
        + 'COMP_WORDS=(gitvirt get mach); COMP_CWORD=2; _gitvirt; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["machineclasses", "machinepools", "machines"]


def test_help_speaks_of_shells_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "--help"])
    assert "words" not in capsys.readouterr().out
    assert main(["completion", "tcsh"]) == Exit.USAGE
    assert "'tcsh' is none of bash, zsh, fish" in capsys.readouterr().err
