"""guestConfig on its way into a guest: golden files, laws, and what a reader of cloud-init's formats finds."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.libvirt.seed import seed
from poollet.decide.first_boot.cloud_config import quote
from poollet.decide.first_boot.render import REASON, render_first_boot
from poollet.decide.secrets import NotReady
from schemas.kinds import Kind
from schemas.model import Machine, decode
from schemas.model.user_data import STARTS, DataFormat, detect_language
from tests.iri.libvirt.seed.cloud_init_format import read_user_data, read_yaml

GOLDENS = Path(__file__).with_name("goldens")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f anna@laptop"
USER = {
    "name": "app",
    "sshAuthorizedKeys": [KEY],
    "groups": ["adm", "docker"],
    "shell": "/bin/bash",
    "sudo": True,
}
ALL: dict[str, Any] = {
    "sshAuthorizedKeys": [KEY, 'from="10.0.0.0/8" ' + KEY],
    "users": [USER, {"name": "plain"}],
    "runCommands": ["systemctl enable --now nginx", "echo \"ü: $HOME\" >>/var/log/x\necho 'two'"],
    "timezone": "Europe/Berlin",
}
OWN = b"#cloud-config\nruncmd:\n  - echo \xc3\xbc\nusers:\n  - name: other\n"
IGNITION = b'{"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": "core"}]}}'
IGNITION_YAML = b"# as people write it\nignition: {version: 3.3.0}\n"

# what the machine declares, data of the user's own
CASES: dict[str, tuple[dict[str, Any], bytes]] = {
    "keys": ({"sshAuthorizedKeys": [KEY]}, b""),
    "everything": ({**ALL, "packages": ["nginx", "jq"]}, b""),
    "beside-a-cloud-config": (ALL, OWN),
    "beside-a-script": ({"packages": ["jq"]}, b"#!/bin/sh\necho hello\n"),
    "beside-ignition": (ALL, IGNITION),
    "beside-ignition-in-yaml": ({"sshAuthorizedKeys": [KEY]}, IGNITION_YAML),
}


def machine(config: dict[str, Any]) -> Machine:
    body = {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "Machine",
        "metadata": {"name": "web-1"},
        "spec": {"machineClassRef": {"name": "small"}, "guestConfig": config},
    }
    found = decode(Kind.MACHINE, body)
    assert isinstance(found, Machine)
    return found


def render(config: dict[str, Any], own: bytes = b"") -> bytes:
    found = render_first_boot(machine(config), own)
    assert isinstance(found, bytes), found
    return found


@pytest.mark.parametrize("name", CASES)
def test_first_boot_data_is_as_in_its_golden_file(name: str, request: pytest.FixtureRequest) -> None:
    """Machines that exist were created with these bytes: if a file here changes, each of them says that its first-boot data differs."""
    golden, found = GOLDENS / f"{name}.txt", render(*CASES[name])
    if request.config.getoption("--regen"):
        golden.write_bytes(found)
    assert found == golden.read_bytes()


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in GOLDENS.iterdir()} == set(CASES)


@pytest.mark.parametrize("own", [b"", OWN, IGNITION, b"\x1f\x8bpacked", b"MIME-Version: 1.0\n", b"\xff\x00"])
@pytest.mark.parametrize("config", [{}, {"hostname": "db"}])
def test_data_alone_stays_as_it_is(config: dict[str, Any], own: bytes) -> None:
    assert render(config, own) == own


def test_a_cloud_config_says_what_the_manifest_says() -> None:
    assert read_user_data(render({**ALL, "packages": ["jq"]})) == {
        "ssh_authorized_keys": [KEY, 'from="10.0.0.0/8" ' + KEY],
        "users": [
            "default",
            {
                "name": "app",
                "lock_passwd": True,
                "shell": "/bin/bash",
                "sudo": "ALL=(ALL) NOPASSWD:ALL",
                "groups": ["adm", "docker"],
                "ssh_authorized_keys": [KEY],
            },
            {"name": "plain", "lock_passwd": True},
        ],
        "package_update": True,
        "packages": ["jq"],
        "runcmd": ALL["runCommands"],
        "timezone": "Europe/Berlin",
    }


def test_lists_are_added_to_those_of_the_user_and_values_of_the_user_stay() -> None:
    own = OWN + b"timezone: UTC\n"
    found = read_user_data(render(ALL, own))
    assert found["runcmd"] == ["echo ü", *ALL["runCommands"]]
    assert [each if isinstance(each, str) else each["name"] for each in found["users"]] == [
        "other",
        "default",
        "app",
        "plain",
    ]
    assert found["timezone"] == "UTC"
    assert found["ssh_authorized_keys"] == ALL["sshAuthorizedKeys"]


def test_a_script_stays_a_script_beside_the_cloud_config() -> None:
    found = read_user_data(render(*CASES["beside-a-script"]))
    assert found == {"package_update": True, "packages": ["jq"], "scripts": ["#!/bin/sh\necho hello\n"]}


def read_source(node: dict[str, Any]) -> bytes:
    assert node["source"].startswith("data:;base64,")
    return base64.b64decode(node["source"].removeprefix("data:;base64,"))


def test_ignition_merges_the_config_of_the_user() -> None:
    found = json.loads(render(ALL, IGNITION))
    (child,) = found["ignition"]["config"]["merge"]
    assert read_source(child) == IGNITION, "byte for byte"
    core, app, plain = found["passwd"]["users"]
    assert core == {"name": "core", "sshAuthorizedKeys": ALL["sshAuthorizedKeys"]}
    assert (app["groups"], app["shell"], plain) == (["adm", "docker"], "/bin/bash", {"name": "plain"})
    files = {
        each["path"]: (each["mode"], read_source(each["contents"])) for each in found["storage"]["files"]
    }
    assert files["/etc/hostname"] == (0o644, b"web-1\n")
    assert files["/etc/sudoers.d/90-gitvirt-app"] == (0o440, b"app ALL=(ALL) NOPASSWD:ALL\n")
    script = "#!/bin/sh\n" + "".join(f"{command}\n" for command in ALL["runCommands"])
    assert files["/etc/gitvirt/first-boot"] == (0o700, script.encode())
    (link,) = found["storage"]["links"]
    assert (link["path"], link["target"]) == ("/etc/localtime", "/usr/share/zoneinfo/Europe/Berlin")
    (unit,) = found["systemd"]["units"]
    assert unit["enabled"]
    assert "ExecStart=/etc/gitvirt/first-boot\n" in unit["contents"]


def test_ignition_in_yaml_is_merged_as_json() -> None:
    (child,) = json.loads(render({"timezone": "UTC"}, IGNITION_YAML))["ignition"]["config"]["merge"]
    assert json.loads(read_source(child)) == {"ignition": {"version": "3.3.0"}}


@pytest.mark.parametrize(
    ("config", "own", "says"),
    [
        ({"timezone": "UTC"}, b"\x1f\x8bhunter2", "archive"),
        ({"timezone": "UTC"}, b"MIME-Version: 1.0\nhunter2", "archive"),
        ({"packages": ["jq"]}, IGNITION, "no packages"),
        ({"timezone": "UTC"}, b"hunter2", "neither"),
        ({"timezone": "UTC"}, b"\xffhunter2", "neither"),
        ({"timezone": "UTC"}, b'{"ignition": {"version": "2.3.0"}, "x": "hunter2"}', "neither"),
        ({"timezone": "UTC"}, b'{"ignition": "hunter2"}', "neither"),
    ],
)
def test_what_cannot_be_combined_is_a_reason_without_a_word_of_it(
    config: dict[str, Any], own: bytes, says: str
) -> None:
    found = render_first_boot(machine(config), own)
    assert isinstance(found, NotReady)
    assert found.reason == REASON
    assert says in found.message
    assert "hunter2" not in found.message


def test_runtime_and_manifest_agree_on_every_language() -> None:
    starts = [text.encode() for text, _ in STARTS] + [
        b"Content-Type: x",
        b"MIME-Version: 1",
        b"\x1f\x8b",
        b"{}",
        b"",
        b"a: 1",
    ]
    known = {DataFormat.NONE: seed.Language.NONE, DataFormat.IGNITION: seed.Language.IGNITION}
    for start in starts:
        want = known.get(detect_language(start).format, seed.Language.CLOUD_INIT)
        assert seed.detect_language(start) is want, start
    combined = render(ALL, OWN)
    assert seed.detect_language(combined) is seed.Language.CLOUD_INIT
    assert detect_language(combined).format is DataFormat.ARCHIVE


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(deadline=None)
@given(texts)
def test_any_text_is_one_value_of_yaml(text: str) -> None:
    assert read_yaml(quote(text).encode()) == text


@settings(deadline=None)
@given(st.lists(texts, max_size=3), st.sampled_from([b"", OWN, b"#!/bin/sh\n\xc3\xbc --x\n"]))
def test_any_commands_reach_the_guest_unchanged(commands: list[str], own: bytes) -> None:
    config = {"runCommands": commands, "timezone": "UTC"}
    data = render(config, own)
    assert render(config, own) == data, "the same machine, the same bytes"
    found = read_user_data(data).get("runcmd", [])
    assert found[len(found) - len(commands) :] == commands
