"""Power on real libvirt: machines are on or off as desired, through orders, graces, crashes, and restarts of everything."""

from __future__ import annotations

import operator
import time

import pytest

from iri.change import SetPower
from iri.libvirt.settings import Settings
from iri.machine import MachineState, Power
from tests.iri.contract.subject import OFF, eventually
from tests.iri.libvirt.machines.lab import SECONDS, Lab, condition, is_in_sync
from tests.iri.libvirt.world import running_runtime, with_power
from tests.servers.libvirtd import Libvirtd


def test_guest_that_powered_itself_off_stays_off_after_restarts_of_libvirtd_and_runtime(
    daemon: Libvirtd, settings: Settings
) -> None:
    settings = with_power(settings, guest_poweroff="stay")
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        id = lab.running()
        lab.press(id, b"Q")
        assert lab.reaches(id, *OFF).detail.reason == "GuestPowerOff"
        # Only then is it recorded, and a new runtime on a new libvirtd knows it.
        eventually(
            lambda: '"is_halted":true' in daemon.virsh("dumpxml", id).stdout.replace("&quot;", '"'),
            bool,
            SECONDS,
            "be halted for good",
        )
    daemon.kill()
    daemon.start()
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        found = lab.until(id, is_in_sync, "be looked at")
        assert found.status.state in OFF
        assert found.detail.reason == "GuestPowerOff"
        assert "Started" not in lab.reasons(id)
        runtime.change(id, SetPower(Power.ON))
        lab.reaches(id, MachineState.RUNNING)
        lab.remove(id)


def test_guest_that_ignores_the_power_button_is_forced_off_in_the_end(lab: Lab) -> None:
    id = lab.running()
    lab.daemon.virsh("suspend", id)
    lab.until(id, lambda machine: condition(machine, "Ready").reason == "Paused", "be paused")  # type: ignore[union-attr]
    began = time.monotonic()
    lab.runtime.change(id, SetPower(Power.OFF))
    lab.reaches(id, *OFF)
    assert time.monotonic() - began >= 1.5
    reasons_in_order = ["Stopping", "ForcedOff", "PowerOff"]
    eventually(
        lambda: lab.reasons(id)[-3:],
        lambda reasons: reasons == reasons_in_order,
        SECONDS,
        f"tell {reasons_in_order}",
    )
    assert not lab.is_autostart(id)


def test_power_on_before_the_guest_is_off_keeps_it_running(daemon: Libvirtd, settings: Settings) -> None:
    with running_runtime(with_power(settings, stop_timeout=3600.0)) as runtime:
        lab = Lab(daemon, settings, runtime)
        id = lab.running()
        daemon.virsh("suspend", id)
        runtime.change(id, SetPower(Power.OFF))
        lab.tells(id, "Stopping")
        runtime.change(id, SetPower(Power.ON))
        lab.until(id, lambda machine: machine.status.observed_generation == 2, "think better of it")
        daemon.virsh("resume", id)
        lab.until(id, is_in_sync, "go on")
        lab.reaches(id, MachineState.RUNNING)
        assert "ForcedOff" not in lab.reasons(id)
        lab.remove(id)


@pytest.mark.clock
def test_power_off_during_a_restart_delay_ends_it(daemon: Libvirtd, settings: Settings) -> None:
    settings = with_power(settings, first_restart=3600.0, longest_restart=3600.0)
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        id = lab.running()
        assert not lab.is_autostart(id)
        daemon.kill_guest(id)
        lab.reaches(id, MachineState.TERMINATED)
        runtime.change(id, SetPower(Power.OFF))
        lab.reaches(id, MachineState.SUSPENDED)
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        assert lab.machine(id).status.state is MachineState.SUSPENDED, "known as it begins"
        runtime.change(id, SetPower(Power.ON))
        lab.reaches(id, MachineState.RUNNING)
        assert not lab.is_autostart(id)
        lab.remove(id)


def test_autostart_of_an_earlier_version_is_disabled_whatever_the_power(
    daemon: Libvirtd, settings: Settings
) -> None:
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        off, on = lab.create(power=Power.OFF), lab.running()
        lab.reaches(off, MachineState.SUSPENDED)
    for id in (off, on):
        daemon.virsh("autostart", id)
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        lab.reaches(off, MachineState.SUSPENDED)
        assert not lab.is_autostart(off)
        eventually(lambda: lab.is_autostart(on), operator.not_, SECONDS, "be disabled")
        assert lab.machine(on).status.state is MachineState.RUNNING
        for id in (off, on):
            lab.remove(id)
