"""What each kind of change does, as a person reads it. Two documents in, lines of a plan out."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.effects.context import VALIDATION, EffectContext, VolumeClassPolicy
from schemas.effects.effect import AtNextBoot, Recorded
from schemas.effects.removal import list_local_disks, losses_of_machine, removal_of, rename_of
from schemas.effects.rules import compare_documents, effect_of
from schemas.effects.words import describe_change, describe_effect, describe_values
from schemas.kinds import Kind
from schemas.model import Machine, decode

ROOT = {"name": "root", "localDisk": {"sizeLimit": "10Gi", "image": "debian"}}
SCRATCH = {"name": "scratch", "localDisk": {"sizeLimit": "5Gi"}}
DATA = {"name": "data", "volumeRef": {"name": "db-data"}}
OWN = {"name": "own", "ephemeral": {"volumeTemplate": {"spec": {"resources": {"storage": "2Gi"}}}}}
NIC = {"name": "nic", "networkInterfaceRef": {"name": "db-nic"}}


KEYS = [
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{letter * 44} {who}@laptop"
    for letter, who in (("x", "ann"), ("y", "tom"))
]


def test_both_values_differ_in_what_is_shown() -> None:
    assert describe_values("a", "b") == ("a", "b")
    old, new = describe_values([KEYS[0]], KEYS)
    assert old == "[1 as before]"
    assert new.startswith("[1 as before, ssh-ed25519 AAAA")
    assert new.endswith("yyyy tom@laptop]")
    old, new = describe_values("same " * 20 + "old", "same " * 20 + "new")
    assert (old[-3:], new[-3:]) == ("old", "new")


def machine(*disks: Any, name: str = "db-1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "Machine",
        "metadata": {"name": name},
        "spec": {"machineClassRef": {"name": "small"}, "volumes": list(disks), **spec},
    }


def model(body: dict[str, Any]) -> Machine:
    found = decode(Kind.MACHINE, body)
    assert isinstance(found, Machine)
    return found


def on_home_1(before: dict[str, Any], **known: Any) -> EffectContext:
    was = model(before)
    return EffectContext(
        "db-1", "home-1", losses=losses_of_machine(was), local_disks=list_local_disks(was), **known
    )


def lines(before: dict[str, Any], after: dict[str, Any], **known: Any) -> list[str]:
    context = on_home_1(before, **known)
    return [
        f"{describe_change(change)}: {describe_effect(effect_of(change, context))}"
        for change in compare_documents(Kind.MACHINE, before, after)
    ]


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(machine(), machine(), [], id="nothing"),
        pytest.param(machine(), machine(power="On"), [], id="a default that is written"),
        pytest.param(machine(ROOT, DATA), machine(DATA | {"device": "odb"}, ROOT | {"device": "oda"}), [], id="another order"),
        pytest.param(machine(SCRATCH), machine({"name": "scratch", "emptyDisk": {"sizeLimit": "5120Mi"}}), [], id="a former name, another notation"),
        pytest.param(machine(), machine(power="Off"), ["spec.power: On -> Off: STOPS the machine now"], id="power off"),
        pytest.param(machine(power="Off"), machine(), ["spec.power: Off -> On: starts the machine now"], id="power on"),
        pytest.param(
            machine(), machine() | {"spec": {**machine()["spec"], "machineClassRef": {"name": "large"}}},
            ["spec.machineClassRef.name: small -> large: as far as the runtime can now, the rest at the next boot (run `gitvirt restart db-1`)"],
            id="class",
        ),
        pytest.param(
            machine(ROOT, machinePoolRef={"name": "home-1"}), machine(ROOT, machinePoolRef={"name": "home-2"}),
            ["spec.machinePoolRef.name: home-1 -> home-2: moves the machine: STOPS on home-1, starts on home-2; DESTROYS local disk root of db-1, 10Gi; "
             "waits until you accept that (`onPoolLost: Replace`)"],
            id="a pin to another pool",
        ),
        pytest.param(
            machine(DATA), machine(DATA, machinePoolRef={"name": "home-2"}),
            ["spec.machinePoolRef.name: none -> home-2: moves the machine: STOPS on home-1, starts on home-2"],
            id="a new pin",
        ),
        pytest.param(
            machine(DATA), machine(DATA, machinePoolRef={"name": "home-1"}),
            ["spec.machinePoolRef.name: none -> home-1: recorded; it is on that pool already"],
            id="a pin to where it is",
        ),
        pytest.param(
            machine(DATA, machinePoolRef={"name": "home-1"}), machine(DATA),
            ["spec.machinePoolRef.name: home-1 -> none: at the next placement; nothing that runs is moved"],
            id="a pin that is removed",
        ),
        pytest.param(
            machine(ROOT), machine(ROOT | {"localDisk": {"sizeLimit": "20Gi", "image": "debian"}}),
            ["spec.volumes[root].localDisk.sizeLimit: 10Gi -> 20Gi: not possible: the size of local disk root cannot change: 10Gi -> 20Gi; "
             "restore the size, use a volume for data that grows, or delete and recreate the machine"],
            id="a larger local disk",
        ),
        pytest.param(
            machine(ROOT), machine(ROOT | {"localDisk": {"sizeLimit": "10Gi", "image": "alpine"}}),
            ["spec.volumes[root].localDisk.image: debian -> alpine: not possible: the image of disk root cannot change: debian -> alpine; "
             "restore the disk, or delete and recreate the machine"],
            id="another image",
        ),
        pytest.param(
            machine(ROOT, SCRATCH), machine(ROOT),
            ["spec.volumes[scratch]: {name: scratch, localDisk: {sizeLimit: 5Gi}, device: odb} -> none: now, without a restart; detached; "
             "DESTROYS local disk scratch of db-1, 5Gi"],
            id="a blank local disk that is removed",
        ),
        pytest.param(
            machine(ROOT, OWN), machine(ROOT),
            ["spec.volumes[own]: {name: own, ephemeral: {volumeTemplate: {spec: {resources... -> none: now, without a restart; detached; "
             "DESTROYS volume db-1-own, 2Gi"],
            id="a generated volume that is removed",
        ),
        pytest.param(
            machine(SCRATCH), machine({"name": "scratch", "volumeRef": {"name": "db-data"}}),
            ["spec.volumes[scratch].localDisk: {sizeLimit: 5Gi} -> none: now, without a restart; detached; DESTROYS local disk scratch of db-1, 5Gi",
             "spec.volumes[scratch].volumeRef: none -> {name: db-data}: now, without a restart; attached while the guest runs"],
            id="a volume in place of a local disk",
        ),
        pytest.param(
            machine(DATA), machine({"name": "data", "volumeRef": {"name": "restored"}}),
            ["spec.volumes[data].volumeRef.name: db-data -> restored: now, without a restart; "
             "the old volume is detached and stays, the new one is attached while the guest runs"],
            id="another volume",
        ),
        pytest.param(
            machine(), machine(networkInterfaces=[NIC]),
            ["spec.networkInterfaces[nic]: none -> {name: nic, networkInterfaceRef: {name: db-nic}}: now, without a restart; "
             "attached or detached while the guest runs"],
            id="a new interface",
        ),
        pytest.param(
            machine(ROOT), machine(ROOT, guestConfig={"hostname": "other"}),
            [
                "spec.guestConfig.hostname: none -> other: not possible: the host name cannot change after the first boot: db-1 -> other; "
                "restore it and change the name inside the guest, or recreate the machine"
            ],
            id="host name",
        ),
        pytest.param(
            machine(ROOT), machine(ROOT, ignitionRef={"name": "boot"}),
            ["spec.ignitionRef: none -> {name: boot}: no effect on what exists: `gitvirt replace db-1` RECREATES it, which DESTROYS local disk root of db-1, 10Gi, "
             "the guest has read it at its first boot"],
            id="first-boot data",
        ),
        pytest.param(
            machine(), machine(onPoolLost="Replace"),
            ["spec.onPoolLost: Keep -> Replace: recorded; from now on local data may be lost where its pool is lost, drained or no longer pinned"],
            id="onPoolLost",
        ),
    ],
)  # fmt: skip
def test_a_change_of_a_machine(before: dict[str, Any], after: dict[str, Any], want: list[str]) -> None:
    assert lines(before, after) == want


def test_consent_to_the_loss_of_local_data_ends_the_wait() -> None:
    before, after = machine(ROOT), machine(ROOT, machinePoolRef={"name": "home-2"})
    (line,) = lines(before, after, accepts_data_loss=True)
    assert line.endswith("starts on home-2; DESTROYS local disk root of db-1, 10Gi")


def test_nothing_is_created_yet_so_everything_counts() -> None:
    after = machine(ROOT | {"localDisk": {"sizeLimit": "20Gi", "image": "debian"}})
    (line,) = lines(machine(ROOT), after, is_created=False)
    assert line.endswith("applies when it is created")


def test_a_paused_object_changes_later() -> None:
    (line,) = lines(machine(), machine(power="Off"), is_paused=True)
    assert line.endswith("recorded; applied once it is no longer paused")


def test_secrets_are_not_shown() -> None:
    before, after = {"stringData": {"key": "old-secret"}}, {"stringData": {"key": "new-secret"}}
    (change,) = compare_documents(Kind.SECRET, before, after)
    assert describe_change(change) == "stringData.key: (hidden) -> (hidden)"
    assert "secret" not in repr((change.old, change.new))


def test_a_machine_that_takes_over_a_volume_is_a_rename() -> None:
    old = model(machine(ROOT, DATA, networkInterfaces=[NIC]))
    new = model(machine(ROOT, DATA, name="db-2", networkInterfaces=[NIC]))
    rename = rename_of(old, new)
    assert rename is not None
    assert describe_effect(rename) == (
        "renamed db-1 -> db-2: RECREATED under the new name; keeps volume db-data, interface db-nic; DESTROYS local disk root of db-1, 10Gi"
    )
    assert rename_of(old, model(machine(ROOT, name="db-2"))) is None


@pytest.mark.parametrize(
    ("policy", "is_owned", "want"),
    [
        ("Delete", False, "DELETE; DESTROYS volume data, 1Gi"),
        ("Retain", True, "DELETE; keeps volume data, 1Gi"),
        (None, False, "DELETE; keeps volume data, 1Gi"),
        (None, True, "DELETE; DESTROYS volume data, 1Gi"),
    ],
)
def test_the_removal_of_a_volume(policy: str | None, is_owned: bool, want: str) -> None:
    spec = {"resources": {"storage": "1Gi"}} | ({"deletionPolicy": policy} if policy else {})
    body = {
        "apiVersion": "storage.ironcore.dev/v1alpha1",
        "kind": "Volume",
        "metadata": {"name": "data"},
        "spec": spec,
    }
    assert describe_effect(removal_of(decode(Kind.VOLUME, body), is_owned=is_owned)) == want


def test_a_volume_grows_only_as_its_class_allows() -> None:
    before, after = ({"spec": {"resources": {"storage": size}}} for size in ("1Gi", "2Gi"))
    (grown,) = compare_documents(Kind.VOLUME, before, after)
    (shrunk,) = compare_documents(Kind.VOLUME, after, before)

    def of_class(policy: str) -> EffectContext:
        classes = {"fast": VolumeClassPolicy(policy, "classes.yaml")}
        return EffectContext("data", "store", volume_class="fast", volume_classes=classes)

    grows, static = of_class("ExpandOnly"), of_class("Static")
    assert "without a restart" in describe_effect(effect_of(grown, grows))
    assert "its class fast is Static: 1Gi -> 2Gi" in describe_effect(effect_of(grown, static))
    assert "cannot shrink" in describe_effect(effect_of(shrunk, VALIDATION))


def test_a_class_that_the_machine_did_not_get_yet_is_taken_back_without_effect() -> None:
    small, large = (
        machine() | {"spec": {**machine()["spec"], "machineClassRef": {"name": name}}}
        for name in ("small", "large")
    )
    (back,) = compare_documents(Kind.MACHINE, large, small)
    has_small = EffectContext("db-1", is_running=True, actual_class="small")
    assert effect_of(back, has_small) == Recorded("the machine has not been resized to large yet")
    assert isinstance(effect_of(back, EffectContext("db-1", is_running=True)), AtNextBoot)


def test_a_gateway_is_recorded_and_a_vlan_applied() -> None:
    def effects(**spec: object) -> list[str]:
        before: dict[str, Any] = {"spec": {"providerID": "bridge:br0"}}
        after: dict[str, Any] = {"spec": {**before["spec"], **spec}}
        found = compare_documents(Kind.NETWORK, before, after)
        return [f"{describe_change(one)}: {describe_effect(effect_of(one, VALIDATION))}" for one in found]

    kept = "recorded; guests have read it at their first boot: machines that exist keep the old one until `gitvirt replace` recreates them"
    assert effects(gateway="10.0.0.1", dns=["10.0.0.53"]) == [
        f"spec.dns: none -> [10.0.0.53]: {kept}",
        f"spec.gateway: none -> 10.0.0.1: {kept}",
    ]
    assert effects(vlan=7) == [
        "spec.vlan: none -> 7: now, without a restart; interfaces in it are detached and attached again while the guest runs"
    ]


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ({"sshAuthorizedKeys": ["ssh-ed25519 A"]}, "sshAuthorizedKeys: none -> [ssh-ed25519 A]"),
        ({"users": [{"name": "app"}]}, "users: none -> [{name: app}]"),
        ({"packages": ["nginx"]}, "packages: none -> [nginx]"),
        ({"runCommands": ["a\nb"]}, "runCommands: none -> [a\\nb]"),
        ({"userData": "#!/bin/sh\ntrue"}, "userData: none -> #!/bin/sh\\ntrue"),
        ({"timezone": "UTC"}, "timezone: none -> UTC"),
    ],
)
def test_first_boot_data_is_for_new_machines_and_the_cure_is_named(config: Any, shown: str) -> None:
    assert lines(machine(ROOT, OWN), machine(ROOT, OWN, guestConfig=config)) == [
        f"spec.guestConfig.{shown}: no effect on what exists: `gitvirt replace db-1` RECREATES it, "
        "which DESTROYS local disk root of db-1, 10Gi, the guest has read it at its first boot"
    ]
