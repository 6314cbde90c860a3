"""The jq commands that pages show in place of kubectl's own formats print what kubectl prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reconciler.cli.verbs.conftest import fleet

__all__ = ["fleet"]
ROOT = Path(__file__).parents[2]
ROW = re.compile(r"\| `(get [^`]+)` \| `(gitvirt .*? \\\| jq [^`]+)` \|")
JQ = re.compile(r"^gitvirt .* \| jq .*$", re.MULTILINE)
# What kubectl prints for the command of the left column; `<none>` is an empty column in jq.
WANT = {
    "get vm web-1 -o jsonpath={.status.state}": "Running\n",
    "get vm -o jsonpath={.items[*].metadata.name}": "web-1\nweb-2\n",
    "get vm -o custom-columns=N:.metadata.name,P:.spec.power": "web-1\t\nweb-2\t\n",
}


def rows() -> dict[str, str]:
    text = (ROOT / "docs" / "day-two.md").read_text("utf-8")
    return {kubectl: command.replace("\\|", "|") for kubectl, command in ROW.findall(text)}


def run(command: str) -> str:
    """In a shell, as people paste it."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_row_of_the_table_is_run_here() -> None:
    table = (
        (ROOT / "docs" / "day-two.md")
        .read_text("utf-8")
        .split("in place of `-o jsonpath=`")[1]
        .split("\n\n")[1]
    )
    assert rows().keys() == WANT.keys()
    assert len(rows()) == len(table.splitlines()) - 2


@pytest.mark.parametrize("kubectl", WANT)
def test_a_row_prints_what_kubectl_prints(fleet: Path, kubectl: str) -> None:
    assert run(rows()[kubectl]) == WANT[kubectl]


def test_the_commands_of_the_page_about_json_name_fields_that_exist(fleet: Path) -> None:
    commands = JQ.findall((ROOT / "docs" / "json.md").read_text("utf-8"))
    assert [command.rpartition(" ")[2] for command in commands] == [".status.state", ".token"]
    found = [run(command).strip() for command in commands]
    assert found[0] == "Running"
    assert found[1] not in ("", "null")
