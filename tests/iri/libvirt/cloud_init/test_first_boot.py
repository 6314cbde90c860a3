"""The proof of first-boot data: a Debian with cloud-init boots with nothing but its manifest, and one logs in to it over ssh.

No server gives out addresses on its bridge, so that the address can only come from the seed. The manifest's words take the whole way:
schema and model, the poollet's rendering, the libvirt runtime's seed, QEMU, cloud-init.
"""

from __future__ import annotations

import contextlib
import hashlib
import operator
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from iri.host import RuntimeMachineClass, RuntimeVolumeClass
from iri.libvirt.domain.traits import ClassTraits
from iri.libvirt.host.settings import HostSettings, OfferedClasses
from iri.libvirt.images.settings import ImageSettings
from iri.libvirt.networks.network_policy import Bridge, NetworkPolicy
from iri.libvirt.settings import Settings
from iri.machine import RuntimeGuestConfig, RuntimeMachine, RuntimeMachineSpec
from iri.volume import ImageSource, Resources, RuntimeVolume, RuntimeVolumeSpec, VolumeDataSource
from poollet.decide import model_to_iri
from poollet.decide.first_boot.render import render_first_boot
from schemas.kinds import Kind
from schemas.model import Machine, Network, decode
from schemas.model.compute import EphemeralNetworkInterface
from tests.iri.contract.devices import build_disk
from tests.iri.contract.subject import Subject, eventually, uid_labels
from tests.iri.libvirt.world import console_log, running_runtime
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd

MIB = 1 << 20
SECONDS = 1200.0  # two minutes on a machine that does nothing else, most of them for Python in an emulated processor
pytestmark = pytest.mark.timeout(1800)
BRIDGE, HOST_ADDRESS, ADDRESS, PORT = "br-office", "10.120.0.1", "10.120.0.7", 8080
CMDLINE = "root=/dev/vda rw console=ttyS0 quiet mitigations=off no_timer_check"
IMAGE_BYTES = 1536 * MIB
DEBIAN = RuntimeMachineClass(name="debian", resources={"cpu": 1, "memory": 512 * MIB})
NETWORK = f"""
apiVersion: networking.ironcore.dev/v1alpha1
kind: Network
metadata: {{name: office}}
spec: {{providerID: "bridge:{BRIDGE}", ipv4: {{cidr: 10.120.0.0/24}}, gateway: {HOST_ADDRESS}, dns: [10.120.0.53]}}
"""
MACHINE = f"""
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata: {{name: web-1}}
spec:
  machineClassRef: {{name: debian}}
  networkInterfaces:
    - name: office
      ephemeral:
        networkInterfaceTemplate:
          spec: {{networkRef: {{name: office}}, ips: [{{value: {ADDRESS}}}]}}
  guestConfig:
    sshAuthorizedKeys: [KEY]
    users:
      - {{name: app, sshAuthorizedKeys: [KEY], groups: [adm], sudo: true, shell: /bin/bash}}
    packages: [gitvirt-greeting]
    runCommands:
      - echo "ü from guestConfig" >>/var/lib/first-boot
      - gitvirt-greeting >>/var/lib/first-boot
    timezone: Europe/Berlin
    userData: |
      #cloud-config
      users:
        - name: other
      bootcmd:
        - rm -rf /etc/apt/sources.list.d
        - echo "deb [trusted=yes] http://{HOST_ADDRESS}:{PORT}/ ./" >/etc/apt/sources.list
      runcmd:
        - echo "ö from userData" >>/var/lib/first-boot
"""


@dataclass(frozen=True)
class Office:
    """A runtime, and a host that logs in to its guests."""

    subject: Subject
    settings: Settings
    daemon: Libvirtd
    image: Path
    key: Path

    def ssh(self, user: str, command: str) -> str:
        """What the command prints; empty while the guest does not answer or does not let the user in."""
        options = (
            "BatchMode=yes",
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "ConnectTimeout=20",
        )
        words = [word for option in options for word in ("-o", option)]
        try:
            return self.daemon.inside("ssh", "-i", self.key, *words, f"{user}@{ADDRESS}", command).stdout
        except subprocess.CalledProcessError:
            return ""

    def await_ssh(self, user: str, command: str, want: Callable[[str], bool], what: str) -> str:
        try:
            return eventually(lambda: self.ssh(user, command), want, SECONDS, what)
        except AssertionError as error:
            (machine,) = self.subject.runtime.objects(RuntimeMachine).values()
            error.add_note(console_log(self.settings, machine.id).decode(errors="replace")[-4000:])
            raise


@pytest.fixture
def office(libvirtd: Libvirtd) -> Iterator[Office]:
    image = Path(os.environ["GITVIRT_CLOUD_GUEST"])
    folder = libvirtd.folder / f"cloud-{uuid.uuid4().hex[:8]}"
    folder.mkdir(mode=0o711)
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    for name in ("vmlinuz", "initrd.img"):  # QEMU's user may not enter the cache
        (folder / name).write_bytes((image / name).read_bytes())
    settings = make_settings(libvirtd, folder, image)
    for words in (f"add {BRIDGE} type bridge", f"set {BRIDGE} up"):
        libvirtd.inside("ip", "link", *words.split())
    libvirtd.inside("ip", "address", "add", f"{HOST_ADDRESS}/24", "dev", BRIDGE)
    with serve_package(libvirtd, folder / "packages"), running_runtime(settings) as runtime:
        subject = Subject(
            runtime=runtime,
            machine_class="debian",
            larger_class="debian",
            volume_class="plain",
            network_id=f"bridge:{BRIDGE}",
            seconds=SECONDS,
            volume_bytes=IMAGE_BYTES,
        )
        yield Office(subject, settings, libvirtd, image, key)
        for machine in runtime.objects(RuntimeMachine):
            runtime.remove(RuntimeMachine, machine)
        eventually(lambda: runtime.objects(RuntimeMachine), operator.not_, SECONDS, "remove the machine")
        for volume in runtime.objects(RuntimeVolume):
            runtime.remove(RuntimeVolume, volume)
        eventually(lambda: runtime.objects(RuntimeVolume), operator.not_, SECONDS, "remove the volume")
        eventually(lambda: leftovers(libvirtd, folder), operator.not_, SECONDS, "leave nothing")
    libvirtd.inside("ip", "link", "del", BRIDGE)


@contextlib.contextmanager
def serve_package(daemon: Libvirtd, folder: Path) -> Iterator[None]:
    """A source of packages for the guest, on the host's address of its bridge, with one package."""
    root = folder / "root"
    program = root / "usr" / "bin" / "gitvirt-greeting"
    for each in (root / "DEBIAN", program.parent):
        each.mkdir(parents=True, mode=0o755)
    program.write_text("#!/bin/sh\necho hello from a package\n")
    program.chmod(0o755)
    control = "Package: gitvirt-greeting\nVersion: 1\nArchitecture: all\nMaintainer: tests <tests@example.org>\nDescription: greets\n"
    (root / "DEBIAN" / "control").write_text(control)
    package = folder / "gitvirt-greeting.deb"
    subprocess.run(
        ["dpkg-deb", "--build", "--root-owner-group", root, package], check=True, capture_output=True
    )
    shutil.rmtree(root)
    data = package.read_bytes()
    index = f"{control}Filename: ./{package.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
    (folder / "Packages").write_text(index)
    digest = hashlib.sha256(index.encode()).hexdigest()
    (folder / "Release").write_text(f"SHA256:\n {digest} {len(index)} Packages\n")
    words = [
        "nsenter",
        "-t",
        str(daemon.pid),
        "-n",
        sys.executable,
        "-m",
        "http.server",
        str(PORT),
        "--bind",
        HOST_ADDRESS,
    ]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            yield
        finally:
            server.kill()


def make_settings(daemon: Libvirtd, folder: Path, image: Path) -> Settings:
    """Of a host that boots Debian by its kernel, and whose operator allows the bridge."""
    kernel, initramfs = folder / "vmlinuz", folder / "initrd.img"
    traits = ClassTraits(kernel=str(kernel), initramfs=str(initramfs), cmdline=CMDLINE)
    return Settings(
        uri=daemon.uri,
        folder=str(folder),
        host=HostSettings(
            accelerator="tcg",
            reserved={},
            classes=OfferedClasses(machines=(DEBIAN,), volumes=(RuntimeVolumeClass(name="plain"),)),
            traits={"debian": traits},
        ),
        networks=NetworkPolicy(bridges={BRIDGE: Bridge()}),
        images=ImageSettings(paths=(str(image),)),
        qemu_logs=str(daemon.folder / "log" / "qemu"),
    )


def read_manifest(text: str) -> dict[str, Any]:
    body: dict[str, Any] = YAML(typ="safe", pure=True).load(text)
    return body


def machine_of(office: Office) -> RuntimeMachine:
    """As the poollet would create it, on a volume made of the image."""
    public = office.key.with_suffix(".pub").read_text().strip()
    machine = decode(Kind.MACHINE, read_manifest(MACHINE.replace("KEY", f'"{public}"')))
    network = decode(Kind.NETWORK, read_manifest(NETWORK))
    assert isinstance(machine, Machine)
    assert isinstance(network, Network)
    (entry,) = machine.spec.network_interfaces
    assert isinstance(entry.source, EphemeralNetworkInterface)
    spec = entry.source.network_interface_template.spec
    data = render_first_boot(machine, machine.spec.guest_config.user_data.encode())
    assert isinstance(data, bytes)
    root = RuntimeVolumeSpec(
        class_name="plain",
        resources=Resources(storage_bytes=IMAGE_BYTES),
        volume_data_source=VolumeDataSource(
            image_data_source=ImageSource(image=str(office.image / "root.raw"))
        ),
    )
    volume = office.subject.available(RuntimeVolume(labels=uid_labels(RuntimeVolume), spec=root))
    assert volume.status.access is not None
    return RuntimeMachine(
        labels=uid_labels(RuntimeMachine),
        spec=RuntimeMachineSpec(
            class_name="debian",
            ignition_data=data,
            guest_config=RuntimeGuestConfig(hostname=machine.hostname),
            volumes=(build_disk("root", "oda", volume.status.access, IMAGE_BYTES),),
            network_interfaces=(
                model_to_iri.interface(entry.name, spec, network, "fleet", "02:01:cc:a4:77:1c"),
            ),
        ),
    )


def test_one_logs_in_to_a_guest_that_knows_only_its_manifest(office: Office) -> None:
    office.subject.runtime.create(machine_of(office))
    done = office.await_ssh("debian", "cloud-init status --wait", lambda text: "status:" in text, "log in")
    assert "status: done" in done, office.ssh(
        "debian", "sudo cat /run/cloud-init/result.json; sudo grep -i -A9 warn /var/log/cloud-init.log"
    )
    assert office.ssh("debian", "hostname") == "web-1\n"
    assert f"inet {ADDRESS}/24" in office.ssh("debian", "ip -4 address show eth0")
    assert f"default via {HOST_ADDRESS} dev eth0" in office.ssh("debian", "ip route")
    assert "DNS=10.120.0.53" in office.ssh("debian", "cat /run/systemd/netif/links/*")
    assert office.ssh("debian", "readlink -f /etc/localtime") == "/usr/share/zoneinfo/Europe/Berlin\n"
    assert (
        office.ssh("debian", "cat /var/lib/first-boot")
        == "ö from userData\nü from guestConfig\nhello from a package\n"
    )
    assert "other" in office.ssh("debian", "getent passwd other"), "the user of userData"
    assert office.ssh("app", "sudo id -u; id -nG; echo $SHELL") == "0\napp adm\n/bin/bash\n"
