"""Why a runtime does not create a machine or a volume is reported by a condition of its own, whichever runtime it is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from iri.machine import (
    Disk,
    Image,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
)
from iri.simulated.faults.fault_rules import FaultRule
from iri.simulated.profile import Profile
from iri.volume import RuntimeVolume, RuntimeVolumeStatus, VolumeDetail, VolumeState
from poollet.decide.actions import CallError
from poollet.decide.create_errors import group_errors
from poollet.decide.volumes import runtime_conditions
from poollet.report.conditions import condition
from poollet.sync.live_view import LiveDocument
from schemas import report
from schemas.kinds import Kind
from tests.poollet.documents import document, interfaces, machine, volume
from tests.poollet.site import CLASSES_THERE, Site, site

FILE, REMOTE = "/images/os.qcow2", "registry.example.org/os:1"
LAN = document(Kind.NETWORK, "lan", spec={"providerID": "libvirt:office"})
WITH_LAN = {"networkInterfaces": interfaces("lan", network="lan")}
PROFILE = Profile(classes=CLASSES_THERE)
LACKS = replace(PROFILE, unavailable_networks=("libvirt:office",), unavailable_images=(FILE, REMOTE))


def disk_of(image: str) -> dict[str, object]:
    return {"volumes": [{"name": "root", "localDisk": {"size": "1Gi", "image": image}}]}


def volume_of(image: str, claim: str = "") -> LiveDocument:
    return volume("root", claim=claim, spec={"dataSource": {"osImage": {"image": image}}})


def host(*documents: LiveDocument, behavior: str = "gitvirt") -> Site:
    return site(*documents, profile=replace(LACKS, behavior=behavior))


def conditions(found: report.MachineReport | report.VolumeReport) -> dict[str, report.ReportedCondition]:
    assert found.phase == "present"
    assert found.status is not None
    return {one.type: one for one in found.status.conditions}


def report_of(here: Site, rounds: int) -> report.MachineReport:
    return here.rounds(rounds).machines["default", "web"]


def fix(here: Site) -> None:
    host = here.sim.host
    host.set_profile(replace(host.profile, unavailable_networks=(), unavailable_images=()))


BEHAVIORS = ("gitvirt", "stock-libvirt", "stock-cloud-hypervisor")


@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_a_machine_waits_for_a_missing_network(behavior: str) -> None:
    here = host(LAN, machine(spec=WITH_LAN), behavior=behavior)
    found_conditions = conditions(report_of(here, 5))
    assert (
        found_conditions["NetworkInterfacesReady"].status,
        found_conditions["NetworkInterfacesReady"].reason,
    ) == (
        "False",
        "NetworkNotReady",
    )
    assert "libvirt:office" in found_conditions["NetworkInterfacesReady"].message
    assert found_conditions["Ready"].reason == "NetworkNotReady"
    assert "UpToDate" not in found_conditions
    fix(here)
    assert conditions(report_of(here, 400))["Ready"].status == "True"


@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_a_machine_waits_for_a_missing_image_and_is_not_rejected(behavior: str) -> None:
    here = host(machine(spec=disk_of(FILE)), behavior=behavior)
    found_conditions = conditions(report_of(here, 5))
    assert (found_conditions["ImageReady"].status, found_conditions["ImageReady"].reason) == (
        "False",
        "ImageNotResolvable",
    )
    assert FILE in found_conditions["ImageReady"].message
    assert found_conditions["Ready"].reason == "ImageNotResolvable"
    fix(here)
    found_conditions = conditions(report_of(here, 400))
    assert found_conditions["Ready"].status == "True"
    assert "ImageReady" not in found_conditions


@pytest.mark.parametrize("behavior", ["gitvirt", "stock-ceph"])
def test_a_volume_waits_for_a_missing_image(behavior: str) -> None:
    here = host(volume_of(FILE), behavior=behavior)
    found_conditions = conditions(here.rounds(5).volumes["default", "root"])
    assert (found_conditions["DataSourceReady"].status, found_conditions["DataSourceReady"].reason) == (
        "False",
        "ImageNotResolvable",
    )
    assert FILE in found_conditions["DataSourceReady"].message
    fix(here)
    assert conditions(here.rounds(400).volumes["default", "root"])["Ready"].status == "True"


def test_an_image_that_fails_after_creation_is_reported_by_the_machine() -> None:
    here = host(machine(spec=disk_of(REMOTE)))
    found = report_of(here, 5)
    found_conditions = conditions(found)
    assert found.status is not None
    assert found.status.machine_id
    assert (found_conditions["ImageReady"].status, found_conditions["ImageReady"].reason) == (
        "False",
        "ImageNotResolvable",
    )
    assert found_conditions["Ready"].reason == "ImageNotResolvable"
    assert found_conditions["Ready"].message


def test_an_image_that_fails_after_creation_is_reported_by_the_volume_and_its_machine() -> None:
    disks = {"volumes": [{"name": "root", "volumeRef": {"name": "root"}}]}
    here = host(volume_of(REMOTE, claim="web"), machine(spec=disks))
    entries = here.rounds(5)
    found = entries.volumes["default", "root"]
    found_conditions = conditions(found)
    assert found.status is not None
    assert found.status.volume_id
    assert found.status.state == "Error"
    for type in ("DataSourceReady", "Ready"):
        assert (found_conditions[type].status, found_conditions[type].reason) == (
            "False",
            "ImageNotResolvable",
        )
        assert f"image {REMOTE} cannot be pulled: take it out" in found_conditions[type].message
    waits = conditions(entries.machines["default", "web"])["VolumesReady"]
    assert waits.reason == "VolumeNotReady"
    assert REMOTE in waits.message


def test_a_failed_volume_without_a_reason_reports_only_the_error_state() -> None:
    here = host(volume_of(REMOTE), behavior="stock-ceph")
    found_conditions = conditions(here.rounds(5).volumes["default", "root"])
    assert (found_conditions["Ready"].status, found_conditions["Ready"].reason) == ("False", "Error")
    assert "DataSourceReady" not in found_conditions


LARGE = RuntimeVolumeStatus(state=VolumeState.AVAILABLE)
FAILED = RuntimeVolumeStatus(state=VolumeState.ERROR)
STATED = {
    "well": (LARGE, "", {"Ready": ("True", "Available")}),
    "cannot grow": (
        LARGE,
        "ExpandVolumeFailed",
        {"Ready": ("True", "Available"), "UpToDate": ("False", "ExpandVolumeFailed")},
    ),
    "no image": (
        FAILED,
        "ImageNotResolvable",
        {"Ready": ("False", "ImageNotResolvable"), "DataSourceReady": ("False", "ImageNotResolvable")},
    ),
    "no room": (
        FAILED,
        "CreateVolumeFailed",
        {"Ready": ("False", "CreateVolumeFailed"), "UpToDate": ("False", "CreateVolumeFailed")},
    ),
    "no reason": (FAILED, "", {"Ready": ("False", "Error")}),
}


@pytest.mark.parametrize(("status", "reason", "want"), STATED.values(), ids=STATED.keys())
def test_the_reason_that_a_runtime_states_for_a_volume_is_reported(
    status: RuntimeVolumeStatus, reason: str, want: dict[str, tuple[str, str]]
) -> None:
    message = "the cause and the cure" if reason else ""
    there = RuntimeVolume(id="v", status=status, detail=VolumeDetail(reason=reason, message=message))
    found = runtime_conditions(there, ())
    assert {one.type: (one.status, one.reason) for one in found} == want
    assert {one.message for one in found if one.status == "False"} <= {message}


def test_conditions_of_the_poollet_take_precedence_over_those_of_the_runtime() -> None:
    there = RuntimeVolume(
        id="v", status=FAILED, detail=VolumeDetail(reason="DeleteVolumeFailed", message="busy")
    )
    known = (condition("Ready", False, "Terminating"), condition("UpToDate", False, "Attached"))
    assert runtime_conditions(there, known) == ()


def test_a_restart_does_not_change_the_reported_wait() -> None:
    here = host(LAN, machine(spec=WITH_LAN))
    before = report_of(here, 5)
    here.restart()
    assert here.decide().machines["default", "web"] == before


def test_a_network_that_this_host_does_not_offer_rejects_the_machine() -> None:
    here = site(LAN, machine(spec=WITH_LAN))
    here.sim.faults.add(
        FaultRule(
            call="CreateMachine", code="NETWORK_NOT_OFFERED", message="this host allows no libvirt:office"
        )
    )
    found = report_of(here, 5)
    assert found.phase == "rejected"
    assert [one.code for one in found.reasons] == ["NetworkNotOffered"]


WANTED = RuntimeMachine(
    spec=RuntimeMachineSpec(
        volumes=(Disk(name="root", local_disk=RuntimeLocalDisk(image=Image(image=REMOTE))),),
        network_interfaces=(RuntimeNetworkInterface(name="lan", network_id="libvirt:lan"),),
    )
)
WORDS = {
    "image": (
        "Internal",
        f"rpc error: failed to pull {REMOTE}: manifest unknown",
        "images",
        "ImageNotResolvable",
    ),
    "image, invalid": ("InvalidArgument", f"image {REMOTE} needs 3 GiB", "others", "InvalidArgument"),
    "network": ("Internal", "no network with matching name 'lan'", "networks", "NetworkNotReady"),
    "network by id": ("NotFound", "network libvirt:lan not found", "networks", "NetworkNotReady"),
    "network, invalid": ("InvalidArgument", "no network 'lan' here", "others", "InvalidArgument"),
    "network by its code": ("NetworkNotReady", f"no network '{REMOTE}'", "networks", "NetworkNotReady"),
    "image by its code": ("ImageNotResolvable", "no image 'lan'", "images", "ImageNotResolvable"),
    "part of a word": ("Internal", "cannot open vlan2", "others", "Internal"),
    "no answer": ("Unavailable", f"no answer while pulling {REMOTE}", "others", "Unavailable"),
    "full": ("ResourceExhausted", f"no room for {REMOTE}", "others", "ResourceExhausted"),
    "nothing of it": ("FailedPrecondition", "the host is tired", "others", "FailedPrecondition"),
}


@pytest.mark.parametrize(("code", "message", "where", "becomes"), WORDS.values(), ids=WORDS.keys())
def test_an_error_is_classified_by_the_names_that_its_message_quotes(
    code: str, message: str, where: str, becomes: str
) -> None:
    found = group_errors([CallError(code, message)], WANTED)
    assert getattr(found, where) == (CallError(becomes, message),)
    assert sum(map(len, found)) == 1


@pytest.mark.parametrize(
    "code", ["ResourceExhausted", "InvalidArgument", "NetworkNotOffered", "Unimplemented"]
)
def test_no_text_keeps_an_error_from_rejecting(code: str) -> None:
    quoting = RuntimeMachine(
        spec=RuntimeMachineSpec(network_interfaces=(RuntimeNetworkInterface(network_id="lan"),))
    )
    error = CallError(code, "there is no network lan")
    assert group_errors((error,), quoting).rejections == (error,)


@pytest.mark.parametrize("code", ["FailedPrecondition", "NotFound", "Internal", "Unavailable", "TimedOut"])
def test_no_text_makes_an_error_reject(code: str) -> None:
    quoting = RuntimeMachine(
        spec=RuntimeMachineSpec(network_interfaces=(RuntimeNetworkInterface(network_id="lan"),))
    )
    assert not group_errors((CallError(code, "network lan: ResourceExhausted"),), quoting).rejections
