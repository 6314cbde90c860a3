"""Reports: what is written reads back, equal states are equal bytes, and what does not read is unknown, not absent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import report

SCHEMAS = sorted((Path(__file__).parents[3] / "schemas" / "report").glob("*.json"))
UID = "6f1e5a5e-8d5f-5c0a-9d0e-0b5c7c1d2e3f"
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)
TEXTS = st.text(max_size=40)
CONDITIONS = st.builds(
    report.ReportedCondition,
    type=st.sampled_from(["Ready", "VolumesReady"]),
    status=st.sampled_from(["True", "False", "Unknown"]),
    reason=st.just("Because"),
    message=TEXTS,
    last_transition_time=st.none() | st.just("2026-01-01T00:00:00Z"),
)
MACHINES = st.builds(
    report.MachineReport,
    uid=st.just(UID),
    assignment=st.just(UID),
    phase=st.sampled_from(["present", "gone", "unknown", "rejected"]),
    pool=NAMES,
    reasons=st.lists(
        st.builds(report.ReportedReason, code=st.just("Memory"), message=TEXTS, need=st.just("4Gi")),
        max_size=2,
    ).map(tuple),
    status=st.none()
    | st.builds(
        report.ReportedMachineStatus,
        machine_id=st.just("sim://1"),
        state=st.sampled_from(["Running", "Shutdown"]),
        conditions=st.lists(CONDITIONS, max_size=2).map(tuple),
    ),
)
REPORTS = st.builds(
    report.Report,
    poollet=st.just(
        report.PoolletReport(fleet=UID, name="host-1", host_id="h", instance=UID, interval="15s")
    ),
    candidate=st.none() | st.just(report.CandidateReport(name="host-1", host_id="other", instance=UID)),
    pools=st.dictionaries(
        NAMES,
        st.builds(
            report.PoolReport,
            status=st.builds(
                report.ReportedPoolStatus,
                state=st.just("Ready"),
                capacity=st.just({"cpu": "8", "memory": "16Gi"}),
            ),
        ),
        max_size=3,
    ),
    machines=st.dictionaries(st.tuples(NAMES, NAMES), MACHINES, max_size=4),
)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_each_schema_is_valid_by_its_meta_schema(path: Path) -> None:
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(f"/report/{path.name}")


def test_there_is_a_schema_for_each_path() -> None:
    from schemas.report.tree import LAYOUT

    assert {name for name, _, _ in LAYOUT.values()} == {path.stem for path in SCHEMAS}


@given(REPORTS)
def test_a_written_report_reads_back(written: report.Report) -> None:
    tree = report.render(written)
    assert report.read(tree) == written
    assert report.render(report.read(tree)) == tree


def every_field() -> report.Report:
    condition = report.ReportedCondition(
        type="Ready",
        status="True",
        reason="Up",
        message="m",
        observed_generation=1,
        last_update_time=TIME,
        last_transition_time=TIME,
    )
    return report.Report(
        poollet=report.PoolletReport(
            fleet=UID,
            name="host-1",
            host_id="machine-id",
            instance=UID,
            interval="15s",
            live_commit="0" * 40,
            version="1",
            runtimes={
                "libvirt": report.RuntimeReport(
                    state="Unreachable", name="libvirt", version="9", message="refused"
                )
            },
            leaving="stopping",
        ),
        candidate=report.CandidateReport(
            name="host-1",
            host_id="other",
            instance=UID,
            pools=("host-1",),
            version="1",
            objects=(report.HeldObject("Machine", "web", "default", UID),),
        ),
        pools={
            "host-1": report.PoolReport(
                uid=UID,
                labels={"topology.ironcore.dev/zone": "a"},
                runtime="libvirt",
                status=report.ReportedPoolStatus(
                    state="Ready",
                    conditions=(condition,),
                    available_machine_classes=(report.ObjectRef("small"),),
                    addresses=(report.ReportedAddress("InternalIP", "10.0.0.1"),),
                    capacity={"cpu": 8},
                    allocatable={"cpu": "7500m"},
                    node_info={"architecture": "x86_64"},
                ),
            )
        },
        volume_pools={
            "host-1": report.VolumePoolReport(
                uid=UID,
                labels={"a": "b"},
                runtime="libvirt",
                status=report.ReportedVolumePoolStatus(
                    state="Available",
                    conditions=(condition,),
                    available_volume_classes=(report.ObjectRef("fast"),),
                    capacity={"storage": "1Ti"},
                    allocatable={"storage": "1Ti"},
                    reachable_from=("host-1",),
                ),
            )
        },
        machines={
            ("default", "web-1"): report.MachineReport(
                uid=UID,
                assignment=UID,
                phase="present",
                pool="host-1",
                reasons=(report.ReportedReason("Memory", "too small", "memory", "4Gi", "2Gi"),),
                status=report.ReportedMachineStatus(
                    machine_id="libvirt://1",
                    state="Running",
                    observed_revision="abc",
                    conditions=(condition,),
                    volumes=(report.AttachedVolume("root", "Attached", "h", report.ObjectRef("root")),),
                    network_interfaces=(
                        report.AttachedInterface(
                            "eth0",
                            "Attached",
                            "h",
                            ("10.0.0.2",),
                            "52:54:00:00:00:01",
                            report.ObjectRef("nic"),
                        ),
                    ),
                    restart="t",
                    machine_class_ref=report.ObjectRef("small"),
                ),
            )
        },
        volumes={
            ("default", "root"): report.VolumeReport(
                uid=UID,
                assignment=UID,
                phase="gone",
                pool="host-1",
                reasons=(report.ReportedReason("Full", "no space"),),
                attached_to=(UID,),
                status=report.ReportedVolumeStatus(
                    volume_id="libvirt://2",
                    state="Available",
                    access=report.ReportedVolumeAccess("file", "h", {"path": "p"}),
                    resources={"storage": "10Gi"},
                    conditions=(condition,),
                ),
            )
        },
        snapshots={
            ("default", "snap"): report.SnapshotReport(
                uid=UID,
                assignment=UID,
                phase="unknown",
                pool="host-1",
                reasons=(report.ReportedReason("Slow", "waiting"),),
                status=report.ReportedSnapshotStatus("libvirt://3", "Ready", "10Gi", (condition,)),
            )
        },
        orphans=(
            report.Orphan("Machine", "host-1", "7", UID, "default", "old", {"cpu": 1}, "not on live", ("h",)),
        ),
        events=(
            report.ReportedEvent(
                "Machine", "web-1", "Warning", "Crashed", 3, TIME, "default", UID, "it crashed", TIME
            ),
        ),
    )


TIME = "2026-01-01T00:00:00Z"


def test_a_candidate_changes_no_other_file() -> None:
    with_candidate = every_field()
    tree = report.render(with_candidate)
    alone = report.render(replace(with_candidate, candidate=None))
    assert {path: data for path, data in tree.items() if path != "candidate.json"} == alone


def test_every_field_survives_and_is_allowed_by_the_schema() -> None:
    written = every_field()
    assert report.read(report.render(written)) == written


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("machines/default/web-1.json", b"{"),
        ("machines/default/web-1.json", b"[1]"),
        ("machines/default/web-1.json", b'{"uid": "x", "uid": "y"}'),
        ("machines/default/web-1.json", b"\xff\xfe"),
        ("machines/default/web-1.json", b"[" * 200_000),
        (
            "machines/default/web-1.json",
            json.dumps({"uid": UID, "assignment": UID, "phase": "vanished"}).encode(),
        ),
        (
            "machines/default/web-1.json",
            json.dumps({"uid": UID, "assignment": UID, "phase": "gone", "extra": 1}).encode(),
        ),
        ("pools/a.json", b'{"status": {"state": "Ready", "capacity": {"cpu": 1.5}}}'),
        ("pools/a.json", b'{"status": {"state": "\\ud800"}}'),
        ("pools/a.json", b'{"status": ' + b"[" * 300 + b"]" * 300 + b"}"),
        (
            "machines/default/web-1.json",
            json.dumps(
                {
                    "uid": UID,
                    "assignment": UID,
                    "phase": "present",
                    "status": {
                        "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1.0}]
                    },
                }
            ).encode(),
        ),
        ("poollet.json", b"null"),
        ("candidate.json", b'{"name": "host-1", "hostID": "", "instance": "1"}'),
        ("pools/a.json", b'{"epoch": 0, "status": {"state": "Ready"}}'),
        ("events.json", b" " * (8 * 1024 * 1024 + 1)),
    ],
)
def test_an_unreadable_file_is_unknown_and_not_absent(path: str, data: bytes) -> None:
    found = report.read({path: data, "pools/b.json": b'{"status": {"state": "Ready"}}'})
    assert [entry.path for entry in found.unreadable] == [path]
    assert all(problem.code == "GV620" and problem.message for problem in found.unreadable[0].problems)
    assert "b" in found.pools


@pytest.mark.parametrize("path", ["README", "machines/web-1.json", "machines/a/b/c.json", "later/x.json", ""])
def test_unknown_paths_are_ignored(path: str) -> None:
    assert report.read({path: b"{"} if path else {}) == report.Report()
