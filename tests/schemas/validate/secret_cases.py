"""Cases of who can open a Secret: recipients that are missing, one too many, stale or unknown, by pins, selectors and pools."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from schemas.encryption.age_armor import seal
from schemas.encryption.sops_text import seal_text
from schemas.settings.fleet import FleetIdentity, FleetSettings, PoolletEntry, SecretSettings
from schemas.validate import ValidationPolicy
from schemas.validate.inputs import policy_of
from tests.schemas.encryption.keys import ADMIN_PUBLIC, HOST_PUBLIC
from tests.schemas.validate.case import Case
from tests.schemas.validate.documents import (
    ephemeral_volume,
    machine,
    machine_pool,
    ref,
    secret,
    together,
    uses_volume,
    volume,
    volume_pool,
)

NOW = datetime(2026, 11, 20, tzinfo=UTC)
# Of `age-keygen`; their private halves are not kept.
A1, A2, B1, GONE = (
    "age1sgl0gkrfupvsv9kjgxa24lk7mpd42wfhlkvmmlcdf5mm6g8f7gjsduxxp0",
    "age1ufwf6amkxdwthgvs366fjp0m5t0jse7tucucwrlkpugrv3tvx3qq257w7f",
    "age17t4gvfumn4g3hmpgwr8uj0ygyncg059hsv8f6d0waxqchqykagkq46f6jy",
    "age1makyf7wht2jh27e5zzreg0pndaemmc9e8qarr74umj06qx9ctujs4ptevu",
)


def policy(pools: str = "declared", **entries: PoolletEntry) -> ValidationPolicy:
    """Hosts a1 and a2 in zone a, b1 in zone b, and one without a key."""
    hosts = {
        "a1": PoolletEntry(age=(A1,)),
        "a2": PoolletEntry(age=(A2,)),
        "b1": PoolletEntry(age=(B1,)),
        **entries,
    }
    settings = FleetSettings(
        fleet=FleetIdentity("x"),
        pools="open" if pools == "open" else "declared",
        poollets=dict(hosts),
        secrets=SecretSettings(admins=(ADMIN_PUBLIC,)),
    )
    return policy_of(settings, "main")


POOLS = together(
    machine_pool("a1", {"zone": "a"}), machine_pool("a2", {"zone": "a"}), machine_pool("b1", {"zone": "b"}),
    volume_pool("a1", {"zone": "a"}), volume_pool("b1", {"zone": "b"}),
)  # fmt: skip
KEY = "ignition.yaml"


def seal_secret(*recipients: str, name: str = "key", key: str = KEY) -> str:
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\nstringData:\n  {key}: x\n"
    return seal_text(text, recipients, NOW)


def uses(name: str = "web", **spec: Any) -> str:
    return machine(name, ignitionRef=ref("key"), **spec)


def of_tree(
    id: str, text: str, user: str, *want: str, quote: str = "", settings: ValidationPolicy | None = None
) -> Case:
    files = {"m.yaml": user, "p.yaml": POOLS, "s.yaml": text}
    return Case(id, files, set(want), settings or policy(), quote)


MISSING, SURPLUS, STALE = (
    f"{code} s.yaml /sops/age" for code in ("GV512 error", "GV513 warning", "GV514 warning")
)
ALL = (ADMIN_PUBLIC, A1, A2, B1)
SECRET_CASES = [
    of_tree("sealed for all that may need it", seal_secret(*ALL), uses()),
    of_tree("a host is missing", seal_secret(ADMIN_PUBLIC, A1, B1), uses(), MISSING, quote="a2 cannot open it and may have to"),
    of_tree("an admin is missing", seal_secret(A1, A2, B1), uses(), MISSING, quote="admins cannot open it"),
    of_tree("no host can open it", seal_secret(ADMIN_PUBLIC), uses(), MISSING, quote="no host can open it for Machine/default/web"),
    of_tree("a selector", seal_secret(ADMIN_PUBLIC, A1, A2), uses(machinePoolSelector={"zone": "a"})),
    of_tree("a selector, and one host too many", seal_secret(*ALL), uses(machinePoolSelector={"zone": "a"}), SURPLUS, quote="b1 can open it"),
    of_tree("a pin", seal_secret(ADMIN_PUBLIC, B1), uses(machinePoolRef=ref("b1"))),
    of_tree("a pin to another host", seal_secret(ADMIN_PUBLIC, A1), uses(machinePoolRef=ref("b1")), MISSING, quote="gitvirt secret rekey default/key"),
    of_tree("a stale key", seal_secret(*ALL, GONE), uses(), STALE, quote="gitvirt.yaml does not have that key"),
    of_tree("two users", seal_secret(*ALL), together(uses(machinePoolRef=ref("b1")), uses("x", machinePoolSelector={"zone": "a"}))),
    of_tree("unused", seal_secret(ADMIN_PUBLIC), machine(), "GV515 notice s.yaml /metadata/name"),
    of_tree("unused, and hosts can open it", seal_secret(*ALL), machine(), "GV515 notice s.yaml /metadata/name", SURPLUS),
    of_tree(
        "a volume of its own: where it is stored and where it is attached",
        seal_secret(ADMIN_PUBLIC, A1, A2, key="encryptionKey"),
        together(
            volume(encryption={"secretRef": ref("key")}, volumePoolSelector={"zone": "a"}),
            machine(volumes=[uses_volume("data")], machinePoolRef=ref("a2")),
        ),
    ),
    of_tree(
        "an ephemeral volume",
        seal_secret(*ALL, key="encryptionKey"),
        machine(volumes=[ephemeral_volume(encryption={"secretRef": ref("key")}, volumePoolRef=ref("b1"))], machinePoolRef=ref("a1")),
        SURPLUS,
        quote="a2 can open it",
    ),
    of_tree(
        "a host without a key",
        seal_secret(*ALL),
        uses(),
        "GV516 warning s.yaml /sops/age",
        settings=policy("open", c1=PoolletEntry()),
        quote="c1 has no key in gitvirt.yaml",
    ),
    of_tree(
        "no host has a key",
        seal_secret(ADMIN_PUBLIC),
        uses(machinePoolRef=ref("c1-x")),
        MISSING,
        "GV312 notice m.yaml /spec/machinePoolRef/name",
        settings=policy("open", c1=PoolletEntry()),
        quote="add poollets.NAME.age to gitvirt.yaml, then run",
    ),
    of_tree(
        "open pools whose labels no file has: neither missing nor one too many",
        seal_secret(ADMIN_PUBLIC, A1, A2, B1),
        uses(machinePoolSelector={"zone": "b"}),
        SURPLUS,
        settings=policy("open", c1=PoolletEntry(age=(GONE,))),
    ),
    of_tree(
        "changed by hand, as a key shows",
        seal_secret(*ALL),
        uses(),
        "GV518 error s.yaml /sops/mac",
        settings=replace(policy(), find_tampering=lambda entry: f"{entry.key}: sops.mac: the MAC differs"),
        quote="the MAC differs",
    ),
    of_tree(
        "opened by a key",
        seal_secret(*ALL),
        uses(),
        settings=replace(policy(), find_tampering=lambda entry: ""),
    ),
    of_tree(
        "malformed",
        seal_secret(*ALL).replace("    mac:", "    mack:"),
        uses(),
        "GV517 error s.yaml /sops",
        quote="sops.mac: it is missing",
    ),
    of_tree(
        "armor: keys of age are not named, ssh keys are",
        secret(stringData={KEY: seal(b"x", [HOST_PUBLIC])}),
        uses(machinePoolRef=ref("h1")),
        "GV512 error s.yaml ",
        "GV312 warning m.yaml /spec/machinePoolRef/name",
        settings=policy("open", h1=PoolletEntry(age=(HOST_PUBLIC,))),
        quote="admins cannot open it",
    ),
    of_tree(
        "armor that any key of age may open",
        secret(stringData={KEY: seal(b"x", [GONE])}),
        uses(machinePoolRef=ref("a1")),
    ),
    of_tree(
        "armor for an ssh key that may not need it",
        secret(stringData={KEY: seal(b"x", [GONE, HOST_PUBLIC])}),
        uses(machinePoolRef=ref("a1")),
        "GV513 warning s.yaml ",
        settings=policy("open", h1=PoolletEntry(age=(HOST_PUBLIC,))),
    ),
    of_tree(
        "damaged armor",
        secret(stringData={KEY: "-----BEGIN AGE ENCRYPTED FILE-----\nYQ==\n"}),
        uses(machinePoolRef=ref("a1")),
        "GV517 error s.yaml ",
    ),
]  # fmt: skip
