"""Cases of first-boot data in a manifest: keys, users, languages, and what looks like a secret."""

from __future__ import annotations

from typing import Any

from tests.schemas.validate.case import Case
from tests.schemas.validate.documents import machine, secret

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
AT = "/spec/guestConfig"
ENCRYPTED = secret("boot", data={"ignition.yaml": "ENC[AES256_GCM,data:QUJD,iv:REVG,tag:R0hJ,type:str]"})


def guest(id: str, config: dict[str, Any], *want: str, quote: str = "", **spec: Any) -> Case:
    """A machine with that guestConfig; `want`: codes and pointers within guestConfig."""
    wanted = {f"{each.split()[0]} error m.yaml {AT}{each.split()[1]}" for each in want}
    return Case(id, {"m.yaml": machine(guestConfig=config, **spec)}, wanted, quote=quote)


GUEST_CASES = [
    guest(
        "everything that a guest can be given",
        {
            "hostname": "web",
            "sshAuthorizedKeys": [f"{KEY} anna@laptop", f'from="10.0.0.0/8" {KEY} tom'],
            "users": [
                {
                    "name": "app",
                    "sshAuthorizedKeys": [KEY],
                    "groups": ["adm"],
                    "sudo": True,
                    "shell": "/bin/sh",
                }
            ],
            "packages": ["nginx", "libc6=2.36-9", "gcc-12-base"],
            "runCommands": ["systemctl enable --now nginx", "echo $TOKEN"],
            "userData": "#cloud-config\nlock_passwd: true\nssh_pwauth: false\nchpasswd: {expire: false}\n",
            "timezone": "America/Argentina/Ushuaia",
        },
    ),
    guest(
        "keys that are none",
        {
            "sshAuthorizedKeys": [
                "~/.ssh/id_ed25519.pub",
                KEY[:-8],
                KEY.replace("ssh-ed25519", "ssh-rsa"),
                "ssh-dss AAAAB3NzaC1kc3M=",
                f"{KEY}\n{KEY} second",
                "ssh-ed25519 AAAA*",
            ],
            "users": [{"name": "app", "sshAuthorizedKeys": ["anna"]}],
        },
        *(f"GV338 /sshAuthorizedKeys/{position}" for position in range(6)),
        "GV338 /users/0/sshAuthorizedKeys/0",
        quote="it is the name of a file, not its content",
    ),
    guest(
        "a private key in place of a public one",
        {"sshAuthorizedKeys": ["-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END"]},
        "GV337 /sshAuthorizedKeys/0",
        quote="this looks like a private key in line 1 of the text",
    ),
    guest(
        "a password in a cloud-config",
        {"userData": "#cloud-config\nusers:\n  - name: app\n    plain_text_passwd: hunter2\n"},
        "GV337 /userData",
        quote="this looks like a value for plain_text_passwd in line 4 of the text, and everyone",
    ),
    guest(
        "the way to do it",
        {"runCommands": ["export API_TOKEN=abc"]},
        "GV337 /runCommands/0",
        quote="that ignitionRef names",
    ),
    Case(
        "two sources",
        {
            "m.yaml": machine(guestConfig={"userData": "#!/bin/sh\ntrue\n"}, ignitionRef={"name": "boot"}),
            "s.yaml": ENCRYPTED,
        },
        {f"GV352 error m.yaml {AT}/userData"},
        quote="Secret boot",
    ),
    guest("a user twice", {"users": [{"name": "app"}, {"name": "app"}]}, "GV352 /users/1/name"),
    guest(
        "a time zone twice",
        {"userData": "#cloud-config\ntimezone: UTC\n", "timezone": "UTC"},
        "GV352 /timezone",
    ),
    guest(
        "no language",
        {"userData": "apt-get install nginx\n"},
        "GV339 /userData",
        quote="begin with #cloud-config or #!",
    ),
    guest(
        "Butane", {"userData": "variant: fcos\nversion: 1.5.0\n"}, "GV339 /userData", quote="butane --strict"
    ),
    guest(
        "a cloud-config that is none",
        {"userData": "#cloud-config\na: [\n"},
        "GV339 /userData",
        quote="not a mapping in YAML: line",
    ),
    guest(
        "a cloud-config that is a list",
        {"userData": "#cloud-config\n- a\n"},
        "GV339 /userData",
        quote="a list or a text",
    ),
    guest(
        "an archive beside other fields",
        {"userData": "MIME-Version: 1.0\nContent-Type: multipart/mixed\n", "timezone": "UTC"},
        "GV339 /userData",
    ),
    guest("an archive alone", {"userData": "MIME-Version: 1.0\nContent-Type: multipart/mixed\n"}),
    guest("Ignition", {"userData": '{"ignition": {"version": "3.4.0"}}', "sshAuthorizedKeys": [KEY]}),
    guest("Ignition in YAML", {"userData": "ignition: {version: 3.4.0}\n", "runCommands": ["true"]}),
    guest(
        "Ignition with packages",
        {"userData": "ignition: {version: 3.4.0}", "packages": ["a"]},
        "GV339 /packages",
    ),
    guest(
        "old Ignition",
        {"userData": "ignition: {version: 2.3.0}", "timezone": "UTC"},
        "GV339 /userData",
        quote="Ignition 2.3.0",
    ),
    guest("old Ignition alone", {"userData": "ignition: {version: 2.3.0}"}),
    guest(
        "a password of a cloud-config that looks like a reference",
        {"userData": "#cloud-config\npassword: $ecret\n"},
        "GV337 /userData",
        quote="password of the cloud-config is a password as it is written",
    ),
    guest(
        "a password of a user that looks like a file",
        {"userData": "#cloud-config\nusers:\n- name: a\n  plain_text_passwd: /run/hunter2\n"},
        "GV337 /userData",
        quote="users[0].plain_text_passwd",
    ),
    guest(
        "passwords that lock",
        {"userData": "#cloud-config\nusers: [default, {name: a, passwd: '!'}]\n"},
    ),
    guest("a time zone", {"timezone": "Europe/Berlin"}),
    Case(
        "an unknown time zone",
        {"m.yaml": machine(guestConfig={"timezone": "Europe/Berln"})},
        {f"GV355 warning m.yaml {AT}/timezone"},
        quote="did you mean Europe/Berlin?",
    ),
    Case(
        "the user root",
        {"m.yaml": machine(guestConfig={"users": [{"name": "root", "sshAuthorizedKeys": [KEY]}]})},
        {f"GV356 warning m.yaml {AT}/users/0/name"},
        quote="each image has the user root",
    ),
    Case(
        "too large",
        {"m.yaml": machine(guestConfig={"userData": f"#!/bin/sh\n# {'x' * 65536}\n"})},
        {f"GV353 error m.yaml {AT}"},
        quote="first-boot data has 65,549 bytes in all, and may have 65,536",
    ),
    Case(
        "fields beside a Secret",
        {
            "m.yaml": machine(guestConfig={"sshAuthorizedKeys": [KEY]}, ignitionRef={"name": "boot"}),
            "s.yaml": ENCRYPTED,
        },
    ),
]
