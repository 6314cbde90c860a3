"""libvirtd is killed in the midst of starting a guest that has no process yet. It would hold that for ever when it is back."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.change import SetPower
from iri.errors import Unavailable
from iri.libvirt.runtime import LibvirtRuntime
from iri.machine import MachineState, Power, RuntimeCondition, RuntimeMachine, RuntimeMachineSpec
from tests.iri.contract.subject import eventually, uid_labels
from tests.iri.libvirt.world import micro_settings, running_runtime
from tests.servers.libvirtd import Libvirtd, libvirtd

SECONDS = 60.0
TRIES = 40
UNIT = Path(__file__).parents[4] / "docs" / "systemd" / "libvirtd-unborn.conf"


@pytest.fixture
def daemon() -> Iterator[Libvirtd]:
    with libvirtd() as made:
        yield made


def unborn(daemon: Libvirtd, runtime: LibvirtRuntime, id: str) -> str:
    """Kills libvirtd at such a moment, which may take a few tries; what it has written down."""
    for _ in range(TRIES):
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.SUSPENDED, SECONDS, "be off")
        runtime.change(id, SetPower(Power.ON))
        until = time.monotonic() + SECONDS
        while not (written := status(daemon)) and time.monotonic() < until:
            pass  # it is there for some milliseconds
        daemon.kill()
        written = status(daemon)
        if "pid='0'" in written:
            return written
        daemon.start()
        eventually(lambda: switched_off(runtime, id), bool, SECONDS, "be switched off")
    raise AssertionError(f"no such moment in {TRIES} tries")


def status(daemon: Libvirtd) -> str:
    try:
        return (
            next((daemon.folder / "run" / "qemu").glob("machine*.xml")).read_text().partition("<qemuCaps>")[0]
        )
    except (StopIteration, FileNotFoundError):
        return ""


def switched_off(runtime: LibvirtRuntime, id: str) -> bool:
    try:
        runtime.change(id, SetPower(Power.OFF))
    except Unavailable:
        return False
    return True


def state(runtime: LibvirtRuntime, id: str) -> MachineState | None:
    try:
        return runtime.objects(RuntimeMachine)[id].status.state
    except Unavailable:
        return None


def create(runtime: LibvirtRuntime) -> str:
    spec = RuntimeMachineSpec(class_name="small", power=Power.OFF)
    return runtime.create(RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=spec)).id


def test_guest_that_never_had_a_process_is_started_when_libvirtd_is_back(daemon: Libvirtd) -> None:
    with running_runtime(micro_settings(daemon)) as runtime:
        id = create(runtime)
        unborn(daemon, runtime, id)
        assert daemon.guests() == {}
        daemon.start()
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.RUNNING, SECONDS, "run")
        eventually(lambda: daemon.guests().keys(), lambda ids: ids == {id}, SECONDS, "run once")


@pytest.mark.long  # libvirt waits for half a minute before it says no
def test_condition_names_the_file_to_remove_without_the_drop_in(daemon: Libvirtd) -> None:
    with running_runtime(micro_settings(daemon)) as runtime:
        id = create(runtime)
        unborn(daemon, runtime, id)
        (file,) = (daemon.folder / "run" / "qemu").glob("machine*.xml")
        file.write_text(
            file.read_text().replace("pid='0'", 'pid="0"', 1)
        )  # a spelling that the drop-in does not look for
        daemon.start()
        ready = eventually(lambda: condition(runtime, id), is_timed_out, 120, "be in trouble")
        assert ready is not None
        assert f"remove {file.name} from its state folder (/run/libvirt/qemu)" in ready.message
        with pytest.raises(Unavailable, match="stop libvirtd"):
            runtime.remove(RuntimeMachine, id)
        daemon.kill()
        file.unlink()
        daemon.start()
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.RUNNING, 120, "run")


def condition(runtime: LibvirtRuntime, id: str) -> RuntimeCondition | None:
    try:
        machine = runtime.objects(RuntimeMachine)[id]
    except Unavailable:
        return None
    return next((one for one in machine.status.conditions if one.type == "Ready"), None)


def is_timed_out(ready: RuntimeCondition | None) -> bool:
    return ready is not None and ready.reason == "TimedOut"


def test_drop_in_removes_states_without_a_process_and_nothing_else(tmp_path: Path) -> None:
    unit = UNIT.read_text()
    command = re.search(r"ExecStartPre=-/bin/sh -c '(.*)'", unit)
    assert command is not None
    heads = {"running": "state='running' pid='82'", "unborn": "state='paused' reason='starting up' pid='0'"}
    for name, head in heads.items():
        (tmp_path / f"{name}.xml").write_text(
            f"<!-- pid='0' -->\n\n<domstatus {head}>\n  <x pid='0'/>\n</domstatus>\n"
        )
    script = command[1].replace("/run/libvirt/qemu", str(tmp_path))
    for _ in range(2):
        subprocess.run(["/bin/sh", "-c", script], check=False)
        assert [path.name for path in tmp_path.iterdir()] == ["running.xml"]
