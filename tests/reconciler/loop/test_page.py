"""docs/run.md says what is so: the history that it shows, and the metrics that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reconciler.loop.metrics import Metrics
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import SETTINGS, SMALL, Clock, Host, People, machine, reconciler, settle
from tests.servers.repository import git

PAGE = Path(__file__).parents[3] / "docs" / "run.md"
BLOCK = re.compile(r"(```console\n\$ git (?P<command>[^\n]*)\n).*?^(```)$", re.DOTALL | re.MULTILINE)
ID = re.compile(r"\b[0-9a-f]{40}\b|^[0-9a-f]{7}\b", re.MULTILINE)


def build_world(folder: Path) -> MirrorWorld:
    """A fleet from its first commit on: four web servers, a database, and one web server less."""
    world, clock = MirrorWorld(folder), Clock()
    ann = People(world.client(), clock)
    hosts = [Host(world.client(), name, clock, room=3) for name in ("rack-a1", "rack-a2")]
    one = reconciler(world.client(), "control-1")
    deeds: tuple[tuple[str, dict[str, str | None]], ...] = (
        ("a fleet", {"gitvirt.yaml": SETTINGS, "classes/small.yaml": SMALL}),
        ("four web servers", {f"machines/web-{n}.yaml": machine(f"web-{n}") for n in range(1, 5)}),
        ("a database", {"machines/db.yaml": machine("db")}),
        ("web-4 is not needed", {"machines/web-4.yaml": None}),
    )
    for message, files in deeds:
        ann.push(files, message)
        settle([one], hosts, clock)
    return world


def test_the_history_that_the_page_shows(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    world = build_world(tmp_path)
    page = PAGE.read_text()
    made = BLOCK.sub(
        lambda match: f"{match[1]}{git(world.repo, *match['command'].split())}\n{match[3]}", page
    )
    world.close()
    if request.config.getoption("--regen"):
        PAGE.write_text(made)
    assert len(BLOCK.findall(page)) == 3
    assert ID.sub("-", made) == ID.sub("-", page)


def list_metrics() -> set[str]:
    families = {family.name: family.type for family in Metrics().registry.collect()}
    return {f"{name}_total" if kind == "counter" else name for name, kind in families.items()}


def test_the_metrics_that_the_page_names() -> None:
    assert set(re.findall(r"^\| `(gitvirt_\w+)", PAGE.read_text(), re.MULTILINE)) == list_metrics()


def test_alarms_use_metrics_that_exist() -> None:
    page = PAGE.with_name("operations.md").read_text()
    named = set(re.findall(r"\b(gitvirt_\w+)\b(?=[{ )]|$)", page))
    assert "gitvirt_object_states" in named
    of_poollet = set(
        re.findall(r"^\| `(gitvirt_\w+)", PAGE.with_name("poollet.md").read_text(), re.MULTILINE)
    )
    assert named <= list_metrics() | of_poollet
