"""Certificates that end, and what a change of them means: tables of given settings and the findings."""

from __future__ import annotations

import datetime

import pytest

from schemas.problem import Severity
from schemas.settings.certificate_changes import compare_certificates
from schemas.settings.certificate_dates import check_dates, find_expiring
from schemas.settings.fleet import FleetIdentity, FleetSettings, PoolletEntry
from schemas.settings.link import ClientEntry, LinkSettings
from tests.schemas.settings.certificates import NOW, certificate, link_certificate

IDENTITY = FleetIdentity("3c0f3b4e-58b5-4b7e-9f51-4a4a9f8d8f10")


def fleet_of(**hosts: tuple[str, ...]) -> FleetSettings:
    return FleetSettings(
        IDENTITY, poollets={name: PoolletEntry(certificates=found) for name, found in hosts.items()}
    )


def ends(days: float, name: str = "a", begins: float = -1) -> str:
    return certificate(name, days=(begins, days))


DATES = [
    ("valid for long", (ends(31),), []),
    ("ends within 30 days", (ends(29),), [("GV618", 0)]),
    ("ended", (ends(-0.5),), [("GV610", 0)]),
    ("ends now", (ends(0),), [("GV610", 0)]),
    ("rotated in time", (ends(5), ends(300)), []),
    ("the old one is left behind", (ends(-0.5), ends(300)), [("GV610", 0)]),
    ("both end", (ends(5), ends(10)), [("GV618", 1)]),
    ("both ended", (ends(-0.6), ends(-0.5)), [("GV610", 0), ("GV610", 1)]),
    ("begins later", (ends(300, begins=0.1),), [("GV619", 0)]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "want"), [row[1:] for row in DATES], ids=[row[0] for row in DATES])
def test_dates_of_certificates_warn_and_refuse_nothing(
    given: tuple[str, ...], want: list[tuple[str, int]]
) -> None:
    found = list(check_dates(fleet_of(a=given), NOW))
    assert [(each.code, each.pointer) for each in found] == [
        (code, f"/poollets/a/certificates/{index}") for code, index in want
    ]
    assert {each.severity for each in found} <= {Severity.WARNING}
    assert all(each.hint for each in found)


def test_only_an_owner_without_a_newer_certificate_counts_as_cut_off() -> None:
    alone = next(check_dates(fleet_of(a=(ends(-0.5),)), NOW))
    assert "cannot connect" in alone.message
    replaced = next(check_dates(fleet_of(a=(ends(-0.5), ends(300))), NOW))
    assert "cannot connect" not in replaced.message
    assert replaced.hint.startswith("remove it")


def test_owners_whose_newest_certificate_ends_soon_come_in_that_order() -> None:
    settings = fleet_of(
        a=(ends(20),), b=(ends(-0.5, "b"),), c=(ends(5, "c"), ends(200, "c")), d=(ends(300, "d"),)
    )
    found = find_expiring(settings, NOW)
    assert [(each.entry.owner, each.has_expired) for each in found] == [
        ("poollets.b", True),
        ("poollets.a", False),
    ]
    assert (
        str(found[1])
        == f"the certificate of poollets.a expires on {(NOW + 20 * datetime.timedelta(days=1)).date()}"
    )


ONE, TWO, THREE = ends(300), ends(301), ends(302, "b")
CHANGES = [
    ("the same", {"a": (ONE,)}, {"a": (ONE,)}, []),
    ("another layout", {"a": (ONE,)}, {"a": (f"\n{ONE}\n",)}, []),
    ("a host joins", {}, {"a": (ONE,)}, [("GV628", "/poollets/a/certificates/0", "notice")]),
    ("a second one", {"a": (ONE,)}, {"a": (ONE, TWO)}, [("GV628", "/poollets/a/certificates/1", "notice")]),
    ("the old one goes", {"a": (ONE, TWO)}, {"a": (TWO,)}, [("GV629", "/poollets/a", "notice")]),
    ("replaced", {"a": (ONE,)}, {"a": (TWO,)}, [("GV628", "/poollets/a/certificates/0", "notice"), ("GV629", "/poollets/a", "notice")]),
    ("the last one goes", {"a": (ONE,)}, {"a": ()}, [("GV629", "/poollets/a", "warning")]),
    ("the host goes", {"a": (ONE,)}, {}, [("GV629", "", "notice")]),
    ("given to another host", {"a": (ONE,), "b": (THREE,)}, {"a": (THREE,), "b": (ONE,)}, [
        ("GV628", "/poollets/a/certificates/0", "notice"), ("GV628", "/poollets/b/certificates/0", "notice"),
        ("GV629", "/poollets/a", "notice"), ("GV629", "/poollets/b", "notice")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "want"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_a_change_says_whom_it_lets_in_and_whom_it_cuts_off(
    before: dict[str, tuple[str, ...]], after: dict[str, tuple[str, ...]], want: list[tuple[str, str, str]]
) -> None:
    found = list(compare_certificates(fleet_of(**before), fleet_of(**after)))
    assert [(each.code, each.pointer, each.severity.value) for each in found] == want


def test_the_link_without_its_certificate_is_a_warning() -> None:
    link = FleetSettings(IDENTITY, link=LinkSettings(("a:1",), (link_certificate(),)))
    (found,) = compare_certificates(link, FleetSettings(IDENTITY))
    assert (found.code, found.severity) == ("GV629", Severity.WARNING)


def client(namespaces: str, rights: str) -> FleetSettings:
    entry = ClientEntry((ends(300, "ci"),), tuple(namespaces.split()), tuple(rights.split()))  # type: ignore[arg-type]
    return FleetSettings(IDENTITY, clients={"ci": entry})


RIGHTS = [
    ("the same", client("default", "read stop"), client("default", "stop read"), []),
    ("a right", client("default", "read"), client("default", "read stop"), ["clients.ci may from now on: stop in default"]),
    ("a namespace", client("default", "read stop"), client("default web", "read stop"), ["clients.ci may from now on: read, stop in web"]),
    ("less", client("default", "read stop"), client("default", "read"), ["REVOKES rights of clients.ci: stop in default"]),
    ("both", client("default", "read"), client("web", "read"), ["clients.ci may from now on: read in web", "REVOKES rights of clients.ci: read in default"]),
    ("no namespace", client("", "read"), client("", "read logs"), ["clients.ci may from now on: logs without a namespace"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "want"), [row[1:] for row in RIGHTS], ids=[row[0] for row in RIGHTS]
)
def test_a_change_says_which_rights_a_client_gains_and_loses(
    before: FleetSettings, after: FleetSettings, want: list[str]
) -> None:
    assert [each.message for each in compare_certificates(before, after)] == want
