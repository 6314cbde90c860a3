"""`gitvirt forge check` of a repository on a forge, and what it found."""

from __future__ import annotations

import json

import pytest

from reconciler.cli import main
from tests.reconciler.cli.forge.sites import WORDS, set_up_gitea, set_up_github, set_up_gitlab
from tests.servers.forge_rules import RulesForge

Capture = pytest.CaptureFixture[str]
SET_UPS = {"gitea": set_up_gitea, "github": set_up_github, "gitlab": set_up_gitlab}


def check(forge: RulesForge, kind: str, *more: str) -> int:
    base = {"gitea": "/api/v1", "github": "", "gitlab": ""}[kind]
    words = ["forge", "check", f"{forge.url}/ops/fleet", "--api", forge.url + base, "--token-file", "token"]
    return main([*words, *WORDS[kind].split(), *more])


def judge(forge: RulesForge, kind: str, capsys: Capture, *more: str) -> tuple[int, dict[str, dict[str, str]]]:
    code = check(forge, kind, "-o", "json", *more)
    return code, {each["attack"]: each for each in json.loads(capsys.readouterr().out)}


def with_verdict(found: dict[str, dict[str, str]], verdict: str) -> set[str]:
    return {attack for attack, each in found.items() if each["verdict"] == verdict}
