"""docs/json.md is what the verbs print: every command of the page is run, and what it says is compared."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import gitvirt

PAGE = Path(__file__).parents[4] / "docs/json.md"
EXAMPLE = re.compile(r"^`(gitvirt [^`]+)`\n\n```json\n(.*?)```$", re.MULTILINE | re.DOTALL)
COMMANDS = [found[1] for found in EXAMPLE.finditer(PAGE.read_text())]
COMMIT, TIME = (
    re.compile(r"[0-9a-f]{40}"),
    re.compile(r"20(?!26-01-01)\d\d-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)"),
)
# Printed in another order or with other words on another day or machine: as what they appear in the page.
BY_NAME: dict[str, Callable[[Any], Any]] = {"seconds": lambda _: 0.1}


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No runtime on this host."""
    monkeypatch.setenv("IRI_MACHINE_RUNTIME_ENDPOINT", "/nonexistent/machines.sock")


def steady(value: Any, name: str = "") -> Any:
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {key: steady(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [steady(each) for each in value]
    if isinstance(value, str):
        return TIME.sub("<time>", COMMIT.sub("<commit>", re.sub(r"\b[0-9a-f]{10}\b", "<commit>", value)))
    return BY_NAME.get(name, lambda same: same)(value)


def versions(value: dict[str, str | None]) -> dict[str, str]:
    return dict.fromkeys(value, "<version>")


def parse_output(capsys: pytest.CaptureFixture[str], command: str) -> Any:
    code = gitvirt(*shlex.split(command)[1:])
    printed = capsys.readouterr()
    assert code == (Exit.UNPLACEABLE if " explain " in command else Exit.OK), printed.err
    value = json.loads(printed.out)
    return versions(value) if " version " in command else steady(value)


@pytest.mark.usefixtures("fleet", "nowhere")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_says_what_is_printed(
    capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest, command: str
) -> None:
    value = parse_output(capsys, command)
    text = PAGE.read_text()
    if request.config.getoption("--regen"):
        shown = f"`{command}`\n\n```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```"
        PAGE.write_text(
            EXAMPLE.sub(lambda found: shown if found[1] == command else found[0], text), encoding="utf-8"
        )
        return
    promised = next(found[2] for found in EXAMPLE.finditer(text) if found[1] == command)
    assert value == json.loads(promised)


@pytest.mark.usefixtures("fleet", "nowhere")
@pytest.mark.parametrize("command", [each for each in COMMANDS if "restart" not in each])
def test_yaml_is_the_same(capsys: pytest.CaptureFixture[str], command: str) -> None:
    value = parse_output(capsys, command)
    gitvirt(*shlex.split(command.replace("-o json", "-o yaml"))[1:])
    documents = list(YAML(typ="safe", pure=True).load_all(capsys.readouterr().out))
    found = documents if command == "gitvirt get machines -l app=web -o json" else documents[0]
    as_json = json.loads(json.dumps(found, default=lambda time: time.isoformat()))
    assert (versions(as_json) if "version" in command else steady(as_json)) == value


def test_every_verb_that_shows_or_changes_something_is_there() -> None:
    there = {command.split()[1] for command in COMMANDS}
    verbs = {"get", "describe", "history", "explain", "tree", "top", "events", "wait", "console", "version"}
    assert there >= verbs | {"cordon", "resume", "restart"}
