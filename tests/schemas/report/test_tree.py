"""Paths and bytes of a report: which file is read as what, and which bytes are written."""

from __future__ import annotations

import pytest

from schemas import report
from schemas.report.objects import ReportPart
from schemas.report.tree import assemble, encode, layout_of, read_file, unreadable_file

UID = "6f1e5a5e-8d5f-5c0a-9d0e-0b5c7c1d2e3f"

# a path, and the name of the schema that it is read by
PATHS: dict[str, tuple[str, str | None]] = {
    "the host": ("poollet.json", "poollet"),
    "a candidate": ("candidate.json", "candidate"),
    "a machine pool": ("pools/a.json", "pool"),
    "a volume pool": ("volumepools/a.json", "volume-pool"),
    "a machine": ("machines/default/web.json", "machine"),
    "a volume": ("volumes/default/web.json", "volume"),
    "a snapshot": ("snapshots/default/web.json", "volume-snapshot"),
    "orphans": ("orphans.json", "orphans"),
    "events": ("events.json", "events"),
    "a machine without a namespace": ("machines/web.json", None),
    "a machine below a folder": ("machines/default/more/web.json", None),
    "a pool in a namespace": ("pools/default/a.json", None),
    "the host in a folder": ("pools/poollet.json/x.json", None),
    "another ending": ("machines/default/web.yaml", None),
    "a folder": ("machines", None),
    "a later version's file": ("networks/default/lan.json", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("path", "want"), PATHS.values(), ids=PATHS.keys())
def test_a_path_says_what_its_file_is(path: str, want: str | None) -> None:
    found = layout_of(path)
    assert (found[0] if found is not None else None) == want
    if want is None:
        assert read_file(path, b"{}") is None


GONE = report.MachineReport(UID, UID, "gone")

# an entry, and its file
FILES: dict[str, tuple[ReportPart, str]] = {
    "defaults are left out": (
        GONE,
        f'{{\n  "uid": "{UID}",\n  "assignment": "{UID}",\n  "phase": "gone"\n}}\n',
    ),
    "the schema's spelling": (
        report.CandidateReport("host-1", "h", "run-1"),
        '{\n  "name": "host-1",\n  "hostID": "h",\n  "instance": "run-1"\n}\n',
    ),
    "a list that is empty is written": (report.objects.OrphanList(), '{\n  "orphans": []\n}\n'),
    "keys of a mapping are sorted, fields are not": (
        report.PoolReport(labels={"b": "1", "a": "2"}, status=report.ReportedPoolStatus("Ready")),
        '{\n  "status": {\n    "state": "Ready"\n  },\n  "labels": {\n    "a": "2",\n    "b": "1"\n  }\n}\n',
    ),
}


@pytest.mark.parametrize(("entry", "want"), FILES.values(), ids=FILES.keys())
def test_a_file_has_one_form(entry: ReportPart, want: str) -> None:
    assert encode(entry) == want.encode()


def test_an_empty_report_has_no_files() -> None:
    assert report.render(report.Report()) == {}
    assert report.read({}) == report.Report()


def test_one_unreadable_file_makes_only_its_own_object_unknown() -> None:
    broken = unreadable_file("machines/default/db.json", ("/phase", "not one of the words"))
    found = assemble({"machines/default/db.json": broken, "machines/default/web.json": GONE})
    assert found == report.Report(machines={("default", "web"): GONE}, unreadable=(broken,))
    (problem,) = broken.problems
    assert (problem.code, problem.file, problem.message) == (
        "GV620",
        "machines/default/db.json",
        "not one of the words",
    )


def test_unreadable_lists_are_empty_and_named() -> None:
    found = report.read({"orphans.json": b"[]", "events.json": b"{", "poollet.json": b"0"})
    assert (found.poollet, found.orphans, found.events) == (None, (), ())
    assert [one.path for one in found.unreadable] == ["events.json", "orphans.json", "poollet.json"]
