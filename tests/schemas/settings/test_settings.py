"""gitvirt.yaml and poollet.yaml: defaults, every problem with its place, ownership and grace."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from schemas.manifest.schema_file import load_schema
from schemas.settings import fleet, host
from schemas.settings.duration import milliseconds
from schemas.settings.settings_file import LARGEST

ID = "3c0f3b4e-58b5-4b7e-9f51-4a4a9f8d8f10"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHY1 who"
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["fleet.json", "host.json"])
def test_each_schema_is_valid_by_its_meta_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(load_schema(name))


def test_a_fleet_only_needs_its_id() -> None:
    settings = fleet.parse(f"fleet: {{id: {ID}}}\n".encode())
    assert isinstance(settings, fleet.FleetSettings)
    assert (settings.branches.source, settings.branches.target, settings.reports.ref) == (
        "main",
        "live",
        "refs/poollets/",
    )
    assert (settings.pools, settings.secrets.plain, settings.signatures.mode) == ("open", "deny", "off")
    assert (
        settings.limits.delete.count,
        settings.limits.delete.percent,
        settings.limits.push_interval_milliseconds,
    ) == (10, 20, 0)


def test_defaults_are_those_of_the_schema() -> None:
    settings = fleet.parse(f"fleet: {{id: {ID}}}\n".encode())
    properties = load_schema("fleet.json")["properties"]
    for section in ("branches", "reports", "limits", "heartbeat", "scoring", "secrets"):
        for field, rule in properties[section]["properties"].items():
            if "default" in rule:
                snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in field)
                assert getattr(getattr(settings, section), snake) == rule["default"]


def test_the_example_and_what_init_writes_are_valid() -> None:
    assert isinstance(fleet.parse((ROOT / "examples/repo/gitvirt.yaml").read_bytes()), fleet.FleetSettings)
    template = (ROOT / "reconciler/template/gitvirt.yaml").read_text().replace("@FLEET@", ID)
    assert isinstance(fleet.parse(template.encode()), fleet.FleetSettings)


OWNERS = f"""
fleet: {{id: {ID}}}
poollets:
  rack: {{pools: [a, b-*]}}
  other:
  volumes: {{volumePools: [shared, ssd-*]}}
  other-far:
  greedy: {{pools: [late-1]}}
""".encode()


@pytest.mark.parametrize(
    ("poollet", "pool", "machines", "volumes"),
    [
        ("rack", "a", True, False),
        ("rack", "b-1", True, False),
        ("rack", "rack", False, True),
        ("other", "other", True, True),
        ("other", "other-ssd", True, True),
        ("other", "others", False, False),
        ("unknown", "unknown", True, True),
        ("unknown", "other", False, False),
        ("volumes", "ssd-1", False, True),
        ("other", "other-far", False, False),
        ("other", "other-far-2", False, False),
        ("other-far", "other-far-2", True, True),
        ("late", "late-1", False, True),
        ("late", "late-2", True, True),
    ],
)
def test_a_pool_has_the_owner_that_entry_or_name_says(
    poollet: str, pool: str, machines: bool, volumes: bool
) -> None:
    settings = fleet.parse(OWNERS)
    assert isinstance(settings, fleet.FleetSettings)
    assert (settings.owns(poollet, pool), settings.owns_volumes(poollet, pool)) == (machines, volumes)


OVERLAPS = f"""
fleet: {{id: {ID}}}
poollets:
  all: {{pools: ["*"]}}
  b: {{pools: [b-*]}}
  b-1: {{pools: [b-1*]}}
  exact: {{pools: [b-17]}}
  listed: {{pools: []}}
""".encode()


@pytest.mark.parametrize(
    ("pool", "owner"),
    [
        ("rack", "rack"),
        ("rack-1", "rack-1"),
        ("rack-1-a", "rack-1"),
        ("rack-2", "rack"),
        ("rack-10", "rack"),
        ("listed-x", "listed"),
    ],
)
def test_the_longest_matching_name_of_those_that_report_owns_a_pool_alone(pool: str, owner: str) -> None:
    settings = fleet.parse(f"fleet: {{id: {ID}}}\n".encode())
    assert isinstance(settings, fleet.FleetSettings)
    reporting = {"rack", "rack-1", "rack-1-b", "z", "listed"}
    assert {each for each in reporting if settings.owns(each, pool, reporting)} == {owner}


@pytest.mark.parametrize(
    ("pool", "owner"),
    [("x", "all"), ("b-2", "b"), ("b-1", "b-1"), ("b-12", "b-1"), ("b-17", "exact"), ("listed", "all")],
)
def test_the_most_precise_of_several_lists_gives_a_pool_its_owner(pool: str, owner: str) -> None:
    settings = fleet.parse(OVERLAPS)
    assert isinstance(settings, fleet.FleetSettings)
    names = {*settings.poollets, pool}
    assert {each for each in names if settings.owns(each, pool, names)} == {owner}


FLEETS = [
    (b"", "GV601", 0),
    (b"fleet: {id: x}\n---\na: b\n", "GV601", 0),
    (b"\xff\xfe", "GV601", 1),
    (b"#" * (LARGEST + 1), "GV601", 0),
    (b"fleet: [\n", "GV10", 0),
    (b"[]\n", "GV203", 1),
    (b"branches: {}\n", "GV202", 1),
    (f"fleet: {{id: {ID}}}\nbranchs:\n  source: main\n".encode(), "GV201", 2),
    (f"fleet: {{id: {ID}}}\npools: opened\n".encode(), "GV2", 2),
    (f"fleet: {{id: {ID}}}\nlimits:\n  pushInterval: 10\n".encode(), "GV203", 3),
    (f"fleet: {{id: {ID}}}\nlimits:\n  pushInterval: 10x\n".encode(), "GV2", 3),
    (f"fleet: {{id: {ID}}}\nreports:\n  ref: ../../heads\n".encode(), "GV2", 3),
    (f"fleet: {{id: {ID}}}\nbranches:\n  target: main\n".encode(), "GV602", 3),
    (f"fleet: {{id: {ID}}}\nbranches:\n  source: live\n".encode(), "GV602", 3),
    (f"fleet: {{id: {ID}}}\nsignatures:\n  mode: enforce\n".encode(), "GV603", 3),
    (f"fleet: {{id: {ID}}}\naudit:\n  ref: refs/poollets/inputs/\n".encode(), "GV630", 3),
    (f"fleet: {{id: {ID}}}\naudit: {{ref: refs/heads/}}\n".encode(), "GV630", 2),
    (f"fleet: {{id: {ID}}}\naudit: {{ref: refs/heads/live/inputs/}}\n".encode(), "GV630", 2),
    (f"fleet: {{id: {ID}}}\naudit: {{ref: refs/gitvirt/}}\n".encode(), "GV630", 2),
    (f"fleet: {{id: {ID}}}\nsecrets:\n  admins: [age1qq]\n".encode(), "GV631", 3),
    (f"fleet: {{id: {ID}}}\npoollets:\n  a:\n    age: [ssh-ed25519 AAAA me]\n".encode(), "GV631", 4),
    (f"fleet: {{id: {ID}}}\npoollets:\n  a: {{pools: [x]}}\n  b:\n    pools: [y, x]\n".encode(), "GV604", 5),
]


@pytest.mark.parametrize(("data", "code", "line"), FLEETS)
def test_each_mistake_in_a_fleet_is_named_with_its_line(data: bytes, code: str, line: int) -> None:
    problems = fleet.parse(data)
    assert isinstance(problems, tuple)
    assert problems
    assert all(problem.file == "gitvirt.yaml" and problem.message for problem in problems)
    assert problems[0].code.startswith(code)
    if line:
        assert problems[0].line == line


def test_a_whole_number_may_be_written_with_a_point() -> None:
    settings = fleet.parse(f"fleet: {{id: {ID}}}\nlimits: {{evict: 1e2, delete: {{count: 3.0}}}}\n".encode())
    assert isinstance(settings, fleet.FleetSettings)
    assert (settings.limits.evict, settings.limits.delete.count) == (100, 3)


def test_all_mistakes_are_reported_at_once() -> None:
    problems = fleet.parse(b"fleet: {id: nope}\npools: opened\nsecrets: {plain: maybe}\n")
    assert isinstance(problems, tuple)
    assert {problem.pointer for problem in problems} == {"/fleet/id", "/pools", "/secrets/plain"}


def test_a_hint_names_the_right_spelling() -> None:
    (problem,) = fleet.parse(f"fleet: {{id: {ID}}}\nbranchs: {{source: main}}\n".encode())  # type: ignore[misc]
    assert "branches" in problem.hint


HOST = "name: rack-a1\nrepo:\n  url: ssh://git@git.example.org/fleet.git\n"


def test_a_host_needs_a_name_and_a_repo() -> None:
    settings = host.parse(HOST.encode())
    assert isinstance(settings, host.PoolletSettings)
    assert (settings.repo.mirror, settings.intervals.poll, settings.intervals.list) == (
        "/var/lib/gitvirt/mirror",
        "10s",
        "5s",
    )


def test_all_settings_of_a_host_are_read() -> None:
    text = (
        HOST
        + "runtimes: [{name: kvm, start: libvirt}]\npools:\n  - {name: rack-a1, runtime: kvm, reserved: {cpu: 500m, memory: 2Gi}}\n"
    )
    settings = host.parse(text.encode())
    assert isinstance(settings, host.PoolletSettings)
    assert settings.pools[0].reserved == {"cpu": "500m", "memory": "2Gi"}


HOSTS = [
    ("name: a\nrepo:\n  url: https://me:hunter2@git.example.org/x.git\n", "GV611", 3),
    ("name: a\nrepo:\n  url: https://[::1/x.git\n", "GV615", 3),
    (HOST + "pools:\n  - {name: a}\n  - {name: a}\n", "GV612", 6),
    (HOST + "pools:\n  - {name: a, runtime: kvm}\n", "GV613", 5),
    (HOST + "pools:\n  - name: a\n    reserved:\n      memory: 16GB\n", "GV614", 7),
    (HOST + "pools:\n  - {name: a}\n  - {name: b}\n", "GV616", 6),
    (HOST + "signatures: {mode: enforce}\n", "GV603", 4),
    ("name: A\n", "GV2", 1),
]


@pytest.mark.parametrize(("text", "code", "line"), HOSTS)
def test_each_mistake_in_a_host_is_named_with_its_line(text: str, code: str, line: int) -> None:
    problems = host.parse(text.encode())
    assert isinstance(problems, tuple)
    assert problems[0].code.startswith(code)
    assert problems[0].line == line
    assert "hunter2" not in str(problems)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("15s", 15_000),
        ("1h30m", 5_400_000),
        ("500ms", 500),
        ("1.5s", 1500),
        ("0s", 0),
        ("2d", 172_800_000),
        ("0.001s", 1),
    ],
)
def test_durations_are_exact(text: str, want: int) -> None:
    assert milliseconds(text) == want


@pytest.mark.parametrize("text", ["", "15", "s", "1.0005s", "0.5ms", "-1s", "1s ", "1e3s", "١s", "15s\n"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|finer"):
        milliseconds(text)


@pytest.mark.parametrize(("interval", "want"), [("1s", 50_000), ("10s", 50_000), ("15s", 75_000)])
def test_the_heartbeat_timeout_is_five_intervals_and_at_least_50_seconds(interval: str, want: int) -> None:
    assert fleet.heartbeat_timeout_milliseconds(interval) == want


@pytest.mark.parametrize("unit", ["", "s"])
def test_a_duration_without_a_unit_gets_a_hint_that_is_valid(unit: str) -> None:
    outcome = fleet.parse(f"fleet: {{id: {ID}}}\nheartbeat: {{interval: 5{unit}}}\n".encode())
    if unit:
        assert isinstance(outcome, fleet.FleetSettings)
    else:
        assert not isinstance(outcome, fleet.FleetSettings)
        assert [(each.code, each.hint) for each in outcome] == [("GV203", "give it a unit: 5s")]


@pytest.mark.parametrize(
    "key", [f"AGE-SECRET-KEY-1{'D7KEY6E8' * 7}", "-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaC1r"]
)
@pytest.mark.parametrize("text", ["secrets: {admins: ['KEY']}", "poollets: {a: {age: ['KEY']}}"])
def test_a_private_key_that_was_pasted_is_not_quoted(text: str, key: str) -> None:
    found = fleet.parse(f"fleet: {{id: {ID}}}\n{text.replace('KEY', key)}\n".encode())
    assert isinstance(found, tuple)
    messages = " ".join(f"{each}" for each in found)
    assert "a private key" in messages
    assert key[16:30] not in messages
