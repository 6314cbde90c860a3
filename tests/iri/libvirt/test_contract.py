"""The libvirt runtime keeps every promise, on real libvirt with real guests."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.errors import NotFound
from iri.libvirt.images.settings import ImageSettings
from iri.libvirt.networks.network_policy import NetworkPolicy
from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.settings import Settings
from iri.machine import RuntimeMachine
from iri.runtime import AnyObject
from iri.volume import RuntimeSnapshot, RuntimeVolume
from tests.guests.micro import READY
from tests.iri.contract.devices import DevicePromises
from tests.iri.contract.host import HostPromises
from tests.iri.contract.logs import LogPromises
from tests.iri.contract.machines import MachinePromises
from tests.iri.contract.subject import Subject, eventually
from tests.iri.contract.unavailable import UnavailablePromises
from tests.iri.contract.usage import UsagePromises
from tests.iri.contract.volumes import VolumePromises
from tests.iri.libvirt.world import CLASSES, console_log, micro_settings, running_runtime, with_power
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd

MISSING = "of-the-operator"


@pytest.fixture(scope="module")
def settings(libvirtd: Libvirtd) -> Settings:
    """Restart delays are long, so that tests see guests that have ended. The policy names a network that does not exist."""
    made = with_power(micro_settings(libvirtd), first_restart=3600.0, longest_restart=3600.0)
    images = Path(made.folder) / "images-of-the-operator"
    images.mkdir()
    return replace(made, networks=NetworkPolicy(named=(MISSING,)), images=ImageSettings(paths=(str(images),)))


@pytest.fixture(scope="module")
def runtime(libvirtd: Libvirtd, settings: Settings) -> Iterator[LibvirtRuntime]:
    with running_runtime(settings) as made:
        yield made
        eventually(lambda: leftovers(libvirtd, Path(settings.folder)), operator.not_, 60, "leave nothing")


class TestLibvirt(
    MachinePromises,
    DevicePromises,
    UnavailablePromises,
    VolumePromises,
    HostPromises,
    LogPromises,
    UsagePromises,
):
    @pytest.fixture
    def subject(self, runtime: LibvirtRuntime, settings: Settings) -> Iterator[Subject]:
        def powers_itself_off(id: str) -> None:
            eventually(lambda: console_log(settings, id), lambda log: READY in log, 60, "be ready")
            console = runtime.console(id)
            console.write(b"Q")
            console.close()

        runtime.set_classes(CLASSES)
        yield Subject(
            seconds=60.0,
            notice_seconds=60.0,  # on a busy machine; the benchmark says how soon it really is
            runtime=runtime,
            machine_class="small",
            larger_class="large",
            volume_class="plain",
            network_id="net-1",
            missing_network_id=f"libvirt:{MISSING}",
            missing_image=str(Path(settings.images.paths[0]) / "no-such.qcow2"),
            unreachable_image="https://127.0.0.1:1/no-such.qcow2",
            volume_bytes=1 << 20,
            guest_powers_itself_off=powers_itself_off,
            # Firmware takes what comes before the guest is there.
            console_input=b"\r\n" * 32 + b"it-works\r\n",
        )
        remove_all(runtime)


def remove_all(runtime: LibvirtRuntime) -> None:
    def remove_kind(kind: type[AnyObject]) -> int:
        """How many there were."""
        ids = tuple(runtime.objects(kind))
        for id in ids:
            with contextlib.suppress(NotFound):
                runtime.remove(kind, id)
        return len(ids)

    eventually(
        lambda: remove_kind(RuntimeMachine) + remove_kind(RuntimeSnapshot) + remove_kind(RuntimeVolume),
        operator.not_,
        20,
        "remove everything",
    )
