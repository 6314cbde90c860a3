"""The paths and names that reconciler, poollets and people share."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas import live_layout
from schemas.kinds import Key, Kind

ROOT = Path(__file__).parents[2]
KEY = Key(Kind.VOLUME, "lab", "web-1-scratch")
POOL = Key(Kind.MACHINE_POOL, "", "rack-a")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (live_layout.path_in(live_layout.GENERATED, KEY), ".gitvirt/generated/Volume/lab/web-1-scratch.yaml"),
        (live_layout.path_in(live_layout.DELETING, KEY), ".gitvirt/deleting/Volume/lab/web-1-scratch.yaml"),
        (live_layout.path_in(live_layout.RETAINED, KEY), ".gitvirt/retained/Volume/lab/web-1-scratch.yaml"),
        (live_layout.path_in(live_layout.FROZEN, POOL), ".gitvirt/frozen/MachinePool/rack-a.yaml"),
        (live_layout.announced_path(POOL), ".gitvirt/pools/rack-a.yaml"),
    ],
)
def test_each_folder_names_kind_namespace_and_object(path: str, wanted: str) -> None:
    assert path == wanted
    assert live_layout.is_reconcilers(path)


@pytest.mark.parametrize("path", [".gitvirt/orphans/1.yaml", "machines/web-1.yaml", ".gitvirtignore"])
def test_people_write_orphans_and_everything_outside_the_folder(path: str) -> None:
    assert not live_layout.is_reconcilers(path)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (live_layout.request_path("Pool-Host", "rack-a=x:1"), ("Pool-Host", "rack-a=x:1")),
        (".gitvirt/requests/Pool-Destroyed/rack-a.yaml", None),
        (".gitvirt/requests/Pool-Other/rack-a=x.yaml", None),
        (".gitvirt/requests/Pool-Host/a b=x.yaml", None),
        (".gitvirt/approvals/Pool-Host/rack-a=x.yaml", None),
    ],
)
def test_the_path_of_a_request_says_all_of_it(path: str, wanted: tuple[str, str] | None) -> None:
    assert live_layout.stated_request(path) == wanted
    assert not live_layout.is_reconcilers(path)


def strings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_other_module_spells_a_path_or_a_name() -> None:
    own = (".gitvirt/", "gitvirt.dev/")
    spelled = {
        str(path.relative_to(ROOT)): text
        for package in ("schemas", "reconciler", "poollet")
        for path in (ROOT / package).rglob("*.py")
        if path.name != "live_layout.py"
        for text in strings(path)
        if text.startswith(own) and " " not in text
    }
    assert spelled == {}


def test_the_limit_of_texts_is_that_of_the_report_schemas() -> None:
    for path in (ROOT / "schemas/report").glob("*.json"):
        message = json.loads(path.read_text()).get("$defs", {}).get("condition", {}).get("properties", {})
        if message:
            assert message["message"]["maxLength"] == live_layout.MAX_TEXT, path.name
