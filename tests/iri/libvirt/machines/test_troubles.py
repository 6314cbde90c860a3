"""Causes that keep a machine from being created: the condition names the cause, nothing incomplete is left, and once the cause is
fixed the machine is created without a further call.
"""

from __future__ import annotations

import functools
import hashlib
import operator
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.host import RuntimeMachineClass
from iri.libvirt.domain.traits import ClassTraits
from iri.libvirt.images.settings import ImageSettings
from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.settings import Settings
from iri.libvirt.volumes.settings import DirPool, StorageSettings
from iri.machine import Disk, Image, MachineState, RuntimeLocalDisk, RuntimeMachine, RuntimeMachineSpec
from tests.iri.contract.subject import devices, eventually, is_attached, uid_labels
from tests.iri.libvirt.world import micro_settings, running_runtime
from tests.servers.depot import Depot, depot_server
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd, libvirtd
from tests.servers.mounts import small_filesystem

MIB = 1 << 20
SECONDS = 90.0
BODY = b"image" * 200_000


@dataclass(frozen=True)
class Place:
    depot: Depot
    images: Path
    disk: Path


@dataclass(frozen=True)
class StepFailure:
    """`fix` removes the cause."""

    machine: RuntimeMachineSpec
    cause: str
    fix: Callable[[], object]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with small_filesystem(tmp_path_factory.mktemp("disk") / "small", 4 * MIB) as made:
        yield made


@pytest.fixture(scope="module")
def daemon(disk: Path) -> Iterator[Libvirtd]:
    """It sees the disk, because that was mounted before."""
    assert disk.is_dir()
    with libvirtd() as made:
        yield made


@pytest.fixture
def place(daemon: Libvirtd, disk: Path) -> Iterator[Place]:
    images = daemon.folder / "images"
    images.mkdir(exist_ok=True)
    with depot_server() as depot:
        yield Place(depot, images, disk)


@pytest.fixture
def settings(daemon: Libvirtd, place: Place) -> Settings:
    micro = micro_settings(daemon)
    wide = replace(
        micro.host,
        traits={**micro.host.traits, "wide": replace(micro.host.traits["small"], is_hugepages=True)},
        classes=replace(
            micro.host.classes,
            machines=(
                *micro.host.classes.machines,
                RuntimeMachineClass(name="wide", resources={"cpu": 1, "memory": 8 * MIB}),
            ),
        ),
    )
    assert isinstance(wide.traits["wide"], ClassTraits)
    down = f"127.0.0.1:{free_port()}"
    return replace(
        micro,
        host=wide,
        images=ImageSettings(paths=(str(place.images),), plain_http=(place.depot.host, down)),
        storage=StorageSettings(pools=(DirPool(name="small", path=str(place.disk / "v"), overcommit=1000),)),
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def on(image: str = "", size_bytes: int = MIB, class_name: str = "small") -> RuntimeMachineSpec:
    local = RuntimeLocalDisk(size_bytes=size_bytes, image=Image(image=image) if image else None)
    return RuntimeMachineSpec(
        class_name=class_name, volumes=(Disk(name="root", device="oda", local_disk=local),)
    )


def server_down(place: Place, settings: Settings) -> StepFailure:
    host = settings.images.plain_http[1]
    (place.images / "late.img").write_bytes(BODY)
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(place.images))

    def fix() -> None:
        server = ThreadingHTTPServer(("127.0.0.1", int(host.rpartition(":")[2])), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    url = f"http://{host}/late.img#sha256={hashlib.sha256(BODY).hexdigest()}"
    return StepFailure(on(url), "does not answer: .*refused", fix)


def not_on_the_server(place: Place, settings: Settings) -> StepFailure:
    del settings
    url = place.depot.url("/absent.img")
    return StepFailure(on(url), "answers 404", lambda: place.depot.put("/absent.img", BODY))


def wrong_checksum(place: Place, settings: Settings) -> StepFailure:
    del settings
    url = place.depot.put("/wrong.img", BODY[::-1])
    wanted = f"{url}#sha256={hashlib.sha256(BODY).hexdigest()}"
    cause = "the image has digest sha256:"
    return StepFailure(on(wanted), cause, lambda: place.depot.put("/wrong.img", BODY))


def truncated_qcow2(place: Place, settings: Settings) -> StepFailure:
    del settings
    whole, cut = place.images / "whole.qcow2", place.images / "cut.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", whole, str(MIB)], check=True)
    subprocess.run(["qemu-io", "-c", "write 0 1M", "-f", "qcow2", whole], check=True, capture_output=True)
    body = whole.read_bytes()
    cut.write_bytes(body[: len(body) // 2])
    return StepFailure(on(str(cut)), "cut off", lambda: cut.write_bytes(body))


def disk_full(place: Place, settings: Settings) -> StepFailure:
    del settings
    filler = place.disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            file.flush()
    return StepFailure(on(), "[Nn]o space( is)? left", filler.unlink)


TROUBLES = (server_down, not_on_the_server, wrong_checksum, truncated_qcow2, disk_full)


@pytest.mark.parametrize("make", TROUBLES, ids=lambda make: make.__name__)
def test_failure_is_a_condition_with_its_cause_until_it_is_fixed(
    make: Callable[[Place, Settings], StepFailure], daemon: Libvirtd, place: Place, settings: Settings
) -> None:
    with running_runtime(settings) as runtime:
        trouble = make(place, settings)
        id = runtime.create(RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=trouble.machine)).id
        is_refused(runtime, daemon, id, trouble.cause)
        assert list((place.disk / "v").glob("disk-*")) == [], "nothing half-made"
        machine = runtime.objects(RuntimeMachine)[id]
        assert not any(is_attached(machine, name) for name in devices(machine))
        trouble.fix()
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.RUNNING, SECONDS, "run")
        is_removed(runtime, id)
    assert not leftovers(daemon, Path(settings.folder))


def test_request_beyond_this_host_is_a_condition_and_leaves_nothing_behind(
    daemon: Libvirtd, settings: Settings
) -> None:
    """Huge pages, of which the host has none."""
    with running_runtime(settings) as runtime:
        id = runtime.create(RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=on(class_name="wide"))).id
        is_refused(runtime, daemon, id, "[Hh]uge ?pages?|hugetlbfs|memory")
        is_removed(runtime, id)
    assert not leftovers(daemon, Path(settings.folder))


def is_refused(runtime: LibvirtRuntime, daemon: Libvirtd, id: str, cause: str) -> None:
    def message_of() -> str:
        conditions = runtime.objects(RuntimeMachine)[id].status.conditions
        return next((one.message for one in conditions if one.type == "Ready" and one.status == "False"), "")

    eventually(message_of, lambda message: re.search(cause, message) is not None, SECONDS, f"say {cause}")
    machine = runtime.objects(RuntimeMachine)[id]
    assert machine.status.state is MachineState.PENDING
    messages = [event.message for event in runtime.events() if event.id == id and event.type == "Warning"]
    assert any(re.search(cause, message) for message in messages)
    assert daemon.guests() == {}


def state(runtime: LibvirtRuntime, id: str) -> MachineState:
    return runtime.objects(RuntimeMachine)[id].status.state


def is_removed(runtime: LibvirtRuntime, id: str) -> None:
    runtime.remove(RuntimeMachine, id)
    eventually(lambda: id in runtime.objects(RuntimeMachine), operator.not_, SECONDS, "be removed")
