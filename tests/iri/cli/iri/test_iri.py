"""`gitvirt iri` against a simulated host: every action, what it prints, and how it fails."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from iri.proto.gitvirt.sim.v1alpha1 import api_pb2 as sim_pb
from iri.simulated.control import ControlService
from iri.simulated.faults.fault_rules import FaultRule
from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.iri.cli.iri.conftest import Command

MACHINE = """
metadata:
  labels: {machinepoollet.ironcore.dev/machine-uid: NAME, machinepoollet.ironcore.dev/machine-name: NAME}
spec:
  class: small
  ignition_data: aHVudGVyMg==
  volumes:
    - {name: root, device: oda, local_disk: {size_bytes: 1073741824}}
  network_interfaces:
    - {name: eth0, network_id: lan}
"""
VOLUME = """
metadata: {labels: {volumepoollet.ironcore.dev/volume-uid: NAME, volumepoollet.ironcore.dev/volume-name: NAME}}
spec: {class: standard, resources: {storage_bytes: 1073741824}}
"""
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path


def write_file(files: Path, text: str, name: str = "spec.yaml") -> str:
    path = files / name
    path.write_text(text)
    return str(path)


def create_from(gitvirt: Command, files: Path, name: str = "web-1", template: str = MACHINE) -> str:
    noun = "machine" if template is MACHINE else "volume"
    answer = gitvirt.run_ok("iri", "create", noun, "-f", write_file(files, template.replace("NAME", name)))
    match = re.fullmatch(rf"Created {noun} ({ID.pattern})\n", answer)
    assert match, answer
    return match[1]


def running(gitvirt: Command, files: Path, name: str = "web-1") -> str:
    id = create_from(gitvirt, files, name)
    gitvirt.until(lambda answer: "Running" in answer, "iri", "get", "machine", id)
    return id


def test_a_machine_is_created_from_a_file_and_deleted(gitvirt: Command, files: Path) -> None:
    id = running(gitvirt, files)
    header, line = gitvirt.run_ok("iri", "get", "machines").splitlines()
    assert header.split() == ["ID", "NAME", "CLASS", "STATE", "AGE"]
    assert line.split()[:4] == [id, "web-1", "small", "Running"]
    assert "off" in gitvirt.run_ok("iri", "update", "power", "--machine-id", id, "--power", "off")
    gitvirt.until(lambda answer: "Suspended" in answer, "iri", "get", "mach", id)
    assert gitvirt.run_ok("iri", "delete", "machine", id) == f"Machine {id} deleted\n"
    gitvirt.until(lambda answer: id not in answer, "iri", "get", "machine")
    assert gitvirt.run_ok("iri", "delete", "machine", id) == f"Machine {id} not found\n"


def test_wide_output_shows_addresses_and_devices(gitvirt: Command, files: Path) -> None:
    running(gitvirt, files)
    answer = gitvirt.run_ok("iri", "get", "machine", "-o", "wide")
    assert "1/1" in answer
    assert re.search(r" 10\.\d+\.\d+\.\d+ ", answer)


def test_yaml_and_json_are_equal_and_can_be_created_from(gitvirt: Command, files: Path) -> None:
    id = running(gitvirt, files)
    value: Any = gitvirt.json("iri", "get", "machine", id, "--show-secrets")
    assert value["metadata"]["id"] == id
    assert value["status"]["state"] == 1
    assert value["spec"]["ignition_data"] == "aHVudGVyMg=="
    (same,) = json.loads(gitvirt.run_ok("iri", "get", "machine", "-o", "json", "--show-secrets"))
    assert same == value
    as_yaml = gitvirt.run_ok("iri", "get", "machine", id, "-o", "yaml", "--show-secrets")
    again = gitvirt.run_ok(
        "iri", "create", "machine", "-f", write_file(files, as_yaml), "-o", "json", "--show-secrets"
    )
    assert json.loads(again)["spec"] == value["spec"]


@pytest.mark.parametrize("format", ["table", "wide", "json", "yaml", "name"])
def test_secrets_are_not_shown_unasked(gitvirt: Command, files: Path, format: str) -> None:
    id = running(gitvirt, files)
    answer = gitvirt.run_ok("iri", "get", "machine", id, "-o", format)
    assert "aHVudGVyMg" not in answer
    assert "hunter2" not in answer
    made = gitvirt("iri", "create", "machine", "-f", write_file(files, MACHINE), "-o", format)
    assert "aHVudGVyMg" not in made.out


def test_objects_are_selected_by_labels(gitvirt: Command, files: Path) -> None:
    one = create_from(gitvirt, files, "web-1")
    create_from(gitvirt, files, "web-2")
    label = "machinepoollet.ironcore.dev/machine-name=web-1"
    assert gitvirt.run_ok("iri", "get", "machine", "-l", label, "-o", "name") == f"{one}\n"
    assert gitvirt.run_ok("iri", "get", "machine", "-l", label, "-l", "a=b", "-o", "name") == ""


def test_several_documents_are_several_machines(gitvirt: Command, files: Path) -> None:
    text = "---".join(MACHINE.replace("NAME", name) for name in ("a", "b", "c"))
    answer = gitvirt.run_ok("iri", "create", "machine", "-f", write_file(files, text))
    assert len(ID.findall(answer)) == 3
    assert len(gitvirt.run_ok("iri", "get", "machine", "-o", "name").split()) == 3


def test_a_spec_is_read_from_standard_input(gitvirt: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VOLUME.encode())))
    assert gitvirt.run_ok("iri", "create", "volume", "-f", "-").startswith("Created volume ")


def test_a_volume_is_created_snapshotted_copied_and_deleted(gitvirt: Command, files: Path) -> None:
    id = create_from(gitvirt, files, "data", VOLUME)
    answer = gitvirt.until(lambda answer: "Available" in answer, "iri", "get", "vol", id, "-o", "wide")
    assert answer.splitlines()[1].split()[:5] == [id, "data", "standard", "1Gi", "Available"]
    gitvirt.run_ok("iri", "expand", "volume", id, "2Gi")
    gitvirt.until(lambda answer: "2Gi" in answer, "iri", "get", "volumes")
    snapshot = write_file(files, f"spec: {{volume_id: {id}}}")
    answer = gitvirt.run_ok("iri", "create", "volumesnapshot", "-f", snapshot)
    (shot,) = ID.findall(answer)
    gitvirt.until(lambda answer: "Ready" in answer, "iri", "get", "snap", shot)
    source = f"{{snapshot_data_source: {{snapshot_id: {shot}}}}}"
    copy = (
        f"spec: {{class: standard, resources: {{storage_bytes: 2147483648}}, volume_data_source: {source}}}"
    )
    made: Any = json.loads(
        gitvirt.run_ok("iri", "create", "volume", "-f", write_file(files, copy), "-o", "json")
    )
    assert made["spec"]["volume_data_source"] == {"snapshot_data_source": {"snapshot_id": shot}}
    gitvirt.run_ok("iri", "delete", "volumesnapshot", shot)
    gitvirt.run_ok("iri", "delete", "volume", id, made["metadata"]["id"])
    gitvirt.until(lambda answer: not ID.search(answer), "iri", "get", "volume")
    gitvirt.until(lambda answer: not ID.search(answer), "iri", "get", "volumesnapshot")


def test_devices_are_attached_and_detached(gitvirt: Command, files: Path) -> None:
    id = running(gitvirt, files)
    disk = write_file(files, "{name: data, device: odb, local_disk: {size_bytes: 1048576}}")
    nic = write_file(files, '{"name": "eth1", "network_id": "lan", "ips": ["10.0.0.7"]}', "nic.json")
    assert "Attached volume data" in gitvirt.run_ok("iri", "attach", "volume", "--machine-id", id, "-f", disk)
    assert "eth1" in gitvirt.run_ok("iri", "attach", "nic", "--machine-id", id, "-f", nic)
    gitvirt.until(
        lambda answer: "2/2" in answer and "10.0.0.7" in answer, "iri", "get", "machine", "-o", "wide"
    )
    larger = write_file(files, "{name: data, device: odb, local_disk: {size_bytes: 2097152}}")
    assert "Updated" in gitvirt.run_ok("iri", "update", "volume", "--machine-id", id, "-f", larger)
    value: Any = gitvirt.json("iri", "get", "machine", id)
    assert value["spec"]["volumes"][1]["local_disk"] == {"size_bytes": 2097152}
    answer = gitvirt.run_ok("iri", "detach", "volume", "--machine-id", id, "data", "nope")
    assert "Detached volume data" in answer
    assert "nope" in answer
    assert "not found" in answer
    gitvirt.run_ok("iri", "detach", "networkinterface", "--machine-id", id, "eth1")
    gitvirt.until(lambda answer: "1/1" in answer, "iri", "get", "machine", "-o", "wide")


def test_status_events_and_version_are_shown(gitvirt: Command, files: Path) -> None:
    id = running(gitvirt, files)
    status = gitvirt.run_ok("iri", "get", "status")
    assert re.search(r"^small +1 +1Gi +64$", status, re.MULTILINE)
    assert re.search(r"^standard +100Mi/s +1000 +4Ti$", status, re.MULTILINE)
    value: Any = gitvirt.json("iri", "get", "status")
    assert value["machine_class_status"][0]["quantity"] == 64
    events = gitvirt.run_ok("iri", "get", "events")
    assert re.search(rf"Normal +Started +machine/{id} +the machine is running", events)
    assert gitvirt.run_ok("iri", "get", "events", "-l", "a=b").count("\n") == 1
    listed: Any = gitvirt.json("iri", "get", "events", "-d", "1h")
    assert {event["spec"]["reason"] for event in listed} >= {"Created", "Started"}
    assert "gitvirt-simulated" in gitvirt.run_ok("iri", "get", "version")
    assert gitvirt.json("iri", "get", "version") == {
        "runtime_name": "gitvirt-simulated",
        "runtime_version": "0.1.0",
    }


def test_the_address_may_stand_on_both_sides_of_the_action(
    gitvirt: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IRI_MACHINE_RUNTIME_ENDPOINT")
    monkeypatch.delenv("IRI_VOLUME_RUNTIME_ENDPOINT")
    address = str(gitvirt.socket)
    assert gitvirt("iri", "--address", address, "get", "status").code == 0
    assert gitvirt("iri", "get", "volume", "--address", f"unix:{address}").code == 0


def test_a_missing_runtime_is_one_line_of_cause_and_a_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["iri", "--address", str(tmp_path / "no.sock"), "get", "machine"]) == Exit.FAILED
    cause, cure = capsys.readouterr().err.splitlines()
    assert "no.sock" in cause
    assert "gitvirt runtime simulated" in cure
    assert main(["iri", "--address", "example.com:80", "get", "machine"]) == Exit.USAGE
    assert "is not the loopback" in capsys.readouterr().err


def test_a_refusal_of_the_runtime_is_shown_in_its_words(gitvirt: Command, files: Path) -> None:
    wrong = write_file(files, "{metadata: {}, spec: {class: gigantic}}")
    answer = gitvirt("iri", "create", "machine", "-f", wrong)
    assert answer.code == Exit.FAILED
    assert "gigantic" in answer.err
    assert "gitvirt iri get status" in answer.err
    answer = gitvirt("iri", "get", "machine", "nope")
    assert (answer.code, answer.err.splitlines()[0]) == (Exit.FAILED, "error: machine nope does not exist")
    answer = gitvirt("iri", "update", "power", "--machine-id", "nope", "--power", "on")
    assert answer.code == Exit.FAILED
    gitvirt.server.faults.add(FaultRule(call="ListMachines", code="INTERNAL", message="it broke"))
    answer = gitvirt("iri", "get", "machine")
    assert "it broke" in answer.err
    assert "Traceback" not in answer.err


def test_a_call_that_times_out_has_its_own_exit_code(gitvirt: Command) -> None:
    gitvirt.server.faults.add(FaultRule(call="ListMachines", code="DEADLINE_EXCEEDED"))
    assert gitvirt("iri", "get", "machine").code == Exit.TIMED_OUT


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("spec: {clas: small}", "spec.clas: unknown key"),
        ("spec: [", "spec.yaml:1"),
        ("", "the file has no document"),
        ("spec: {power: maybe}", "spec.power"),
        ("a: 1\na: 2", "spec.yaml:"),
    ],
)
def test_a_wrong_file_is_named_with_its_place(gitvirt: Command, files: Path, text: str, wanted: str) -> None:
    answer = gitvirt("iri", "create", "machine", "-f", write_file(files, text))
    assert answer.code == Exit.PROBLEMS
    assert wanted in answer.err
    assert gitvirt.run_ok("iri", "get", "machine", "-o", "name") == ""


def test_unreadable_files_are_named(gitvirt: Command, files: Path) -> None:
    assert "No such file" in gitvirt("iri", "create", "machine", "-f", str(files / "nope")).err
    (files / "latin1").write_bytes(b"spec: \xe9")
    answer = gitvirt("iri", "create", "machine", "-f", str(files / "latin1"))
    assert (answer.code, "not UTF-8" in answer.err) == (Exit.PROBLEMS, True)
    two = write_file(files, "{name: a}\n---\n{name: b}")
    answer = gitvirt("iri", "update", "volume", "--machine-id", "x", "-f", two)
    assert "2 documents" in answer.err


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (["iri"], "required"),
        (["iri", "gte"], "invalid choice"),
        (["iri", "get", "mahcine"], "did you mean machine?"),
        (["iri", "get", "power"], "cannot be used here"),
        (["iri", "get", "status", "x"], "takes no ID"),
        (["iri", "get", "status", "-l", "a=b"], "takes no labels"),
        (["iri", "get", "machine", "-l", "a"], "invalid label"),
        (["iri", "get", "events", "-d", "soon"], "invalid duration"),
        (["iri", "get", "status", "--watch"], "--watch shows lines"),
        (["iri", "create", "machine"], "-f"),
        (["iri", "update", "power", "--machine-id", "x"], "--power on|off"),
        (["iri", "update", "volume", "--machine-id", "x", "--power", "on"], "-f FILE"),
        (["iri", "expand", "volume", "x", "much"], "much"),
        (["iri", "expand", "volume", "x", "-1"], "-1"),
    ],
)
def test_a_wrong_call_is_wrong_usage(gitvirt: Command, argv: list[str], wanted: str) -> None:
    answer = gitvirt(*argv)
    assert answer.code == Exit.USAGE
    assert wanted in answer.err
    assert answer.err.startswith("error: ")
    assert len(answer.err.splitlines()) == 2, "one line of cause, one of cure"


def test_control_characters_of_a_server_are_escaped(gitvirt: Command, files: Path) -> None:
    text = MACHINE.replace("NAME", "web-1").replace("machine-name: web-1", r'machine-name: "\e[31mred"')
    gitvirt.run_ok("iri", "create", "machine", "-f", write_file(files, text))
    answer = gitvirt.run_ok("iri", "get", "machine")
    assert "\x1b" not in answer
    assert r"\x1b[31mred" in answer


@pytest.mark.parametrize("has_host_service", [True, False])
def test_watch_prints_every_change(gitvirt: Command, files: Path, has_host_service: bool) -> None:
    if not has_host_service:
        control = ControlService(gitvirt.server.host, gitvirt.server.faults)
        control.set_behavior(
            sim_pb.SetBehaviorRequest(behavior=sim_pb.Behavior(flags={"has_no_host_service": True}))
        )
    command = [sys.executable, "-m", "reconciler", "iri", "get", "machine", "--watch"]
    watching = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert watching.stdout is not None
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(iter(watching.stdout.readline, "")))  # type: ignore[union-attr]
    try:
        assert watching.stdout.readline().split()[0] == "ID"
        reader.start()
        id = running(gitvirt, files)
        _until(lambda: any("Running" in line for line in lines))
        gitvirt.run_ok("iri", "delete", "machine", id)
        _until(lambda: any("Gone" in line for line in lines))
    finally:
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 128 + signal.SIGINT
        reader.join(60)
        watching.stdout.close()


def _until(wanted: Any) -> None:
    for _ in range(1200):
        if wanted():
            return
        threading.Event().wait(0.05)
    raise AssertionError("the line did not appear")
